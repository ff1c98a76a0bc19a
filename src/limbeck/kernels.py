"""The few inner loops that decide the speed of a pass, on CUDA: each reads the vectors once.

A pass over a BERT-base on a large GPU leaves about 0.1 µs a word for everything beside the model, which is some ten
readings of a word's vectors. Plain tensor operations need more than that, so the sums that every run makes are fused
here. Elsewhere, or without Triton, the same is done with plain tensor operations (`limbeck.encoded`).
"""

from __future__ import annotations

import importlib.util
from functools import cache
from typing import Any, NamedTuple

import torch

SHORT = 128  #: pieces of a text that `attend` takes


@cache
def available() -> bool:
    return torch.cuda.is_available() and importlib.util.find_spec("triton") is not None


def usable(vectors: torch.Tensor) -> bool:
    """Whether the kernels take these vectors: (layers, n, d) of up to 32 bits, rows contiguous, on CUDA."""
    narrow = vectors.dtype in (torch.float32, torch.bfloat16, torch.float16)
    return vectors.device.type == "cuda" and narrow and vectors.stride(-1) == 1 and available()


class _Kernels(NamedTuple):
    triton: Any
    reduce_runs: Any
    scatter_units: Any
    split: Any
    attend: Any
    add_norm: Any


@cache
def _compiled() -> _Kernels:
    """The kernels, compiled on first use: Triton is not there without CUDA."""
    import triton
    import triton.language as tl

    @triton.jit
    def reduce_runs(x, starts, norms, sums, units, n, d, runs, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """Of each run of rows: norms of its rows, Σx and Σx/‖x‖."""
        run = tl.program_id(0)
        layer = tl.program_id(1).to(tl.int64)
        column = tl.arange(0, BLOCK)
        inside = column < d
        first = tl.load(starts + run)
        last = tl.load(starts + run + 1)
        total = tl.zeros((BLOCK,), dtype=tl.float32)
        unit_total = tl.zeros((BLOCK,), dtype=tl.float32)
        for row in range(first, last):
            at = layer * n + row
            values = tl.load(x + at * d + column, mask=inside, other=0.0).to(tl.float32)
            norm = tl.sqrt(tl.sum(values * values))
            tl.store(norms + at, norm)
            total += values
            unit_total += values / norm
        to = (layer * runs + run) * d + column
        tl.store(sums + to, total, mask=inside)
        tl.store(units + to, unit_total, mask=inside)

    @triton.jit
    def scatter_units(table, ids, x, norms, n, d, rows, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """table[layer, id] += x/‖x‖; rows with an id below 0 are passed over."""
        row = tl.program_id(0).to(tl.int64)
        layer = tl.program_id(1).to(tl.int64)
        to = tl.load(ids + row)
        if to >= 0:
            column = tl.arange(0, BLOCK)
            inside = column < d
            at = layer * n + row
            values = tl.load(x + at * d + column, mask=inside, other=0.0).to(tl.float32)
            values = values / tl.load(norms + at)
            tl.atomic_add(table + (layer * rows + to) * d + column, values, mask=inside, sem="relaxed")

    @triton.jit
    def split(x, shift, high, low, n, d, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """x − shift as two bfloat16 parts."""
        row = tl.program_id(0).to(tl.int64)
        layer = tl.program_id(1).to(tl.int64)
        column = tl.arange(0, BLOCK)
        inside = column < d
        at = (layer * n + row) * d + column
        values = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        values -= tl.load(shift + layer * d + column, mask=inside, other=0.0)
        rounded = values.to(tl.bfloat16)
        tl.store(high + at, rounded, mask=inside)
        tl.store(low + at, (values - rounded.to(tl.float32)).to(tl.bfloat16), mask=inside)

    @triton.jit
    def attend(q, k, v, out, starts, scale, stride, d, LENGTH: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """Attention of one head within one text, which fits a tile: no mask but its end, no loop."""
        text = tl.program_id(0)
        head = tl.program_id(1)
        first = tl.load(starts + text).to(tl.int64)
        length = (tl.load(starts + text + 1) - first).to(tl.int32)
        piece = tl.arange(0, LENGTH)
        column = tl.arange(0, BLOCK)
        here = piece < length
        inside = here[:, None] & (column < d)[None, :]
        at = (first + piece)[:, None] * stride + head * d + column[None, :]
        query = tl.load(q + at, mask=inside, other=0.0)
        key = tl.load(k + at, mask=inside, other=0.0)
        value = tl.load(v + at, mask=inside, other=0.0)
        scores = tl.dot(query, tl.trans(key)) * scale
        scores = tl.where(here[None, :], scores, float("-inf"))
        weights = tl.exp(scores - tl.max(scores, axis=1)[:, None])
        total = tl.sum(weights, axis=1)
        mixed = tl.dot(weights.to(value.dtype), value) / total[:, None]
        tl.store(out + at, mixed.to(value.dtype), mask=inside)

    @triton.jit
    def add_norm(x, other, weight, bias, out, n, d, eps, ROWS: tl.constexpr, BLOCK: tl.constexpr):  # type: ignore[no-untyped-def]
        """Layer normalisation of x + other."""
        row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
        column = tl.arange(0, BLOCK)
        inside = (row < n)[:, None] & (column < d)[None, :]
        at = row[:, None] * d + column[None, :]
        values = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        values += tl.load(other + at, mask=inside, other=0.0).to(tl.float32)
        values = tl.where(inside, values - (tl.sum(values, axis=1) / d)[:, None], 0.0)
        values *= tl.rsqrt(tl.sum(values * values, axis=1) / d + eps)[:, None]
        values *= tl.load(weight + column, mask=column < d, other=0.0).to(tl.float32)[None, :]
        values += tl.load(bias + column, mask=column < d, other=0.0).to(tl.float32)[None, :]
        tl.store(out + at, values.to(out.dtype.element_ty), mask=inside)

    return _Kernels(triton, reduce_runs, scatter_units, split, attend, add_norm)


def reduce_runs(x: torch.Tensor, starts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Norms (layers, n), and Σx and Σx/‖x‖ of each run of rows, (layers, runs, d), float32.

    x is (layers, n, d), contiguous; run r holds the rows from starts[r] to starts[r + 1].
    """
    kernels = _compiled()
    layers, n, d = x.shape
    runs = len(starts) - 1
    norms = torch.empty(layers, n, dtype=torch.float32, device=x.device)
    sums = torch.empty(layers, runs, d, dtype=torch.float32, device=x.device)
    units = torch.empty_like(sums)
    block = kernels.triton.next_power_of_2(d)
    kernels.reduce_runs[(runs, layers)](x, starts, norms, sums, units, n, d, runs, BLOCK=block, num_warps=4)
    return norms, sums, units


def scatter_units(table: torch.Tensor, ids: torch.Tensor, x: torch.Tensor, norms: torch.Tensor) -> None:
    """Add x/‖x‖ to the rows `ids` of table (layers, rows, d), in place; ids below 0 are passed over."""
    kernels = _compiled()
    layers, n, d = x.shape
    block = kernels.triton.next_power_of_2(d)
    kernels.scatter_units[(n, layers)](table, ids, x, norms, n, d, table.shape[1], BLOCK=block, num_warps=4)


def split(x: torch.Tensor, shift: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """x − shift as high + low, two bfloat16 tensors (about 16 bits together); shift is (layers, d) in float32."""
    kernels = _compiled()
    layers, n, d = x.shape
    high = torch.empty(layers, n, d, dtype=torch.bfloat16, device=x.device)
    low = torch.empty_like(high)
    block = kernels.triton.next_power_of_2(d)
    kernels.split[(n, layers)](x, shift, high, low, n, d, BLOCK=block, num_warps=4)
    return high, low


def attend(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, starts: torch.Tensor, longest: int, scale: float
) -> torch.Tensor:
    """Attention within each of many short texts: q, k, v are (all pieces, heads, d), alike and contiguous.

    Text t holds the pieces from starts[t] to starts[t + 1], at most `SHORT` of them.
    """
    kernels = _compiled()
    out = torch.empty_like(q)
    _, heads, d = q.shape
    length = max(16, kernels.triton.next_power_of_2(longest))
    block = max(16, kernels.triton.next_power_of_2(d))
    warps = {16: 1, 32: 2, 64: 4}.get(length, 8)
    kernels.attend[(len(starts) - 1, heads)](
        q, k, v, out, starts, scale, heads * d, d, LENGTH=length, BLOCK=block, num_warps=warps
    )  # fmt: skip
    return out


def add_norm(
    x: torch.Tensor, other: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float
) -> torch.Tensor:
    """Layer normalisation of x + other, whose rows are contiguous: read once where two operations read twice."""
    kernels = _compiled()
    out = torch.empty_like(x)
    d = x.shape[-1]
    n = x.numel() // d
    block = kernels.triton.next_power_of_2(d)
    rows = max(1, 4096 // block)
    kernels.add_norm[(kernels.triton.cdiv(n, rows),)](
        x, other, weight, bias, out, n, d, eps, ROWS=rows, BLOCK=block, num_warps=8
    )  # fmt: skip
    return out
