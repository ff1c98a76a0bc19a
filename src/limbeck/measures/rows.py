"""Rows of a tensor, a block at a time: in which blocks, and in which precision."""

from __future__ import annotations

import torch

#: rows taken at once: float32 products are summed over no more of them before float64 takes over, and on the CPU what
#: is made of them stays in the cache
ROWS_AT_ONCE = {"cpu": 2048, "cuda": 131_072}


def blocks(x: torch.Tensor) -> range:
    """Where the blocks of rows of x begin; their length is the range's step."""
    return range(0, len(x), ROWS_AT_ONCE.get(x.device.type, 2048))


def narrow(x: torch.Tensor) -> torch.dtype:
    """The dtype that x is computed with: its own, float32 for what is narrower."""
    return torch.float64 if x.dtype == torch.float64 else torch.float32
