"""What a measuring run prints at its end."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from limbeck.cli.output import add
from limbeck.cli.output import console as make_console
from limbeck.runs.measuring.results import Measured
from limbeck.stream import Passed

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


def print_summary(measured: Measured, passed: Passed, target: Path) -> None:
    """The main measures by layer, the most and least contextual words, what was left out, where it all is."""
    from rich.table import Table

    console = make_console()
    table = Table(title=f"{measured.name}: {measured.moments.n:,} occurrences", title_justify="left")
    table.add_column("layer", justify="right")
    for title in COLUMNS:
        table.add_column(title, justify="right")
    for place, layer in enumerate(measured.layers):
        table.add_row(layer, *(_number(getattr(measured[name], part), place) for name, part in COLUMNS.values()))
    console.print(table)
    most, least = measured.extremes()
    add("runs", facts_of(measured, passed, target))
    for what, words in (("most contextual words: ", most), ("least contextual words:", least)):
        if words:
            console.print(f"{what} {' '.join(words)}", markup=False, highlight=False, soft_wrap=True)
    left_out = passed.plan.dropped | passed.dropped
    if left_out:
        told = ", ".join(f"{reason} {number:,}" for reason, number in left_out.items())
        console.print(f"left out: {told}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"{target}: report.html, tables, figures/, run.json", markup=False, highlight=False, soft_wrap=True)


def facts_of(measured: Measured, passed: Passed, target: Path) -> dict[str, Any]:
    """The same for a program: every measure at every layer, whole numbers of digits."""
    most, least = measured.extremes()
    measures = {
        name: {part: getattr(result, part) for part in ("value", "baseline", "adjusted", "n", "low", "high", "note")}
        for name, result in measured.results.items()
    }
    return {
        "name": measured.name,
        "out": target,
        "occurrences": measured.moments.n,
        "layers": measured.layers,
        "measures": measures,
        "most_contextual": most,
        "least_contextual": least,
        "dropped": passed.plan.dropped | passed.dropped,
    }


def _number(values: Any, place: int) -> str:
    value = float(values[place])
    return "-" if math.isnan(value) else f"{value:.3f}"
