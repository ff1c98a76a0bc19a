"""WIKI-PSE: Wikipedia sentences whose entity words are marked, with or without their semantic class."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from limbeck.corpus.documents import RawDocument, bounded_runs, grouped
from limbeck.corpus.units import Sentence

MARKED = re.compile(r"@(.+)@(?:-(\S+))?$")  #: @apple@ or @apple@-organization


class WikiPse:
    """One sentence a line. "@new_york@-location" is the words "new" and "york" without their marks.

    The first word carries the label "class" ("location"), and "span" where there are several words, as in SemCor.
    1,000 lines are a document.
    """

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        return grouped(bounded_runs(stream, first))

    def parse(self, document: RawDocument) -> Iterator[Sentence]:
        index = 0
        for line in document.lines:
            words: list[str] = []
            labels: dict[int, dict[str, str]] = {}
            for token in line.split():
                match = MARKED.match(token)
                if not match:
                    words.append(token)
                    continue
                name, kind = match.groups()
                parts = [part for part in name.split("_") if part] or [name]
                if kind:
                    labels[len(words)] = {"class": kind} | ({"span": str(len(parts))} if len(parts) > 1 else {})
                words += parts
            if words:
                yield Sentence(tuple(words), document.number, 0, index, labels)
                index += 1
