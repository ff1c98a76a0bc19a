"""Parquet: a column of texts or of lists of words, read batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.documents import RawDocument, grouped
from limbeck.corpus.jsonl import JsonLines, is_label
from limbeck.corpus.readers import Paragraphs
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError, UsageError, first_few
from limbeck.extras import need
from limbeck.remote import RemoteFile

BATCH_ROWS = 256


@dataclass(frozen=True)
class Parquet:
    """A text is a document (several columns: each row's texts after another); 1,000 lists of words are one.

    Without `columns` it is the column "text", else "words" or "tokens", else the only column of strings or of lists of
    strings. Beside words, lists as long with labels are kept as `JsonLines` keeps them ("ner_tags", say), by the names
    of their classes where the file's own description of its columns, as Hugging Face's datasets write it, has them.
    Rows travel as JSON lines, so that one parser serves both formats.
    """

    columns: Sequence[str] = ()
    language: str = "en"
    characters: bool = False
    paragraphs: Paragraphs = "lines"

    def divide_file(
        self, path: Path | RemoteFile, source: str, first: int = 1
    ) -> Iterator[tuple[int, tuple[str, ...]]]:
        parquet = need("pyarrow.parquet", purpose="reading Parquet")
        errors = need("pyarrow", purpose="reading Parquet").lib
        try:
            with ExitStack() as stack:
                opened = stack.enter_context(path.open()) if isinstance(path, RemoteFile) else path
                file = stack.enter_context(parquet.ParquetFile(opened))
                columns, words = self._choose(file.schema_arrow, source)
                if words:
                    labels = label_columns(file.schema_arrow, columns)
                    rows = self._rows(file, [*columns, *labels], first)
                    yield from grouped(
                        (row, [_line("words", cell, _labels(cell, cells[len(columns) :], labels))])
                        for row, cells in rows
                        for cell in cells[: len(columns)]
                        if cell
                    )
                    return
                for row, cells in self._rows(file, columns, first):
                    for cell in cells:
                        if cell and not cell.isspace():
                            yield row, (_line("text", cell),)
        except (errors.ArrowException, OSError, ValueError) as error:  # ValueError: what should be UTF-8 is not
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError.at(
                source, None, f"cannot be read as Parquet ({reason}): write the file again.", code="damaged"
            ) from error

    def begins_row(self, row: int, before: int, lines: tuple[str, ...]) -> bool:
        """Whether a document begins with a row and not with the second of its cells; `before`: the last one's row."""
        return len(self.columns) < 2 or (row > before and lines[0].startswith('{"text"'))

    def parse(self, document: RawDocument) -> Iterator[Sentence]:
        yield from JsonLines(self.language, self.characters, self.paragraphs).parse(document)

    @staticmethod
    def _rows(file: Any, columns: list[str], first: int) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """(number, cells) of all rows from the `first` on; row groups before it are not read."""
        group = row = 0
        while group < file.num_row_groups and row + file.metadata.row_group(group).num_rows < first:
            row += file.metadata.row_group(group).num_rows
            group += 1
        groups = list(range(group, file.num_row_groups))
        for batch in file.iter_batches(batch_size=BATCH_ROWS, row_groups=groups, columns=columns):
            if row + len(batch) < first:
                row += len(batch)
                continue
            values = [batch.column(batch.schema.get_field_index(column)).to_pylist() for column in columns]
            for cells in zip(*values, strict=True):
                row += 1
                if row >= first:
                    yield row, cells

    def _choose(self, schema: Any, source: str) -> tuple[list[str], bool]:
        """The columns to read, and whether they hold lists of words."""
        types = need("pyarrow", purpose="reading Parquet").types
        kinds: dict[str, str] = {}
        for field in schema:
            kind = field.type.value_type if types.is_dictionary(field.type) else field.type
            if types.is_string(kind) or types.is_large_string(kind):
                kinds[field.name] = "text"
            elif _is_list(kind) and (types.is_string(kind.value_type) or types.is_large_string(kind.value_type)):
                kinds[field.name] = "words"
        columns = list(self.columns)
        if not columns:
            texts = [name for name, kind in kinds.items() if kind == "text"]
            usual: list[str] = [name for name in ("text", "words", "tokens") if name in kinds]
            only = texts or [name for name in kinds if not is_label(name)]
            columns = usual[:1] or (only if len(only) == 1 else [])
        if not columns or any(column not in kinds for column in columns):
            got = ", ".join(self.columns) or "none"
            raise UsageError(
                f"{source}: --columns must name columns of strings or of lists of strings, got {got}; "
                f"the file has {first_few(kinds) or 'no such column'}.",
                code="incomplete",
                parameter="columns",
            )
        if len({kinds[column] for column in columns}) > 1:
            raise UsageError(
                f"{source}: --columns must be all texts or all lists of words: give one kind.",
                code="exclusive",
                parameter="columns",
            )
        return columns, kinds[columns[0]] == "words"


def _is_list(kind: Any) -> bool:
    types = need("pyarrow", purpose="reading Parquet").types
    return bool(types.is_list(kind) or types.is_large_list(kind))


def label_columns(schema: Any, columns: Sequence[str]) -> dict[str, Sequence[str]]:
    """The columns of lists of labels beside these of words, each with the names of its classes, () where none are."""
    try:
        told = json.loads((schema.metadata or {}).get(b"huggingface", b"{}"))["info"]["features"]
    except (LookupError, TypeError, ValueError):
        told = {}
    found: dict[str, Sequence[str]] = {}
    for field in schema:
        if field.name not in columns and is_label(field.name) and _is_list(field.type):
            about = told.get(field.name) if isinstance(told, dict) else None
            inner = about[0] if isinstance(about, list) and about else about
            inner = inner.get("feature", inner) if isinstance(inner, dict) else {}
            names = inner.get("names") if isinstance(inner, dict) else None
            found[field.name] = names if isinstance(names, list) else ()
    return found


def _labels(words: Sequence[str], cells: Sequence[Any], names: Mapping[str, Sequence[str]]) -> dict[str, list[Any]]:
    """The labels of a row's words, classes by their names; a list of another length has none of them."""
    return {
        column: [_class(value, names[column]) for value in cell]
        for column, cell in zip(names, cells, strict=True)
        if isinstance(cell, list) and len(cell) == len(words)
    }


def _class(value: Any, names: Sequence[str]) -> Any:
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else value


def _line(key: str, value: Any, labels: Mapping[str, Any] | None = None) -> str:
    return json.dumps({key: value} | dict(labels or {}))
