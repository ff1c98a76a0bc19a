"""What a repairing run prints at its end."""

from __future__ import annotations

import math

from limbeck.cli.output import say
from limbeck.runs.repair import RepairResult, RepairRun

#: column title -> measure
COLUMNS = {
    "anisotropy": "anisotropy",
    "log10 I(W)": "log10_isotropy",
    "IsoScore": "isoscore",
    "effective rank": "effective_rank",
    "‖mean‖/norm": "norm_of_mean_over_mean_norm",
}
FREQUENCY = "R(log frequency)"


def show(result: RepairResult, run: RepairRun) -> None:
    """The main measures by layer, before and after, and where it all is."""
    from rich.table import Table

    out = run.output.out
    table = Table(title=result.title(), title_justify="left")
    table.add_column("layer", justify="right")
    space = result.tables["space"]
    keys = zip(space["repair"], space["layer"], strict=True)
    r = dict(zip(keys, space["correlation"], strict=True))
    known = not all(map(math.isnan, r.values()))
    for title in [*COLUMNS, *([FREQUENCY] if known else [])]:
        table.add_column(title, justify="right")
    for place, layer in enumerate(result.layers):
        pairs = [(result.before[name].value[place], result.after[name].value[place]) for name in COLUMNS.values()]
        cells = [_change(*pair) for pair in pairs]
        table.add_row(layer, *cells, *([_change(r["before", layer], r["after", layer])] if known else []))
    say(table)
    lines = [f"{FREQUENCY}: multiple correlation of the first two principal components with it"] if known else []
    if result.dropped:
        lines.append("left out: " + ", ".join(f"{reason} {number:,}" for reason, number in result.dropped.items()))
    figures = "figures/, " * run.output.figures
    lines.append(f"{out}: report.html, repairs/, before/, after/, local.csv, space.csv, {figures}run.json")
    if out is not None and "vectors" in result.record:
        lines.append(f"repaired vectors: {out / result.record['vectors']}")
    lines.append(f"use with --repair {out}")
    say(*lines)


def _change(before: float, after: float) -> str:
    rounded = (round(float(value), 3) + 0.0 for value in (before, after))  # -0.0 becomes 0.0
    return " → ".join("-" if math.isnan(value) else f"{value:.3f}" for value in rounded)
