"""What the claims of Rajaee & Pilehvar (2021) are judged on: a model's space in parts, each a few plain tables.

A part is kept as a file of its own, so that a run that was stopped has not lost what it had measured.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.analyze import Analysis, Claim
from limbeck.analyze.result import columns_of
from limbeck.errors import InputError
from limbeck.reproduce.estimates import CannotShow, Curve, Estimate
from limbeck.state import write_text

Row = dict[str, Any]
Columns = Mapping[str, Sequence[Any]]
FORMAT = 1
OWN = ("model", "target")  #: columns in which parts have the model, under whatever name

#: part -> what it is, for people who wait for it
PARTS = {
    "layers": "isotropy of every layer",
    "local": "isotropy of clusters put on the origin",
    "removal": "isotropy by number of removed components",
    "frequency": "word frequency in the space",
    "clusters": "what clusters contain",
    "tense": "tense and sense of verbs",
    "structure": "same-structure neighbours",
    "tuning": "clusters and components tuned",
    "sts": "sentence similarity before and after",
    "classify": "classification before and after",
}


@dataclass(frozen=True)
class Part:
    """Tables of plain numbers, and what was done for them."""

    tables: Mapping[str, Columns]
    about: Mapping[str, Any] = field(default_factory=dict)

    def rows(self, table: str) -> list[Row]:
        columns = self.tables.get(table, {})
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


@dataclass(frozen=True)
class SpaceModel:
    """A model as the rules see it, measured here or by the paper.

    family    BERT, RoBERTa, GPT-2 or ELMo: reads both sides, is of RoBERTa's kind, reads leftwards, is a pair of LSTMs
    layers    from the input upwards
    parts     those of `PARTS` that could be measured
    missing   of the others, why not
    account   what was read and how; empty for the paper's own numbers
    """

    name: str
    family: str
    layers: tuple[str, ...]
    parts: Mapping[str, Part]
    missing: Mapping[str, str] = field(default_factory=dict)
    account: Mapping[str, Any] = field(default_factory=dict)

    def part(self, name: str) -> Part:
        if name not in self.parts:
            raise CannotShow(self.missing.get(name, f"there are no numbers on {PARTS[name]}"))
        return self.parts[name]

    def rows(self, part: str, table: str = "", **wanted: Any) -> list[Row]:
        """The rows of a table of a part, the one of the part's name unless said, that have these cells; at least one.

        What a paper's own numbers do not have cannot be shown.
        """
        table = table or part
        found = [
            row for row in self.part(part).rows(table) if all(row.get(name) == cell for name, cell in wanted.items())
        ]
        if not found:
            told = ", ".join(f"{name} {cell}" for name, cell in wanted.items())
            raise CannotShow(f"there are no numbers of {table}{f' with {told}' if told else ''}")
        return found

    def curve(self, measure: str, column: str = "value") -> Curve:
        """A measure by layer; like `Subject.curve`, so that rules about curves can be asked of both."""
        rows = self.rows("layers")
        if measure not in rows[0]:
            raise CannotShow(f"there are no numbers of {measure} by layer")
        values = np.array([row[measure] for row in rows], dtype=np.float64)
        return Curve(tuple(row["layer"] for row in rows), values, np.zeros_like(values))

    def contextual_layers(self, curve: Curve) -> Curve:
        """All layers but the input."""
        with_input = curve.layers[0] == "0" or not curve.layers[0].isdigit()
        places = [place for place in range(len(curve)) if place or not with_input]
        if not places:
            raise CannotShow("no layer above the input was measured")
        return curve.part(places)


def estimate(row: Row, value: str = "value", low: str = "low", high: str = "high") -> Estimate:
    """A number of a row with its interval, the wider half of it; CannotShow where the number is not known."""
    middle = row[value]
    if not math.isfinite(middle):
        raise CannotShow(f"{value} is not known")
    ends = [abs(row[end] - middle) for end in (low, high) if math.isfinite(row.get(end, math.nan))]
    return Estimate(float(middle), max(ends, default=0.0))


def part_of_analysis(found: Analysis) -> Part:
    """An analysis as a part; its claims are one more table."""
    tables = {**found.tables, "claims": columns_of([claim.row() for claim in found.claims])}
    about = {
        "what": found.what,
        "units": found.units,
        "settings": dict(found.settings),
        "dropped": dict(found.dropped),
        "notes": list(found.notes),
    }
    return Part(tables, about)


def analysis_of(model: SpaceModel, part: str) -> Analysis:
    """The analysis again, under the model's name here: what `limbeck.report.analyses` draws."""
    found = model.part(part)
    fields = ("id", "text", "rule", "value", "low", "high", "n", "why", "about", "model", "layer")
    claims = tuple(Claim(**{name: row[name] for name in fields}) for row in found.rows("claims"))
    tables = {
        name: {column: list(cells) for column, cells in columns.items()}
        for name, columns in found.tables.items()
        if name != "claims"
    }
    return Analysis(
        what=str(found.about["what"]),
        model=model.name,
        tables=tables,
        claims=claims,
        units=str(found.about["units"]),
        settings=found.about["settings"],
    )


def columns_of_models(models: Sequence[SpaceModel]) -> dict[str, Columns]:
    """Every table of every part with all models below one another: file name -> columns; docs/files.md lists them."""
    found: dict[str, list[Row]] = {}
    for model in models:
        for part, held in model.parts.items():
            for name in held.tables:
                file = f"{part}.csv" if name == part else f"{part}-{name}.csv"
                rows = ({key: cell for key, cell in row.items() if key not in OWN} for row in held.rows(name))
                found.setdefault(file, []).extend({"model": model.name, **row} for row in rows)
    return {file: columns_of(rows) for file, rows in found.items()}


# --- files ---------------------------------------------------------------------------------------


def keep_part(path: Path, part: Part, asked: Mapping[str, Any]) -> None:
    """Write a part with what was asked for it; what is not a finite number is null."""
    told = {"format": FORMAT, "asked": asked, "about": part.about, "tables": part.tables}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(_plain(told), ensure_ascii=False, allow_nan=False) + "\n")


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
            f"{path}: must be a part of a run, it cannot be read: --existing replace begins anew."
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
