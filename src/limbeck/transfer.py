"""Between host and device, without anybody waiting.

A GPU copies from ordinary memory only once it has nothing else to do, and the host, which should be launching the next
batch, waits for that. From pinned memory it copies when it comes to it. Pinning is dear, so a block of memory is pinned
once and used round and round. The other way, asking a tensor for its value waits for all that was launched, also after
it was made: what will be asked for later sets out at once.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

SECTIONS = 4
SECTION_BYTES = 64 << 20


def send(array: NDArray[Any], device: torch.device) -> torch.Tensor:
    """A host array as a tensor on the device."""
    array = np.ascontiguousarray(array)
    if device.type != "cuda":
        return torch.from_numpy(array).to(device)
    if array.nbytes > SECTION_BYTES:
        return torch.from_numpy(array).pin_memory().to(device, non_blocking=True)
    return _ring().send(array, device)


def fetch(tensor: torch.Tensor) -> Callable[[], torch.Tensor]:
    """A small tensor on its way to the host; the call gives it, and waits for nothing that is launched after this."""
    if tensor.device.type != "cuda":
        return lambda: tensor
    there = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
    there.copy_(tensor, non_blocking=True)
    arrived = torch.cuda.Event()
    arrived.record()

    def get() -> torch.Tensor:
        arrived.synchronize()
        return there

    return get


class _Ring:
    """Pinned memory in sections; a section is written again only when the copies out of it are done."""

    def __init__(self) -> None:
        self._memory = torch.empty(SECTIONS * SECTION_BYTES, dtype=torch.uint8, pin_memory=True)
        self._bytes = self._memory.numpy()
        self._left: list[torch.cuda.Event | None] = [None] * SECTIONS
        self._section = 0
        self._at = 0

    def send(self, array: NDArray[Any], device: torch.device) -> torch.Tensor:
        size = array.nbytes
        if self._at + size > SECTION_BYTES:
            self._next_section()
        start = self._section * SECTION_BYTES + self._at
        self._bytes[start : start + size] = array.reshape(-1).view(np.uint8)
        self._at += -(-size // 64) * 64
        kind = torch.from_numpy(np.empty(0, dtype=array.dtype)).dtype
        return self._memory[start : start + size].view(kind).view(array.shape).to(device, non_blocking=True)

    def _next_section(self) -> None:
        done = torch.cuda.Event()
        done.record()
        self._left[self._section] = done
        self._section = (self._section + 1) % SECTIONS
        self._at = 0
        before = self._left[self._section]
        if before is not None:
            before.synchronize()  # long past, unless a quarter of a gigabyte is under way


@cache
def _ring() -> _Ring:
    return _Ring()
