"""Binary formats from bytes written by hand after their published descriptions."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError
from limbeck.vectors import StaticVectors
from limbeck.vectors.gather import BEHIND_LAST, BEYOND_HEADER, NOT_UTF8
from limbeck.vectors.word2vec import read_word2vec_binary

# word2vec: word, blank, numbers; the original tool ends a vector with a newline, gensim does not


def word2vec_bytes(
    records: list[tuple[bytes, list[float]]], dim: int, *, newline: bytes, count: int | None = None
) -> bytes:
    data = b"%d %d\n" % (len(records) if count is None else count, dim)
    for word, numbers in records:
        data += word + b" " + struct.pack(f"<{dim}f", *numbers) + newline
    return data


RECORDS = [(b"the", [1.0, 0.5]), ("日本".encode(), [-2.0, 0.25]), (b"in", [10.0, 32.0])]


@pytest.mark.parametrize("newline", [b"", b"\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_word2vec_binary(tmp_path: Path, newline: bytes, packed: bool) -> None:
    path = tmp_path / "v"
    data = word2vec_bytes(RECORDS, 2, newline=newline)
    path.write_bytes(gzip.compress(data) if packed else data)
    vectors = StaticVectors.load(path)
    assert vectors.words == ["the", "日本", "in"]
    assert vectors.matrix.tolist() == [[1.0, 0.5], [-2.0, 0.25], [10.0, 32.0]]


def test_numbers_whose_bytes_are_blanks_and_newlines(tmp_path: Path) -> None:
    blank = struct.unpack("<f", b"    ")[0]
    newline = struct.unpack("<f", b"\n\n\n\n")[0]
    path = tmp_path / "v"
    path.write_bytes(word2vec_bytes([(b"a", [blank, newline]), (b"b", [newline, blank])], 2, newline=b"\n"))
    assert StaticVectors.load(path).matrix.tolist() == [[blank, newline], [newline, blank]]


@pytest.mark.parametrize("block", [1, 5, 1 << 20])
def test_blocks_do_not_matter(tmp_path: Path, block: int) -> None:
    path = tmp_path / "v"
    path.write_bytes(word2vec_bytes(RECORDS, 2, newline=b"\n"))
    with open(path, "rb") as stream:
        assert read_word2vec_binary(stream, path, block=block).words == ["the", "日本", "in"]


def test_word2vec_binary_words_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "v"
    path.write_bytes(word2vec_bytes([(b"a\xff", [1.0, 2.0]), (b"b", [3.0, 4.0]), (b"b", [5.0, 6.0])], 2, newline=b""))
    vectors = StaticVectors.load(path)
    assert vectors.words == ["a\ufffd", "b"]
    assert vectors.notes[NOT_UTF8] == 1
    assert vectors.duplicates == 1


def test_truncated_word2vec_binary(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    path.write_bytes(word2vec_bytes(RECORDS, 2, newline=b"\n")[:-4])
    with raises(InputError, code="damaged", says=("v.bin: word 3:", "(limit=2)")):
        StaticVectors.load(path)
    assert len(StaticVectors.load(path, limit=2)) == 2


def test_word2vec_binary_header_that_promises_too_few(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    path.write_bytes(word2vec_bytes(RECORDS, 2, newline=b"\n", count=1) + b"xyz")
    vectors = StaticVectors.load(path)
    assert len(vectors) == 3
    assert vectors.notes == {BEYOND_HEADER: 2, BEHIND_LAST: 3}


def test_word2vec_binary_with_nan(tmp_path: Path) -> None:
    path = tmp_path / "v.bin"
    path.write_bytes(word2vec_bytes([*RECORDS, (b"bad", [float("nan"), 1.0])], 2, newline=b"\n"))
    with raises(InputError, code="not_finite", says=("'bad'", "word 4", "v.bin", "dimension 0")):
        StaticVectors.load(path)


# fastText


def fnv(data: bytes) -> int:
    """FNV-1a as fastText has it: bytes are signed chars."""
    h = 2166136261
    for byte in data:
        h ^= (byte - 256 if byte > 127 else byte) & 0xFFFFFFFF
        h = (h * 16777619) & 0xFFFFFFFF
    return h


def ngrams(word: str, minn: int, maxn: int) -> list[str]:
    """All runs of minn to maxn characters of "<word>"; the marks alone are none."""
    marked = f"<{word}>"
    found = []
    for start in range(len(marked)):
        for length in range(minn, maxn + 1):
            piece = marked[start : start + length]
            if len(piece) == length and piece not in ("<", ">"):
                found.append(piece)
    return found


def fasttext_bytes(
    words: list[str],
    matrix: np.ndarray,
    *,
    minn: int,
    maxn: int,
    bucket: int,
    version: int = 12,
    labels: int = 0,
    model: int = 2,
    quantized: bool = False,
) -> bytes:
    dim = matrix.shape[1]
    data = struct.pack("<ii", 793712314, version)
    data += struct.pack("<12id", dim, 5, 5, 1, 5, 1, 2, model, bucket, minn, maxn, 100, 1e-4)
    data += struct.pack("<iiiqq", len(words) + labels, len(words), labels, 1000, -1)
    for word in words:
        data += word.encode() + b"\0" + struct.pack("<qb", 10, 0)
    for label in range(labels):
        data += f"__label__{label}".encode() + b"\0" + struct.pack("<qb", 3, 1)
    data += struct.pack("<?qq", quantized, *matrix.shape) + matrix.astype("<f4").tobytes()
    data += struct.pack("<?qq", False, len(words), dim) + np.zeros((len(words), dim), "<f4").tobytes()
    return data


WORDS = ["</s>", "the", "naïve", "日本語", "a", "😀x", "word"]


@pytest.mark.parametrize(("minn", "maxn"), [(3, 6), (1, 2), (2, 2), (0, 0), (5, 5)])
@pytest.mark.parametrize("packed", [False, True])
def test_fasttext_binary(tmp_path: Path, minn: int, maxn: int, packed: bool) -> None:
    bucket = 50
    matrix = np.random.default_rng(0).normal(size=(len(WORDS) + bucket, 4)).astype(np.float32)
    data = fasttext_bytes(WORDS, matrix, minn=minn, maxn=maxn, bucket=bucket, labels=2)
    path = tmp_path / "m.bin"
    path.write_bytes(gzip.compress(data) if packed else data)
    vectors = StaticVectors.load(path)
    assert vectors.words == WORDS
    for row, word in enumerate(WORDS):
        pieces = ngrams(word, minn, maxn) if maxn and word != "</s>" else []
        rows = [row] + [len(WORDS) + fnv(piece.encode()) % bucket for piece in pieces]
        assert np.allclose(vectors[word], matrix[rows].mean(axis=0), atol=1e-6), word
    assert StaticVectors.load(path, limit=3).words == WORDS[:3]


def test_published_hash() -> None:
    """The offset basis and first values of 32-bit FNV-1a, from its authors' test vectors."""
    assert (fnv(b""), fnv(b"a"), fnv(b"foobar")) == (0x811C9DC5, 0xE40C292C, 0xBF9CF968)


def test_old_supervised_fasttext_has_no_ngrams(tmp_path: Path) -> None:
    matrix = np.arange(24, dtype=np.float32).reshape(12, 2)
    data = fasttext_bytes(["ab", "cd"], matrix, minn=1, maxn=3, bucket=10, version=11, model=3)
    (tmp_path / "m.bin").write_bytes(data)
    assert StaticVectors.load(tmp_path / "m.bin").matrix.tolist() == [[0, 1], [2, 3]]


@pytest.mark.parametrize(
    ("change", "code", "datum"),
    [
        (lambda data: data[:200], "damaged", ""),
        (lambda data: data[:20], "damaged", "20"),
        (lambda data: data[:64] + b"\xff" * 4 + data[68:], "damaged", ""),
        (lambda data: data[:4] + struct.pack("<i", 99) + data[8:], "other_format", "99"),
    ],
)
def test_damaged_fasttext(tmp_path: Path, change: object, code, datum: str) -> None:
    matrix = np.ones((17, 4), dtype=np.float32)
    data = fasttext_bytes(WORDS, matrix, minn=3, maxn=4, bucket=10)
    (tmp_path / "m.bin").write_bytes(change(data))  # type: ignore[operator]
    with raises(InputError, code=code, says=("m.bin:", datum)):
        StaticVectors.load(tmp_path / "m.bin")


def test_quantized_fasttext_is_refused(tmp_path: Path) -> None:
    data = fasttext_bytes(["a"], np.ones((11, 2)), minn=3, maxn=4, bucket=10, quantized=True)
    (tmp_path / "m.ftz").write_bytes(data)
    with raises(InputError, code="unsupported"):
        StaticVectors.load(tmp_path / "m.ftz")


def test_not_fasttext(tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(b"\0" * 100)
    with raises(InputError, code="other_kind", says=("793712314", "got 0")):
        StaticVectors.load(tmp_path / "m.bin", "fasttext-binary")
    with raises(InputError, code="other_kind"):
        StaticVectors.load(tmp_path / "m.bin")


def test_files_without_a_reader_are_told_what_to_save_instead(tmp_path: Path) -> None:
    """And what is told to be saved is read."""
    keyed = pytest.importorskip("gensim.models").KeyedVectors(3)
    words, matrix = ["tea", "night"], np.arange(6, dtype=np.float32).reshape(2, 3)
    keyed.add_vectors(words, matrix)
    keyed.save(str(tmp_path / "v.kv"))
    np.save(tmp_path / "v.npy", matrix)
    with raises(InputError, code="unsupported"):
        StaticVectors.load(tmp_path / "v.kv")
    with raises(InputError, code="incomplete", parameter="words", says=("v.npy", "v.txt")):
        StaticVectors.load(tmp_path / "v.npy")
    keyed.save_word2vec_format(str(tmp_path / "v.bin"), binary=True)
    np.savez(tmp_path / "v.npz", words=words, vectors=matrix)
    for name in ("v.bin", "v.npz"):
        again = StaticVectors.load(tmp_path / name)
        assert again.words == words
        assert np.array_equal(again.matrix, matrix)


def test_an_array_has_its_words_beside_it(tmp_path: Path) -> None:
    matrix = np.random.default_rng(0).normal(size=(3, 4))
    words = ["tea", "machine learning", "10"]
    for dtype in ("<f2", ">f4", "<f8"):
        for order in "CF":
            np.save(tmp_path / "v.npy", np.asarray(matrix.astype(dtype), order=order))
            (tmp_path / "v.txt").write_bytes("\ufefftea\r\nmachine learning\r\n10\r\n".encode())
            vectors = StaticVectors.load(tmp_path / "v.npy")
            assert vectors.words == words
            assert np.array_equal(vectors.matrix, matrix.astype(dtype).astype(np.float32))
    (tmp_path / "v.txt").write_text("tea\nnight\n")
    with raises(InputError, code="wrong_shape", says="v.npy"):
        StaticVectors.load(tmp_path / "v.npy")


def test_vectors_in_text_form_beside_an_array_are_not_its_words(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.eye(2))
    for rows in ("tea 1 0\nnight 0 1\n", "2 2\ntea 1 0\n"):  # as many lines as rows
        (tmp_path / "v.txt").write_text(rows)
        with raises(InputError, code="incomplete", parameter="words"):
            StaticVectors.load(tmp_path / "v.npy")
    (tmp_path / "vocab.txt").write_text("tea\nnight\n")
    assert StaticVectors.load(tmp_path / "v.npy").words == ["tea", "night"]


def test_an_array_of_objects_or_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("tea\nnight\n")
    np.save(tmp_path / "v.npy", np.array([{}, 1]), allow_pickle=True)
    with raises(InputError, code="damaged"):
        StaticVectors.load(tmp_path / "v.npy")
    np.save(tmp_path / "v.npy", np.eye(2))
    (tmp_path / "v.npy").write_bytes((tmp_path / "v.npy").read_bytes()[:-8])
    with raises(InputError, code="damaged", says="v.npy"):
        StaticVectors.load(tmp_path / "v.npy")
