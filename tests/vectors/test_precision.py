"""Vectors in float16 and int8: how far off they may be, and that ranks stay."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from refusals import raises
from safetensors import safe_open
from safetensors.numpy import load_file
from scipy.stats import spearmanr

from limbeck.errors import InputError, UsageError
from limbeck.vectors import StaticVectors
from limbeck.vectors.precision import Tensor, write_tensors

NAMES = ["v", "v.npz", "v.safetensors"]


def made(count: int = 5000, dim: int = 40) -> StaticVectors:
    rng = np.random.default_rng(3)
    # rows of very different lengths: one scale for all would leave the short ones with no steps
    lengths = 10.0 ** rng.uniform(-3, 3, size=(count, 1))
    return StaticVectors([f"w{i}" for i in range(count)], rng.normal(size=(count, dim)) * lengths)


@pytest.mark.parametrize("name", NAMES)
def test_int8_is_off_by_at_most_half_a_step_of_the_row(tmp_path: Path, name: str) -> None:
    vectors = made()
    vectors.save(tmp_path / name, dtype="int8")
    again = StaticVectors.load(tmp_path / name)
    assert again.matrix.dtype == np.float32
    step = np.abs(vectors.matrix).max(axis=1, keepdims=True) / 127
    off = np.abs(again.matrix - vectors.matrix) / step
    assert off.max() <= 0.5 + 1e-4
    assert off.max() > 0.4  # it was int8


@pytest.mark.parametrize("name", NAMES)
def test_float16_is_off_by_its_rounding(tmp_path: Path, name: str) -> None:
    vectors = made()
    vectors.save(tmp_path / name, dtype="float16")
    again = StaticVectors.load(tmp_path / name)
    off = np.abs(again.matrix - vectors.matrix)
    assert (off <= np.maximum(np.abs(vectors.matrix) * 2.0**-11, 2.0**-25)).all()
    assert off.any()


@pytest.mark.parametrize(("dtype", "least"), [("float16", 0.999999), ("int8", 0.9995)])
def test_cosines_keep_their_ranks(tmp_path: Path, dtype: str, least: float) -> None:
    vectors = made(400)
    vectors.save(tmp_path / "v", dtype=dtype)
    again = StaticVectors.load(tmp_path / "v")
    pairs = np.triu_indices(400, 1)
    before, after = ((one.unit @ one.unit.T)[pairs] for one in (vectors, again))
    assert spearmanr(before, after).statistic > least
    nearest_before, nearest_after = (one.nearest(one.matrix, k=2)[0][:, 1] for one in (vectors, again))
    assert (nearest_before == nearest_after).mean() > 0.97


@pytest.mark.parametrize("name", NAMES)
def test_files_are_smaller_by_as_much(tmp_path: Path, name: str) -> None:
    sizes = {}
    for dtype in ("float32", "float16", "int8"):
        place = tmp_path / dtype / name
        place.parent.mkdir()
        made().save(place, dtype=dtype)
        files = place.rglob("*.safetensors") if place.is_dir() else [place]
        sizes[dtype] = sum(file.stat().st_size for file in files)
    numbers = 5000 * 40
    assert abs(sizes["float32"] - sizes["float16"] - 2 * numbers) < 2000
    assert abs(sizes["float32"] - sizes["int8"] - 3 * numbers + 4 * 5000) < 2000  # but for a scale a word


@pytest.mark.parametrize("dtype", ["float16", "int8"])
def test_zeros_stay_zeros(tmp_path: Path, dtype: str) -> None:
    StaticVectors(["a", "zero"], [[1, -2], [0, 0]]).save(tmp_path / "v", dtype=dtype)
    assert StaticVectors.load(tmp_path / "v")["zero"].tolist() == [0, 0]


def test_model2vecs_own_int8_has_no_scale(tmp_path: Path) -> None:
    from model2vec import StaticModel

    made(50).save(tmp_path / "v")
    StaticModel.from_pretrained(tmp_path / "v", quantize_to="int8").save_pretrained(tmp_path / "theirs")
    again = StaticVectors.load(tmp_path / "theirs")
    assert np.abs(again.matrix).max() == 127  # whole numbers: what a step was worth is not in the file


def test_what_cannot_be_held(tmp_path: Path) -> None:
    with raises(InputError, code="out_of_range", parameter="dtype", says="'big'"):
        StaticVectors(["fine", "big"], [[1.0], [7e4]]).save(tmp_path / "v", dtype="float16")
    with raises(UsageError, code="unsupported", parameter="dtype"):
        made(3).save(tmp_path / "v.bin", dtype="int8")
    with raises(UsageError, code="unknown_choice", parameter="dtype", says="'float16'"):
        made(3).save(tmp_path / "v", dtype="float15")
    assert list(tmp_path.iterdir()) == []


def test_safetensors_written_piece_by_piece_are_safetensors(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    halves = rng.normal(size=(10, 3)).astype(np.float16)
    arrays = {"b": rng.integers(0, 200, 7).astype(np.uint8), "o": np.arange(5), "none": np.zeros((0, 4), np.float32)}
    tensors = {name: Tensor.of(array) for name, array in arrays.items()}
    tensors["h"] = Tensor("float16", halves.shape, lambda: iter([halves[:4], halves[4:]]))
    with open(tmp_path / "t.safetensors", "wb") as file:
        write_tensors(file, tensors)
    read = load_file(tmp_path / "t.safetensors")  # checks that there are neither holes nor overlaps
    for name, array in {**arrays, "h": halves}.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)
    header = (tmp_path / "t.safetensors").read_bytes()
    length = int.from_bytes(header[:8], "little")
    assert (8 + length) % 8 == 0
    assert set(json.loads(header[8 : 8 + length])) == set(read)
    with safe_open(tmp_path / "t.safetensors", "pt") as opened:
        assert opened.get_tensor("h").shape == (10, 3)
