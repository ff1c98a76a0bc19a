"""Arrays inside an .npz file without loading them: stored members are mapped, compressed ones read."""

from __future__ import annotations

import math
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.npz import array_header, check_archive
from limbeck.vectors.damaged import NONSENSE, told_as_damage

LOCAL_HEADER = 30  #: bytes of a zip member's own header before its name


def member_names(path: Path) -> list[str]:
    """Names of the arrays in an .npz file."""
    with _archive(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def map_member(path: Path, name: str) -> NDArray[Any]:
    """One array of an .npz file, read-only."""
    with told_as_damage(path, "npz"), _archive(path) as archive, open(path, "rb") as file:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type == zipfile.ZIP_STORED:
            file.seek(info.header_offset)
            header = file.read(LOCAL_HEADER)
            name_length, extra_length = struct.unpack("<HH", header[26:30])
            file.seek(name_length + extra_length, 1)
            shape, fortran, dtype = array_header(file)
            if math.prod(shape) * dtype.itemsize > 0:
                offset = file.tell()
                if offset + math.prod(shape) * dtype.itemsize > path.stat().st_size:
                    raise InputError(f"{path}: {name} of shape {shape} is cut off: get the whole file.", code="damaged")
                if fortran:
                    turned: NDArray[Any] = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape[::-1]).T
                    return turned
                return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
    return read_member(path, name)


def read_member(path: Path, name: str) -> NDArray[Any]:
    """One array of an .npz file, in memory."""
    try:
        # an open file: np.load does not close one that it opened and found damaged
        with open(path, "rb") as handle:
            check_archive(handle)
            with np.load(handle, allow_pickle=False) as file:
                array: NDArray[Any] = file[name]
                return array
    except NONSENSE as error:
        hint = "save strings as np.array(list), not as objects" if "pickle" in str(error) else "get the whole file"
        raise InputError(f"{path}: {name} cannot be read ({error}): {hint}.", code="damaged") from error


def _archive(path: Path) -> zipfile.ZipFile:
    with told_as_damage(path, "npz"):
        return zipfile.ZipFile(path)
