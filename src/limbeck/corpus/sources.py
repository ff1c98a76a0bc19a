"""Which files a corpus is read from: files, folders, globs, parts of tar archives, standard input."""

from __future__ import annotations

import contextlib
import glob
import os
import shutil
import stat
import sys
import tarfile
import tempfile
import weakref
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from limbeck import remote
from limbeck.corpus.compression import Decompressed, as_text, open_bytes, telling
from limbeck.corpus.offsets import Place, Trail
from limbeck.corpus.sample import SAMPLE, sample_path
from limbeck.errors import InputError
from limbeck.remote import RemoteFile, as_path, as_url, size_of

TAR_HEADER = 512  #: bytes; the word "ustar" stands at 257


@dataclass(frozen=True, slots=True)
class Source:
    """One file of a corpus: where it lies, what errors call it, and which part of an archive is meant."""

    path: Path | RemoteFile
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
                    f"({error.strerror}): free space there or set TMPDIR.",
                    code="not_writable",
                ) from error

    def close(self) -> None:
        self._finalizer()


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a forked worker, whose parent still reads the file
        path.unlink(missing_ok=True)


def is_read_once(path: str) -> bool:
    """Whether what a path names can be read only once: standard input, a pipe."""
    try:
        return path == "-" or stat.S_ISFIFO(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def find_sources(paths: Sequence[str | Path]) -> tuple[list[Source], list[Spool]]:
    """All files that the paths name, in order; folders and globs in the order of their names."""
    if not paths:
        raise InputError(
            "A corpus needs at least one path, got none: give a file, folder or glob, or -.",
            code="required",
            parameter="corpus",
        )
    sources: list[Source] = []
    spools: list[Spool] = []
    for path in map(str, paths):
        path = str(as_path(path))
        if path == "-":
            if sys.stdin is None:
                raise InputError(
                    "-: a text is to be read from standard input, it is closed: give a file or a pipe.",
                    code="not_readable",
                    parameter="corpus",
                )
            spools.append(Spool(sys.stdin.buffer))
            sources.append(_checked(Source(spools[-1].path, "standard input")))
        elif url := as_url(path):
            if (files := _by_url(url)) is None:
                spools.append(_spooled(url))
                sources.append(_checked(Source(spools[-1].path, url)))
            else:
                sources += files
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
                raise InputError.at(
                    path, None, "no file matches this pattern: check it, and quote it in the shell.", code="not_found"
                )
            sources += [Source(Path(p), p) for p in found]
        else:
            raise InputError.at(path, None, "there is no such file or folder: check the path.", code="not_found")
    return sources, spools


def _checked(source: Source) -> Source:
    if size_of(source.path) == 0:
        raise InputError.at(source.name, None, "must hold text, got an empty file: give another.", code="empty")
    return source


def _in_folder(folder: str) -> list[Source]:
    """All regular files below a folder that are not hidden, sorted."""
    found: list[str] = []
    for at, folders, files in os.walk(folder, onerror=_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".")]
        found += [os.path.join(at, name) for name in files if not name.startswith(".")]
    sources = [Source(Path(p), p) for p in sorted(found) if os.path.isfile(p)]
    if not sources:
        raise InputError.at(
            folder, None, "the folder must hold files that are not hidden, got none: give another.", code="empty"
        )
    return sources


def _unreadable(error: OSError) -> None:
    raise InputError.at(
        str(error.filename), None, f"cannot be listed ({error.strerror}): check its rights.", code="not_readable"
    ) from error


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


def _by_url(url: str) -> list[Source] | None:
    """The files that a URL names, or the part of an archive; None for what must be copied here first."""
    try:
        files = remote.find(url)
    except InputError:
        inside = _in_remote_archive(url)
        if inside is None:
            raise
        return [inside]
    if files is None:
        return None
    found = [Source(file, file.url) for file in files]
    return [_checked(found[0])] if len(found) == 1 else [source for source in found if size_of(source.path)]


def _in_remote_archive(url: str) -> Source | None:
    """As `_in_archive`, for names that look like one: each look costs a request."""
    parts = url.split("/")
    for count in range(len(parts) - 1, 3, -1):
        if ".tar" not in parts[count - 1] and not parts[count - 1].endswith((".tgz", ".txz")):
            continue
        with contextlib.suppress(InputError):
            files = remote.find("/".join(parts[:count]))
            if files and len(files) == 1 and files[0].url == "/".join(parts[:count]):
                return Source(files[0], url, "/".join(parts[count:]))
    return None


def _spooled(url: str) -> Spool:
    system, path = remote.file_system(url)
    with remote.telling(url), system.open(path, "rb") as stream:
        return Spool(stream)


def texts_in(
    source: Source, encoding: str, start: Place | None = None, trails: list[Trail] | None = None
) -> Generator[tuple[str, IO[str]], None, None]:
    """(name, characters) of a source: of the file itself, or of each regular file of an archive, in its order.

    Each stream must be read before the next is asked for: archives are read once through. A file that is no archive
    can be read from a `start`; into `trails`, where it is given, goes one that tells where its lines begin.
    """
    with open_bytes(source.path, source.name, start) as stream:
        if start is not None or not is_tar(stream.peek(TAR_HEADER)):
            trail = None
            if trails is not None:
                trail = Trail(start or Place(), stream.raw.frames if isinstance(stream.raw, Decompressed) else None)
                trails.append(trail)
            with as_text(stream, source.name, encoding, trail) as text:
                yield source.name, text
            return
        found = False
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            for member in _members(archive):
                if not member.isfile() or not _is_part(member.name, source.member):
                    continue
                if member.issparse():  # a few bytes that say that they are as many zeros as they like
                    raise InputError.at(
                        f"{source.path}/{member.name}",
                        None,
                        "a sparse file in an archive is not read: unpack it.",
                        code="unsupported",
                    )
                file = archive.extractfile(member)
                if file is None:
                    continue
                found = True
                name = f"{source.path}/{member.name}"
                with file, as_text(file, name, encoding) as text:
                    yield name, text
        if not found:
            raise InputError.at(
                source.name, None, "the archive holds no such file: list it with tar -t.", code="not_found"
            )


def _members(archive: tarfile.TarFile) -> Iterator[tarfile.TarInfo]:
    """What is in an archive; headers that make no sense are damage, whatever tarfile makes of them."""
    while True:
        try:
            member = archive.next()
        except (ArithmeticError, LookupError, MemoryError, TypeError, ValueError) as error:
            raise tarfile.ReadError(f"a header that makes no sense: {error}") from error
        if member is None:
            return
        yield member


def _is_part(member: str, wanted: str) -> bool:
    """Whether the parts of `wanted` stand in a row among the parts of `member`; hidden files never match."""
    parts, sought = Path(member).parts, Path(wanted).parts
    if any(part.startswith(".") and part != "." for part in parts):
        return False
    return any(parts[i : i + len(sought)] == sought for i in range(len(parts) - len(sought) + 1))
