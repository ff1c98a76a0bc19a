"""Parquet: a column of texts or of lists of words, read batch by batch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.corpus.documents import RawDocument, grouped
from limbeck.corpus.jsonl import JsonLines
from limbeck.corpus.readers import Paragraphs
from limbeck.corpus.units import Sentence
from limbeck.errors import InputError, UsageError
from limbeck.extras import need
from limbeck.remote import RemoteFile

BATCH_ROWS = 256


@dataclass(frozen=True)
class Parquet:
    """A text is a document (several columns: each row's texts after another); 1,000 lists of words are one.

    Without `columns` it is the column "text", else "words", else the only column of strings.
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
                rows = self._rows(file, columns, first)
                if words:
                    yield from grouped((row, [_line("words", value)]) for row, value in rows if value)
                    return
                for row, value in rows:
                    if value and not value.isspace():
                        yield row, (_line("text", value),)
        except (errors.ArrowException, OSError, ValueError) as error:  # ValueError: what should be UTF-8 is not
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise InputError.at(source, None, f"cannot be read as Parquet ({reason}): write the file again.") from error

    def begins_row(self, row: int, before: int, lines: tuple[str, ...]) -> bool:
        """Whether a document begins with a row and not with the second of its cells; `before`: the last one's row."""
        return len(self.columns) < 2 or (row > before and lines[0].startswith('{"text"'))

    def parse(self, document: RawDocument) -> Iterator[Sentence]:
        yield from JsonLines(self.language, self.characters, self.paragraphs).parse(document)

    @staticmethod
    def _rows(file: Any, columns: list[str], first: int) -> Iterator[tuple[int, Any]]:
        """(number, cell) of all rows from the `first` on; row groups before it are not read."""
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
                    for cell in cells:
                        yield row, cell

    def _choose(self, schema: Any, source: str) -> tuple[list[str], bool]:
        """The columns to read, and whether they hold lists of words."""
        types = need("pyarrow", purpose="reading Parquet").types
        kinds: dict[str, str] = {}
        for field in schema:
            kind = field.type.value_type if types.is_dictionary(field.type) else field.type
            if types.is_string(kind) or types.is_large_string(kind):
                kinds[field.name] = "text"
            elif types.is_list(kind) or types.is_large_list(kind):
                kinds[field.name] = "words"
        columns = list(self.columns)
        if not columns:
            texts = [name for name, kind in kinds.items() if kind == "text"]
            usual: list[str] = [name for name in ("text", "words") if name in kinds]
            columns = usual[:1] or (texts if len(texts) == 1 else [])
        if not columns or any(column not in kinds for column in columns):
            got = ", ".join(self.columns) or "none"
            raise UsageError(
                f"{source}: --columns must name columns of strings or of lists of strings, got {got}; "
                f"the file has {', '.join(kinds) or 'no such column'}."
            )
        if len({kinds[column] for column in columns}) > 1:
            raise UsageError(f"{source}: --columns must be all texts or all lists of words: give one kind.")
        return columns, kinds[columns[0]] == "words"


def _line(key: str, value: Any) -> str:
    return json.dumps({key: value})
