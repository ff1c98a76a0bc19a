"""Text formats: hand-written lines, odd words, damage that is named by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, MissingExtra
from limbeck.vectors import StaticVectors, text
from limbeck.vectors.gather import BEYOND_HEADER, NOT_UTF8


def load(tmp_path: Path, data: bytes, **options: object) -> StaticVectors:
    path = tmp_path / "v.txt"
    path.write_bytes(data)
    return StaticVectors.load(path, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "data",
    [
        b"the 0.5 -1e-3\nof 2 3.25\n",  # GloVe
        b"2 2\nthe 0.5 -0.001\nof 2 3.25\n",  # word2vec
        b"2 2\nthe 0.5 -0.001 \nof 2 3.25 \n",  # word2vec's own tool and fastText: a blank at the end
        b"2 2\r\nthe 0.5 -0.001\r\nof 2 3.25\r\n",
        b"\xef\xbb\xbf2 2\nthe 0.5 -0.001\nof 2 3.25",  # byte order mark, no last newline
        b"the +0.5 -1E-3\n\nof 2. 3.25\n\n",
    ],
)
def test_hand_written(tmp_path: Path, data: bytes) -> None:
    vectors = load(tmp_path, data)
    assert vectors.words == ["the", "of"]
    assert np.array_equal(vectors.matrix, np.array([[0.5, -0.001], [2, 3.25]], dtype=np.float32))


def test_every_kind_of_blank_and_line_in_a_word(tmp_path: Path) -> None:
    words = ["\u00a0", "a\u00a0b", "\u2028", "\x85", "\u3000", "\x0b", "a\x1cb", ". . .", "at x@y.z", "a\rb"]
    data = "".join(f"{word} {row} 0.5\n" for row, word in enumerate(words)).encode()
    vectors = load(tmp_path, data)
    assert vectors.words == words
    assert vectors.matrix[:, 0].tolist() == list(range(len(words)))


def test_a_word_with_blanks_on_the_first_line(tmp_path: Path) -> None:
    assert load(tmp_path, b". . . 1 2\na 3 4\nb 5 6\n").words == [". . .", "a", "b"]


def test_duplicates_first_wins_and_is_counted(tmp_path: Path) -> None:
    vectors = load(tmp_path, b"a 1 2\nb 3 4\na 5 6\nb 7 8\na 9 9\n")
    assert vectors.words == ["a", "b"]
    assert vectors["a"].tolist() == [1, 2]
    assert vectors.duplicates == 3


def test_limit_counts_different_words(tmp_path: Path) -> None:
    vectors = load(tmp_path, b"9 1\na 1\na 2\nb 3\nc broken\n", limit=2)  # what comes after is not looked at
    assert vectors.words == ["a", "b"]
    assert vectors.duplicates == 1


def test_invalid_utf8_is_replaced_and_counted(tmp_path: Path) -> None:
    vectors = load(tmp_path, b"caf\xe9 1 2\nok 3 4\n")
    assert vectors.words == ["caf\ufffd", "ok"]
    assert vectors.notes[NOT_UTF8] == 1


@pytest.mark.parametrize(
    ("data", "line", "code", "datum"),
    [
        (b"a 1 2 3\nb 1 2\nc 1 2 3\n", 2, "malformed", "got 2"),
        (b"a 1 2 3\nb 1 2 3\nc 0.5 1.5 2.5 3.5\n", 3, "malformed", "got 4"),
        (b"3 2\na 1 2\nb 1 2\nc 1\n", 4, "malformed", "'c'"),
        (b"a 1 2\n\nb 1 x\n", 3, "malformed", "dimension 1"),
        (b"a 1 2\nb 1  2\nc 3 4\n", 2, "malformed", "dimension 0"),
        (b"a 1 2\nb nan 2\n", 2, "not_finite", "dimension 0"),
        (b"2 2\na 1 2\nb 1 -inf\n", 3, "not_finite", "dimension 1"),
        (b"a 1 2\nb 1 1e39\n", 2, "not_finite", "'b'"),
        (
            b"3 2\na 1 2\nb 3 4\n",
            3,
            "damaged",
            "after 2",
        ),
        (b"3 2\n", 1, "damaged", "after 0"),
        (b"justoneword\n", 1, "other_kind", ""),
    ],
)
def test_damage_is_named_by_line(tmp_path: Path, data: bytes, line: int, code, datum: str) -> None:
    with raises(InputError, code=code, says=(f"v.txt:{line}:", datum)):
        load(tmp_path, data)


@pytest.mark.parametrize("number", ["1_0", "0x10", "１０", "1d3", "nan", "inf", "-Infinity", "1e400", "1__0", "NULL"])
@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize(("header", "format"), [("", "glove"), ("3 2\n", "word2vec"), ("3 2\n", "fasttext")])
def test_only_finite_decimal_numbers_are_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: str, arrow: bool, header: str, format: str
) -> None:
    if not arrow:
        monkeypatch.setattr(text, "need", refuse_arrow)
    path = tmp_path / "v.vec"
    path.write_text(f"{header}a 1 2\nb {number} 2\nc 1 1\n", encoding="utf-8")
    code = "not_finite" if number in ("nan", "inf", "-Infinity", "1e400") else "malformed"
    with raises(InputError, code=code, says=(f"v.vec:{3 if header else 2}:", "'b'")):
        StaticVectors.load(path, format)


def refuse_arrow(module: str, *, purpose: str) -> None:
    raise MissingExtra(module, code="not_installed")


def test_header_that_promises_too_few(tmp_path: Path) -> None:
    vectors = load(tmp_path, b"1 2\na 1 2\nb 3 4\n")
    assert vectors.words == ["a", "b"]
    assert vectors.notes[BEYOND_HEADER] == 1


def test_header_that_promises_too_many_can_be_limited(tmp_path: Path) -> None:
    assert load(tmp_path, b"999999999999 2\na 1 2\nb 3 4\n", limit=2).words == ["a", "b"]


def test_header_without_dimensions(tmp_path: Path) -> None:
    with raises(InputError, code="out_of_range", says=("v.txt:1:", "1,048,576", "got 0")):
        load(tmp_path, b"3 0\na\nb\nc\n", format="word2vec")


def test_missing_header(tmp_path: Path) -> None:
    with raises(InputError, code="malformed", says=("v.txt:1:", "'a 1 2'", "'glove'")):
        load(tmp_path, b"a 1 2\n", format="word2vec")


@pytest.mark.parametrize("data", [b"", b"\n\n"])
def test_empty_file(tmp_path: Path, data: bytes) -> None:
    with raises(InputError, code="empty"):
        load(tmp_path, data)


@pytest.mark.parametrize("format", ["auto", "word2vec", "word2vec-binary"])
def test_a_file_without_a_word_is_refused(tmp_path: Path, format: str) -> None:
    with raises(InputError, code="no_words", says="v.txt"):
        load(tmp_path, b"0 20\n", format=format)
    np.savez(tmp_path / "v.npz", words=np.array([], dtype="U1"), vectors=np.ones((0, 4), dtype=np.float32))
    with raises(InputError, code="no_words", says="v.npz"):
        StaticVectors.load(tmp_path / "v.npz")


@pytest.mark.parametrize("block", [1, 7, 64, 1 << 20])
def test_blocks_do_not_matter(tmp_path: Path, block: int) -> None:
    path = tmp_path / "v"
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(50, 4)).astype(np.float32)
    words = [f"w {i} \u2028" if i % 7 == 0 else f"w{i}" for i in range(50)]
    StaticVectors(words, matrix).save(path, "word2vec")
    with open(path, "rb") as stream:
        table = text.read_text(stream, path, block=block)
    assert table.words == words
    assert np.array_equal(table.matrix, matrix)


def test_line_numbers_are_right_beyond_the_first_block(tmp_path: Path) -> None:
    path = tmp_path / "v"
    path.write_bytes(b"".join(b"w%d 1 2\n" % i for i in range(100)) + b"bad 1\n")
    with open(path, "rb") as stream, raises(InputError, code="malformed", says=("v:101:", "'bad'")):
        text.read_text(stream, path, block=50)


def test_without_arrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """numpy and Python alone read and write the same."""
    rng = np.random.default_rng(0)
    vectors = StaticVectors(["a", "b c", "d"], rng.normal(size=(3, 5)) * 10.0 ** rng.integers(-30, 30, size=(3, 5)))
    vectors.save(tmp_path / "arrow.txt")
    monkeypatch.setattr(text, "need", refuse_arrow)
    vectors.save(tmp_path / "plain.txt")
    for name in ("arrow.txt", "plain.txt"):
        again = StaticVectors.load(tmp_path / name)
        assert again.words == vectors.words
        assert np.array_equal(again.matrix, vectors.matrix)
    with raises(InputError, code="malformed", says=("v.txt:2:", "'x'")):
        load(tmp_path, b"a 1 2\nb x 1\n")
