"""Texts must stay as they are while a run reads them: first to plan, then again, shard by shard."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limbeck.errors import InputError, LimbeckError

AGAIN = "run it again when nobody writes it"


@contextmanager
def steady(source: Any) -> Iterator[None]:
    """Refuse what was made of a text whose files have changed or vanished meanwhile, naming the file.

    Sizes and times are compared, which costs nothing; a source without files of text is taken as it is.
    """
    before = look_at(source)
    try:
        yield
    except (OSError, LimbeckError) as error:
        check_steady(before, error)  # which may be why
        raise
    check_steady(before)


def look_at(source: Any) -> dict[Path, tuple[int, int]]:
    """Size and time of each file of a source's text; files that are fetched by URL have neither."""
    corpus = getattr(source, "corpus", source)
    paths = [one.path for one in getattr(corpus, "_sources", ())]
    return {path: found for path in paths if isinstance(path, Path) and (found := _stamp(path)) is not None}


def check_steady(before: dict[Path, tuple[int, int]], cause: BaseException | None = None) -> None:
    for path, known in before.items():
        now = _stamp(path)
        if now is None:
            raise InputError(f"{path}: a text must stay while it is read, this file has vanished: {AGAIN}.") from cause
        if now != known:
            raise InputError(f"{path}: a text must stay while it is read, this file has changed: {AGAIN}.") from cause


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
