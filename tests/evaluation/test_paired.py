"""Paired means beside scipy, and beside every choice of signs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from refusals import raises
from scipy import stats

from limbeck.errors import UsageError
from limbeck.evaluation.paired import paired_means, sign_flip


def made(n: int, shift: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    first = rng.normal(size=(2, n))
    return first, first + shift + 0.5 * rng.normal(size=(2, n))


def test_few_pairs_are_exact() -> None:
    first, second = made(11, 0.2)
    found = paired_means(first, second)
    for row in range(2):
        d = second[row] - first[row]
        brute = np.mean([abs(np.dot(s, d)) >= abs(d.sum()) - 1e-12 for s in itertools.product([-1, 1], repeat=11)])
        assert found.p[row] == pytest.approx(brute, abs=1e-12)
        theirs = stats.permutation_test(
            (d,), lambda x, axis: np.mean(x, axis=axis), permutation_type="samples", n_resamples=10_000
        )
        assert found.p[row] == pytest.approx(theirs.pvalue, abs=1e-9)


def test_many_pairs_are_near_the_normal() -> None:
    first, second = made(400, 0.06)
    found = paired_means(first, second, draws=20_000)
    d = second - first
    z = d.sum(axis=1) / np.sqrt((d**2).sum(axis=1))  # under the flips the sum has this variance
    assert found.p == pytest.approx(2 * stats.norm.sf(np.abs(z)), abs=0.015)
    assert found.difference == pytest.approx(d.mean(axis=1))
    assert found.share == pytest.approx((d > 0).mean(axis=1))
    theirs = stats.bootstrap(
        (d[0],), np.mean, method="percentile", n_resamples=5000, rng=np.random.default_rng(1)
    ).confidence_interval
    assert (found.low[0], found.high[0]) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_p_is_fair_where_nothing_differs() -> None:
    rng = np.random.default_rng(3)
    p = sign_flip(rng.normal(size=(600, 30)), draws=999)
    assert 0.02 < (p < 0.05).mean() < 0.085
    assert p.min() >= 1 / 1000


def test_what_is_missing_is_left_out() -> None:
    first, second = made(30, 0.5)
    whole = paired_means(first[:, 2:], second[:, 2:])
    first[0, 0], second[1, 1] = np.nan, np.inf
    holed = paired_means(first, second)
    assert holed.n == 28
    assert holed.difference == pytest.approx(whole.difference)
    assert holed.p == pytest.approx(whole.p)


def test_too_few_to_judge() -> None:
    assert np.isnan(paired_means(np.zeros((1, 9)), np.ones((1, 9))).p).all()
    assert np.isnan(paired_means(np.zeros((1, 1)), np.ones((1, 1))).difference).all()
    with raises(UsageError, code="wrong_shape"):
        paired_means(np.zeros((1, 9)), np.ones((1, 8)))
