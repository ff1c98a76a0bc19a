"""What a measuring run prints at its end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from limbeck.cli.output import add, say, width
from limbeck.runs.measure import MeasureResult, MeasureRun

#: column title -> measure and which of its numbers
COLUMNS = {
    "anisotropy": ("anisotropy", "value"),
    "self-sim.": ("self_similarity", "value"),
    "adjusted": ("self_similarity", "adjusted"),
    "intra-sent.": ("intra_sentence_similarity", "value"),
    "adjusted (matched)": ("intra_sentence_similarity_matched", "adjusted"),
    "MEV": ("mev", "value"),
    "log10 I(W)": ("log10_isotropy", "value"),
    "IsoScore": ("isoscore", "value"),
    "mean norm": ("mean_norm", "value"),
}
LAST = "mean norm"  #: the column that a narrow window goes without
ALL_COLUMNS = 108  #: characters that the whole table takes


def show(result: MeasureResult, run: MeasureRun) -> None:
    """The main measures by layer, the most and least contextual words, what was left out, where it all is."""
    from rich.table import Table

    table = Table(title=result.title(), title_justify="left")
    table.add_column("layer", justify="right")
    columns = {title: one for title, one in COLUMNS.items() if title != LAST or width() >= ALL_COLUMNS}
    for title in columns:
        table.add_column(title, justify="right")
    for place, layer in enumerate(result.layers):
        table.add_row(layer, *(_number(getattr(result[name], part), place) for name, part in columns.values()))
    say(table)
    record, out = result.record, run.output.out
    add("runs", facts_of(result, out))
    for what, key in (
        ("most contextual words: ", "lowest_self_similarity"),
        ("least contextual words:", "highest_self_similarity"),
    ):
        if record[key]:
            say(f"{what} {' '.join(map(quoted, record[key]))}")
    if record["dropped"]:
        reasons = ", ".join(f"{reason} {number:,}" for reason, number in record["dropped"].items())
        say(f"left out: {reasons}")
    figures = "figures/, " * run.output.figures
    say(f"{out}: report.html (open it in a browser), tables, {figures}run.json")


def facts_of(result: MeasureResult, out: Path | None) -> dict[str, Any]:
    """The same for a program: every measure at every layer, whole numbers of digits."""
    parts = ("value", "baseline", "adjusted", "n", "low", "high", "note")
    return {
        "name": result.name,
        "out": out,
        "occurrences": result.n,
        "layers": result.layers,
        "measures": {name: {part: getattr(one, part) for part in parts} for name, one in result.measures.items()},
        "most_contextual": result.record["lowest_self_similarity"],
        "least_contextual": result.record["highest_self_similarity"],
        "dropped": result.record["dropped"],
    }


def quoted(word: str) -> str:
    """A word in a list with blanks between; what has no letter and no digit in quotes, so that it can be seen.

    >>> " ".join(map(quoted, ["tea", ",", "than"]))
    'tea "," than'
    """
    return word if any(map(str.isalnum, word)) else f'"{word}"'


def _number(values: Any, place: int) -> str:
    value = math.nan if values is None else float(values[place])
    return "-" if math.isnan(value) else f"{value:.3f}"
