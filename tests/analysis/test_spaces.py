"""Methods by name, the paper's numbers, and the spaces that come of them."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from refusals import raises
from sklearn.pipeline import make_pipeline

from limbeck.analysis.settings import AnalysisSettings
from limbeck.analysis.spaces import (
    Method,
    family_of,
    fit_spaces,
    methods_of,
    published_methods,
    repairs_at,
)
from limbeck.errors import UsageError
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, Standardize
from limbeck.repairs.methods import METHODS

CLUSTER = "cluster:n_clusters=27,n_components=12"


@pytest.fixture
def x():
    return np.random.default_rng(0).standard_normal((400, 16)) + 3


@pytest.mark.parametrize(
    "text", ["cluster:n_clusters=27,n_components=12", "standardize+cluster:init=k-means++", "center"]
)
def test_a_method_reads_as_it_is_written(text):
    assert str(Method(text)) == text


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("clusters:components=3", "unknown_choice"),
        ("cluster:1,2", "malformed"),
        ("center:1", "unknown_parameter"),
        ("all-but-the-top:n_components=-1", "out_of_range"),
        ("", "unknown_choice"),
    ],
)
def test_wrong_methods_are_refused(text, code):
    with raises(UsageError, code=code, parameter="method"):
        Method(text)


def test_numbers_reach_the_repair():
    made = Method("cluster:n_clusters=7,n_components=3").make(seed=4)
    assert isinstance(made, ClusterRemoval)
    assert (made.n_clusters, made.n_components, made.random_state) == (7, 3, 4)
    assert Method("cluster:random_state=2").make(seed=4).random_state == 2


@pytest.mark.parametrize(
    ("family", "told"),
    [
        ("bert", ["all-but-the-top:n_components=15", "cluster:n_clusters=27,n_components=12"]),
        ("roberta", ["all-but-the-top:n_components=25", "cluster:n_clusters=27,n_components=12"]),
        ("gpt2", ["all-but-the-top:n_components=30", "cluster:n_clusters=10,n_components=30"]),
    ],
)
def test_the_papers_numbers(family, told):
    assert [str(method) for method in published_methods(family, dim=768, rows=50_000)] == told


def test_small_spaces_get_less():
    """An eighth of 40 dimensions, and four rows a component in a cluster."""
    assert published_methods("bert", dim=40, rows=100) == methods_of(5, 5, 5)
    assert published_methods("bert", dim=4, rows=1) == methods_of(1, 1, 1)


def test_families():
    def encoder(**settings):
        return SimpleNamespace(describe=lambda: settings)

    assert family_of(encoder(causal=True, model_type="gpt2")) == "gpt2"
    assert family_of(encoder(causal=False, model_type="xlm-roberta")) == "roberta"
    assert family_of(encoder(causal=False, model_type="bert")) == "bert"
    assert family_of(encoder()) == "bert"
    source = encoder(encoder_settings={"causal": True}, corpus={})
    assert family_of(source) == "gpt2"
    assert family_of(encoder(kept_from={"encoder_settings": {"causal": True}})) == "gpt2"


def test_spaces_are_what_their_repairs_do(x):
    spaces = fit_spaces(x, methods=methods_of(2, 3, 1))
    assert [space.name for space in spaces] == ["baseline", "global", "cluster"]
    assert spaces[0](x) is x
    np.testing.assert_allclose(spaces[1](x), AllButTheTop(2).fit_transform(x))
    np.testing.assert_allclose(spaces[2](x), ClusterRemoval(3, 1).fit_transform(x))
    told = {"space": "global", "repair": "AllButTheTop(n_components=2)", "fitted_on": 400, "instead_of": ""}
    assert spaces[1].row() == told


def test_what_was_taken_instead_of_the_papers(x):
    """400 rows of 16 dimensions: 2 components at most, in which 27 clusters have rows enough."""
    rows = [space.row() for space in fit_spaces(x)]
    assert [row["instead_of"] for row in rows] == ["", "all-but-the-top:n_components=15", CLUSTER]
    assert rows[2]["repair"].startswith("ClusterRemoval(n_clusters=27, n_components=2")
    wide = np.random.default_rng(0).standard_normal((1500, 128))
    assert [space.instead_of for space in fit_spaces(wide)] == ["", "", ""]
    assert [space.instead_of for space in fit_spaces(wide[:600])] == ["", "", CLUSTER]


@pytest.mark.parametrize("kind", list(METHODS))
def test_every_repair_is_a_method(kind, x):
    """What `limbeck repair` knows, under its name."""
    assert type(Method(kind).make()) is METHODS[kind]
    assert fit_spaces(x, methods=[Method(kind)])[1](x).shape == x.shape


def test_a_repair_of_ones_own_is_a_method(x, monkeypatch):
    class Halved(Center):
        def __init__(self, times: int = 1) -> None:
            self.times = times

    monkeypatch.setitem(METHODS, "halved", Halved)
    assert Method("halved:times=3").make().times == 3


def test_a_chain(x):
    (_, space) = fit_spaces(x, methods=[Method("standardize+cluster:n_clusters=3,n_components=1,iterations=2")], seed=5)
    assert space.name == "standardize+cluster"
    chain = make_pipeline(Standardize(), ClusterRemoval(3, 1, iterations=2, random_state=5))
    np.testing.assert_allclose(space(x), chain.fit(x).transform(x))
    assert space.row()["repair"] == "Standardize() → ClusterRemoval(n_clusters=3, n_components=1, iterations=2)"


def test_two_of_a_kind_have_names_of_their_own(x):
    spaces = fit_spaces(x, methods=[Method("cluster:n_clusters=3"), Method("cluster:n_clusters=2"), Method("center")])
    assert [space.name for space in spaces] == ["baseline", "cluster:n_clusters=3", "cluster:n_clusters=2", "center"]
    with raises(UsageError, code="twice"):
        fit_spaces(x, methods=[Method("center"), Method("center")])


def test_fitted_repairs_stand_alone(x):
    """Without methods the paper's are not fitted beside them."""
    spaces = fit_spaces(x, repairs={"mine": Center().fit(x + 1)})
    assert [space.name for space in spaces] == ["baseline", "mine"]
    np.testing.assert_allclose(spaces[1](x).mean(0), -1, atol=1e-9)
    with raises(UsageError, code="other_dimensions", parameter="repair", says="16"):
        fit_spaces(x[:, :4], repairs={"mine": Center().fit(x)})


def test_repairs_by_layer(x):
    settings = AnalysisSettings(repair={"folder": {"3": "third"}, "file": "all"})
    assert repairs_at("3", settings) == {"folder": "third", "file": "all"}
    with raises(UsageError, code="other_layers", parameter="repair", says="layer 4"):
        repairs_at("4", settings)


def test_wrong_settings():
    with pytest.raises(UsageError) as caught:
        AnalysisSettings(metric="cosines")
    assert (caught.value.code, caught.value.parameter) == ("unknown_choice", "metric")
    with pytest.raises(UsageError) as caught:
        AnalysisSettings(method=["center", "clusters"])
    assert (caught.value.code, caught.value.parameter) == ("unknown_choice", "method")
