"""What is repaired: a source of vectors, and the table that it is made of, if it is one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.corpus.compression import open_bytes
from limbeck.encoders.huggingface import choose_device
from limbeck.encoders.layers import TABLE
from limbeck.encoders.miniatures import is_miniature, miniature_folder
from limbeck.encoders.table import ZERO, table_fingerprint
from limbeck.errors import UsageError
from limbeck.runs.execution.sources import is_static, open_source, refuse_options
from limbeck.stream import Source, VectorSource
from limbeck.vectors import OccurrenceVectors, StaticVectors, formats
from limbeck.vectors.blocks import Block, Identities, block_rows, cut, identities_of
from limbeck.vectors.plain import is_array


@dataclass(frozen=True)
class Subject:
    """A source of vectors, and more where it is a table.

    table  static vectors, to be written repaired
    path   where they came from
    alone  whether the table is measured by itself, row by row, rather than on a text
    """

    source: Source
    table: StaticVectors | None = None
    path: str | Path = ""
    alone: bool = False

    @property
    def left_out(self) -> dict[str, int]:
        """Rows of a table by itself that are fitted on, and not measured."""
        zero = int((~self.table.matrix.any(axis=1)).sum()) if self.alone and self.table is not None else 0
        return {ZERO: zero} if zero else {}


def subject_of(source: Source, model: Any) -> Subject:
    """A source made of a model and a text, or of cached vectors."""
    static = isinstance(model, str | Path) and bool(model) and is_static(model)
    return Subject(source, load_table(model) if static else None, model if static else "")


def open_subject(
    model: Any = None, corpus: Any = None, *, vectors: Any = None, preset_units: str = "words", **options: Any
) -> Subject:
    """Model and text, cached vectors, or a table by itself: static vectors, or a model with layers="table"."""
    if vectors is not None or corpus is not None or is_array(model):
        return subject_of(open_source(model, corpus, vectors=vectors, preset_units=preset_units, **options), model)
    named = isinstance(model, str | Path)
    layers = options.pop("layers", TABLE if not named or is_static(model) else None)
    if layers != TABLE:
        raise UsageError(
            "--corpus is needed; without one, --layers=table repairs a model's embedding table by itself.",
            code="required",
            parameter="corpus",
        )
    device = options.pop("device", "auto")
    refuse_options(options, "a table of vectors without a text")
    table = load_table(model) if named else model
    name = Path(model).expanduser().name if named else TABLE
    where = "cpu" if device == "auto" else str(choose_device(device))
    whole = not named or is_static(model)
    return Subject(open_table(table, name, whole=whole, device=where), table, model if named else "", alone=True)


# a table by itself


class TableRows:
    """The rows of a table in the place of kept occurrences, each its own text. Zero vectors are left out."""

    layers: tuple[str, ...] = (TABLE,)
    shards = 1

    def __init__(self, table: StaticVectors, name: str, *, whole: bool) -> None:
        self._table = table
        self.name = name
        self.dim = table.dim
        self._rows = np.flatnonzero(table.matrix.any(axis=1))
        self.words_total = len(self._rows)
        self.about = {"table": name, "rows": len(table), "zero_vectors": len(table) - self.words_total}
        self.fingerprint = table_fingerprint(table.words, table.matrix)
        self.model_fingerprint = self.fingerprint if whole else None

    def identities(self, shard: int) -> Identities:
        return identities_of([self._table.words[row] for row in self._rows.tolist()], None, None)

    def blocks(self, shard: int) -> Iterator[Block]:
        known = self.identities(shard)
        for start, stop in cut(known.texts, block_rows(1, self.dim)):
            yield Block.of(known.rows(start, stop), self._table.matrix[self._rows[start:stop]][None])


def load_table(model: str | Path) -> StaticVectors:
    """Static vectors of a file or a model2vec folder; of any other model the input embedding table."""
    if is_static(model):
        return StaticVectors.load(model)
    return StaticVectors.from_model(miniature_folder(str(model)) if is_miniature(model) else model)


def open_table(table: StaticVectors, name: str, *, whole: bool = True, device: str = "cpu") -> VectorSource:
    """A source that gives every row of a table once; `whole`: there is no more to the model than its table."""
    return VectorSource(OccurrenceVectors(TableRows(table, name, whole=whole)), name, device)


def save_like(table: StaticVectors, model: str | Path, folder: Path) -> Path:
    """Write a table into a folder, by the name and in the format of the file or folder that it came from.

    What has no writable format, a fastText model or a model's embedding table, becomes safetensors.
    """
    path = Path(model).expanduser()
    format: Any = "safetensors"
    if path.is_dir():
        format = "model2vec" if is_static(path) else format
    elif path.is_file():
        with open_bytes(path) as stream:
            format = formats.detect(stream.read(formats.HEAD), path)
    name = path.name
    if format not in formats.WRITABLE or (format == "safetensors" and path.suffix != ".safetensors"):
        format, name = "safetensors", f"{name}.safetensors"
    folder.mkdir(parents=True, exist_ok=True)
    table.save(folder / name, format)
    return folder / name
