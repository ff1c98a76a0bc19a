"""Arrays on disk: atomic files of named arrays with a format version, bit-exact both ways."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, LimbeckError

FORMAT = 1
State = dict[str, NDArray[Any]]


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Write to a temporary neighbour, then rename: readers see the old file or the whole new one."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        yield temporary
        with open(temporary, "rb+") as written:
            os.fsync(written.fileno())
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise LimbeckError(
            f"{path}: could not be written ({error.strerror or error}): free space or choose another place."
        ) from error
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def save(path: Path, arrays: Mapping[str, NDArray[Any]], *, about: Mapping[str, Any] | None = None) -> None:
    """Save named arrays, with a JSON header, to one uncompressed .npz file."""
    header = json.dumps({"format": FORMAT, "about": dict(about or {})}, sort_keys=True)
    with atomic(path) as temporary, open(temporary, "wb") as file:
        np.savez(file, allow_pickle=False, **{"__header__": np.array(header), **arrays})


def load(path: Path) -> tuple[State, dict[str, Any]]:
    """Load what `save` wrote: the arrays and the header's `about`."""
    try:
        # opened here: numpy leaves a file that is no archive open
        with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
            header = json.loads(str(file["__header__"]))
            arrays = {name: file[name] for name in file.files if name != "__header__"}
    except (OSError, EOFError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"{path}: not a state file of limbeck ({error}).") from error
    if header["format"] != FORMAT:
        raise InputError(
            f"{path}: state format {header['format']}, this limbeck reads {FORMAT}: run again with --existing replace."
        )
    return arrays, header["about"]
