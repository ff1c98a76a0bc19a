"""Isotropy by cluster: against scipy's k-means and sums of exponentials, and what it says of made spaces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises
from scipy.cluster.vq import kmeans2
from scipy.special import logsumexp

from limbeck.errors import LimbeckError, UsageError
from limbeck.measures import LocalIsotropy, local_isotropy
from limbeck.measures.kmeans import starting_centers
from limbeck.measures.local import mean_cosine_of
from limbeck.repairs import ClusterRemoval
from limbeck.seeds import generator_for


def made(n: int = 400, d: int = 6, groups: int = 3) -> np.ndarray:
    """Far groups, each round and small: isotropic from near, not from afar."""
    rng = np.random.default_rng(1)
    return 0.3 * rng.normal(size=(n, d)) + 3 * rng.normal(size=(groups, d))[np.arange(n) % groups]


def isotropy(x: np.ndarray) -> float:
    along = x @ np.linalg.eigh(x.T @ x)[1]
    logs = np.concatenate([logsumexp(along, axis=0), logsumexp(-along, axis=0)])
    return float((logs.min() - logs.max()) / np.log(10))


def all_pairs(x: np.ndarray) -> float:
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    return float(cosines[~np.eye(len(x), dtype=bool)].mean())


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_as_scipy_clusters(init: str) -> None:
    """From the same first centers: clusters by kmeans2, each less its mean, then one I(W) over all points."""
    x = made() + np.random.default_rng(5).normal(size=(400, 6))  # groups that touch: seeds differ
    found = local_isotropy(x, clusters=4, seeds=3, init=init, seed=7)
    values, cosines = [], []
    for seed in (7, 8, 9):
        generator = generator_for(seed, "clusters")
        start = starting_centers(torch.from_numpy(x), 4, generator, spread=init == "k-means++").numpy()
        labels = kmeans2(x, start, iter=10, minit="matrix")[1]
        near = x - np.stack([x[labels == c].mean(0) for c in range(4)])[labels]
        values.append(isotropy(near))
        cosines.append(all_pairs(near))
    assert np.std(values) > 1e-4
    assert found.value == pytest.approx(np.mean(values), rel=1e-9)
    assert found.mean_cosine == pytest.approx(np.mean(cosines), rel=1e-9)
    assert found.spread == pytest.approx(np.std(values, ddof=1), rel=1e-6)
    assert found.n == 400


def test_the_clusters_are_those_of_the_repair() -> None:
    x = made()
    repaired = ClusterRemoval(5, 0, random_state=2).fit_transform(x)
    assert local_isotropy(x, clusters=5, seeds=1, seed=2).value == pytest.approx(isotropy(repaired), rel=1e-9)


def test_a_clustered_space_is_isotropic_from_near_alone() -> None:
    x = made()
    afar, near = local_isotropy(x, clusters=1), local_isotropy(x, clusters=3)
    assert afar.value < -2 < -0.2 < near.value
    assert afar.spread == near.spread == 0  # the groups are found whatever the seed
    # and the mean cosine sees no difference: it is near 0 in both (Rajaee & Pilehvar 2021, Figure 2)
    assert abs(afar.mean_cosine) < 0.01
    assert abs(near.mean_cosine) < 0.01


def test_layers_and_both_signs() -> None:
    layers = np.stack([made(), np.flip(made(), 1) * 0.5])
    found = local_isotropy(layers, clusters=3)
    assert isinstance(found, LocalIsotropy)
    for field in ("value", "one_sign", "mean_cosine", "spread"):
        alone = [getattr(local_isotropy(x, clusters=3), field) for x in layers]
        np.testing.assert_allclose(getattr(found, field), alone)
        assert all(isinstance(one, float) for one in alone)
    assert (found.one_sign >= found.value).all()


def test_mean_cosine_of_no_pairs() -> None:
    assert np.isnan(mean_cosine_of(torch.eye(3)[:1])[0])
    assert mean_cosine_of(torch.tensor([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])) == (pytest.approx(0.5**0.5), 1)


def test_bad_input() -> None:
    for options in ({"clusters": 0}, {"seeds": 0}, {"iterations": 0}):
        with raises(LimbeckError, code="out_of_range", parameter=None, says="got 0"):
            local_isotropy(made(), **options)
    with raises(UsageError, code="unknown_choice", parameter="init", says="'random'"):
        local_isotropy(made(), init="randm")


def test_a_point_that_is_its_cluster_has_no_cosine() -> None:
    found = local_isotropy(np.concatenate([np.full((1, 6), 50.0), made()]), clusters=4, seeds=1)
    assert "1 vectors that are their cluster's mean" in str(found.note)
    assert np.isfinite(found.mean_cosine)


@pytest.mark.parametrize("x", [np.ones((5, 3)), np.ones((1, 3)), np.repeat(np.eye(3), 4, axis=0)])
def test_points_that_are_their_clusters_means_have_no_isotropy(x: np.ndarray) -> None:
    found = local_isotropy(x, clusters=3 if len(x) > 5 else 1)
    assert np.isnan(found.value)
    assert np.isnan(found.mean_cosine)
    assert "nothing is left" in found.note
