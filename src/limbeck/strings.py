"""Words in bulk: a sequence that is cheap to select from and to send, and lists of strings as plain arrays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


class Strings(Sequence[str]):
    """A sequence of strings, each distinct one held once.

    >>> words = Strings.of(["to", "be", "or", "not", "to", "be"])
    >>> list(words.take(np.array([4, 3])))
    ['to', 'not']
    """

    __slots__ = ("codes", "distinct")

    def __init__(self, distinct: list[str], codes: NDArray[np.int32]) -> None:
        self.distinct = distinct  # after `join` a string may stand here more than once
        self.codes = codes  # (n,) index into distinct

    @classmethod
    def of(cls, strings: Sequence[str]) -> Strings:
        if isinstance(strings, Strings):
            return strings
        distinct = list(dict.fromkeys(strings))
        ids = {string: number for number, string in enumerate(distinct)}
        return cls(distinct, np.fromiter(map(ids.__getitem__, strings), dtype=np.int32, count=len(strings)))

    @classmethod
    def join(cls, parts: Iterable[Strings]) -> Strings:
        distinct: list[str] = []
        codes: list[NDArray[np.int32]] = [np.empty(0, dtype=np.int32)]
        for part in parts:
            codes.append(part.codes + np.int32(len(distinct)))
            distinct.extend(part.distinct)
        return cls(distinct, np.concatenate(codes))

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (join_words(self.distinct), self.codes)

    def take(self, rows: NDArray[np.int64] | slice) -> Strings:
        return Strings(self.distinct, self.codes[rows])

    def __len__(self) -> int:
        return len(self.codes)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> Strings: ...
    def __getitem__(self, place: int | slice) -> str | Strings:
        if isinstance(place, slice):
            return self.take(place)
        return self.distinct[int(self.codes[place])]

    def __iter__(self) -> Iterator[str]:
        distinct = self.distinct
        return (distinct[code] for code in self.codes.tolist())

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Sequence)
            and len(self) == len(other)
            and all(a == b for a, b in zip(self, other, strict=True))
        )

    __hash__ = None  # type: ignore[assignment]


def _arrived(distinct: str | list[str], codes: NDArray[np.int32]) -> Strings:
    return Strings(part_words(distinct), codes)


def join_words(words: list[str]) -> str | list[str]:
    """Words as one string, which travels between processes ten times as fast; as they are where that cannot be."""
    joined = "\0".join(words)
    return joined if joined.count("\0") + 1 == len(words) else words


def part_words(joined: str | list[str]) -> list[str]:
    """What `join_words` joined."""
    return joined.split("\0") if isinstance(joined, str) else joined


def pack(strings: Sequence[str]) -> tuple[Bytes, Ints]:
    """UTF-8 bytes of all strings one after the other, and where each begins, with the end (n + 1)."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(string) for string in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack(data: Bytes, offsets: Ints, path: str | Path = "state") -> list[str]:
    """The strings that `pack` packed; `path` is where they were read from."""
    raw = data.tobytes()
    edges = offsets.tolist()
    if not edges or edges[0] != 0 or edges[-1] != len(raw) or (np.diff(offsets) < 0).any():
        raise InputError(
            f"{path}: offsets must rise from 0 to the number of bytes ({len(raw)}): the file is damaged.",
            code="damaged",
        )
    try:
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges)]
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: words must be UTF-8, got {error.object[:40]!r}: the file is damaged.", code="not_utf8"
        ) from error
