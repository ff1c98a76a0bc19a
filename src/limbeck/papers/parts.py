"""A model as rules see it where it is measured part by part, each part a few plain tables.

A part is kept as a file of its own, so that a run that was stopped has not lost what it had measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from limbeck.errors import InputError
from limbeck.papers.estimates import CannotShow, Estimate
from limbeck.state import write_text
from limbeck.tables import columns_of

Row = dict[str, Any]
Columns = Mapping[str, Sequence[Any]]
FORMAT = 1
SCORES = "scores"  #: the main table of a part that has none of its own name


@dataclass(frozen=True)
class Part:
    """Tables of plain numbers, and what was done for them."""

    tables: Mapping[str, Columns]
    about: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, table: str) -> list[Row]:
        columns = self.tables.get(table, {})
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class ModelInParts:
    """A model, measured here or by the paper.

    family     which of the kinds it is like that the paper's claims are about
    layers     from the input upwards
    parts      those of `PARTS` that could be made
    missing    of the others, why not
    account    what was read and how; empty for the paper's own numbers

    PARTS      part -> what it is, for people who wait for it
    LACKING    what stands before the reason why a part is not there
    UNWRITTEN  columns that CSV files do not have
    """

    name: str
    family: str
    layers: tuple[str, ...]
    parts: Mapping[str, Part]
    missing: Mapping[str, str] = field(default_factory=dict)
    account: Mapping[str, Any] = field(default_factory=dict)

    PARTS: ClassVar[Mapping[str, str]]
    LACKING: ClassVar[str] = ""
    UNWRITTEN: ClassVar[tuple[str, ...]] = ()

    def part(self, name: str) -> Part:
        if name not in self.parts:
            raise CannotShow(self.LACKING + self.missing.get(name, f"there are no numbers on {self.PARTS[name]}"))
        return self.parts[name]

    def rows(self, part: str, table: str = "", **wanted: Any) -> list[Row]:
        """The rows of a table of a part, its main one unless said, that have these cells; at least one.

        What a paper's own numbers do not have cannot be shown.
        """
        held = self.part(part)
        rows = held.rows(table or (part if part in held.tables else SCORES))
        found = [row for row in rows if all(row.get(name) == cell for name, cell in wanted.items())]
        if not found:
            told = ", ".join(f"{name} {cell}" for name, cell in wanted.items() if cell != "")
            raise CannotShow(f"there are no numbers of {table or part}{f' with {told}' if told else ''}")
        return found


def columns_of_models(models: Sequence[ModelInParts]) -> dict[str, Columns]:
    """Every table of every part with all models below one another: file name -> columns; docs/files.md lists them."""
    found: dict[str, list[Row]] = {}
    for model in models:
        for part, held in model.parts.items():
            for name in held.tables:
                rows = found.setdefault(f"{part}.csv" if name in (part, SCORES) else f"{part}-{name}.csv", [])
                for row in held.rows(name):
                    own = {key: cell for key, cell in row.items() if key not in model.UNWRITTEN}
                    rows.append({"model": model.name, **own})
    return {file: columns_of(rows) for file, rows in found.items()}


def estimate(row: Row, value: str = "value", low: str = "low", high: str = "high") -> Estimate:
    """A number of a row with its interval, the wider half of it; CannotShow where the number is not known."""
    middle = row[value]
    if not math.isfinite(middle):
        raise CannotShow(f"{value} is not known")
    ends = [abs(row[end] - middle) for end in (low, high) if math.isfinite(row.get(end, math.nan))]
    return Estimate(float(middle), max(ends, default=0.0))


# --- files ---------------------------------------------------------------------------------------


def keep_part(path: Path, part: Part, asked: Mapping[str, Any]) -> None:
    """Write a part with what was asked for it; what is not a finite number is null."""
    told = {"format": FORMAT, "asked": asked, "about": part.about, "tables": part.tables}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(_plain(told), ensure_ascii=False, allow_nan=False) + "\n")


def forget_parts(folder: Path, names: Iterable[str]) -> None:
    """Remove parts that were kept; what else lies in their folder is somebody's own."""
    for name in names:
        (folder / f"{name}.json").unlink(missing_ok=True)


def kept_part(path: Path, asked: Mapping[str, Any]) -> Part | None:
    """A part that was kept, if the same was asked for it; null is NaN again."""
    if not path.is_file():
        return None
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        same = told["format"] == FORMAT and told["asked"] == json.loads(json.dumps(_plain(asked)))
        if not same:
            return None
        tables = {
            name: {column: [math.nan if cell is None else cell for cell in cells] for column, cells in columns.items()}
            for name, columns in told["tables"].items()
        }
        return Part(tables, told["about"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: must be a part of a run, it cannot be read: --existing=replace begins anew.",
            code="damaged",
            parameter="existing",
        ) from error


def _plain(value: Any) -> Any:
    """Numbers, strings, lists and dicts alone, as JSON has them."""
    if isinstance(value, Mapping):
        return {str(name): _plain(cell) for name, cell in value.items()}
    if isinstance(value, str) or value is None or isinstance(value, bool):
        return value
    if isinstance(value, list | tuple):
        return [_plain(cell) for cell in value]
    if hasattr(value, "item") and getattr(value, "ndim", 1) == 0:  # a number of numpy's
        return _plain(value.item())
    if isinstance(value, int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return str(value)
