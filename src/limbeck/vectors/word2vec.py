"""word2vec's binary format: a header line, then word, blank, d little-endian float32, perhaps a newline."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from limbeck.errors import InputError
from limbeck.vectors.gather import BEHIND_LAST, BEYOND_HEADER, Floats, Gatherer, Table
from limbeck.vectors.text import MOST_DIMENSIONS, header_of

BLOCK = 1 << 23  #: bytes parsed at once
LONGEST_WORD = 1 << 16  #: bytes; no blank within as many means that this is not the format


def read_word2vec_binary(stream: IO[bytes], path: str | Path, *, limit: int | None = None, block: int = BLOCK) -> Table:
    """Read the binary format of word2vec's own tool (newline after each vector) and of gensim (none)."""
    first = stream.readline(100)
    header = header_of(first)
    if header is None or not first.endswith(b"\n") or not 1 <= header[1] <= MOST_DIMENSIONS:
        raise InputError.at(
            path,
            1,
            "the number of words and of dimensions is needed, "
            f"got {first[:40].decode('utf-8', 'replace')!r}: this is no word2vec binary file.",
            code="other_kind",
        )
    promised, dim = header
    size = 4 * dim
    gatherer = Gatherer(path, limit=limit, place="word")
    data, record = b"", 0
    while not gatherer.full:
        chunk = stream.read(block)
        data += chunk
        words, starts, at = find_records(data, size)
        rows = np.empty((len(words), dim), dtype=np.float32)
        for row, start in enumerate(starts):
            rows[row] = np.frombuffer(data, dtype="<f4", count=dim, offset=start)
        gatherer.add(words, rows, range(record + 1, record + 1 + len(words)))
        record += len(words)
        data = data[at:]
        if not chunk or (len(data) > LONGEST_WORD and b" " not in data[:LONGEST_WORD]):
            break
    if record < promised and not gatherer.full:
        raise InputError(
            f"{path}: word {record + 1}: the header promises {promised} words of {dim} dimensions, the file ends or "
            f"breaks after {record}: {gatherer.instead()}.",
            code="damaged",
        )
    if not gatherer.full:
        gatherer.note(BEYOND_HEADER, record - promised)
        gatherer.note(BEHIND_LAST, len(data.strip(b"\n")))
    return gatherer.table(dim)


def find_records(data: bytes, size: int) -> tuple[list[bytes], list[int], int]:
    """Words and starts of vectors of the whole records in `data`, and where the next record begins."""
    words: list[bytes] = []
    starts: list[int] = []
    at = 0
    while (blank := data.find(b" ", at)) >= 0 and blank + 1 + size <= len(data):
        words.append(data[at:blank].lstrip(b"\n"))  # the newline that ends the vector before
        starts.append(blank + 1)
        at = blank + 1 + size
    return words, starts, at


def write_word2vec_binary(stream: IO[bytes], words: Sequence[str], matrix: Floats) -> None:
    """Write as word2vec's own tool does."""
    stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
    for word, row in zip(words, matrix.astype("<f4", copy=False), strict=True):
        stream.write(word.encode() + b" " + row.tobytes() + b"\n")


def check_binary_words(words: Sequence[str], path: str | Path) -> None:
    """Refuse words that a reader could not tell from their neighbours."""
    for row, word in enumerate(words):
        if " " in word or "\n" in word or not word:
            raise InputError(
                f"{path}: a word in word2vec's binary format must not be empty nor hold a blank or newline, "
                f"got {word!r} (word {row}): save as npz or safetensors, which hold any word.",
                code="unsupported",
                parameter="format",
            )
