"""Vectors of single words from any target, at every layer, after every repair that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.rows import fitted_on, is_fitted, repaired
from limbeck.evaluation.settings import OutOfVocabulary
from limbeck.evaluation.targets import TableTarget, Target, repair_for
from limbeck.evaluation.wordsim import Fallback, Seen, WordVectors, ask, look_up
from limbeck.vectors.finding import Case
from limbeck.vectors.sentences import spellings
from limbeck.vectors.static import StaticVectors

Setting = tuple[str, str]  # layer, name of the repair


@dataclass(frozen=True)
class WordTable:
    """Words with vectors, and the policies for those that have none."""

    vectors: WordVectors
    oov: OutOfVocabulary
    case: Case
    fallback: Fallback | None = None
    settings: Mapping[str, str | int] = field(default_factory=dict)

    def look_up(self, words: Sequence[str]) -> Seen:
        return look_up(words, self.vectors, oov=self.oov, case=self.case, fallback=self.fallback)

    def usable(self, seen: Seen) -> NDArray[np.bool_]:
        """Which of the words a task can be made of: all where something stands in for a vector, else those not zero."""
        if self.oov in ("zero", "mean"):
            return np.ones(len(seen.matrix), dtype=bool)
        usable: NDArray[np.bool_] = np.linalg.norm(seen.matrix, axis=1) > 0
        return usable


def word_tables(
    target: Target, words: Sequence[str], counts: NDArray[np.int64], repairs: Mapping[str, Any]
) -> Iterator[tuple[Setting, WordTable]]:
    """A table for each layer and repair that has all of `words` for which there is a vector.

    counts  how often each word occurs in the task, for a repair that is fitted on a model's vectors of them

    A model reads every word by itself, and the rows are its pieces. A table's words have a row each, and a repair that
    is not fitted is fitted on the whole table.
    """
    if isinstance(target, TableTarget):
        yield from _tables(target, words, repairs)
        return
    rows = target.rows(words)
    there = np.unique(rows.texts).tolist()
    oov: OutOfVocabulary = getattr(target, "oov", "drop")
    weights = counts[rows.texts].astype(np.float64)
    for layer in target.layers:
        for name, repair in repairs.items():
            x = repaired(rows.of_layer(layer), repair_for(repair, layer, name), weights)
            means = rows.means(x).numpy()
            vectors = {words[at]: means[at] for at in there}
            yield (layer, name), WordTable(vectors, oov, "keep", settings=rows.settings)


def repaired_tables(
    target: TableTarget, repairs: Mapping[str, Any]
) -> Iterator[tuple[Setting, NDArray[np.float32], Fallback | None]]:
    """The whole matrix of a table after each repair, and its fallback."""
    for name, given in repairs.items():
        repair = _fitted(target, given, name)
        matrix = target.vectors.matrix
        if repair is not None:
            matrix = repaired(torch.from_numpy(matrix.copy()), repair).numpy()
        yield (target.layers[0], name), matrix, repaired_fallback(target, repair)


def repaired_fallback(target: TableTarget, repair: Any) -> Fallback | None:
    """What stands in for a word is repaired as the words are."""
    fallback = target.fallback
    if fallback is None or repair is None:
        return fallback

    def look_up(word: str) -> NDArray[np.float64] | None:
        vector = ask(word, fallback, dim=target.dim)
        return None if vector is None else repaired(torch.from_numpy(vector).unsqueeze(0), repair)[0].numpy()

    return look_up


def _tables(
    target: TableTarget, words: Sequence[str], repairs: Mapping[str, Any]
) -> Iterator[tuple[Setting, WordTable]]:
    for name, given in repairs.items():
        repair = _fitted(target, given, name)
        vectors, fallback = _repaired_words(target, words, repair), repaired_fallback(target, repair)
        yield (target.layers[0], name), WordTable(vectors, target.oov, target.case, fallback)


def _repaired_words(target: TableTarget, words: Sequence[str], repair: Any) -> StaticVectors:
    """The vectors that a look-up of these words can meet after a repair; of all words where their mean counts."""
    whole = target.vectors
    if repair is None:
        return whole
    if target.oov == "mean":
        met, matrix = whole.words, whole.matrix.copy()
    else:
        forms = dict.fromkeys(form for word in words for form in spellings(word, target.case))
        met = [form for form in forms if form in whole]
        matrix = whole.matrix[[whole.index(form) for form in met]]
    return StaticVectors(met, repaired(torch.from_numpy(matrix), repair).numpy())


def _fitted(target: TableTarget, given: Any, name: str) -> Any:
    repair = repair_for(given, target.layers[0], name)
    if repair is None or is_fitted(repair):
        return repair
    return fitted_on(repair, torch.from_numpy(target.vectors.matrix.copy()))
