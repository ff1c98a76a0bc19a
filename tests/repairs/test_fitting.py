"""Fitting on a stream gives what fitting on the collected vectors gives, in as few passes as are told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from made import DIM, OwnEncoder, sentences
from numpy.testing import assert_allclose
from refusals import raises
from sklearn.base import clone
from sklearn.pipeline import Pipeline, make_pipeline

from limbeck.accumulators import Moments, Points, UnitSums
from limbeck.corpus import Corpus
from limbeck.errors import LimbeckError, UsageError
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, ScaledCenter, Standardize, Whitening, fit_source
from limbeck.repairs.fitting import count_passes, fit_matrix, memory_needed
from limbeck.repairs.methods import METHODS, name_of, parse_repair
from limbeck.stream import Choice, TextSource, run_pass, survey
from limbeck.stream.collected import collect

MADE = sentences(150, documents=6)
LAYERS = OwnEncoder.layers


class Counted(TextSource):
    """A source that counts how often it is read."""

    passes = 0

    def read(self, *args: Any, **options: Any) -> Iterator[Any]:
        type(self).passes += 1
        return super().read(*args, **options)


@pytest.fixture
def source() -> Counted:
    Counted.passes = 0
    return Counted(Corpus.from_sentences(MADE), OwnEncoder(), batch_tokens=64)


@pytest.fixture(scope="module")
def vectors() -> np.ndarray:
    """(layers, n, d), a repeated text once."""
    return collect(TextSource(Corpus.from_sentences(MADE), OwnEncoder()), deduplicate=True).vectors.numpy()


SUMMED = [
    Center(),
    ScaledCenter(),
    Standardize(),
    AllButTheTop(2),
    AllButTheTop(1, projection="uncentered"),
    Whitening(),
]
CHAINS = [
    make_pipeline(Standardize(), AllButTheTop(2)),
    make_pipeline(AllButTheTop(2), ScaledCenter(), Whitening()),
    make_pipeline(ClusterRemoval(3, 1), Standardize()),
]


def assert_same(found: Any, wanted: Any, x: np.ndarray, *, to: float = 1e-8) -> None:
    new = x[:40] * 1.3 + 0.2
    assert_allclose(found.transform(new), wanted.transform(new), rtol=to, atol=to * np.abs(x).max())


@pytest.mark.parametrize("repair", SUMMED, ids=lambda r: repr(r))
def test_one_pass_is_the_batch_fit(source: Counted, vectors: np.ndarray, repair: Any) -> None:
    found = fit_source(source, repair)
    assert source.passes == 1 == count_passes(repair, layers=3, dim=DIM, units=1000, seen=False)
    assert list(found) == list(LAYERS)
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_same(found[layer], clone(repair).fit(x), x)
    with pytest.raises(Exception, match="not fitted"):  # the one that was given is a pattern, and stays one
        repair.transform(vectors[0])


@pytest.mark.parametrize("chain", CHAINS, ids=name_of)
def test_chains(source: Counted, vectors: np.ndarray, chain: Pipeline) -> None:
    found = fit_source(source, chain)
    assert source.passes == len(chain.steps)
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_same(found[layer], clone(chain).fit(x), x, to=1e-7)


def test_what_was_seen_costs_no_pass(source: Counted, vectors: np.ndarray) -> None:
    shape = {"layers": 3, "dim": DIM}
    empty = [Moments(**shape), UnitSums(**shape), Points(**shape, capacity=10_000)]
    passed = run_pass(source, empty, choice=Choice())
    for repair in (*SUMMED, ClusterRemoval(3, 1)):
        found = fit_source(source, repair, plan=passed.plan, seen=passed.accumulators)
        for layer, x in zip(LAYERS, vectors, strict=True):
            assert_same(found[layer], clone(repair).fit(x), x)
    assert source.passes == 1
    chain = make_pipeline(Standardize(), AllButTheTop(2))  # the second step sees what the first leaves
    found = fit_source(source, chain, plan=passed.plan, seen=passed.accumulators)
    assert source.passes == 2 == 1 + count_passes(chain, layers=3, dim=DIM, units=999)
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_same(found[layer], clone(chain).fit(x), x)
    with raises(LimbeckError, code="wrong_shape"):
        fit_source(source, Center(), plan=passed.plan, seen=[Moments(layers=2, dim=DIM)])


def test_clusters_of_a_sample_and_all_vectors(source: Counted, vectors: np.ndarray) -> None:
    """Centers from the sample; means and components of every vector that is nearest to them."""
    plan = survey(source, choice=Choice())
    points = run_pass(source, [Points(layers=3, dim=DIM, capacity=60)], plan=plan).accumulators[0]
    assert isinstance(points, Points)
    repair = ClusterRemoval(4, 2, random_state=3)
    Counted.passes = 0
    found = fit_source(source, repair, plan=plan, sample=60)
    assert source.passes == 2 == count_passes(repair, layers=3, dim=DIM, units=plan.units, sample=60, seen=False)
    for number, (layer, x) in enumerate(zip(LAYERS, vectors, strict=True)):
        centers = clone(repair).fit(points.layer(number)[points.order]).centers_
        assert_allclose(found[layer].centers_, centers, rtol=1e-12)
        own = ((x[:, None] - centers[None]) ** 2).sum(2).argmin(1)
        means = np.stack([x[own == cluster].mean(0) for cluster in range(len(centers))])
        assert_allclose(found[layer].means_, means, rtol=1e-9, atol=1e-9)
        assert_same(found[layer], ClusterRemoval(4, 2, init=centers, iterations=1).fit(x), x)


def test_layers_one_after_the_other_where_memory_is_short(source: Counted) -> None:
    repair = ClusterRemoval(4, 2)
    together = fit_source(source, repair, sample=60)
    Counted.passes = 0
    one_by_one = fit_source(source, repair, sample=60, memory=1)
    assert source.passes == 4 == count_passes(repair, layers=3, dim=DIM, units=999, sample=60, memory=1, seen=False)
    for layer in LAYERS:
        assert_allclose(one_by_one[layer].components_, together[layer].components_, rtol=1e-12)
    size = 4 * DIM * DIM * 8
    assert memory_needed(repair, layers=3, dim=DIM) == 3 * size
    assert memory_needed(repair, layers=3, dim=DIM, memory=2 * size + 1) == 2 * size
    assert memory_needed(repair, layers=3, dim=DIM, memory=1) == size


def test_given_centers_need_no_sample(source: Counted, vectors: np.ndarray) -> None:
    given = vectors[1][:3]
    found = fit_source(source, ClusterRemoval(3, 1, init=given))
    assert source.passes == 1
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_same(found[layer], ClusterRemoval(3, 1, init=given, iterations=1).fit(x), x)


def test_whitening_takes_the_vectors_where_sums_are_coarse(source: Counted, vectors: np.ndarray) -> None:
    """Moments of split bfloat16 products (made on a GPU) would take the smallest variances for rounding."""
    coarse = Moments(layers=3, dim=DIM)
    passed = run_pass(source, [coarse], choice=Choice())
    coarse.precision = 2.0**-16
    coarse.scatter *= 1.01
    found = fit_source(source, Whitening(), plan=passed.plan, seen=[coarse])
    assert source.passes == 2
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_same(found[layer], Whitening().fit(x), x)


class Longest(Center):
    """Somebody's own repair, which no accumulator knows: it wants the longest vector too."""

    learned = ("mean_", "longest_")

    def begin(self, dim: int) -> None:
        super().begin(dim)
        self._longest = torch.zeros(1, dtype=torch.float64)

    def take(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        super().take(x, weights)
        self._longest = torch.maximum(self._longest, x.norm(dim=1).max().to(torch.float64))

    def learn(self) -> dict[str, torch.Tensor]:
        return super().learn() | {"longest_": self._longest}


def test_a_repair_of_your_own_is_given_the_vectors(source: Counted, vectors: np.ndarray) -> None:
    found = fit_source(source, Longest())
    assert source.passes == 1
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_allclose(found[layer].longest_, np.linalg.norm(x, axis=1).max())
        assert_allclose(found[layer].mean_, x.mean(0), rtol=1e-10)


def test_what_cannot_be_fitted_is_refused(source: Counted) -> None:
    with raises(LimbeckError, code="wrong_type", parameter="repair"):
        fit_source(source, "center")
    with raises(LimbeckError, code="empty", parameter="repair"):
        fit_source(source, Pipeline([("nothing", "passthrough")]))
    assert source.passes == 0


def test_matrix_with_weights() -> None:
    """A row of weight 2 counts as two, at every step of a chain."""
    x = np.random.default_rng(0).normal(size=(50, 4)) * [1, 2, 3, 4] + 5
    weights = np.arange(50) % 3
    chain = make_pipeline(AllButTheTop(1), Standardize())
    found = fit_matrix(x, chain, weights=weights)
    assert_same(found, clone(chain).fit(np.repeat(x, weights, axis=0)), x)
    assert_same(fit_matrix(x, Center()), Center().fit(x), x)


# --- names ------------------------------------------------------------------------------------


def test_every_method_by_its_name() -> None:
    assert [type(parse_repair(name)) for name in METHODS] == list(METHODS.values())
    chain = parse_repair("cluster:n_clusters=3,n_components=1,init=k-means+++center+center", seed=5)
    assert name_of(chain) == "cluster + center + center"
    assert chain.steps[0][1].get_params() == ClusterRemoval(3, 1, random_state=5).get_params()
    x = np.random.default_rng(0).normal(size=(30, 3))
    assert np.isfinite(chain.fit_transform(x)).all()
    with raises(UsageError, code="unknown_choice", says="'center'"):
        parse_repair("centre")
    with raises(UsageError, code="unknown_parameter", parameter="method", says="'n_clusters=3'"):
        parse_repair("center+whiten:n_clusters=3", option="--method")
    with raises(UsageError, code="unknown_choice", parameter="method"):
        parse_repair("", option="--method")


def test_each_method_of_a_chain_has_its_own_parameters() -> None:
    chain = parse_repair("all-but-the-top:n_components=2+cluster:n_components=1,random_state=3", seed=5)
    first, second = (step for _, step in chain.steps)
    assert (first.n_components, second.n_components, second.n_clusters, second.random_state) == (2, 1, 27, 3)
