"""Lengths of vectors."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.accumulators import Moments, Norms
from limbeck.measures.arrays import observe
from limbeck.measures.norms import norms_of

NAMES = ["mean_norm", "norm_spread", "least_norm", "greatest_norm", "norm_of_mean", "norm_of_mean_over_mean_norm"]


def results(x: np.ndarray, shards: int = 1) -> dict[str, np.ndarray]:
    batch = observe(x).batch
    layers, n, dim = x.shape
    parts = []
    for shard in range(shards):
        part = Norms(layers=layers, dim=dim), Moments(layers=layers, dim=dim)
        for one in part:
            one.update(batch.take(np.arange(shard, n, shards)))
        parts.append(part)
    for part in parts[1:]:
        parts[0][0].merge(part[0])
        parts[0][1].merge(part[1])
    return {result.measure: result.value for result in norms_of(*parts[0])}


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_against_numpy(shards: int):
    x = np.random.default_rng(0).normal(size=(3, 50, 4)) * np.array([1, 10, 100])[:, None, None] + 1
    got = results(x, shards)
    assert list(got) == NAMES
    norms = np.linalg.norm(x, axis=2)
    of_mean = np.linalg.norm(x.mean(1), axis=1)
    wanted = [norms.mean(1), norms.std(1), norms.min(1), norms.max(1), of_mean, of_mean / norms.mean(1)]
    for name, value in zip(NAMES, wanted, strict=True):
        np.testing.assert_allclose(got[name], value, rtol=1e-10, err_msg=name)


def test_drift():
    """‖mean‖ over mean norm: 1 for one direction, 0 for a cloud about the origin."""
    line, cross = np.outer([1.0, 2.0, 9.0], [3.0, 4.0])[None], np.concatenate([np.eye(3), -np.eye(3)])[None]
    assert results(line)["norm_of_mean_over_mean_norm"] == pytest.approx(1)
    assert results(cross)["norm_of_mean_over_mean_norm"] == pytest.approx(0, abs=1e-15)


def test_no_points_have_no_norms():
    for result in norms_of(Norms(layers=2, dim=3), Moments(layers=2, dim=3)):
        assert np.isnan(result.value).all(), result.measure
        assert result.note == "no points"
