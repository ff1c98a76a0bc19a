"""Distilled vectors, and the folder they are kept in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.card import card, number_of
from limbeck.errors import InputError
from limbeck.places import refuse_beside, tells_run
from limbeck.record import check_format, read_record
from limbeck.state import write_text
from limbeck.tables import Columns, read_csv, write_csv
from limbeck.vectors import StaticVectors
from limbeck.vectors.formats import format_of

LOSSES = "losses.csv"
BESIDE = ("README.md", "run.json", LOSSES, "words.parquet")  #: files of a folder of vectors that others have too
CORPUS = "corpus"  #: the origin of a vector that was made of a word's occurrences


class DistilledVectors(StaticVectors):
    """Static vectors that know how each came about, and where all of them come from.

    counts   (words,) occurrences in the text
    origins  (words,) of `limbeck.distillation.card.ORIGINS`: "corpus", or what was read without the text
    record   teacher, text, settings, scores: what run.json holds
    losses   of a method that trains its loss curve, a table
    """

    def __init__(
        self,
        words: Sequence[str],
        matrix: NDArray[Any],
        *,
        record: dict[str, Any],
        losses: Columns | None = None,
        **facts: Any,
    ) -> None:
        super().__init__(words, matrix, **facts)
        self.record, self.losses = record, losses or {}

    @property
    def counts(self) -> NDArray[np.int64]:
        found = super().counts
        assert found is not None
        return found

    @property
    def origins(self) -> list[str]:
        found = super().origins
        assert found is not None
        return found

    @property
    def method(self) -> str:
        """A name of `limbeck.distillation.METHODS`."""
        return str(self.record["method"])

    @property
    def layer(self) -> str:
        """Of the teacher."""
        return str(self.record["layer"])

    def title(self) -> str:
        return f"{number_of(len(self))} by {self.method}, layer {self.layer}"

    @property
    def from_elsewhere(self) -> dict[str, int]:
        """Origin -> how many words, of those whose vectors are not made of the text."""
        return {origin: n for origin, n in sorted(Counter(self.origins).items()) if origin != CORPUS}

    def save(self, path: str | Path, format: str = "auto", *, dtype: str = "float32", language: str = "en") -> None:
        """As of all static vectors; a folder of model2vec's has a card (README.md), losses.csv and run.json beside."""
        folder = Path(path).expanduser()
        whole = format_of(path, format) == "model2vec"
        record = folder / "run.json"
        if whole and not (record.is_file() and tells_run(record.read_bytes())):  # an earlier one may be replaced
            refuse_beside(folder, BESIDE)
        super().save(path, format, dtype=dtype, language=language)
        if whole:
            if self.losses:
                write_csv(folder / LOSSES, self.losses)
            self.save_record(folder, dtype=dtype)

    def save_record(self, folder: Path, *, dtype: str) -> None:
        """The card and run.json alone, for vectors that are there."""
        record = self.record | {"dtype": dtype}
        write_text(folder / "README.md", card(self, dtype=dtype))
        write_text(folder / "run.json", json.dumps(record, indent=2, default=str) + "\n")

    @classmethod
    def load(cls, path: str | Path, format: str = "auto", limit: int | None = None) -> DistilledVectors:
        """What `save` wrote."""
        folder = Path(path).expanduser()
        record = check_format(folder, read_record(folder / "run.json"))
        if not isinstance(record.get("method"), str) or not isinstance(record.get("layer"), str):
            raise InputError(
                f"{folder}: not a folder of distilled vectors, its run.json names no method and layer.",
                code="other_kind",
            )
        vectors = StaticVectors.load(folder, format, limit)
        if vectors.counts is None or vectors.origins is None:
            raise InputError(
                f"{folder}: not a folder of distilled vectors, words.parquet is missing: distill them again.",
                code="incomplete",
            )
        losses: Columns = read_csv(folder / LOSSES) if (folder / LOSSES).is_file() else {}
        return cls(
            vectors.words,
            vectors.matrix,
            record=record,
            losses={name: [json.loads(cell or "NaN") for cell in cells] for name, cells in losses.items()},
            counts=vectors.counts,
            origins=vectors.origins,
            total=vectors.total,
            notes=vectors.notes,
        )
