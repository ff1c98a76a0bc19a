"""SemCor: words with their WordNet senses, in the SGML of its releases."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import IO

from limbeck.corpus.documents import RawDocument, refuse_endless, whole_lines
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError

ELEMENT = re.compile(r"<(/?)(contextfile|context|p|s|wf|punc)\b([^>]*)>(?:(.*?)</\2>)?\s*$")
FILE_NAME = re.compile(r"br-[a-z]\d\d$")  #: tag files; a release holds others too


class SemCor:
    """Each tag file is a document, with its paragraphs and sentences.

    Words of a multiword unit ("took_place") are words of the text of their own; the first carries the labels, and
    "span" says of how many words they are true. Labels: pos, lemma and, of the first of several senses, wnsn (its
    number), lexsn, sense ("lemma%lexsn") and lexfile (number of the lexicographer file, "28" is noun.time). A word
    whose wnsn is 0 or below has no sense in WordNet and gets none of these four. The original spacing is not known.
    """

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        lines: list[str] = []
        size = 0
        for _, line in whole_lines(stream, source, first):
            lines.append(line.rstrip("\n"))
            size += len(line)
            refuse_endless(size, source, first)
        if any(lines):
            yield first, tuple(lines)

    def parse(self, document: RawDocument) -> Iterator[Sentence]:
        paragraph = index = 0
        words: list[str] = []
        labels: dict[int, dict[str, str]] = {}
        for number, line in enumerate(document.lines, document.line):
            if not line.strip():
                continue
            match = ELEMENT.match(line)
            if not match:
                raise InputError.at(
                    document.source,
                    number,
                    f"must be one SGML element of SemCor, got {line[:40]!r}: give --format.",
                    code="malformed",
                    parameter="format",
                )
            closing, element, attributes, content = match.groups()
            if element == "p" and not closing and index:
                paragraph += 1
            elif element == "s" and closing:
                if words:
                    yield Sentence(tuple(words), document.number, paragraph, index, labels)
                    index += 1
                words, labels = [], {}
            elif element in ("wf", "punc") and content:
                parts = [part for part in content.split("_") if part] or [content]
                if found := _labels(attributes):
                    labels[len(words)] = found | ({"span": str(len(parts))} if len(parts) > 1 else {})
                words += parts


def _labels(attributes: str) -> dict[str, str]:
    given = dict(part.split("=", 1) for part in attributes.split() if "=" in part)
    found: dict[str, str] = {layer: given[layer] for layer in ("pos", "lemma") if layer in given}
    wnsn, lexsn = given.get("wnsn", "").split(";")[0], given.get("lexsn", "").split(";")[0]
    number, lexfile = _number(wnsn), _number(lexsn.split(":")[1] if ":" in lexsn else "")
    if number and lexfile is not None and "lemma" in given:
        found |= {"wnsn": wnsn, "lexsn": lexsn, "sense": f"{given['lemma']}%{lexsn}", "lexfile": str(lexfile)}
    return found


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None
