"""Scores against counting by hand, combination by combination, and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import f1_score

from limbeck.probing.scoring import f1_interval, score


def counted_by_hand(decisions, unit, gold):
    """The paper's rule and FIDELITY's reading, in loops: at least half of a unit's rows right is right."""
    tp = fp = fn = 0
    for one in sorted(set(unit.tolist())):
        rows = [row for row in range(len(unit)) if unit[row] == one]
        for kind in range(gold.shape[1]):
            right = sum(decisions[row][kind] == gold[one][kind] for row in rows)
            fine = right >= len(rows) / 2
            tp += gold[one][kind] and fine
            fn += gold[one][kind] and not fine
            fp += not gold[one][kind] and not fine
    return tp, fp, fn


@pytest.mark.parametrize("seed", range(5))
def test_combinations_are_counted_as_the_paper_does(seed: int):
    generator = np.random.default_rng(seed)
    unit = generator.integers(0, 12, 60)
    gold = np.zeros((14, 4), dtype=bool)  # two combinations have no row on this side
    gold[np.arange(14), generator.integers(0, 4, 14)] = True
    decisions = generator.random((60, 4)) < 0.5
    found = score(decisions, unit, gold, np.arange(14) // 2)
    tp, fp, fn = counted_by_hand(decisions, unit, gold)
    assert (found.tp.sum(), found.fp.sum(), found.fn.sum()) == (tp, fp, fn)
    assert found.f1 == pytest.approx(2 * tp / (2 * tp + fp + fn))
    assert found.recall == pytest.approx(tp / len(set(unit.tolist())))
    np.testing.assert_array_equal(found.by_word.sum(0), [tp, fp, fn])


def test_the_papers_example():
    """24 of 47 contexts right is right, 23 is not; a tie of 46 is."""
    for right, size, wanted in ((24, 47, 1.0), (23, 47, 0.0), (23, 46, 1.0)):
        decisions = np.arange(size)[:, None] < right
        found = score(decisions, np.zeros(size, dtype=int), np.ones((1, 1), dtype=bool), np.zeros(1, dtype=int))
        assert found.recall == wanted


def test_words_are_scored_as_scikit_learn_does():
    generator = np.random.default_rng(0)
    gold, said = generator.random((40, 5)) < 0.3, generator.random((40, 5)) < 0.4
    found = score(said, np.arange(40), gold, np.arange(40))
    assert found.f1 == pytest.approx(f1_score(gold, said, average="micro", zero_division=0))
    each = f1_score(gold, said, average=None, zero_division=0)
    np.testing.assert_allclose(2 * found.tp / (2 * found.tp + found.fp + found.fn), each)


def test_an_interval_holds_the_score_and_narrows():
    generator = np.random.default_rng(1)
    few, many = (generator.integers(0, 3, (size, 3)).astype(float) for size in (20, 2000))
    assert (width := f1_interval(few))[1] - width[0] > 3 * (f1_interval(many)[1] - f1_interval(many)[0])
    tp, fp, fn = many.sum(0)
    low, high = f1_interval(many)
    assert low < 2 * tp / (2 * tp + fp + fn) < high
