"""Files that are not what they seem: whatever a reader stumbles over is told as one sentence with the file's name."""

from __future__ import annotations

import lzma
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from tokenize import TokenError

from limbeck.errors import InputError

#: what numpy, Arrow, HDF5, JSON and our own readers raise for bytes that make no sense. The cause is chained to what
#: is told, so that a mistake of ours can be found by --debug.
NONSENSE = (
    ArithmeticError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    TokenError,
    lzma.LZMAError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def told_as_damage(path: object, what: str, remedy: str = "get the whole file") -> Iterator[None]:
    """Turn what a reader of `what` raises inside into an InputError."""
    try:
        yield
    except NONSENSE as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        reason = (lines[0] if lines else type(error).__name__)[:200].rstrip(".:")
        if isinstance(error, MemoryError):
            raise InputError(
                f"{path}: needs more memory than there is ({reason}): {remedy}.", code="no_memory"
            ) from error
        raise InputError(f"{path}: cannot be read as {what} ({reason}): {remedy}.", code="damaged") from error
