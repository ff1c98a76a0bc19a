"""A step of X2Static on CUDA as two kernels: scores with their slopes, then sums of contexts with Adam's update.

A step has some ten thousand rows to read and to move, which a large GPU does in less time than it takes to launch the
forty tensor operations of `limbeck.distillation.x2static.objectives`. These give the same but for rounding.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from limbeck import kernels
from limbeck.distillation.x2static.adam import BETAS, EPSILON, Rows, StepRuns

NARROW = (torch.float32, torch.bfloat16)


def usable(vectors: Rows) -> bool:
    """Whether the kernels take these: on CUDA, all dimensions in this process."""
    fitting = vectors.values.dtype == torch.float32 and vectors.first.dtype in NARROW
    return vectors.values.device.type == "cuda" and fitting and vectors.group.size == 1 and kernels.available()


@cache
def _compiled() -> Any:
    """The kernels, compiled on first use: Triton is not there without CUDA."""
    import triton
    import triton.language as tl

    @triton.jit
    def score(  # type: ignore[no-untyped-def]
        values, ids, contexts, context_of, slopes, losses, share, clamp, d,
        WIDTH: tl.constexpr, DISTINCT: tl.constexpr, CLAMP: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Of a target and its negatives: the loss, and its derivative by each score, times `share`."""
        target = tl.program_id(0).to(tl.int64)
        column = tl.arange(0, BLOCK)
        inside = column < d
        context = tl.load(contexts + tl.load(context_of + target) * d + column, mask=inside, other=0.0)
        own = tl.load(ids + target * WIDTH)
        total = 0.0
        for place in range(WIDTH):
            word = tl.load(ids + target * WIDTH + place)
            row = tl.load(values + word * d + column, mask=inside, other=0.0)
            product = tl.sum(row * context)
            sign = tl.where(place == 0, 1.0, -1.0)
            signed = sign * product
            weight = 1.0
            if CLAMP:
                weight = tl.where(tl.abs(signed) <= clamp, 1.0, 0.0)
                signed = tl.minimum(tl.maximum(signed, -clamp), clamp)
            loss = tl.maximum(-signed, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(signed)))
            slope = -sign * weight / (1.0 + tl.exp(signed))
            if DISTINCT:
                other = tl.where((place == 0) | (word != own), 1.0, 0.0)
                loss *= other
                slope *= other
            tl.store(slopes + target * WIDTH + place, slope * share)
            total += tl.where(product == product, loss, product)  # least and greatest let NaN go
        tl.store(losses + target, total)

    @triton.jit(do_not_specialize=["before", "entries", "seed"])
    def move(  # type: ignore[no-untyped-def]
        values, first, second, rows, starts, order, slopes, contexts, context_of, before, entries, spare, rate, seed, d,
        WIDTH: tl.constexpr, BETA1: tl.constexpr, BETA2: tl.constexpr, EPS: tl.constexpr,
        ROUNDED: tl.constexpr, BLOCK: tl.constexpr,
    ):  # fmt: skip
        """Adam's step of the row of a run: its gradient is a sum of contexts, added in order."""
        run = tl.program_id(0).to(tl.int64)
        row = tl.load(rows + run)
        if row != spare:
            column = tl.arange(0, BLOCK)
            inside = column < d
            begin = tl.load(starts + run) - before
            end = tl.load(starts + run + 1, mask=run + 1 < entries, other=before + entries) - before
            gradient = tl.zeros((BLOCK,), dtype=tl.float32)
            for at in range(begin, end):
                entry = tl.load(order + at)
                context = tl.load(context_of + entry // WIDTH)
                some = tl.load(contexts + context * d + column, mask=inside, other=0.0)
                gradient += tl.load(slopes + entry) * some
            to = row * d + column
            mean = tl.load(first + to, mask=inside, other=0.0).to(tl.float32)
            mean += (gradient - mean) * (1 - BETA1)
            square = tl.load(second + to, mask=inside, other=0.0).to(tl.float32)
            square = square * BETA2 + gradient * gradient * (1 - BETA2)
            moved = tl.load(values + to, mask=inside, other=0.0) - rate * mean / (tl.sqrt(square) + EPS)
            tl.store(values + to, moved, mask=inside)
            if ROUNDED:  # up or down at random, see `Rows._rounded`
                noise = tl.randint(seed, (run * BLOCK + column).to(tl.int32)).to(tl.uint32, bitcast=True)
                up = ((mean.to(tl.uint32, bitcast=True) + (noise & 0xFFFF)) >> 16) << 16
                tl.store(first + to, up.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=inside)
                up = ((square.to(tl.uint32, bitcast=True) + (noise >> 16)) >> 16) << 16
                tl.store(second + to, up.to(tl.float32, bitcast=True).to(tl.bfloat16), mask=inside)
            else:
                tl.store(first + to, mean, mask=inside)
                tl.store(second + to, square, mask=inside)

    return triton, score, move


def score(
    values: torch.Tensor,
    ids: torch.Tensor,
    contexts: torch.Tensor,
    context_of: torch.Tensor,
    *,
    distinct: bool,
    clamp: float,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of each target (n,), and the derivative of their mean by the scores (n, 1 + negatives)."""
    triton, kernel, _ = _compiled()
    n, width = ids.shape
    slopes = torch.empty(n, width, dtype=torch.float32, device=values.device)
    losses = torch.empty(n, dtype=torch.float32, device=values.device)
    d = values.shape[1]
    kernel[(n,)](
        values, ids, contexts, context_of, slopes, losses, 1 / n, clamp, d,
        WIDTH=width, DISTINCT=distinct, CLAMP=clamp > 0, BLOCK=triton.next_power_of_2(d), num_warps=4,
    )  # fmt: skip
    return losses, slopes


def move(
    vectors: Rows,
    runs: StepRuns,
    index: int,
    slopes: torch.Tensor,
    contexts: torch.Tensor,
    context_of: torch.Tensor,
    learning_rate: float,
) -> None:
    """One step of Adam; the runs, found without counting them, are of entries (target, place) of `slopes`."""
    assert not runs.counted
    triton, _, kernel = _compiled()
    low, high = int(runs.bounds[index]), int(runs.bounds[index + 1])
    d = vectors.values.shape[1]
    rate, seed = vectors.next_step(learning_rate)
    kernel[(high - low,)](
        vectors.values, vectors.first, vectors.second, runs.rows[low:high], runs.starts[low:high], runs.order[low:high],
        slopes, contexts, context_of, low, high - low, vectors.words, rate, seed, d,
        WIDTH=slopes.shape[1], BETA1=BETAS[0], BETA2=BETAS[1], EPS=EPSILON,
        ROUNDED=vectors.first.dtype == torch.bfloat16, BLOCK=triton.next_power_of_2(d), num_warps=4,
    )  # fmt: skip
