"""A target on a task, and two targets on the same pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose
from limbeck.evaluation import significance
from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.score import Score
from limbeck.evaluation.scoring import score_of
from limbeck.evaluation.settings import DEFAULTS, DRAWS, Aggregation, EvaluationSettings, Metric
from limbeck.evaluation.significance import Comparison, Test
from limbeck.evaluation.sts import combine, sentence_similarities
from limbeck.evaluation.task import Pairs, Task
from limbeck.evaluation.wordsim import word_similarities


def evaluate(
    task: Task | Pairs,
    target: Any,
    *,
    name: str = "",
    repair: Any = None,
    settings: EvaluationSettings = DEFAULTS,
) -> Score:
    """The correlation of a target's cosines with what people said of a task's pairs.

    target    an encoder with one layer, a model of transformers (its last layer) or (model, tokenizer), a
              SentenceTransformer, StaticVectors, or a target of `limbeck.evaluation.targets`, which says itself how
              texts are read and words looked up; for a task of words also a mapping from words to vectors, see
              `word_similarities`; for a task of texts also a function from texts to vectors, or two arrays, see
              `sentence_similarities`
    name      of the target, for tables
    repair    of an encoder's or a table's vectors, before they are averaged: fitted, or not and then fitted on the
              task's own vectors, see `sweep`, which does many at once
    settings  `metric` and `aggregation` choose the correlation that is `value` (`.estimates` has all); `draws` and
              `seed` are those of the bootstrap behind the intervals; `oov`, `missing`, `language` and `lowercase`
    """
    pairs = task.read() if isinstance(task, Task) else task
    if not isinstance(pairs, Pairs):
        raise UsageError(
            f"a task is one of limbeck.evaluation.tasks(...), or Pairs of one's own; got {task!r:.60}.",
            code="wrong_type",
            parameter="task",
        )
    known = None
    if pairs.kind != "wordsim" and hasattr(target, "encode") and hasattr(target, "named_modules"):
        target = target.encode  # of a SentenceTransformer, whose vectors of texts these are
    if is_loaded(target):
        from limbeck.encoders import load_encoder  # torch loads with it

        target = load_encoder(target, layers="-1", units="pieces")
    if not isinstance(target, Mapping | tuple | list):
        from limbeck.evaluation.targets import as_target  # torch loads with it

        known = as_target(target, name=name, settings=settings)
    if known is not None:
        from limbeck.evaluation.sweeping import sweep

        if len(known.layers) > 1:
            raise UsageError(
                f"One score is of one layer, {known.name} has {len(known.layers)}: load it with one, or use sweep.",
                code="ambiguous",
                parameter="layer",
            )
        (score,) = sweep(pairs, known, {"": repair}, settings)
        return score
    if repair is not None:
        raise UsageError(
            f"A repair is for the vectors of an encoder or a table, got {type(target).__name__}: repair it beforehand.",
            code="unsupported",
            parameter="repair",
        )
    if pairs.kind == "wordsim":
        found = word_similarities(pairs.first, pairs.second, target, oov=settings.oov or "drop")
    else:
        found = sentence_similarities(pairs.first, pairs.second, target, missing=settings.missing)
    return score_of(pairs, found, name=name, settings=settings)


def is_loaded(target: Any) -> bool:
    """Whether this is a model of transformers, with or without its tokenizer."""
    first = target[0] if isinstance(target, tuple) and len(target) == 2 else target
    return hasattr(first, "named_modules") and hasattr(first, "config")


def compare(
    a: Score,
    b: Score,
    *,
    metric: Metric | None = None,
    aggregation: Aggregation | None = None,
    test: Test = "bootstrap",
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """How much higher a's correlation is than b's, on the pairs of the task that both were scored on.

    metric and aggregation are a's unless said. With subsets brought together by a mean, pairs are resampled, or
    exchanged, within each.
    """
    if a.task != b.task or a.total != b.total:
        raise UsageError(
            f"Two scores are compared on one task, got {a.task} ({a.total} pairs) and {b.task} ({b.total}): "
            "evaluate both on the same.",
            code="not_comparable",
        )
    choose(test, ("bootstrap", "permutation"), what="test")
    metric, aggregation = metric or a.metric, aggregation or a.aggregation
    rows, in_a, in_b = np.intersect1d(a.rows, b.rows, assume_unique=True, return_indices=True)
    if not np.array_equal(a.gold[in_a], b.gold[in_b]):
        raise UsageError(
            f"Two scores are compared on one task, got two {a.task} whose gold scores differ.", code="not_comparable"
        )
    x, y, gold, subset_of = a.similarity[in_a], b.similarity[in_b], a.gold[in_a], a.subset_of[in_a]

    def observed(rows: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.array([correlation(side[rows], gold[rows], metric=metric) for side in (x, y)])

    def drawn(rows: NDArray[np.int64], subset: str) -> NDArray[np.float64]:
        if test == "bootstrap":
            sides = [x[rows], y[rows]]
            return significance.bootstrap_draws(sides, gold[rows], metric=metric, draws=draws, seed=seed, name=subset)
        sides = [x[rows], y[rows], gold[rows]]
        return significance.permutation_draws(*sides, metric=metric, draws=draws, seed=seed, name=subset)

    # of every subset, those too of which no pair is left: a mean without them would be another task's
    parts = {name: np.flatnonzero(subset_of == name) for name in a.subsets}
    if aggregation == "pooled" or not parts:
        everything = np.arange(len(rows))
        values, replicates = observed(everything), drawn(everything, "")
    else:
        sizes = {name: len(part) for name, part in parts.items()}
        values = combine(None, {n: observed(part) for n, part in parts.items()}, sizes, aggregation=aggregation)
        replicates = combine(None, {n: drawn(part, n) for n, part in parts.items()}, sizes, aggregation=aggregation)
    difference, differences = float(values[0] - values[1]), replicates[0] - replicates[1]
    if test == "bootstrap":
        return significance.from_bootstrap(difference, differences, n=len(rows))
    return significance.from_permutation(difference, differences, n=len(rows))


def compare_all(
    scores: Mapping[str, Mapping[str, Score]], *, test: Test = "bootstrap", draws: int = DRAWS, seed: int = 0
) -> list[dict[str, Any]]:
    """Every two targets on every task that both have, {target: {task: score}}, as rows of a table.

    `p_holm` is p adjusted by Holm's method for the number of all rows; for many, more are drawn, see `draws_for`.
    """
    both = [
        (task, one, other) for one, other in combinations(scores, 2) for task in scores[one] if task in scores[other]
    ]
    draws = significance.draws_for(len(both), draws)
    rows: list[dict[str, Any]] = []
    for task, one, other in both:
        made = compare(scores[one][task], scores[other][task], test=test, draws=draws, seed=seed)
        rows.append({"task": task, "target": one, "other": other, **asdict(made), "draws": draws})
    for row, adjusted in zip(rows, significance.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows
