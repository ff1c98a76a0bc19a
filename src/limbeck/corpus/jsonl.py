"""JSON lines: words with labels, or running text, an object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

from limbeck.corpus.documents import DOCUMENT_CHARACTERS, DOCUMENT_LINES, RawDocument, whole_lines
from limbeck.corpus.readers import Paragraphs, paragraphs_of
from limbeck.corpus.segment import splitter_for
from limbeck.corpus.units import NO_LABELS, Labels, Sentence
from limbeck.errors import InputError

SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")  #: in JSON, the beginning of a pair or half of one
WORDS = ("words", "tokens")  #: keys of lists of words; a "text" goes before "tokens", which may be made of it
LABELS = ("labels", "tags", "ner", "pos", "upos", "xpos", "chunk", "lemmas", "deprel")  #: lists of labels, one a word
LABEL_ENDINGS = ("_tags", "_labels")
LABELS_IN_SHORT = ("lemma", "span", "split")  #: labels that may stand beside "index" and "label"


@dataclass(frozen=True)
class JsonLines:
    """One object a line, of one of these kinds:

    {"words": ["a", "word"], "labels": {"1": {"sense": "x"}}, "glued": [0], "document": "d1", "paragraph": "p1"}
    {"words": ["a", "word"], "index": 1, "label": "x", "lemma": "word"}
    {"tokens": ["a", "word"], "ner_tags": [0, 3]}
    {"text": "Running text.", "document": "d1"}

    "words" and "tokens" are the same. Beside them a list as long whose key is in `LABELS`, or ends as `LABEL_ENDINGS`
    say, has a label for each word: its layer is called by the key. `columns` names the keys that hold text or words
    instead; several of a line are paragraphs.
    "index" and "label" are one labelled word in short: its label "class", with "lemma", "span" and "split" beside it
    where they are given. A label that is null is not there; where "label" is null, the word has none at all. All keys
    but the first are optional. Consecutive lines of one "document" make a document; without that key each text is one,
    and 1,000 sentences of words are one. "paragraph" begins a new paragraph where its value changes.
    """

    language: str = "en"
    characters: bool = False
    paragraphs: Paragraphs = "lines"
    columns: Sequence[str] = ()

    def divide(self, stream: IO[str], source: str, first: int = 1) -> Iterator[tuple[int, tuple[str, ...]]]:
        group, size = list[str](), 0
        last: tuple[str, Any] | None = None
        for number, line in whole_lines(stream, source, first):
            if line.isspace():
                continue
            kind = self._kind(line, source, number)
            full = len(group) >= DOCUMENT_LINES or size >= DOCUMENT_CHARACTERS
            if group and (kind != last or kind[0] == "text" or full):
                yield first, tuple(group)
                group, size = [], 0
            if not group:
                first = number
            last = kind
            group.append(line.rstrip("\n"))
            size += len(line)
        if group:
            yield first, tuple(group)

    def _kind(self, line: str, source: str, number: int) -> tuple[str, Any]:
        """What a line belongs to. It is parsed here only if a document may be named in it: dividing must be cheap."""
        if '"document"' in line:
            document = parse_object(line, source, number).get("document")
            if document is not None:
                return "document", document
        if self.columns or ('"tokens"' in line and ('"text"' in line or '"words"' in line)):
            parts = self._parts(parse_object(line, source, number), source, number)
            return ("words" if parts and isinstance(parts[0][1], list) else "text"), None
        return ("words" if any(f'"{key}"' in line for key in WORDS) else "text"), None

    def _parts(self, item: Mapping[str, Any], source: str, number: int) -> list[tuple[str, Any]]:
        """The keys of a line that hold text or words, with what they hold; null is nothing."""
        keys = self.columns
        if not keys:
            usual = [key for key in ("words", "text", "tokens") if key in item]
            keys = ["tokens"] if usual[:1] == ["text"] and item["text"] is None and "tokens" in item else usual[:1]
        kinds: Any = str | list | None if self.columns else str | None
        wrong = [key for key in keys if not isinstance(item.get(key, 0), kinds)]
        if wrong and self.columns:
            told = f"must have {wrong[0]!r}, a text or a list of words, as --columns says, got {_keys(item)}"
            raise InputError.at(source, number, told, code="malformed", parameter="columns")
        return [(key, item[key]) for key in keys if item[key] is not None and (key != "text" or key not in wrong)]

    def parse(self, document: RawDocument) -> Iterable[Sentence]:
        index = paragraph = 0
        last: Any = None
        for number, line in enumerate(document.lines, document.line):
            item = parse_object(line, document.source, number)
            if SURROGATE.search(line):
                refuse_half_characters(item, document.source, number)
            parts = self._parts(item, document.source, number)
            if not parts and not self.columns:
                if null := [key for key in (*WORDS, "text") if key in item]:
                    got = "null" if item[null[0]] is None else type(item[null[0]]).__name__
                    told = f'"{null[0]}" must be {"a text" if null[0] == "text" else "a list of words"}, got {got}: '
                    raise InputError.at(document.source, number, f"{told}mend or remove the line.", code="malformed")
                raise InputError.at(
                    document.source,
                    number,
                    'must have "words" or "tokens" (a list) or "text" (a string), or --columns that name others, got '
                    + _keys(item),
                    code="malformed",
                    parameter="columns",
                )
            for place, (key, found) in enumerate(parts):
                if isinstance(found, str) and (self.columns or key == "text"):
                    if index:
                        paragraph += 1
                    splitter = splitter_for(self.language, characters=self.characters)
                    for part in paragraphs_of(found.split("\n"), self.paragraphs):
                        for words, glued in splitter.sentences(part):
                            yield Sentence(words, document.number, paragraph, index, glued=glued)
                            index += 1
                        paragraph += 1
                    continue
                value = item.get("paragraph")
                if index and (value != last or place):
                    paragraph += 1
                last = value
                words, labels, glued = _checked(item, key, document.source, number)
                yield Sentence(words, document.number, paragraph, index, labels, glued)
                index += 1


def parse_object(line: str, source: str, number: int) -> dict[str, Any]:
    """The object of a line, or an error that names the line."""
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError.at(
            source,
            number,
            f"must be a JSON object, got broken JSON ({error.msg} at character {error.colno}): mend it.",
            code="malformed",
        ) from error
    except RecursionError as error:
        raise InputError.at(
            source, number, "must be a JSON object, got one too deeply nested: mend it.", code="malformed"
        ) from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError.at(
            source, number, f"must be a JSON object, got broken JSON ({error}): mend it.", code="malformed"
        ) from error
    if not isinstance(item, dict):
        raise InputError.at(
            source, number, f"must be a JSON object, got {type(item).__name__}: one object a line.", code="malformed"
        )
    return item


def refuse_half_characters(item: Any, source: str, number: int) -> None:
    """JSON can spell half of a pair that makes a character, which no tokeniser takes."""
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        half = error.object[error.start]
        raise InputError.at(
            source, number, f"must be Unicode text, got {half!r}, half a character: mend it.", code="malformed"
        ) from error


def _keys(item: Mapping[str, Any]) -> str:
    return f"the keys {', '.join(map(repr, item))}: rename them." if item else "no keys: remove the line."


class UnequalLists(ValueError):
    """A list of labels that is longer or shorter than that of the words."""


def is_label(name: str) -> bool:
    """Whether a list by this name, beside a list of words, has a label for each of them."""
    return name in LABELS or name.endswith(LABEL_ENDINGS)


def _listed(item: Mapping[str, Any], words: Sequence[str], key: str) -> dict[int, dict[str, str]]:
    """Labels from lists, which must be as long as that of the words."""
    found: dict[int, dict[str, str]] = {}
    for layer, values in item.items():
        if layer != key and is_label(layer) and isinstance(values, list):
            if len(values) != len(words):
                raise UnequalLists(f'"{layer}" must have a label for each of the {len(words)} words, got {len(values)}')
            for index, value in enumerate(values):
                if told := _values({layer: value}):
                    found.setdefault(index, {}).update(told)
    return found


def _checked(
    item: Mapping[str, Any], key: str, source: str, number: int
) -> tuple[tuple[str, ...], Labels, frozenset[int]]:
    """Words, labels and glued words of an object, each of the right type and in range."""
    words = item[key]
    if not isinstance(words, list) or not all(isinstance(w, str) and w and not w.isspace() for w in words):
        raise InputError.at(
            source, number, f'"{key}" must be a list of words that are not empty: mend the line.', code="malformed"
        )
    try:
        labels = _listed(item, words, key)
        by_index = item.get("labels") or {}
        if not isinstance(by_index, list) or len(by_index) != len(words):
            for at, layers in by_index.items():
                labels[_index(at)] = labels.get(_index(at), {}) | _values(layers)
        if item.get("label") is not None:
            own = _values({"class": item["label"], **{key: item.get(key) for key in LABELS_IN_SHORT}})
            index = _index(item["index"])
            labels[index] = labels.get(index, {}) | own
        glued = frozenset(_index(index) for index in item.get("glued") or ())
        if any(int(layers.get("span", "1")) < 1 for layers in labels.values()):
            raise ValueError("a span of no words")
    except UnequalLists as error:
        raise InputError.at(source, number, f"{error}: mend the line.", code="malformed") from error
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise InputError.at(
            source,
            number,
            'labels must be {"word index": {"layer": "value"}}, glued a list of indices, a "label" needs its "index", '
            'a "span" is a number of words, and a value is text that is not empty or a number: mend the line.',
            code="malformed",
        ) from error
    if wrong := [index for index in (*labels, *glued) if not 0 <= index < len(words)]:
        raise InputError.at(
            source,
            number,
            f"word indices must be from 0 to {len(words) - 1}, got {wrong[0]}: mend the line.",
            code="malformed",
        )
    return tuple(words), labels or NO_LABELS, glued


def _index(value: Any) -> int:
    """A word's index; Python would cut 1.5 to 1."""
    if isinstance(value, bool) or (isinstance(value, float) and not value.is_integer()):
        raise ValueError(f"{value} is no index")
    return int(value)


def _values(layers: Mapping[str, Any]) -> dict[str, str]:
    """The labels of a word, as text; null is none."""
    found = {str(layer): value for layer, value in layers.items() if value is not None}
    if any(not isinstance(value, str | int | float) or not str(value).strip() for value in found.values()):
        raise ValueError("a label that is no text")
    return {layer: str(value) for layer, value in found.items()}


def line_of(words: Sequence[str], sentence: Sentence | None = None) -> str:
    """The line that `JsonLines` reads back as these words (and the sentence's labels, paragraph and spacing)."""
    item: dict[str, Any] = {"words": list(words)}
    if sentence is not None:
        item["paragraph"] = sentence.paragraph
        if sentence.labels:
            item["labels"] = {str(index): dict(layers) for index, layers in sentence.labels.items()}
        if sentence.glued:
            item["glued"] = sorted(sentence.glued)
    return json.dumps(item)
