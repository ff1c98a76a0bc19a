"""Vectors in fewer bytes: float16, and int8 with a scale a row, written block by block and read back as float32.

A row of int8 is its numbers over their largest, in 127 steps each way, so that a number is off by at most a 254th of
the row's largest, whatever other rows hold. One scale for the whole table, as model2vec's own int8 has, gives short
rows few steps, and it is not kept.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.vectors.gather import Floats
from limbeck.vectors.settings import Precision

DTYPES: tuple[str, ...] = get_args(Precision)
BLOCK = 4096  #: rows
STEPS = 127
LARGEST_HALF = 65504.0
#: safetensors' names of types
CODES = {"float32": "F32", "float16": "F16", "int8": "I8", "uint8": "U8", "int64": "I64"}


def row_scales(matrix: Floats) -> Floats:
    """(rows,) what one step of int8 is worth in each row; 0 for zeros."""
    scales = np.zeros(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), BLOCK):
        scales[start : start + BLOCK] = np.abs(matrix[start : start + BLOCK]).max(axis=1, initial=0) / STEPS
    return scales


def narrowed(matrix: Floats, dtype: str, scales: Floats | None = None) -> Iterator[NDArray[Any]]:
    """The matrix in another precision, block by block; `scales` for int8."""
    for start in range(0, len(matrix), BLOCK):
        rows = matrix[start : start + BLOCK]
        if dtype == "int8":
            assert scales is not None
            own = scales[start : start + BLOCK, None]
            steps = np.divide(rows, own, out=np.zeros(rows.shape, dtype=np.float32), where=own > 0)
            yield np.clip(np.rint(steps), -STEPS, STEPS).astype(np.int8)
        else:
            yield rows.astype(dtype, copy=False)


def check_range(words: Sequence[str], matrix: Floats, dtype: str) -> None:
    """Refuse what would become infinite in float16."""
    if dtype != "float16":
        return
    for start in range(0, len(matrix), BLOCK):
        large = np.abs(matrix[start : start + BLOCK]).max(axis=1, initial=0) > LARGEST_HALF
        if large.any():
            word = words[start + int(np.flatnonzero(large)[0])]
            raise InputError(
                f"Vectors in float16 must be within ±{LARGEST_HALF:g}, that of {word!r} is not: "
                "choose dtype int8 or float32, or normalize them.",
                code="out_of_range",
                parameter="dtype",
            )


@dataclass(frozen=True)
class Tensor:
    """A tensor that is written piece by piece."""

    dtype: str
    shape: tuple[int, ...]
    pieces: Callable[[], Iterator[NDArray[Any]]]

    @classmethod
    def of(cls, array: NDArray[Any]) -> Tensor:
        return cls(array.dtype.name, array.shape, lambda: iter([array]))

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64)) * np.dtype(self.dtype).itemsize


def write_tensors(file: IO[bytes], tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file without a second copy of a large tensor in memory.

    The layout: the length of the header in 8 bytes, the header in JSON, the numbers one tensor after the other.
    """
    # the widest types first, so that every tensor begins at a multiple of its own width
    ordered = sorted(tensors, key=lambda name: (-np.dtype(tensors[name].dtype).itemsize, name))
    header: dict[str, Any] = {}
    at = 0
    for name in ordered:
        tensor = tensors[name]
        code, end = CODES[tensor.dtype], at + tensor.size
        header[name] = {"dtype": code, "shape": list(tensor.shape), "data_offsets": [at, end]}
        at = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    file.write(len(text).to_bytes(8, "little") + text)
    for name in ordered:
        for piece in tensors[name].pieces():
            little = piece.astype(piece.dtype.newbyteorder("<"), copy=False)
            file.write(np.ascontiguousarray(little).data)
