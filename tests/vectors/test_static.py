"""StaticVectors: look-up, missing words, neighbours, and every format there and back."""

from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, UnknownName, UsageError
from limbeck.vectors import StaticVectors

ODD = ["the", "don't", "naïve", "日本語", "a\u00a0b", "x\u2028y", "z\x85w", "#", '"quoted', "3.14", "-", "😀"]


def made(words: list[str], dim: int = 7, seed: int = 0) -> StaticVectors:
    rng = np.random.default_rng(seed)
    # numbers over many powers of ten, so that formatting with too few digits shows
    matrix = rng.normal(size=(len(words), dim)) * 10.0 ** rng.integers(-12, 12, size=(len(words), dim))
    return StaticVectors(words, matrix.astype(np.float32))


def same(one: StaticVectors, other: StaticVectors) -> None:
    assert one.words == other.words
    assert one.matrix.dtype == other.matrix.dtype == np.float32
    assert np.array_equal(one.matrix, other.matrix)


@pytest.mark.parametrize(
    "name",
    [
        "v.txt",
        "v.vec",
        "v.glove",
        "v.bin",
        "v.npz",
        "v.safetensors",
        "folder",
        "v.txt.gz",
        "v.glove.bz2",
        "v.vec.xz",
        "v.txt.zst",
        "v.bin.gz",
    ],
)
def test_round_trip(tmp_path: Path, name: str) -> None:
    vectors = made(ODD)
    vectors.save(tmp_path / name)
    same(StaticVectors.load(tmp_path / name), vectors)
    limited = StaticVectors.load(tmp_path / name, limit=5)
    assert limited.words == ODD[:5]
    assert np.array_equal(limited.matrix, vectors.matrix[:5])
    assert [path.name for path in tmp_path.iterdir()] == [name]  # no temporary file is left


@pytest.mark.parametrize("format", ["word2vec", "glove", "npz", "safetensors"])
def test_words_with_blanks(tmp_path: Path, format: str) -> None:
    vectors = made([". . .", "at name@domain.com", "windows 95", " leading", "plain", ""], dim=3)
    vectors.save(tmp_path / "file", format)
    same(StaticVectors.load(tmp_path / "file"), vectors)


@pytest.mark.parametrize("format", ["npz", "safetensors"])
def test_any_word_in_array_formats(tmp_path: Path, format: str) -> None:
    vectors = made(["line\nbreak", "nul\0inside", "nul at end\0", "word 0.5", "\ud800"], dim=2)
    vectors.save(tmp_path / "file", format)
    same(StaticVectors.load(tmp_path / "file"), vectors)


@pytest.mark.parametrize(
    ("word", "format"),
    [("a\nb", "word2vec"), ("word 0.5", "glove"), ("a b", "word2vec-binary"), ("", "word2vec-binary")],
)
def test_words_that_a_format_cannot_hold(tmp_path: Path, word: str, format: str) -> None:
    with raises(InputError, code="unsupported", parameter="format"):
        made(["fine", word]).save(tmp_path / "file", format)
    assert list(tmp_path.iterdir()) == []


def test_compressed_files_of_other_programs(tmp_path: Path) -> None:
    text = b"a 1 2\nb 3 4\n"
    for name, data in {"g": gzip.compress(text), "b": bz2.compress(text), "x": lzma.compress(text)}.items():
        (tmp_path / name).write_bytes(data)  # told apart by content: the names say nothing
        assert StaticVectors.load(tmp_path / name)["b"].tolist() == [3, 4]


def test_cut_off_gzip_is_told(tmp_path: Path) -> None:
    made([f"w{i}" for i in range(2000)]).save(tmp_path / "v.txt.gz")
    whole = (tmp_path / "v.txt.gz").read_bytes()
    (tmp_path / "v.txt.gz").write_bytes(whole[: len(whole) // 2])
    with raises(InputError, code="damaged", says="v.txt"):
        StaticVectors.load(tmp_path / "v.txt.gz")


def test_lookup() -> None:
    vectors = StaticVectors(["a", "b", "c"], [[1, 0], [0, 2], [3, 3]])
    assert (len(vectors), vectors.dim, vectors.index("c")) == (3, 2, 2)
    assert "a" in vectors
    assert "d" not in vectors
    assert vectors["b"].tolist() == [0, 2]
    with raises(UnknownName, code="unknown_choice", says="'d'") as missed:
        vectors["d"]
    assert isinstance(missed.value, KeyError)
    assert vectors.vectors(["c", "d", "a"], missing="drop").tolist() == [[3, 3], [1, 0]]
    assert vectors.vectors(["c", "d"], missing="zero").tolist() == [[3, 3], [0, 0]]
    assert np.allclose(vectors.vectors(["d"], missing="mean"), [[4 / 3, 5 / 3]])
    assert vectors.vectors([], missing="drop").shape == (0, 2)
    with raises(InputError, code="incomplete", parameter="missing", says="'d'"):
        vectors.vectors(["a", "d"])
    with raises(UsageError, code="unknown_choice", parameter="missing", says="'zero'"):
        vectors.vectors(["a"], missing="zeros")  # type: ignore[arg-type]


def test_matrix_is_read_only_and_the_callers_is_not() -> None:
    mine = np.ones((1, 2), dtype=np.float32)
    vectors = StaticVectors(["a"], mine)
    with pytest.raises(ValueError, match="read-only"):
        vectors.matrix[0, 0] = 5
    mine[0, 0] = 7  # still writable
    rows = vectors.vectors(["a"])
    rows[0, 1] = 9  # a copy
    assert vectors["a"][1] == 1


def test_most_similar_against_brute_force() -> None:
    vectors = StaticVectors([f"w{i}" for i in range(200)], np.random.default_rng(1).normal(size=(200, 5)))
    x = vectors.matrix.astype(np.float64)
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    expected = sorted(((float(unit[3] @ unit[i]), f"w{i}") for i in range(200) if i != 3), reverse=True)[:10]
    found = vectors.most_similar("w3", 10)
    assert [word for word, _ in found] == [word for _, word in expected]
    assert np.allclose([cosine for _, cosine in found], [cosine for cosine, _ in expected], atol=1e-6)


def test_most_similar_leaves_zero_vectors_out() -> None:
    vectors = StaticVectors(["a", "zero", "b"], [[1, 0], [0, 0], [1, 1]])
    assert [word for word, _ in vectors.most_similar("a", 10)] == ["b"]
    assert vectors.most_similar("zero", 3) == []


@pytest.mark.parametrize(
    ("words", "matrix", "code", "datum"),
    [
        (["a", "a"], [[1], [2]], "twice", "'a'"),
        (["a"], [[1], [2]], "wrong_shape", ""),
        (["a"], [1.0], "wrong_shape", ""),
        (["a", "b"], [[1], [np.nan]], "not_finite", "'b'"),
    ],
)
def test_refused(words: list[str], matrix: list[object], code, datum: str) -> None:
    with raises(InputError, code=code, parameter=None, says=datum):
        StaticVectors(words, matrix)


def test_unknown_names(tmp_path: Path) -> None:
    with raises(UsageError, code="unknown_choice", parameter="format", says="'glove'"):
        StaticVectors.load(tmp_path, "glov")
    with raises(UsageError, code="unknown_choice", parameter="format"):
        made(["a"]).save(tmp_path / "v.docx")
    with raises(InputError, code="not_found"):
        StaticVectors.load(tmp_path / "nowhere.txt")
    with raises(UsageError, code="out_of_range", parameter="limit"):
        StaticVectors.load(tmp_path, limit=0)


def test_a_string_is_no_list_of_words() -> None:
    """Its letters would be as many words."""
    with raises(UsageError, code="wrong_type", parameter="words", says="'tea'"):
        StaticVectors("tea", np.eye(3))
