"""Compressed, damaged and wrongly encoded files."""

from __future__ import annotations

import bz2
import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from refusals import raises

from limbeck.corpus.compression import open_text
from limbeck.errors import InputError, UsageError

TEXT = "".join(f"line {i} with ümlaut, 東京 and {i * 7919 % 1009}\n" for i in range(5_000))


def zstd(data: bytes) -> bytes:
    return pytest.importorskip("zstandard").ZstdCompressor().compress(data)


COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "zstandard": zstd,
}
compressed = pytest.mark.parametrize("kind", [kind for kind in COMPRESS if kind != "plain"])


def read(path: Path, encoding: str = "utf-8") -> str:
    with open_text(path, encoding=encoding) as stream:
        return "".join(stream)


@pytest.mark.parametrize("kind", COMPRESS)
def test_told_apart_by_content_not_by_name(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text.txt"
    path.write_bytes(COMPRESS[kind](TEXT.encode()))
    assert read(path) == TEXT


@compressed
def test_two_parts_put_together(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "text"
    path.write_bytes(COMPRESS[kind](b"one\n") + COMPRESS[kind](b"two\n"))
    assert read(path) == "one\ntwo\n"


@compressed
@pytest.mark.parametrize("left", [0.5, 0.99])
def test_cut_off(tmp_path: Path, kind: str, left: float) -> None:
    data = COMPRESS[kind](TEXT.encode())
    path = tmp_path / "text.cut"
    path.write_bytes(data[: int(len(data) * left)])
    with raises(InputError, code="damaged"):
        read(path)


@compressed
def test_damaged(tmp_path: Path, kind: str) -> None:
    data = bytearray(COMPRESS[kind](TEXT.encode()))
    middle = len(data) // 2
    data[middle : middle + 40] = bytes(255 - b for b in data[middle : middle + 40])
    path = tmp_path / "text.bad"
    path.write_bytes(data)
    with raises(InputError, code="damaged"):
        read(path)


@pytest.mark.parametrize("line", [1, 2, 3_000, 5_000])
@pytest.mark.parametrize("kind", ["plain", "xz"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_wrong_byte_names_its_line(tmp_path: Path, kind: str, line: int, end: bytes) -> None:
    lines = [f"line {i} 東京".encode() for i in range(5_000)]
    lines[line - 1] = b"caf\xe9 " + lines[line - 1]
    path = tmp_path / "latin.txt"
    path.write_bytes(COMPRESS[kind](end.join(lines)))
    with raises(InputError, code="not_utf8", parameter="encoding", says=(f"latin.txt:{line}:", "0xe9")):
        read(path)


def test_other_encodings(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes("café\n".encode("windows-1252"))
    assert read(path, "windows-1252") == "café\n"
    path.write_bytes("café\n".encode("utf-16"))
    assert read(path, "utf-16") == "café\n"
    path.write_bytes(b"fine\nbad \x81\n")
    with raises(InputError, code="not_utf8", parameter="encoding", says="text:2:"):
        read(path, "windows-1252")
    with raises(UsageError, code="unknown_choice", parameter="encoding", says="'utf-9'"):
        read(path, "utf-9")


def test_byte_order_mark_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_bytes(b"\xef\xbb\xbfone\r\ntwo\rthree\n")
    assert read(path) == "one\ntwo\nthree\n"


def test_next_line_characters_do_not_end_lines(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("a\x85b\u2028c\x0cd\n", encoding="utf-8")
    with open_text(path) as stream:
        assert len(list(stream)) == 1


def test_missing(tmp_path: Path) -> None:
    with raises(InputError, code="not_readable"):
        read(tmp_path / "nothing")
