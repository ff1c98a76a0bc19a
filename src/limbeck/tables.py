"""Tables on disk: CSV for people, Parquet for the rest. A table is a dict of equally long columns."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.record import AGAIN, FORMAT

Columns = Mapping[str, Sequence[Any]]
FORMAT_KEY = b"limbeck.format"  #: metadata of a Parquet file: the number of its format


class LazyTables(Mapping[str, Columns]):
    """Tables by name, of which some take long: those are made when one of them, or all, is asked for.

    made   those that are there
    later  makes the others
    """

    def __init__(self, made: Mapping[str, Columns], later: Callable[[], Mapping[str, Columns]]) -> None:
        self.made, self._later = dict(made), [later]

    def __getitem__(self, name: str) -> Columns:
        return self.made[name] if name in self.made else self._all()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> dict[str, Columns]:
        while self._later:  # what it is made of may be large, and goes
            self.made |= self._later.pop()()
        return self.made


def columns_of(rows: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Rows with the same keys as columns."""
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


def rows_of(columns: Columns) -> list[dict[str, Any]]:
    """Columns as rows with the same keys."""
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def write_csv(path: Path, columns: Columns) -> None:
    """A CSV with a header; NaN and None are empty cells."""
    from limbeck.state import atomic  # numpy, which takes its time

    with atomic(path) as temporary, open(temporary, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        for row in zip(*columns.values(), strict=True):
            writer.writerow([_cell(value) for value in row])


def read_csv(path: Path) -> dict[str, list[str]]:
    """The columns of a CSV, as text."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


def write_table(path: Path, columns: Columns) -> None:
    """A CSV or a Parquet file, by the name's ending."""
    (write_csv if path.suffix == ".csv" else write_parquet)(path, columns)


def read_table(path: Path, *, text: Collection[str] = ()) -> dict[str, Any]:
    """The columns of a CSV or Parquet file as they were written; arrays where Parquet has numbers.

    text  columns of a CSV that hold text; all others hold numbers, NaN where a cell is empty
    """
    if path.suffix == ".csv":
        return {
            name: cells if name in text else [_number(cell) for cell in cells] for name, cells in read_csv(path).items()
        }
    table = read_parquet(path)
    return {
        name: column.to_pylist() if str(column.type) == "string" else column.to_numpy()
        for name, column in zip(table.column_names, table.columns, strict=True)
    }


def write_parquet(path: Path, columns: Columns, metadata: Mapping[bytes, bytes] | None = None) -> None:
    """A Parquet file, zstd-compressed, with the number of its format."""
    from limbeck.state import atomic

    arrow = need("pyarrow", purpose="Writing Parquet")
    parquet = need("pyarrow.parquet", purpose="Writing Parquet")
    arrays = {name: arrow.array(values) for name, values in columns.items()}
    table = arrow.table(arrays, metadata={FORMAT_KEY: str(FORMAT), **(metadata or {})})
    with atomic(path) as temporary:
        parquet.write_table(table, temporary, compression="zstd")


def open_parquet(path: Path, *, memory_map: bool = False) -> Any:
    """A Parquet file that limbeck wrote; another format is refused. One without a number is from elsewhere."""
    file = need("pyarrow.parquet", purpose="Reading Parquet").ParquetFile(path, memory_map=memory_map)
    found = (file.schema_arrow.metadata or {}).get(FORMAT_KEY)
    if found not in (None, str(FORMAT).encode()):
        file.close()
        raise InputError(
            f"{path}: format {found.decode(errors='replace')} of another version of limbeck, this one reads format "
            f"{FORMAT}: {AGAIN}.",
            code="other_format",
        )
    return file


def read_parquet(path: Path, columns: Sequence[str] | None = None) -> Any:
    """The Arrow table in a Parquet file that limbeck wrote, or some of its columns."""
    open_parquet(path).close()
    names = None if columns is None else list(columns)
    return need("pyarrow.parquet", purpose="Reading Parquet").read_table(path, columns=names)


def _number(cell: str) -> int | float:
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell or "nan")


def _cell(value: Any) -> Any:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return repr(float(value)) if isinstance(value, float) else value
