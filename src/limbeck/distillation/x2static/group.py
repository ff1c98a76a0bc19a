"""Processes that train together, started by torchrun: each keeps some of the dimensions of every vector.

A score is a sum over dimensions, so all that a step has to add up between processes is a number for each target and
negative, and what follows from it each does for its own dimensions alone, optimiser included. Every process sees every
step, in the order of one process: together they reach its vectors, up to the rounding of these sums.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import torch
from torch import distributed
from torch.nn import functional

from limbeck.distillation.x2static.contexts import Gathered
from limbeck.encoders.memory import is_out_of_memory
from limbeck.errors import LimbeckError

CHUNK = 1 << 16  #: rows of a matrix that are sent at once
PATIENCE = timedelta(days=30)  #: with one that has more to do, such as to plan a text


class Group:
    """The processes of a torch.distributed group; without one, this process alone, and nothing is sent.

    rank  number of this process; the first, 0, writes files and speaks
    size  of the group
    """

    def __init__(self) -> None:
        together = distributed.is_available() and distributed.is_initialized()
        self.rank = distributed.get_rank() if together else 0
        self.size = distributed.get_world_size() if together else 1
        # a group whose tensors go from GPU to GPU needs another for what is on the host
        needed = self.size > 1 and _on_gpus()
        self._host = distributed.new_group(backend="gloo", timeout=PATIENCE) if needed else None

    @property
    def first(self) -> bool:
        return self.rank == 0

    # dimensions

    def width(self, dim: int) -> int:
        """Dimensions that every process keeps: as many as the others, so the last may have some that stay zero."""
        return -(-dim // self.size)

    def own(self, rows: torch.Tensor, *, rank: int | None = None) -> torch.Tensor:
        """The dimensions of a process (this one) of rows (n, dim)."""
        if self.size == 1:
            return rows
        width = self.width(rows.shape[1])
        start = width * (self.rank if rank is None else rank)
        part = rows[:, start : start + width]
        return functional.pad(part, (0, width - part.shape[1])).contiguous()

    def sum(self, partial: torch.Tensor) -> torch.Tensor:
        """Of what each process has found over its own dimensions."""
        if self.size > 1:
            with _told():
                distributed.all_reduce(partial)
        return partial

    def whole(self, rows: torch.Tensor, dim: int, *, everywhere: bool = True) -> torch.Tensor | None:
        """Rows (n, dim) on the host, of which each process has its own dimensions; else in the first alone."""
        if self.size == 1:
            return rows.cpu()
        kept = everywhere or self.first
        found = torch.empty(len(rows), dim, dtype=rows.dtype) if kept else None
        for low in range(0, len(rows), CHUNK):
            some = _as_bytes(rows[low : low + CHUNK])
            parts = [torch.empty_like(some) for _ in range(self.size)]
            with _told():
                distributed.all_gather(parts, some)
            if found is not None:
                joined = torch.cat([part.view(rows.dtype) for part in parts], dim=1)
                found[low : low + CHUNK] = joined[:, :dim].cpu()
        return found

    def divide(self, rows: torch.Tensor | None, into: torch.Tensor) -> None:
        """Give every process its own dimensions of rows (n, dim), which the first has; `into` is where they go."""
        if self.size == 1:
            assert rows is not None
            into.copy_(rows)
            return
        for low in range(0, len(into), CHUNK):
            place = into[low : low + CHUNK]
            some = None if rows is None else rows[low : low + CHUNK].to(into.device, into.dtype)
            place.copy_(self.send_own(some, place, source=0))

    def send_own(self, rows: torch.Tensor | None, like: torch.Tensor, *, source: int) -> torch.Tensor:
        """This process's dimensions of rows that the process `source` has; `like` is a tensor of the right shape."""
        found = torch.empty_like(_as_bytes(like))
        parts = None
        if self.rank == source:
            assert rows is not None
            parts = [_as_bytes(self.own(rows, rank=rank)) for rank in range(self.size)]
        with _told():
            distributed.scatter(found, parts, src=source)
        return found.view(like.dtype)

    # anything

    def share(self, value: Any, *, source: int = 0) -> Any:
        """What the process `source` has."""
        if self.size == 1:
            return value
        box = [value]
        with _told():
            distributed.broadcast_object_list(box, src=source, group=self._host)
        return box[0]

    def share_shard(self, shard: Gathered | None, *, source: int, dim: int, device: torch.device) -> Gathered | None:
        """A shard that the process `source` has read: all of its words, and this process's dimensions of contexts."""
        if self.size == 1:
            return shard
        mine = self.rank == source
        nothing = torch.empty(0, 0)
        own = replace(shard, contexts=nothing) if mine and shard is not None else None
        told: Gathered | None = self.share(own, source=source)
        if told is None:
            return None
        if dim == 0:  # contexts that are trained too
            contexts = torch.empty(len(told.texts), 0, device=device)
        else:
            like = torch.empty(len(told.texts), self.width(dim), device=device)
            contexts = self.send_own(shard.contexts if mine and shard is not None else None, like, source=source)
        return replace(told, contexts=contexts)


def _on_gpus() -> bool:
    return "nccl" in str(distributed.get_backend())


def _as_bytes(rows: torch.Tensor) -> torch.Tensor:
    """As every backend can send them: not each knows bfloat16."""
    return rows.contiguous().view(torch.uint8)


@contextmanager
def _told() -> Iterator[None]:
    """Around what needs the other processes: where one is gone, that is said. Its cause: a run may go on from there."""
    try:
        yield
    except RuntimeError as error:
        if is_out_of_memory(error):
            raise
        lost = ConnectionError(" ".join(str(error).split())[:300])
        raise LimbeckError(
            "another of the processes that train together has stopped; where it says why, mend that, then: the same "
            "command with --existing=resume.",
            code="worker_lost",
        ) from lost
