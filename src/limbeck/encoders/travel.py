"""Arrays on their way between processes: as small as they can be told.

What a word needs is some eighty bytes, and two million words a second go through one pipe. Most numbers are small, and
many are the same for all words of a text.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Slim = tuple[NDArray[Any], NDArray[Any] | None, np.dtype[Any]]
NARROW = {"i": np.int32, "u": np.uint32}


def slim(array: NDArray[Any]) -> Slim:
    """An array of integers as values, how often each is repeated (None: once), and the dtype it had."""
    turns = np.flatnonzero(array[1:] != array[:-1])
    if 4 * len(turns) < len(array):
        starts = np.concatenate(([0], turns + 1))
        return _narrow(array[starts]), _narrow(np.diff(np.append(starts, len(array)))), array.dtype
    return _narrow(array), None, array.dtype


def wide(values: NDArray[Any], times: NDArray[Any] | None, kind: np.dtype[Any]) -> NDArray[Any]:
    """What `slim` was given."""
    values = values.astype(kind, copy=False)
    return values if times is None else np.repeat(values, times)


def _narrow(array: NDArray[Any]) -> NDArray[Any]:
    kind = NARROW.get(array.dtype.kind)
    if kind is None or array.itemsize <= 4 or not len(array):
        return array
    limits = np.iinfo(kind)
    return array.astype(kind) if limits.min <= array.min() and array.max() <= limits.max else array
