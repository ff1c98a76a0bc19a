"""CoNLL-U (Universal Dependencies): syntactic words with their tags, lemmas, features and relations."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

from limbeck.corpus.documents import DOCUMENT_LINES, RawDocument, refuse_endless, whole_lines
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError

COLUMNS = 10
#: column -> layer of annotation
LAYERS = {2: "lemma", 3: "upos", 4: "xpos", 5: "feats", 7: "deprel"}


class ConllU:
    """One word a line, an empty line after each sentence.

    The words are the syntactic ones, which carry the labels: "don't" is "do" and "n't", and they are glued because
    together they spell what is written; German "im" is "in" and "dem" with a blank, since these do not.
    Empty nodes (8.1) are not words of the text and are left out. `# newdoc` and `# newpar` begin documents and
    paragraphs; 1,000 sentences without the former are a document. A value of "_" is no label. A form that holds a
    blank ("10 000", Vietnamese words) stays one word.
    """

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        group, sentences, size, pending = list[str](), 0, 0, False
        for number, raw in whole_lines(stream, source, first):
            line = raw.rstrip("\n")
            if pending and (line.startswith("# newdoc") or sentences >= DOCUMENT_LINES):
                yield first, tuple(group)
                group, sentences, size = [], 0, 0
            pending = False
            if not group:
                if not line.strip():
                    continue
                first = number
            group.append(line)
            size += len(line)
            refuse_endless(size, source, first)
            if not line.strip():
                sentences += 1
                pending = True
        if any(line.strip() for line in group):
            yield first, tuple(group)

    def parse(self, document: RawDocument) -> Iterator[Sentence]:
        paragraph = index = 0
        rows: list[tuple[int, list[str]]] = []
        for number, line in enumerate((*document.lines, ""), document.line):
            if line.startswith("#"):
                if line.startswith("# newpar") and index:
                    paragraph += 1
            elif line.strip():
                cells = line.split("\t")
                if len(cells) != COLUMNS:
                    message = f"a word must have {COLUMNS} columns parted by tabs, got {len(cells)}: mend the line."
                    raise InputError.at(document.source, number, message, code="malformed")
                rows.append((number, cells))
            elif rows:
                yield _sentence(rows, document, paragraph, index)
                index += 1
                rows = []


def _sentence(rows: list[tuple[int, list[str]]], document: RawDocument, paragraph: int, index: int) -> Sentence:
    words: list[str] = []
    labels: dict[int, dict[str, str]] = {}
    glued: set[int] = set()
    token = ""  # the multiword token that the next words are parts of
    token_end, token_begin, token_glued = 0, 0, False
    for number, cells in rows:
        name, form, misc = cells[0], cells[1], cells[9]
        no_blank = "SpaceAfter=No" in misc.split("|")
        try:
            if "." in name:
                continue
            if "-" in name:
                token_end = int(name.split("-")[1])
                token, token_begin, token_glued = form, len(words), no_blank
                continue
            position = int(name)
        except ValueError as error:
            raise InputError.at(
                document.source,
                number,
                f"a word's number must be n, n-m or n.m, got {name!r}: mend the line.",
                code="malformed",
            ) from error
        at = len(words)
        words.append(form)
        found = {layer: cells[column] for column, layer in LAYERS.items() if cells[column] not in ("_", "")}
        if found:
            labels[at] = found
        if not token:
            if no_blank:
                glued.add(at)
        elif position >= token_end:
            if "".join(words[token_begin:]) == token:
                glued.update(range(token_begin, at))
            if token_glued:
                glued.add(at)
            token = ""
    return Sentence(tuple(words), document.number, paragraph, index, labels, frozenset(glued))
