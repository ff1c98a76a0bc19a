"""Mean and covariance of all vectors, layer by layer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import torch

from limbeck import kernels
from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded
from limbeck.state import State

SPLIT_PRECISION = 2.0**-16  #: of two bfloat16 parts
BLOCK = 256  #: columns of a block of products; half of a symmetric matrix need not be computed
#: float32 products are summed over at most this many rows before float64 takes them
ROWS_AT_ONCE = {"cpu": 4096, "cuda": 131_072}


class Moments:
    """n, mean and scatter Σ(x − mean)(x − mean)ᵀ by Chan's update, in float64.

    Products are made in the vectors' own precision after a shift to the mean of the first rows of a shard, so
    that large means (rogue dimensions) do not eat the digits of small variances. On CUDA each float32 is split
    into two bfloat16 parts: two tensor-core products (about 16 bits, float32 sums) instead of one slow
    float32 product; the measures made of them stay within 1e-4.
    """

    name: ClassVar[str] = "moments"

    def __init__(self, *, layers: int, dim: int) -> None:
        self.layers = layers
        self.dim = dim
        self.n = 0
        self.precision = 0.0  # relative rounding of the coarsest products that are in scatter
        self.mean = torch.zeros(layers, dim, dtype=torch.float64)
        self.scatter = torch.zeros(layers, dim, dim, dtype=torch.float64)
        self._shift: torch.Tensor | None = None  # about where the vectors of this shard lie

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        self.mean = self.mean.to(batch.vectors.device)
        self.scatter = self.scatter.to(batch.vectors.device)
        portions = batch.vectors.split(ROWS_AT_ONCE.get(batch.vectors.device.type, 4096), dim=1)
        whole = batch.sums_by_sentence.sum(dim=1, dtype=torch.float64) if len(portions) == 1 and len(batch) else None
        for rows in portions:
            if rows.shape[1]:
                self._add(rows, whole)

    def _add(self, rows: torch.Tensor, total: torch.Tensor | None) -> None:
        """Take rows in; `total` is their sum, where it is known already."""
        n = rows.shape[1]
        narrow = torch.float64 if rows.dtype == torch.float64 else torch.float32
        # the shift as it is subtracted: rounded to the precision of the products
        if total is None:
            total = rows.sum(dim=1, dtype=torch.float64)
        if self._shift is None:
            self._shift = total / n
        shift = self._shift.to(rows.device, narrow)
        products = _shifted_products(rows, shift)
        split = rows.device.type == "cuda" and narrow == torch.float32
        self.precision = max(self.precision, SPLIT_PRECISION if split else torch.finfo(narrow).eps)
        sums = total - n * shift.to(torch.float64)  # Σ(x − shift)
        # the batch's own moments, about its own mean
        products -= torch.einsum("li,lj->lij", sums, sums / n)
        self._combine(n, shift.to(torch.float64) + sums / n, products)

    def settle(self) -> None:
        """A shard ends: the rounding of what follows depends on the next shard alone."""
        self._shift = None

    def _combine(self, n: int, mean: torch.Tensor, scatter: torch.Tensor) -> None:
        """Chan, Golub & LeVeque (1983): moments of two sets together."""
        total = self.n + n
        delta = mean - self.mean
        self.scatter += scatter
        self.scatter += torch.einsum("li,lj->lij", delta, delta * (self.n * n / total))
        self.mean = self.mean + delta * (n / total)
        self.n = total

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.precision = max(self.precision, other.precision)
        if other.n:
            device = self.mean.device
            self._combine(other.n, other.mean.to(device), other.scatter.to(device))

    @property
    def covariance(self) -> torch.Tensor:
        """Centred second moment E[(x − μ)(x − μ)ᵀ], (layers, d, d)."""
        return self.scatter / self.n

    @property
    def second_moment(self) -> torch.Tensor:
        """Raw second moment E[x xᵀ], (layers, d, d)."""
        return self.scatter / self.n + torch.einsum("li,lj->lij", self.mean, self.mean)

    def state(self) -> State:
        return {
            "n": np.array(self.n),
            "precision": np.array(self.precision),
            "mean": self.mean.cpu().numpy().copy(),  # on the CPU numpy() is a view, and update adds in place
            "scatter": self.scatter.cpu().numpy().copy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.n = int(state["n"])
        made.precision = float(state["precision"])
        made.mean = torch.from_numpy(state["mean"].copy())
        made.scatter = torch.from_numpy(state["scatter"].copy())
        return made


def _shifted_products(rows: torch.Tensor, shift: torch.Tensor) -> torch.Tensor:
    """Σ(x − shift)(x − shift)ᵀ of rows (layers, n, d), in float64."""
    if kernels.usable(rows):
        high, low = kernels.split(rows.contiguous(), shift)
    elif rows.device.type == "cuda" and shift.dtype == torch.float32:
        shifted = rows.to(torch.float32) - shift.unsqueeze(1)
        high = shifted.to(torch.bfloat16)
        low = (shifted - high).to(torch.bfloat16)
    else:
        return symmetric_products(rows.to(shift.dtype) - shift.unsqueeze(1))
    across = high.transpose(1, 2)
    mixed = torch.bmm(across, low, out_dtype=torch.float32)
    return (torch.bmm(across, high, out_dtype=torch.float32) + mixed + mixed.transpose(1, 2)).to(torch.float64)


def symmetric_products(x: torch.Tensor) -> torch.Tensor:
    """Σ x xᵀ of x (layers, n, d), in float64: blocks on and above the diagonal, the rest mirrored."""
    layers, _, d = x.shape
    products = torch.empty(layers, d, d, dtype=torch.float64, device=x.device)
    across = x.transpose(1, 2)
    for i in range(0, d, BLOCK):
        products[:, i : i + BLOCK, i:] = torch.bmm(across[:, i : i + BLOCK], x[:, :, i:])
        products[:, i + BLOCK :, i : i + BLOCK] = products[:, i : i + BLOCK, i + BLOCK :].transpose(1, 2)
    return products
