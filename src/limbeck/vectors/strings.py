"""Lists of strings as two arrays, bytes and offsets: no pickle, no padding, any string."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError

Bytes = NDArray[np.uint8]
Ints = NDArray[np.int64]


def pack(strings: Sequence[str]) -> tuple[Bytes, Ints]:
    """UTF-8 bytes of all strings one after the other, and where each begins, with the end (n + 1)."""
    encoded = [string.encode("utf-8", "surrogatepass") for string in strings]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(string) for string in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack(data: Bytes, offsets: Ints, path: str | Path) -> list[str]:
    """The strings that `pack` packed."""
    raw = data.tobytes()
    edges = offsets.tolist()
    if not edges or edges[0] != 0 or edges[-1] != len(raw) or (np.diff(offsets) < 0).any():
        raise InputError(f"{path}: offsets must rise from 0 to the number of bytes ({len(raw)}): the file is damaged.")
    try:
        return [raw[a:b].decode("utf-8", "surrogatepass") for a, b in pairwise(edges)]
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: words must be UTF-8, got {error.object[:40]!r}: the file is damaged.") from error


def strings_in(words: NDArray[Any], offsets: NDArray[Any] | None, path: str | Path) -> list[str]:
    """Strings from arrays as users save them: bytes with offsets, or an array of unicode or byte strings."""
    if offsets is not None:
        return unpack(words.astype(np.uint8, copy=False), offsets.astype(np.int64, copy=False), path)
    if words.dtype.kind == "U":
        return [str(word) for word in words.tolist()]
    if words.dtype.kind == "S":
        return [word.decode("utf-8") for word in words.tolist()]
    raise InputError(f"{path}: words must be strings, got an array of {words.dtype}: save them with np.array(words).")
