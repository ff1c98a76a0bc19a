"""limbeck report: one page of any number of runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from limbeck.cli.output import tell
from limbeck.cli.program import TerminalCommand, TerminalSettings
from limbeck.reporting.settings import ReportSettings


@dataclass(kw_only=True)
class ReportCommand(TerminalCommand):
    """Write one self-contained interactive page of any number of runs, side by side."""

    command: ClassVar[str] = "report"
    summary: ClassVar[str] = "lay runs side by side on one interactive page"
    details: ClassVar[str] = """\
RUN is a folder that any command has written, or a folder that holds several (such as the demo's). Every command that
writes a run folder writes a report.html of that run into it; this command lays several side by side.

The page opens by double click, in any current browser. It needs no network and no server, and asks for nothing. Where
runs were measured with --no-text, no sentence is in it.
"""
    examples: ClassVar[str] = """\
limbeck report runs/demo --out report.html
limbeck report runs/bert runs/gpt2 --out report.html
limbeck report runs/repaired runs/sts runs/probe --title "Repairing BERT" --out report.html
limbeck report runs/ethayarajh2019 --existing replace
"""

    page: ReportSettings

    @property
    def writes(self) -> bool:
        return True

    def perform(self, terminal: TerminalSettings) -> int:
        from limbeck.reporting.page import write_report

        page = write_report(self.page)
        size = page.stat().st_size
        tell(out=page, bytes=size)
        print(f"{page}: {size / 1e6:.1f} MB, opens in a browser")
        return 0
