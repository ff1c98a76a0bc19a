"""Draws of occurrences from different texts."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.measures.draws import draw_from_different_texts


def draw(texts: np.ndarray, size: int, draws: int = 400, seed: int = 0) -> np.ndarray:
    return draw_from_different_texts(texts, size=size, draws=draws, seed=seed, name="test")


@pytest.mark.parametrize(("texts", "size"), [(20, 20), (20, 3), (300, 30), (5000, 4)])
def test_no_two_of_one_text(texts: int, size: int):
    ids = np.random.default_rng(0).permutation(np.repeat(np.arange(texts) * 7 + 3, 5))
    rows = draw(ids, size, draws=50)
    assert rows.shape == (50, size)
    assert all(len(set(ids[row])) == size for row in rows)
    assert rows.min() >= 0
    assert rows.max() < len(ids)


def test_fewer_where_there_are_fewer_texts():
    assert draw(np.array([4, 4, 9, 9, 9]), 6).shape == (400, 2)
    assert draw(np.empty(0, dtype=np.int64), 6).shape == (400, 0)


@pytest.mark.parametrize("n", [12, 400], ids=["by permutation", "by trial"])
def test_occurrences_are_uniform(n: int):
    """The first of a draw is any occurrence, not any text: long texts are not underweighted."""
    texts = np.concatenate([np.zeros(n // 2, dtype=np.int64), np.arange(1, n // 2 + 1)])  # half of them in one text
    first = draw(texts, 3, draws=4000)[:, 0]
    assert (texts[first] == 0).mean() == pytest.approx(0.5, abs=0.04)
    counts = np.bincount(first, minlength=n)
    assert counts.std() < 1.3 * np.sqrt(4000 / n)


def test_seeded_and_named():
    texts = np.arange(50)
    assert (draw(texts, 5) == draw(texts, 5)).all()
    assert (draw(texts, 5) != draw(texts, 5, seed=1)).any()
    other = draw_from_different_texts(texts, size=5, draws=400, seed=0, name="other")
    assert (draw(texts, 5) != other).any()
