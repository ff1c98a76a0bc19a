"""The three quantities called maximum explainable variance."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA, TruncatedSVD

from limbeck.accumulators import Occurrences, Points
from limbeck.measures import mev, mev_centered, mev_truncated_svd
from limbeck.measures.arrays import observe
from limbeck.measures.mev import MEASURES, explained, mev_of, word_variance

THREE = (mev, mev_centered, mev_truncated_svd)


def three(x: np.ndarray) -> np.ndarray:
    return explained(torch.from_numpy(x)[None]).numpy()[:, 0]


def oracle(x: np.ndarray) -> np.ndarray:
    sigma = np.linalg.svd(x, compute_uv=False)
    svd = TruncatedSVD(n_components=1, algorithm="arpack", random_state=0).fit(x)
    pca = PCA(n_components=1, svd_solver="full").fit(x)
    return np.array(
        [sigma[0] ** 2 / (sigma**2).sum(), pca.explained_variance_ratio_[0], svd.explained_variance_ratio_[0]]
    )


@pytest.mark.parametrize(("n", "d"), [(2, 7), (6, 7), (7, 7), (8, 7), (40, 7)])
@pytest.mark.parametrize("shift", [0.0, 1.0, 20.0])
def test_against_scikit_learn_on_both_sides_of_n_equals_d(n: int, d: int, shift: float):
    generator = np.random.default_rng(n)
    x = generator.normal(size=(n, d)) * np.linspace(0.5, 2, d) + shift * generator.normal(size=d)
    np.testing.assert_allclose(three(x), oracle(x), rtol=1e-9, atol=1e-12)


def test_the_paper_s_example():
    """FIDELITY §1.1: six occurrences, a mean twice as long as the noise. Three numbers for the same vectors."""
    d = 768
    values = []
    for seed in range(5):
        generator = np.random.default_rng(seed)
        noise = generator.normal(size=(6, d)) / np.sqrt(d)
        mean = generator.normal(size=d)
        values.append(three(noise + 2 * mean / np.linalg.norm(mean)))
    eq3, centered, truncated = np.mean(values, axis=0)
    assert eq3 == pytest.approx(0.83, abs=0.02)
    assert centered == pytest.approx(0.21, abs=0.02)
    assert truncated < 0.005
    assert eq3 > 1 / 6
    assert centered > 1 / 5
    assert truncated < 1 / 6, "as in the published figures, below what the other two can be"


@pytest.mark.parametrize(
    ("x", "values"),
    [
        pytest.param(np.eye(4), (1 / 4, 1 / 3, None), id="orthonormal"),
        pytest.param(np.outer([1.0, 2.0, 5.0], [3.0, 4.0]), (1.0, 1.0, 1.0), id="one direction"),
        pytest.param(np.array([[1.0, 3.0], [-1.0, -3.0]]), (1.0, 1.0, 1.0), id="antipodal pair"),
        pytest.param(np.array([[9.0, 1.0], [9.0, -1.0]]), (81 / 82, 1.0, 0.0), id="spread across the mean"),
    ],
)
def test_closed_forms(x: np.ndarray, values: tuple[float | None, ...]):
    for got, wanted in zip(three(x), values, strict=True):
        if wanted is not None:
            assert got == pytest.approx(wanted, abs=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    n=st.integers(2, 12),
    d=st.integers(1, 8),
    seed=st.integers(0, 1000),
    shift=st.sampled_from([0.0, 1.0, 50.0]),
    rank=st.integers(1, 8),
)
def test_declared_ranges(n: int, d: int, seed: int, shift: float, rank: int):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(n, min(rank, d))) @ generator.normal(size=(min(rank, d), d)) + shift
    eq3, centered, truncated = three(x)
    assert 1 / n - 1e-9 <= eq3 <= 1 + 1e-9
    assert 1 / (n - 1) - 1e-9 <= centered <= 1 + 1e-9
    assert -1e-9 <= truncated <= 1 + 1e-9
    assert truncated <= centered + 1e-9, "no direction has more centered variance than the first component"


def test_by_word():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 6)) + 1
    words = np.array(["a", "b", "c"])[generator.integers(3, size=30)]
    for which, measure in enumerate(THREE):
        result = measure(x, words=words)
        wanted = [oracle(x[words == word])[which] for word in "abc"]
        assert [result[word] for word in "abc"] == pytest.approx(wanted, rel=1e-10)
        assert result.value == pytest.approx(np.mean(wanted), rel=1e-10)
        assert result.measure == MEASURES[which]
        assert result.counts.tolist() == [int((words == word).sum()) for word in "abc"]


def test_every_occurrence_counts_also_two_in_one_context():
    x = np.random.default_rng(1).normal(size=(6, 4))
    contexts = [0, 0, 1, 1, 2, 2]
    assert mev(x, words=["w"] * 6, contexts=contexts)["w"] == pytest.approx(oracle(x)[0], rel=1e-12)
    assert mev(x, words=["w"] * 6, contexts=contexts, min_contexts=4).n == 0


def test_equal_occurrences_have_no_centered_variance():
    x = np.concatenate([np.tile([0.1, 0.7, 0.3], (3, 1)), np.random.default_rng(0).normal(size=(4, 3))])
    words = ["same"] * 3 + ["other"] * 4
    assert mev(x, words=words)["same"] == pytest.approx(1)
    for measure in (mev_centered, mev_truncated_svd):
        result = measure(x, words=words)
        assert np.isnan(result["same"])
        assert result.value == result["other"], "left out of the mean"
        assert result.n == 1
        assert "1 words left out" in result.note
        assert "equal" in result.note
        alone = measure(x[:3], words=words[:3])
        assert np.isnan(alone.value)
        assert alone.n == 0
        assert "equal" in alone.note


def test_nearly_equal_occurrences_are_equal():
    """Float noise of one static vector is not variance (FIDELITY §0.2: 1e-12 of the raw sum of squares)."""
    generator = np.random.default_rng(0)
    base = np.tile(generator.normal(size=50), (5, 1))
    assert np.isnan(three(base * (1 + 1e-8 * generator.normal(size=base.shape))))[1:].all()
    assert np.isfinite(three(base * (1 + 1e-4 * generator.normal(size=base.shape)))).all()


def test_a_static_layer_leaves_the_others_alone():
    """In an input layer without context all occurrences of a word are equal: the layers above have values still."""
    generator = np.random.default_rng(0)
    words = np.arange(20) % 4
    static, contextual = generator.normal(size=(4, 6))[words], generator.normal(size=(20, 6))
    result = mev_centered(np.stack([static, contextual]), words=words)
    alone = mev_centered(contextual, words=words)
    assert np.isnan(result.value[0])
    assert result.value[1] == pytest.approx(alone.value, rel=1e-12)
    assert (result.low[1], result.high[1]) == pytest.approx((alone.low, alone.high), rel=1e-12)
    assert result.baseline[1] == pytest.approx(alone.baseline, rel=1e-12)
    assert list(result.n) == [0, 4]


def test_one_occurrence_has_no_value():
    result = mev(np.random.default_rng(0).normal(size=(5, 3)), words=list("aabbc"))
    assert np.isnan(result["c"])
    assert result.n == 2


def test_baseline_is_at_the_word_s_own_n():
    """For isotropic noise mev is a steep function of n, so a baseline at another n would not match it."""
    generator = np.random.default_rng(0)
    few, many = 4, 40
    x = generator.normal(size=(10 * few + 10 * many, 30))
    words = np.concatenate([np.repeat(np.arange(10), few), 10 + np.repeat(np.arange(10), many)])
    for measure in (mev, mev_centered):
        small = measure(x[: 10 * few], words=words[: 10 * few])
        large = measure(x[10 * few :], words=words[10 * few :])
        assert small.value > 2 * large.value
        assert small.adjusted == pytest.approx(0, abs=0.03)
        assert large.adjusted == pytest.approx(0, abs=0.02)
        both = measure(x, words=words)
        assert both.baseline == pytest.approx((small.baseline + large.baseline) / 2, abs=0.02)
        assert both.adjusted == pytest.approx(0, abs=0.02)


def test_baseline_at_one_n():
    seen = observe(np.random.default_rng(0).normal(size=(60, 30)), words=np.arange(60) // 6)
    kept = Occurrences(layers=1, dim=30, capacity=6, chosen=list(range(10)))
    points = Points(layers=1, dim=30, capacity=60)
    kept.update(seen.batch)
    points.update(seen.batch)
    own, fifty = word_variance(kept, points, seed=0), word_variance(kept, points, seed=0, baseline_size=50)
    np.testing.assert_array_equal(own.values, fifty.values)
    assert (fifty.baseline[0] < 0.6 * own.baseline[0]).all()
    assert (fifty.baseline[0] > 1 / 50).all()


def test_baseline_is_seeded():
    x, words = np.random.default_rng(0).normal(size=(40, 9)), np.arange(40) // 4
    one, same, other = (mev(x, words=words, seed=seed) for seed in (0, 0, 1))
    assert one.baseline == same.baseline != other.baseline
    assert (one.low, one.high) == (same.low, same.high) != (other.low, other.high)
    assert one.value == other.value


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_streamed_equals_dense(shards: int):
    generator = np.random.default_rng(shards)
    n = 150
    x, words, contexts = (
        generator.normal(size=(2, n, 6)) + 1,
        generator.integers(9, size=n),
        generator.integers(50, size=n),
    )
    seen = observe(x, words=words, contexts=contexts)
    made = []
    for shard in range(shards):
        kept = Occurrences(layers=2, dim=6, capacity=n, chosen=list(range(9)))
        points = Points(layers=2, dim=6, capacity=n)
        for text in generator.permutation(np.arange(50)[shard::shards]):
            batch = seen.batch.take(np.flatnonzero(seen.batch.texts == text))
            kept.update(batch)
            points.update(batch)
        made.append((kept, points))
    for kept, points in made[1:]:
        made[0][0].merge(kept)
        made[0][1].merge(points)
    contexts_of = [len(np.unique(contexts[words == word])) for word in range(9)]
    streamed = mev_of(word_variance(*made[0], seed=0), seen.words, enough=np.array(contexts_of) >= 2, seed=0)
    for measure, one in zip(THREE, streamed, strict=True):
        dense = measure(x, words=words, contexts=contexts)
        for name in ("value", "low", "high", "baseline", "values"):
            np.testing.assert_allclose(getattr(one, name), getattr(dense, name), rtol=1e-10, atol=1e-13, err_msg=name)
