"""Spectra, effective rank, participation ratio."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.accumulators import Moments, Points
from limbeck.measures import effective_rank, participation_ratio
from limbeck.measures.arrays import observe
from limbeck.measures.spectrum import effective_rank_of, spectrum_of


def oracle(x: np.ndarray) -> float:
    x = x.astype(np.float64)
    sigma = np.linalg.svd(x - x.mean(0), compute_uv=False)
    p = sigma[sigma > 1e-10 * sigma[0]]
    p = p / p.sum()
    return float(np.exp(-(p * np.log(p)).sum()))


@pytest.mark.parametrize(("n", "d"), [(2, 9), (5, 9), (8, 9), (9, 9), (10, 9), (11, 9), (60, 9), (768, 400)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_effective_rank_on_both_sides_of_n_equals_d(n: int, d: int, dtype: type):
    x = (np.random.default_rng(n).normal(size=(n, d)) * np.geomspace(1, 0.05, d) + 2).astype(dtype)
    assert effective_rank(x).value == pytest.approx(oracle(x), rel=1e-5 if dtype is np.float32 else 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_effective_rank_of_a_subspace(dtype: type):
    """Square roots of rounding noise must not count as directions where there is no variance."""
    generator = np.random.default_rng(0)
    x = (generator.normal(size=(500, 5)) @ generator.normal(size=(5, 100))).astype(dtype)
    assert effective_rank(x).value == pytest.approx(oracle(x), rel=1e-5)


@pytest.mark.parametrize("rogue", [30.0, 300.0])
def test_effective_rank_beside_a_rogue_dimension(rogue: float):
    """One dimension of large variance and a long tail, in float32, as real models have."""
    x = np.random.default_rng(0).normal(size=(2000, 64)) * np.geomspace(1, 0.02, 64)
    x[:, 7] = x[:, 7] * rogue + 10 * rogue
    x = x.astype(np.float32)
    assert effective_rank(x).value == pytest.approx(oracle(x), rel=1e-5)


@pytest.mark.parametrize("k", [1, 2, 5])
def test_equal_variance_in_k_directions(k: int):
    x = np.concatenate([np.eye(5)[:k], -np.eye(5)[:k]]) + 3
    assert effective_rank(x).value == pytest.approx(k)
    assert participation_ratio(x).value == pytest.approx(k)


def test_orthonormal_points_lose_one_rank_to_the_mean():
    assert effective_rank(np.eye(6)).value == pytest.approx(5)
    assert participation_ratio(np.eye(6)).value == pytest.approx(5)


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 30])
def test_equal_points_have_no_rank(n: int):
    result = effective_rank(np.tile(np.random.default_rng(0).normal(size=5) * 3, (n, 1)))
    assert np.isnan(result.value)
    assert result.note == "all points are equal"


def test_rank_differs_from_participation():
    """Singular values, not eigenvalues: σ ∝ (2, 1) gives exp of the entropy of (2/3, 1/3)."""
    x = np.array([[2.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert effective_rank(x).value == pytest.approx(np.exp(-(2 / 3 * np.log(2 / 3) + 1 / 3 * np.log(1 / 3))))
    assert participation_ratio(x).value == pytest.approx((4 + 1) ** 2 / (16 + 1))


@pytest.mark.parametrize("n", [4, 7, 50])
def test_both_spectra(n: int):
    x = np.random.default_rng(n).normal(size=(2, n, 7)) + 1
    batch = observe(x).batch
    moments, points = Moments(layers=2, dim=7), Points(layers=2, dim=7, capacity=100)
    moments.update(batch)
    points.update(batch)
    spectrum = spectrum_of(moments, points)
    for layer in range(2):
        raw = np.linalg.eigvalsh(x[layer].T @ x[layer] / n)[::-1]
        centered = np.linalg.eigvalsh(np.cov(x[layer], rowvar=False, bias=True))[::-1]
        np.testing.assert_allclose(spectrum.raw[layer], raw, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(spectrum.centered[layer], centered, rtol=1e-10, atol=1e-12)
        assert spectrum.raw[layer, 0] > 1.2 * spectrum.centered[layer, 0], "not the same thing twice"


@pytest.mark.parametrize("shards", [1, 2, 7])
@pytest.mark.parametrize("n", [6, 80])
def test_streamed_equals_dense(shards: int, n: int):
    x = np.random.default_rng(n).normal(size=(2, n, 9)) + 1
    batch = observe(x).batch
    parts = []
    for shard in range(shards):
        pair = Moments(layers=2, dim=9), Points(layers=2, dim=9, capacity=9)
        for rows in np.array_split(np.arange(shard, n, shards), 3):
            for part in pair:
                part.update(batch.take(rows))
        parts.append(pair)
    for moments, points in parts[1:]:
        parts[0][0].merge(moments)
        parts[0][1].merge(points)
    streamed = effective_rank_of(spectrum_of(*parts[0]), n=n)
    np.testing.assert_allclose(streamed.value, effective_rank(x).value, rtol=1e-9)
