"""Seeded draws of occurrences that stand in different texts: what baselines are made of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from limbeck.seeds import generator_for


def draw_from_different_texts(
    texts: NDArray[np.int64], *, size: int, draws: int, seed: int, name: str
) -> NDArray[np.int64]:
    """Rows (draws, size): in each draw, uniform occurrences without replacement, no two of one text.

    Fewer columns than `size` come back where there are not so many texts. A beginning of a draw is a draw.
    """
    generator = generator_for(seed, "draws", name)
    distinct, text_of = np.unique(texts, return_inverse=True)
    size = min(size, len(distinct))
    rows = np.empty((draws, size), dtype=np.int64)
    for draw in range(draws):
        rows[draw] = _one(generator, text_of, size)
    return rows


def _one(generator: np.random.Generator, text_of: NDArray[np.int64], size: int) -> NDArray[np.int64]:
    # try a few times as many as needed before the whole permutation
    for count in (4 * size + 16, len(text_of)):
        if count >= len(text_of):
            candidates = generator.permutation(len(text_of))
        else:
            candidates = generator.integers(len(text_of), size=count)
        _, first = np.unique(text_of[candidates], return_index=True)
        if len(first) >= size:
            return candidates[np.sort(first)[:size]]
    raise AssertionError("a permutation holds every text")
