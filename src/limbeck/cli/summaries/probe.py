"""What a probing run prints at its end."""

from __future__ import annotations

import math
from typing import Any

from limbeck.cli.output import say
from limbeck.runs.probe import ProbeResult, ProbeRun


def show(result: ProbeResult, run: ProbeRun) -> None:
    """F1 by layer on the test side, and what stands beside it."""
    from rich.table import Table

    rows = result.rows("scores", side="test", context="all")
    kinds = list(dict.fromkeys((row["space"], row["level"], row["probe"]) for row in rows))
    curves = [kind for kind in kinds if kind[0] in ("context", "average", "random weights", "random labels")]
    say(f"{result.model}: micro-F1 on the test words")
    table = Table()
    table.add_column("layer", justify="right")
    several = len({kind[2] for kind in curves}) > 1
    for space, _, probe in curves:
        table.add_column(f"{space}, {probe}" if several else space, justify="right")
    table.add_column("recall only" if not several else f"recall only, {curves[0][2]}", justify="right")
    layers = list(dict.fromkeys(row["layer"] for row in rows if row["space"] == "context"))
    found = {(row["space"], row["level"], row["probe"], row["layer"]): row for row in rows}
    for layer in layers:
        cells = [number(found.get((*kind, layer))) for kind in curves]
        table.add_row(layer, *cells, number(found.get((*curves[0], layer)), "recall"))
    say(table)
    for kind in kinds:
        if kind not in curves:
            own = next(row for row in rows if (row["space"], row["level"], row["probe"]) == kind)
            probe = "" if kind[2] == "none" else f", {kind[2]}"
            say(f"{kind[0]} ({kind[1]} level{probe}): {number(own)}")
    guess = [row["f1"] for row in rows if (row["space"], row["level"]) == ("majority", "context")]
    if guess and max(row["f1"] for row in rows if row["space"] == "context") <= guess[0]:
        told = "no layer is above the majority class, these probes say nothing: give more --epochs or more words"
        say(told)
    for what, note in result.facts["notes"].items():
        say(f"{what}: {note}")
    figures = "figures/, " * run.output.figures
    told = f"{run.output.out}: report.html, tables, {figures}run.json"
    say(told)


def number(row: dict[str, Any] | None, column: str = "f1") -> str:
    """A score with its deviation over starts, where there are several."""
    if row is None or math.isnan(row[column]):
        return "-"
    spread = row[f"{column}_std"]
    return f"{row[column]:.3f}" if math.isnan(spread) else f"{row[column]:.3f} ± {spread:.3f}"
