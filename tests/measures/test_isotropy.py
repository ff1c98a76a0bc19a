"""I(W) and IsoScore."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.special import logsumexp

from limbeck.accumulators import Moments, Partition
from limbeck.measures import isoscore, log10_isotropy, log10_isotropy_one_sign, participation_ratio
from limbeck.measures.arrays import observe
from limbeck.measures.isotropy import eigenvectors, isoscore_of, log10_isotropy_from

BOTH = (log10_isotropy, log10_isotropy_one_sign)


def test_one_direction():
    """w = a·e for one a: Z(±e) = exp(±a), Z(other) = 1 for one point, so I = e^−a over e^+a."""
    x = np.array([[3.0, 0.0, 0.0]])
    assert log10_isotropy(x).value == pytest.approx(-6 / np.log(10))
    assert log10_isotropy_one_sign(x).value == pytest.approx(-3 / np.log(10))


def test_antipodal_pair():
    """Z(±e) = 2 cosh a, Z(other) = 2."""
    x = np.array([[2.0, 0.0], [-2.0, 0.0]])
    for measure in BOTH:
        assert measure(x).value == pytest.approx(-np.log10(np.cosh(2.0)))


def test_shifted_sphere():
    """Points on a small sphere about μ: Z(μ̂) ≈ n e^‖μ‖, others ≈ n, so log I ≈ −‖μ‖, and twice that with both signs."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(3000, 10))
    x = 0.1 * x / np.linalg.norm(x, axis=1, keepdims=True)
    x[:, 0] += 5.0
    assert log10_isotropy_one_sign(x).value * np.log(10) == pytest.approx(-5, rel=0.01)
    assert log10_isotropy(x).value * np.log(10) == pytest.approx(-10, rel=0.01)


def test_isotropic_points_are_near_zero():
    x = np.random.default_rng(0).normal(size=(40_000, 5))
    for measure in BOTH:
        assert -0.02 < measure(x).value < 0


def test_no_overflow():
    """exp of GPT-2's norms overflows float64 (FIDELITY §3.11); one long vector decides the value (§3.12)."""
    x = np.random.default_rng(0).normal(size=(500, 6))
    x[17] *= 3000 / np.linalg.norm(x[17])
    _, vectors = np.linalg.eigh(x.T @ x)
    logs = np.stack([logsumexp(x @ vectors, axis=0), logsumexp(-x @ vectors, axis=0)])
    assert log10_isotropy(x).value == pytest.approx(-np.ptp(logs) / np.log(10), rel=1e-10)
    assert log10_isotropy(x).value < -1000


def test_signs_of_the_solver_mean_nothing():
    x = np.random.default_rng(0).normal(size=(50, 4)) + np.array([3, 0, 0, 0])
    _, vectors = np.linalg.eigh(x.T @ x)
    for measure in BOTH:
        values = [measure(x, basis=vectors * signs).value for signs in ([1, 1, 1, 1], [-1, -1, -1, -1], [1, -1, 1, -1])]
        assert values == pytest.approx([measure(x).value] * 3, rel=1e-12)


def test_one_sign_after_centering_is_decided_by_the_third_moment():
    x = np.random.default_rng(0).exponential(size=(300, 3)) * [1, 2, 3]
    x -= x.mean(0)
    _, vectors = np.linalg.eigh(x.T @ x)
    along = x @ vectors
    along = along * np.where((along**3).sum(0) >= 0, 1, -1)
    logs = logsumexp(along, axis=0)
    assert log10_isotropy_one_sign(x).value == pytest.approx(-np.ptp(logs) / np.log(10), rel=1e-9)
    wrong = logsumexp(-along, axis=0)
    assert abs(np.ptp(wrong) - np.ptp(logs)) > 0.1, "the other sign would have told"


@pytest.mark.parametrize("extra", [0, 3], ids=["full rank", "in a subspace"])
def test_whitened_points_have_no_eigenvectors(extra: int):
    x = np.random.default_rng(0).normal(size=(100, 4))
    u, _, _ = np.linalg.svd(x, full_matrices=False)
    white = np.concatenate([u, np.zeros((100, extra))], axis=1)
    for measure in BOTH:
        result = measure(white)
        assert np.isnan(result.value)
        assert "non-zero eigenvalues are equal" in result.note
        given = measure(white, basis=np.eye(4 + extra))
        assert np.isfinite(given.value)
        assert given.note == ""
    logs = np.stack([logsumexp(white, axis=0), logsumexp(-white, axis=0)])
    assert log10_isotropy(white, basis=np.eye(4 + extra)).value == pytest.approx(-np.ptp(logs) / np.log(10))


def test_one_basis_for_all_layers_or_one_each():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(2, 30, 3))
    bases = np.linalg.qr(generator.normal(size=(2, 3, 3)))[0]
    shared, each = log10_isotropy(x, basis=bases[0]).value, log10_isotropy(x, basis=bases).value
    assert shared[0] == each[0] == pytest.approx(log10_isotropy(x[0], basis=bases[0]).value)
    assert shared[1] == pytest.approx(log10_isotropy(x[1], basis=bases[0]).value)
    assert each[1] == pytest.approx(log10_isotropy(x[1], basis=bases[1]).value)


def test_it_depends_on_scale():
    x = np.random.default_rng(0).normal(size=(50, 4)) + 1
    assert log10_isotropy(2 * x).value < 1.5 * log10_isotropy(x).value


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_second_pass_equals_in_memory(shards: int):
    x = np.random.default_rng(0).normal(size=(2, 9000, 4)) * [1, 2, 3, 4] + 1
    batch = observe(x).batch
    moments = Moments(layers=2, dim=4)
    moments.update(batch)
    basis = torch.stack([eigenvectors(matrix)[0] for matrix in moments.second_moment])
    parts = []
    for shard in range(shards):
        part = Partition(layers=2, dim=4, basis=basis)
        for rows in np.array_split(np.arange(shard, 9000, shards), 5):
            part.update(batch.take(rows))
        parts.append(part)
    for part in parts[1:]:
        parts[0].merge(part)
    both, one = log10_isotropy_from(parts[0])
    np.testing.assert_allclose(both, log10_isotropy(x).value, rtol=1e-10)
    np.testing.assert_allclose(one, log10_isotropy_one_sign(x).value, rtol=1e-10)
    assert parts[0].n == 9000
    assert parts[0].greatest == pytest.approx(np.linalg.norm(x, axis=2).max())


# --- IsoScore ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "value"),
    [
        pytest.param(np.concatenate([np.eye(5), -np.eye(5)]), 1.0, id="cross"),
        pytest.param(np.outer([1.0, 2.0, 7.0, 3.0], [1.0, 2.0, 2.0]), 0.0, id="one direction"),
        pytest.param(np.eye(4), (3 - 1) / (4 - 1), id="simplex: variance in n − 1 of n directions"),
        pytest.param(np.concatenate([np.eye(6)[:2], -np.eye(6)[:2]]), (2 - 1) / (6 - 1), id="a plane"),
    ],
)
def test_isoscore_closed_forms(x: np.ndarray, value: float):
    assert isoscore(x).value == pytest.approx(value, abs=1e-12)
    assert participation_ratio(x).value == pytest.approx(value * (x.shape[1] - 1) + 1, abs=1e-12)


def test_isoscore_of_a_mean_far_away():
    x = np.random.default_rng(0).normal(size=(300, 4))
    assert isoscore(x + 1e4).value == pytest.approx(isoscore(x).value, rel=1e-7)


def test_isoscore_of_few_points_is_biased_low_and_says_so():
    """FIDELITY §7b.3: an isotropic Gaussian scores about m/(m + d)."""
    d, m = 200, 100
    few = isoscore(np.random.default_rng(0).normal(size=(m, d)))
    assert few.value == pytest.approx(m / (m + d), abs=0.02)
    assert few.note == "100 points are fewer than 10 times the 200 dimensions: biased low"
    assert isoscore(np.random.default_rng(0).normal(size=(60, 6))).note == ""


def test_orientation_is_points_by_dimensions():
    x = np.random.default_rng(0).normal(size=(40, 8)) * np.linspace(1, 5, 8)
    assert isoscore(x).value != pytest.approx(isoscore(x.T).value, rel=0.01)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 50])
def test_equal_points_have_no_spread(n: int):
    x = np.tile(np.random.default_rng(0).normal(size=6) * 3, (n, 1))
    for result in (isoscore(x), participation_ratio(x)):
        assert np.isnan(result.value)
        assert result.note == "all points are equal"


def test_one_dimension_has_no_isoscore():
    result = isoscore(np.array([[1.0], [2.0]]))
    assert np.isnan(result.value)
    assert "one dimension" in result.note


def test_isoscore_of_no_points():
    result = isoscore_of(Moments(layers=2, dim=3))
    assert np.isnan(result.value).all()
