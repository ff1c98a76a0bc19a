"""The partition function on given directions: I(W) over any number of points, in a second pass."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded
from limbeck.seeds import hash_text
from limbeck.state import State


class Partition:
    """log Σ exp(±u·x) for each column u of `basis` (layers, d, d), in log space, and odd moments of u·x.

    sums     (layers, 2, d)  log-sum-exp of +u and −u
    moments  (layers, 3, d)  Σ u·x, Σ (u·x)², Σ (u·x)³: they decide the sign of the one-sided I(W)
    """

    name: ClassVar[str] = "partition"

    def __init__(self, *, layers: int, dim: int, basis: torch.Tensor) -> None:
        self.layers = layers
        self.dim = dim
        self.basis = basis.to(torch.float64)
        self.n = 0
        self.greatest = 0.0  # norm
        self.sums = torch.full((layers, 2, dim), -torch.inf, dtype=torch.float64)
        self.moments = torch.zeros(layers, 3, dim, dtype=torch.float64)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "basis": hash_text(self.basis.cpu().numpy().tobytes().hex())}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        if not len(batch):
            return
        device = batch.vectors.device
        self.n += len(batch)
        self.basis, self.sums, self.moments = (t.to(device) for t in (self.basis, self.sums, self.moments))
        self.greatest = max(self.greatest, float(batch.norms.max()))
        for layer in range(self.layers):
            along = batch.vectors[layer].to(torch.float64) @ self.basis[layer]  # (n, d)
            both = torch.stack([torch.logsumexp(along, 0), torch.logsumexp(-along, 0)])
            self.sums[layer] = torch.logaddexp(self.sums[layer], both)
            self.moments[layer] += torch.stack([along.sum(0), along.square().sum(0), along.pow(3).sum(0)])

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.n += other.n
        self.greatest = max(self.greatest, other.greatest)
        self.sums = torch.logaddexp(self.sums, other.sums.to(self.sums.device))
        self.moments = self.moments + other.moments.to(self.moments.device)

    def state(self) -> State:
        return {
            "n": np.array(self.n),
            "greatest": np.array(self.greatest),
            "basis": self.basis.cpu().numpy().copy(),
            "sums": self.sums.cpu().numpy().copy(),
            "moments": self.moments.cpu().numpy().copy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(layers=settings["layers"], dim=settings["dim"], basis=torch.from_numpy(state["basis"].copy()))
        made.n = int(state["n"])
        made.greatest = float(state["greatest"])
        made.sums = torch.from_numpy(state["sums"].copy())
        made.moments = torch.from_numpy(state["moments"].copy())
        return made
