"""What every repair keeps: scikit-learn's contract and our own laws, and twins that break them."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from refusals import raises
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

from limbeck import repairs
from limbeck.accumulators import Moments
from limbeck.errors import LimbeckError, UsageError
from limbeck.measures.rows import ROWS_AT_ONCE
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, Repair, Standardize, Whitening
from limbeck.testing import BrokenLaw, check_repair
from limbeck.vectors import StaticVectors

KINDS = [
    kind
    for name in repairs.__all__
    if isinstance(kind := getattr(repairs, name), type) and issubclass(kind, Repair) and kind is not Repair
]
SOME = np.random.default_rng(8).normal(size=(3, 6))
SETTINGS: dict[str, list[dict[str, Any]]] = {  # beside the defaults
    "AllButTheTop": [{"n_components": 2}, {"n_components": 2, "projection": "uncentered"}, {"n_components": 0}],
    "ClusterRemoval": [{"n_clusters": 3, "n_components": 2}, {"n_clusters": 3, "n_components": 2, "init": SOME}],
}
CASES = [(kind, params) for kind in KINDS for params in [{}, *SETTINGS.get(kind.__name__, [])]]
X = np.random.default_rng(0).normal(size=(50, 6)) + 1.0


def test_all_are_here() -> None:
    assert {kind.__name__ for kind in KINDS} == {
        "AllButTheTop", "Center", "ClusterRemoval", "ScaledCenter", "Standardize", "Whitening",
    }  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_scikit_learns_checks(kind: type[Repair]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of checks that are skipped without pandas or array_api_strict
        results = check_estimator(kind(), on_fail=None)
    wrong = [(r["check_name"], r["exception"]) for r in results if r["status"] not in ("passed", "skipped")]
    assert not wrong
    assert sum(r["status"] == "passed" for r in results) > 45


@pytest.mark.parametrize(("kind", "params"), CASES)
def test_our_laws(kind: type[Repair], params: dict[str, Any]) -> None:
    check_repair(lambda: kind(**params))


@pytest.mark.parametrize("kind", KINDS)
def test_memory_of_a_fit_by_batches_does_not_grow(kind: type[Repair]) -> None:
    """What is held after many batches is what is held after a few."""
    repair = kind(n_clusters=3, init=SOME) if kind is ClusterRemoval else kind()

    def held(value: Any) -> int:
        if isinstance(value, torch.Tensor):
            return value.numel()
        if isinstance(value, list):
            return sum(map(held, value))
        return sum(map(held, vars(value).values())) if hasattr(value, "__dict__") else 0

    sizes = []
    for _ in range(2):
        for _ in range(5):
            repair.partial_fit(X)
        sizes.append(sum(held(value) for value in vars(repair).values()))
    assert sizes[0] == sizes[1] > 0


def test_chains_are_clones_and_names_are_kept() -> None:
    chain = make_pipeline(Center(), AllButTheTop(2), Standardize())
    repaired = chain.fit(X).transform(X)
    by_hand = Standardize().fit_transform(AllButTheTop(2).fit_transform(Center().fit_transform(X)))
    assert_allclose(repaired, by_hand, atol=1e-12)
    assert_allclose(clone(chain).fit(X).transform(X), repaired, atol=1e-12)
    assert list(chain.get_feature_names_out([f"d{i}" for i in range(6)])) == [f"d{i}" for i in range(6)]
    assert chain[1].get_params() == {"n_components": 2, "projection": "centered"}
    modules = repairs.as_torch(chain)
    assert_allclose(modules(torch.from_numpy(X)), repaired, atol=1e-12)


def test_kinds_and_dtypes_stay() -> None:
    repair = Whitening().fit(X)
    for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
        out = repair.transform(torch.from_numpy(X).to(dtype))
        assert isinstance(out, torch.Tensor)
        assert out.dtype == dtype
        tolerance = {torch.float64: 1e-9, torch.float32: 1e-5}.get(dtype, 0.1)
        assert_allclose(out.double(), repair.transform(X), atol=tolerance)
    assert repair.transform(X.astype(np.float32)).dtype == np.float32
    turned = torch.from_numpy(np.ascontiguousarray(X.T)).T  # columns first
    assert_array_equal(repair.transform(turned), repair.transform(X))
    assert repair.transform(turned).is_contiguous()
    assert_allclose(repair.transform(np.asfortranarray(X)[::-1]), repair.transform(X)[::-1], atol=1e-12)
    assert repair.transform([[1, 2, 3, 4, 5, 6]]).shape == (1, 6)
    assert Center().fit(torch.tensor([[1, 2], [3, 4]])).mean_.tolist() == [2.0, 3.0]  # whole numbers


@pytest.mark.parametrize(("kind", "params"), CASES)
@pytest.mark.parametrize("scale", [1e30, 1e-30])
def test_sizes_that_float32_cannot_square(kind: type[Repair], params: dict[str, Any], scale: float) -> None:
    """float32 rows so long or so short that their squares are infinite or zero: as in float64."""
    if isinstance(params.get("init"), np.ndarray):
        params = params | {"init": params["init"] * scale}
    x = (X * scale).astype(np.float32)
    for wide, narrow in (
        (kind(**params).fit(x.astype(np.float64)), kind(**params).fit(x)),
        (kind(**params).partial_fit(x.astype(np.float64)), kind(**params).partial_fit(x)),
    ):
        want, found = wide.transform(x.astype(np.float64)), narrow.transform(x)
        assert found.dtype == np.float32
        assert_allclose(found, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_words_is_fitted_on_and_comes_back_repaired(kind: type[Repair]) -> None:
    table = StaticVectors([f"w{i}" for i in range(50)], X)
    done = kind().fit(table).transform(table)
    assert done.words == table.words
    assert_array_equal(done.matrix, kind().fit(X.astype(np.float32)).transform(X.astype(np.float32)))


def test_half_precision_stays() -> None:
    half = X.astype(np.float16)
    found = Standardize().fit(half).transform(half)
    assert found.dtype == np.float16
    want = Standardize().fit(half.astype(np.float64)).transform(half.astype(np.float64))
    assert_allclose(found, want, atol=2e-3)


def test_fitted_numbers_are_a_copy_and_names_are_of_the_last_fit() -> None:
    repair = Center().fit(X)
    repair.mean_[:] = 7.0
    assert_allclose(repair.partial_fit(X).mean_, X.mean(0), atol=1e-12)
    repair.feature_names_in_ = np.array(list("abcdef"), dtype=object)
    assert not hasattr(repair.fit(torch.from_numpy(X)), "feature_names_in_")


def test_more_rows_than_a_block() -> None:
    x = np.random.default_rng(1).normal(size=(2 * ROWS_AT_ONCE["cpu"] + 3, 3)) + 5.0
    assert_allclose(Center().fit(x).transform(x), x - x.mean(0), atol=1e-10)
    assert_allclose(np.cov(Whitening().fit(x).transform(x), rowvar=False, bias=True), np.eye(3), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_go_through_the_module(kind: type[Repair]) -> None:
    repair = kind(3, 2) if kind is ClusterRemoval else kind()
    module = repair.fit(X).as_torch()
    assert torch.autograd.gradcheck(module, torch.from_numpy(X[:4]).requires_grad_())
    assert not repair.transform(torch.from_numpy(X).requires_grad_()).requires_grad


def test_the_module_takes_nothing_and_keeps_its_numbers() -> None:
    for kind in KINDS:
        assert kind().fit(X).as_torch()(torch.empty(2, 0, 6)).shape == (2, 0, 6)
    module = ClusterRemoval(3, 2).fit(X).as_torch()
    assert set(module.state_dict()) == {"centers_", "means_", "components_", "removed_"}
    assert not list(module.parameters())


@pytest.mark.parametrize(
    ("x", "told"),
    [
        (torch.ones(3), "rows and columns"),
        (torch.empty(0, 3), "rows and columns"),
        (torch.tensor([[1.0, float("nan")]]), "finite"),
        (torch.tensor([[1.0, float("inf")]]), "finite"),
    ],
)
def test_tensors_that_are_no_rows_are_refused(x: torch.Tensor, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Center().fit(x)


def test_finite_rows_whose_sum_is_not_are_taken() -> None:
    large = torch.full((4, 2), 1e308, dtype=torch.float64)
    assert torch.equal(Center().fit(torch.zeros(3, 2)).transform(large), large)


@pytest.mark.parametrize("weights", [[1.0], [[1.0]] * 50, [-1.0] * 50, [np.nan] * 50, [0.0] * 50])
def test_weights_that_are_none_are_refused(weights: Any) -> None:
    with pytest.raises(ValueError, match="sample_weight"):
        Center().fit(X, sample_weight=weights)


def test_weights_may_be_tensors_or_one_number() -> None:
    weights = np.arange(50.0)
    expected = Center().fit(X, sample_weight=weights).mean_
    assert_allclose(Center().fit(torch.from_numpy(X), sample_weight=torch.from_numpy(weights)).mean_, expected)
    assert_allclose(Center().fit(X, sample_weight=3.0).mean_, X.mean(0))


def test_wrong_use_is_told() -> None:
    with pytest.raises(NotFittedError):
        Center().transform(torch.from_numpy(X))
    with pytest.raises(NotFittedError):
        Center().as_torch()
    with pytest.raises(AttributeError, match="mean_"):
        Center().mean_
    with pytest.raises(ValueError, match="3 features, but Center is expecting 6"):
        Center().fit(X).transform(torch.ones(2, 3))
    with raises(UsageError, code="unknown_choice", parameter="projection", says="'centered'"):
        AllButTheTop(projection="centred").fit(X)
    with raises(LimbeckError, code="out_of_range", parameter="n_components"):
        AllButTheTop(True).fit(X)


def test_a_name_belongs_to_one_repair() -> None:
    with pytest.raises(TypeError, match=r"Center is also in limbeck\.repairs\.center"):
        type("Center", (Standardize,), {"__module__": "mine"})
    assert Repair.kinds["Center"] is Center


def test_scikit_learn_is_named_where_it_is_missing() -> None:
    code = """
import sys
sys.modules["sklearn"] = sys.modules["scipy"] = None
import limbeck as lb
from limbeck.errors import MissingExtra
try:
    lb.repairs
except MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip().endswith('pip install "limbeck[repair]".')


# --- twins: each law is found broken ------------------------------------------------------------


class Keeps(Center):
    def take(self, x, weights):
        self._kept = x

    def learn(self):
        return {"mean_": self._kept[0] * 0}

    def transform(self, X):
        return X - self._kept.numpy().mean(0)


class Changes(Center):
    def transform(self, X):
        X -= self.mean_
        return X


class Together(Center):
    def transform(self, X):
        return X - X.mean(0)


class LastBatch(Center):
    def take(self, x, weights):
        self.begin(x.shape[1])
        super().take(x, weights)


class NumpyOnly(Center):
    def transform(self, X):
        return np.asarray(super().transform(X))


class OtherModule(Center):
    def as_torch(self):
        return torch.nn.Identity()


class Forgets(Center):
    learned = ("mean_",)

    def save(self, path):
        self.mean_ = self.mean_ * 0
        super().save(path)


class Divides(Standardize):
    def learn(self):
        return {**super().learn(), "scale_": self._sums.covariance.sqrt()}


@pytest.mark.parametrize(
    ("twin", "law"),
    [
        (Keeps, "neither changed nor kept"),
        (Changes, "neither changed nor kept"),
        (Together, "one by one"),
        (LastBatch, "any batches"),
        (NumpyOnly, "tensors are repaired like arrays"),
        (OtherModule, "the torch module"),
        (Forgets, "file and back"),
        (Divides, "degenerate input"),
    ],
)
def test_a_broken_repair_is_found(twin: type[Repair], law: str) -> None:
    with pytest.raises(BrokenLaw, match=law):
        check_repair(twin)


def test_moments_of_low_precision_hide_small_variances() -> None:
    """On a GPU moments are good to 2e-5 of the largest variance: what is below is noise, not a direction."""
    moments = Moments(layers=1, dim=2)
    moments.n, moments.precision = 100, 2.0**-16
    moments.scatter = torch.diag(torch.tensor([100.0, 1e-4], dtype=torch.float64))[None]
    assert Whitening().fit_from(moments).variances_.tolist() == [1.0, 0.0]
    moments.precision = 0.0
    assert_allclose(Whitening().fit_from(moments).variances_, [1.0, 1e-6])
