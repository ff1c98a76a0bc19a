"""Text files, plain or compressed, as streams of characters: told apart by their first bytes, not by their names."""

from __future__ import annotations

import bz2
import codecs
import gzip
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from limbeck.errors import InputError, UsageError
from limbeck.extras import need

MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
#: what the decompressors raise for a damaged file; bzip2 and the reader below raise a bare OSError
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, OSError)
BUFFER = 1 << 16


class ZstandardStream(io.RawIOBase):
    """Decompressed bytes of a Zstandard file of one or more frames.

    The package's own stream reader ends in silence where a file was cut off; this one raises EOFError.
    """

    def __init__(self, file: IO[bytes]) -> None:
        self._zstandard = need("zstandard", purpose="reading .zst files")
        self._file = file
        self._frame: Any = None
        self._left = b""  # compressed bytes behind the end of a frame
        self._ready = b""  # decompressed bytes not yet asked for

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            data = self._left or self._file.read(BUFFER)
            self._left = b""
            if not data:
                if self._frame is not None:
                    raise EOFError("the last frame is not complete")
                return 0
            if self._frame is None:
                self._frame = self._zstandard.ZstdDecompressor().decompressobj()
            try:
                self._ready = self._frame.decompress(data)
            except self._zstandard.ZstdError as error:
                raise OSError(str(error)) from error
            if self._frame.eof:
                self._left = self._frame.unused_data
                self._frame = None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count


def compression_of(head: bytes) -> str | None:
    """The name of the compression that a file's first bytes declare, None for a plain file."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def check_encoding(encoding: str) -> str:
    """The name of the codec to read with: for UTF-8 the one that drops a byte order mark."""
    try:
        name = codecs.lookup(encoding).name
    except LookupError as error:
        raise UsageError(
            f"--encoding must be one that Python knows, got {encoding!r}: try utf-8, windows-1252 or latin-1."
        ) from error
    return "utf-8-sig" if name == "utf-8" else name


@contextmanager
def telling(name: str) -> Iterator[None]:
    """Turn what a damaged or unreadable file raises into one sentence that names it."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        message = f"cannot be opened ({error.strerror}): check the path and its rights."
        raise InputError.at(name, None, message) from error
    except EOFError as error:
        raise InputError.at(
            name, None, f"the compressed file is cut off ({error}): copy or download it again."
        ) from error
    except DAMAGE as error:
        raise InputError.at(name, None, f"the file is damaged ({error}): copy or download it again.") from error


@contextmanager
def open_bytes(path: Path, name: str | None = None) -> Iterator[io.BufferedReader]:
    """The decompressed bytes of a file. Damage met while reading inside the `with` is told by the file's name."""
    with telling(name or str(path)), ExitStack() as stack:
        file = stack.enter_context(open(path, "rb"))
        kind = compression_of(file.peek(8)[:8])
        inner: io.IOBase
        match kind:
            case None:
                yield file
                return
            case "gzip":
                inner = gzip.GzipFile(fileobj=file)
            case "bzip2":
                inner = bz2.BZ2File(file)
            case "xz":
                inner = lzma.LZMAFile(file)  # noqa: SIM115  (the buffer below closes it)
            case _:
                inner = ZstandardStream(file)
        # BufferedReader asks for a raw stream but uses readinto alone, which all four have
        yield stack.enter_context(io.BufferedReader(cast(io.RawIOBase, inner), BUFFER))


@contextmanager
def as_text(stream: IO[bytes], name: str, encoding: str) -> Iterator[IO[str]]:
    """Characters of a stream of bytes, every kind of line end as "\\n"; a wrong byte is told with its line."""
    counting = _Counting(stream)
    text = io.TextIOWrapper(cast(IO[bytes], counting), encoding=check_encoding(encoding))
    try:
        yield text
    except UnicodeDecodeError as error:
        # wrong bytes out of a damaged gzip file are told as damage, which its checksum at the end shows
        while not isinstance(getattr(stream, "raw", None), io.FileIO) and stream.read(BUFFER):
            pass
        line = counting.line_of(error)
        got = error.object[error.start : error.start + 1].hex()
        raise InputError.at(
            name, line, f"must be {encoding} text, got the byte 0x{got}: convert the file or give its --encoding."
        ) from error
    finally:
        text.detach()  # the bytes belong to the caller


@contextmanager
def open_text(path: Path, *, encoding: str = "utf-8", name: str | None = None) -> Iterator[IO[str]]:
    """The characters of a plain or compressed file."""
    with open_bytes(path, name) as stream, as_text(stream, name or str(path), encoding) as text:
        yield text


class _Counting(io.RawIOBase):
    """Bytes handed block by block to a decoder, with the line ends in them counted, so that a wrong byte's line
    is known."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._ends = 0  # line ends in all blocks but the last
        self._last = b""

    def readable(self) -> bool:
        return True

    def read1(self, size: int = BUFFER) -> bytes:
        block = self._stream.read(size)
        # a "\r\n" that lies across two blocks is counted once, with the second
        self._ends += _line_ends(self._last + block[:1]) - _line_ends(block[:1])
        self._last = block
        return block

    def line_of(self, error: UnicodeDecodeError) -> int | None:
        """Number of the line of a wrong byte; None for encodings whose line ends are not single bytes."""
        if codecs.lookup(error.encoding).name.startswith(("utf-16", "utf-32")):
            return None
        # The decoder was given the last block behind the few bytes it still held of the one before.
        behind = len(error.object) - error.start
        before = self._last[: max(0, len(self._last) - behind)]
        return self._ends + _line_ends(before) + 1


def _line_ends(block: bytes) -> int:
    return block.count(b"\n") + block.count(b"\r") - block.count(b"\r\n")
