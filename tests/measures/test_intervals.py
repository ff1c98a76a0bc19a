"""Intervals: by hand where they can be, and by how often they cover the truth."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from limbeck.accumulators import Norms, UnitSums
from limbeck.accumulators.unit_sums import GROUPS, group_of
from limbeck.measures import anisotropy, intra_sentence_similarity, mean_norm, self_similarity
from limbeck.measures.arrays import observe
from limbeck.measures.contextuality import anisotropy_of
from limbeck.measures.intervals import bootstrap_mean, from_replicates, jackknife
from limbeck.measures.norms import mean_norm_of

SIMULATIONS = 60
#: 95 % of 60 lie here but for once in 10,000 times, with some room for small-sample intervals that are a bit narrow
BAND = (int(stats.binom.ppf(1e-4, SIMULATIONS, 0.91)), SIMULATIONS)


def covered(truth: float, results: list[tuple[float, float]]) -> int:
    return sum(low <= truth <= high for low, high in results)


def test_the_band_is_no_formality():
    assert BAND[0] >= 44
    narrow = stats.binom.cdf(BAND[0] - 1, SIMULATIONS, 0.67)  # intervals of half the width cover 67 %
    assert narrow > 0.75


def test_jackknife_of_a_mean_is_the_usual_standard_error():
    x = np.random.default_rng(0).normal(size=(40, 2))
    without = (x.sum(0) - x) / 39
    low, high = jackknife(x.mean(0), without)
    error = 1.959964 * x.std(axis=0, ddof=1) / np.sqrt(40)
    np.testing.assert_allclose(low, x.mean(0) - error, rtol=1e-10)
    np.testing.assert_allclose(high, x.mean(0) + error, rtol=1e-10)


def test_too_little_for_an_interval():
    assert np.isnan(jackknife(np.ones(2), np.ones((1, 2)))).all()
    assert np.isnan(bootstrap_mean(np.ones((2, 1)), seed=0, name="x")).all()
    assert np.isnan(from_replicates(np.full((2, 5), np.nan))).all()
    assert np.isnan(anisotropy(np.eye(2)).low), "without either row no pair is left"


def test_bootstrap_of_a_mean_is_about_the_usual_standard_error():
    x = np.random.default_rng(0).normal(size=(2, 400))
    low, high = bootstrap_mean(x, seed=0, name="x")
    np.testing.assert_allclose(high - low, 2 * 1.96 * x.std(axis=1) / 20, rtol=0.1)
    np.testing.assert_allclose((high + low) / 2, x.mean(1), atol=0.02)


def test_anisotropy_leaves_out_groups_of_texts():
    generator = np.random.default_rng(0)
    x, contexts = generator.normal(size=(300, 3)) + 0.5, np.repeat(np.arange(150), 2)
    group = group_of(contexts)
    assert len(np.unique(group)) < 150, "some texts must share a group for this test to mean anything"
    rest = np.array([anisotropy(x[group != g], contexts=contexts[group != g]).value for g in np.unique(group)])
    error = 1.959964 * np.sqrt((len(rest) - 1) / len(rest) * ((rest - rest.mean()) ** 2).sum())
    sums = UnitSums(layers=1, dim=3)
    sums.update(observe(x, contexts=contexts).batch)
    result = anisotropy_of(sums)
    assert (result.high - result.low)[0] == pytest.approx(2 * error, rel=1e-8)
    norms = Norms(layers=1, dim=3)
    norms.update(observe(x, contexts=contexts).batch)
    lengths = np.linalg.norm(x, axis=1)
    rest = np.array([lengths[group != g].mean() for g in np.unique(group)])
    error = 1.959964 * np.sqrt((len(rest) - 1) / len(rest) * ((rest - rest.mean()) ** 2).sum())
    result = mean_norm_of(norms)
    assert (result.high - result.low)[0] == pytest.approx(2 * error, rel=1e-8)


def test_groups_are_even():
    counts = np.bincount(group_of(np.arange(100_000)), minlength=GROUPS)
    assert counts.min() > 850
    assert counts.max() < 1150


def texts(seed: int, n: int = 120, d: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Texts of 1 to 6 occurrences that share a direction of their own beside the common one."""
    generator = np.random.default_rng(seed)
    contexts = np.repeat(np.arange(n), generator.integers(1, 7, size=n))
    own = generator.normal(size=(n, d))[contexts]
    x = generator.normal(size=(len(contexts), d)) + own + np.eye(d)[0] * 2
    return x, contexts, np.arange(len(contexts))


def test_anisotropy_and_norm_cover_the_truth():
    # the truth by a large simulation of the same process: independent texts, so all pairs across texts are alike
    x, contexts, _ = texts(10**6, n=60_000)
    truth, norm = anisotropy(x, contexts=contexts).value, mean_norm(x).value
    small = [texts(seed) for seed in range(SIMULATIONS)]
    found = [anisotropy(x, contexts=c) for x, c, _ in small]
    assert BAND[0] <= covered(truth, [(r.low, r.high) for r in found]) <= BAND[1]
    found = [mean_norm(x, contexts=c) for x, c, _ in small]
    assert BAND[0] <= covered(norm, [(r.low, r.high) for r in found]) <= BAND[1]
    blind = [mean_norm(x) for x, _, _ in small]  # every row its own context: too narrow
    width = [np.mean([r.high - r.low for r in results]) for results in (found, blind)]
    assert width[1] < 0.85 * width[0]


def test_self_similarity_covers_the_truth():
    """Words resampled: each word has a spread of its own."""

    def words(seed: int, count: int) -> float | tuple[float, float]:
        generator = np.random.default_rng(seed)
        ids = np.repeat(np.arange(count), 4)
        x = (
            generator.normal(size=(count, 6))[ids] * 2
            + generator.normal(size=(len(ids), 6)) * generator.uniform(0.2, 3, size=(count, 1))[ids]
        )
        result = self_similarity(x, words=ids)
        return (result.low, result.high) if count < 1000 else result.value

    truth = words(10**6, 20_000)
    assert BAND[0] <= covered(truth, [words(seed, 60) for seed in range(SIMULATIONS)]) <= BAND[1]


def test_intra_sentence_similarity_covers_the_truth():
    def sentences(seed: int, count: int) -> float | tuple[float, float]:
        generator = np.random.default_rng(seed)
        ids = np.repeat(np.arange(count), generator.integers(2, 9, size=count)) + 10**7 * seed
        rows = ids - 10**7 * seed
        x = generator.normal(size=(count, 6))[rows] + generator.normal(size=(len(ids), 6))
        result = intra_sentence_similarity(x, sentences=ids)
        return (result.low, result.high) if count < 1000 else result.value

    truth = sentences(10**4, 20_000)
    assert BAND[0] <= covered(truth, [sentences(seed, 80) for seed in range(SIMULATIONS)]) <= BAND[1]
