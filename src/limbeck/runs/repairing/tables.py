"""A table of word vectors by itself: every row once, whatever its word's frequency."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.corpus.compression import open_bytes
from limbeck.encoders.layers import TABLE
from limbeck.encoders.miniatures import is_miniature, miniature_folder
from limbeck.encoders.table import table_fingerprint
from limbeck.runs.execution.sources import is_static
from limbeck.stream import VectorSource
from limbeck.vectors import OccurrenceVectors, StaticVectors, formats
from limbeck.vectors.blocks import Block, Identities, block_rows, cut, identities_of


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
