"""Correlations against scipy; resampling against brute force; tests against what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises
from scipy import stats

from limbeck.errors import InputError, UsageError
from limbeck.evaluation import (
    bootstrap_interval,
    correlation,
    cosines,
    fisher_interval,
    holm,
    paired_bootstrap,
    paired_permutation,
    significance,
)
from limbeck.evaluation.correlations import ranks
from limbeck.seeds import generator_for

ORACLE = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}
METRICS = ("spearman", "pearson")


def made(n: int, seed: int = 0, *, ties: bool = True) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gold with ties as ratings have, and two targets of which the first is better."""
    generator = np.random.default_rng(seed)
    gold = generator.normal(size=n)
    a, b = gold + generator.normal(size=n), gold + 3 * generator.normal(size=n)
    return (np.round(a, 1), b, np.round(gold, 1)) if ties else (a, b, gold)


# --- correlations -------------------------------------------------------------------------------


def test_cosines():
    a, b = np.random.default_rng(0).normal(size=(2, 5000, 3))
    wanted = (a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1)
    np.testing.assert_allclose(cosines(a, b), wanted, atol=1e-13)
    np.testing.assert_allclose(cosines(a * 1e-200, b * 1e200), wanted, atol=1e-13)
    a[7] = 0
    assert np.flatnonzero(np.isnan(cosines(a, b))).tolist() == [7]


def test_ranks_are_those_of_scipy():
    for ties in (True, False):
        for x in made(200, ties=ties):
            np.testing.assert_array_equal(ranks(x), stats.rankdata(x))


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n", [2, 3, 40, 999])
def test_correlation_is_that_of_scipy(metric, n):
    for seed in range(5):
        x, _, y = made(n, seed)
        if n == 2 and (x[0] == x[1] or y[0] == y[1]):
            continue
        assert correlation(x, y, metric=metric) == pytest.approx(ORACLE[metric](x, y).statistic, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_correlation_that_is_undefined(metric):
    x = np.arange(5.0)
    assert np.isnan(correlation(x, np.full(5, 0.1), metric=metric))
    assert np.isnan(correlation(np.full(5, 1.0) + 1e-16 * x, x, metric=metric))
    assert np.isnan(correlation(x[:1], x[:1], metric=metric))
    assert np.isnan(correlation(x[:0], x[:0], metric=metric))
    assert correlation(1 + 1e-9 * x, x, metric=metric) == pytest.approx(1), "a narrow spread is a spread"


def test_correlation_refuses():
    x = np.arange(5.0)
    with raises(InputError, code="wrong_shape"):
        correlation(x, x[:4])
    with raises(InputError, code="not_finite"):
        correlation(x, np.array([1, 2, 3, 4, np.nan]))
    with raises(UsageError, code="unknown_choice", parameter="metric", says="'spearman'"):
        correlation(x, x, metric="spearmann")


# --- resampling ---------------------------------------------------------------------------------


def brute_force(xs, y, metric, draws, seed, name=""):
    """The same pairs drawn, one draw at a time, each ranked anew by scipy."""
    generator = generator_for(seed, "evaluate", "bootstrap", name)
    found = np.empty((len(xs), draws))
    for draw in range(draws):
        chosen = generator.integers(len(y), size=len(y))
        for row, x in enumerate(xs):
            found[row, draw] = ORACLE[metric](x[chosen], y[chosen]).statistic
    return found


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("ties", [True, False])
def test_draws_are_those_of_brute_force(metric, ties):
    a, b, gold = made(60, ties=ties)
    found = significance.bootstrap_draws([a, b], gold, metric=metric, draws=50, seed=3, name="part")
    np.testing.assert_allclose(found, brute_force([a, b], gold, metric, 50, 3, "part"), atol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_blocks_change_nothing(metric, monkeypatch):
    a, b, gold = made(37)
    whole = significance.bootstrap_draws([a, b], gold, metric=metric, draws=101, seed=1)
    swapped = significance.permutation_draws(a, b, gold, metric=metric, draws=101, seed=1)
    monkeypatch.setattr(significance, "BLOCK", 37 * 8)
    again = significance.bootstrap_draws([a, b], gold, metric=metric, draws=101, seed=1)
    np.testing.assert_allclose(again, whole, atol=1e-13)
    swapped_again = significance.permutation_draws(a, b, gold, metric=metric, draws=101, seed=1)
    np.testing.assert_allclose(swapped_again, swapped, atol=1e-13)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("scale", [1.0, 0.1, 1 / 3, 1e-3])
def test_a_draw_with_a_constant_side_is_undefined(metric, scale):
    x = scale * np.array([1.1, 2.3, 2.3, 2.3, 2.3])  # without the first pair, or with it alone, all are equal
    draws = significance.bootstrap_draws([x], np.arange(5.0) * scale, metric=metric, draws=500)[0]
    generator = generator_for(0, "evaluate", "bootstrap", "")
    first = np.array([(generator.integers(5, size=5) == 0).sum() for _ in range(500)])
    constant = (first == 0) | (first == 5)
    assert 100 < constant.sum() < 220
    np.testing.assert_array_equal(np.isnan(draws), constant)
    low, high = significance.percentiles(draws)
    assert -1 <= low < high <= 1


def test_intervals_by_seed():
    a, _, gold = made(100)
    first = bootstrap_interval(a, gold, seed=1)
    assert first == bootstrap_interval(a, gold, seed=1)
    assert first != bootstrap_interval(a, gold, seed=2)
    narrow = bootstrap_interval(a, gold, seed=1, level=0.5)
    assert first[0] < narrow[0] < correlation(a, gold) < narrow[1] < first[1]
    draws = brute_force([a], gold, "spearman", 200, 1)[0]
    assert bootstrap_interval(a, gold, seed=1, draws=200) == pytest.approx(tuple(np.quantile(draws, (0.025, 0.975))))


@pytest.mark.parametrize("metric", METRICS)
def test_bootstrap_agrees_with_fisher(metric):
    a, _, gold = made(2000, ties=False)
    r = correlation(a, gold, metric=metric)
    found = bootstrap_interval(a, gold, metric=metric, draws=2000)
    assert found == pytest.approx(fisher_interval(r, 2000, metric=metric), abs=0.006)


def test_fisher_is_that_of_scipy():
    a, _, gold = made(50)
    wanted = stats.pearsonr(a, gold)
    for level in (0.95, 0.8):
        interval = wanted.confidence_interval(level)
        found = fisher_interval(wanted.statistic, 50, metric="pearson", level=level)
        assert found == pytest.approx((interval.low, interval.high))
    # Bonett & Wright: wider by √(1 + r²/2)
    low, high = np.arctanh(fisher_interval(0.8, 103, metric="spearman"))
    assert high - low == pytest.approx(2 * 1.959964 * np.sqrt(1.32) / 10)
    assert np.isnan(fisher_interval(0.5, 3)).all()
    assert np.isnan(fisher_interval(float("nan"), 30)).all()
    assert fisher_interval(-1.0, 30) == (-1.0, -1.0)


def test_intervals_cover_the_truth():
    inside = 0
    for seed in range(60):
        generator = np.random.default_rng(seed)
        x, y = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], size=80).T
        low, high = bootstrap_interval(x, y, metric="pearson", draws=400)
        inside += low <= 0.6 <= high
    assert stats.binom.ppf(1e-4, 60, 0.91) <= inside <= 60


def test_too_few_pairs():
    x = np.arange(3.0)
    assert np.isnan(bootstrap_interval(x, x)).all()
    assert np.isnan(paired_bootstrap(x, x, x).p)
    assert np.isnan(paired_permutation(x, x, x).p)
    with raises(UsageError, code="out_of_range", parameter="draws"):
        bootstrap_interval(x, x, draws=0)
    with raises(UsageError, code="out_of_range", parameter="level"):
        bootstrap_interval(np.arange(9.0), np.arange(9.0), level=95)


# --- two targets --------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", METRICS)
def test_paired_bootstrap_is_brute_force(metric):
    a, b, gold = made(50)
    found = paired_bootstrap(a, b, gold, metric=metric, draws=300, seed=5)
    draws = np.subtract(*brute_force([a, b], gold, metric, 300, 5))
    assert found.difference == pytest.approx(ORACLE[metric](a, gold).statistic - ORACLE[metric](b, gold).statistic)
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(draws, (0.025, 0.975))))
    assert found.p == pytest.approx(min(1, 2 * (1 + min((draws <= 0).sum(), (draws >= 0).sum())) / 301))
    turned = paired_bootstrap(b, a, gold, metric=metric, draws=300, seed=5)
    assert (turned.difference, turned.p) == pytest.approx((-found.difference, found.p))
    assert (turned.low, turned.high) == pytest.approx((-found.high, -found.low))


@pytest.mark.parametrize("metric", METRICS)
def test_permutation_is_brute_force(metric):
    a, b, gold = made(30)
    drawn = significance.permutation_draws(a, b, gold, metric=metric, draws=40, seed=2, name="part")
    generator = generator_for(2, "evaluate", "permutation", "part")
    if metric == "spearman":
        a, b, gold = (stats.rankdata(side) for side in (a, b, gold))
    a, b = stats.zscore(a), stats.zscore(b)
    for draw in range(40):
        same = generator.random(30) < 0.5
        sides = np.where(same, a, b), np.where(same, b, a)
        wanted = [stats.pearsonr(side, gold).statistic for side in sides]
        np.testing.assert_allclose(drawn[:, draw], wanted, atol=1e-12)


def test_permutation_counts_both_sides():
    generator = np.random.default_rng(1)
    gold = generator.normal(size=60)
    a, b = gold + generator.normal(size=60), gold + 1.2 * generator.normal(size=60)
    drawn = np.subtract(*significance.permutation_draws(a, b, gold, metric="spearman", draws=400, seed=3))
    found = paired_permutation(a, b, gold, draws=400, seed=3)
    reached = np.abs(drawn) >= abs(correlation(a, gold) - correlation(b, gold)) - 1e-12
    assert (drawn[reached] < 0).any()
    assert (drawn[reached] > 0).any()
    assert found.p == pytest.approx((1 + reached.sum()) / 401)
    assert paired_permutation(b, a, gold, draws=400, seed=3).p == pytest.approx(found.p)


def test_permutation_does_not_mind_the_scale_of_cosines():
    a, b, gold = made(80)
    wanted = paired_permutation(a, b, gold, metric="pearson")
    found = paired_permutation(a * 0.001 + 0.99, b, gold, metric="pearson")
    assert found.p == pytest.approx(wanted.p)
    assert found.difference == pytest.approx(wanted.difference)


@pytest.mark.parametrize("test", [paired_bootstrap, paired_permutation])
def test_the_same_target_is_no_better(test):
    a, _, gold = made(60)
    found = test(a, a, gold)
    assert found.difference == 0
    assert found.p == 1
    assert found.n == 60


@pytest.mark.parametrize("test", [paired_bootstrap, paired_permutation])
@pytest.mark.parametrize("metric", METRICS)
def test_p_is_right_under_the_null_and_small_for_a_real_difference(test, metric):
    rejected = 0
    for seed in range(80):
        generator = np.random.default_rng(seed)
        gold = generator.normal(size=60)
        a, b = gold + generator.normal(size=(2, 60))
        rejected += test(a, b, gold, metric=metric, draws=200, seed=seed).p <= 0.05
    assert rejected <= stats.binom.ppf(1 - 1e-4, 80, 0.06)
    a, b, gold = made(400)
    assert test(a, b, gold, metric=metric, draws=500).p <= 0.005


def test_no_number_of_draws_gives_zero():
    a, _, gold = made(400)
    b = np.random.default_rng(9).normal(size=400)
    assert paired_bootstrap(a, b, gold, draws=99).p == pytest.approx(2 / 100)
    assert paired_permutation(a, b, gold, draws=99).p == pytest.approx(1 / 100)


def test_holm():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
    found = holm([0.02, float("nan"), 0.01])
    assert found[0] == 0.02
    assert np.isnan(found[1])
    assert found[2] == 0.02
    p = np.random.default_rng(0).uniform(size=30) ** 3
    # an oracle of its own: a hypothesis is rejected at its adjusted level and not below it
    for level in (0.01, 0.05, 0.3):
        order, rejected = np.argsort(p), set()
        for k, i in enumerate(order):
            if p[i] > level / (30 - k):
                break
            rejected.add(int(i))
        assert {i for i, q in enumerate(holm(p)) if q <= level} == rejected
