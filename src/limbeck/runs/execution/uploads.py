"""Runs whose place is a URL: written here first, uploaded when whole, so that nobody there sees half of one.

The folder here is named by the URL, so that a run that was stopped is found again and goes on.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from limbeck.errors import InputError, LimbeckError
from limbeck.places import MARK, MARK_BYTES, RUN, mark_as_bytes, read_mark, tells_run
from limbeck.remote import as_path, as_url, copy_here, names_in, put, read_bytes, remove

#: there while a run is being uploaded: a mark that tells what lies beside it of this run and of the one before
UPLOADING = ".limbeck-upload"


class RemoteTarget:
    """A URL to put a run at, and the folder here that it is made in.

    markers  files that every finished run has one of; they are uploaded last
    """

    def __init__(self, url: str, markers: Sequence[str]) -> None:
        self.url = url.rstrip("/")
        self.markers = markers
        name = re.sub(r"[^\w.-]+", "-", self.url.split("/")[-1])[:60]
        mark = hashlib.blake2b(self.url.encode(), digest_size=6).hexdigest()
        self.place = _own_folder() / f"{name}-{mark}"

    def check(self, existing: str) -> None:
        """Refuse what a run could not be put into."""
        names = names_in(self.url)
        if not names and existing != "fail":
            return
        own = self._own(names)
        if names and own is None and not self._is_run(names):
            raise LimbeckError(
                f"{self.url}: it already holds something that is no run of limbeck and stays as it is: "
                "choose another --out.",
                code="in_the_way",
                parameter="out",
            )
        if existing == "fail" and self._is_run(names):
            raise LimbeckError(
                f"{self.url}: it already holds a run: --existing=replace, or another --out.",
                code="exists",
                parameter="existing",
            )
        if existing == "replace" and names and own is None:
            raise LimbeckError(
                f"{self.url}: only what limbeck has written is replaced, this run has no record of that (the file "
                f"{MARK}): remove it yourself, or choose another --out.",
                code="in_the_way",
                parameter="out",
            )
        if existing == "fail" and self._is_whole_here():
            raise LimbeckError(
                f"{self.url}: a run that could not be uploaded is kept in {self.place}: --existing=resume uploads it, "
                "--existing=replace begins anew.",
                code="unfinished",
                parameter="existing",
            )

    def prepare(self, existing: str, unfinished: Path) -> Path:
        """The folder to write, with what resuming needs in it: of a finished run all that its result is read from."""
        if existing == "resume" and self._is_whole_here():
            self.upload()
        elif existing == "resume" and not unfinished.exists() and self._is_run(names := names_in(self.url)):
            shutil.rmtree(self.place, ignore_errors=True)
            large = "vectors.json" in names  # which says all of the files beside it
            for name in names:
                if not large or name.startswith("state/") or name in (*self.markers, MARK):
                    copy_here(f"{self.url}/{name}", (self.place / name).parent)
        elif existing == "replace":
            shutil.rmtree(self.place, ignore_errors=True)
        return self.place

    def upload(self) -> None:
        """Put the finished folder in its place; what limbeck put there for another run is removed."""
        files = sorted(path.relative_to(self.place).as_posix() for path in self.place.rglob("*") if path.is_file())
        last = (MARK, *self.markers)
        files.sort(key=lambda name: (name in last, name == self.markers[0]))
        try:
            names = names_in(self.url)
            own = self._own(names) or set()
            if mine := [name for name in files if name in names and name not in own]:
                raise InputError(
                    f"{self.url}: the run has files of the names of your own ({', '.join(mine)}): move yours.",
                    code="in_the_way",
                )
            with tempfile.NamedTemporaryFile() as told:
                told.write(mark_as_bytes(RUN, own={*own, *files}))
                told.flush()
                put(Path(told.name), f"{self.url}/{UPLOADING}")
            for name in names:
                if name in own and name != UPLOADING and (name in last or name not in files):
                    remove(f"{self.url}/{name}")
            for name in files:
                put(self.place / name, f"{self.url}/{name}")
            remove(f"{self.url}/{UPLOADING}")
        except InputError as error:
            raise LimbeckError(
                f"{error} The run is whole in {self.place}: the same command with --existing=resume uploads it.",
                code=error.code,
            ) from error

    def clear(self) -> None:
        """Remove the folder here, once it is there."""
        shutil.rmtree(self.place, ignore_errors=True)

    def _own(self, names: Sequence[str]) -> set[str] | None:
        """Names of what limbeck has put there; None where nothing there says so."""
        for name in (UPLOADING, MARK):
            if name in names:
                told = read_mark(read_bytes(f"{self.url}/{name}", most=MARK_BYTES))
                if told is not None and told["holds"] == RUN and told["own"] is not None:
                    return {*told["own"], MARK, UPLOADING}
        return None

    def _is_run(self, names: Sequence[str]) -> bool:
        """Whether a whole run is there."""
        if UPLOADING in names:
            return False
        if MARK in names and any(marker in names for marker in self.markers):
            return self._own(names) is not None
        return any(
            marker in names and tells_run(read_bytes(f"{self.url}/{marker}", most=MARK_BYTES))
            for marker in self.markers
        )

    def _is_whole_here(self) -> bool:
        return any((self.place / marker).is_file() for marker in self.markers)


def remote_target(target: str | Path, markers: Sequence[str]) -> RemoteTarget | None:
    """The URL that a target is, None for a folder of this machine."""
    url = as_url(as_path(target))
    return None if url is None else RemoteTarget(url, markers)


def _own_folder() -> Path:
    """A folder in the temporary one that nobody else can write."""
    owner = os.getuid() if hasattr(os, "getuid") else 0
    folder = Path(tempfile.gettempdir()) / f"limbeck-{owner}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        if folder.is_symlink() or (hasattr(os, "getuid") and folder.stat().st_uid != owner):
            raise LimbeckError(
                f"{folder}: it must be a folder of your own, it is another's: set TMPDIR.", code="not_writable"
            )
    except OSError as error:
        raise LimbeckError(
            f"{folder}: could not be made ({error.strerror}): set TMPDIR.", code="not_writable"
        ) from error
    return folder
