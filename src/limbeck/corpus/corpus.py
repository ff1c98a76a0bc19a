"""A corpus: files, a format, and the documents and sentences they yield, the same at every reading."""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import os
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from limbeck.corpus import formats
from limbeck.corpus.compression import check_encoding
from limbeck.corpus.documents import FileFormat, Format, RawDocument, grouped
from limbeck.corpus.formats import ReadingRules
from limbeck.corpus.jsonl import line_of, parse_object
from limbeck.corpus.language import Fit, fit_of, undivided, warning_of
from limbeck.corpus.offsets import SPACING, SPACING_ROWS, Mark, Marks, Place, Trail, has_plain_lines, last_before
from limbeck.corpus.parquet import Parquet
from limbeck.corpus.sample import name_of
from limbeck.corpus.segment import characters_of, splitter_for
from limbeck.corpus.settings import refuse_columns
from limbeck.corpus.sources import Source, find_sources, texts_in
from limbeck.corpus.tsv import Table
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError, LimbeckError, choose
from limbeck.remote import RemoteFile, size_of

Item = TypeVar("Item")
LOOKS, LOOK_BYTES = 32, 1 << 14  #: how often and how far the fingerprint looks into a file
REMOTE_LOOKS = 4  #: into a file by URL, of which it takes the ETag too, or else the date
SEEN, SEEN_FILES = 20_000, 8  #: characters whose language is looked at, and files that they are taken from
#: formats whose documents begin with a line; those of the others may begin within one that is very long
BY_LINES = ("tsv", "jsonl", "conllu", "semcor")


class Corpus:
    """Text in files, read as documents of sentences. Iterating gives all sentences; it can be done again and again.

    paths       a file, folder, glob or "-" (standard input), or several; a part of a tar archive as "a.tar.xz/part";
                "sample", where nothing has that name, is the corpus that comes with limbeck
    format      "auto" or one of `formats.FORMATS`
    language    whose rules divide prose into words
    lowercase   lower-case all words
    characters  each character that is not a blank is a word
    paragraphs  in prose, "lines": a line is a paragraph; "blocks": empty lines part paragraphs
    columns     of a table: those that hold text, by name or by number from 1
    cells       of a table: "sentence" or "prose"
    encoding    of the files' characters

    Documents are numbered through all files. It can be sent to worker processes, which read the same files.
    """

    def __init__(
        self,
        paths: str | Path | Sequence[str | Path],
        *,
        format: str = "auto",
        language: str = "en",
        lowercase: bool = False,
        characters: bool = False,
        paragraphs: str = "lines",
        columns: str | Sequence[str | int] | None = None,
        cells: str = "sentence",
        encoding: str = "utf-8",
    ) -> None:
        choose(format, ("auto", *formats.FORMATS), what="--format")
        refuse_columns(format, columns)
        check_encoding(encoding)
        rules = ReadingRules.of(
            language=language, characters=characters, paragraphs=paragraphs, columns=columns, cells=cells
        )
        self._settle(encoding, lowercase, rules)
        self.paths = [str(paths)] if isinstance(paths, str | Path) else [str(path) for path in paths]
        self._sources, self._spools = find_sources(self.paths)
        if format == "auto":
            format = formats.detect(self._sources, self._rules, encoding)
        if len(self._sources) > 1:
            self._sources = [s for s in self._sources if formats.accepts(format, s.path.name)] or self._sources
        self._made: tuple[RawDocument, ...] = ()
        self._begin(format)

    @classmethod
    def from_text(
        cls,
        text: str,
        *,
        language: str = "en",
        lowercase: bool = False,
        characters: bool = False,
        paragraphs: str = "lines",
    ) -> Corpus:
        """A corpus of running text that is at hand; see `Prose` for what its lines mean."""
        rules = ReadingRules.of(language=language, characters=characters, paragraphs=paragraphs)
        corpus = cls._in_memory("prose", lowercase, rules)
        divided = cast(Format, corpus._format).divide(io.StringIO(text, newline=None), "text")
        corpus._made = tuple(RawDocument(n, "text", line, lines) for n, (line, lines) in enumerate(divided))
        return corpus

    @classmethod
    def from_sentences(
        cls, sentences: Iterable[Sequence[str] | Sentence], *, lowercase: bool = False, characters: bool = False
    ) -> Corpus:
        """A corpus of sentences that are at hand, as lists of words or as `Sentence`.

        Documents are numbered anew from 0: where a Sentence's `document` changes, one begins; 1,000 lists are one.
        """
        corpus = cls._in_memory("jsonl", lowercase, ReadingRules.of(characters=characters))
        made: list[RawDocument] = []
        for number, (line, lines) in enumerate(_documents_of(sentences)):
            made.append(RawDocument(number, "sentences", line, lines))
        corpus._made = tuple(made)
        return corpus

    @classmethod
    def from_texts(
        cls,
        texts: Iterable[str | Mapping[str, Any]],
        *,
        language: str = "en",
        lowercase: bool = False,
        characters: bool = False,
        paragraphs: str = "lines",
        columns: str | Sequence[str | int] | None = None,
    ) -> Corpus:
        """A corpus of texts that are at hand, each a document; or of rows, dicts as `JsonLines` reads them."""
        rules = ReadingRules.of(language=language, characters=characters, paragraphs=paragraphs, columns=columns)
        corpus = cls._in_memory("jsonl", lowercase, rules)
        rows = ({"text": text} if isinstance(text, str) else dict(text) for text in texts)
        lines = io.StringIO("".join(json.dumps(row, default=_plain) + "\n" for row in rows))
        divided = cast(Format, corpus._format).divide(lines, "texts")
        corpus._made = tuple(RawDocument(n, "texts", line, some) for n, (line, some) in enumerate(divided))
        return corpus

    @classmethod
    def _in_memory(cls, format: str, lowercase: bool, rules: ReadingRules) -> Corpus:
        corpus = cls.__new__(cls)
        corpus._settle("utf-8", lowercase, rules)
        corpus.paths, corpus._sources, corpus._spools = [], [], []
        corpus._begin(format)
        return corpus

    def _settle(self, encoding: str, lowercase: bool, rules: ReadingRules) -> None:
        self.encoding, self.lowercase, self._rules = encoding, lowercase, rules
        self._looks: dict[RemoteFile, bytes] = {}

    def _begin(self, format: str) -> None:
        self.format = format
        self._format = formats.make_format(format, self._rules)
        if format in ("prose", "tsv") and not self._rules.characters:
            splitter_for(self._rules.language)  # a wrong language is told now, not by a worker later

    def documents(
        self, start: int = 0, stop: int | None = None, *, marks: Marks | None = None
    ) -> Iterator[RawDocument]:
        """Raw documents number `start` to `stop` (without it); those before are passed over unparsed.

        `marks` of an earlier reading (`RawDocument.mark`, see `offsets.marks_of`) tell where in the files to begin, so
        that little of what stands before `start` is read.
        """
        mark = last_before(marks, start)
        first = mark.document if mark else 0
        number = -1
        for number, document in enumerate(self._all_documents(mark), first):
            if stop is not None and number >= stop:
                return
            if number >= start:
                mark = None if document.mark is None else replace(document.mark, document=number)
                yield RawDocument(number, document.source, document.line, document.lines, mark)
        if number < 0:
            raise self._no_words()

    def _all_documents(self, start: Mark | None = None) -> Iterator[RawDocument]:
        """All documents from a marked one on, not numbered yet; some with their marks."""
        yield from self._made
        since = SPACING  # bytes read since the last mark; a file's first document is marked if it is far from it
        for number, source in enumerate(self._sources):
            if start is not None and number < start.source:
                continue
            here = start if start is not None and number == start.source else None
            marked = 0  # bytes of this file before the last mark in it
            for at, document in self._documents_in(source, here):
                mark = None
                if at is not None and (since + at.place.at - marked >= SPACING):
                    mark, since, marked = replace(at, source=number), 0, at.place.at
                yield document if mark is None else replace(document, mark=mark)
            since += size_of(source.path) - min(marked, size_of(source.path))

    def _documents_in(self, source: Source, start: Mark | None) -> Iterator[tuple[Mark | None, RawDocument]]:
        """The documents of a file from a marked one on, with marks where they could have one."""
        if isinstance(self._format, FileFormat):
            yield from self._rows_in(source, start)
            return
        trails: list[Trail] | None = [] if has_plain_lines(self.encoding) else None
        place = start.place if start and start.place.at else None
        format, line = self._format, 1
        if start is not None and start.line > 1:
            line = start.line
            if isinstance(format, Table):
                with closing(texts_in(source, self.encoding)) as texts:
                    format = format.behind_header(next(texts)[1], source.name)
        with closing(texts_in(source, self.encoding, place, trails)) as texts:
            first = start is None
            for name, stream in texts:
                if name != source.name and not formats.accepts(self.format, name):
                    continue
                for _ in range(line - (place or Place()).line):
                    stream.readline()
                behind = 0  # a line after which no other document's lines stand
                for at, lines in _told(format.divide(stream, name, line), texts):
                    mark = None
                    if first:
                        mark = Mark(0, 0, 1, Place())
                    elif trails and (at >= behind or self.format in BY_LINES):
                        mark = Mark(0, 0, at, trails[0].before(at))
                    first, behind = False, at + len(lines)
                    yield mark, RawDocument(-1, name, at, lines)

    def _rows_in(self, source: Source, start: Mark | None) -> Iterator[tuple[Mark | None, RawDocument]]:
        """As `_documents_in`, of a file of rows."""
        format = cast(Parquet, self._format)
        before = marked = 0
        for row, lines in format.divide_file(source.path, source.name, start.line if start else 1):
            mark = None
            if not before or (row - marked >= SPACING_ROWS and format.begins_row(row, before, lines)):
                # rows have no bytes of their own: as many as stand between two marks count as SPACING
                place = Place(row, row * SPACING // SPACING_ROWS)
                mark, marked = Mark(0, 0, row if before else start.line if start else 1, place), row
            before = row
            yield mark, RawDocument(-1, source.name, row, lines)

    def parse(self, raw: RawDocument) -> list[Sentence]:
        """The sentences of a raw document."""
        sentences: Iterable[Sentence] = self._format.parse(raw)
        if self._rules.characters:
            sentences = map(_by_characters, sentences)
        if self.lowercase:
            sentences = (replace(s, words=tuple([word.lower() for word in s.words])) for s in sentences)
        return list(sentences)

    def __iter__(self) -> Iterator[Sentence]:
        empty = True
        for document in self.documents():
            for sentence in self.parse(document):
                empty = empty and not sentence.words
                yield sentence
        if empty:
            raise self._no_words()

    @cached_property
    def fit(self) -> Fit:
        """Whether the text is in the language that it is read by, as far as its beginning clearly shows."""
        return fit_of(self._seen[0], self._rules.language)

    @cached_property
    def language_warning(self) -> str:
        """What to tell a user whose text is clearly not in the language that it is read by; "" if nothing.

        Text that is divided into words already is not divided by rules: there a language must have been chosen.
        """
        if self._rules.characters:
            return ""
        texts, by_rules = self._seen
        if not by_rules and (told := undivided(texts)):
            return told
        chosen = self._rules.language != "en"
        return warning_of(self.fit, by_rules=by_rules) if by_rules or chosen else ""

    @cached_property
    def _seen(self) -> tuple[list[str], bool]:
        """The beginnings of a few files, and whether anything there is divided into words by rules."""
        sources = self._sources[:1] if any(isinstance(s.path, RemoteFile) for s in self._sources) else self._sources
        count = min(len(sources), SEEN_FILES)
        chosen = [sources[number * len(sources) // count] for number in range(count)]
        found: list[str] = []
        by_rules = False
        for documents in [iter(self._made), *(self._raw_in(source) for source in chosen)]:
            room = SEEN // max(count, 1)
            with suppress(LimbeckError):  # it is told when the text is read
                for text, ruled in itertools.chain.from_iterable(map(self._texts_of, documents)):
                    found.append(text[:room])
                    by_rules = by_rules or ruled
                    room -= len(text)
                    if room <= 0:
                        break
        return found, by_rules

    def _raw_in(self, source: Source) -> Iterator[RawDocument]:
        with closing(cast(Generator[Any, None, None], self._documents_in(source, None))) as documents:
            for _, document in documents:
                yield document

    def _texts_of(self, document: RawDocument) -> Iterator[tuple[str, bool]]:
        """The running text of a document as it is, part by part, and whether rules divide it into words."""
        if self.format in ("prose", "tsv", "words"):
            yield from ((line, self.format != "words") for line in document.lines)
        elif self.format in ("jsonl", "parquet"):
            for number, line in enumerate(document.lines, document.line):
                item = parse_object(line, document.source, number)
                if isinstance(text := item.get("text"), str):
                    yield text, True
                elif isinstance(words := item.get("words"), list):
                    yield " ".join(map(str, words)), False
        else:
            yield from ((" ".join(sentence.words), False) for sentence in self._format.parse(document))

    def _no_words(self) -> InputError:
        name = ", ".join(self.paths[:3]) or "the text given"
        return InputError.at(
            name,
            None,
            f"must hold text, read as {self.format} it holds no words: check --format.",
            code="no_words",
            parameter="format",
        )

    @property
    def fingerprint(self) -> str:
        """A hash of what is read and how: of each file its size and 32 parts of it, not its name or date.

        Of a file by URL its size, its ETag (where there is none its date) and 4 parts.
        """
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps([self.format, self.encoding, self.lowercase, asdict(self._rules)]).encode())
        for source in self._sources:
            if isinstance(source.path, RemoteFile):
                digest.update(self._look(source.path))
                continue
            with open(source.path, "rb") as file:
                size = os.fstat(file.fileno()).st_size
                digest.update(f"\x00{size}\x00{source.member}\x00".encode())
                for look in range(LOOKS):
                    file.seek(look * max(0, size - LOOK_BYTES) // (LOOKS - 1))
                    digest.update(file.read(LOOK_BYTES))
        for document in self._made:
            digest.update("\x00".join(("", *document.lines)).encode("utf-8", "surrogatepass"))
        return digest.hexdigest()

    def _look(self, file: RemoteFile) -> bytes:
        """What the fingerprint takes of a file by URL, fetched once."""
        if file not in self._looks:
            parts = [f"\x00{file.size}\x00{file.stamp}\x00".encode()]
            for look in range(REMOTE_LOOKS):
                at = look * max(0, file.size - LOOK_BYTES) // (REMOTE_LOOKS - 1)
                parts.append(file.read(at, min(file.size, at + LOOK_BYTES)))
                if file.size <= LOOK_BYTES:
                    break
            self._looks[file] = b"".join(parts)
        return self._looks[file]

    def describe(self) -> dict[str, Any]:
        """What a run's record says of its corpus."""
        return {
            "paths": [name_of(path) for path in self.paths],
            "files": len(self._sources),
            "bytes": sum(size_of(source.path) for source in self._sources),
            "format": self.format,
            "encoding": self.encoding,
            "lowercase": self.lowercase,
            **asdict(self._rules),
            "columns": list(self._rules.columns),
            "fingerprint": self.fingerprint,
            **({"language_warning": told} if (told := self.language_warning) else {}),
        }

    def close(self) -> None:
        """Remove the copy of standard input, if there is one."""
        for spool in self._spools:
            spool.close()

    def __enter__(self) -> Corpus:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_spools": []}  # the copy of standard input belongs to the process that made it

    def __repr__(self) -> str:
        return f"Corpus({self.paths or 'made from text'!r}, format={self.format!r})"


def _plain(value: Any) -> Any:
    """An array or a number of numpy's, as JSON has it."""
    if hasattr(value, "tolist"):
        return value.tolist()
    return str(value)


def _told(items: Iterator[Item], texts: Generator[Any, None, None]) -> Iterator[Item]:
    """The same items. What goes wrong in reading them is raised where the file was opened, which tells its name."""
    try:
        yield from items
    except Exception as error:
        texts.throw(error)


def _documents_of(sentences: Iterable[Sequence[str] | Sentence]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Lines of JSON in documents; consecutive lists of words are put together as files of words are."""
    runs: list[tuple[int | None, list[str]]] = []
    for item in sentences:
        if isinstance(item, str):
            raise TypeError("a sentence must be a list of words, got a string: use Corpus.from_text for running text")
        known = item if isinstance(item, Sentence) else None
        document = known.document if known else None
        line = line_of(known.words if known else cast(Sequence[str], item), known)
        if not runs or runs[-1][0] != document:
            runs.append((document, []))
        runs[-1][1].append(line)
    number = 1
    for document, lines in runs:
        if document is None:
            yield from grouped([(number, lines)])
        else:
            yield number, tuple(lines)
        number += len(lines)


def _by_characters(sentence: Sentence) -> Sentence:
    """The sentence with each character a word. A word's labels go to its first; "span" then counts characters."""
    words: list[str] = []
    glued: list[int] = []
    starts: list[int] = []
    for index, word in enumerate(sentence.words):
        characters = characters_of("".join(word.split()))
        starts.append(len(words))
        words += characters
        last = len(words) - 1
        glued += range(starts[-1], last + 1 if index in sentence.glued else last)
    starts.append(len(words))
    labels = {}
    for index, layers in sentence.labels.items():
        span = starts[min(index + int(layers.get("span", "1")), len(sentence.words))] - starts[index]
        labels[starts[index]] = {**layers, "span": str(span)} if span > 1 else dict(layers)
    return replace(sentence, words=tuple(words), labels=labels or sentence.labels, glued=frozenset(glued))
