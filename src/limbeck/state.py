"""Arrays on disk: atomic files of named arrays with a format version, bit-exact both ways."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import lru_cache
from itertools import count
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, LimbeckError
from limbeck.npz import check_archive

FORMAT = 2
HEADER = "__header__"
State = dict[str, NDArray[Any]]


class DamagedFile(InputError):
    """A state file that is not as it was written."""


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Write to a temporary neighbour, then rename: readers see the old file or the whole new one.

    The neighbour is a new file, whatever else is there, so that two processes may write one file.
    """
    temporary: Path | None = None
    try:
        temporary = _temporary(path)
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise LimbeckError(
            f"{path}: could not be written ({error.strerror or error}): free space or choose another place.",
            code="not_writable",
        ) from error
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _temporary(path: Path) -> Path:
    """A new file beside another, named by the machine and the process that writes it."""
    machine = hashlib.blake2b(platform.node().encode(), digest_size=4).hexdigest()
    _remove_left(path.parent, machine)
    for number in count():
        temporary = path.with_name(f".{path.name[:40]}.{machine}-{os.getpid()}-{number}.tmp")
        with suppress(FileExistsError):
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return temporary
    raise AssertionError("numbers do not end")


@lru_cache(maxsize=1000)  # a folder may be large, and is written into often
def _remove_left(folder: Path, machine: str) -> None:
    """Remove the temporary files of processes that were killed on this machine."""
    for other in folder.glob(f".*.{machine}-*-*.tmp"):
        process = other.name.rsplit("-", 2)[1]
        if process.isdigit() and not _is_running(int(process)) and other.is_file() and not other.is_symlink():
            other.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    if os.name != "posix":  # where asking would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True
    return True


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def save(path: Path, arrays: Mapping[str, NDArray[Any]], *, about: Mapping[str, Any] | None = None) -> None:
    """Save named arrays, with a JSON header and a checksum over all of it, to one uncompressed .npz file."""
    told = json.dumps(dict(about or {}), sort_keys=True)
    header = json.dumps({"format": FORMAT, "about": json.loads(told), "digest": digest_of(arrays, told)})
    with atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **{HEADER: np.array(header), **arrays})


def load(path: Path) -> tuple[State, dict[str, Any]]:
    """Load what `save` wrote: the arrays and the header's `about`. `DamagedFile` where anything of it was changed."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (numpy would leave a file that is no archive open)
    except OSError as error:
        raise InputError(
            f"{path}: not a state file of limbeck ({error.strerror or error}).", code="not_readable"
        ) from error
    try:
        with file:
            header, arrays = _read(file)
    except Exception as error:  # bytes that anything may have happened to raise anything
        raise DamagedFile(f"{path}: not a state file of limbeck ({error}).", code="damaged") from error
    if header["format"] != FORMAT:
        raise InputError(
            f"{path}: state format {header['format']}, this limbeck reads {FORMAT}: run again with --existing=replace.",
            code="other_format",
        )
    about: dict[str, Any] = header["about"]
    if header.get("digest") != digest_of(arrays, json.dumps(about, sort_keys=True)):
        raise DamagedFile(f"{path}: not as it was written, its checksum is another.", code="damaged")
    return arrays, about


def _read(file: IO[bytes]) -> tuple[dict[str, Any], State]:
    check_archive(file)
    with np.load(file, allow_pickle=False) as archive:
        header = json.loads(str(archive[HEADER]))
        if not isinstance(header, dict) or not isinstance(header["format"], int) or "about" not in header:
            raise ValueError("its header is none")
        return header, {name: archive[name] for name in archive.files if name != HEADER}


def digest_of(arrays: Mapping[str, NDArray[Any]], told: str = "") -> str:
    """A checksum over names, shapes, types and bytes of arrays, and over a text."""
    digest = hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(
            f"\x1f{name}\x1f{array.dtype.str}\x1f{np.shape(arrays[name])}\x1f".encode("utf-8", "surrogatepass")
        )
        if array.size:
            digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.hexdigest()
