"""run.json: how the numbers of a folder were made, in one shape for every command."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from limbeck.record import FORMAT

PACKAGES = ("limbeck", "torch", "transformers", "tokenizers", "numpy", "spacy")


def record_of(command: str, facts: Mapping[str, Any], *, options: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """The record of a run: a command's own facts between what every record has."""
    record: dict[str, Any] = {
        "format": FORMAT,
        "command": command,
        **facts,
        "options": dict(options),
        "seconds": round(seconds, 3),
        "versions": versions(),
        "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
    return dict(plain(record))


def write_record(folder: Path, record: Mapping[str, Any]) -> None:
    """Write run.json."""
    from limbeck.state import write_text  # numpy, which takes its time

    write_text(folder / "run.json", json.dumps(record, indent=2, default=str) + "\n")


def plain(values: Any) -> Any:
    """Values as a file of them gives them back."""
    return json.loads(json.dumps(values, default=str))


def versions() -> dict[str, str]:
    """Of everything that could change a number."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
