"""What every reader of word vectors does alike: unique words, finite numbers, and no second copy of the matrix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError

Floats = NDArray[np.float32]

DUPLICATE = "duplicate words, the first was kept"
NOT_UTF8 = "words that are not UTF-8, decoded with U+FFFD"
NO_TOKEN = "rows without a token"
NO_ROW = "tokens without a row"
UNKNOWN = "the tokenizer's unknown word, a row of zeros"
NO_STRING = "vectors of spaCy whose word is not told"
BEHIND_LAST = "bytes behind the last word"
BEYOND_HEADER = "words beyond the number in the header"

BLOCK = 4096  #: rows brought into memory at once


@dataclass
class Table:
    """Words and their vectors as a reader found them, with what was dropped or mended and how often."""

    words: list[str]
    matrix: Floats  # (words, d)
    notes: dict[str, int] = field(default_factory=dict)


class Gatherer:
    """Collects blocks of words and rows into one table.

    The matrix grows in place as blocks come (large blocks of memory are moved without being copied), so the peak
    is the matrix and an eighth, and a header that lies about its number of words cannot make us allocate.
    """

    def __init__(self, path: str | Path, *, limit: int | None = None, place: str = "line") -> None:
        self.path = path
        self.limit = limit
        self.place = place  # what `first` counts: "line" in text, "record" in binary files
        self.index: dict[str, int] = {}
        self.matrix: Floats | None = None  # rows beyond len(index) are spare
        self.notes: dict[str, int] = {}
        self.seen = 0  # words read, dropped ones too

    @property
    def full(self) -> bool:
        return self.limit is not None and len(self.index) >= self.limit

    def note(self, reason: str, count: int = 1) -> None:
        if count:
            self.notes[reason] = self.notes.get(reason, 0) + count

    def decode(self, word: bytes) -> str:
        """UTF-8, and U+FFFD where it is not: a lone surrogate would fail later, when the word is printed or saved."""
        try:
            return word.decode("utf-8")
        except UnicodeDecodeError:
            self.note(NOT_UTF8)
            return word.decode("utf-8", "replace")

    def add(self, words: Sequence[bytes | str], rows: NDArray[Any], places: Sequence[int] | NDArray[np.int64]) -> None:
        """Take a block: its words, its rows (words, d), and the line or record each stands in."""
        if rows.dtype.kind not in "fiub":
            raise InputError(
                f"{self.path}: vectors must be real numbers, got {rows.dtype}: save them as such.", code="wrong_type"
            )
        rows = rows.astype(np.float32, copy=False)
        fine = np.isfinite(rows).all(axis=1)
        index, keep = self.index, np.zeros(len(words), dtype=bool)
        for row, raw in enumerate(words):
            if self.full:
                break
            word = self.decode(raw) if isinstance(raw, bytes) else raw
            self.seen += 1
            if not fine[row]:
                raise self.not_finite(word, rows[row], int(places[row]))
            if word in index:
                self.note(DUPLICATE)
            else:
                index[word] = len(index)
                keep[row] = True
        self.append(rows if keep.all() else rows[keep])

    def append(self, rows: Floats) -> None:
        start, end = len(self.index) - len(rows), len(self.index)
        if self.matrix is None:
            self.matrix = np.empty((0, rows.shape[1]), dtype=np.float32)
        if end > len(self.matrix):
            self.matrix.resize((max(end, len(self.matrix) * 9 // 8), rows.shape[1]), refcheck=False)
        self.matrix[start:end] = rows

    def not_finite(self, word: str, row: Floats, place: int) -> InputError:
        at = int(np.flatnonzero(~np.isfinite(row))[0])
        what = f"the vector of {word!r} must be finite numbers, got {row[at]} in dimension {at}: mend or remove it."
        if self.place == "line":
            return InputError.at(self.path, place, what, code="not_finite")
        return InputError(f"{self.path}: {self.place} {place}: {what}", code="not_finite")

    def instead(self) -> str:
        """What to do about a file that ends too soon."""
        there = len(self.index)
        return "get the whole file" + (f", or take what is there (--limit={there})" if there else "")

    def table(self, dim: int) -> Table:
        """Everything taken so far as one table."""
        matrix = self.matrix if self.matrix is not None else np.empty((0, dim), dtype=np.float32)
        matrix.resize((len(self.index), dim), refcheck=False)
        return Table(list(self.index), matrix, self.notes)


class Rows(Protocol):
    """A matrix in a file, of which some rows at a time are brought into memory. Arrays are such, too."""

    @property
    def shape(self) -> tuple[int, ...]: ...

    def __getitem__(self, rows: slice, /) -> NDArray[Any]: ...


def table_of(
    path: str | Path, words: Sequence[str], matrix: Rows, *, limit: int | None = None, skip: int | None = None
) -> Table:
    """A table from words and a matrix (npz, safetensors, a model's embedding table); `skip`: a row to leave out."""
    if len(matrix.shape) != 2 or len(words) != matrix.shape[0]:
        raise InputError(
            f"{path}: a matrix (words, dimensions) with one row a word is needed, "
            f"got {len(words)} words and an array of shape {matrix.shape}: the file's parts do not belong together.",
            code="wrong_shape",
        )
    gatherer = Gatherer(path, limit=limit, place="row")
    for start in range(0, len(words), BLOCK):
        if gatherer.full:
            break
        part = slice(start, start + BLOCK)
        some, rows, places = list(words[part]), matrix[part], list(range(len(words))[part])
        if skip is not None and start <= skip < start + BLOCK:
            rows = np.delete(rows, skip - start, axis=0)
            del some[skip - start], places[skip - start]
        gatherer.add(some, rows, places)
    return gatherer.table(matrix.shape[1])
