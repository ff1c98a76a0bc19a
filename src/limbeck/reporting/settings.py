"""Options of the page that shows runs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from limbeck.settings import Settings, option


@dataclass(frozen=True)
class ReportSettings(Settings, group="page"):
    """Which runs are on a page, and where it goes."""

    runs: tuple[Path, ...] = option(
        positional=True,
        required=True,
        common=True,
        metavar="RUN",
        files=True,
        help="folder of a finished run, or of several",
    )
    out: Path = option(
        Path("report.html"), common=True, metavar="FILE", files=True, help="page to write (default: report.html)"
    )
    title: str | None = option(None, metavar="TEXT", help="heading of the page (default: the runs' names)")
    existing: Literal["fail", "replace"] = option(
        "fail", metavar="HOW", help="if FILE exists: fail (default), or replace it"
    )
