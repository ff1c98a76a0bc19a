"""Folders that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limbeck.errors import LimbeckError


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A hidden neighbour to write into, which takes the folder's place at the end; what was there is removed then."""
    temporary, old = folder.with_name(f".{folder.name}.tmp"), folder.with_name(f".{folder.name}.old")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        yield temporary
        if folder.exists():
            os.replace(folder, old)
        os.replace(temporary, folder)
    except OSError as error:
        raise LimbeckError(
            f"{folder}: could not be written ({error.strerror or error}): free space or choose another place."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
        if folder.exists():
            shutil.rmtree(old, ignore_errors=True)
