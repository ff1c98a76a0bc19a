"""Plain text: `words`, a sentence a line already divided by blanks, and `prose`, running text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Literal

from limbeck.corpus.documents import (
    DOCUMENT_CHARACTERS,
    DOCUMENT_LINES,
    RawDocument,
    bounded_lines,
    bounded_runs,
    grouped,
)
from limbeck.corpus.segment import split_paragraphs, splitter_for
from limbeck.corpus.units import Sentence

Paragraphs = Literal["lines", "blocks"]


class Words:
    """One sentence a line, words parted by blanks. 1,000 lines are a document; an empty line ends a paragraph."""

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        return grouped(bounded_runs(stream, first))

    def parse(self, document: RawDocument) -> Iterable[Sentence]:
        index = paragraph = 0
        begun = False
        for line in document.lines:
            if words := tuple(line.split()):
                yield Sentence(words, document.number, paragraph, index)
                index += 1
                begun = True
            elif begun:
                paragraph += 1
                begun = False


@dataclass(frozen=True)
class Prose:
    """Running text.

    paragraphs="lines"   a line is a paragraph, an empty line ends a document
    paragraphs="blocks"  for text wrapped to a width: an empty line ends a paragraph, two or more end a document

    A document of more than 1,000 lines or 4 million characters is ended there (in blocks: at the next empty line,
    if one comes within as many lines again), so that a file without empty lines still has shards.
    """

    language: str = "en"
    characters: bool = False
    paragraphs: Paragraphs = "lines"

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        blocks = self.paragraphs == "blocks"
        group, size, empty = list[str](), 0, 0
        for number, line in bounded_lines(stream, first):
            blank = not line or line.isspace()
            empty = empty + 1 if blank else 0
            full = len(group) >= DOCUMENT_LINES or size >= DOCUMENT_CHARACTERS
            if blocks:
                far_too_long = len(group) >= 2 * DOCUMENT_LINES or size >= 2 * DOCUMENT_CHARACTERS
                ends = empty >= 2 or (full and blank) or far_too_long
            else:
                ends = blank or full
            if ends and group:
                yield first, tuple(group)
                group, size = [], 0
            if not blank or (blocks and group):
                if not group:
                    first = number
                group.append("" if blank else line)
                size += len(line)
        if group:
            yield first, tuple(group)

    def parse(self, document: RawDocument) -> list[Sentence]:
        paragraphs = paragraphs_of(document.lines, self.paragraphs)
        return split_paragraphs(paragraphs, document.number, splitter_for(self.language, characters=self.characters))


def paragraphs_of(lines: Iterable[str], paragraphs: Paragraphs) -> list[str]:
    """The paragraphs among a document's lines; lines of a block are joined."""
    if paragraphs == "lines":
        return [line for line in lines if line and not line.isspace()]
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line and not line.isspace():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    return [" ".join(block) for block in blocks if block]
