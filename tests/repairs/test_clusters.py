"""Cluster removal: k-means and principal components by scipy and scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from refusals import raises
from scipy.cluster.vq import kmeans2
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from limbeck.accumulators import Points
from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.measures.kmeans import lloyd, nearest, starting_centers
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval
from limbeck.repairs import clusters as module
from limbeck.seeds import hash_ids


def made(n: int = 900, d: int = 12, groups: int = 5, *, seed: int = 0, spread: float = 4.0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    stretch = rng.normal(size=(groups, d, d)) / 3  # every group has directions of its own
    of = rng.integers(0, groups, size=n)
    x = np.einsum("nd,nde->ne", rng.normal(size=(n, d)), stretch[of]) + spread * rng.normal(size=(groups, d))[of]
    x[:, 0] += 100.0
    return x


X, NEW = made(), made(60, seed=2)
INIT = X[[3, 80, 200, 411, 700]]


def published(x: np.ndarray, labels: np.ndarray, components: int) -> np.ndarray:
    """The notebook's way (Rajaee & Pilehvar 2021): cluster by cluster, vector by vector, component by component."""
    repaired = np.empty_like(x)
    for cluster in np.unique(labels):
        rows = x[labels == cluster]
        rows = rows - rows.mean(0)
        top = PCA(svd_solver="full").fit(rows).components_[:components]
        for place, row in zip(np.flatnonzero(labels == cluster), rows, strict=True):
            for u in top:
                row = row - (row @ u) * u
            repaired[place] = row
    return repaired


@pytest.mark.parametrize("iterations", [1, 2, 10])
def test_as_published_on_the_vectors_of_the_fit(iterations: int) -> None:
    """Same starts and iterations as scipy's kmeans2, which the notebook used."""
    centers, labels = kmeans2(X, INIT.copy(), iter=iterations, minit="matrix")
    repair = ClusterRemoval(5, 3, init=INIT, iterations=iterations).fit(X)
    assert_array_equal(nearest(torch.from_numpy(X), torch.from_numpy(repair.centers_)), labels)
    assert_allclose(repair.means_, centers, atol=1e-9)
    assert_allclose(repair.transform(X), published(X, labels, 3), atol=1e-8)


def test_lloyd_ends_where_scikit_learn_does() -> None:
    oracle = KMeans(5, init=INIT, n_init=1, max_iter=300, tol=0.0, algorithm="lloyd").fit(X)
    for x, atol in ((X, 1e-9), (X.astype(np.float32), 1e-5)):
        centers, labels = lloyd(torch.from_numpy(x), torch.from_numpy(INIT), iterations=300)
        assert centers.dtype == torch.float64
        assert_array_equal(labels, oracle.labels_)
        assert_allclose(centers, oracle.cluster_centers_, atol=atol)


def test_weights_move_the_centers() -> None:
    x = np.random.default_rng(0).normal(size=(500, 3))  # no groups: every weight moves a border
    weights = np.random.default_rng(1).uniform(0.01, 5.0, size=500)
    oracle = KMeans(4, init=x[:4], n_init=1, max_iter=300, tol=0.0, algorithm="lloyd").fit(x, sample_weight=weights)
    centers, labels = lloyd(
        torch.from_numpy(x), torch.from_numpy(x[:4]), iterations=300, weights=torch.from_numpy(weights)
    )
    assert_array_equal(labels, oracle.labels_)
    assert_allclose(centers, oracle.cluster_centers_, atol=1e-9)


def test_weights_count_as_repeated_rows() -> None:
    counts = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = np.repeat(X, counts, axis=0)
    order = np.random.default_rng(1).permutation(len(repeated))
    for init in (INIT, "k-means++"):
        weighted = ClusterRemoval(5, 3, init=init).fit(X, sample_weight=counts)
        assert_allclose(
            weighted.transform(NEW), ClusterRemoval(5, 3, init=init).fit(repeated[order]).transform(NEW), atol=1e-8
        )


def test_new_vectors_go_to_the_nearest_cluster() -> None:
    repair = ClusterRemoval(5, 3, init=INIT).fit(X)
    of = ((NEW[:, None] - repair.centers_) ** 2).sum(2).argmin(1)
    expected = NEW - repair.means_[of]
    for row, cluster in zip(expected, of, strict=True):
        row -= repair.components_[cluster].T @ (repair.components_[cluster] @ row)
    assert_allclose(repair.transform(NEW), expected, atol=1e-10)
    along = np.einsum("ncd,nd->nc", repair.components_[of], repair.transform(NEW))
    assert_allclose(along, 0.0, atol=1e-10)


def test_one_cluster_is_all_but_the_top() -> None:
    one = ClusterRemoval(1, 3).fit(X)
    assert_allclose(one.transform(NEW), AllButTheTop(3).fit(X).transform(NEW), atol=1e-10)
    assert_allclose(ClusterRemoval(1, 0).fit(X).transform(NEW), Center().fit(X).transform(NEW), atol=1e-10)


def test_seeds_and_starts() -> None:
    same = [ClusterRemoval(6, 2, random_state=1).fit(X).transform(NEW) for _ in range(2)]
    assert_array_equal(*same)
    assert np.abs(same[0] - ClusterRemoval(6, 2, random_state=2).fit(X).transform(NEW)).max() > 1e-3
    shuffled = X[np.random.default_rng(0).permutation(len(X))]
    assert_allclose(ClusterRemoval(6, 2, random_state=1).fit(shuffled).transform(NEW), same[0], atol=1e-8)
    assert ClusterRemoval(6, 2, init="random").fit(X).centers_.shape == (6, 12)


def test_kmeans_plus_plus_finds_far_groups() -> None:
    """One group of a thousand and three of one: random rows would be of the first."""
    x = np.concatenate([np.random.default_rng(0).normal(size=(1000, 2)), [[1e4, 0], [0, 1e4], [-1e4, 0]]])
    spread = starting_centers(torch.from_numpy(x), 4, np.random.default_rng(5), spread=True)
    assert (spread.abs().amax(1) > 1e3).sum() == 3
    assert (np.abs(ClusterRemoval(4, 0, iterations=1).fit(x).centers_).max(1) > 1e3).sum() == 3  # the default
    plain = starting_centers(torch.from_numpy(x), 4, np.random.default_rng(5), spread=False)
    assert (plain.abs().amax(1) > 1e3).sum() < 3
    assert len({tuple(row) for row in plain.tolist()}) == 4


def test_starts_are_rows_of_a_part_of_many() -> None:
    x = torch.from_numpy(np.random.default_rng(0).normal(size=(30_000, 2)))
    chosen = starting_centers(x, 5, np.random.default_rng(0), spread=True)
    assert all(bool((x == row).all(1).any()) for row in chosen)


# --- clusters that are not what they should be --------------------------------------------------


def test_empty_clusters_start_again_or_go() -> None:
    far = np.full((1, 12), 1e6)
    repair = ClusterRemoval(3, 2, init=np.concatenate([INIT[:2], far]), iterations=10).fit(X)
    assert len(repair.centers_) == 3
    assert np.abs(repair.centers_).max() < 1e3
    once = ClusterRemoval(3, 2, init=np.concatenate([INIT[:2], far]), iterations=1).fit(X)  # no time to start again
    assert len(once.centers_) == 2
    assert np.isfinite(once.transform(far)).all()


def test_rows_without_weight_fill_no_cluster() -> None:
    x = np.concatenate([X, np.full((2, 12), 1e6)])
    init = np.concatenate([INIT[:2], x[-1:]])
    weights = np.append(np.ones(len(X)), [0.0, 0.0])
    assert len(ClusterRemoval(3, 2, init=init, iterations=1).fit(x, sample_weight=weights).centers_) == 2


def test_repeated_points_and_fewer_than_clusters() -> None:
    points = np.repeat(np.random.default_rng(0).normal(size=(4, 3)), 10, axis=0)
    for init in ("k-means++", "random"):
        starts = starting_centers(torch.from_numpy(points), 27, np.random.default_rng(0), spread=init == "k-means++")
        assert len(starts) == 4
        repair = ClusterRemoval(27, 12, init=init).fit(points)
        assert len(repair.centers_) == 4
        assert_array_equal(repair.removed_, 0)
        assert_allclose(repair.transform(points), 0.0, atol=1e-12)
    given = ClusterRemoval(5, 2, init=np.repeat(points[:1], 5, axis=0)).fit(points)  # all centers in one place
    assert np.isfinite(given.transform(points)).all()


def test_a_cluster_has_no_more_components_than_directions() -> None:
    pair = np.array([[0.0, 0, 0, 0], [1, 0, 0, 0]])
    triple = np.array([[100.0, 0, 0, 0], [101, 0, 0, 0], [100, 0, 1, 0]])
    alone = np.array([[0.0, 500, 0, 0]])
    x = np.concatenate([pair, triple, alone])
    repair = ClusterRemoval(3, 3, init=x[[0, 2, 5]]).fit(x)
    assert_array_equal(repair.removed_, [1, 2, 0])
    assert_allclose(repair.transform(x), 0.0, atol=1e-12)
    assert_allclose(repair.transform([[0.5, 2.0, 0, 0]]), [[0, 2, 0, 0]], atol=1e-12)
    assert_allclose(repair.transform([[1.0, 503.0, 0, 0]]), [[1, 3, 0, 0]], atol=1e-12)


def test_a_large_common_mean_does_not_blur_float32_clusters() -> None:
    groups = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    x = np.repeat(groups, 50, axis=0) + np.random.default_rng(0).normal(size=(150, 2)) * 0.05
    near = (x + 4096.0).astype(np.float32)
    labels = nearest(torch.from_numpy(near), torch.from_numpy(groups + 4096.0))
    assert_array_equal(labels, np.repeat([0, 1, 2], 50))


def test_float32_vectors_are_used_in_the_clusters_that_they_were_fitted_in() -> None:
    """Centers that were rounded for use only would send vectors between two clusters to the other one."""
    rng = np.random.default_rng(0)
    for centers in 1000.0 + rng.normal(size=(50, 2, 1)):
        between = np.float32(centers.mean()) + np.arange(-3, 4, dtype=np.float32) * np.spacing(np.float32(1000))
        rows, exact = torch.from_numpy(between[:, None]), torch.from_numpy(centers)
        assert_array_equal(nearest(rows, exact), nearest(rows, exact.float()))


# --- on a stream ------------------------------------------------------------------------------


def test_given_centers_are_kept_and_batches_do_not_matter() -> None:
    whole = ClusterRemoval(5, 3, init=INIT, iterations=1).fit(X)
    streamed = ClusterRemoval(5, 3, init=INIT)
    for rows in np.array_split(X, 11):
        streamed.partial_fit(rows)
    assert_array_equal(streamed.centers_, INIT)
    assert_allclose(streamed.means_, whole.means_, rtol=1e-10, atol=1e-10)
    assert_allclose(streamed.transform(NEW), whole.transform(NEW), rtol=1e-10, atol=1e-9)


def test_mini_batches_hold_no_rows_and_fit_nearly_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STARTING_ROWS", 200)
    x = made(4000, spread=1.0)
    repair = ClusterRemoval(8, 3)
    for rows in np.array_split(x, 40):
        repair.partial_fit(rows)
    assert repair._waiting is None
    assert sum(sums.rows for sums in repair._sums) == len(x)
    first, mini, whole = (
        ((x[:, None] - fitted.centers_) ** 2).sum(2).min(1).mean()
        for fitted in (ClusterRemoval(8, 3).fit(x[:200]), repair, ClusterRemoval(8, 3, iterations=100).fit(x))
    )
    assert mini < 1.1 * whole
    assert mini < first  # the later batches moved the centers


def test_centers_of_a_hash_chosen_sample_serve_a_stream() -> None:
    ids = np.arange(len(X))
    points = Points(layers=1, dim=12, capacity=300)
    points.update(Encoded(torch.from_numpy(X)[None], ids, ids, ids, hash_ids(ids), [""] * len(ids)))
    sample = ClusterRemoval(5, 3).fit(points.layer(0))
    streamed = ClusterRemoval(len(sample.centers_), 3, init=sample.centers_)
    for rows in np.array_split(X, 3):
        streamed.partial_fit(rows)
    whole = ClusterRemoval(5, 3, init=sample.centers_, iterations=1).fit(X)
    assert_allclose(streamed.transform(NEW), whole.transform(NEW), atol=1e-9)


@pytest.mark.parametrize(
    ("params", "code"),
    [
        ({"n_clusters": 0}, "out_of_range"),
        ({"n_components": -1}, "out_of_range"),
        ({"n_components": 1.5}, "out_of_range"),
        ({"iterations": 0}, "out_of_range"),
        ({"init": "kmeans++"}, "unknown_choice"),
        ({"init": INIT}, "wrong_shape"),
        ({"n_clusters": 1, "init": np.full((1, 12), np.nan)}, "not_finite"),
    ],
)
def test_wrong_parameters_are_named(params: dict, code: str) -> None:
    with raises(LimbeckError, code=code, parameter=None):
        ClusterRemoval(**params).fit(X)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_on_a_gpu_as_on_the_cpu() -> None:
    x = torch.from_numpy(X).cuda()
    repair = ClusterRemoval(5, 3, init=INIT).fit(x)
    cpu = ClusterRemoval(5, 3, init=INIT).fit(X)
    assert repair.transform(x).device.type == "cuda"
    assert_allclose(repair.transform(x).cpu(), cpu.transform(X), atol=1e-8)
    module = repair.as_torch().cuda()
    assert_allclose(module(x.float()).cpu(), cpu.transform(X), atol=2e-4)
    for other in (AllButTheTop(2), Center()):
        assert_allclose(other.fit(x).transform(x).cpu(), other.fit(X).transform(X), atol=1e-8)
