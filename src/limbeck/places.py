"""Places that limbeck writes to: which folders are its own, which files in them, and what cannot be written at all.

A folder is limbeck's when it holds a mark that limbeck has written, whatever else is in it; the mark of a finished one
lists what limbeck has put there. Only that is ever removed. Links are never followed.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import os
import shutil
import stat
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from limbeck.errors import Code, InputError, LimbeckError, parameter_of

MARK = ".limbeck"
FORMAT = 1
RUN, REPRODUCTION, VECTORS, GROUP = "run", "reproduction", "vectors", "group of runs"
NEEDED_REPAIR = "a fitted repair is needed, or the folder of a run of `limbeck repair`"
MARK_BYTES = 1 << 28  #: more is no mark

Own = frozenset[str]


class InTheWay(LimbeckError):
    """What has the name of a working folder and is not limbeck's."""


# --- names ---------------------------------------------------------------------------------------


def place_of(target: str | Path) -> Path:
    """Where a target is: links are followed, since what is renamed must be the folder itself."""
    return Path(os.path.realpath(target))


def unfinished_of(target: str | Path) -> Path:
    """The folder that a run is written into: a hidden neighbour, so that renaming is one step."""
    return _neighbour(place_of(target), "unfinished")


def temporary_of(target: str | Path) -> Path:
    """The folder that vectors are written into."""
    return _neighbour(place_of(target), "tmp")


def old_of(target: str | Path) -> Path:
    """Where a folder is for the moment in which another takes its place."""
    return _neighbour(place_of(target), "old")


def _neighbour(place: Path, what: str) -> Path:
    return place.with_name(f".{place.name}.{what}")


def check_name(target: str | Path, *, option: str = "--out") -> None:
    """Refuse a path that no file can have here, before anything dear is done for it."""
    try:
        os.fspath(target).encode()
        os.stat(target)
    except UnicodeEncodeError:
        shown = os.fspath(target).encode("utf-8", "backslashreplace").decode()
        raise LimbeckError(
            f"{shown}: the output's path must be UTF-8: choose another {option}.",
            code="not_utf8",
            parameter=parameter_of(option),
        ) from None
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # is seen when it is made
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise LimbeckError(
            f"{target}: the output must be readable; {reason}: choose another {option}.",
            code="not_readable",
            parameter=parameter_of(option),
        ) from error


def check_file(target: str | Path, *, option: str = "--out") -> None:
    """Refuse a file that could not be written, or that is no plain file, before anything dear is done for it."""
    check_name(target, option=option)
    path = Path(target)
    if os.path.lexists(path) and not path.is_file():
        what = "a folder" if path.is_dir() else "no plain file"
        raise LimbeckError(
            f"{path}: a file is to be written, this is {what}: choose another {option}.",
            code="in_the_way",
            parameter=parameter_of(option),
        )
    there = path.absolute().parent
    while not os.path.lexists(there):
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        reason = "it may not be written in" if there.is_dir() else "it is no folder"
        raise LimbeckError(
            f"{path}: the folder {there} must be writable, {reason}: choose another {option}.",
            code="not_writable",
            parameter=parameter_of(option),
        )


def missing_run(folder: str | Path, needed: str, otherwise: str, *, parameter: str = "") -> InputError:
    """The error about a folder that should hold a finished run: it is unfinished, is not there, or is something else.

    needed     what it should hold, for the message
    otherwise  what to do about a folder that is there
    """
    place, unfinished = Path(folder), unfinished_of(folder)
    code: Code
    if place.is_dir():
        code, hint = "no_run", f"{otherwise}."
    elif is_own(unfinished):
        kept = from_here(unfinished)
        code, hint = "unfinished", f"that run is not finished ({kept}): its command with --existing=resume goes on."
    else:
        beside = [path.name for path in place.parent.glob("[!.]*") if path.is_dir()]
        near = difflib.get_close_matches(place.name, beside, n=1)
        named = "".join(f" (did you mean {place.with_name(name)}?)" for name in near)
        code, hint = "not_found", f"there is no such folder: check the path{named}."
    return InputError(f"{folder}: {needed}; {hint}", code=code, parameter=parameter)


def from_here(path: Path) -> Path:
    """A path as a user would type it: relative where it is below the folder one is in."""
    here = Path.cwd()
    return path.relative_to(here) if path.is_relative_to(here) else path


# --- marks ---------------------------------------------------------------------------------------


def mark(folder: Path, holds: str, *, own: Iterable[str] | None = None, aside: bool = False) -> None:
    """Mark a folder as limbeck's; `own` are the names of what limbeck has put into it, once it is finished.

    aside  another folder is about to take its place
    """
    from limbeck.state import write_text  # numpy loads with it

    write_text(folder / MARK, mark_as_bytes(holds, own=own, aside=aside).decode())


def mark_as_bytes(holds: str, *, own: Iterable[str] | None = None, aside: bool = False) -> bytes:
    """What `mark` writes."""
    facts = {"limbeck": FORMAT, "holds": holds, "own": None if own is None else sorted(own)}
    return (json.dumps(facts | ({"aside": True} if aside else {}), indent=0) + "\n").encode()


def mark_of(folder: Path) -> dict[str, Any] | None:
    """What the mark of a folder says; None where there is none, and of what only a link leads to."""
    try:
        kind = os.lstat(folder).st_mode
        file = os.lstat(folder / MARK)
        if not stat.S_ISDIR(kind) or not stat.S_ISREG(file.st_mode) or file.st_size > MARK_BYTES:
            return None
        return read_mark((folder / MARK).read_bytes())
    except (OSError, ValueError):
        return None


def read_mark(raw: bytes) -> dict[str, Any] | None:
    """A mark that limbeck has written; None of anything else."""
    try:
        told = json.loads(raw)
        own = told["own"]
        good = told["limbeck"] == FORMAT and isinstance(told["holds"], str)
        good = good and (own is None or (isinstance(own, list) and all(isinstance(name, str) for name in own)))
    except (ValueError, TypeError, KeyError, RecursionError):
        return None
    return told if good else None


def tells_run(raw: bytes) -> bool:
    """Whether this is the run.json or vectors.json of a run, as limbeck writes them."""
    try:
        told = json.loads(raw)
    except (ValueError, RecursionError):
        return False
    return isinstance(told, dict) and is_run(told)


def is_run(told: Mapping[str, Any]) -> bool:
    """Whether limbeck has written this record."""
    versions = told.get("versions")
    named = "limbeck" in told or (isinstance(versions, dict) and "limbeck" in versions) or "identity" in told
    return ("command" in told and named) or {"encoder_fingerprint", "shards"} <= told.keys()


def is_own(folder: Path) -> bool:
    """Whether limbeck has made a folder, or written a run into it."""
    return mark_of(folder) is not None


def own_in(folder: Path) -> Own | None:
    """What limbeck has put into a finished folder: files, and folders with a stroke behind them."""
    told = mark_of(folder)
    return None if told is None or told["own"] is None else frozenset(told["own"])


def everything_in(folder: Path) -> Own:
    """Every file and folder below one, as `own_in` tells them. Links are files."""
    found = set()
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            told = path.relative_to(folder).as_posix()
            found.add(f"{told}/" if name in folders and not path.is_symlink() else told)
    return frozenset(found - {MARK})


def refuse_foreign(folder: Path) -> None:
    """Refuse to go on where a hidden neighbour of the output is not limbeck's. It stays as it is."""
    if os.path.lexists(folder) and not (is_own(folder) or has_no_file(folder)):
        raise InTheWay(
            f"{folder}: it is not limbeck's and stays as it is, but its name is needed: move it away, or choose "
            "another --out.",
            code="in_the_way",
            parameter="out",
        )


def refuse_old(place: Path) -> None:
    """Refuse to go on where something has the name that a folder is given while another takes its place."""
    old = old_of(place)
    refuse_foreign(old)
    if os.path.lexists(old) and not has_no_file(old):
        raise InTheWay(
            f"{old}: it stays as it is, but its name is needed: move it away, or choose another --out.",
            code="in_the_way",
            parameter="out",
        )


def refuse_beside(folder: Path, names: Iterable[str]) -> None:
    """Refuse to write into a folder where something of these names is there that limbeck has not written."""
    own = own_in(folder) or frozenset()
    for name in names:
        path = folder / name
        if os.path.lexists(path) and not {name, f"{name}/"} & own:
            raise InTheWay(
                f"{path}: limbeck has not written it, and would write over it: move it away, or choose another --out.",
                code="in_the_way",
                parameter="out",
            )


def is_empty(folder: Path) -> bool:
    """Whether this is a folder, no link, with nothing in it."""
    try:
        return stat.S_ISDIR(os.lstat(folder).st_mode) and not os.listdir(folder)
    except OSError:
        return False


def has_no_file(folder: Path) -> bool:
    """Whether this is a folder, no link, with nothing but such folders in it: there is nothing to lose."""
    try:
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            return False
        return not any(
            files or any(Path(at, name).is_symlink() for name in inner) for at, inner, files in os.walk(folder)
        )
    except OSError:
        return False


# --- working folders -----------------------------------------------------------------------------


def begin(folder: Path, holds: str, *, anew: bool) -> int | None:
    """Make a working folder, or take it again, and hold it; `anew`: emptied. Refused where it is not limbeck's.

    What is given back holds it, see `lock`.
    """
    refuse_foreign(folder)
    with contextlib.suppress(FileExistsError):
        folder.mkdir(parents=True)
    held = lock(folder)
    try:
        refuse_foreign(folder)
        if anew:
            for path in folder.iterdir():
                if path.name != MARK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        mark(folder, holds)
    except BaseException:
        if held is not None:
            os.close(held)
        with contextlib.suppress(OSError):  # which has something in it
            os.rmdir(folder)
        raise
    return held


def lock(folder: Path) -> int | None:
    """Hold a folder until the process ends or closes what is returned; BlockingIOError where another holds it."""
    try:
        import fcntl
    except ModuleNotFoundError:  # not on Windows
        return None
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_NONBLOCK)
    except FileNotFoundError:
        raise BlockingIOError from None
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


def put_in_place(made: Path, place: Path, holds: str, *, also: Iterable[str] = ()) -> None:
    """Put a working folder in its place. Of what was there only limbeck's own is removed, the rest is in it then.

    Of a folder without a mark, those files go that have the names of new ones, and `also` these.
    """
    for left in made.rglob(".*.tmp"):  # of a file that was being written when a run was killed
        if left.is_file() and not left.is_symlink():
            left.unlink()
    own = everything_in(made)
    mark(made, holds, own=own)
    old = old_of(place)
    recover(place, held=made)
    if is_empty(place):
        os.rmdir(place)
    if os.path.lexists(place):
        refuse_old(place)
        before = own_in(place)
        os.replace(place, old)
        mark(old, holds, own={*own, *also} if before is None else before, aside=True)
    os.replace(made, place)
    _settle(old, place)


def recover(place: Path, *, held: Path | None = None) -> None:
    """Set right what was left by a process that was killed as it put a folder in its place; nothing, as a rule.

    held  a working folder that this process holds
    """
    old = old_of(place)
    if not is_own(old):
        return
    handles = []
    try:
        for folder in (unfinished_of(place), temporary_of(place), place):
            if folder != held and is_own(folder):
                handles.append(lock(folder))
        found = mark_of(old) or {}
        if not os.path.lexists(place):
            if found.get("aside"):
                mark(old, found["holds"], own=found["own"])
            os.replace(old, place)
        elif is_own(place) and found.get("aside"):  # a folder of that name that somebody else has made stays
            _settle(old, place)
    except BlockingIOError:
        return  # it is being put there at this moment
    finally:
        for handle in handles:
            if handle is not None:
                os.close(handle)


def _settle(old: Path, place: Path) -> None:
    """Remove what limbeck had written into the folder that was replaced; what else is in it comes into the new one."""
    own = own_in(old)
    if own is None:
        if is_empty(old):
            os.rmdir(old)
        return
    renamed: list[Path] = []

    def keep(name: str) -> None:
        renamed.extend(_move(old / name, place / name, place))

    with contextlib.suppress(OSError):  # all is tried again the next time; nothing is lost
        _strip(old, own, keep)
        if os.listdir(old) == [MARK]:
            shutil.rmtree(old)
    _tell_renamed(renamed, stacklevel=5)


def claim(folder: Path, names: Iterable[str]) -> None:
    """Record what is about to be written into a marked folder; a user's files of these names get others.

    For folders that are written in place, and recorded before: a run that is killed has written nothing unrecorded.
    """
    found = mark_of(folder)
    if found is None:
        return
    own = frozenset(found["own"] or ())
    renamed = []
    for name in sorted({*names} - own):
        if os.path.lexists(folder / name):
            renamed.append(_yours(folder / name))
            os.replace(folder / name, renamed[-1])
    mark(folder, found["holds"], own=own.union(names))
    _tell_renamed(renamed, stacklevel=4)


def remove_own(folder: Path, name: str) -> None:
    """Remove a file or folder out of a finished folder, as far as limbeck has written it."""
    own = own_in(folder) or frozenset()
    path = folder / name
    with contextlib.suppress(OSError):
        if name in own:
            path.unlink()
        elif f"{name}/" in own and not path.is_symlink():
            _strip(path, own, lambda _: None, prefix=f"{name}/")
            path.rmdir()


def remove_folder(folder: Path) -> None:
    """Remove a marked folder: of a finished one what limbeck has written, a working folder whole."""
    told = mark_of(folder)
    with contextlib.suppress(OSError):
        if told is None:
            return
        if told["own"] is not None:
            _strip(folder, frozenset(told["own"]), lambda _: None)
        if told["own"] is None or os.listdir(folder) == [MARK]:
            shutil.rmtree(folder)


def _strip(folder: Path, own: Own, keep: Callable[[str], None], *, prefix: str = "") -> None:
    """Remove what is limbeck's; of all else the name is told."""
    for path in sorted(folder.iterdir()):
        name = prefix + path.name
        if path.is_dir() and not path.is_symlink():
            if f"{name}/" in own:
                _strip(path, own, keep, prefix=f"{name}/")
                with contextlib.suppress(OSError):
                    path.rmdir()
            else:
                keep(name)
        elif name in own:
            path.unlink()
        elif name != MARK:
            keep(name)


def _move(source: Path, target: Path, within: Path) -> list[Path]:
    """Move a file or folder to where nothing of its name is; the places of what had to be given another name."""
    wanted = target
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):  # a folder of the old run, a file of the new one
        target = within / target.name
    if os.path.lexists(target):
        if all(path.is_dir() and not path.is_symlink() for path in (source, target)):
            renamed = [place for path in sorted(source.iterdir()) for place in _move(path, target / path.name, within)]
            source.rmdir()
            return renamed
        target = _yours(target)
    os.replace(source, target)
    return [] if target == wanted else [target]


def _yours(path: Path) -> Path:
    """A name beside a path, free for a user's file that cannot keep its own."""
    number, free = 1, path
    while os.path.lexists(free):
        free = path.with_name(f"{path.name}.yours{'' if number == 1 else number}")
        number += 1
    return free


def _tell_renamed(renamed: Iterable[Path], *, stacklevel: int) -> None:
    """Warn about files of a user's that have other names now."""
    if named := ", ".join(map(str, renamed)):
        told = f"files of the names of your own have been written; your own are now {named}"
        warnings.warn(told, RuntimeWarning, stacklevel=stacklevel)
