"""fastText's .bin: the vectors of its words, each the mean of the word's own row and its n-grams' rows.

The layout is that of `FastText::saveModel`, versions 11 and 12: magic number, version, settings, dictionary,
a flag, the input matrix (words, then buckets of n-grams), the output matrix, which is not read.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.vectors.gather import Floats, Gatherer, Table
from limbeck.vectors.text import MOST_DIMENSIONS

MAGIC = 793_712_314
VERSIONS = (11, 12)
SUPERVISED = 3
WORD = 0  #: type of an entry; 1 is a label
SENTENCE_END = b"</s>"
GATHERED = 1 << 25  #: numbers gathered at once while averaging
GROWTH = 1 << 26  #: bytes by which a matrix grows at least
LONGEST_WORD = 1 << 12  #: bytes; fastText itself reads words of 2,048 bytes at most

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class FastTextArgs:
    """What of fastText's `Args`, kept in the file, its vectors are made by."""

    dim: int
    bucket: int
    minn: int
    maxn: int


def read_fasttext_binary(
    stream: IO[bytes], path: str | Path, *, limit: int | None = None, plain: bool = False
) -> Table:
    """Read the words of a .bin with their vectors; `plain`: the file is not compressed and can be mapped."""
    cursor = Cursor(stream, path)
    settings = read_settings(cursor)
    size, words_count, _labels, _tokens, pruned = cursor.unpack("<iiiqq")
    entries = [cursor.entry() for _ in range(size)]
    words = [word for word, kind in entries if kind == WORD]  # labels stand after the words, so rows count the same
    if len(words) != words_count:
        raise InputError(
            f"{path}: the dictionary promises {words_count} words and holds {len(words)}: the file is damaged.",
            code="damaged",
        )
    for _ in range(pruned):
        cursor.take(8)
    if cursor.take(1) != b"\0":
        raise InputError(
            f"{path}: a quantized fastText model (.ftz) cannot be read: use the .bin or .vec file instead.",
            code="unsupported",
        )
    rows, dim = cursor.unpack("<qq")
    # buckets may be there without n-grams of characters: supervised models keep n-grams of words in them
    least = words_count + (settings.bucket if settings.maxn else 0)
    if dim != settings.dim or not least <= rows <= words_count + settings.bucket:
        raise InputError(
            f"{path}: a matrix of {words_count} words and {settings.bucket} buckets of {settings.dim} "
            f"dimensions is needed, got {rows} by {dim}: the file is damaged.",
            code="damaged",
        )
    matrix = read_matrix(cursor, rows, dim, plain)

    gatherer = Gatherer(path, limit=limit, place="word")
    for start, stop in portions(words, settings):
        some = words[start:stop]
        vectors = mean_rows(matrix, *subword_rows(some, start, words_count, settings))
        gatherer.add(some, vectors, range(start + 1, start + 1 + len(some)))
        if gatherer.full:
            break
    return gatherer.table(dim)


def read_settings(cursor: Cursor) -> FastTextArgs:
    path = cursor.path
    magic, version = cursor.unpack("<ii")
    if magic != MAGIC:
        raise InputError(
            f"{path}: a fastText .bin begins with {MAGIC}, got {magic}: this is another kind of file.",
            code="other_kind",
        )
    if version not in VERSIONS:
        raise InputError(
            f"{path}: fastText .bin versions {VERSIONS} can be read, got {version}: use the .vec file.",
            code="other_format",
        )
    values = cursor.unpack("<12id")
    dim, model, bucket, minn, maxn = values[0], values[7], values[8], values[9], values[10]
    if version == 11 and model == SUPERVISED:
        maxn = 0  # as fastText does: old supervised models stored a maxn that they did not use
    if not 1 <= dim <= MOST_DIMENSIONS:
        raise InputError(
            f"{path}: vectors of 1 to {MOST_DIMENSIONS:,} dimensions are needed, got {dim}: get it again.",
            code="out_of_range",
        )
    return FastTextArgs(dim, bucket, minn, maxn)


class Cursor:
    """Reads on through a stream that need not be seekable, and knows where it is."""

    def __init__(self, stream: IO[bytes], path: str | Path) -> None:
        self.stream, self.path = stream, path
        self.data, self.at, self.before = b"", 0, 0  # bytes read ahead, place in them, bytes before them

    @property
    def position(self) -> int:
        return self.before + self.at

    def more(self, size: int) -> None:
        chunk = self.stream.read(size)
        if not chunk:
            raise InputError(
                f"{self.path}: a whole fastText model is needed, the file ends after "
                f"{self.before + len(self.data)} bytes: get the whole file.",
                code="damaged",
            )
        self.before += self.at
        self.data, self.at = self.data[self.at :] + chunk, 0

    def take(self, size: int) -> bytes:
        if len(self.data) - self.at < size:
            self.more(size - (len(self.data) - self.at))
        if len(self.data) - self.at < size:
            self.more(size)  # the end of the file: says so
        self.at += size
        return self.data[self.at - size : self.at]

    def fill(self, target: memoryview) -> None:
        """Read straight into memory, for the matrix, of which no second copy should be made."""
        done = min(len(self.data) - self.at, len(target))
        target[:done] = self.data[self.at : self.at + done]
        self.at += done
        while done < len(target):
            self.more(min(1 << 24, len(target) - done))
            target[done : done + len(self.data)] = self.data
            done += len(self.data)
            self.at = len(self.data)

    def unpack(self, layout: str) -> tuple[int, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def entry(self) -> tuple[bytes, int]:
        """A word of the dictionary and its type: bytes to a zero, an int64 count, an int8 type."""
        while (zero := self.data.find(b"\0", self.at)) < 0 or zero + 10 > len(self.data):
            if len(self.data) - self.at > LONGEST_WORD + 10:
                raise InputError(
                    f"{self.path}: a word must have at most {LONGEST_WORD:,} bytes: the file is damaged.",
                    code="damaged",
                )
            self.more(1 << 16)
        word = self.data[self.at : zero]
        self.at = zero + 10
        return word, self.data[zero + 9]


def read_matrix(cursor: Cursor, rows: int, dim: int, plain: bool) -> Floats:
    if not plain:
        # grown as the numbers come: what a header promises need not be there
        flat, size = np.empty(0, dtype=np.uint8), 4 * rows * dim
        while (done := len(flat)) < size:
            flat.resize(min(size, done + max(GROWTH, done // 8)), refcheck=False)
            cursor.fill(flat[done:].data)
        return flat.view("<f4").reshape(rows, dim)
    path = Path(cursor.path)
    if path.stat().st_size < cursor.position + 4 * rows * dim:
        raise InputError(
            f"{path}: an input matrix of {rows} by {dim} is needed, the file ends before: get the whole file.",
            code="damaged",
        )
    return np.memmap(path, dtype="<f4", mode="r", offset=cursor.position, shape=(rows, dim))


def portions(words: list[bytes], settings: FastTextArgs) -> Iterator[tuple[int, int]]:
    """Ranges of words whose n-grams together have not too many numbers."""
    grams = max(1, min(settings.maxn, LONGEST_WORD) - max(settings.minn, 1) + 1)
    start = size = 0
    for place, word in enumerate(words):
        own = (1 + (len(word) + 2) * min(grams, len(word) + 2)) * settings.dim
        if place > start and size + own > GATHERED:
            yield start, place
            start, size = place, 0
        size += own
    if words:
        yield start, len(words)


def subword_rows(words: list[bytes], first: int, words_count: int, settings: FastTextArgs) -> tuple[Ints, Ints]:
    """Rows of the matrix that make up each word, as (rows, starts): its own, then those of its n-grams.

    An n-gram is minn to maxn characters of "<word>", its row the FNV-1a hash of its bytes modulo the buckets.
    Hashes of all n-grams that begin at all characters are lengthened byte by byte together.
    """
    own = np.arange(first, first + len(words), dtype=np.int64)
    if settings.maxn < 1 or settings.bucket < 1:
        return own, np.arange(len(words), dtype=np.int64)
    # "</s>" has no n-grams in fastText
    marked = [b"" if word == SENTENCE_END else b"<" + word + b">" for word in words]
    lengths = np.array([len(word) for word in marked], dtype=np.int64)
    data = np.frombuffer(b"".join(marked) + b"\0", dtype=np.uint8)  # the zero byte ends the last word
    ends = np.repeat(np.cumsum(lengths), lengths)  # for each byte, where its word ends
    begins = ends - np.repeat(lengths, lengths)
    owner = np.repeat(np.arange(len(words), dtype=np.int64), lengths)
    # fastText hashes bytes as signed chars: those above 127 are sign-extended to 32 bits before the exclusive or
    signed = data.view(np.int8).astype(np.uint32)
    continues = (data & 0xC0) == 0x80  # the second to fourth byte of a UTF-8 character
    start = np.flatnonzero(~continues[:-1])
    at = start.copy()
    hashes = np.full(len(start), 2166136261, dtype=np.uint32)

    found_owner, found_row = [np.arange(len(words), dtype=np.int64)], [own]
    for length in range(1, settings.maxn + 1):
        alive = at < ends[start]
        if not alive.any():
            break
        start, at, hashes = start[alive], at[alive], hashes[alive]
        growing = np.ones(len(start), dtype=bool)
        while growing.any():  # one byte, then the continuation bytes that follow it
            hashes[growing] = (hashes[growing] ^ signed[at[growing]]) * np.uint32(16777619)
            at[growing] += 1
            growing &= (at < ends[start]) & continues[at]
        if length >= settings.minn:
            # "<" and ">" alone are no n-grams
            proper = (length > 1) | ((start != begins[start]) & (at != ends[start]))
            found_owner.append(owner[start[proper]])
            found_row.append(words_count + (hashes[proper] % np.uint32(settings.bucket)).astype(np.int64))
    owners = np.concatenate(found_owner)
    order = np.argsort(owners, kind="stable")
    return np.concatenate(found_row)[order], np.searchsorted(owners[order], np.arange(len(words)))


def mean_rows(matrix: Floats, rows: Ints, starts: Ints) -> Floats:
    """Mean of the rows of each word; summed in float64."""
    counts = np.diff(np.append(starts, len(rows)))
    sums = np.add.reduceat(matrix[rows], starts, axis=0, dtype=np.float64)
    means: Floats = (sums / counts[:, None]).astype(np.float32)
    return means
