"""Text files, plain or compressed, as streams of characters: told apart by their first bytes, not by their names."""

from __future__ import annotations

import bz2
import codecs
import io
import lzma
import tarfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, cast

from limbeck.corpus.offsets import Frame, Frames, Place, Trail
from limbeck.errors import InputError, UsageError
from limbeck.extras import need
from limbeck.remote import Ranges, RemoteFile

MAGIC: dict[bytes, str] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
#: what the decompressors raise for a damaged file; bzip2 and the reader below raise a bare OSError
DAMAGE = (EOFError, zlib.error, lzma.LZMAError, tarfile.TarError, OSError)
BUFFER = 1 << 16
SMALL_PIECE = 1 << 11  #: compressed bytes of Zstandard, which become 64 MiB at most
PIECE = 1 << 20  #: decompressed bytes
#: a file that has become larger than a gibibyte and than a thousand times what was read of it is a bomb, not a text
EXPANDED, EXPANSION = 1 << 30, 1_000
XZ_MEMORY = 1 << 30


class Expanding(OSError):
    """A compressed file that grows past every measure."""


class Decompressed(io.RawIOBase):
    """Decompressed bytes of a file of one or more frames (members, streams), from the beginning of one of them on.

    The packages' own readers end in silence where some files were cut off; this one raises EOFError. Nor do they say
    where frames begin, and some give at once all that a few bytes expand to.
    """

    def __init__(self, file: IO[bytes], kind: str, start: Frame | None = None) -> None:
        self.start = start or Frame()
        self.frames = Frames(self.start)
        self._file, self._kind = file, kind
        self._piece = SMALL_PIECE if kind == "zstandard" else BUFFER
        self._read, self._written = self.start.at, self.start.text_at  # bytes of the file, of the text
        self._engine: Any = None  # of the frame that is being read
        self._waiting = b""  # compressed bytes for the engine, or for the next
        self._ready = memoryview(b"")  # decompressed bytes not yet asked for

    @property
    def taken(self) -> int:
        """Bytes of the file that have gone into what was decompressed."""
        return self._read - self.start.at - len(self._waiting)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready:
            if not self._more():
                return 0
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _more(self) -> bool:
        """Decompress a piece, which may be empty; False at the end of the file."""
        data = b""
        if self._engine is None or getattr(self._engine, "needs_input", True):
            data, self._waiting = self._waiting or self._next(), b""
        if self._engine is None:
            data = self._frame_in(data)
            if not data:
                return bool(self._waiting)
            self.frames.note(Frame(self._read - len(data), self._written))
            self._engine = _decompressor(self._kind)
        elif not data and self._kind == "zstandard":
            raise EOFError("the last frame is not complete")
        try:
            # zstandard has no bound on what it gives, hence the small pieces that it is fed
            out = self._engine.decompress(data, *(() if self._kind == "zstandard" else (PIECE,)))
        except Exception as error:
            raise OSError(str(error)) from error  # each package has an exception of its own
        if not out and not data and not self._engine.eof and getattr(self._engine, "needs_input", True):
            raise EOFError("the last frame is not complete")
        if self._engine.eof:
            self._waiting, self._engine = self._engine.unused_data, None
        else:
            self._waiting = getattr(self._engine, "unconsumed_tail", b"")
        self._written += len(out)
        self._ready = memoryview(out)
        grown = self._written - self.start.text_at
        if grown > EXPANDED and grown > EXPANSION * (self._read - len(self._waiting) - self.start.at):
            raise Expanding
        return True

    def _next(self) -> bytes:
        data = self._file.read(self._piece)
        self._read += len(data)
        return data

    def _frame_in(self, data: bytes) -> bytes:
        """What begins with a frame, behind the end of another; nothing at the end of the file."""
        if self._read == self.start.at + len(data):
            return data  # the first frame: it has been looked at
        if self._kind in ("gzip", "xz"):  # may have padding between
            while data and not (data := data.lstrip(b"\0")):
                data = self._next()
        magic = next(magic for magic, kind in MAGIC.items() if kind == self._kind)
        if data and len(data) < len(magic):
            data += self._next()
        if data and self._kind != "zstandard" and not data.startswith(magic):
            if self._kind == "gzip":
                raise OSError("what follows the end of a part is no gzip")
            while self._next():  # as the tools do, what follows the last stream of bzip2 or xz is passed over
                pass
            return b""
        return data


def _decompressor(kind: str) -> Any:
    match kind:
        case "gzip":
            return zlib.decompressobj(31)  # with gzip's header and checksum
        case "bzip2":
            return bz2.BZ2Decompressor()
        case "xz":
            return lzma.LZMADecompressor(format=lzma.FORMAT_XZ, memlimit=XZ_MEMORY)
    return need("zstandard", purpose="reading .zst files").ZstdDecompressor().decompressobj()


def compression_of(head: bytes) -> str | None:
    """The name of the compression that a file's first bytes declare, None for a plain file."""
    return next((name for magic, name in MAGIC.items() if head.startswith(magic)), None)


def check_encoding(encoding: str) -> str:
    """The name of the codec to read with: for UTF-8 the one that drops a byte order mark."""
    try:
        name = codecs.lookup(encoding).name
        "".encode(encoding)  # hex, rot13 and their like are no encodings of text
    except LookupError as error:
        raise UsageError(
            f"--encoding must be one that Python knows, got {encoding!r}: try utf-8, windows-1252 or latin-1.",
            code="unknown_choice",
            parameter="encoding",
        ) from error
    return "utf-8-sig" if name == "utf-8" else name


@contextmanager
def telling(name: str) -> Iterator[None]:
    """Turn what a damaged or unreadable file raises into one sentence that names it."""
    try:
        yield
    except (FileNotFoundError, PermissionError, IsADirectoryError) as error:
        message = f"cannot be opened ({error.strerror}): check the path and its rights."
        raise InputError.at(name, None, message, code="not_readable") from error
    except Expanding as error:
        raise InputError.at(
            name,
            None,
            f"a compressed file must not grow to more than {EXPANSION:,} times its size, this one does: "
            "decompress it yourself if that is right.",
            code="too_large",
        ) from error
    except EOFError as error:
        raise InputError.at(
            name, None, f"the compressed file is cut off ({error}): copy or download it again.", code="damaged"
        ) from error
    except DAMAGE as error:
        raise InputError.at(
            name, None, f"the file is damaged ({error}): copy or download it again.", code="damaged"
        ) from error


@contextmanager
def open_bytes(
    path: Path | RemoteFile, name: str | None = None, start: Place | None = None
) -> Iterator[io.BufferedReader]:
    """The decompressed bytes of a file, from the beginning of a line on.

    Damage met while reading inside the `with` is told by the file's name.
    """
    with telling(name or str(path)), ExitStack() as stack:
        file = stack.enter_context(path.open() if isinstance(path, RemoteFile) else path.open("rb"))
        kind = compression_of(file.peek(8)[:8])
        if kind is None:
            if start is not None:
                file.seek(start.at)
            yield file
            return
        if start is not None:
            file.seek(start.frame.at)
        inner = Decompressed(file, kind, None if start is None else start.frame)
        stream = stack.enter_context(io.BufferedReader(inner, BUFFER))
        left = 0 if start is None else start.at - start.frame.text_at
        while left and (passed := len(stream.read(min(left, PIECE)))):
            left -= passed
        yield cast(io.BufferedReader, stream)


@contextmanager
def as_text(stream: IO[bytes], name: str, encoding: str, trail: Trail | None = None) -> Iterator[IO[str]]:
    """Characters of a stream of bytes, every kind of line end as "\\n"; a wrong byte is told with its line."""
    counting = _Counting(stream, trail)
    codec = check_encoding(encoding)
    if codec == "utf-8-sig" and trail is not None and trail.start.at:
        codec = "utf-8"  # a byte order mark stands at the beginning of a file alone
    text = io.TextIOWrapper(cast(IO[bytes], counting), encoding=codec)
    try:
        yield text
    except UnicodeDecodeError as error:
        # wrong bytes out of a damaged gzip file are told as damage, which its checksum at the end shows
        while not isinstance(getattr(stream, "raw", None), io.FileIO | Ranges) and stream.read(BUFFER):
            pass
        line = counting.line_of(error)
        got = error.object[error.start : error.start + 1].hex()
        raise InputError.at(
            name,
            line,
            f"must be {encoding} text, got the byte 0x{got}: convert the file or give its --encoding.",
            code="not_utf8",
            parameter="encoding",
        ) from error
    finally:
        text.detach()  # the bytes belong to the caller


@contextmanager
def open_text(path: Path | RemoteFile, *, encoding: str = "utf-8", name: str | None = None) -> Iterator[IO[str]]:
    """The characters of a plain or compressed file."""
    with open_bytes(path, name) as stream, as_text(stream, name or str(path), encoding) as text:
        yield text


class _Counting(io.RawIOBase):
    """Bytes handed block by block to a decoder, with the line ends in them counted, so that a wrong byte's line
    is known."""

    def __init__(self, stream: IO[bytes], trail: Trail | None = None) -> None:
        self._stream = stream
        self._trail = trail
        self._at = trail.start.at if trail else 0  # bytes in all blocks
        self._ends = trail.start.line - 1 if trail else 0  # line ends in all blocks but the last
        self._last = b""

    def readable(self) -> bool:
        return True

    def read1(self, size: int = BUFFER) -> bytes:
        block = self._stream.read(size)
        # a "\r\n" that lies across two blocks is counted once, with the second
        self._ends += _line_ends(self._last + block[:1]) - _line_ends(block[:1])
        self._last = block
        if self._trail is not None and self._trail.wants(self._at) and (end := block.find(b"\n") + 1):
            self._trail.note(self._ends + _line_ends(block[:end]) + 1, self._at + end)
        self._at += len(block)
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
    returns = block.count(b"\r")
    return block.count(b"\n") + (returns - block.count(b"\r\n") if returns else 0)  # few files have any
