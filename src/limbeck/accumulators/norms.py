"""Lengths of vectors: mean, spread, extremes."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.accumulators.unit_sums import GROUPS, group_of
from limbeck.encoded import Encoded, index_on
from limbeck.state import State


class Norms:
    """Σ‖x‖ and Σ‖x‖² by jackknife group of texts, and the extremes of each layer."""

    name: ClassVar[str] = "norms"

    def __init__(self, *, layers: int, dim: int) -> None:
        self.layers = layers
        self.dim = dim
        self.n = np.zeros(GROUPS, dtype=np.int64)
        self.sums = torch.zeros(layers, GROUPS, dtype=torch.float64)
        self.squares = torch.zeros(layers, GROUPS, dtype=torch.float64)
        self.least = torch.full((layers,), float("inf"), dtype=torch.float64)
        self.greatest = torch.zeros(layers, dtype=torch.float64)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        if not len(batch):
            return
        group = group_of(batch.by_text.identities)[batch.by_text.of_row]
        norms = batch.norms.to(torch.float64)  # (layers, n)
        index = index_on(group, norms)
        self.n += np.bincount(group, minlength=GROUPS)
        self.sums = self.sums.to(norms.device).index_add_(1, index, norms)
        self.squares = self.squares.to(norms.device).index_add_(1, index, norms.square())
        self.least = torch.minimum(self.least.to(norms.device), norms.amin(dim=1))
        self.greatest = torch.maximum(self.greatest.to(norms.device), norms.amax(dim=1))

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        device = self.sums.device
        self.n += other.n
        self.sums = self.sums + other.sums.to(device)
        self.squares = self.squares + other.squares.to(device)
        self.least = torch.minimum(self.least, other.least.to(device))
        self.greatest = torch.maximum(self.greatest, other.greatest.to(device))

    def state(self) -> State:
        tensors = {"sums": self.sums, "squares": self.squares, "least": self.least, "greatest": self.greatest}
        return {"n": self.n.copy()} | {name: tensor.cpu().numpy().copy() for name, tensor in tensors.items()}

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.n = state["n"].copy()
        for name in ("sums", "squares", "least", "greatest"):
            setattr(made, name, torch.from_numpy(state[name].copy()))
        return made
