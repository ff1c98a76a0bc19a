"""Arrays inside an .npz file without loading them: stored members are mapped, compressed ones read."""

from __future__ import annotations

import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError

LOCAL_HEADER = 30  #: bytes of a zip member's own header before its name


def member_names(path: Path) -> list[str]:
    """Names of the arrays in an .npz file."""
    with _archive(path) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")]


def map_member(path: Path, name: str) -> NDArray[Any]:
    """One array of an .npz file, read-only."""
    with _archive(path) as archive, open(path, "rb") as file:
        info = archive.getinfo(f"{name}.npy")
        if info.compress_type == zipfile.ZIP_STORED:
            file.seek(info.header_offset)
            header = file.read(LOCAL_HEADER)
            name_length, extra_length = struct.unpack("<HH", header[26:30])
            file.seek(name_length + extra_length, 1)
            shape, fortran, dtype = _array_header(file)
            if not dtype.hasobject and int(np.prod(shape)) > 0:
                offset = file.tell()
                if offset + int(np.prod(shape)) * dtype.itemsize > path.stat().st_size:
                    raise InputError(f"{path}: {name} of shape {shape} is cut off: get the whole file.")
                if fortran:
                    turned: NDArray[Any] = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape[::-1]).T
                    return turned
                return np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
    return read_member(path, name)


def read_member(path: Path, name: str) -> NDArray[Any]:
    """One array of an .npz file, in memory."""
    try:
        # an open file: np.load does not close one that it opened and found damaged
        with open(path, "rb") as handle, np.load(handle, allow_pickle=False) as file:
            array: NDArray[Any] = file[name]
            return array
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        hint = "save strings as np.array(list), not as objects" if "pickle" in str(error) else "get the whole file"
        raise InputError(f"{path}: {name} cannot be read ({error}): {hint}.") from error


def _archive(path: Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except (OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: cannot be read as npz ({error}): get the whole file.") from error


def _array_header(file: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran, dtype = read(file)
    return shape, fortran, dtype
