"""What a page says of static vectors out of a layer's principal components: Table 1 of Ethayarajh (2019)."""

from __future__ import annotations

import math

from limbeck.papers import published
from limbeck.papers.component_vectors import AVERAGE, FILE, PRINCIPAL, SETS, WAYS
from limbeck.papers.estimates import minus
from limbeck.papers.markdown import table
from limbeck.papers.results import Reproduction

NAMES = {PRINCIPAL: "principal component", AVERAGE: "average", FILE: "as it is"}
TITLES = {
    "web": "Scored as published: an unknown word is the mean vector, an unknown answer wrong, the best of six "
    "clusterings counts:",
    "known": "Scored on what the vectors know: pairs, questions and words without a vector are left out, one "
    "clustering was settled beforehand; –: fewer than 20 are left:",
}


def table_1(found: Reproduction) -> str:
    """Every model's vectors on the nine sets in both ways, the printed table below the first."""
    shown = [one for one in found.subjects if one.static is not None]
    if not shown:
        reasons = {one.no_static or "nobody asked for it" for one in found.subjects}
        return "\n\n".join(sorted(f"Not scored: {reason}." for reason in reasons))
    head = ["", "vectors", *SETS.values(), "mean"]
    parts = []
    for way in WAYS:
        rows = []
        for one in shown:
            scores = [row for row in one.benchmarks().rows("scores") if row["way"] == way]
            for kind, layer in dict.fromkeys((row["vectors"], row["layer"]) for row in scores):
                own = {row["set"]: row["value"] for row in scores if (row["vectors"], row["layer"]) == (kind, layer)}
                named = f"{one.name}, layer {layer}" if layer else one.name
                rows.append([named, NAMES[kind], *_cells([own.get(name, math.nan) for name in SETS])])
        if way == "web":
            for name, values in published.TABLE_1.values.items():
                rows.append([f"*{name}, printed*", "", *_cells(values)])
        parts += [TITLES[way], table(head, rows)]
    words = ", ".join(f"{one.name} {one.benchmarks().about['words']:,}" for one in shown)
    return "\n\n".join([*parts, f"Words with vectors, those that occur five times in the text: {words}."])


def _cells(values: list[float]) -> list[str]:
    known = [value for value in values if math.isfinite(value)]
    mean = sum(known) / len(known) if known else math.nan
    return [_three(value) for value in (*values, mean)]


def _three(value: float) -> str:
    if not math.isfinite(value):
        return "–"
    return minus(f"{value:.3f}") if abs(value) >= 0.0005 else "0.000"
