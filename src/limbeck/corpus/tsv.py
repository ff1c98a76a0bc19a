"""Tables: columns parted by tabulators, quotes never interpreted (sentence similarity data need it so)."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import IO, Literal

from limbeck.corpus.documents import RawDocument, whole_lines
from limbeck.corpus.segment import split_paragraphs, splitter_for
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError, UsageError

Cells = Literal["sentence", "prose"]


@dataclass(frozen=True)
class Table:
    """Each row is a document, each chosen cell a paragraph, numbered in the order of `columns`.

    columns  names, as in the first row, or numbers from 1; with numbers the first row is data like the others
    cells    "sentence": a cell is one sentence; "prose": cells are divided into sentences
    """

    columns: Sequence[str] = ()
    cells: Cells = "sentence"
    language: str = "en"
    characters: bool = False
    found: tuple[int, ...] = ()  # the columns from 0, once a first row has told them

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        """The chosen cells of each row; rows that are wholly empty are passed over."""
        numbers = self._numbers()
        for row, line in whole_lines(stream, source, first):
            cells = line.rstrip("\n").split("\t")
            if len(cells) == 1 and not cells[0].strip():
                continue
            if numbers is None:
                numbers = self._find(cells, source)
                if self.columns:
                    continue  # it was the header
            if max(numbers) >= len(cells):
                raise InputError.at(
                    source,
                    row,
                    f"the row must have column {max(numbers) + 1}, got {len(cells)}: mend the row or change --columns.",
                    code="malformed",
                    parameter="columns",
                )
            yield row, tuple([cells[number] for number in numbers])

    def behind_header(self, stream: IO[str], source: str) -> Table:
        """The same table for a reader that begins further down: with what the file's first row says."""
        if self._numbers() is not None:
            return self
        for _, line in whole_lines(stream, source):
            if line.strip():
                return replace(self, found=tuple(self._find(line.rstrip("\n").split("\t"), source)))
        return self

    def parse(self, document: RawDocument) -> list[Sentence]:
        splitter = splitter_for(self.language, characters=self.characters)
        if self.cells == "prose":
            return split_paragraphs(document.lines, document.number, splitter)
        found: list[Sentence] = []
        for paragraph, cell in enumerate(document.lines):
            words, glued = splitter.words(cell)
            if words:
                found.append(Sentence(words, document.number, paragraph, len(found), glued=glued))
        return found

    def _numbers(self) -> list[int] | None:
        """The columns counted from 0 if they were given by number."""
        if self.found:
            return list(self.found)
        if not self.columns or not all(column.isdecimal() for column in self.columns):
            return None
        if any(int(column) == 0 for column in self.columns):
            raise UsageError(
                "--columns counts from 1, got 0: give the number of the column, or its name.",
                code="out_of_range",
                parameter="columns",
            )
        return [int(column) - 1 for column in self.columns]

    def _find(self, header: list[str], source: str) -> list[int]:
        names = [name.strip() for name in header]
        if not self.columns:
            if len(names) == 1:
                return [0]
            shown = ", ".join(repr(name[:30]) for name in names[:8])
            raise UsageError(
                f"{source}: of {len(names)} columns those that hold text must be named, got none "
                f"(the first row is {shown}): give --columns, numbers from 1 or names in the first row.",
                code="required",
                parameter="columns",
            )
        for column in self.columns:
            if column not in names:
                near = difflib.get_close_matches(column, names, n=1)
                hint = f"did you mean {near[0]!r}?" if near else f"it has {', '.join(names[:12])}."
                raise UsageError(
                    f"{source}:1: the first row must name the column {column!r}; {hint}",
                    code="incomplete",
                    parameter="columns",
                )
        return [names.index(column) for column in self.columns]
