"""What is repaired: a source of vectors, and the table that it is made of, if it is one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from limbeck.encoders.huggingface import choose_device
from limbeck.encoders.layers import TABLE
from limbeck.encoders.table import ZERO
from limbeck.errors import UsageError
from limbeck.runs.execution.sources import is_static, open_source, refuse_options
from limbeck.runs.repairing.tables import load_table, open_table
from limbeck.stream import Source
from limbeck.vectors import StaticVectors
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
            code="no_source",
            parameter="corpus",
        )
    device = options.pop("device", "auto")
    refuse_options(options, "a table of vectors without a text")
    table = load_table(model) if named else model
    name = Path(model).expanduser().name if named else TABLE
    where = "cpu" if device == "auto" else str(choose_device(device))
    whole = not named or is_static(model)
    return Subject(open_table(table, name, whole=whole, device=where), table, model if named else "", alone=True)
