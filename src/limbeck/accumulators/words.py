"""Sums of unit vectors word by word: exact self-similarity at O(d) a word and layer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck import kernels
from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, add_rows, index_on, wide
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
        # one row more than there are words: occurrences of other words are added there and never read
        self._sums = torch.zeros(layers, words + 1, dim, dtype=torch.float64)
        self._recent: torch.Tensor | None = None
        self._batches = 0
        self.squares = torch.zeros(layers, words, dtype=torch.float64)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "words": self.words, "vocabulary": self.vocabulary}

    @property
    def sums(self) -> torch.Tensor:
        """Σû of every word, (layers, words, d)."""
        self._fold()
        return self._sums[:, : self.words]

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        rows = np.flatnonzero(batch.words >= 0)
        if not len(rows):
            return
        self._add_sums(batch)
        words = batch.words[rows]
        self.n += np.bincount(words, minlength=self.words)
        # a (text, word) pair is a context of the word; most words occur once in a text
        keys, of_row, sizes = np.unique(
            batch.by_text.of_row[rows] * self.words + words, return_inverse=True, return_counts=True
        )
        key_words = keys % self.words
        self.contexts += np.bincount(key_words, minlength=self.words)
        self.pairs += np.bincount(key_words, weights=sizes**2, minlength=self.words).astype(np.int64)
        single = np.bincount(key_words[sizes == 1], minlength=self.words)  # ‖û‖² = 1
        squares = self.squares.to(batch.vectors.device)
        squares += torch.from_numpy(single).to(squares)
        repeated = sizes > 1
        if repeated.any():
            number = np.cumsum(repeated) - 1  # of each repeated key among the repeated ones
            inside = repeated[of_row]
            index = index_on(rows[inside], squares)
            norms = batch.norms.index_select(1, index).unsqueeze(-1)
            units = batch.vectors.index_select(1, index).to(norms.dtype) / norms
            sums = units.new_zeros(self.layers, int(repeated.sum()), self.dim)
            add_rows(sums, number[of_row[inside]], units)
            squares.index_add_(1, index_on(key_words[repeated], squares), sums.square().sum(-1).to(torch.float64))
        self.squares = squares

    def _add_sums(self, batch: Encoded) -> None:
        device = batch.vectors.device
        if wide(batch.vectors) == torch.float64:
            ids = np.where(batch.words >= 0, batch.words, self.words)
            self._sums = add_rows(self._sums.to(device), ids, batch.units)
            return
        if self._recent is None:
            self._recent = torch.zeros(self.layers, self.words + 1, self.dim, dtype=torch.float32, device=device)
        if kernels.usable(batch.vectors):
            index = index_on(batch.words, self._recent)
            kernels.scatter_units(self._recent, index, batch.vectors.contiguous(), batch.norms)
        else:
            add_rows(self._recent, np.where(batch.words >= 0, batch.words, self.words), batch.units)
        self._batches += 1
        if self._batches >= FOLD_EVERY:
            self._fold()

    def _fold(self) -> None:
        if self._recent is not None and self._batches:
            self._sums = self._sums.to(self._recent.device)
            self._sums += self._recent
            self._recent.zero_()
            self._batches = 0

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self._fold()
        self.n += other.n
        self.contexts += other.contexts
        self.pairs += other.pairs
        self._sums[:, : self.words] += other.sums.to(self._sums.device)
        self.squares = self.squares + other.squares.to(self.squares.device)

    def state(self) -> State:
        """Only the words that were seen take room."""
        self._fold()
        seen = np.flatnonzero(self.n)
        index = index_on(seen, self._sums)
        return {
            "seen": seen,
            "n": self.n[seen],
            "contexts": self.contexts[seen],
            "pairs": self.pairs[seen],
            "sums": self.sums.index_select(1, index).cpu().numpy(),
            "squares": self.squares.to(index.device).index_select(1, index).cpu().numpy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        seen = state["seen"]
        made.n[seen] = state["n"]
        made.contexts[seen] = state["contexts"]
        made.pairs[seen] = state["pairs"]
        made._sums[:, seen] = torch.from_numpy(state["sums"])
        made.squares[:, seen] = torch.from_numpy(state["squares"])
        return made
