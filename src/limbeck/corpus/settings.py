"""Options of a corpus: the format of its files, and how they are divided into words, sentences and texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from limbeck.errors import UsageError
from limbeck.settings import Settings, option

WITH_COLUMNS = ("tsv", "jsonl", "parquet")  #: formats whose columns are chosen by name


@dataclass(frozen=True)
class FileSettings(Settings, group="text"):
    """What every format has."""

    encoding: str = option("utf-8", metavar="NAME", help="encoding of the files (utf-8)")
    lowercase: bool = option(False, help="lower-case the text, for the model too")


@dataclass(frozen=True)
class CorpusSettings(FileSettings, group="text"):
    """How the files of a corpus are read; `limbeck.Corpus` takes the same keywords."""

    format: Literal["auto", "words", "prose", "tsv", "jsonl", "parquet", "conllu", "semcor", "wikipse"] = option(
        "auto",
        metavar="NAME",
        help="format of the files: auto (default), words (one sentence a line), prose, tsv, jsonl, parquet, conllu, "
        "semcor or wikipse",
    )
    paragraphs: Literal["lines", "blocks"] = option(
        "lines", metavar="HOW", help="paragraphs of prose: lines (default) or blocks (hard-wrapped text)"
    )
    columns: tuple[Any, ...] | None = option(
        None,
        separator=",",
        metavar="A,B",
        help="columns of tsv, parquet and jsonl by name; of tsv also by number",
    )
    cells: Literal["sentence", "prose"] = option(
        "sentence", metavar="HOW", help="what a cell of tsv holds: a sentence (default) or prose"
    )
    language: str = option("en", metavar="CODE", help="language whose rules split words and sentences (en)")

    def check(self) -> None:
        refuse_columns(self.format, self.columns)


def refuse_columns(format: str, columns: Any) -> None:
    """Refuse columns of a format that has none to choose from."""
    if columns and format not in ("auto", *WITH_COLUMNS):
        raise UsageError(
            f"--columns applies only to {', '.join(WITH_COLUMNS)}, not to {format}: omit it.",
            code="no_effect",
            parameter="columns",
        )


@dataclass(frozen=True)
class TextUnitSettings(Settings, group="text"):
    """What the model reads at once."""

    text_unit: Literal["sentence", "paragraph", "document"] = option(
        "sentence", metavar="UNIT", help="what the model reads at once: sentence (default), paragraph or document"
    )
