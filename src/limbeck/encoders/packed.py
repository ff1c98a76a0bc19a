"""Texts read one after another in a single row, without padding: what a GPU does fastest with short ones.

Sentences are some twenty pieces long. Padded to a rectangle, their attention goes through a mask, and takes longer than
all matrix products together. Kernels that know where each text begins need neither padding nor mask: our own for short
texts, each of which fits a tile, flash attention for longer ones. Besides, what a layer adds to its input is added and
normalised in one reading.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from limbeck import kernels
from limbeck.encoders.protocol import Ints
from limbeck.transfer import send

NAME = "limbeck_packed"  #: of our attention, among those that transformers knows
#: models that know of a text's other pieces by attention alone, and are told positions
KINDS = ("bert", "camembert", "distilbert", "electra", "roberta", "xlm-roberta")
ALIKE = 0.98  #: least cosine of a vector read both ways; half precision leaves 0.999, a wrong position 0.9 or less


@dataclass(frozen=True)
class Row:
    """Texts in a row, on the device."""

    pieces: torch.Tensor  # (1, all pieces)
    positions: torch.Tensor  # (1, all pieces), each counted in its own text
    starts: torch.Tensor  # (texts + 1,) int32
    longest: int

    @classmethod
    def of(cls, pieces: NDArray[np.integer], lengths: Ints, *, first: int, device: torch.device) -> Row:
        """`first` is the number of the first position."""
        starts = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
        positions = np.arange(len(pieces)) - np.repeat(starts[:-1], lengths) + first
        both = send(np.stack([pieces.astype(np.int64), positions]), device)  # one copy instead of two
        return cls(both[:1], both[1:], send(starts.astype(np.int32), device), int(lengths.max()))


def cut_row(lengths: Ints, budget: int) -> list[int]:
    """Cut texts in their order into rows of at most `budget` pieces, one text at least."""
    ends = np.cumsum(lengths)
    cuts = [0]
    while cuts[-1] < len(lengths):
        before = int(ends[cuts[-1] - 1]) if cuts[-1] else 0
        cuts.append(max(int(np.searchsorted(ends, before + budget, side="right")), cuts[-1] + 1))
    return cuts


@contextmanager
def packed(model: Any) -> Iterator[None]:
    """Within, the model reads rows: call it with `of_row(row)`. Its configuration is changed meanwhile: no threads."""
    _register()
    usual = model.config._attn_implementation
    model.config._attn_implementation = NAME  # transformers makes no mask for an attention that it has no mask for
    sums = [module for module in model.modules() if _adds_and_norms(module)]
    for module in sums:
        module.forward = partial(_add_and_norm, module)
    try:
        yield
    finally:
        model.config._attn_implementation = usual
        for module in sums:
            del module.forward


def _adds_and_norms(module: torch.nn.Module) -> bool:
    """Whether it is what BERT's kind ends both halves of a layer with."""
    return (
        type(module).__name__.endswith("Output")  # first, since every module is asked at every batch
        and isinstance(getattr(module, "dense", None), torch.nn.Linear)
        and isinstance(getattr(module, "LayerNorm", None), torch.nn.LayerNorm)
    )


def _add_and_norm(module: Any, hidden_states: torch.Tensor, input_tensor: torch.Tensor) -> torch.Tensor:
    """In its place: nothing is dropped, since a model that is read does not learn."""
    more, norm = module.dense(hidden_states), module.LayerNorm
    if more.device.type == "cuda" and kernels.available():
        return kernels.add_norm(more, input_tensor.contiguous(), norm.weight, norm.bias, norm.eps)
    made: torch.Tensor = norm(more + input_tensor)
    return made


@cache
def _register() -> None:
    """Make our attention known to transformers."""
    from transformers import AttentionInterface

    AttentionInterface.register(NAME, lambda *args, **kwargs: _attention(*args, **kwargs))


def of_row(row: Row) -> dict[str, Any]:
    """How a model is told of a row."""
    return {"input_ids": row.pieces, "position_ids": row.positions, "row_starts": row.starts, "longest": row.longest}


def _attention(
    module: Any,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    *,
    scaling: float | None = None,
    row_starts: torch.Tensor,
    longest: int,
    **_: Any,
) -> tuple[torch.Tensor, None]:
    """Each text of a row by itself; query, key, value are (1, heads, all pieces, d)."""
    if query.device.type == "cuda":
        usual = query.shape[-1] ** -0.5
        q, k, v = (each[0].transpose(0, 1).contiguous() for each in (query, key, value))
        if longest <= kernels.SHORT and kernels.available():
            return kernels.attend(q, k, v, row_starts, longest, usual if scaling is None else scaling)[None], None
        from torch.nn.attention.varlen import varlen_attn

        if scaling is not None and scaling != usual:
            q = q * (scaling / usual)
        mixed = varlen_attn(q, k, v, row_starts, row_starts, longest, longest)
        assert isinstance(mixed, torch.Tensor)  # nothing else was asked for
        return mixed[None], None
    edges = row_starts.tolist()
    each = []
    for low, high in itertools.pairwise(edges):
        q, k, v = (part[:, :, low:high] for part in (query, key, value))
        each.append(functional.scaled_dot_product_attention(q, k, v, scale=scaling))
    return torch.cat(each, dim=2).transpose(1, 2), None


def alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether vectors (n, d) are the same but for rounding."""
    return bool((functional.cosine_similarity(one.float(), other.float(), dim=-1) > ALIKE).all())
