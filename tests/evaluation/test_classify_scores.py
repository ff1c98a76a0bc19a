"""Accuracy and Matthews' correlation against scikit-learn, and what resampling makes of them."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, matthews_corrcoef

from limbeck.evaluation.classifying.scores import resampled, score


@pytest.mark.parametrize("classes", [2, 4])
def test_scores_are_those_of_scikit_learn(classes):
    rng = np.random.default_rng(0)
    gold = rng.integers(classes, size=60)
    predicted = np.where(rng.random((3, 5, 60)) < 0.5, gold, rng.integers(classes, size=(3, 5, 60)))
    for metric, oracle in (("accuracy", accuracy_score), ("matthews", matthews_corrcoef)):
        found = score(predicted, gold, metric=metric)
        assert found.shape == (3, 5)
        expected = [[oracle(gold, run) for run in runs] for runs in predicted]
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_matthews_of_one_class_is_zero():
    gold = np.array([0, 1, 1, 0])
    for predicted in (np.zeros(4, dtype=int), np.ones(4, dtype=int)):
        assert score(predicted, gold, metric="matthews") == matthews_corrcoef(gold, predicted) == 0


def test_resampling_is_that_of_single_examples():
    """Spread over draws: √(p(1 − p)/n) for an accuracy, if the runs are all the same."""
    rng = np.random.default_rng(1)
    gold = rng.integers(2, size=400)
    one = np.where(rng.random(400) < 0.7, gold, 1 - gold)
    p = (one == gold).mean()
    drawn = resampled(np.stack([np.stack([one] * 3)]), gold, metric="accuracy", draws=4000, seed=0)[0]
    assert drawn.mean() == pytest.approx(p, abs=0.002)
    assert drawn.std() == pytest.approx(np.sqrt(p * (1 - p) / 400), rel=0.06)


def test_resampling_counts_the_starts_too():
    """Runs that differ widen the interval, by the spread of a mean of runs drawn with replacement."""
    gold = np.zeros(2000, dtype=int)
    runs = np.stack([np.arange(2000) >= 2000 * share for share in (0.2, 0.4, 0.6, 0.8)]).astype(int)
    drawn = resampled(runs[None], gold, metric="accuracy", draws=4000, seed=0)[0]
    expected = np.std([0.2, 0.4, 0.6, 0.8]) / 2
    assert drawn.std() == pytest.approx(expected, rel=0.08)


def test_settings_are_drawn_alike():
    """A setting beside itself never differs; draws depend on the seed."""
    rng = np.random.default_rng(2)
    gold = rng.integers(2, size=50)
    runs = rng.integers(2, size=(4, 50))
    both = resampled(np.stack([runs, runs]), gold, metric="matthews", draws=200, seed=3)
    assert (both[0] == both[1]).all()
    assert both[0].std() > 0
    other = resampled(runs[None], gold, metric="matthews", draws=200, seed=4)[0]
    assert not np.array_equal(other, both[0])
