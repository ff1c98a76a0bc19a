"""Word vectors as text: word2vec and fastText's .vec (a header line), GloVe (none).

A line is a word, a blank, and d numbers parted by single blanks. The word is whatever stands before the
last d fields: GloVe's published files hold words with blanks, no-break spaces and U+2028 in them, so
neither `str.split` nor `str.splitlines` will do. Everything is done on bytes, many lines at a time.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, MissingExtra
from limbeck.extras import need
from limbeck.numerals import number_of
from limbeck.vectors.gather import BEYOND_HEADER, Floats, Gatherer, Table

Ints = NDArray[np.int64]

BLOCK = 1 << 23  #: bytes parsed at once
BLANK, NEWLINE = 32, 10
LINE_END = (13, 32, 9)  #: word2vec's own writer leaves a blank at the end of a line, others a carriage return
HEADER = re.compile(rb"\s*(\d{1,18})[ \t]+(\d{1,18})\s*")
MOST_DIMENSIONS = 1 << 20  #: of a vector; more in a header is damage
LONGEST_LINE = 1 << 26  #: bytes
NOT_DECIMAL = re.compile(rb"[^-+.eE0-9 ]")
NUMBER_LIKE = re.compile(rb"[+-]?(\d+\.\d*|\.\d+|\d+)([eE][+-]?\d+)?")


def header_of(line: bytes) -> tuple[int, int] | None:
    """(words, dimensions) if the line is a header, two whole numbers and nothing else."""
    match = HEADER.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def blocks_of(stream: IO[bytes], size: int = BLOCK) -> Iterator[bytes]:
    """The stream in blocks of whole lines, each ending in a newline."""
    rest = b""
    first = True
    while chunk := stream.read(size):
        if first:
            chunk, first = chunk.removeprefix(b"\xef\xbb\xbf"), False
        cut = chunk.rfind(b"\n") + 1
        if not cut:
            rest += chunk
            if len(rest) > LONGEST_LINE:
                raise ValueError(f"a line of more than {LONGEST_LINE:,} bytes")
            continue
        yield rest + chunk[:cut]
        rest = chunk[cut:]
    if rest:
        yield rest + b"\n"


def read_text(
    stream: IO[bytes], path: str | Path, *, header: bool | None = None, limit: int | None = None, block: int = BLOCK
) -> Table:
    """Read word vectors from text; `header` None: decide by the first line."""
    gatherer = Gatherer(path, limit=limit)
    promised: int | None = None
    dim: int | None = None
    line = 1  # number of the first line of the block
    for data in blocks_of(stream, block):
        if line == 1:
            found = header_of(data[: data.index(b"\n")]) if header is not False else None
            if header and not found:
                got = data[: data.index(b"\n")][:60].decode("utf-8", "replace")
                raise InputError.at(
                    path,
                    1,
                    f"the number of words and of dimensions is needed, got {got!r}: "
                    "read the file as format 'glove' if it has no header.",
                    code="malformed",
                )
            if found and not 1 <= found[1] <= MOST_DIMENSIONS:
                raise InputError.at(
                    path,
                    1,
                    f"the header must promise 1 to {MOST_DIMENSIONS:,} dimensions, got {found[1]}: mend it.",
                    code="out_of_range",
                )
            if found:
                (promised, dim), line = found, 2
                data = data[data.index(b"\n") + 1 :]
            else:
                dim = dimension_of(data, path)
        assert dim is not None
        while data and not gatherer.full:
            # no more lines than words are wanted, so that a limit reads past no damage
            some, data = first_lines(data, None if limit is None else limit - len(gatherer.index))
            words, rows, lines = parse_block(some, dim, path, line)
            gatherer.add(words, rows, lines)
            line += some.count(b"\n")
        if gatherer.full:
            break
    if dim is None:
        raise InputError(f"{path}: word vectors are needed, the file is empty.", code="empty")
    if promised is not None and not gatherer.full:
        if gatherer.seen < promised:
            raise InputError.at(
                path,
                line - 1,
                f"the header promises {promised} words, the file ends after {gatherer.seen}: {gatherer.instead()}.",
                code="damaged",
            )
        gatherer.note(BEYOND_HEADER, gatherer.seen - promised)
    return gatherer.table(dim)


def first_lines(data: bytes, count: int | None) -> tuple[bytes, bytes]:
    """The first `count` lines, and the rest."""
    if count is None:
        return data, b""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == NEWLINE)
    cut = int(ends[min(count, len(ends)) - 1]) + 1
    return data[:cut], data[cut:]


def dimension_of(data: bytes, path: str | Path) -> int:
    """The number of numbers that most of the first lines end in (one line alone could be damaged)."""
    counts: Counter[int] = Counter()
    for line in data[: 1 << 22].split(b"\n")[:100]:
        fields = line.split(b" ")[1:]
        while fields and not fields[-1].strip():
            fields.pop()
        numbers = next((at for at, field in enumerate(reversed(fields)) if not is_number(field)), len(fields))
        if numbers:
            counts[numbers] += 1
    if not counts:
        raise InputError.at(
            path,
            1,
            "a word and its numbers, parted by blanks, are needed: these are no word vectors.",
            code="other_kind",
        )
    return counts.most_common(1)[0][0]


def is_number(field: bytes) -> bool:
    return number_of(field.decode("utf-8", "replace")) is not None


def parse_block(data: bytes, dim: int, path: str | Path, line: int) -> tuple[list[bytes], Floats, Ints]:
    """Words, rows and line numbers of whole lines; `line` is the number of the first."""
    buffer = np.frombuffer(data, dtype=np.uint8)
    ends = np.flatnonzero(buffer == NEWLINE)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lines = np.arange(line, line + len(ends))
    while (loose := (ends > starts) & np.isin(buffer[ends - 1], LINE_END)).any():
        ends = ends - loose
    filled = ends > starts
    starts, ends, lines = starts[filled], ends[filled], lines[filled]
    if not len(starts):
        return [], np.empty((0, dim), dtype=np.float32), lines

    blanks = np.flatnonzero(buffer == BLANK)
    after = np.searchsorted(blanks, ends)  # blanks[after - dim : after] part the line's numbers
    fields = after - np.searchsorted(blanks, starts)
    if (fields < dim).any():
        row = int(np.flatnonzero(fields < dim)[0])
        word = data[starts[row] : ends[row]].split(b" ")[0].decode("utf-8", "replace")
        raise wrong_dimension(path, lines[row], word, dim, int(fields[row]))
    cuts = blanks[after - dim]  # the blank between word and numbers
    words = [data[start:cut] for start, cut in zip(starts.tolist(), cuts.tolist(), strict=True)]
    for row in np.flatnonzero(fields > dim).tolist():
        # "windows 95" may be a word; "word 0.123" is a word whose line has a number too many
        first, *extra = words[row].split(b" ")
        surplus = sum(1 for piece in extra if looks_like_number(piece))
        if surplus:
            raise wrong_dimension(path, lines[row], first.decode("utf-8", "replace"), dim, dim + surplus)

    # from the blank before the first number on, so that joined lines are parted too
    numbers = b"".join([data[cut:end] for cut, end in zip(cuts.tolist(), ends.tolist(), strict=True)])
    values = parse_numbers(numbers)
    if values is None or values.size != len(words) * dim:
        values = parse_slowly(data, cuts, ends, words, dim, path, lines)
    return words, values.reshape(len(words), dim), lines


def looks_like_number(piece: bytes) -> bool:
    """A number as vector files write them, with a point or an exponent (a bare whole number may end a word)."""
    return bool(NUMBER_LIKE.fullmatch(piece)) and not piece.isdigit()


def parse_numbers(text: bytes) -> Floats | None:
    """Numbers parted by blanks; None if they cannot all be read. Arrow's parser is four times as fast as numpy's."""
    try:
        arrow = need("pyarrow", purpose="parsing numbers")
        csv = need("pyarrow.csv", purpose="parsing numbers")
    except MissingExtra:
        if NOT_DECIMAL.search(text):  # hexadecimal numbers, which it would read
            return None
        try:
            return np.fromstring(text, sep=" ", dtype=np.float32)
        except ValueError:
            return None
    try:
        column = csv.read_csv(
            arrow.BufferReader(text.replace(b" ", b"\n")),
            read_options=csv.ReadOptions(column_names=["number"]),
            parse_options=csv.ParseOptions(delimiter="\t", quote_char=False),
            convert_options=csv.ConvertOptions(column_types={"number": arrow.float32()}, null_values=[]),
        )["number"]
    except arrow.ArrowInvalid:
        return None
    numbers: Floats = column.to_numpy()
    return numbers


def parse_slowly(
    data: bytes, cuts: Ints, ends: Ints, words: list[bytes], dim: int, path: str | Path, lines: Ints
) -> Floats:
    """Number by number, to name the line and the field that cannot be read."""
    values = np.empty((len(words), dim), dtype=np.float32)
    for row, (cut, end) in enumerate(zip(cuts.tolist(), ends.tolist(), strict=True)):
        for column, field in enumerate(data[cut + 1 : end].split(b" ")):
            got = field.decode("utf-8", "replace")
            number = number_of(got)
            if number is None:
                word = words[row].decode("utf-8", "replace")
                raise InputError.at(
                    path,
                    lines[row],
                    f"{dim} numbers parted by single blanks are needed after "
                    f"{word!r}, got {got!r} in dimension {column}: mend the line.",
                    code="malformed",
                )
            values[row, column] = number
    return values


def wrong_dimension(path: str | Path, line: int, word: str, dim: int, got: int) -> InputError:
    return InputError.at(
        path,
        line,
        f"{word!r} must have {dim} numbers like the other words, got {got}: mend or remove the line.",
        code="malformed",
    )


def write_text(stream: IO[bytes], words: Sequence[str], matrix: Floats, *, header: bool, block: int = 4096) -> None:
    """Write words and numbers, the fewest digits that give back the same float32."""
    if header:
        stream.write(f"{len(words)} {matrix.shape[1]}\n".encode())
    for start in range(0, len(words), block):
        some = words[start : start + block]
        for word, numbers in zip(some, format_rows(matrix[start : start + block]), strict=True):
            stream.write(f"{word} {numbers}\n".encode())


def format_rows(rows: Floats) -> list[str]:
    """Each row as text, numbers parted by blanks."""
    try:
        arrow = need("pyarrow", purpose="writing numbers")
        compute = need("pyarrow.compute", purpose="writing numbers")
    except MissingExtra:
        pattern = " ".join(["%.9g"] * rows.shape[1])  # nine digits give back every float32
        return [pattern % tuple(row) for row in rows.tolist()]
    numbers = compute.cast(arrow.array(rows.ravel()), arrow.string())
    offsets = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    lines: list[str] = compute.binary_join(arrow.ListArray.from_arrays(offsets, numbers), " ").to_pylist()
    return lines


def check_text_words(words: Sequence[str], path: str | Path) -> None:
    """Refuse words that could not be read back from a line of text."""
    for row, word in enumerate(words):
        raw = word.encode("utf-8", "replace")
        if "\n" in word or any(looks_like_number(piece) for piece in raw.split(b" ")[1:]):
            raise InputError(
                f"{path}: a word in text must be one line and not end like a number, got {word!r} "
                f"(word {row}): save as npz or safetensors, which hold any word.",
                code="unsupported",
                parameter="format",
            )
