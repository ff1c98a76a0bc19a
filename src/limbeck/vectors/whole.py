"""Folders of vectors that are there whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from limbeck.errors import LimbeckError
from limbeck.places import VECTORS, begin, place_of, put_in_place, refuse_foreign, temporary_of

#: of an unmarked folder, what would be taken for that of the new vectors
FACTS = ("words.parquet",)


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """A hidden neighbour to write into, which takes the folder's place at the end.

    Of what was there limbeck's own files are removed then, and those that have the names of new ones; others stay.
    """
    temporary = temporary_of(folder)
    refuse_foreign(temporary)
    handle: int | None = None
    try:
        handle = begin(temporary, VECTORS, anew=True)
        try:
            yield temporary
            put_in_place(temporary, place_of(folder), VECTORS, also=FACTS)
        except BaseException:
            shutil.rmtree(temporary, ignore_errors=True)
            raise
    except BlockingIOError:
        raise LimbeckError(
            f"{folder}: it is being written at this moment: wait for it, or choose another.", code="busy"
        ) from None
    except OSError as error:
        raise LimbeckError(
            f"{folder}: could not be written ({error.strerror or error}): free space or choose another place.",
            code="not_writable",
        ) from error
    finally:
        if handle is not None:
            os.close(handle)
