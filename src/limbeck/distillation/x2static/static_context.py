"""Contexts that are trained too: Sent2Vec's objective, and a source of text that needs no teacher."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from limbeck.corpus import Corpus
from limbeck.corpus.units import TextUnit
from limbeck.distillation.x2static.adam import Rows, StepRuns
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.objectives import Ints, Scoring, Targets
from limbeck.distillation.x2static.sampling import Negatives
from limbeck.distillation.x2static.settings import Sent2Vec
from limbeck.encoders.batching import ranges
from limbeck.encoders.function import TextPreparer
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.seeds import hash_ids
from limbeck.stream import TextSource
from limbeck.transfer import send

_MULTIPLIER = np.uint64(116_049_371)  #: of fastText's hash of word n-grams


class NoTeacher(Encoder):
    """An encoder that reads words and says nothing of them: one dimension, always 1."""

    name = "words"
    fingerprint = "words"
    layers = ("0",)
    dim = 1
    units = "words"
    prepare = TextPreparer()

    def __init__(self, device: str = "cpu") -> None:
        self._device = torch.device(device)

    @property
    def device(self) -> torch.device:
        return self._device

    def forward(self, batch: Prepared) -> torch.Tensor:
        return torch.ones(1, len(batch), 1, device=self.device)


def word_source(corpus: Corpus, *, device: str = "cpu", text_unit: TextUnit = "sentence") -> TextSource:
    """A corpus to train on without a teacher."""
    return TextSource(corpus, NoTeacher(device), text_unit)


class OwnContexts:
    """Sent2Vec (eq. 2): a target's context is the mean of `sources` over the n-grams that do not hold it."""

    def __init__(self, targets: Rows, sources: Rows, negatives: Negatives, settings: Sent2Vec) -> None:
        self.tables = {"targets": targets, "sources": sources}
        self.sources = sources
        self.ngrams = settings.ngrams
        self.scoring = Scoring(targets, negatives, settings)

    def begin(self, shard: Gathered, targets: Targets) -> None:
        device = self.sources.values.device
        words = self.scoring.vectors.words
        rows, sizes = contexts_of_targets(shard, targets.places, self.ngrams, words, self.sources.words - words)
        self.scoring.begin(targets, sizes > 0)  # a word alone in its sentence has no context to be predicted from
        ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.bounds = ends[targets.bounds]
        self.rows = send(rows, device)
        self.starts = send(ends, device)
        self.owner = send(np.repeat(np.arange(len(sizes)), sizes), device)
        self.shares = send(1 / sizes.clip(min=1), device).to(self.sources.values)
        self.runs = StepRuns(self.rows, self.bounds, self.sources.words)

    def step(self, index: int, learning_rate: float) -> torch.Tensor:
        low, high = self.scoring.span(index)
        first, last = int(self.bounds[index]), int(self.bounds[index + 1])
        means = functional.embedding_bag(
            self.rows[first:last], self.sources.values, self.starts[low:high] - first, mode="mean"
        )  # (n, d), zero where there is none
        loss, slopes = self.scoring.slopes(index, means)
        back = torch.bmm(slopes.unsqueeze(1), self.scoring.rows(index)).squeeze(1)  # (n, d), by the context
        self.scoring.update(index, means, slopes, learning_rate)
        if last > first:
            runs = self.runs.step(index)
            owner = self.owner[first:last]
            self.sources.update(runs.rows, runs.sums(back, owner - low, self.shares[owner]), learning_rate)
        return loss


def contexts_of_targets(shard: Gathered, places: Ints, longest: int, words: int, buckets: int) -> tuple[Ints, Ints]:
    """Rows of the source matrix that make each target's context, one target after the other, and how many for each.

    These are the words and n-grams of the target's sentence that do not hold the target; `places` says which of the
    shard's candidates the targets are.
    """
    n, sentences = len(shard.words), len(shard.texts)
    ends = np.cumsum(np.bincount(shard.context_of, minlength=sentences))
    rows, begins, lengths = [shard.words], [np.arange(n)], [np.ones(n, dtype=np.int64)]
    mixed = _numbers(shard.words)
    for size in range(2, longest + 1):
        fits = np.flatnonzero(np.arange(n) + size <= ends[shard.context_of])
        mixed = _extended(mixed, shard.words, size)
        rows.append(words + (hash_ids(mixed[fits]) % np.uint64(max(buckets, 1))).astype(np.int64))
        begins.append(fits)
        lengths.append(np.full(len(fits), size, dtype=np.int64))
    row, begin, length = map(np.concatenate, (rows, begins, lengths))
    sentence = shard.context_of[begin]
    order = np.argsort(sentence, kind="stable")
    row, begin, length = row[order], begin[order], length[order]
    stops = np.cumsum(np.bincount(sentence, minlength=sentences))
    starts = np.concatenate([[0], stops[:-1]]).astype(np.int64)
    own = shard.context_of[places]
    every = ranges(starts[own], stops[own])
    owner = np.repeat(np.arange(len(places)), (stops - starts)[own])
    place = places[owner]
    apart = (place < begin[every]) | (place >= begin[every] + length[every])
    return row[every[apart]], np.bincount(owner[apart], minlength=len(places))


def _extended(mixed: NDArray[np.uint64], words: Ints, length: int) -> NDArray[np.uint64]:
    """Hashes of the n-grams of `length` words that begin at each word, from those one word shorter."""
    later = np.zeros_like(mixed)
    later[: max(len(words) - length + 1, 0)] = _numbers(words[length - 1 :])
    with np.errstate(over="ignore"):
        return mixed * _MULTIPLIER + later


def _numbers(words: Ints) -> NDArray[np.uint64]:
    """Words as numbers from 1: a first word 0 would leave no trace in an n-gram's hash."""
    return (words + 1).astype(np.uint64)
