"""Words made ready for a teacher, alone or in a sentence that is the same for all: what other processes do.

No torch is imported here or below.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import SENTENCE_BITS, Sentence, Text
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.protocol import Prepared
from limbeck.stream.workers import Pool

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class ReadyWords:
    """Words that need only the device.

    number  (units,) of the word that a unit belongs to
    inside  (units,) whether it does, or stands around it
    size    (words,) units that a word has
    """

    prepared: Prepared
    number: Ints
    inside: NDArray[np.bool_]
    size: Ints


@dataclass(frozen=True)
class PrepareWords:
    """Words to what the teacher reads of them in a template; a task for other processes."""

    prepare: Any
    template: str
    pieces: bool  # pooled to one unit, with or without special tokens
    special_input: bool
    special_mean: bool

    def __call__(self, words: Sequence[str]) -> ReadyWords:
        texts, first, size = texts_of_words(words, self.template)
        prepared = self.prepare(texts)
        number = prepared.texts & ((1 << SENTENCE_BITS) - 1)  # of the word whose text it is
        inside = (prepared.positions >= first) & (prepared.positions < first + size[number])
        if not self.pieces:
            return ReadyWords(prepared, number, inside, size)
        aligner = self.prepare.aligner
        # words of which the tokenizer knows no piece would all have one vector, that of the unknown
        known = np.bincount(number[inside & knows_of(prepared, aligner)], minlength=len(words)) > 0
        prepared, found = joined(prepared, number, inside & known[number], size)
        if self.special_mean:
            lengths = np.diff(prepared.window_starts)[prepared.unit_window]
            prepared = replace(prepared, unit_first=np.zeros_like(lengths), unit_count=lengths)
        elif not self.special_input:
            prepared = without_specials(prepared, len(aligner.prefix), len(aligner.suffix))
        own = np.flatnonzero(found)
        return ReadyWords(prepared, own, np.ones(len(own), dtype=bool), np.ones(len(words), dtype=np.int64))


@dataclass(frozen=True)
class Ahead:
    """The job of `Workers`: chunks of words made ready in their order."""

    make: PrepareWords
    chunks: list[list[str]]

    def __call__(self, pool: Pool) -> Iterator[ReadyWords]:
        return pool.map(self.make, self.chunks, ahead=2)


def texts_of_words(words: Sequence[str], template: str) -> tuple[list[Text], int, NDArray[np.int64]]:
    """A text for each word in the template; the place of the word's first word in it, and how many words it is."""
    before, after = template.split("{}")
    left, right = before.split(), after.split()
    texts, sizes = [], []
    for number, word in enumerate(words):
        own = word.split()
        glued = set()
        if left and own and not before[-1:].isspace():
            glued.add(len(left) - 1)
        if right and own and not after[:1].isspace():
            glued.add(len(left) + len(own) - 1)
        sentence = Sentence((*left, *own, *right), index=number, glued=frozenset(glued))
        texts.append(Text((sentence,)))
        sizes.append(len(own))
    return texts, len(left), np.array(sizes, dtype=np.int64)


def knows_of(prepared: Prepared, aligner: Aligner) -> NDArray[np.bool_]:
    """(units,) whether the tokenizer knows a piece of each."""
    before = np.concatenate([[0], np.cumsum(aligner.knows(prepared.pieces))])  # known pieces before each place
    first = prepared.window_starts[prepared.unit_window] + prepared.unit_first
    return np.asarray(before[first + prepared.unit_count] > before[first])


def joined(
    prepared: Prepared, number: NDArray[np.int64], inside: NDArray[np.bool_], size: NDArray[np.int64]
) -> tuple[Prepared, NDArray[np.bool_]]:
    """One unit for each text, all pieces of the words inside; and which of the texts have it whole, in one window."""
    rows = np.flatnonzero(inside)
    whole = np.bincount(number[rows], minlength=len(size)) == size
    rows = rows[whole[number[rows]]]
    # units of a text stand together, in the order of its words
    own = number[rows]
    first = rows[np.flatnonzero(np.diff(own, prepend=-1))]
    last = rows[np.flatnonzero(np.diff(own, append=-1))]
    together = prepared.unit_window[first] == prepared.unit_window[last]
    first, last = first[together], last[together]
    found = np.zeros(len(size), dtype=bool)
    found[number[first]] = True
    return replace(
        prepared,
        unit_window=prepared.unit_window[first],
        unit_first=prepared.unit_first[first],
        unit_count=prepared.unit_first[last] + prepared.unit_count[last] - prepared.unit_first[first],
        strings=[prepared.strings[row] for row in first.tolist()],
        sentences=prepared.sentences[first],
        positions=prepared.positions[first],
        texts=prepared.texts[first],
    ), found


def without_specials(prepared: Prepared, prefix: int, suffix: int) -> Prepared:
    """The same windows without the special tokens around them."""
    starts = prepared.window_starts
    keep = np.ones(len(prepared.pieces), dtype=bool)
    for place in range(prefix):
        keep[starts[:-1] + place] = False
    for place in range(suffix):
        keep[starts[1:] - 1 - place] = False
    lengths = np.diff(starts) - prefix - suffix
    return replace(
        prepared,
        pieces=prepared.pieces[keep],
        window_starts=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        unit_first=prepared.unit_first - prefix,
    )
