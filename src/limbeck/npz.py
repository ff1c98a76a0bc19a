"""A look at the arrays of .npz and .npy files before they are read: nothing is allocated that the file cannot fill.

A header is a few bytes that may say anything: 10¹² numbers, or Python objects, which only unpickling could read.
"""

from __future__ import annotations

import math
import zipfile
from tokenize import TokenError
from typing import IO, Any

import numpy as np

#: of compressed members: one that would become larger than a gibibyte and than a thousand times its size is refused
EXPANDED, EXPANSION = 1 << 30, 1_000


def array_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, order (whether Fortran's) and type of the array whose .npy file is read up to its numbers."""
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    try:
        shape, fortran, dtype = read(file)
    except (SyntaxError, TokenError, TypeError) as error:  # numpy takes the header for a Python expression
        raise ValueError("its header makes no sense") from error
    if any(side < 0 for side in shape):
        raise ValueError(f"a shape of {shape}")
    if dtype.hasobject:
        raise ValueError("Object arrays cannot be loaded: they could only be read by pickle")
    return shape, fortran, dtype


def check_array(file: IO[bytes], size: int) -> None:
    """Raise ValueError unless a .npy file of this size holds all the numbers that its header promises."""
    shape, _, dtype = array_header(file)
    promised = math.prod(shape) * dtype.itemsize
    if promised > size - file.tell():
        raise ValueError(f"an array of shape {shape} needs {promised} bytes, there are {size - file.tell()}")


def check_archive(file: IO[bytes]) -> None:
    """The same of every array in an .npz file, which is left at its beginning."""
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            if member.file_size > max(EXPANDED, EXPANSION * member.compress_size):
                raise ValueError(f"{member.filename} would grow to more than {EXPANSION:,} times its size")
            with archive.open(member) as opened:
                check_array(opened, member.file_size)
    file.seek(0)
