"""What a comparison prints: the table, then what it means."""

from __future__ import annotations

import math
from typing import Any

from limbeck.cli.output import say, tell
from limbeck.reporting.differences import Row
from limbeck.runs.compare import CompareResult, CompareRun

#: measures in the terminal's table; the rest stands in compare.csv
SHOWN = (("self_similarity", "value"), ("self_similarity", "adjusted"), ("mev", "adjusted"), ("anisotropy", "value"))


def show(found: CompareResult, run: CompareRun) -> None:
    """The table, then what it means."""
    out = run.output.out
    tell(**found.facts(), out=out)
    say(compared_table(found))
    lines = found.sentences()
    for way, word in (("up", "rise"), ("down", "fall")):
        if words := found.movers.get(way):
            told = ", ".join(f"“{name}” ({change:+.2f})" for name, change in words[:6])
            lines.append(f"words whose self-similarity, less anisotropy, averaged over layers, {word}s most: {told}")
    if out is not None:
        lines.append(f"{out}: report.html, compare.csv, compare.json, run.json")
    say(*lines)


def compared_table(found: CompareResult) -> Any:
    from rich.table import Table

    told = f"{found.b} less {found.a} (* real: p adjusted by Holm's method below 0.05)"
    table = Table(title=told, title_justify="left")
    first, second = ("measure", "layer") if found.kind == "measure" else ("task", "column")
    for name in (first, second, "A", "B", "difference", "95 % interval", "p (Holm)"):
        table.add_column(name, justify="left" if name in (first, "column") else "right", no_wrap="interval" in name)
    shown = [row for row in found.rows if found.kind == "evaluate" or (row["measure"], row["part"]) in SHOWN]
    for place, row in enumerate(shown):
        named = row["measure"] if found.kind == "evaluate" else _named(row)
        again = place > 0 and (_named(shown[place - 1]) == _named(row))
        last = place == len(shown) - 1 or _named(shown[place + 1]) != _named(row)
        table.add_row("" if again else named, *_cells(row), end_section=last)
    return table


def _named(row: Row) -> str:
    return f"{row['measure'].replace('_', '-')}{', adjusted' if row['part'] == 'adjusted' else ''}"


def _cells(row: Row) -> list[str]:
    """A dash stands where there is no number."""
    same = row["layer_a"] == row["layer_b"]
    p = row["p_holm"]
    mark = " *" if row["real"] else "  "
    return [
        row["layer_a"] if same else f"{row['layer_a']} : {row['layer_b']}",
        "-" if math.isnan(row["a"]) else f"{row['a']:.3f}",
        "-" if math.isnan(row["b"]) else f"{row['b']:.3f}",
        "-  " if math.isnan(row["difference"]) else f"{row['difference']:+.3f}{mark}",
        "-" if math.isnan(row["low"]) else f"[{row['low']:+.3f}, {row['high']:+.3f}]",
        "-" if math.isnan(p) else "< 0.001" if p < 0.001 else f"{p:.3f}",
    ]
