"""Parents made of numbers: scores of static vectors that rules can be asked about, and files of word tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.analysis.result import columns_of
from limbeck.papers.parts import Part
from limbeck.papers.published_static import SETS
from limbeck.papers.static_subjects import MEAN, Parent

#: file of a word-similarity task -> highest score
FILES = {
    "EN-RG-65.txt": 4.0,
    "EN-WS-353-ALL.txt": 10.0,
    "EN-SIMLEX-999.txt": 10.0,
    "EN-SimVerb-3500.txt": 10.0,
    "EN-RW-STANFORD.txt": 10.0,
    "EN-MTurk-287.txt": 5.0,
    "EN-MEN-TR-3k.txt": 50.0,
}


def made_parent(
    name: str = "made",
    *,
    scores: Mapping[tuple[str, str], float],
    differences: Mapping[tuple[str, str], tuple[float, float]] | None = None,
    best: str = "2",
    size: Sequence[Mapping[str, Any]] = (),
    family: str = "BERT",
) -> Parent:
    """scores: (method, layer) -> score on every set; differences: (one, other) -> value and half its interval."""
    rows = [
        {"method": method, "layer": layer, "set": over, "value": value, "low": value - 0.01, "high": value + 0.01,
         "n": 50, "total": 60, "all_pairs": value}
        for (method, layer), value in scores.items()
        for over in (*SETS, MEAN)
    ]  # fmt: skip
    apart = [
        {"one": one, "other": other, "set": over, "value": value, "low": value - half, "high": value + half}
        for (one, other), (value, half) in (differences or {}).items()
        for over in (*SETS, MEAN)
    ]
    about = {"best_layer": best, "chosen_layer": best, "vocabulary": 100, "missing": {}}
    parts = {"similarity": Part({"scores": columns_of(rows), "differences": columns_of(apart)}, about)}
    if size:
        parts["size"] = Part({"scores": columns_of([dict(row) for row in size])}, {"layer": best})
    account = {"settings": {"preset": "corrected"}, "dim": 12, "source": {}, "counts": {}}
    return Parent(name, family, ("0", "1", "2"), parts, {}, account)


def write_sets(folder: Path, words: Sequence[str], *, pairs: int = 60) -> Path:
    """The sets with random scores, and in each a pair of words that nobody knows."""
    generator = np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    for name, most in FILES.items():
        lines = [
            "\t".join([*generator.choice(words, size=2, replace=False), f"{generator.uniform(0, most):.2f}"])
            for _ in range(pairs)
        ]
        (folder / name).write_text("\n".join([*lines, "zzxqj\tqqzzv\t1.00"]) + "\n", encoding="utf-8")
    return folder
