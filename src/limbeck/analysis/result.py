"""What an analysis returns: tables, claims with their intervals, and an account of what was read."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from limbeck.shown import Tabular
from limbeck.tables import columns_of as columns_of

Row = dict[str, Any]
Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Claim:
    """One sentence of a paper on one model and layer, as a number that the sentence wants to be above 0.

    id          "T4.before": the table or figure of the paper, and a name
    text        what is claimed
    rule        which number is above 0 if it is so
    about       what it was tried on beside the model: a token, a metric; empty for the whole
    value       the number, with its 95 % interval; NaN where it cannot be shown
    n           things that were resampled for the interval
    why         the numbers behind it, or why it cannot be shown
    points      of a difference of shares, which tables have in per cent: how it is told in hundredths; else empty
    """

    id: str
    text: str
    rule: str
    value: float
    low: float
    high: float
    n: int
    why: str
    about: str = ""
    model: str = ""
    layer: str = ""
    points: str = ""

    @property
    def verdict(self) -> str:
        """held, not held, too close to call (0 is in the interval) or cannot be shown."""
        if not all(map(math.isfinite, (self.value, self.low, self.high))):
            return "cannot be shown"
        if self.low > 0:
            return "held"
        return "not held" if self.high < 0 else "too close to call"

    def row(self) -> Row:
        names = ("id", "model", "layer", "about", "value", "low", "high", "n", "why", "text", "rule")
        return {"verdict": self.verdict, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class Analysis(Tabular):
    """What was found for one model.

    what      structure, pairs, tense, frequency or clusters
    model     the encoder's name
    tables    file name -> columns; each has `model`, `layer` and, where it is about repairs, `space`
    claims    by layer
    units     what has a vector: words or pieces
    settings  all that decided a number
    dropped   reason -> how many were left out
    notes     what a reader must know
    """

    what: str
    model: str
    tables: Mapping[str, Columns]
    claims: tuple[Claim, ...]
    units: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def title(self) -> str:
        return f"{self.model}: {self.what}"

    def columns(self) -> Columns:
        """The claims; `.tables` has the numbers behind them."""
        return columns_of([claim.row() for claim in self.claims])

    def rows(self, table: str) -> list[Row]:
        """A table row by row."""
        columns = self.tables[table]
        return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


class Findings:
    """What is found of one model, layer by layer, on its way to an `Analysis`; `tables` come in this order."""

    def __init__(self, what: str, model: str, tables: Sequence[str]) -> None:
        self.what, self.model = what, model
        self._tables: dict[str, list[Row]] = {name: [] for name in tables}
        self._claims: list[Claim] = []

    def add(self, layer: str, claims: Iterable[Claim], **rows: Iterable[Row]) -> None:
        """Claims on a layer, and rows of tables, which get the model's and the layer's name."""
        where = {"model": self.model, "layer": layer}
        for name, some in rows.items():
            self._tables[name] += [{**where, **row} for row in some]
        self._claims += [replace(claim, model=self.model, layer=layer) for claim in claims]

    def analysis(self, *, others: Mapping[str, Sequence[Row]] | None = None, **facts: Any) -> Analysis:
        """All of it; `others` are the rows of tables that are of no layer, `facts` the other fields of an analysis."""
        tables = {name: columns_of(rows) for name, rows in {**self._tables, **(others or {})}.items()}
        return Analysis(self.what, self.model, tables, tuple(self._claims), **facts)


def joined(analyses: Sequence[Analysis]) -> dict[str, Columns]:
    """The tables of several models, one below the other."""
    names = dict.fromkeys(name for analysis in analyses for name in analysis.tables)
    found = {}
    for name in names:
        rows = [row for analysis in analyses if name in analysis.tables for row in analysis.rows(name)]
        found[name] = columns_of(rows)
    return {"claims": columns_of([claim.row() for analysis in analyses for claim in analysis.claims]), **found}
