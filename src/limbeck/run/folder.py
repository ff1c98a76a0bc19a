"""Run folders: written beside their target, renamed when whole, never half there."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from limbeck.errors import Changed, LimbeckError, choose
from limbeck.remote import UrlPath, as_path
from limbeck.run.remote import remote_target

EXISTING = ("fail", "resume", "replace")
#: files of which every finished run has one, and nothing else is likely to
MARKERS = ("run.json", "vectors.json")
#: told with an error after which there is something to go on from
KEPT = "What is done is kept: --existing resume goes on with it, --existing replace begins anew."


class RunFolder:
    """The target of a run and the unfinished folder beside it, which no other run can use meanwhile.

    existing  what to do with what is there: "fail", "resume" an unfinished run, or "replace" a run

    As a context it lets go of the folder at the end. An error before there is a plan or anything else to go on from
    leaves no folder behind; later what is done is kept and the error told so, unless it was made of files that have
    changed meanwhile. A folder or file that is no run is never touched.
    """

    def __init__(self, target: str | Path, *, existing: str = "fail") -> None:
        check_target(target, existing=existing)
        self._remote = remote_target(target, MARKERS)
        if self._remote is not None:
            target = self._remote.prepare(existing, unfinished_of(self._remote.place))
        self.target = Path(as_path(target))
        self.unfinished = unfinished_of(self.target)
        #: a finished run is as far as resuming can get
        self.complete = existing == "resume" and holds_run(self.target) and not self.unfinished.exists()
        #: names of what is in the folder for an unfinished run alone; it goes once the run is in its place
        self.passing: list[str] = []
        self._lock: int | None = None
        if not self.complete:
            self._open(existing)

    @property
    def state(self) -> Path:
        """Where the pass keeps what it needs to go on, and what later runs can be merged with."""
        return (self.target if self.complete else self.unfinished) / "state"

    @property
    def resumable(self) -> bool:
        """Whether a killed run would go on from here rather than begin anew."""
        return not self.complete and self.state.is_dir() and any(self.state.iterdir())

    def _open(self, existing: str) -> None:
        try:
            self.unfinished.mkdir(parents=True, exist_ok=True)
            self._lock = _lock(self.unfinished)
            if existing == "replace":
                for path in self.unfinished.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
        except BlockingIOError:
            raise LimbeckError(
                f"{self.target}: another run is writing it at this moment: wait for it, or choose another --out."
            ) from None
        except OSError as error:
            raise LimbeckError(
                f"{self.target}: the output must be writable; {error.strerror}: choose another --out."
            ) from error

    def finish(self) -> Path:
        """Put the finished folder in its place, with a page that shows what is in it."""
        self._write_page()
        place = place_of(self.target)
        refuse_other(place)  # somebody may have put something there meanwhile
        old = place.with_name(f".{place.name}.old")
        try:
            if holds_run(old):  # of a run that was killed between the two lines below
                shutil.rmtree(old, ignore_errors=True)
            if place.exists():
                os.replace(place, old)
            os.replace(self.unfinished, place)
        except OSError as error:
            raise LimbeckError(
                f"{self.target}: could not be put in place ({error.strerror}); the run is in {self.unfinished}."
            ) from error
        shutil.rmtree(old, ignore_errors=True)
        for path in (place / name for name in self.passing):
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        if self._remote is not None:
            self._remote.upload()
            self._remote.clear()
            return UrlPath(self._remote.url)
        return self.target

    def _write_page(self) -> None:
        from limbeck.report.page import write_page

        try:
            write_page(self.unfinished)
        except Exception as error:  # whatever is wrong with the page, it must not cost the run
            told = f"{self.target}: the run is whole, its report.html could not be made: {error}"
            warnings.warn(told, RuntimeWarning, stacklevel=3)

    def discard(self) -> None:
        """Take away an unfinished folder that holds nothing worth resuming."""
        shutil.rmtree(self.unfinished, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None and not self.complete:
            if not self.resumable or isinstance(error, Changed):
                self.discard()
            elif isinstance(error, Exception) and "--existing" not in f"{error} {getattr(error, '__notes__', '')}":
                error.add_note(KEPT)
        if self._remote is not None and self.complete:
            self._remote.clear()  # what was brought here to look at
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


@contextmanager
def held(folder: str | Path) -> Iterator[Path]:
    """Hold a folder that is written in place, part by part; while one run has it, a second is refused."""
    if remote_target(folder, MARKERS) is not None:  # no locks there
        yield Path(folder)
        return
    place = place_of(as_path(folder))
    there = place.exists()
    try:
        place.mkdir(parents=True, exist_ok=True)
        lock = _lock(place)
    except BlockingIOError:
        raise LimbeckError(
            f"{folder}: another run is writing it at this moment: wait for it, or choose another --out."
        ) from None
    except OSError as error:
        raise LimbeckError(f"{folder}: the output must be writable; {error.strerror}: choose another --out.") from error
    try:
        yield place
    finally:
        if lock is not None:
            os.close(lock)
        if not there:
            with suppress(OSError):  # which has been written into
                place.rmdir()


def check_target(target: str | Path, *, existing: str = "fail") -> None:
    """Refuse a target that a run could not be put into, before anything dear is done for it."""
    choose(existing, EXISTING, what="--existing")
    if remote := remote_target(target, MARKERS):
        remote.check(existing)
        target = remote.place
        if existing != "fail" and holds_run(target):  # it waits for its upload
            return
    place = place_of(as_path(target))
    here = Path.cwd()
    if place == here or place in here.parents:
        raise LimbeckError(f"{target}: the output must be a folder of its own, not the one you are in: name a new one.")
    refuse_other(place)
    if existing == "fail" and holds_run(place):
        raise LimbeckError(f"{target}: it already holds a run: --existing replace, or another --out.")
    if existing == "fail" and unfinished_of(target).exists():
        raise LimbeckError(
            f"{target}: an unfinished run is here: --existing resume goes on, --existing replace begins anew."
        )


def holds_run(target: Path) -> bool:
    """Whether a folder is a finished run, of any command."""
    return any((target / marker).is_file() for marker in MARKERS)


def refuse_other(place: Path) -> None:
    """Refuse a place that holds what is no run: a file, a device, a folder of something else. It is never moved."""
    try:
        taken = place.exists() and not holds_run(place) and not (place.is_dir() and not any(place.iterdir()))
    except OSError as error:
        raise LimbeckError(f"{place}: the output must be readable; {error.strerror}: choose another --out.") from error
    if taken:
        raise LimbeckError(
            f"{place}: it already holds something that is no run of limbeck and stays as it is: choose another --out."
        )


def place_of(target: str | Path) -> Path:
    """Where a target is: links are followed, since what is renamed must be the folder itself."""
    return Path(os.path.realpath(target))


def unfinished_of(target: str | Path) -> Path:
    """The folder that a run is written into: a hidden neighbour, so that renaming is one step."""
    place = place_of(target)
    return place.with_name(f".{place.name}.unfinished")


def _lock(folder: Path) -> int | None:
    """Hold a folder until the process ends or closes what is returned; BlockingIOError where another holds it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # not on Windows
        return None
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.path.samestat(os.fstat(handle), os.stat(folder)):  # finished and renamed a moment ago
            raise BlockingIOError
    except (BlockingIOError, FileNotFoundError):
        os.close(handle)
        raise BlockingIOError from None
    except OSError:  # a file system without locks
        os.close(handle)
        return None
    return handle
