"""Arrays without words: measured, repaired and written again as they are, or refused in one line."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.vectors import OccurrenceVectors


@pytest.fixture(scope="module")
def x():
    return np.random.default_rng(0).normal(size=(200, 8)) + 1


def mean_cosine(x):
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    cosines = unit @ unit.T
    return (cosines.sum() - len(x)) / (len(x) ** 2 - len(x))


def test_a_mask_is_not_dropped(x):
    x = np.ma.masked_array(x, mask=np.broadcast_to(np.arange(len(x))[:, None] < 10, x.shape))
    with raises(InputError, code="wrong_type"):
        lb.measure(vectors=x)
    with raises(InputError, code="wrong_type"):
        lb.measure(x)


@pytest.mark.parametrize("dtype", ["<f2", "<f4", "<f8", ">f4"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_is_measured_without_words(tmp_path, x, dtype, order):
    np.save(tmp_path / "e.npy", np.asarray(x.astype(dtype), order=order))
    run = lb.measure(vectors=tmp_path / "e.npy")
    assert run["anisotropy"].value == pytest.approx([mean_cosine(x.astype(dtype).astype(float))], abs=1e-5)
    assert np.isfinite(run["isoscore"].value).all()
    assert np.isfinite(run["log10_isotropy"].value).all()
    assert np.isnan(run["self_similarity"].value).all()
    assert run.name == "e"
    assert run.layers == ("vectors",)


def test_an_array_in_memory_is_the_file_of_it(tmp_path, x):
    np.save(tmp_path / "e.npy", x)
    expected = lb.measure(vectors=tmp_path / "e.npy")["anisotropy"].value
    for given in (x, torch.from_numpy(x), np.asfortranarray(x), OccurrenceVectors.load(tmp_path / "e.npy")):
        assert lb.measure(vectors=given)["anisotropy"].value == expected
    assert lb.measure(x)["anisotropy"].value == expected
    assert lb.measure(np.stack([x, 2 * x])).layers == ("0", "1")


@pytest.mark.parametrize("name", ["arr_0", "embeddings", "vectors", "anything"])
def test_an_npz_may_have_no_words(tmp_path, x, name):
    np.savez(tmp_path / "e.npz", **{name: x})
    assert lb.measure(vectors=tmp_path / "e.npz")["anisotropy"].value == pytest.approx([mean_cosine(x)])


def test_a_mapped_file_is_read_block_by_block(tmp_path, x):
    np.save(tmp_path / "e.npy", np.asfortranarray(x))
    kept = OccurrenceVectors.load(tmp_path / "e.npy")
    assert isinstance(kept.plain._array, np.memmap)
    np.testing.assert_allclose(np.concatenate([block.vectors[0] for block in kept.shard(0)]), x)


@pytest.mark.parametrize(
    "array",
    [np.ones(4), np.ones((2, 2, 2, 2)), np.ones((0, 3)), np.ones((3, 0)), np.arange(6).reshape(2, 3),
     np.array([[1.0, np.nan], [1.0, 2.0]]), np.array([["a", "b"]])],
)  # fmt: skip
def test_what_is_no_table_of_vectors_is_refused(tmp_path, array):
    np.save(tmp_path / "e.npy", array)
    for given in (tmp_path / "e.npy", array):
        with pytest.raises(InputError) as told:
            lb.measure(vectors=given)
        assert "\n" not in str(told.value)


def test_damaged_files_and_pickles_are_refused(tmp_path, x):
    np.save(tmp_path / "e.npy", x)
    whole = (tmp_path / "e.npy").read_bytes()
    for size in (6, 9, 40, 300, len(whole) - 1):
        (tmp_path / "cut.npy").write_bytes(whole[:size])
        with raises(InputError, code="damaged", says="cut.npy"):
            lb.measure(vectors=tmp_path / "cut.npy")
    np.save(tmp_path / "o.npy", np.array([{}, 1]), allow_pickle=True)
    with raises(InputError, code="damaged"):
        lb.measure(vectors=tmp_path / "o.npy")


def test_words_are_asked_for_where_they_are_needed(tmp_path, x, capsys):
    np.save(tmp_path / "e.npy", x)
    with raises(InputError, code="no_words", parameter="words"):
        lb.distill(vectors=tmp_path / "e.npy", method=["average"])
    assert main(["analyze", "frequency", "--vectors", str(tmp_path / "e.npy"), "--out", str(tmp_path / "a")]) != 0
    assert "words=" in capsys.readouterr().err
    with raises(UsageError, code="wrong_type", parameter="vectors"):
        lb.measure(vectors=x.tolist())


@pytest.mark.parametrize(("dtype", "layers"), [("f8", 0), ("f4", 2), ("f2", 0)])
def test_a_repaired_array_is_written(tmp_path, x, dtype, layers):
    array = np.stack([x, 2 * x]).astype(dtype) if layers else x.astype(dtype)
    np.save(tmp_path / "e.npy", array)
    method = "all-but-the-top:n_components=1"
    found = lb.repair(vectors=tmp_path / "e.npy", method=method, out=tmp_path / "out", figures=False)
    made = np.load(tmp_path / "out" / "vectors" / "e.npy")
    assert (made.shape, made.dtype) == (array.shape, array.dtype)
    for one, own in zip(array.reshape(-1, *x.shape).astype(float), made.reshape(-1, *x.shape), strict=True):
        centered = one - one.mean(0)
        first = np.linalg.svd(centered, full_matrices=False)[2][:1]
        np.testing.assert_allclose(own, centered - centered @ first.T @ first, atol=5e-3 if dtype == "f2" else 1e-5)
    assert np.isfinite(found.after["anisotropy"].value).all()


def test_the_command_line(tmp_path, x, capsys):
    np.save(tmp_path / "e.npy", x)
    source = ["--vectors", str(tmp_path / "e.npy"), "--quiet"]
    assert main(["measure", *source, "--out", str(tmp_path / "m"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert "anisotropy" in json.dumps(told)
    assert (tmp_path / "m" / "report.html").is_file()
    assert main(["repair", *source, "--method", "center", "--out", str(tmp_path / "r")]) == 0
    np.testing.assert_allclose(np.load(tmp_path / "r" / "vectors" / "e.npy").mean(0), 0, atol=1e-12)
    assert json.loads((tmp_path / "r" / "run.json").read_text())["vectors"] == str(Path("vectors/e.npy"))
    assert main(["measure", *source, "--repair", str(tmp_path / "r"), "--out", str(tmp_path / "again")]) == 0


def test_zero_vectors_are_refused(tmp_path):
    with raises(LimbeckError, code="not_finite"):
        lb.measure(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]]))
