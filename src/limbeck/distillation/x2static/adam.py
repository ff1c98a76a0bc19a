"""A matrix trained row by row: Adam whose moments change only in the rows that a step touches.

What torch's SparseAdam does on coalesced gradients, without building sparse tensors, and without the host waiting for
the device to say how many rows there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from limbeck.distillation.x2static.group import Group
from limbeck.seeds import generator_for, seed_of
from limbeck.state import State
from limbeck.transfer import send

Ints = NDArray[np.int64]
BETAS = (0.9, 0.999)
EPSILON = 1e-8
FIRST_ROWS = 1 << 16  #: rows that are drawn at once at the start


@dataclass(frozen=True)
class Runs:
    """Entries of a step's sparse gradient brought together by row.

    order    (n,) entries sorted by row
    rows     (runs,) the row of each run
    starts   (runs,) where each run begins in `order`
    """

    order: torch.Tensor
    rows: torch.Tensor
    starts: torch.Tensor

    def sums(self, of: torch.Tensor, entries: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        """Σ weight × of[entry] of each run, (runs, d). Added in order, so the same each time."""
        order = self.order
        return functional.embedding_bag(
            entries[order], of, self.starts, mode="sum", per_sample_weights=weights[order].to(of.dtype)
        )

    def sizes(self) -> torch.Tensor:
        """Entries of each run, (runs,)."""
        return torch.diff(self.starts, append=self.starts.new_full((1,), len(self.order)))


class StepRuns:
    """The runs of every step of a shard, found by one sort.

    ids      (n,) row of each entry, step after step
    bounds   (steps + 1,) where the entries of each step begin
    spare    a row that is nobody's
    counted  whether only runs that exist are listed. On an accelerator nobody waits for their number: there are as many
             as entries, those that are none are empty and belong to the spare row
    """

    def __init__(self, ids: torch.Tensor, bounds: Ints, spare: int, *, counted: bool | None = None) -> None:
        device = ids.device
        self.counted = device.type == "cpu" if counted is None else counted
        self.bounds = bounds
        sizes = send(np.diff(bounds), device)
        step = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes, output_size=int(bounds[-1]))
        keys, order = torch.sort(step * (spare + 1) + ids, stable=True)
        self.order = order - send(bounds[:-1], device)[step]
        begins = torch.ones_like(keys, dtype=torch.bool)
        torch.ne(keys[1:], keys[:-1], out=begins[1:])
        rows = keys % (spare + 1)
        if self.counted:
            self.starts = begins.nonzero().squeeze(1)
            self.rows = rows[self.starts]
            self.run_bounds = np.searchsorted(self.starts.numpy(), bounds)
        else:
            # an entry's start is its own place where it begins a run, else where the next run begins: an empty run
            places = torch.arange(len(keys), device=device)
            self.starts = torch.where(begins, places, len(keys)).flip(0).cummin(0).values.flip(0)
            self.rows = torch.where(begins, rows, spare)
            self.run_bounds = bounds

    def step(self, index: int) -> Runs:
        low, high = int(self.bounds[index]), int(self.bounds[index + 1])
        first, last = int(self.run_bounds[index]), int(self.run_bounds[index + 1])
        return Runs(self.order[low:high], self.rows[first:last], self.starts[first:last] - low)


class Rows:
    """A matrix (words, d) on a device with Adam's moments; one spare row stands behind the words.

    Of several processes that train together each has its own dimensions of all rows.
    """

    def __init__(
        self,
        words: int,
        dim: int,
        *,
        device: torch.device,
        moments: torch.dtype = torch.float32,
        dtype: torch.dtype = torch.float32,
        seed: int = 0,
        group: Group | None = None,
    ) -> None:
        self.words = words
        self.dim = dim
        self.seed = seed
        self.group = group or Group()
        self.step = 0
        width = self.group.width(dim)
        self.values = torch.zeros(words + 1, width, dtype=dtype, device=device)
        self.first = torch.zeros(words + 1, width, dtype=moments, device=device)
        self.second = torch.zeros_like(self.first)

    def fill(self, start: NDArray[np.floating] | None, *names: str) -> None:
        """Begin with given vectors, or with uniform(−1/d, 1/d)."""
        if start is not None:
            self.values[: self.words] = self.group.own(torch.from_numpy(np.ascontiguousarray(start))).to(self.values)
            return
        generator = generator_for(self.seed, "start", *names)
        for low in range(0, self.words, FIRST_ROWS):
            high = min(low + FIRST_ROWS, self.words)
            drawn = generator.uniform(-1 / self.dim, 1 / self.dim, (high - low, self.dim))
            self.values[low:high] = self.group.own(torch.from_numpy(drawn)).to(self.values)

    def update(self, rows: torch.Tensor, gradients: torch.Tensor, learning_rate: float) -> None:
        """One step of Adam on different rows (n,), gradients (n, d)."""
        rate, _ = self.next_step(learning_rate)
        first = self.first.index_select(0, rows).to(gradients.dtype).lerp_(gradients, 1 - BETAS[0])
        second = self.second.index_select(0, rows).to(gradients.dtype)
        second.mul_(BETAS[1]).addcmul_(gradients, gradients, value=1 - BETAS[1])
        moved = second.sqrt().add_(EPSILON)
        torch.div(first, moved, out=moved)
        self.values.index_add_(0, rows, moved, alpha=-rate)
        self.first.index_copy_(0, rows, self._rounded(first, "first"))
        self.second.index_copy_(0, rows, self._rounded(second, "second"))

    def next_step(self, learning_rate: float) -> tuple[float, int]:
        """Count a step; its rate, in which the moments' beginning at zero is allowed for, and a seed of its own."""
        self.step += 1
        unbias = math.sqrt(1 - BETAS[1] ** self.step) / (1 - BETAS[0] ** self.step)
        return learning_rate * unbias, seed_of(self.seed, "rounding", self.step) >> 33

    def _rounded(self, values: torch.Tensor, name: str) -> torch.Tensor:
        """As moments are kept. bfloat16 has 8 bits, and the second moment moves by a thousandth at a time: rounded to
        the nearest it would stand still, so it is rounded up or down at random, right in the mean."""
        if self.first.dtype != torch.bfloat16:
            return values.to(self.first.dtype)
        own = [self.group.rank] if self.group.rank else []
        seed = seed_of(self.seed, "rounding", name, self.step, *own)
        generator = torch.Generator(values.device).manual_seed(seed >> 1)
        noise = torch.randint(0, 1 << 16, values.shape, dtype=torch.int32, device=values.device, generator=generator)
        bits = (values.float().contiguous().view(torch.int32) + noise) & -65536
        return bits.view(torch.float32).to(torch.bfloat16)

    def matrix(self) -> NDArray[np.float32]:
        """The words' vectors, on the host."""
        whole = self.group.whole(self.values[: self.words], self.dim)
        assert whole is not None
        found: NDArray[np.float32] = whole.to(torch.float32).numpy()
        return found

    def state(self, prefix: str = "") -> State:
        """All there is to go on from; of several processes the first has it, and all have to ask."""
        found: State = {f"{prefix}step": np.array(self.step)}
        for name, tensor in self._tensors():
            whole = self.group.whole(tensor[: self.words], self.dim, everywhere=False)
            if whole is not None:
                found[prefix + name] = _plain(whole)
        return found

    def restore(self, state: State, prefix: str = "") -> None:
        """Go on from a state; of several processes the first has it, and the others give nothing."""
        self.step = int(self.group.share(state[f"{prefix}step"] if self.group.first else None))
        for name, tensor in self._tensors():
            array = torch.from_numpy(state[prefix + name]) if self.group.first else None
            if array is not None and tensor.dtype == torch.bfloat16:
                array = array.view(torch.bfloat16)
            self.group.divide(array, tensor[: self.words])

    def _tensors(self) -> list[tuple[str, torch.Tensor]]:
        return [("values", self.values), ("first", self.first), ("second", self.second)]


def _plain(tensor: torch.Tensor) -> NDArray[np.generic]:
    """numpy knows no bfloat16: its bits as int16."""
    bits: NDArray[np.generic] = (tensor.view(torch.int16) if tensor.dtype == torch.bfloat16 else tensor).numpy()
    return bits
