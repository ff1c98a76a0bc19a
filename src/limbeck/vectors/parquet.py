"""Occurrence vectors in Parquet: a row an occurrence (or an occurrence and layer), vectors as lists."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, first_few
from limbeck.extras import need
from limbeck.vectors.blocks import Block, Identities, Ints, as_identities, block_rows, cut, identities_of, is_together
from limbeck.vectors.kept import finite_block
from limbeck.vectors.occurrences import fingerprint_file

BATCH = 2048  #: rows decoded at once
WIDE = "layer_"  #: columns of vectors, one a layer, are called layer_0, layer_1, ...


class ParquetSource:
    """Columns word, sentence, context, position (optional but for the word), and one of three ways to hold vectors:

    `vector` (one layer), `vector` with `layer` (a row a layer: the layers of an occurrence one after the other, or
    all rows of a layer and then all of the next), or a column a layer, `layer_0`, `layer_1`, ...
    """

    shards = 1

    def __init__(self, path: Path) -> None:
        self.path = path
        self.name = path.stem
        with self.open() as file:
            names = list(file.schema_arrow.names)
            rows = file.metadata.num_rows
        wide = [name for name in names if name.startswith(WIDE) and name[len(WIDE) :]]
        if "word" not in names or ("vector" not in names and not wide):
            raise InputError(
                f"{path}: columns word and vector (or word and {WIDE}0, {WIDE}1, ...) are needed, "
                f"got {first_few(names)}: rename them.",
                code="incomplete",
            )
        self.names = names
        self.columns = ["vector"] if "vector" in names else sorted(wide, key=layer_order)
        self.by_occurrence = True  # the layers of an occurrence stand together
        self.layers = tuple(name[len(WIDE) :] for name in self.columns) if "vector" not in names else ("vectors",)
        self.long = "vector" in names and "layer" in names
        if self.long:
            self.layers = self.find_layers()
        self.words_total = rows // len(self.layers) if self.long else rows
        self.dim = self.find_dim()
        self.fingerprint = fingerprint_file(path)

    def open(self) -> Any:
        arrow = need("pyarrow", purpose="reading Parquet")
        parquet = need("pyarrow.parquet", purpose="reading Parquet")
        try:
            return parquet.ParquetFile(self.path)
        except (OSError, arrow.ArrowInvalid) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"{self.path}: cannot be read as Parquet ({reason}): get the whole file.", code="damaged"
            ) from error

    def column(self, *names: str) -> list[Any] | None:
        """The values of the first of these columns that is there."""
        name = next((name for name in names if name in self.names), None)
        if name is None:
            return None
        with self.open() as file:
            column = file.read(columns=[name]).column(0)
        if column.null_count:
            row = column.to_pylist().index(None)
            raise InputError(
                f"{self.path}: column {name} must have a value in every row, row {row} has none.", code="incomplete"
            )
        values: list[Any] = column.to_pylist()
        return values

    def find_layers(self) -> tuple[str, ...]:
        """Names of the layers of a file with a column `layer`, and in which of two orders its rows are."""
        values = self.column("layer") or []
        layers = list(dict.fromkeys(values))
        ids = np.array([layers.index(value) for value in values], dtype=np.int64)
        count = len(values) // max(1, len(layers))
        if count * len(layers) == len(values):
            if np.array_equal(ids, np.tile(np.arange(len(layers)), count)):
                return tuple(map(str, layers))
            if np.array_equal(ids, np.repeat(np.arange(len(layers)), count)):
                self.by_occurrence = False
                return tuple(map(str, layers))
        raise InputError(
            f"{self.path}: each occurrence must have a row for each of the layers {layers}, together or layer by "
            f"layer in the same order, got {len(values)} rows in another: sort the file.",
            code="out_of_order",
        )

    def find_dim(self) -> int:
        if not self.words_total:
            raise InputError(f"{self.path}: occurrences are needed, the file has no rows.", code="empty")
        return int(RowReader(self, 0).take(1)[0].shape[1])

    def identities(self, shard: int) -> Identities:
        strings = self.folded(self.column("word"))
        assert strings is not None
        identities = identities_of(
            [str(string) for string in strings],
            self.numbers("sentence"),
            self.numbers("context", "text"),
            self.numbers("position"),
        )
        if not is_together(identities.texts):
            raise InputError(
                f"{self.path}: the rows of one context must stand together, got one divided by another: "
                "sort the file by context.",
                code="out_of_order",
            )
        return identities

    def numbers(self, *names: str) -> Ints | None:
        values = self.folded(self.column(*names))
        return None if values is None else as_identities(values)

    def folded(self, values: list[Any] | None) -> list[Any] | None:
        """One value an occurrence, of a column that may have one a layer."""
        if values is None or not self.long:
            return values
        layers = len(self.layers)
        table = (
            [values[layer::layers] for layer in range(layers)]
            if self.by_occurrence
            else [values[layer * self.words_total : (layer + 1) * self.words_total] for layer in range(layers)]
        )
        for name, others in zip(self.layers[1:], table[1:], strict=True):
            if others != table[0]:
                row = next(row for row, (one, other) in enumerate(zip(table[0], others, strict=True)) if one != other)
                raise InputError(
                    f"{self.path}: the layers of occurrence {row} must agree, got {table[0][row]!r} in layer "
                    f"{self.layers[0]} and {others[row]!r} in layer {name}: sort the file.",
                    code="out_of_order",
                )
        return table[0]

    def blocks(self, shard: int) -> Iterator[Block]:
        identities = self.identities(shard)
        layers = len(self.layers)
        starts = [layer * self.words_total for layer in range(layers)] if self.long and not self.by_occurrence else [0]
        readers = [RowReader(self, start) for start in starts]
        for start, end in cut(identities.texts, block_rows(layers, self.dim)):
            if self.long and self.by_occurrence:
                rows = readers[0].take(layers * (end - start))[0]
                vectors = rows.reshape(end - start, layers, self.dim).transpose(1, 0, 2)
            elif self.long:
                vectors = np.stack([reader.take(end - start)[0] for reader in readers])
            else:
                vectors = np.stack(readers[0].take(end - start))
            yield finite_block(identities.rows(start, end), vectors, self.path, start)


class RowReader:
    """Vectors of consecutive rows from a given row on, decoded a few at a time."""

    def __init__(self, source: ParquetSource, start: int) -> None:
        self.source = source
        self.row = start
        self.batches = self.decode(start)
        self.ready: list[list[NDArray[Any]]] = []  # batches of columns of rows
        self.count = 0

    def decode(self, start: int) -> Iterator[list[NDArray[Any]]]:
        with self.source.open() as file:
            group, before = 0, 0
            while before + file.metadata.row_group(group).num_rows <= start and group < file.num_row_groups - 1:
                before += file.metadata.row_group(group).num_rows
                group += 1
            groups = list(range(group, file.num_row_groups))
            for batch in file.iter_batches(BATCH, row_groups=groups, columns=self.source.columns):
                if before + len(batch) > start:
                    batch = batch.slice(max(0, start - before))
                    first = max(before, start)
                    yield [self.rows_of(batch.column(name), first) for name in self.source.columns]
                    before = first
                before += len(batch)

    def rows_of(self, column: Any, row: int) -> NDArray[Any]:
        """A column of lists as (rows, d)."""
        arrow = need("pyarrow", purpose="reading Parquet")
        if not (
            arrow.types.is_list(column.type)
            or arrow.types.is_large_list(column.type)
            or arrow.types.is_fixed_size_list(column.type)
        ):
            raise InputError(
                f"{self.source.path}: vectors must be lists of numbers, got a column of {column.type}.",
                code="wrong_type",
            )
        if column.null_count:
            at = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
            raise InputError(
                f"{self.source.path}: row {row + at}: a vector of numbers is needed, got none.", code="incomplete"
            )
        lengths = column.value_lengths().to_numpy(zero_copy_only=False)
        dim = getattr(self.source, "dim", None) or int(lengths[0])
        if (lengths != dim).any() or dim < 1:
            at = int(np.argmax(lengths != dim))
            raise InputError(
                f"{self.source.path}: row {row + at}: a vector of {dim} numbers is needed, got one of {lengths[at]}.",
                code="wrong_shape",
            )
        values = column.flatten().to_numpy(zero_copy_only=False)
        if values.dtype.kind not in "fiu":
            raise InputError(
                f"{self.source.path}: vectors must be lists of numbers, got {column.type}.", code="wrong_type"
            )
        rows: NDArray[Any] = values.reshape(len(column), dim)
        return rows

    def take(self, count: int) -> list[NDArray[Any]]:
        """The next `count` rows of each column."""
        while self.count < count:
            batch = next(self.batches, None)
            if batch is None:
                raise InputError(
                    f"{self.source.path}: {count} more rows are needed, the file ends after {self.count}.",
                    code="damaged",
                )
            self.ready.append(batch)
            self.count += len(batch[0])
        joined = [np.concatenate([batch[at] for batch in self.ready]) for at in range(len(self.source.columns))]
        self.ready = [[column[count:] for column in joined]]
        self.count -= count
        return [column[:count] for column in joined]


def layer_order(name: str) -> tuple[bool, int, str]:
    """layer_2 before layer_10, and names that are no numbers after them."""
    rest = name[len(WIDE) :]
    return (not rest.isdigit(), int(rest) if rest.isdigit() else 0, rest)
