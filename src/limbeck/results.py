"""What verbs return: numbers as attributes and tables, as figures, and as a folder that gives the same back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from limbeck.errors import InputError
from limbeck.record import read_record
from limbeck.shown import Tabular

FORMAT = 2  #: of run.json and of the tables beside it


class RunResult(Tabular):
    """The result of a run. `record` is its run.json: settings, model, text, versions.

    A subclass is a frozen dataclass that says how it is written into a folder and read from one. One whose files
    describe themselves has no run.json (`has_record`).
    """

    has_record: ClassVar[bool] = True
    record: Mapping[str, Any]

    def write(self, folder: Path) -> None:
        """Write every file but run.json and figures into a folder that is there."""
        raise NotImplementedError

    def draw(self, folder: Path, figures: Path) -> None:
        """Draw the figures of a folder that has been written."""

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        """The result in a folder with that record."""
        raise NotImplementedError

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The result of a finished run, from its folder."""
        folder = Path(folder).expanduser()
        return cls.read(folder, check_format(folder, read_record(folder / "run.json")))


def check_format(folder: Path, record: dict[str, Any]) -> dict[str, Any]:
    """The record, if its folder has the format of this version."""
    found = record.get("format")
    if found != FORMAT:
        what = "an earlier version" if found is None or (isinstance(found, int) and found < FORMAT) else "a later one"
        raise InputError(
            f"{folder}: format {found or 1} of {what} of limbeck, this one reads format {FORMAT}: make the run again.",
            code="other_format",
        )
    return record
