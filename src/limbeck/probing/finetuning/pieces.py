"""What a model reads of a task: windows of pieces, and in each the places whose vectors are classified."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.batching import ranges
from limbeck.errors import UsageError, choose
from limbeck.evaluation.classifying.joined import cut_longest
from limbeck.evaluation.classifying.task import Examples
from limbeck.probing.finetuning.data import NO_CLASS, Part

Ints = NDArray[np.int64]
WORD_PIECES = ("last", "first", "mean")
SENTENCE_PIECES = ("first", "last", "mean")


@dataclass(frozen=True)
class Places:
    """Where the vectors to be classified stand, and what they are.

    window, first, count  of each: its window (in rising order), its first piece there, and how many pieces its vector
                          is the mean of
    example, position     whose class it is: number of the example, and of the word in it
    label                 class number
    """

    window: Ints
    first: Ints
    count: Ints
    example: Ints
    position: Ints
    label: Ints

    def __len__(self) -> int:
        return len(self.label)


@dataclass(frozen=True)
class Windows:
    """Windows of pieces, special tokens included, and places in them.

    words     for each piece the number of its word; special tokens are words of their own at both ends
    segments  for each piece 0, or 1 in the second text of a pair
    left_out  words of which the tokeniser left nothing: they cannot be classified
    """

    pieces: Sequence[NDArray[np.int64]]
    words: Sequence[NDArray[np.int64]]
    segments: Sequence[NDArray[np.int64]]
    places: Places
    left_out: int = 0

    def __len__(self) -> int:
        return len(self.pieces)

    @cached_property
    def lengths(self) -> Ints:
        return np.array([len(window) for window in self.pieces], dtype=np.int64)

    def places_in(self, windows: Ints) -> Ints:
        """How many places each of these windows has."""
        return self._places[windows]

    @cached_property
    def _places(self) -> Ints:
        return np.bincount(self.places.window, minlength=len(self))


class Reader:
    """Makes windows of a task's parts.

    length     most pieces in a window, special tokens included
    word       which of a word's pieces stand for it: the last (as in the paper), the first, or their mean
    sentence   which piece stands for a text: the first ([CLS]), the last, or the mean of all but the special ones
    separator  stands between the texts of a pair where the tokeniser has nothing that ends a text
    """

    def __init__(
        self,
        aligner: Aligner,
        *,
        length: int,
        word: str = "last",
        sentence: str = "first",
        separator: int | None = None,
    ) -> None:
        self.aligner = aligner
        self.word = choose(word, WORD_PIECES, what="--word-piece")
        self.sentence = choose(sentence, SENTENCE_PIECES, what="--sentence-piece")
        self.prefix, self.suffix = list(aligner.prefix), list(aligner.suffix)
        self.between = self.suffix or ([] if separator is None else [separator])
        self.length = length
        if length < len(self.prefix) + len(self.between) + len(self.suffix) + 2:
            raise UsageError(
                f"--max-length must have room for a text beside special tokens, got {length}: give more.",
                code="out_of_range",
                parameter="max_length",
            )

    def __call__(self, part: Part) -> Windows:
        if part.examples is not None:
            return self._texts(part.examples)
        return self._sentences(part.sentences, part.tags)

    # -- tagged words ---------------------------------------------------------------------------

    def _sentences(self, sentences: Sequence[Sentence], tags: Sequence[Ints]) -> Windows:
        """A window a sentence; a longer one goes on in the next window, cut between words."""
        aligned = self.aligner([Text((sentence,)) for sentence in sentences])
        room = self.length - len(self.prefix) - len(self.suffix)
        pieces: list[Ints] = []
        words: list[Ints] = []
        places: list[tuple[int, ...]] = []
        left_out = 0
        for number, labels in enumerate(tags):
            low, high = aligned.word_starts[number], aligned.word_starts[number + 1]
            first, end = aligned.first[low:high], aligned.end[low:high]
            end = np.minimum(end, first + room)  # of a word longer than a window, what fits
            left_out += int(((end <= first) & (labels != NO_CLASS)).sum())
            readable = np.flatnonzero(end > first)
            for some in _runs(first[readable], end[readable], room):
                own = readable[some]
                begin, stop = int(first[own[0]]), int(end[own[-1]])
                text = aligned.pieces[begin:stop].astype(np.int64)
                # a piece belongs to the last word that begins at or before it: blanks go with the word before
                of_word = own[np.searchsorted(first[own], np.arange(begin, stop), side="right") - 1]
                for at in own[labels[own] != NO_CLASS].tolist():
                    place, count = self._of_word(int(first[at]) - begin, int(end[at]) - begin)
                    places.append((len(pieces), place + len(self.prefix), count, number, at, int(labels[at])))
                pieces.append(np.array([*self.prefix, *text, *self.suffix], dtype=np.int64))
                before = int(own[0]) + np.arange(-len(self.prefix), 0)
                after = int(own[-1]) + 1 + np.arange(len(self.suffix))
                words.append(np.concatenate([before, of_word, after]).astype(np.int64))
        return Windows(pieces, words, [np.zeros_like(window) for window in pieces], _places(places), left_out)

    def _of_word(self, first: int, end: int) -> tuple[int, int]:
        if self.word == "mean":
            return first, end - first
        return (first if self.word == "first" else end - 1), 1

    # -- texts ------------------------------------------------------------------------------------

    def _texts(self, examples: Examples) -> Windows:
        """A window an example, [CLS] a [SEP] b [SEP] for a pair; of texts that are too long the longer one is cut."""
        pieces, segments, places = [], [], []
        blank = " " if self.aligner.leading_blank else ""
        pair = len(examples.texts) > 1
        room = self.length - len(self.prefix) - len(self.suffix) - (len(self.between) if pair else 0)
        for number, texts in enumerate(zip(*examples.texts, strict=True)):
            own = [self.aligner.encode(blank + text) for text in texts]
            sides = [
                side[:size] for side, size in zip(own, cut_longest([len(side) for side in own], room), strict=True)
            ]
            first = [*self.prefix, *sides[0], *(self.between if pair else self.suffix)]
            second = [*sides[1], *self.suffix] if pair else []
            window = np.array(first + second, dtype=np.int64)
            place, count = self._of_text(len(window))
            places.append((number, place, count, number, 0, int(examples.labels[number])))
            pieces.append(window)
            segments.append(np.repeat([0, 1], [len(first), len(second)]))
        return Windows(pieces, [np.arange(len(window)) for window in pieces], segments, _places(places))

    def _of_text(self, length: int) -> tuple[int, int]:
        if self.sentence == "first":
            return 0, 1
        if self.sentence == "last":
            return length - 1, 1
        inner = length - len(self.prefix) - len(self.suffix)
        return (len(self.prefix), inner) if inner else (0, length)


@dataclass(frozen=True)
class Batch:
    """Some windows, padded on the right, on a device.

    flat, row  pieces (counted over the whole batch) whose vectors are averaged, and the place that each belongs to
    rows       the places' numbers among all places, in the order of their logits
    """

    ids: torch.Tensor  # (windows, length)
    real: torch.Tensor  # (windows, length)
    words: torch.Tensor  # (windows, length)
    segments: torch.Tensor  # (windows, length)
    flat: torch.Tensor
    row: torch.Tensor
    counts: torch.Tensor  # (places,)
    labels: torch.Tensor  # (places,)
    rows: Ints


def collate(windows: Windows, chosen: Ints, *, pad: int, device: torch.device) -> Batch:
    """A batch of the chosen windows."""
    length = int(windows.lengths[chosen].max())
    shape = (len(chosen), length)
    ids, words = np.full(shape, pad, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    segments, real = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=bool)
    for row, window in enumerate(chosen.tolist()):
        size = len(windows.pieces[window])
        ids[row, :size], words[row, :size] = windows.pieces[window], windows.words[window]
        segments[row, :size], real[row, :size] = windows.segments[window], True
    places = windows.places
    low, high = (np.searchsorted(places.window, chosen, side=side) for side in ("left", "right"))
    rows, line = ranges(low, high), np.repeat(np.arange(len(chosen)), high - low)
    counts = places.count[rows]
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    flat = np.repeat(line * length + places.first[rows], counts) + within

    def sent(array: NDArray[Any]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(device)

    return Batch(
        ids=sent(ids),
        real=sent(real),
        words=sent(words),
        segments=sent(segments),
        flat=sent(flat),
        row=sent(np.repeat(np.arange(len(rows)), counts)),
        counts=sent(counts),
        labels=sent(places.label[rows]),
        rows=rows,
    )


def _runs(first: Ints, end: Ints, room: int) -> list[Ints]:
    """Words in runs that fit a window, as evenly filled as they come."""
    runs, begin = [], 0
    for at in range(1, len(first) + 1):
        if at == len(first) or end[at] - first[begin] > room:
            runs.append(np.arange(begin, at))
            begin = at
    return runs


def _places(rows: Sequence[tuple[int, ...]]) -> Places:
    columns = np.array(rows, dtype=np.int64).reshape(-1, 6).T
    return Places(*(np.ascontiguousarray(column) for column in columns))
