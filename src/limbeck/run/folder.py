"""Run folders: written beside their target, renamed when whole, never half there."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from limbeck.errors import LimbeckError, choose

EXISTING = ("fail", "resume", "replace")


class RunFolder:
    """The target of a run and the unfinished folder beside it.

    existing  what to do with what is there: "fail", "resume" an unfinished run, or "replace" it
    """

    def __init__(self, target: str | Path, *, existing: str = "fail") -> None:
        choose(existing, EXISTING, what="--existing")
        self.target = Path(target)
        self.unfinished = self.target.with_name(f".{self.target.name}.unfinished")
        self.existing = existing
        # a finished run is as far as resuming can get
        self.complete = existing == "resume" and _holds_something(self.target) and not self.unfinished.exists()
        if not self.complete:
            self._open()

    def _open(self) -> None:
        if _holds_something(self.target) and self.existing != "replace":
            raise LimbeckError(f"{self.target}: it already holds something: --existing replace, or another --out.")
        if self.unfinished.exists() and self.existing == "fail":
            raise LimbeckError(
                f"{self.target}: an unfinished run is here: --existing resume goes on, --existing replace begins anew."
            )
        try:
            if self.unfinished.exists() and self.existing == "replace":
                shutil.rmtree(self.unfinished)
            self.unfinished.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise LimbeckError(
                f"{self.target}: the output must be writable; {error.strerror}: choose another --out."
            ) from error

    def finish(self) -> Path:
        """Put the finished folder in its place."""
        old = self.target.with_name(f".{self.target.name}.old")
        try:
            if self.target.exists():
                os.replace(self.target, old)
            os.replace(self.unfinished, self.target)
        except OSError as error:
            raise LimbeckError(
                f"{self.target}: could not be put in place ({error.strerror}); the run is in {self.unfinished}."
            ) from error
        shutil.rmtree(old, ignore_errors=True)
        return self.target

    def discard(self) -> None:
        """Take away an unfinished folder that holds nothing worth resuming."""
        shutil.rmtree(self.unfinished, ignore_errors=True)


def _holds_something(path: Path) -> bool:
    return path.is_file() or (path.is_dir() and any(path.iterdir()))
