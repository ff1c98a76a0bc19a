"""The company that words keep: sums of the texts they occur in, word by word."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, add_rows, index_on, wide
from limbeck.state import State


class WordContexts:
    """For each word of the vocabulary, over its occurrences: n, and the sum of the mean vectors of their texts.

    n     (words,)            occurrences
    sums  (layers, words, d)  Σ over occurrences of the mean of all vectors of the text, the word's own among them

    `vocabulary` is the fingerprint of the vocabulary that ids refer to.
    """

    name: ClassVar[str] = "word_contexts"

    def __init__(self, *, layers: int, dim: int, words: int, vocabulary: str = "") -> None:
        self.layers = layers
        self.dim = dim
        self.words = words
        self.vocabulary = vocabulary
        self.n = np.zeros(words, dtype=np.int64)
        self._sums: torch.Tensor | None = None  # made where the first batch is

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "words": self.words, "vocabulary": self.vocabulary}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        rows = np.flatnonzero(batch.words >= 0)
        if not len(rows):
            return
        words = batch.words[rows]
        self.n += np.bincount(words, minlength=self.words)
        texts = batch.by_text
        vectors = batch.vectors.to(wide(batch.vectors))
        means = batch.sum_rows(vectors, texts)
        means /= index_on(texts.sizes, means)[None, :, None]
        # in the order of the words: their sums are then over neighbouring rows, and the table is touched once a word
        order = np.argsort(words, kind="stable")
        here, place = np.unique(words[order], return_inverse=True)
        given = means.index_select(1, index_on(texts.of_row[rows[order]], means))
        some = add_rows(given.new_zeros(self.layers, len(here), self.dim), place, given)
        self._table(some.device).index_add_(1, index_on(here, some), some.to(torch.float64))

    def mean(self, layer: int) -> NDArray[np.float64]:
        """The mean over occurrences at the layer number `layer`, (words, d); NaN for a word without any."""
        sums = self._table(None)[layer]
        means: NDArray[np.float64] = (sums / index_on(self.n, sums).unsqueeze(1)).cpu().numpy()
        return means

    def _table(self, device: torch.device | None) -> torch.Tensor:
        if self._sums is None:
            self._sums = torch.zeros(self.layers, self.words, self.dim, dtype=torch.float64, device=device)
        if device is not None:
            self._sums = self._sums.to(device)
        return self._sums

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        if other._sums is not None:
            mine = self._table(None)
            mine += other._sums.to(mine.device)

    def state(self) -> State:
        """Only the words that were seen take room."""
        seen = np.flatnonzero(self.n)
        sums = self._table(None)
        return {"seen": seen, "n": self.n[seen], "sums": sums.index_select(1, index_on(seen, sums)).cpu().numpy()}

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        seen = state["seen"]
        made.n[seen] = state["n"]
        made._table(None)[:, seen] = torch.from_numpy(state["sums"].copy())
        return made
