"""The formats by name, and which one a file is in when the user does not say."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast, get_args

from limbeck.corpus.compression import as_text, open_bytes
from limbeck.corpus.conllu import ConllU
from limbeck.corpus.documents import FileFormat, Format
from limbeck.corpus.jsonl import JsonLines
from limbeck.corpus.parquet import Parquet
from limbeck.corpus.readers import Paragraphs, Prose, Words
from limbeck.corpus.semcor import FILE_NAME, SemCor
from limbeck.corpus.sources import TAR_HEADER, Source, is_tar, texts_in
from limbeck.corpus.tsv import Cells, Table
from limbeck.corpus.wikipse import MARKED, WikiPse
from limbeck.errors import InputError, choose

FORMATS = ("prose", "words", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse")
EXTENSIONS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".conllu": "conllu",
    ".tsv": "tsv",
    ".tab": "tsv",
}
COMPRESSED = frozenset({".gz", ".bz2", ".xz", ".zst", ".zstd"})
LOOK = 8_192  #: characters that are looked at


@dataclass(frozen=True)
class ReadingRules:
    """How text is read; what is not of a format's concern is passed over by it."""

    language: str = "en"
    characters: bool = False
    paragraphs: Paragraphs = "lines"
    columns: tuple[str, ...] = ()
    cells: Cells = "sentence"

    @classmethod
    def of(
        cls,
        *,
        language: str = "en",
        characters: bool = False,
        paragraphs: str = "lines",
        columns: str | Sequence[str | int] | None = None,
        cells: str = "sentence",
    ) -> ReadingRules:
        """The rules as a user gives them: values are checked, columns may be one string with commas."""
        choose(paragraphs, get_args(Paragraphs), what="--paragraphs")
        choose(cells, get_args(Cells), what="--cells")
        columns = [one.strip() for one in columns.split(",")] if isinstance(columns, str) else columns
        named = tuple(map(str, columns or ()))
        return cls(language, characters, cast(Paragraphs, paragraphs), named, cast(Cells, cells))


def make_format(name: str, settings: ReadingRules) -> Format | FileFormat:
    """The format of that name."""
    s = settings
    match name:
        case "prose":
            return Prose(s.language, s.characters, s.paragraphs)
        case "words":
            return Words()
        case "tsv":
            return Table(s.columns, s.cells, s.language, s.characters)
        case "jsonl":
            return JsonLines(s.language, s.characters, s.paragraphs, s.columns)
        case "parquet":
            return Parquet(s.columns, s.language, s.characters, s.paragraphs)
        case "conllu":
            return ConllU()
        case "semcor":
            return SemCor()
        case "wikipse":
            return WikiPse()
    raise ValueError(f"no such format: {name}")


def accepts(name: str, file: str) -> bool:
    """Whether a file found in a folder or an archive is meant: a release of SemCor holds a licence and more."""
    return name != "semcor" or bool(FILE_NAME.match(Path(file).stem))


def detect(sources: Sequence[Source], settings: ReadingRules, encoding: str) -> str:
    """The format of a corpus: by names, then by a look at the first file; plain text is prose.

    A corpus is in one format. Files whose names say different things are refused, not read as garbage.
    """
    if any(re.search(r"tagfiles/br-[a-z]\d\d", source.path.as_posix()) for source in sources):
        return "semcor"
    named: dict[str, str] = {}  # format -> the first file that is in it by its name
    for source in sources:
        named.setdefault(_by_name(source.path.name) or "text", source.name)
    if len(named) > 1:
        (one, first), (other, second) = list(named.items())[:2]
        raise InputError(
            f"A corpus must be in one format, got {first} ({one}) and {second} ({other}): "
            "choose files by a glob, or give --format.",
            code="ambiguous",
            parameter="format",
        )
    found = next(iter(named))
    if found != "text":
        return found
    found = _by_content(sources[0], encoding)
    return "tsv" if found == "prose" and settings.columns else found


def _by_name(name: str) -> str | None:
    suffixes = [suffix.lower() for suffix in Path(name).suffixes]
    while suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    return EXTENSIONS.get(suffixes[-1]) if suffixes else None


def _by_content(source: Source, encoding: str) -> str:
    with open_bytes(source.path, source.name) as stream:
        head = stream.peek(TAR_HEADER)
        if head.startswith(b"PAR1"):
            return "parquet"
        if not is_tar(head):
            with as_text(stream, source.name, encoding) as text:
                return by_look(text.read(LOOK), source.name)
    for number, (name, _) in enumerate(texts_in(source, encoding)):
        if accepts("semcor", name):
            return "semcor"
        if found := _by_name(name):
            return found
        if number >= 20:
            break
    return "prose"


def by_look(text: str, name: str = "") -> str:
    """The format of a text by its first lines."""
    lines = [line for line in text.split("\n")[:50] if line.strip()]
    if not lines:
        return "prose"
    if lines[0].startswith("<contextfile"):
        return "semcor"
    if re.match(r'\s*\{\s*"', lines[0]):
        return "jsonl"
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    if rows and len(rows[0]) == 10 and re.fullmatch(r"1(-\d+)?|0\.\d+", rows[0][0]):
        return "conllu"
    tokens = [token for line in lines for token in line.split()]
    if sum(bool(MARKED.match(token)) for token in tokens) * 50 > len(tokens):
        return "wikipse"
    if Path(name).suffix.lower() == ".csv":
        if "\t" in lines[0]:  # the STS Benchmark is named so
            return "tsv"
        raise InputError.at(
            name, 1, "columns must be parted by tabulators, got a comma-separated file: convert it.", code="other_kind"
        )
    return "prose"
