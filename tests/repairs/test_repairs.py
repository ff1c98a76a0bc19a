"""Every repair against an oracle that is not limbeck: scikit-learn, numpy.linalg, cases worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from refusals import raises
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import limbeck as lb
from limbeck.accumulators import Moments, UnitSums
from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, ScaledCenter, Standardize, Whitening


def made(n: int = 400, d: int = 7, *, seed: int = 0) -> np.ndarray:
    """Correlated vectors with a large common mean, in one dimension most of all."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    x[:, d // 3] += 40.0
    return x


def covariance(x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    return np.cov(x, rowvar=False, aweights=weights, bias=True)


X, NEW = made(), made(50, seed=1)
WEIGHTS = 1.0 / np.arange(1, len(X) + 1)  # Zipf's


def test_center() -> None:
    assert_allclose(Center().fit(X).transform(NEW), NEW - X.mean(0), atol=1e-12)
    weighted = Center().fit(X, sample_weight=WEIGHTS).transform(NEW)
    assert_allclose(weighted, NEW - np.average(X, axis=0, weights=WEIGHTS), atol=1e-12)


def test_scaled_center_by_hand() -> None:
    x = np.array([[3.0, 4.0], [0.0, 2.0], [0.0, 0.0]])  # the zero vector has no direction and does not count
    repair = ScaledCenter().fit(x)
    assert_allclose(repair.mean_, [0.3, 0.9], atol=1e-15)
    assert_allclose(repair.transform(x), [[1.5, -0.5], [-0.6, 0.2], [0.0, 0.0]], atol=1e-15)
    weighted = ScaledCenter().fit(x, sample_weight=[3.0, 1.0, 5.0])
    assert_allclose(weighted.mean_, [0.45, 0.85], atol=1e-15)
    tiny = ScaledCenter().fit(x * 1e-200)  # whose squares are zero
    assert_allclose(tiny.mean_, repair.mean_, atol=1e-15)
    assert_allclose(ScaledCenter().fit(x[2:]).mean_, 0.0)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_standardize(weights: np.ndarray | None) -> None:
    expected = StandardScaler().fit(X, sample_weight=weights).transform(NEW)
    assert_allclose(Standardize().fit(X, sample_weight=weights).transform(NEW), expected, atol=1e-10)


def test_standardize_leaves_a_constant_dimension_unscaled() -> None:
    x = X.copy()
    x[:, 1] = 0.1  # which no sum of floats is a whole multiple of
    for dtype in (np.float64, np.float32):
        repair = Standardize().fit(x.astype(dtype))
        assert repair.scale_[1] == 1.0
        assert_allclose(repair.transform(x.astype(dtype))[:, 1], 0.0, atol=1e-7)
    small = x.copy()
    small[:, 1] += np.random.default_rng(0).normal(size=len(x)) * 1e-9  # small is not constant
    assert_allclose(Standardize().fit_transform(small)[:, 1].std(), 1.0, atol=1e-4)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_whitening(weights: np.ndarray | None) -> None:
    repair = Whitening().fit(X, sample_weight=weights)
    repaired = repair.transform(X)
    assert_allclose(covariance(repaired, weights), np.eye(7), atol=1e-10)
    assert_allclose(np.average(repaired, axis=0, weights=weights), 0.0, atol=1e-10)
    # the symmetric root, by another way
    values, vectors = np.linalg.eig(covariance(X, weights))
    root = np.linalg.inv((vectors * np.sqrt(values)) @ np.linalg.inv(vectors))
    assert_allclose(repair.matrix_, root, atol=1e-10)
    assert_allclose(np.sort(repair.variances_), np.sort(values), rtol=1e-9)


def test_whitening_of_weights_is_whitening_of_repeated_rows() -> None:
    counts = np.random.default_rng(3).integers(0, 4, size=len(X))
    repeated = Whitening().fit(np.repeat(X, counts, axis=0)).transform(NEW)
    assert_allclose(Whitening().fit(X, sample_weight=counts).transform(NEW), repeated, atol=1e-9)


def test_whitening_of_a_plane_stays_in_it() -> None:
    plane = made(60, 2) @ np.random.default_rng(4).normal(size=(2, 7))
    for x in (plane, plane.astype(np.float32)):
        repair = Whitening().fit(x)
        assert (repair.variances_ > 0).sum() == 2
        values = np.linalg.eigvalsh(covariance(repair.transform(x).astype(np.float64)))
        assert_allclose(values, [0, 0, 0, 0, 0, 1, 1], atol=1e-4)
    few = X[:4]  # three directions
    assert_allclose(np.linalg.eigvalsh(covariance(Whitening().fit_transform(few))), [0] * 4 + [1] * 3, atol=1e-9)


def test_rounding_is_no_variance() -> None:
    """Equal rows whose mean is not exactly theirs: what remains would be whitened to any size."""
    row = np.array([[0.1, 1e3 / 3, -0.7, 1e5 / 7]])
    streamed, removal = Whitening(), AllButTheTop(3)
    for weights in np.random.default_rng(0).uniform(0.1, 1.0, size=(9, 23)):
        for repair in (streamed, removal):
            repair.partial_fit(np.repeat(row, 23, axis=0), sample_weight=weights)
    assert_allclose(streamed.variances_, 0.0)
    assert_allclose(removal.variances_, 0.0)
    assert np.abs(streamed._sums.scatter.numpy()).max() > 0  # or nothing would be tested
    assert_allclose(streamed.transform(row + 1.0), 0.0)


@pytest.mark.parametrize("projection", ["centered", "uncentered"])
def test_all_but_the_top(projection: str) -> None:
    repair = AllButTheTop(3, projection=projection).fit(X)
    top = PCA(3, svd_solver="full").fit(X).components_
    projected = NEW - X.mean(0) if projection == "centered" else NEW
    assert_allclose(repair.transform(NEW), NEW - X.mean(0) - projected @ top.T @ top, atol=1e-9)
    along = repair.transform(NEW) @ top.T  # nothing is left, or what the mean has there
    assert_allclose(
        along, np.zeros_like(along) if projection == "centered" else along * 0 - X.mean(0) @ top.T, atol=1e-9
    )


def test_the_two_projections_differ_by_a_constant() -> None:
    both = [AllButTheTop(2, projection=p).fit(X).transform(NEW) for p in ("centered", "uncentered")]
    assert_allclose(np.ptp(both[0] - both[1], axis=0), 0.0, atol=1e-10)
    assert np.abs(both[0] - both[1]).max() > 1.0


@pytest.mark.parametrize("components", [7, 8, 500])
def test_no_repair_takes_away_all_dimensions(components: int) -> None:
    chain = make_pipeline(Center(), AllButTheTop(components))
    for fit in (
        AllButTheTop(components).fit,
        AllButTheTop(components, projection="uncentered").partial_fit,
        lambda x: AllButTheTop(components).fit(torch.from_numpy(x)),
        chain.fit,
    ):
        with raises(LimbeckError, code="out_of_range", parameter="n_components"):
            fit(X)


def test_components_by_default_and_at_most() -> None:
    assert [AllButTheTop().fit(made(9, d)).components_.shape[0] for d in (1, 100, 101)] == [1, 1, 2]
    assert AllButTheTop(6).fit(X).components_.shape == (6, 7)
    assert_allclose(AllButTheTop(0).fit(X).transform(NEW), Center().fit(X).transform(NEW), atol=1e-12)
    three = AllButTheTop(6).fit(X[:4])  # four points have three directions
    assert (three.variances_ > 0).sum() == 3
    assert_allclose(three.transform(X[:4]), 0.0, atol=1e-9)
    # what none of them has is left where it is
    aside = np.linalg.svd(X[:4] - X[:4].mean(0))[2][-1]
    assert_allclose(three.transform(X[:1] + aside) @ aside, 1.0, atol=1e-9)


def test_many_dimensions_take_the_solver_for_a_few() -> None:
    x = made(500, 60)
    top = PCA(4, svd_solver="full").fit(x).components_
    assert_allclose(np.abs(np.sum(AllButTheTop(4).fit(x).components_ * top, axis=1)), 1.0, atol=1e-10)


def test_float32_rows_are_summed_in_float64() -> None:
    """A million-fold mean would leave nothing of the variance in float32 sums."""
    rng = np.random.default_rng(0)
    x = (rng.normal(size=(60_000, 3)) + np.array([3000.0, 0.0, -2.0])).astype(np.float32)
    exact = x.astype(np.float64)
    repair = Whitening().fit(x)
    assert_allclose(repair.mean_, exact.mean(0), rtol=1e-12)
    assert_allclose(covariance((exact - repair.mean_) @ repair.matrix_), np.eye(3), atol=1e-5)
    assert repair.transform(x).dtype == np.float32


# --- on a stream ------------------------------------------------------------------------------

STREAMED = [Center(), ScaledCenter(), Standardize(), Whitening(), AllButTheTop(2)]


@pytest.mark.parametrize("repair", STREAMED, ids=lambda r: type(r).__name__)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["plain", "weighted"])
def test_batches_give_the_fit_of_the_whole(repair: Any, weights: np.ndarray | None) -> None:
    whole = repair.fit(X, sample_weight=weights)
    expected = {name: getattr(whole, name) for name in whole.learned}
    for size in (1, 37, 400):
        fresh = type(repair)(**repair.get_params())
        for start in range(0, len(X), size):
            rows = slice(start, start + size)
            fresh.partial_fit(X[rows], sample_weight=None if weights is None else weights[rows])
        assert_allclose(fresh.mean_, expected["mean_"], rtol=1e-10, atol=1e-10)
        assert_allclose(fresh.transform(NEW), whole.transform(NEW), rtol=1e-10, atol=1e-10)


def test_learning_in_the_middle_of_a_stream_does_not_disturb_it() -> None:
    for repair in (Whitening(), ClusterRemoval(3, 2)):
        watched, left = type(repair)(**repair.get_params()), type(repair)(**repair.get_params())
        for rows in np.split(X, 4):
            watched.partial_fit(rows).transform(NEW)
            left.partial_fit(rows)
        assert_allclose(watched.transform(NEW), left.transform(NEW), atol=1e-12)
        assert_allclose(watched.transform(NEW), repair.fit(X).transform(NEW), atol=1e-9)


def accumulated(kind: Any) -> Any:
    filled = kind(layers=2, dim=7)
    for rows in np.split(np.arange(len(X)), 5):
        vectors = torch.from_numpy(np.stack([made(seed=9)[rows], X[rows]]))
        ids = rows.astype(np.int64)
        filled.update(Encoded(vectors, ids, ids, ids, ids.astype(np.uint64), [""] * len(ids)))
    return filled


@pytest.mark.parametrize("repair", STREAMED, ids=lambda r: type(r).__name__)
def test_fit_from_a_pass(repair: Any) -> None:
    kind = UnitSums if isinstance(repair, ScaledCenter) else Moments
    for layer in (1, -1):
        fitted = repair.fit_from(accumulated(kind), layer=layer).transform(NEW)
        assert_allclose(fitted, type(repair)(**repair.get_params()).fit(X).transform(NEW), rtol=1e-9, atol=1e-9)
    with raises(LimbeckError, code="empty"):
        repair.fit_from(kind(layers=1, dim=7))
    with raises(LimbeckError, code="out_of_range", parameter="layer"):
        repair.fit_from(accumulated(kind), layer=2)
    with raises(LimbeckError, code="wrong_type", parameter=None):
        repair.fit_from(X)


def test_moments_go_on_after_fit_from() -> None:
    first = accumulated(Moments)
    before = first.scatter.clone()
    repair = Whitening().fit_from(first, layer=1).partial_fit(NEW)
    assert_allclose(repair.transform(X), Whitening().fit(np.concatenate([X, NEW])).transform(X), atol=1e-9)
    assert torch.equal(first.scatter, before)


def test_zipfian_whitening_is_what_a_text_has() -> None:
    """Frequencies as weights of a table: the covariance of its rows as a text shows them."""
    counts = np.random.default_rng(0).zipf(1.5, size=len(X)).clip(max=50)
    text = np.repeat(X, counts, axis=0)
    assert_allclose(
        covariance(lb.repairs.Whitening().fit(X, sample_weight=counts).transform(text)), np.eye(7), atol=1e-9
    )
