"""Distilled vectors, and the folder they are kept in."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.card import card, number_of
from limbeck.errors import InputError
from limbeck.shown import Tabular
from limbeck.state import write_text
from limbeck.tables import write_csv
from limbeck.vectors import StaticVectors

CORPUS = "corpus"  #: the origin of a vector that was made of a word's occurrences


@dataclass(frozen=True)
class Distilled(Tabular):
    """One vector a word, how each came about, and where all of them come from.

    vectors  words and matrix, with counts and origins
    method   a name of `limbeck.distillation.METHODS`
    layer    of the teacher
    counts   (words,) occurrences in the text
    origins  (words,) of `limbeck.distillation.card.ORIGINS`: "corpus", or what was read without the text
    about    teacher, text, settings, scores: what run.json holds
    """

    vectors: StaticVectors
    method: str
    layer: str
    counts: NDArray[np.int64]
    origins: Sequence[str]
    about: dict[str, Any] = field(default_factory=dict)

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return self.vectors[word]

    def __contains__(self, word: object) -> bool:
        return word in self.vectors

    def __len__(self) -> int:
        return len(self.vectors)

    def title(self) -> str:
        return f"{number_of(len(self))} by {self.method}, layer {self.layer}"

    def columns(self) -> dict[str, Any]:
        """A row a word, as of its vectors."""
        return self.vectors.columns()

    def head(self, rows: int) -> tuple[dict[str, Any], int]:
        return self.vectors.head(rows)

    @property
    def from_elsewhere(self) -> dict[str, int]:
        """Origin -> how many words, of those whose vectors are not made of the text."""
        return {origin: n for origin, n in sorted(Counter(self.origins).items()) if origin != CORPUS}

    def save(self, folder: str | Path, *, dtype: str = "float32") -> None:
        """A folder that limbeck, model2vec and sentence-transformers load, with words.parquet, README.md, run.json."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        self.vectors.save(folder, format="model2vec", dtype=dtype)
        if losses := self.about.get("training", {}).get("losses"):
            write_csv(folder / "losses.csv", {name: [row[name] for row in losses] for name in losses[0]})
        self.save_about(folder, dtype=dtype)

    def save_about(self, folder: Path, *, dtype: str) -> None:
        """The card and run.json alone, for vectors that are there."""
        about = {**self.about, "dtype": dtype}
        if "training" in about:
            about["training"] = {name: value for name, value in about["training"].items() if name != "losses"}
        write_text(folder / "README.md", card(self, dtype=dtype))
        write_text(folder / "run.json", json.dumps(about, indent=2, default=str) + "\n")

    @classmethod
    def load(cls, folder: str | Path) -> Distilled:
        """What `save` wrote."""
        folder = Path(folder).expanduser()
        try:
            about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
            method, layer = about["method"], about["layer"]
        except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError(f"{folder}: not a folder of distilled vectors (run.json: {error}).") from error
        vectors = StaticVectors.load(folder)
        if vectors.counts is None or vectors.origins is None:
            raise InputError(
                f"{folder}: not a folder of distilled vectors, words.parquet is missing: distil them again."
            )
        return cls(vectors, method, layer, vectors.counts, vectors.origins, about)
