"""Every measure by layer: raw, baseline, adjusted, with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.reporting.page.folders import MEASURED, Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded
from limbeck.reporting.read import place

#: measure -> what it is called, its axis, and what it tells; those that are not here are shown under their own name
MEASURES = {
    "self_similarity": (
        "Self-similarity",
        "mean cosine",
        "How alike a word is to itself in other contexts. Low when adjusted: the vectors depend on context.",
    ),
    "anisotropy": (
        "Anisotropy",
        "mean cosine",
        "How alike two random words are; 0 if directions are used evenly.",
    ),
    "intra_sentence_similarity": (
        "Intra-sentence similarity",
        "mean cosine",
        "How alike the words of a sentence are to their mean. Baseline: two random words, as in the paper.",
    ),
    "intra_sentence_similarity_matched": (
        "Intra-sentence similarity, matched",
        "mean cosine",
        "The same beside made sentences: random words, as many as in the real ones.",
    ),
    "mev": (
        "Maximum explainable variance",
        "share of variance",
        "How much of a word one vector could hold (uncentred).",
    ),
    "mev_centered": ("MEV, centred", "share of variance", "The same about the word's own mean."),
    "mev_truncated_svd": ("MEV, as released", "share of variance", "As the published code of Ethayarajh 2019 had it."),
    "log10_isotropy": ("Partition function I(W)", "log₁₀ I(W)", "0 if isotropic; both signs of each direction."),
    "log10_isotropy_one_sign": ("I(W), one sign", "log₁₀ I(W)", "As published: one sign of each direction."),
    "isoscore": ("IsoScore", "IsoScore", "1 if isotropic; blind to the mean."),
    "effective_rank": ("Effective rank", "directions", "How many directions the spread uses."),
    "participation_ratio": ("Participation ratio", "directions", "The same by squares of variances."),
    "mean_norm": ("Mean norm", "length", "Mean length of a vector."),
    "norm_of_mean_over_mean_norm": ("Length of the mean vector", "‖mean‖ / mean norm", "0 if centred."),
    "largest_dimension_share": (
        "Largest dimension's share",
        "share of the mean cosine",
        "How much of the mean cosine one dimension makes: near 1, a rogue dimension.",
    ),
    "three_largest_dimension_shares": ("Three largest dimensions' share", "share of the mean cosine", ""),
}
COLUMNS = ("value", "baseline", "adjusted", "low", "high")
COUNTED = ("directions", "length")  #: units without an upper end, of which a factor can matter more than a difference
LOG_FROM = 30.0  #: largest over smallest value from which an axis of logarithms is the better one


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each measure, of each run, a column a quantity with a number a layer."""
    found: dict[str, list[dict[str, Any]]] = {}
    for folder in folders:
        table = folder.table("layers.csv", "layer", "measure", *COLUMNS) if folder.kind == MEASURED else None
        if table is None:
            continue
        columns = {column: numbers(table[column]) for column in COLUMNS}
        which = np.array(table["measure"], dtype=str)
        order = list(dict.fromkeys(table["layer"]))
        positions = dict(zip(order, place(order), strict=True))
        notes = table.get("note", [""] * len(which))
        for measure in dict.fromkeys(table["measure"]):
            rows = np.flatnonzero(which == measure)
            names = [table["layer"][row] for row in rows]
            curve: dict[str, Any] = {"run": folder.name, "layers": names, "at": [positions[name] for name in names]}
            for column in COLUMNS:
                if np.isfinite(columns[column][rows]).any():
                    curve[column] = rounded(columns[column][rows])
            if any(note := list(dict.fromkeys(notes[row] for row in rows if notes[row]))):
                curve["note"] = "; ".join(note[:3])
            found.setdefault(measure, []).append(curve)
    if not found:
        return None
    ordered = [measure for measure in MEASURES if measure in found] + [name for name in found if name not in MEASURES]
    return {
        "title": "Layer by layer",
        "measures": [_measure(measure, found[measure]) for measure in ordered],
    }


def _measure(measure: str, curves: list[dict[str, Any]]) -> dict[str, Any]:
    title, unit, about = MEASURES.get(measure, (measure.replace("_", " ").capitalize(), "", ""))
    values = [value for curve in curves for value in curve.get("value", []) if value is not None]
    positive = bool(values) and min(values) > 0
    return {
        "measure": measure,
        "title": title,
        "unit": unit,
        "about": about,
        "logarithmic": unit in COUNTED and positive and max(values) / min(values) >= LOG_FROM,
        "positive": positive,
        "curves": curves,
    }
