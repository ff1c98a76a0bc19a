"""Occurrences and their identities, cut into blocks that never divide a text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.seeds import UInt64, hash_occurrences, hash_text

Ints = NDArray[np.int64]

BLOCK_ROWS = 16_384
BLOCK_NUMBERS = 1 << 24  #: 64 MiB of float32: blocks of many layers have fewer rows


@dataclass(frozen=True)
class Identities:
    """Who the occurrences are, row by row in the order of the blocks.

    strings      the words; "" for a token that is not followed as a word
    sentences    identity of the sentence
    texts        identity of the text, the *context*
    occurrences  hash of the occurrence, as `limbeck.seeds.hash_occurrences` makes it
    """

    strings: list[str]
    sentences: Ints
    texts: Ints
    occurrences: UInt64

    def __len__(self) -> int:
        return len(self.strings)

    def rows(self, start: int, stop: int) -> Identities:
        part = slice(start, stop)
        return Identities(self.strings[part], self.sentences[part], self.texts[part], self.occurrences[part])

    def reordered(self, order: Ints) -> Identities:
        strings = [self.strings[row] for row in order.tolist()]
        return Identities(strings, self.sentences[order], self.texts[order], self.occurrences[order])


@dataclass(frozen=True)
class Block(Identities):
    """Identities with their vectors (layers, n, d), float32 or as they were kept."""

    vectors: NDArray[Any]

    @classmethod
    def of(cls, identities: Identities, vectors: NDArray[Any]) -> Block:
        return cls(identities.strings, identities.sentences, identities.texts, identities.occurrences, vectors)


def block_rows(layers: int, dim: int) -> int:
    """How many rows a block has at most, unless one text alone is longer."""
    return max(1, min(BLOCK_ROWS, BLOCK_NUMBERS // max(1, layers * dim)))


def cut(texts: Ints, most: int) -> Iterator[tuple[int, int]]:
    """Ranges of rows, each at most `most` long and ending where a text ends (longer where a text is)."""
    ends = np.append(np.flatnonzero(np.diff(texts)) + 1, len(texts))
    start = 0
    while start < len(texts):
        fitting = int(np.searchsorted(ends, start + most, side="right"))
        end = int(ends[fitting - 1]) if fitting and ends[fitting - 1] > start else int(ends[fitting])
        yield start, end
        start = end


def is_together(ids: Ints) -> bool:
    """Whether equal ids stand in one run each."""
    if not len(ids):
        return True
    return int((np.diff(ids) != 0).sum()) + 1 == len(np.unique(ids))


def order_together(ids: Ints) -> Ints:
    """An order that puts equal ids together, by first appearance, and keeps the order inside."""
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    return np.argsort(first[inverse], kind="stable").astype(np.int64)


def positions_in(sentences: Ints) -> Ints:
    """For each row, how many rows of its sentence stand before it."""
    order = np.argsort(sentences, kind="stable")
    ordered = sentences[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(ordered) else np.empty(0, np.int64)
    lengths = np.diff(np.append(starts, len(ordered)))
    positions = np.empty(len(ordered), dtype=np.int64)
    positions[order] = np.arange(len(ordered)) - np.repeat(starts, lengths)
    return positions


def as_identities(values: NDArray[Any] | Sequence[Any]) -> Ints:
    """Whole numbers as they are; anything else by the hash of its text, the same in every file."""
    array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    texts = [str(value) for value in values]
    hashes = {text: hash_text(text) for text in set(texts)}
    return np.array([hashes[text] for text in texts], dtype=np.uint64).view(np.int64)


def identities_of(
    strings: Sequence[str],
    sentences: Ints | None,
    texts: Ints | None,
    positions: Ints | None = None,
) -> Identities:
    """Identities from what a file has. No sentences: every row is its own sentence. No texts: the sentences are."""
    if sentences is None:
        sentences = np.arange(len(strings), dtype=np.int64)
        if positions is None:
            positions = np.zeros(len(strings), dtype=np.int64)
    if texts is None:
        texts = sentences
    if positions is None:
        positions = positions_in(sentences)
    return Identities(list(strings), sentences, texts, hash_occurrences(sentences, positions))
