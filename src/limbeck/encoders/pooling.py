"""Pieces to units on the device. Indices are made on the host, so nothing here waits for the device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch.nn import functional

from limbeck.encoders.protocol import Ints
from limbeck.errors import choose
from limbeck.transfer import send

POOLINGS = ("mean", "first", "last", "sum", "max", "min")


@dataclass(frozen=True)
class Pooling:
    """Where each unit is read from a batch of hidden states (windows, length, d).

    Most words are one piece, so all units are first read as one piece each; the rows of units
    with several pieces are then written over.
    """

    kind: str
    read: torch.Tensor  # (units,) the piece, in the flattened batch, that a unit of one piece is
    rows: torch.Tensor  # (several,) units of several pieces
    parts: torch.Tensor  # their pieces, in the flattened batch
    bounds: torch.Tensor  # (several,) where each unit's parts begin

    @classmethod
    def plan(cls, kind: str, begin: Ints, count: Ints, device: torch.device) -> Pooling:
        """`begin`, `count`: first piece of each unit, in the flattened batch, and number of its pieces."""
        choose(kind, POOLINGS, what="pooling")
        several = np.flatnonzero(count > 1) if kind not in ("first", "last") else np.zeros(0, dtype=np.int64)
        sizes = count[several]
        bounds = np.cumsum(sizes) - sizes
        parts = np.arange(int(sizes.sum()), dtype=np.int64) + np.repeat(begin[several] - bounds, sizes)
        read = begin + count - 1 if kind == "last" else begin
        return cls(kind, *(send(array, device) for array in (read, several, parts, bounds)))

    def __call__(self, states: Sequence[torch.Tensor], out: torch.Tensor | None = None) -> torch.Tensor:
        """Hidden states, (windows, length, d) each, to vectors (layers, units, d) of the same dtype."""
        if out is None:
            shape = (len(states), len(self.read), states[0].shape[-1])
            out = torch.empty(shape, dtype=states[0].dtype, device=states[0].device)
        for layer, state in enumerate(states):
            flat = state.reshape(-1, state.shape[-1])
            torch.index_select(flat, 0, self.read, out=out[layer])
            if len(self.rows):
                # Low precision is summed in float32. A bag adds in order of the pieces, so the result is the
                # same each time, which scattered additions on a GPU are not.
                parts = flat.index_select(0, self.parts)
                parts = parts if parts.dtype == torch.float64 else parts.float()
                order = torch.arange(len(parts), device=parts.device)
                if self.kind == "min":  # no bag knows the least: it is the greatest of the opposites
                    pooled = -functional.embedding_bag(order, -parts, self.bounds, mode="max")
                else:
                    pooled = functional.embedding_bag(order, parts, self.bounds, mode=self.kind)
                out[layer].index_copy_(0, self.rows, pooled.to(out.dtype))
        return out
