"""An array of vectors by itself, of an .npy file or in memory: rows without words, each its own text."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.npz import check_array
from limbeck.real import refuse_unreal
from limbeck.vectors.blocks import Block, Identities, block_rows, identities_of
from limbeck.vectors.kept import blocks_of
from limbeck.vectors.occurrences import OccurrenceVectors, fingerprint_file

IN_MEMORY = "an array in memory"


class PlainArray:
    """Vectors (n, d) or (layers, n, d) in the place of kept occurrences; nothing of them is copied but by blocks."""

    shards = 1
    wordless = True

    def __init__(self, array: NDArray[Any], name: str, fingerprint: str, path: Path | str) -> None:
        shape = array.shape
        if array.dtype.kind != "f":
            raise InputError(
                f"{path}: vectors must be floating-point numbers, got {array.dtype}: convert them.", code="wrong_type"
            )
        if array.ndim not in (2, 3) or 0 in shape:
            raise InputError(
                f"{path}: vectors (n, d) or (layers, n, d) are needed, at least one, got shape {shape}.",
                code="wrong_shape",
            )
        self._array, self.path, self.name, self.fingerprint = array, path, name, fingerprint
        count, self.words_total, self.dim = self.vectors().shape
        self.layers = ("vectors",) if count == 1 else tuple(map(str, range(count)))
        self.shape = shape

    def vectors(self) -> NDArray[Any]:
        """(layers, n, d)"""
        return self._array[None] if self._array.ndim == 2 else self._array

    def identities(self, shard: int) -> Identities:
        return identities_of([""] * self.words_total, None, None)

    def blocks(self, shard: int) -> Iterator[Block]:
        yield from blocks_of(self.identities(shard), self.vectors(), Path(self.path))


def read_npy(path: Path) -> PlainArray:
    """An .npy file, mapped; pickled objects are refused."""
    with open(path, "rb") as file:
        check_array(file, path.stat().st_size)
    array: NDArray[Any] = np.load(path, mmap_mode="r" if path.stat().st_size else None, allow_pickle=False)
    return PlainArray(array, path.name.removesuffix(".npy"), fingerprint_file(path), path)


def in_memory(array: Any, name: str = "vectors") -> OccurrenceVectors:
    """An array of numpy, or a tensor of torch."""
    refuse_unreal(array, what="vectors")
    if hasattr(array, "detach"):
        array = array.detach().cpu()
        array = (array.float() if str(array.dtype) == "torch.bfloat16" else array).numpy()
    digest = hashlib.blake2b(f"{array.dtype} {array.shape} ".encode(), digest_size=16)
    found = PlainArray(array, name, "", IN_MEMORY)
    rows = block_rows(len(found.layers), found.dim)
    for start in range(0, found.words_total, rows):
        digest.update(np.ascontiguousarray(found.vectors()[:, start : start + rows]).tobytes())
    found.fingerprint = digest.hexdigest()
    return OccurrenceVectors(found)


def is_array(thing: Any) -> bool:
    """Whether this is an array of numpy or a tensor of torch."""
    return isinstance(thing, np.ndarray) or (hasattr(thing, "detach") and hasattr(thing, "numpy"))


def write_repaired(kept: OccurrenceVectors, repairs: dict[str, Any], folder: Path) -> Path:
    """Write the rows of an array by itself, each layer repaired, in the array's own shape and precision."""
    source = kept.plain
    assert source is not None
    vectors, dtype = source.vectors(), source.vectors().dtype.newbyteorder("=")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{kept.name}.npy"
    out = np.lib.format.open_memmap(path, mode="w+", dtype=dtype, shape=source.shape)
    whole = out[None] if out.ndim == 2 else out
    rows = block_rows(1, kept.dim)
    for place, layer in enumerate(kept.layers):
        for start in range(0, kept.words_total, rows):
            some = np.asarray(vectors[place, start : start + rows], dtype=np.promote_types(dtype, np.float32))
            made = repairs[layer].transform(some)
            if np.abs(made).max() > np.finfo(dtype).max:
                raise InputError(
                    f"{source.path}: repaired vectors do not fit {dtype}: save the array as float32.",
                    code="out_of_range",
                )
            whole[place, start : start + rows] = made
    out.flush()
    return path
