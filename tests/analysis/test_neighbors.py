"""Neighbours and distances against scikit-learn and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from limbeck.analysis import neighbors
from limbeck.errors import UsageError


@pytest.fixture
def x():
    return np.random.default_rng(1).standard_normal((150, 12)) + 5


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_neighbours(x, metric, monkeypatch):
    monkeypatch.setattr(neighbors, "BLOCK", 1000)  # so that there are several blocks
    other = NearestNeighbors(n_neighbors=8, metric=metric, algorithm="brute").fit(x).kneighbors(return_distance=False)
    np.testing.assert_array_equal(neighbors.nearest(x, neighbors=8, metric=metric), other)
    some = np.array([3, 77, 149])
    np.testing.assert_array_equal(neighbors.nearest(x, neighbors=8, metric=metric, queries=some), other[some])


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_rows_of_the_same_label_are_no_neighbours(x, metric):
    label = np.arange(150) % 7
    found = neighbors.nearest(x, neighbors=4, metric=metric, apart=label)
    away = cdist(x, x, metric)
    for row in range(150):
        candidates = [other for other in np.argsort(away[row]) if label[other] != label[row]]
        assert found[row].tolist() == candidates[:4]


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_distances(x, metric, shift):
    """Far from the origin too, where a² + b² − 2ab would lose all digits in float32."""
    np.testing.assert_allclose(neighbors.distances(x + shift, metric), cdist(x + shift, x + shift, metric), atol=1e-6)


def test_a_zero_vector_has_no_direction(x):
    x[3] = 0
    away = neighbors.distances(x, "cosine")
    assert np.isfinite(away).all()
    assert (away[3] == 1).all()


@pytest.mark.parametrize("wrong", [0, 150])
def test_too_many_neighbours(x, wrong):
    with raises(UsageError, code="out_of_range", parameter="neighbors"):
        neighbors.nearest(x, neighbors=wrong)


def test_too_few_of_other_words(x):
    with raises(UsageError, code="out_of_range", parameter="neighbors"):
        neighbors.nearest(x, neighbors=5, apart=np.array([0] * 147 + [1] * 3))
