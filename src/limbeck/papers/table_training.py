"""A table's geometry in the course of training, from tables that were kept on the way."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.measures.tables import Geometry, geometry
from limbeck.tables import read_csv
from limbeck.vectors.arrays import read_tensor, tensor_names

MOMENT = re.compile(r"(\d+(?:\.\d+)?)M")  #: how a kept table is called: "16M", millions of tokens seen
MILLION = 1_000_000


@dataclass(frozen=True)
class Training:
    """Geometry by tokens seen, in order, of the `rows` that were kept; `finished`: the last is the finished model's."""

    tokens: tuple[int, ...]
    shapes: tuple[Geometry, ...]
    rows: int
    finished: bool

    @property
    def shift(self) -> NDArray[np.float64]:
        return np.array([one.shift for one in self.shapes])

    @property
    def moments(self) -> list[str]:
        """What each moment is called: "4M", and "end" for the finished model."""
        names = [f"{tokens / MILLION:.3g}M" for tokens in self.tokens]
        return [*names[:-1], f"{names[-1]} (end)"] if self.finished else names


def find_early(name: str, folder: Path | None, early: Path | None) -> Path | None:
    """The file of a model's early tables: early-NAME.safetensors or NAME/early.safetensors under `early`, or with it.

    It is a safetensors file whose tensors are named by millions of tokens seen ("0M", "16M"). Beside it NAME.csv, a
    training's log, may tell in its column `tokens` how many were seen in the end.
    """
    places = [early / f"early-{name}.safetensors", early / name / "early.safetensors"] if early else []
    places += [folder / "early.safetensors"] if folder else []
    return next((place for place in places if place.is_file()), None)


def read_training(path: Path, matrix: NDArray[Any], *, name: str) -> Training:
    """Geometry of every table that was kept, and of the finished one where the same rows of it are known."""
    moments = {float(found[1]): key for key in tensor_names(path) if (found := MOMENT.fullmatch(key))}
    if not moments:
        raise InputError(
            f'{path}: tables named by millions of tokens ("16M") are needed, got none: check the file.',
            code="incomplete",
        )
    tables = [np.asarray(read_tensor(path, moments[at]), dtype=np.float64) for at in sorted(moments)]
    tokens = [round(at * MILLION) for at in sorted(moments)]
    rows = len(tables[0])
    end = _tokens_at_end(path, name)
    step = len(matrix) // rows if rows and len(matrix) % rows == 0 else 0
    last = np.asarray(matrix[::step], dtype=np.float64) if step and end else None
    # the finished table continues these only if it has the same rows: one of other words would begin a new curve
    if last is not None and end is not None and end > tokens[-1] and _same_rows(last, tables[-1]):
        return Training((*tokens, end), tuple(geometry(table) for table in (*tables, last)), rows, finished=True)
    return Training(tuple(tokens), tuple(geometry(table) for table in tables), rows, finished=False)


def _same_rows(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Whether most rows of one have their own likeness in the other."""
    if a.shape != b.shape:
        return False
    a, b = (x - x.mean(axis=0) for x in (a, b))
    norms = np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)
    return bool(np.median((a * b).sum(axis=1) / np.where(norms > 0, norms, 1)) > 0.5)


def _tokens_at_end(path: Path, name: str) -> int | None:
    log = path.with_name(f"{name}.csv")
    if not log.is_file():
        return None
    try:
        return int(read_csv(log)["tokens"][-1])
    except (KeyError, IndexError, ValueError) as error:
        raise InputError(
            f"{log}: a log with a column `tokens` is needed, got none: mend it or move it away.", code="incomplete"
        ) from error
