"""Run folders: written beside their target, renamed when whole, never half there."""

from __future__ import annotations

import errno
import json
import os
import shutil
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from limbeck.encoders.miniatures import is_miniature
from limbeck.errors import Changed, LimbeckError, UsageError, choose
from limbeck.places import (
    MARK,
    REPRODUCTION,
    RUN,
    begin,
    check_name,
    is_empty,
    lock,
    mark,
    mark_of,
    own_in,
    place_of,
    put_in_place,
    recover,
    refuse_foreign,
    refuse_old,
    remove_own,
    tells_run,
    unfinished_of,
)
from limbeck.remote import UrlPath, as_path
from limbeck.runs.execution.uploads import remote_target

EXISTING = ("fail", "resume", "replace")
#: files of which every finished run has one, and nothing else is likely to
MARKERS = ("run.json", "vectors.json")
#: of errors: no space, over a quota, larger than files may be
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
#: told with an error after which there is something to go on from
KEPT = "What is done is kept: existing='resume' goes on with it, existing='replace' begins anew."


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
        self._existing = existing
        self._whole = False  # nothing is missing but the place
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
            self._lock = begin(self.unfinished, RUN, anew=existing != "resume")
        except BlockingIOError:
            raise LimbeckError(
                f"{self.target}: another run is writing it at this moment: wait for it, or choose another --out.",
                code="busy",
                parameter="out",
            ) from None
        except OSError as error:
            raise LimbeckError(
                f"{self.target}: the output must be writable; {error.strerror}: choose another --out.",
                code="not_writable",
                parameter="out",
            ) from error

    def finish(self) -> Path:
        """Put the finished folder in its place, with a page that shows what is in it."""
        self._write_page()
        place = place_of(self.target)
        self._whole = True
        try:
            refuse_other(place)  # somebody may have put something there meanwhile
            if self._existing == "fail" and holds_run(place):
                raise LimbeckError("another run is there by now", code="busy")
            put_in_place(self.unfinished, place, RUN)
        except (OSError, LimbeckError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise LimbeckError(
                f"{self.target}: could not be put in place ({reason}); the run is in {self.unfinished}.",
                code="not_writable",
                parameter="out",
            ) from error
        for name in self.passing:
            remove_own(place, name)
        if self._remote is not None:
            self._remote.upload()
            self._remote.clear()
            return UrlPath(self._remote.url)
        return self.target

    def _write_page(self) -> None:
        from limbeck.reporting.page import write_page

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
            if self._whole:
                pass  # it is told where the run is
            elif not self.resumable or isinstance(error, Changed):
                self.discard()
            elif isinstance(error, Exception) and "existing=" not in f"{error} {getattr(error, '__notes__', '')}":
                error.add_note(KEPT)
        if self._remote is not None and self.complete:
            self._remote.clear()  # what was brought here to look at
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def is_begun(target: str | Path) -> bool:
    """Whether an unfinished run into a folder has been kept."""
    remote = remote_target(target, MARKERS)
    return unfinished_of(target if remote is None else remote.place).is_dir()


@contextmanager
def room_in(folder: Path) -> Iterator[None]:
    """Name the folder where a disk is full: an error of writing, unlike one of opening, names no file."""
    try:
        yield
    except OSError as error:
        if error.errno not in FULL or error.filename is not None:
            raise
        raise LimbeckError(
            f"{folder}: could not be written ({error.strerror}): free space or choose another place.",
            code="not_writable",
            parameter="out",
        ) from error


@contextmanager
def held(folder: str | Path) -> Iterator[Path]:
    """Hold a folder that is written in place, part by part; while one run has it, a second is refused."""
    if remote_target(folder, MARKERS) is not None:  # no locks there
        yield Path(folder)
        return
    check_name(as_path(folder))
    place = place_of(as_path(folder))
    there = place.exists()
    refuse_other(place, REPRODUCTION)
    handle: int | None = None
    try:
        try:
            place.mkdir(parents=True, exist_ok=True)
            handle = lock(place)
            mark(place, REPRODUCTION, own=own_in(place))
        except BlockingIOError:
            raise LimbeckError(
                f"{folder}: another run is writing it at this moment: wait for it, or choose another --out.",
                code="busy",
                parameter="out",
            ) from None
        except OSError as error:
            raise LimbeckError(
                f"{folder}: the output must be writable; {error.strerror}: choose another --out.",
                code="not_writable",
                parameter="out",
            ) from error
        yield place
    finally:
        if handle is not None:
            if not there and set(os.listdir(place)) <= {MARK}:  # nothing was written
                shutil.rmtree(place)
            os.close(handle)


class ReproductionFolder(RunFolder):
    """A folder that is written in place: what an earlier try has left there is taken part by part."""

    def __init__(self, target: str | Path) -> None:
        self.target = self.unfinished = Path(target)
        self.complete = False  # its parts may be
        self.passing = []
        self._held = held(target)

    @property
    def resumable(self) -> bool:
        return self.target.is_dir()

    def finish(self) -> Path:
        self._write_page()
        return self.target

    def __enter__(self) -> Self:
        self._held.__enter__()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.__exit__(kind, error, trace)


def check_target(target: str | Path, *, existing: str = "fail") -> None:
    """Refuse a target that a run could not be put into, before anything dear is done for it."""
    choose(existing, EXISTING, what="--existing")
    check_name(as_path(target))
    if remote := remote_target(target, MARKERS):
        remote.check(existing)
        target = remote.place
        if existing != "fail" and holds_run(target):  # it waits for its upload
            return
    place = place_of(as_path(target))
    here = Path.cwd()
    if place == here or place in here.parents:
        raise LimbeckError(
            f"{target}: the output must be a folder of its own, not the one you are in: name a new one.",
            code="in_the_way",
            parameter="out",
        )
    recover(place)
    refuse_other(place)
    refuse_moved(place)
    refuse_foreign(unfinished_of(place))
    if place.exists():
        refuse_old(place)
    if existing == "fail" and holds_run(place):
        raise LimbeckError(
            f"{target}: it already holds a run: --existing=replace, or another --out.",
            code="exists",
            parameter="existing",
        )
    if existing == "replace" and holds_run(place) and own_in(place) is None:
        raise LimbeckError(
            f"{target}: only what limbeck has written is replaced, this run has no record of that (the file {MARK}): "
            "remove the folder yourself, or choose another --out.",
            code="in_the_way",
            parameter="out",
        )
    if existing == "fail" and holds_more_than_a_beginning(unfinished_of(target)):
        raise LimbeckError(
            f"{target}: an unfinished run is here: --existing=resume goes on, --existing=replace begins anew.",
            code="unfinished",
            parameter="existing",
        )


def refuse_input(target: str | Path, inputs: Iterable[Path]) -> None:
    """Refuse to replace a folder that is read, that holds what is read, or that is a part of a run that is read."""
    place = place_of(as_path(target))
    if remote_target(target, MARKERS) is None and not os.path.lexists(place):
        return  # there is nothing to replace
    for path in inputs:
        named = Path(as_path(path)).expanduser()
        if remote_target(path, MARKERS) is None and not os.path.lexists(named):
            continue  # a text, or a name on the Hugging Face Hub
        given = place_of(named)
        part = place.is_relative_to(given) and f"{place.relative_to(given).as_posix()}/" in (own_in(given) or ())
        if part or given.is_relative_to(place):
            raise LimbeckError(
                f"{target}: this run reads {path}, which would be replaced: choose another --out.",
                code="in_the_way",
                parameter="out",
            )


def refuse_moved(place: Path) -> None:
    """Refuse a folder that is an unfinished run under another name: it can be resumed under its own alone."""
    found = mark_of(place)
    if found is not None and found["holds"] == RUN and found["own"] is None:
        raise LimbeckError(
            f"{place}: an unfinished run was moved here: rename it to {unfinished_of(place).name} to resume it, or "
            "choose another --out.",
            code="unfinished",
            parameter="out",
        )


def holds_more_than_a_beginning(unfinished: Path) -> bool:
    """Whether a killed run has left what another could go on from, or all but its place."""
    state = unfinished / "state"
    return own_in(unfinished) is not None or (state.is_dir() and any(state.iterdir()))


def holds_run(target: Path) -> bool:
    """Whether a folder is a finished run, of any command: by its mark, or by what its account says."""
    told = mark_of(target)
    if told is not None:
        return told["holds"] == RUN and told["own"] is not None
    for marker in MARKERS:
        path = target / marker
        try:
            if path.is_file() and tells_run(path.read_bytes()):
                return True
        except OSError:
            continue
    return False


def _holds_older(place: Path, holds: str) -> bool:
    """Whether a folder without a mark, of an older limbeck, holds a run or a reproduction."""
    if holds == RUN:
        return holds_run(place)
    try:
        told = json.loads((place / "findings.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(told, dict) and {"limbeck", "paper"} <= told.keys()


def folders_for(out: Path, models: Sequence[Any]) -> list[Path]:
    """One folder per model: OUT itself, or where there are several OUT/NAME, with more of the path for equal names."""
    return [out] if len(models) < 2 else named_folders(out, models)


def named_folders(out: Path, models: Sequence[Any]) -> list[Path]:
    """OUT/NAME for each model."""
    names = [str(model) if isinstance(model, str | Path) else str(getattr(model, "name", "")) for model in models]
    here = [Path(name).exists() and not is_miniature(name) for name in names]
    paths = [Path(os.path.abspath(name) if found else name) for name, found in zip(names, here, strict=True)]
    if len(set(paths)) < len(paths):
        raise UsageError("each model must be given once; one of them is given twice.", code="twice", parameter="model")
    depths = [1] * len(paths)
    while True:
        names = ["-".join(path.parts[-depth:]).strip("/") for path, depth in zip(paths, depths, strict=True)]
        if len(set(names)) == len(names):
            return [out / name for name in names]
        depths = [depth + (names.count(name) > 1) for depth, name in zip(depths, names, strict=True)]


def refuse_other(place: Path, holds: str = RUN) -> None:
    """Refuse a place that holds what is no run: a file, a device, a folder of something else. It is never moved."""
    try:
        if not os.path.lexists(place) or is_empty(place):
            return
        told = mark_of(place)
        good = told["holds"] == holds if told is not None else place.is_dir() and _holds_older(place, holds)
    except OSError as error:
        raise LimbeckError(
            f"{place}: the output must be readable; {error.strerror}: choose another --out.",
            code="not_readable",
            parameter="out",
        ) from error
    if not good:
        raise LimbeckError(
            f"{place}: it already holds something that is no {holds} of limbeck and stays as it is: choose another "
            "--out.",
            code="in_the_way",
            parameter="out",
        )
