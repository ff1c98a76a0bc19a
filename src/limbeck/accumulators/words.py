"""Sums of unit vectors word by word: exact self-similarity at O(d) a word and layer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck import kernels
from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, Groups, add_rows, index_on, wide
from limbeck.state import State

FOLD_EVERY = 32  #: batches whose float32 sums an accelerator holds before they are folded into float64


class WordSums:
    """For each word of the vocabulary: Σû, Σ_c ‖Σ_{i∈c} û_i‖² over its contexts c, and counts.

    n         (words,)            occurrences
    contexts  (words,)            texts it occurs in
    pairs     (words,)            Σ_c n_c²
    sums      (layers, words, d)  Σû
    squares   (layers, words)     Σ_c ‖Σ_{i∈c} û_i‖²

    `vocabulary` is the fingerprint of the vocabulary that ids refer to.
    """

    name: ClassVar[str] = "words"

    def __init__(self, *, layers: int, dim: int, words: int, vocabulary: str = "") -> None:
        self.layers = layers
        self.dim = dim
        self.words = words
        self.vocabulary = vocabulary
        self.n = np.zeros(words, dtype=np.int64)
        self.contexts = np.zeros(words, dtype=np.int64)
        self.pairs = np.zeros(words, dtype=np.int64)
        # tables are made where the first batch is, with one row more than there are words: occurrences of other words
        # are added there and never read
        self._sums: torch.Tensor | None = None
        self._recent: torch.Tensor | None = None  # float32 sums not yet folded into float64
        self._batches = 0
        self._touched = np.zeros(words, dtype=bool)  # words that have such sums
        self._single = np.zeros(words, dtype=np.int64)  # contexts with one occurrence, whose ‖û‖² is 1
        self._repeated = torch.zeros(layers, words, dtype=torch.float64)  # Σ_c over the other contexts

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "words": self.words, "vocabulary": self.vocabulary}

    @property
    def sums(self) -> torch.Tensor:
        """Σû of every word, (layers, words, d)."""
        self._fold()
        return self._table(self._repeated.device)[:, : self.words]

    @property
    def squares(self) -> torch.Tensor:
        """Σ_c ‖Σ_{i∈c} û_i‖² of every word, (layers, words)."""
        return self._repeated + torch.from_numpy(self._single).to(self._repeated)

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        rows = np.flatnonzero(batch.words >= 0)
        if not len(rows):
            return
        self._repeated = self._repeated.to(batch.vectors.device)
        self._add_sums(batch)
        words = batch.words[rows]
        self.n += np.bincount(words, minlength=self.words)
        # a (text, word) pair is a context of the word; most words occur once in a text
        keys = batch.by_text.of_row[rows] * self.words + words
        order = np.argsort(keys)
        contexts = Groups.by(keys[order])
        context_words = contexts.identities % self.words
        self.contexts += np.bincount(context_words, minlength=self.words)
        self.pairs += np.bincount(context_words, weights=contexts.sizes**2, minlength=self.words).astype(np.int64)
        repeated = contexts.sizes > 1
        self._single += np.bincount(context_words[~repeated], minlength=self.words)
        if repeated.any():
            inside = repeated[contexts.of_row]
            # the sum over a context, as over a sentence
            some = replace(batch.take(rows[order[inside]]), sentences=contexts.of_row[inside])
            sums = some.unit_sums_by_sentence  # (layers, contexts, d)
            squares = sums.square().sum(-1).to(torch.float64)
            self._repeated.index_add_(1, index_on(context_words[repeated], squares), squares)

    def _add_sums(self, batch: Encoded) -> None:
        device = batch.vectors.device
        if wide(batch.vectors) == torch.float64:
            ids = np.where(batch.words >= 0, batch.words, self.words)
            add_rows(self._table(device), ids, batch.units)
            return
        if self._recent is None:
            self._recent = torch.zeros(self.layers, self.words + 1, self.dim, dtype=torch.float32, device=device)
        if kernels.usable(batch.vectors):
            index = index_on(batch.words, self._recent)
            kernels.scatter_units(self._recent, index, batch.vectors.contiguous(), batch.norms)
        else:
            add_rows(self._recent, np.where(batch.words >= 0, batch.words, self.words), batch.units)
        self._batches += 1
        self._touched[batch.words[batch.words >= 0]] = True
        if self._batches >= FOLD_EVERY:
            self._fold()

    def settle(self) -> None:
        """A shard ends: its sums go into float64, whatever comes after it."""
        self._fold()

    def _table(self, device: torch.device) -> torch.Tensor:
        if self._sums is None:
            self._sums = torch.zeros(self.layers, self.words + 1, self.dim, dtype=torch.float64, device=device)
        self._sums = self._sums.to(device)
        return self._sums

    def _fold(self) -> None:
        if self._recent is not None and self._batches:
            table = self._table(self._recent.device)
            touched = np.flatnonzero(self._touched)
            if table.device.type == "cpu" and 2 * len(touched) < self.words:
                index = torch.from_numpy(touched)
                table.index_add_(1, index, self._recent.index_select(1, index).to(torch.float64))
                self._recent.index_fill_(1, index, 0.0)
            else:
                table.add_(self._recent)
                self._recent.zero_()
            self._touched[:] = False
            self._batches = 0

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        self.contexts += other.contexts
        self.pairs += other.pairs
        self._single += other._single
        self.sums.add_(other.sums.to(self._repeated.device))
        self._repeated = self._repeated + other._repeated.to(self._repeated.device)

    def state(self) -> State:
        """Only the words that were seen take room."""
        seen = np.flatnonzero(self.n)
        index = torch.from_numpy(seen).to(self._repeated.device)
        return {
            "seen": seen,
            "n": self.n[seen],
            "contexts": self.contexts[seen],
            "pairs": self.pairs[seen],
            "single": self._single[seen],
            "sums": self.sums.index_select(1, index).cpu().numpy(),
            "repeated": self._repeated.index_select(1, index).cpu().numpy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        seen = state["seen"]
        made.n[seen] = state["n"]
        made.contexts[seen] = state["contexts"]
        made.pairs[seen] = state["pairs"]
        made._single[seen] = state["single"]
        made._table(torch.device("cpu"))[:, seen] = torch.from_numpy(state["sums"])
        made._repeated[:, seen] = torch.from_numpy(state["repeated"])
        return made
