"""Raw documents: what readers hand to the splitter, cheap to make and cheap to send to a worker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import IO, Protocol, runtime_checkable

from limbeck.corpus.offsets import Mark
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError
from limbeck.remote import RemoteFile

#: a document without an end of its own is ended after so many lines (sentences, paragraphs) or characters,
#: so that memory stays bounded and a file has shards
DOCUMENT_LINES = 1_000
DOCUMENT_CHARACTERS = 4_000_000
#: a longer line is read as several, cut at a blank
LINE_CHARACTERS = 1_000_000
#: a line that cannot be cut (a JSON object, a row of a table), or a document of such lines that has no end, is refused
MOST_CHARACTERS = 1 << 26
BLOCK_CHARACTERS = 1 << 18


@dataclass(frozen=True, slots=True)
class RawDocument:
    """Unparsed lines of one document and where they came from, so that errors name file and line."""

    number: int  # of the document in the corpus
    source: str  # file name as given
    line: int  # number of its first line in that file, from 1
    lines: tuple[str, ...]
    mark: Mark | None = None  # where it begins in its file, of some documents


class Parser(Protocol):
    """What turns a raw document into sentences (dear, in a worker)."""

    def parse(self, document: RawDocument) -> Iterable[Sentence]:
        """The sentences of one document, with its number."""


class Format(Parser, Protocol):
    """A text format: divides a stream into raw documents (cheap), and parses one."""

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        """(first line number, lines) of each document; `first`: number of the stream's first line."""


@runtime_checkable
class FileFormat(Parser, Protocol):
    """A format that is not lines of text and opens its files itself (Parquet)."""

    def divide_file(
        self, path: Path | RemoteFile, source: str, first: int = 1
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        """(first row number, one string a row) of each document, from row `first` on."""


def bounded_runs(stream: IO[str], first: int = 1, *, limit: int = LINE_CHARACTERS) -> Iterator[tuple[int, list[str]]]:
    """Lines without their ends, as they come: number of the first, and some that follow each other.

    A line of more than `limit` characters comes in several parts, each a run of its own. A part ends at the last blank
    before the limit, so that no word is cut (unless one fills the whole part).
    """
    number = first
    held = ""
    while block := stream.read(BLOCK_CHARACTERS):
        *lines, held = (held + block).split("\n")
        if lines and max(map(len, lines)) > limit:
            for at, line in enumerate(lines, number):
                yield from ((at, [part]) for part in _cut(line, limit))
        elif lines:
            yield number, lines
        number += len(lines)
        if len(held) > limit:  # a line without an end in sight
            *parts, held = _cut(held, limit)
            yield from ((number, [part]) for part in parts)
    if held:
        yield from ((number, [part]) for part in _cut(held, limit))


def bounded_lines(stream: IO[str], first: int = 1, *, limit: int = LINE_CHARACTERS) -> Iterator[tuple[int, str]]:
    """(line number, line without its end), as `bounded_runs` gives them."""
    for number, lines in bounded_runs(stream, first, limit=limit):
        yield from enumerate(lines, number)


def whole_lines(stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, str]]:
    """(line number, line with its end), for lines that cannot be cut; one past all measure is refused."""
    number = first
    while line := stream.readline(MOST_CHARACTERS):
        if len(line) >= MOST_CHARACTERS:
            raise InputError.at(
                source,
                number,
                f"a line must have fewer than {MOST_CHARACTERS:,} characters: check --format, divide it.",
                code="too_large",
            )
        yield number, line
        number += 1


def refuse_endless(size: int, source: str, line: int) -> None:
    """Refuse a document that must be read whole and has grown past all measure."""
    if size >= MOST_CHARACTERS:
        raise InputError.at(
            source,
            line,
            f"a document must have fewer than {MOST_CHARACTERS:,} characters: check --format, divide it.",
            code="too_large",
        )


def _cut(line: str, limit: int) -> Iterator[str]:
    """Parts of at most `limit` characters, ending at blanks where there are any."""
    while len(line) > limit:
        end = max(line.rfind(" ", 0, limit), line.rfind("\t", 0, limit)) + 1 or limit
        yield line[:end]
        line = line[end:]
    yield line


def grouped(runs: Iterable[tuple[int, list[str]]]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Documents of a fixed number of lines (or characters, where lines are very long), of runs of lines.

    Runs, because a text of short lines is read as fast as they are cut, not as fast as a loop goes over them.
    """
    first, group, size = 1, list[str](), 0
    for number, lines in runs:
        at = 0
        while at < len(lines):
            if not group:
                first = number + at
            some = lines[at : at + DOCUMENT_LINES - len(group)]
            more = sum(map(len, some))
            if size + more >= DOCUMENT_CHARACTERS:
                reached = accumulate(map(len, some), initial=size)
                some = some[: next(place for place, far in enumerate(reached) if far >= DOCUMENT_CHARACTERS)]
                more = sum(map(len, some))
            group += some
            size += more
            at += len(some)
            if len(group) >= DOCUMENT_LINES or size >= DOCUMENT_CHARACTERS:
                yield first, tuple(group)
                group, size = [], 0
    if group:
        yield first, tuple(group)
