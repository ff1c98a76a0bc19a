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
from limbeck.remote import as_path, as_url, copy_here, names_in, put, remove

#: there while a run is being uploaded: what lies beside it is a part of a run, and not somebody else's
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
        if names and not self._is_run(names) and UPLOADING not in names:
            raise LimbeckError(
                f"{self.url}: it already holds something that is no run of limbeck and stays as it is: "
                "choose another --out."
            )
        if existing == "fail" and self._is_run(names):
            raise LimbeckError(f"{self.url}: it already holds a run: --existing replace, or another --out.")
        if existing == "fail" and self._is_whole_here():
            raise LimbeckError(
                f"{self.url}: a run that could not be uploaded is kept in {self.place}: --existing resume uploads it, "
                "--existing replace begins anew."
            )

    def prepare(self, existing: str, unfinished: Path) -> Path:
        """The folder to write, with what resuming needs in it."""
        if existing == "resume" and self._is_whole_here():
            self.upload()
        elif existing == "resume" and not unfinished.exists() and self._is_run(names := names_in(self.url)):
            shutil.rmtree(self.place, ignore_errors=True)
            for name in names:
                if name.startswith("state/") or name in self.markers:
                    copy_here(f"{self.url}/{name}", (self.place / name).parent)
        elif existing == "replace":
            shutil.rmtree(self.place, ignore_errors=True)
        return self.place

    def upload(self) -> None:
        """Put the finished folder in its place; what was there of another run is removed."""
        files = sorted(path.relative_to(self.place).as_posix() for path in self.place.rglob("*") if path.is_file())
        files.sort(key=lambda name: (name in self.markers, name == self.markers[0]))
        try:
            with tempfile.NamedTemporaryFile() as empty:
                put(Path(empty.name), f"{self.url}/{UPLOADING}")
            for name in names_in(self.url):
                if name in self.markers or (name not in files and name != UPLOADING):
                    remove(f"{self.url}/{name}")
            for name in files:
                put(self.place / name, f"{self.url}/{name}")
            remove(f"{self.url}/{UPLOADING}")
        except InputError as error:
            raise LimbeckError(
                f"{error} The run is whole in {self.place}: the same command with --existing resume uploads it."
            ) from error

    def clear(self) -> None:
        """Remove the folder here, once it is there."""
        shutil.rmtree(self.place, ignore_errors=True)

    def _is_run(self, names: Sequence[str]) -> bool:
        return UPLOADING not in names and any(marker in names for marker in self.markers)

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
            raise LimbeckError(f"{folder}: it must be a folder of your own, it is another's: set TMPDIR.")
    except OSError as error:
        raise LimbeckError(f"{folder}: could not be made ({error.strerror}): set TMPDIR.") from error
    return folder
