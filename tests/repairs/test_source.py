"""Repairs inside a pass: what comes out is what `transform` gives of the vectors that went in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from made import DIM, OwnEncoder, sentences
from numpy.testing import assert_allclose, assert_array_equal
from refusals import raises
from sklearn.pipeline import make_pipeline

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.encoded import Encoded
from limbeck.errors import InputError, LimbeckError
from limbeck.repairs import AllButTheTop, Center, ClusterRemoval, RepairedSource, Standardize, Whitening
from limbeck.repairs.folders import save_repairs
from limbeck.repairs.source import LOST
from limbeck.runs.execution.sources import open_source
from limbeck.stream import Source, TextSource, run_pass
from limbeck.stream.collected import collect

MADE = sentences(120, documents=6)
LAYERS = OwnEncoder.layers


def source() -> TextSource:
    return TextSource(Corpus.from_sentences(MADE), OwnEncoder(), batch_tokens=64)


@pytest.fixture(scope="module")
def vectors() -> torch.Tensor:
    """(layers, n, d)"""
    return collect(source()).vectors


@pytest.fixture(scope="module")
def repairs(vectors: torch.Tensor) -> dict[str, Any]:
    """Each layer has another kind, so that a mixed-up layer is found."""
    made = (Center(), make_pipeline(Standardize(), AllButTheTop(2)), ClusterRemoval(4, 1))
    return {layer: repair.fit(x.numpy()) for layer, repair, x in zip(LAYERS, made, vectors, strict=True)}


def test_each_layer_by_its_own_repair(vectors: torch.Tensor, repairs: dict[str, Any]) -> None:
    plain, found = collect(source()), collect(RepairedSource(source(), repairs))
    assert_array_equal(found.occurrences, plain.occurrences)
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_allclose(found.of_layer(layer), repairs[layer].transform(x.numpy()), rtol=1e-12, atol=1e-12)


def test_one_repair_for_every_layer(vectors: torch.Tensor) -> None:
    repair = Whitening().fit(vectors[1].numpy())
    found = collect(RepairedSource(source(), repair))
    for layer, x in zip(LAYERS, vectors, strict=True):
        assert_allclose(found.of_layer(layer), repair.transform(x.numpy()), rtol=1e-12, atol=1e-12)


def test_kept_vectors_too(tmp_path: Path, repairs: dict[str, Any]) -> None:
    lb.encode(OwnEncoder(), MADE, out=tmp_path / "kept", keep="float32")
    kept: Source = open_source(vectors=tmp_path / "kept")
    plain, found = collect(kept), collect(RepairedSource(kept, repairs))
    for place, layer in enumerate(LAYERS):
        wanted = repairs[layer].transform(plain.vectors[place].numpy())
        assert_allclose(found.vectors[place], wanted, rtol=1e-5, atol=1e-5)


def test_it_tells_of_the_repair(repairs: dict[str, Any]) -> None:
    plain, repaired = source(), RepairedSource(source(), repairs)
    assert repaired.name == "own + center, standardize + all-but-the-top, cluster"
    assert RepairedSource(source(), repairs["low"]).name == "own + center"
    other = repairs | {"low": Center().fit(np.ones((2, DIM)))}
    prints = [s.fingerprint for s in (plain, repaired, RepairedSource(plain, other))]
    assert len(set(prints)) == 3
    assert RepairedSource(source(), repairs).fingerprint == repaired.fingerprint
    told: Any = repaired.describe()
    assert told["encoder"] == "own"
    assert told["repairs"]["high"]["steps"][0]["params"]["n_clusters"] == 4
    assert repaired.corpus is repaired.source.corpus  # type: ignore[attr-defined]


def test_what_does_not_fit_is_refused(repairs: dict[str, Any]) -> None:
    with raises(InputError, code="incomplete", parameter="layers"):
        RepairedSource(source(), {"low": repairs["low"]})
    with raises(InputError, code="other_dimensions", says="has 6"):
        RepairedSource(source(), repairs | {"middle": Center().fit(np.eye(3))})
    with raises(LimbeckError, code="wrong_type", parameter="repair"):
        RepairedSource(source(), "center")
    with pytest.raises(Exception, match="not fitted"):
        RepairedSource(source(), Center())


class Given(Source):
    """A source of given vectors (layers, n, d) in batches of two texts."""

    name, fingerprint, layers, dim = "given", "given", ("a", "b"), 3

    def __init__(self, vectors: torch.Tensor) -> None:
        self.vectors = vectors

    def describe(self) -> dict[str, object]:
        return {}

    def survey(self, *, workers: Any) -> Iterator[Any]:
        from limbeck.stream.plan import surveyed

        n = self.vectors.shape[1]
        yield surveyed(
            [f"w{i}" for i in range(n)], np.arange(n), contents={i: i for i in range(n)},
            documents=np.array([0]), document_units=np.array([n]), sentences=n,
        )  # fmt: skip

    def read(self, plan: Any, *, start: int, workers: Any, seed: int) -> Iterator[Any]:
        from limbeck.stream.tasks import ShardEnd

        n = self.vectors.shape[1]
        for begin in range(0, n, 2):
            ids = np.arange(begin, min(begin + 2, n))
            yield Encoded(self.vectors[:, ids], ids, ids, ids, ids.astype(np.uint64), [f"w{i}" for i in ids])
        yield ShardEnd(plan.shards[0], {"too short": 1})


def test_vectors_of_which_nothing_is_left_are_counted() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 7, 3, generator=generator, dtype=torch.float64)
    x[1, 3] = 100.0  # a cluster of its own in the second layer
    repairs = {"a": Center().fit(x[0].numpy()), "b": ClusterRemoval(2, 0).fit(x[1].numpy())}
    repaired = RepairedSource(Given(x), repairs)
    found = collect(repaired)
    assert found.strings == ["w0", "w1", "w2", "w4", "w5", "w6"]
    assert_allclose(found.vectors[0], repairs["a"].transform(x[0].numpy())[[0, 1, 2, 4, 5, 6]])
    assert found.dropped == {"too short": 1, LOST: 1}
    assert collect(RepairedSource(repaired, Center().fit(np.ones((1, 3))))).dropped == {"too short": 1, LOST: 1}


def test_a_zero_vector_of_the_model_is_no_vector_of_the_repair() -> None:
    """Centering would hide it."""
    x = torch.ones(2, 4, 3)
    x[0, 2] = 0.0
    with raises(LimbeckError, code="not_finite", says="'w2'"):
        run_pass(RepairedSource(Given(x), Center().fit(np.full((1, 3), 0.5))), [])


# --- folders ----------------------------------------------------------------------------------


def test_folder_and_back(tmp_path: Path, vectors: torch.Tensor, repairs: dict[str, Any]) -> None:
    odd = {"low/1 ü": repairs["low"], "middle": repairs["middle"]}
    save_repairs(tmp_path / "run" / "repairs", odd, about={"model": "own"})
    for folder in (tmp_path / "run", tmp_path / "run" / "repairs"):
        found = lb.repairs.load_repairs(folder, model="own")
        assert found.keys() == odd.keys()
        for layer, repair in odd.items():
            assert_array_equal(found[layer].transform(vectors[0].numpy()), repair.transform(vectors[0].numpy()))
    alone = lb.repairs.load_repairs(tmp_path / "run" / "repairs" / "middle.safetensors", model="own")
    assert alone.keys() == {"middle"}  # the file says of which layer it is, and is for no other
    assert_array_equal(alone["middle"].transform(vectors[1].numpy()), repairs["middle"].transform(vectors[1].numpy()))


def test_a_model_is_known_by_its_weights_where_they_are_known(tmp_path: Path, repairs: dict[str, Any]) -> None:
    save_repairs(tmp_path / "own", repairs, about={"model": "own", "model_fingerprint": "abc"})
    assert lb.repairs.load_repairs(tmp_path / "own", model="renamed", model_fingerprint="abc").keys() == repairs.keys()
    assert lb.repairs.load_repairs(tmp_path / "own", model="own").keys() == repairs.keys()
    with raises(InputError, code="other_model"):
        lb.repairs.load_repairs(tmp_path / "own", model="own", model_fingerprint="def")
    with raises(InputError, code="other_model"):
        lb.repairs.load_repairs(tmp_path / "own", model="other")


def test_a_repair_of_one_file_of_vectors_is_not_for_another_of_its_name(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(30)]
    rng = np.random.default_rng(0)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        lb.StaticVectors(words, rng.normal(size=(30, 4)) + 1).save(tmp_path / folder / "v.txt", "glove")
    run = lb.repair(tmp_path / "one" / "v.txt", method="center", out=tmp_path / "run", figures=False)
    assert run.n == 30
    text = [words[:10], words[10:20], words[20:]]
    settings = {"min_contexts": 1}
    lb.measure(tmp_path / "one" / "v.txt", text, repair=tmp_path / "run", **settings)
    for other in (tmp_path / "two" / "v.txt", tmp_path / "run" / "vectors" / "v.txt"):  # the second would be twice
        with raises(InputError, code="other_model"):
            lb.measure(other, text, repair=tmp_path / "run", **settings)


def test_folders_that_cannot_be_used(tmp_path: Path, repairs: dict[str, Any]) -> None:
    save_repairs(tmp_path / "own", repairs, about={"model": "own"})
    with raises(InputError, code="other_model"):
        lb.repairs.load_repairs(tmp_path / "own", model="other")
    with raises(InputError, code="other_model"):
        lb.repairs.load_repairs(tmp_path / "own" / "low.safetensors", model="other")
    with raises(InputError, code="not_found", parameter="repair"):
        lb.repairs.load_repairs(tmp_path / "nowhere")
    (tmp_path / "bare").mkdir()
    lb.repairs.save(repairs["low"], tmp_path / "bare" / "low.safetensors")
    with raises(InputError, code="ambiguous", parameter="layer"):
        lb.repairs.load_repairs(tmp_path / "bare")
    assert lb.repairs.load_repairs(tmp_path / "bare" / "low.safetensors", model="other") is not None


def test_measure_and_encode_take_a_repair(tmp_path: Path, vectors: torch.Tensor, repairs: dict[str, Any]) -> None:
    save_repairs(tmp_path / "repairs", repairs, about={"model": "own"})
    settings = {"min_contexts": 2}
    run = lb.measure(OwnEncoder(), MADE, repair=tmp_path / "repairs", **settings)
    assert run.name.startswith("own + ")
    lb.encode(OwnEncoder(), MADE, repair=repairs, out=tmp_path / "kept", keep="float32")
    again = lb.measure(vectors=tmp_path / "kept", **settings)
    texts = collect(source(), deduplicate=True)
    for place, layer in enumerate(LAYERS):
        wanted = lb.measures.isoscore(repairs[layer].transform(texts.vectors[place].numpy())).value
        assert run["isoscore"].value[place] == pytest.approx(wanted, rel=1e-9)
        assert again["isoscore"].value[place] == pytest.approx(wanted, rel=1e-4)
