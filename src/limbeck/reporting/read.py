"""Run folders as the figures need them: read whole and checked before anything is drawn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError
from limbeck.record import read_record
from limbeck.tables import read_csv, read_parquet

Floats = NDArray[np.float64]

#: rows of layers.csv that a figure is made of
MEASURES = (
    "anisotropy",
    "self_similarity",
    "intra_sentence_similarity",
    "intra_sentence_similarity_matched",
    "mev",
    "mev_centered",
    "mev_truncated_svd",
    "log10_isotropy",
    "log10_isotropy_one_sign",
    "isoscore",
    "effective_rank",
    "norm_of_mean_over_mean_norm",
)
COLUMNS = ("value", "baseline", "adjusted", "low", "high")
BANDS = ("from", "below", "words", "self_similarity")
AGAIN = "measure the run again"
TABLE = "table"  #: the layer of bare embeddings, which stands before layer 0
TABLE_POSITION = -1


@dataclass(frozen=True)
class Run:
    """One run folder. Arrays over layers are in the order of `layers`; what was not defined is NaN.

    name       the model's name, different from those of the other runs beside it
    positions  where the layers stand on an axis: their numbers, -1 for "table", 0, 1, … for names of other kinds
    frequency  of each layer, the columns of frequency.csv
    spectra    centered eigenvalues, largest first: (layers, d)
    shares     each dimension's share of the mean cosine: (layers, d)
    """

    folder: Path
    name: str
    dim: int
    layers: tuple[str, ...]
    positions: tuple[int, ...]
    measures: Mapping[str, Mapping[str, Floats]]
    frequency: Sequence[Mapping[str, Floats]]
    spectra: Floats
    shares: Floats

    def column(self, measure: str, column: str = "value") -> Floats:
        """A column of layers.csv for one measure, (layers,)."""
        return self.measures[measure][column]


def read_runs(folders: Sequence[Path]) -> list[Run]:
    """The runs, under names that differ: equal ones are followed by their folder's name, and by a number if need be."""
    if not folders:
        raise UsageError("At least one run folder must be given; got none.", code="required", parameter="runs")
    runs = [read_run(Path(folder)) for folder in folders]
    same = Counter(run.name for run in runs)
    names = [run.name if same[run.name] == 1 else f"{run.name} ({run.folder.resolve().name})" for run in runs]
    same = Counter(names)
    names = [name if same[name] == 1 else f"{name} #{names[:i].count(name) + 1}" for i, name in enumerate(names)]
    return [replace(run, name=name) for run, name in zip(runs, names, strict=True)]


def read_run(folder: Path) -> Run:
    """Everything that is drawn of one run folder."""
    name, dim = _read_account(folder / "run.json")
    layers, measures = _read_layers(folder / "layers.csv")
    return Run(
        folder=folder,
        name=name,
        dim=dim,
        layers=layers,
        positions=place(layers),
        measures=measures,
        frequency=_read_frequency(folder / "frequency.csv", layers),
        spectra=read_by_layer(folder / "spectra.parquet", "index", "centered", layers),
        shares=read_by_layer(folder / "dimensions.parquet", "dimension", "share", layers),
    )


def place(layers: Sequence[str]) -> tuple[int, ...]:
    """Where layers stand on an axis.

    >>> place(["table", "0", "6", "12"]), place(["input", "hidden", "output"])
    ((-1, 0, 6, 12), (0, 1, 2))
    """
    if all(_is_number(layer) or layer == TABLE for layer in layers):
        return tuple(TABLE_POSITION if layer == TABLE else int(layer) for layer in layers)
    return tuple(range(len(layers)))


def _is_number(layer: str) -> bool:
    return layer.isascii() and layer.isdigit()


def _read_account(path: Path) -> tuple[str, int]:
    if not path.is_file():
        raise _unreadable(path, FileNotFoundError())
    account = read_record(path)
    missing = [name for name in ("name", "dim") if name not in account]
    if missing:
        raise InputError(
            f"{path}: must have name and dim; {' and '.join(missing)} missing: {AGAIN}.", code="incomplete"
        )
    return " ".join(account["name"].split()) or path.parent.name, int(account["dim"])


def _read_layers(path: Path) -> tuple[tuple[str, ...], dict[str, dict[str, Floats]]]:
    table = _csv(path, ("layer", "measure", *COLUMNS))
    layers = tuple(dict.fromkeys(table["layer"]))
    if not layers:
        raise InputError(f"{path}: must have at least one layer; it has no rows: {AGAIN}.", code="empty")
    missing = [measure for measure in MEASURES if measure not in table["measure"]]
    if missing:
        raise InputError(
            f"{path}: must have every measure that is drawn; {', '.join(missing)} missing: {AGAIN}.", code="incomplete"
        )
    measures = {measure: {column: np.full(len(layers), np.nan) for column in COLUMNS} for measure in MEASURES}
    numbers = {column: _numbers(path, column, table[column]) for column in COLUMNS}
    for row, (layer, measure) in enumerate(zip(table["layer"], table["measure"], strict=True)):
        if measure in measures:
            for column in COLUMNS:
                measures[measure][column][layers.index(layer)] = numbers[column][row]
    return layers, measures


def _read_frequency(path: Path, layers: Sequence[str]) -> list[dict[str, Floats]]:
    table = _csv(path, ("layer", *BANDS))
    names = np.array(table["layer"], dtype=str)
    columns = {column: _numbers(path, column, table[column]) for column in BANDS}
    return [{column: values[names == layer] for column, values in columns.items()} for layer in layers]


def read_by_layer(path: Path, index: str, column: str, layers: Sequence[str]) -> Floats:
    """A column of a Parquet file with a row a layer and index, as (layers, d)."""
    if not path.is_file():
        raise _unreadable(path, FileNotFoundError())
    try:  # ValueError: what pyarrow raises for a broken file and for a missing column
        table = read_parquet(path, ["layer", index, column]).to_pydict()
        names, order = np.array(table["layer"], dtype=str), np.array(table[index], dtype=np.int64)
        values = np.array(table[column], dtype=np.float64)
        found = np.stack([values[names == layer][np.argsort(order[names == layer])] for layer in layers])
        if not found.size:
            raise ValueError("there are none")
    except (OSError, KeyError, ValueError) as error:
        wanted = f"equally many numbers {column!r} for each layer of layers.csv"
        raise InputError(f"{path}: must have {wanted}; {_reason(error)}: {AGAIN}.", code="incomplete") from error
    return np.where(np.isfinite(found), found, np.nan)


def _csv(path: Path, columns: Sequence[str]) -> dict[str, list[str]]:
    try:
        table = read_csv(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    except (IndexError, ValueError) as error:  # no header, a row cut short, not UTF-8
        raise InputError(
            f"{path}: must be a whole CSV table; it is empty or cut short: {AGAIN}.", code="damaged"
        ) from error
    missing = [column for column in columns if column not in table]
    if missing:
        raise InputError(
            f"{path}: must have the columns {', '.join(columns)}; {', '.join(missing)} missing: {AGAIN}.",
            code="incomplete",
        )
    return table


def _numbers(path: Path, column: str, cells: Sequence[str]) -> Floats:
    """Cells as numbers; empty ones, and infinite ones that no axis can hold, are NaN."""
    try:
        values = np.array([float(cell) if cell else np.nan for cell in cells], dtype=np.float64)
    except ValueError as error:
        raise InputError(f"{path}: column {column!r} must hold numbers; {error}: {AGAIN}.", code="malformed") from error
    return np.where(np.isfinite(values), values, np.nan)


def _unreadable(path: Path, error: OSError) -> InputError:
    reason = error.strerror or "no such file"
    return InputError(
        f"{path}: a run folder must have this file; {reason}: give the folder of a finished run.", code="not_readable"
    )


def _reason(error: Any) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:100]}"
