"""What a run reads must stay as it is meanwhile: a text is read to plan and again, shard by shard; kept vectors too."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limbeck.errors import Changed, InputError, LimbeckError
from limbeck.remote import RemoteFile, as_path, as_url

AGAIN = "run it again when nobody writes it"
Stamps = dict[Path | RemoteFile, object]  #: of each file, what would be another if it changed


@contextmanager
def steady(source: Any) -> Iterator[None]:
    """Refuse what was made of a text or of vectors whose files have changed or vanished meanwhile, naming the file.

    Sizes and times are compared, which costs nothing, and of files by URL what the file system tells of them (an ETag);
    a source without files is taken as it is.
    """
    before = look_at(source)
    try:
        yield
    except (OSError, LimbeckError) as error:
        check_steady(before, error)  # which may be why
        raise
    check_steady(before)


def look_at(source: Any) -> Stamps:
    """The files that a source reads, as they are now; kept vectors by URL were copied, and stay."""
    while hasattr(inner := getattr(source, "source", None), "survey"):  # of one that changes what another gives
        source = inner
    corpus = getattr(source, "corpus", source)
    paths: list[Path | RemoteFile] = [one.path for one in getattr(corpus, "_sources", ())]
    if hasattr(source, "kept") and as_url(place := as_path(source.path)) is None:
        kept = Path(place)
        paths += [path for path in kept.rglob("*") if path.is_file()] if kept.is_dir() else [kept]
    return {path: stamp for path in paths if (stamp := _stamp(path)) is not None}


def check_steady(before: Stamps, cause: BaseException | None = None) -> None:
    for path, known in before.items():
        now = _stamp(path)
        if now is None:
            raise InputError(
                f"{path}: what a run reads must stay, this file has vanished: {AGAIN}.", code="vanished"
            ) from cause
        if now != known:
            raise Changed(
                f"{path}: what a run reads must stay, this file has changed: {AGAIN}.", code="changed"
            ) from cause


def _stamp(path: Path | RemoteFile) -> object:
    """None where it is not there."""
    if isinstance(path, RemoteFile):
        return path.now()
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
