"""Sums of unit vectors, from which the mean cosine of all pairs follows without pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, index_on
from limbeck.seeds import hash_ids
from limbeck.state import State

#: texts are dealt into this many groups by the hash of their identity, for a delete-a-group jackknife
GROUPS = 100


class UnitSums:
    """Σû over everything and Σ_c of squared sums within each text c, kept by group of texts.

    sums     (layers, groups, d)  Σû
    squares  (layers, groups, d)  Σ_c (Σ_{i∈c} û_i)², coordinate by coordinate
    n        (groups,)            number of occurrences
    pairs    (groups,)            Σ_c n_c²
    """

    name: ClassVar[str] = "unit_sums"

    def __init__(self, *, layers: int, dim: int) -> None:
        self.layers = layers
        self.dim = dim
        self.n = np.zeros(GROUPS, dtype=np.int64)
        self.pairs = np.zeros(GROUPS, dtype=np.int64)
        self.sums = torch.zeros(layers, GROUPS, dim, dtype=torch.float64)
        self.squares = torch.zeros(layers, GROUPS, dim, dtype=torch.float64)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        if not len(batch):
            return
        texts = batch.by_text
        group = group_of(texts.identities)
        self.n += np.bincount(group, weights=texts.sizes, minlength=GROUPS).astype(np.int64)
        self.pairs += np.bincount(group, weights=texts.sizes**2, minlength=GROUPS).astype(np.int64)
        sums = batch.unit_sums_by_text  # (layers, texts, d)
        # sums by group as a product with the groups' members: (groups, texts) @ (texts, d)
        members = torch.nn.functional.one_hot(index_on(group, sums), GROUPS).T.to(sums.dtype)
        self.sums = self.sums.to(sums.device) + members @ sums
        self.squares = self.squares.to(sums.device) + members @ sums.square()

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        self.pairs += other.pairs
        self.sums = self.sums + other.sums.to(self.sums.device)
        self.squares = self.squares + other.squares.to(self.squares.device)

    def state(self) -> State:
        return {
            "n": self.n.copy(),
            "pairs": self.pairs.copy(),
            "sums": self.sums.cpu().numpy().copy(),
            "squares": self.squares.cpu().numpy().copy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.n = state["n"].copy()
        made.pairs = state["pairs"].copy()
        made.sums = torch.from_numpy(state["sums"].copy())
        made.squares = torch.from_numpy(state["squares"].copy())
        return made


def group_of(texts: np.ndarray[Any, np.dtype[np.int64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The jackknife group of each text, the same however the work was split."""
    return (hash_ids(texts) % np.uint64(GROUPS)).astype(np.int64)
