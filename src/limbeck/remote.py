"""Files by URL (s3://, gs://, …) through fsspec: found, read by ranges, copied here, put there.

Credentials and endpoints are the affair of fsspec and its packages: environment, profiles, roles. None pass here.
"""

from __future__ import annotations

import atexit
import io
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import unquote

from limbeck.errors import InputError, LimbeckError, MissingExtra, UsageError, holds_password
from limbeck.extras import need

#: a Path keeps only one of its two slashes; a single letter is a drive of Windows
URL = re.compile(r"([a-z][a-z0-9+.\-]+):/+(.*)", re.DOTALL | re.IGNORECASE)
WEB = ("http", "https")  #: where there are files and no folders
#: where folders come with the files in them; to make one could make a bucket
OBJECTS = ("s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "oss", "hf", "memory")
BLOCK = 1 << 23  #: bytes fetched at once
TRIES = 3  #: of a file system whose own retries have failed already
PAUSE = 0.5  #: seconds before the second try, twice as long before each after it
PACKAGES = {"s3": '"limbeck[remote]"', "s3a": '"limbeck[remote]"', "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs"}
#: what file systems call the mark of a file's content, the surest first
STAMPS = ("ETag", "etag", "md5Hash", "mtime", "LastModified", "updated", "created")

Got = TypeVar("Got")


def as_url(path: str | Path) -> str | None:
    """The URL that a path is, None for a path of this machine.

    >>> as_url("s3://bucket/text.txt"), as_url(Path("s3://bucket/text.txt")), as_url("texts/a.txt")
    ('s3://bucket/text.txt', 's3://bucket/text.txt', None)
    """
    if "://" not in str(path) and os.path.lexists(path):
        return None
    refuse_password(path)
    match = URL.fullmatch(str(path))
    if not match:
        return None
    scheme, rest = match[1].lower(), match[2]
    return f"{scheme}:///{rest}" if scheme == "file" else f"{scheme}://{rest}"


def refuse_password(path: str | Path) -> None:
    """Refuse a URL, or a chain of them, that has a password in it."""
    if holds_password(str(path)):
        scheme = re.match(r"[\w+.\-=]*", str(path))
        raise UsageError(
            f"{scheme[0] if scheme else ''}://…@…: a URL must not hold a password, which would be kept in records: "
            "give it as the file system's package reads it, from the environment or its settings file.",
            code="password",
        )


class Place(str):
    """A file as a command line names it: a path, though it may look like a text."""

    __slots__ = ()


def as_path(path: str | Path) -> str | Path:
    """The path that a file:// URL names; anything else as it is."""
    url = as_url(path)
    if url is None or not url.startswith("file:"):
        return path
    local = unquote(url.removeprefix("file://"))
    return local.lstrip("/") if os.name == "nt" else local


class UrlPath(type(Path())):  # type: ignore[misc]
    """A URL that passes for a path where it is only printed, or another name is put behind it."""

    def __str__(self) -> str:
        text = super().__str__()
        return as_url(text) or text


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file by URL, as it was when it was found."""

    url: str
    size: int
    stamp: str  # ETag, or when it was changed

    @property
    def name(self) -> str:
        return PurePosixPath(self.url).name

    def as_posix(self) -> str:
        return self.url

    def __str__(self) -> str:
        return self.url

    def open(self) -> io.BufferedReader:
        """The file's bytes; they can be sought in. It must still be the file that was found."""
        system, path = file_system(self.url)
        with telling(self.url):
            now = _file(self.url, system.info(path))
        if now is not None and now != self:
            raise InputError.at(
                self.url, None, "the file was changed during the run: run again with what is there.", code="changed"
            )
        return io.BufferedReader(Ranges(self), 1 << 16)

    def now(self) -> RemoteFile | None:
        """The file that is there at this moment; None where there is none."""
        system, path = file_system(self.url)
        with telling(self.url):
            with suppress(NotImplementedError):
                system.invalidate_cache()
            try:
                return _file(self.url, system.info(path))
            except FileNotFoundError:
                return None

    def read(self, start: int, stop: int) -> bytes:
        """Some of its bytes."""
        system, path = file_system(self.url)

        def fetch() -> bytes:
            found: bytes = system.cat_file(path, start=start, end=stop)
            if len(found) != stop - start:
                raise OSError(f"got {len(found)} of {stop - start} bytes")
            return found

        return fetch() if start >= stop else persist(self.url, fetch)


class Ranges(io.RawIOBase):
    """A remote file, some megabytes at a time."""

    def __init__(self, file: RemoteFile) -> None:
        self._file = file
        self._at = 0
        self._block, self._start = b"", 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence])
        return self._at

    def readinto(self, buffer: Any) -> int:
        if self._at >= self._file.size:
            return 0
        within = self._at - self._start
        if not 0 <= within < len(self._block):
            self._start, within = self._at, 0
            self._block = self._file.read(self._at, min(self._at + BLOCK, self._file.size))
        part = self._block[within : within + len(buffer)]
        buffer[: len(part)] = part
        self._at += len(part)
        return len(part)


def size_of(file: Path | RemoteFile) -> int:
    return file.size if isinstance(file, RemoteFile) else file.stat().st_size


def file_system(url: str) -> tuple[Any, str]:
    """fsspec's file system for a URL, and the path in it."""
    scheme = url.split(":")[0]
    fsspec = need("fsspec", purpose=f"{scheme}:// as a place of files")
    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        package = PACKAGES.get(scheme, "the package that it names")
        reason = (str(error).splitlines() or [""])[0].rstrip(".")
        raise MissingExtra(
            f"{scheme}:// needs a package that is not installed ({reason}): pip install {package}.",
            code="not_installed",
        ) from error
    except ValueError as error:
        raise UsageError(
            f"{url}: a URL must be one that fsspec knows (s3, gs, file, …), got {scheme}://.", code="unknown_choice"
        ) from error
    except Exception as error:  # of a chain the first file is opened here
        with telling(url):
            raise error
    return system, str(path)


@contextmanager
def telling(url: str) -> Iterator[None]:
    """Turn what a file system far away raises into one sentence that names the URL and the remedy."""
    try:
        yield
    except LimbeckError:
        raise
    except FileNotFoundError as error:
        raise InputError.at(
            url, None, "there is no such file, folder or bucket: check the URL.", code="not_found"
        ) from error
    except PermissionError as error:
        raise InputError.at(
            url,
            None,
            f"no permission ({_reason(error)}): check the credentials in the environment and their rights.",
            code="not_permitted",
        ) from error
    except Exception as error:  # each file system has a dozen exceptions of its own for it
        if "credential" in f"{type(error).__name__} {error}".lower():
            told = f"no credentials ({_reason(error)}): set them as the file system's package reads them."
        else:
            told = f"cannot be reached ({_reason(error)}): check the URL, the network and the endpoint."
        raise InputError.at(url, None, told, code="not_reachable") from error


def _reason(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[0] if lines else type(error).__name__).rstrip(".")[:200]


def persist(url: str, act: Callable[[], Got]) -> Got:
    """Do something that a network may spoil: again after a moment where it did, a few times."""
    with telling(url):
        for attempt in range(TRIES - 1):
            try:
                return act()
            except (LimbeckError, FileNotFoundError, PermissionError):
                raise
            except Exception:
                time.sleep(PAUSE * 2**attempt)
        return act()


def _file(url: str, info: dict[str, Any]) -> RemoteFile | None:
    """The file that a file system tells of, None where it does not know its size."""
    if info.get("size") is None:
        return None
    stamp = next((str(info[name]) for name in STAMPS if info.get(name)), "")
    return RemoteFile(url, int(info["size"]), stamp)


def find(url: str) -> list[RemoteFile] | None:
    """The files that a URL names, itself or in a folder or by a glob, sorted; None where it must be copied first.

    Copied is what another process could not see (memory://) and what does not tell its size.
    """
    system, path = file_system(url)
    scheme = url.split(":")[0]
    with telling(url):
        with suppress(NotImplementedError):
            system.invalidate_cache()  # what was listed a while ago may have changed
        try:
            info = system.info(path)
        except FileNotFoundError:
            if scheme in WEB or not has_magic(path):
                raise
            info = None
        if scheme == "memory" or (info is not None and info.get("size") is None and info["type"] == "file"):
            return None
        if info is not None and (info["type"] == "file" or scheme in WEB):
            return [file] if (file := _file(url, info)) else None
        entries = system.glob(path, detail=True) if info is None else system.find(path, detail=True)
        inside = path.rstrip("/")
        found = []
        for name, entry in sorted(entries.items()):
            below = "" if info is None else name.removeprefix(inside)
            hidden = any(part.startswith(".") for part in below.split("/"))
            if entry["type"] == "file" and not hidden and not name.endswith("/"):
                found.append(_file(system.unstrip_protocol(name), entry))
    if info is None and not found:
        raise InputError.at(
            url, None, "no file matches this pattern: check it, and quote it in the shell.", code="not_found"
        )
    if not found:
        raise InputError.at(
            url, None, "the folder must hold files that are not hidden, got none: give another.", code="empty"
        )
    return [file for file in found if file is not None]


def names_in(url: str) -> list[str]:
    """Names of all files below a URL, without it; the URL itself as "" where it is a file; none where nothing is."""
    system, path = file_system(url)
    with telling(url):
        with suppress(NotImplementedError):
            system.invalidate_cache()
        try:
            found: list[str] = sorted(system.find(path))
        except FileNotFoundError:
            found = []
        if not found:
            root = path.split("/")[0]
            if not system.exists(root):
                raise FileNotFoundError(root)
    return [name[len(path.rstrip("/")) :].strip("/") for name in found]


def copy_here(url: str, folder: Path) -> Path:
    """A copy of a file or folder by URL, in a folder of this machine."""
    system, path = file_system(url)
    place = folder / (PurePosixPath(path).name or "copy")
    names = names_in(url)
    if not names:
        raise InputError.at(url, None, "there is no such file or folder: check the URL.", code="not_found")
    for name in names:
        target = place / name if name else place
        if not target.resolve().is_relative_to(folder.resolve()):  # keys may hold ".."
            raise InputError.at(
                url, None, f"a file in it must lie below it, got {name!r}: rename it.", code="outside_folder"
            )
        target.parent.mkdir(parents=True, exist_ok=True)
        source = f"{path.rstrip('/')}/{name}" if name else path
        persist(url, lambda source=source, target=target: system.get_file(source, str(target)))  # type: ignore[misc]
    return place


@contextmanager
def brought(path: str | Path) -> Iterator[Path]:
    """A path that can be opened here: of a URL a copy, which stays until the program ends. Errors name the URL."""
    path = as_path(path)
    url = as_url(path)
    if url is None:
        yield Path(path).expanduser()
        return
    place = _copied(url)
    try:
        yield place
    except LimbeckError as error:
        told = error.message.replace(str(place), url)
        raise type(error)(told, code=error.code, parameter=error.parameter) from error


_copies: dict[str, Path] = {}


def _copied(url: str) -> Path:
    if url not in _copies:
        folder = Path(tempfile.mkdtemp(prefix="limbeck-"))
        atexit.register(_remove, folder, os.getpid())
        _copies[url] = copy_here(url, folder)
    return _copies[url]


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(folder, ignore_errors=True)


def put(local: Path, url: str) -> None:
    """Upload a file."""
    system, path = file_system(url)

    def send() -> None:
        if url.split(":")[0] not in OBJECTS:
            system.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
        system.put_file(str(local), path)

    persist(url, send)


@contextmanager
def put_at(place: str | Path) -> Iterator[Path]:
    """A folder to write files into: the place itself, or of a URL one of this machine whose files are put there."""
    place = as_path(place)
    url = as_url(place)
    if url is None:
        yield Path(place)
        return
    with tempfile.TemporaryDirectory(prefix="limbeck-") as folder:
        yield Path(folder)
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file():
                put(path, f"{url.rstrip('/')}/{path.relative_to(folder).as_posix()}")


def read_bytes(url: str, *, most: int) -> bytes:
    """The beginning of a small file."""
    system, path = file_system(url)

    def act() -> bytes:
        found: bytes = system.cat_file(path, end=most)
        return found

    return persist(url, act)


def remove(url: str) -> None:
    """Remove a file; one that is not there is fine."""
    system, path = file_system(url)

    def act() -> None:
        with suppress(FileNotFoundError):
            system.rm_file(path)

    persist(url, act)
