"""One target on one task: at every layer, after every repair that is asked for, from one pass over the texts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.evaluation.rows import is_fitted, repaired
from limbeck.evaluation.score import Score
from limbeck.evaluation.scoring import score_of
from limbeck.evaluation.settings import DEFAULTS, EvaluationSettings, Missing
from limbeck.evaluation.similarities import Similarities
from limbeck.evaluation.sts import sentence_similarities
from limbeck.evaluation.targets import Target, name_of, repair_for
from limbeck.evaluation.task import Pairs, Task
from limbeck.evaluation.word_vectors import Setting, word_tables
from limbeck.evaluation.wordsim import word_similarities

TEXTS_AT_ONCE = 4096  #: texts whose rows are held at a time, where no repair has to see all of them


def sweep(
    task: Task | Pairs,
    target: Target,
    repairs: Mapping[str, Any] | None = None,
    settings: EvaluationSettings = DEFAULTS,
    *,
    progress: bool = False,
) -> list[Score]:
    """A score for each layer of a target and each repair of its vectors, layer by layer.

    repairs   by name; {"": None}, the vectors as they are, unless said. A repair is None, or fitted and applied to the
              rows of texts before they are averaged, or not fitted: then it is fitted on the very rows of this task,
              each text as often as it occurs in the pairs (transductive, as Rajaee & Pilehvar 2021 did it). A dict
              has one for each layer.
    settings  `metric`, `aggregation`, `missing`, `draws` and `seed`; how a target reads texts is its own to say, and
              whether it shows progress too

    A task of words: a model reads every word by itself, and the rows are its pieces; words that have none are treated
    as the target's `oov` says. A table's words have a row each, and a repair that is not fitted is fitted on the whole
    table.
    """
    pairs = task.read() if isinstance(task, Task) else task
    repairs = {"": None} if repairs is None else repairs
    words = pairs.kind == "wordsim"
    similarities = _words(pairs, target, repairs) if words else _texts(pairs, target, repairs, settings.missing)
    return [
        score_of(
            pairs,
            replace(found, settings={**found.settings, "layer": layer, **({"repair": name} if name else {})}),
            name=name_of(target, layer, name),
            settings=settings,
        )
        for (layer, name), found in similarities
    ]


def different_texts(pairs: Pairs) -> tuple[list[str], NDArray[np.int64]]:
    """The texts of a task, each once, and how often it occurs on either side."""
    counts = Counter([*pairs.first, *pairs.second])
    return list(counts), np.fromiter(counts.values(), dtype=np.int64, count=len(counts))


def _texts(
    pairs: Pairs, target: Target, repairs: Mapping[str, Any], missing: Missing
) -> Iterator[tuple[Setting, Similarities]]:
    texts, counts = different_texts(pairs)
    place = {text: row for row, text in enumerate(texts)}
    sides = [np.array([place[text] for text in side], dtype=np.int64) for side in (pairs.first, pairs.second)]
    means, told = text_means(target, texts, counts, repairs)
    words = int(told["words_found"]) / max(int(told["words"]), 1) if "words_found" in told else math.nan
    for setting, matrix in means.items():
        found = sentence_similarities(pairs.first, pairs.second, [matrix[side] for side in sides], missing=missing)
        yield setting, replace(found, settings={**told, **found.settings}, words=words)


def text_means(
    target: Target, texts: Sequence[str], counts: NDArray[np.int64], repairs: Mapping[str, Any]
) -> tuple[dict[Setting, NDArray[np.float64]], dict[str, str | int]]:
    """The mean vector (texts, d) of each text in each setting, and what is to be told of the rows."""
    settings = [(layer, name) for layer in target.layers for name in repairs]
    chosen = {(layer, name): repair_for(repairs[name], layer, name) for layer, name in settings}
    at_once = all(repair is None or is_fitted(repair) for repair in chosen.values())
    step = TEXTS_AT_ONCE if at_once else max(len(texts), 1)
    parts: dict[Setting, list[NDArray[np.float64]]] = {setting: [] for setting in settings}
    told: dict[str, str | int] = {}
    for start in range(0, max(len(texts), 1), step):
        rows = target.rows(texts[start : start + step])
        told = _added(told, rows.settings)
        weights = counts[start : start + step][rows.texts].astype(np.float64)
        for layer, name in settings:
            x = repaired(rows.of_layer(layer), chosen[layer, name], weights)
            parts[layer, name].append(rows.means(x).numpy())
    finish = getattr(target, "finish", lambda means: means)
    return {setting: finish(np.concatenate(part)) for setting, part in parts.items()}, told


def _added(told: Mapping[str, str | int], more: Mapping[str, str | int]) -> dict[str, str | int]:
    """What is told of two parts together: counts are summed, words are the same in both."""
    summed = {name: value + int(told.get(name, 0)) for name, value in more.items() if isinstance(value, int)}
    return {**more, **summed}


def _words(pairs: Pairs, target: Target, repairs: Mapping[str, Any]) -> Iterator[tuple[Setting, Similarities]]:
    words, counts = different_texts(pairs)
    for setting, table in word_tables(target, words, counts, repairs):
        found = word_similarities(
            pairs.first, pairs.second, table.vectors, oov=table.oov, case=table.case, fallback=table.fallback
        )
        yield setting, replace(found, settings={**table.settings, **found.settings})
