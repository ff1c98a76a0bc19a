"""Vectors pooled word by word over all occurrences: sums, and on request the least and the greatest coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, add_rows, index_on, wide
from limbeck.errors import choose
from limbeck.state import State

POOLS = ("mean", "min", "max")
_EMPTY = {"min": float("inf"), "max": float("-inf")}  #: of a word without occurrences: what any number replaces
_REDUCE = {"min": "amin", "max": "amax"}


class WordPools:
    """For each word of the vocabulary, over its occurrences: n, Σx, and where asked min x and max x by coordinate.

    n     (words,)            occurrences
    sums  (layers, words, d)  Σx in float64; with "mean" among the pools
    min, max (layers, words, d) of the vectors' own precision, at least float32, in the state of those names

    `vocabulary` is the fingerprint of the vocabulary that ids refer to.
    """

    name: ClassVar[str] = "word_pools"

    def __init__(
        self, *, layers: int, dim: int, words: int, pools: Sequence[str] = ("mean",), vocabulary: str = ""
    ) -> None:
        self.layers = layers
        self.dim = dim
        self.words = words
        self.pools = [pool for pool in POOLS if pool in {choose(pool, POOLS, what="pools") for pool in pools}]
        self.vocabulary = vocabulary
        self.n = np.zeros(words, dtype=np.int64)
        self._tables: dict[str, torch.Tensor] = {}  # made where the first batch is, (layers, words, d) each
        self._place = np.zeros(words, dtype=np.int64)  # room for numbering the words of a batch

    def settings(self) -> dict[str, Any]:
        return {
            "layers": self.layers,
            "dim": self.dim,
            "words": self.words,
            "pools": list(self.pools),
            "vocabulary": self.vocabulary,
        }

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        rows = np.flatnonzero(batch.words >= 0)
        if not len(rows):
            return
        ids = batch.words[rows]
        counts = np.bincount(ids, minlength=self.words)
        self.n += counts
        here = np.flatnonzero(counts)  # the batch's words: a table of them alone is small
        self._place[here] = np.arange(len(here))
        place = self._place[ids]
        vectors = batch.vectors if len(rows) == len(batch) else batch.take(rows).vectors
        shape = (self.layers, len(here), self.dim)
        for pool in self.pools:
            if pool == "mean":
                # summed over one batch in float32 on an accelerator, from batch to batch in float64
                given = vectors.to(wide(vectors))
                some = add_rows(given.new_zeros(shape), place, given)
            else:
                given = vectors if vectors.dtype.itemsize >= 4 else vectors.float()
                some = given.new_full(shape, _EMPTY[pool])
                index = index_on(place, some)[None, :, None].expand(given.shape)
                some.scatter_reduce_(1, index, given, _REDUCE[pool])
            self._take_in(pool, here, some)

    def mean(self, layer: int) -> NDArray[np.float64]:
        """Σx / n of every word at the layer number `layer`, (words, d); NaN for a word without occurrences."""
        sums = self._of(layer, "mean")
        means: NDArray[np.float64] = (sums / index_on(self.n, sums).unsqueeze(1)).cpu().numpy()
        return means

    def pooled(self, pool: str, layer: int) -> NDArray[np.float64]:
        """Mean, least or greatest coordinates of every word, (words, d); NaN for a word without occurrences."""
        if choose(pool, self.pools, what="pool") == "mean":
            return self.mean(layer)
        found: NDArray[np.float64] = self._of(layer, pool).to(torch.float64).cpu().numpy()
        found[self.n == 0] = np.nan
        return found

    def _of(self, layer: int, pool: str) -> torch.Tensor:
        table = self._tables.get(pool)
        return torch.zeros(self.words, self.dim, dtype=torch.float64) if table is None else table[layer]

    def _take_in(self, pool: str, words: NDArray[np.int64], rows: torch.Tensor) -> None:
        """Rows (layers, some words, d) of distinct words into the whole table."""
        table = self._table(pool, rows)
        index = index_on(words, table)
        if pool == "mean":
            table.index_add_(1, index, rows.to(table))
        else:
            further = torch.minimum if pool == "min" else torch.maximum
            table.index_copy_(1, index, further(table.index_select(1, index), rows.to(table)))

    def _table(self, pool: str, like: torch.Tensor) -> torch.Tensor:
        table = self._tables.get(pool)
        dtype = torch.float64 if pool == "mean" else like.dtype
        if table is None:
            shape = (self.layers, self.words, self.dim)
            table = torch.full(shape, _EMPTY.get(pool, 0.0), dtype=dtype, device=like.device)
        elif dtype.itemsize > table.dtype.itemsize:  # a finer shard is merged into a coarser one
            table = table.to(dtype)
        self._tables[pool] = table.to(like.device)
        return self._tables[pool]

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        seen = np.flatnonzero(other.n)
        for pool, theirs in other._tables.items():
            mine = self._tables.get(pool)
            rows = theirs.index_select(1, index_on(seen, theirs))
            self._take_in(pool, seen, rows if mine is None else rows.to(mine.device))

    def state(self) -> State:
        """Only the words that were seen take room."""
        seen = np.flatnonzero(self.n)
        state: State = {"seen": seen, "n": self.n[seen]}
        for pool in self.pools:
            table = self._tables.get(pool)
            if table is None:
                state[pool] = np.empty((self.layers, 0, self.dim))
            else:
                state[pool] = table.index_select(1, index_on(seen, table)).cpu().numpy()
        return state

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        seen = state["seen"]
        made.n[seen] = state["n"]
        if len(seen):
            for pool in made.pools:
                made._take_in(pool, seen, torch.from_numpy(state[pool].copy()))
        return made
