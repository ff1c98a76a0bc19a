"""Embedding tables made of numbers, word pairs to score them on, and the files of both."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.papers.table_sources import EmbeddingTable

#: a task's file, as the catalogue knows it -> separator
FILES = {
    "EN-MEN-TR-3k.txt": 50.0,
    "EN-RW-STANFORD.txt": 10.0,
    "EN-SIMLEX-999.txt": 10.0,
    "EN-WS-353-SIM.txt": 10.0,
    "EN-WS-353-REL.txt": 10.0,
}


def made_matrix(rows: int = 400, d: int = 12, *, shift: float = 1.0, seed: int = 0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    direction = generator.normal(size=d)
    return 0.3 * generator.normal(size=(rows, d)) + shift * direction / np.linalg.norm(direction)


def made_table(matrix: np.ndarray, *, name: str = "made", tokens: Sequence[str] = (), **other: Any) -> EmbeddingTable:
    """A table whose rows are called w0, w1, …, the first the most frequent in the text."""
    names = list(tokens) or [f"w{row}" for row in range(len(matrix))]
    place = {word: row for row, word in enumerate(names)}
    counts = np.maximum(len(matrix) - 2 * np.arange(len(matrix)), 0)
    plain: dict[str, Any] = {"kind": "pieces", "family": "BERT", "counts": counts, "words": counts[counts > 0]}
    plain |= {"corpus": {"paths": ["a/text.txt"], "fingerprint": "0"}, "row_of": place.get}
    return EmbeddingTable(name=name, matrix=matrix, tokens=names, **(plain | other))


def write_sets(folder: Path, words: Sequence[str], *, pairs: int = 60, names: Sequence[str] = tuple(FILES)) -> Path:
    """The five sets with random scores, and in each a pair of words that nobody knows."""
    generator = np.random.default_rng(5)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        lines = [
            "\t".join([*generator.choice(words, size=2, replace=False), f"{generator.uniform(0, FILES[name]):.2f}"])
            for _ in range(pairs)
        ]
        (folder / name).write_text("\n".join([*lines, "zzxqj\tqqzzv\t1.00"]) + "\n", encoding="utf-8")
    return folder
