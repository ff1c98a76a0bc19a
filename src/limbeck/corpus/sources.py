"""Which files a corpus is read from: files, folders, globs, parts of tar archives, standard input."""

from __future__ import annotations

import glob
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import weakref
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from limbeck.corpus.compression import as_text, open_bytes, telling
from limbeck.corpus.sample import SAMPLE, sample_path
from limbeck.errors import InputError

TAR_HEADER = 512  #: bytes; the word "ustar" stands at 257


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a corpus: where it lies, what errors call it, and which part of an archive is meant."""

    path: Path
    name: str
    member: str = ""  # "brown1" in "semcor3.0.tar.xz/brown1"


class Spool:
    """A temporary copy of a stream that can be read only once; removed at `close` or when the program ends."""

    def __init__(self, stream: IO[bytes]) -> None:
        with tempfile.NamedTemporaryFile(prefix="limbeck-", suffix=".spool", delete=False) as copy:
            self.path = Path(copy.name)
            self._finalizer = weakref.finalize(self, _remove, self.path, os.getpid())
            try:
                shutil.copyfileobj(stream, copy, 1 << 20)
            except OSError as error:
                self.close()
                raise InputError(
                    f"What is read from a pipe must first be kept in {self.path.parent}, got an error "
                    f"({error.strerror}): free space there or set TMPDIR."
                ) from error

    def close(self) -> None:
        self._finalizer()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked worker, whose parent still reads the file
        path.unlink(missing_ok=True)


def find_sources(paths: Sequence[str | Path]) -> tuple[list[Source], list[Spool]]:
    """All files that the paths name, in order; folders and globs in the order of their names."""
    if not paths:
        raise InputError("A corpus needs at least one path, got none: give a file, folder or glob, or -.")
    sources: list[Source] = []
    spools: list[Spool] = []
    for path in map(str, paths):
        if path == "-":
            spools.append(Spool(sys.stdin.buffer))
            sources.append(_checked(Source(spools[-1].path, "standard input")))
        elif os.path.isdir(path):
            sources += _in_folder(path)
        elif os.path.exists(path):
            if not stat.S_ISREG(os.stat(path).st_mode):  # a pipe, as from <(...), is read once only
                with telling(path), open(path, "rb") as stream:
                    spools.append(Spool(stream))
                sources.append(_checked(Source(spools[-1].path, path)))
            else:
                sources.append(_checked(Source(Path(path), path)))
        elif path == SAMPLE:
            sources.append(Source(sample_path(), path))
        elif inside := _in_archive(path):
            sources.append(inside)
        elif glob.has_magic(path):
            found = sorted(p for p in glob.glob(path, recursive=True) if os.path.isfile(p))
            if not found:
                raise InputError.at(path, None, "no file matches this pattern: check it, and quote it in the shell.")
            sources += [Source(Path(p), p) for p in found]
        else:
            raise InputError.at(path, None, "there is no such file or folder: check the path.")
    return sources, spools


def _checked(source: Source) -> Source:
    if source.path.stat().st_size == 0:
        raise InputError.at(source.name, None, "must hold text, got an empty file: give another.")
    return source


def _in_folder(folder: str) -> list[Source]:
    """All regular files below a folder that are not hidden, sorted."""
    found: list[str] = []
    for at, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(at, name) for name in files if not name.startswith(".")]
    sources = [Source(Path(p), p) for p in sorted(found) if os.path.isfile(p)]
    if not sources:
        raise InputError.at(folder, None, "the folder must hold files that are not hidden, got none: give another.")
    return sources


def _unreadable(error: OSError) -> None:
    raise InputError.at(str(error.filename), None, f"cannot be listed ({error.strerror}): check its rights.") from error


def _in_archive(path: str) -> Source | None:
    """The archive of which `path` names a part: "texts.tar.gz/en" is what lies under "en" in texts.tar.gz."""
    for parent in Path(path).parents:
        if parent.is_file():
            with open_bytes(parent) as stream:
                if is_tar(stream.peek(TAR_HEADER)):
                    return Source(parent, path, Path(path).relative_to(parent).as_posix())
    return None


def is_tar(head: bytes) -> bool:
    """Whether a (decompressed) file begins like a tar archive."""
    return head[257:262] == b"ustar"


def texts_in(source: Source, encoding: str) -> Generator[tuple[str, IO[str]], None, None]:
    """(name, characters) of a source: of the file itself, or of each regular file of an archive, in its order.

    Each stream must be read before the next is asked for: archives are read once through.
    """
    with open_bytes(source.path, source.name) as stream:
        if not is_tar(stream.peek(TAR_HEADER)):
            with as_text(stream, source.name, encoding) as text:
                yield source.name, text
            return
        found = False
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in archive:
                if not member.isfile() or not _is_part(member.name, source.member):
                    continue
                file = archive.extractfile(member)
                if file is None:
                    continue
                found = True
                name = f"{source.path}/{member.name}"
                with file, as_text(file, name, encoding) as text:
                    yield name, text
        if not found:
            raise InputError.at(source.name, None, "the archive holds no such file: list it with tar -t.")


def _is_part(member: str, wanted: str) -> bool:
    """Whether the parts of `wanted` stand in a row among the parts of `member`; hidden files never match."""
    parts, sought = Path(member).parts, Path(wanted).parts
    if any(part.startswith(".") and part != "." for part in parts):
        return False
    return any(parts[i : i + len(sought)] == sought for i in range(len(parts) - len(sought) + 1))
