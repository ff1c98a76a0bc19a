"""What verbs return: numbers as attributes and tables, as figures, and as a folder that gives the same back."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from limbeck.errors import InputError, LimbeckError, choose
from limbeck.record import check_format, read_record
from limbeck.runs.execution.record import write_record
from limbeck.settings import refuse_no_path
from limbeck.shown import Tabular
from limbeck.tables import Columns, read_table, write_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from limbeck.reporting.figures import Makers

SAVING = ("fail", "replace")  #: what `save` does with a run that is there; there is none to resume


@dataclass(frozen=True, eq=False, repr=False)
class RunResult(Tabular):
    """The result of a run: what a verb gives, and what `load` gives back of its folder.

    record  run.json: settings, model, text, versions
    tables  table -> its columns

    A subclass says in `files` which table is kept in which file, and adds properties of its own field. Where a folder
    holds more than tables and run.json, it also says how that is written (`write`) and read (`read`).

    files       table -> its file; one that there is nothing for is not there. The first is the table of the result
    text        columns of CSV files that hold text; all others hold numbers
    figure      the figure that `plot` draws where none is named; else the first
    has_record  whether a folder has a run.json; files that describe themselves need none
    """

    files: ClassVar[Mapping[str, str]] = {}
    text: ClassVar[Collection[str]] = ()
    figure: ClassVar[str] = ""
    has_record: ClassVar[bool] = True

    record: Mapping[str, Any]
    tables: Mapping[str, Columns] = field(repr=False)

    def columns(self) -> Columns:
        """The table of the result; `.tables` has all."""
        return self.tables[next(iter(self.files))]

    # in a folder

    def save(self, folder: str | Path, *, existing: Literal["fail", "replace"] = "fail", figures: bool = True) -> None:
        """Write a folder as the verb does with `out`: every file, figures and a report; `load` gives the result back.

        existing  what to do with a run that is there: "fail", or "replace" it
        """
        from limbeck.runs.execution.execute import write
        from limbeck.runs.execution.folders import RunFolder

        refuse_no_path(folder, "folder")
        choose(existing, SAVING, what="--existing")
        with RunFolder(folder, existing=existing) as place:
            write(self, place.unfinished, figures=figures)
            place.finish()

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """The result of a finished run, from its folder."""
        from limbeck.runs.execution.run import run_classes

        refuse_no_path(folder, "folder")
        folder = Path(folder).expanduser()
        record = check_format(folder, read_record(folder / "run.json"))
        # merge has no class of its own: its runs say that they are of the command whose parts they were
        own = [name for name, run in run_classes().items() if vars(run).get("result") is cls]
        if own and record.get("command") not in own:
            raise InputError(
                f"{folder}: {cls.__name__} is of limbeck {own[0]}, and this is a run of limbeck "
                f"{record.get('command')}: limbeck.load gives the result of any.",
                code="other_kind",
                parameter="folder",
            )
        return cls.read(folder, record)

    def write(self, folder: Path) -> None:
        """Write every file but run.json and figures into a folder that is there."""
        self.write_tables(folder, self.tables)

    def write_drawn(self, folder: Path) -> None:
        """Write the files that figures are drawn of."""
        self.write_tables(folder, self.tables)

    def write_tables(self, folder: Path, tables: Mapping[str, Columns]) -> None:
        """Write tables, each into its file."""
        for name, columns in tables.items():
            write_table(folder / self.files[name], columns)

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        """The result in a folder with that record."""
        return cls(record, cls.read_tables(folder))

    @classmethod
    def read_tables(cls, folder: Path) -> dict[str, Columns]:
        """The tables of a folder, as they were written."""
        there = {name: folder / file for name, file in cls.files.items() if (folder / file).is_file()}
        return {name: read_table(path, text=cls.text) for name, path in there.items()}

    # as figures

    def figures(self, folder: Path) -> Makers:
        """What draws each figure, by name; the folder has the files of `write_drawn` and run.json."""
        return {}

    def draw(self, folder: Path) -> None:
        """Draw the figures of a folder that has been written, into its `figures`."""
        from limbeck import reporting

        if figures := self.figures(folder):
            reporting.draw(figures, folder / "figures")

    def plot(self, figure: str = "") -> Figure:
        """One of the figures that a folder has, by its name: "anisotropy" for figures/anisotropy.png."""
        from limbeck.reporting.curves import curves_figure
        from limbeck.reporting.style import styled

        with tempfile.TemporaryDirectory(prefix="limbeck-") as name, styled():
            folder = Path(name)
            self.write_drawn(folder)
            write_record(folder, self.record)
            figures = dict(self.figures(folder))
            if not figures and (curves := self.curves()) is not None:
                figures["curves"] = lambda: curves_figure(curves, self.title())
            named = choose(figure, figures, what="figure") if figure else self.figure or next(iter(figures), "")
            drawn = figures[named]() if named else None
        if drawn is None:
            raise LimbeckError(
                f"{type(self).__name__}: there is nothing to draw of it; to_pandas() gives its table.",
                code="no_figure",
                parameter="figure",
            )
        return drawn

    # as a value

    def __repr__(self) -> str:
        """One line; `record` and `tables` have the rest."""
        return f"{type(self).__name__}({' '.join(self.title().split())})"

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        named = (one.name for one in fields(self) if one.compare)
        return all(same(getattr(self, name), getattr(other, name)) for name in named)

    __hash__ = None  # type: ignore[assignment]


def same(a: Any, b: Any) -> bool:
    """Whether two values are equal; what is missing equals what is missing, None or NaN, and arrays equal lists.

    >>> same({"x": [1.0, float("nan")]}, {"x": (1, None)}), same([1, 2], [1])
    (True, False)
    """
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return list(a) == list(b) and all(same(a[name], b[name]) for name in a)
    if isinstance(a, Tabular) and not isinstance(a, RunResult):
        return type(a) is type(b) and same(a.columns(), b.columns())
    a, b = (one.tolist() if hasattr(one, "tolist") else one for one in (a, b))
    if isinstance(a, Sequence) and not isinstance(a, str):
        sequences = isinstance(b, Sequence) and not isinstance(b, str) and len(a) == len(b)
        return sequences and all(map(same, a, b))
    return bool(a == b) or (is_missing(a) and is_missing(b))


def is_missing(cell: Any) -> bool:
    return cell is None or (isinstance(cell, float) and math.isnan(cell))
