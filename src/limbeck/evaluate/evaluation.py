"""A target on a task, and two targets on the same pairs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose
from limbeck.evaluate import significance
from limbeck.evaluate.correlation import METRICS, Metric, correlation
from limbeck.evaluate.score import Estimate, Score
from limbeck.evaluate.significance import DRAWS, Comparison, Test
from limbeck.evaluate.similarities import Similarities
from limbeck.evaluate.sts import AGGREGATIONS, Aggregation, Missing, combine, sentence_similarities
from limbeck.evaluate.task import Pairs, Task
from limbeck.evaluate.wordsim import Case, Fallback, OutOfVocabulary, word_similarities


def evaluate(
    task: Task | Pairs,
    target: Any,
    *,
    name: str = "",
    metric: Metric | None = None,
    aggregation: Aggregation = "pooled",
    oov: OutOfVocabulary = "drop",
    case: Case = "either",
    fallback: Fallback | None = None,
    missing: Missing = "zero",
    draws: int = DRAWS,
    seed: int = 0,
) -> Score:
    """The correlation of a target's cosines with what people said of a task's pairs.

    target                task of words: StaticVectors or a mapping from words to vectors, see `word_similarities` for
                          oov, case and fallback; task of texts: a function from texts to vectors, or two arrays, see
                          `sentence_similarities` for missing
    name                  of the target, for tables
    metric, aggregation   which correlation `value` is, the task's metric and pooled unless said; `.estimates` has all
    draws, seed           of the bootstrap behind the intervals
    """
    pairs = task.read() if isinstance(task, Task) else task
    metric = pairs.metric if metric is None else metric
    choose(metric, METRICS, what="metric")
    choose(aggregation, AGGREGATIONS, what="aggregation")
    if pairs.kind == "wordsim":
        found = word_similarities(pairs.first, pairs.second, target, oov=oov, case=case, fallback=fallback)
    else:
        found = sentence_similarities(pairs.first, pairs.second, target, missing=missing)
    return _score(pairs, found, name=name, metric=metric, aggregation=aggregation, draws=draws, seed=seed)


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
            "evaluate both on the same."
        )
    choose(test, ("bootstrap", "permutation"), what="test")
    metric, aggregation = metric or a.metric, aggregation or a.aggregation
    rows, in_a, in_b = np.intersect1d(a.rows, b.rows, assume_unique=True, return_indices=True)
    if not np.array_equal(a.gold[in_a], b.gold[in_b]):
        raise UsageError(f"Two scores are compared on one task, got two {a.task} whose gold scores differ.")
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

    `p_holm` is p adjusted by Holm's method for the number of all rows.
    """
    rows: list[dict[str, Any]] = []
    for (one, mine), (other, theirs) in combinations(scores.items(), 2):
        for task in mine:
            if task in theirs:
                made = compare(mine[task], theirs[task], test=test, draws=draws, seed=seed)
                rows.append({"task": task, "target": one, "other": other, **asdict(made)})
    for row, adjusted in zip(rows, significance.holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def _score(
    pairs: Pairs,
    found: Similarities,
    *,
    name: str,
    metric: Metric,
    aggregation: Aggregation,
    draws: int,
    seed: int,
) -> Score:
    kept = found.kept
    shares = {"": (len(pairs), found.coverage)}  # pairs and coverage, of the whole and of subsets
    for subset, rows in pairs.rows_of_subsets().items():
        shares[subset] = (len(rows), float(found.found[rows].mean()))
    x, gold = found.values[kept], pairs.gold[kept]
    place = np.full(len(pairs), -1, dtype=np.int64)  # of each pair among those kept
    place[kept] = np.arange(len(kept))
    parts = {subset: place[rows][place[rows] >= 0] for subset, rows in pairs.rows_of_subsets().items()}
    estimates: dict[tuple[Metric, Aggregation, str], Estimate] = {}
    for measure in METRICS:
        values = {part: correlation(x[rows], gold[rows], metric=measure) for part, rows in parts.items()}
        drawn = {
            part: significance.bootstrap_draws(
                [x[rows]], gold[rows], metric=measure, draws=draws, seed=seed, name=part
            )[0]
            for part, rows in parts.items()
        }
        sizes = {part: len(rows) for part, rows in parts.items()}
        pooled = correlation(x, gold, metric=measure)
        pooled_draws = significance.bootstrap_draws([x], gold, metric=measure, draws=draws, seed=seed)[0]
        for way in AGGREGATIONS if parts else AGGREGATIONS[:1]:
            value = float(combine(pooled, values, sizes, aggregation=way))
            low, high = significance.percentiles(combine(pooled_draws, drawn, sizes, aggregation=way))
            estimates[measure, way, ""] = Estimate(value, low, high, len(x), *shares[""])
        for part in parts:
            low, high = significance.percentiles(drawn[part])
            estimates[measure, "pooled", part] = Estimate(values[part], low, high, sizes[part], *shares[part])
    main = estimates.get((metric, aggregation, "")) or estimates[metric, "pooled", ""]
    return Score(
        task=pairs.name,
        target=name,
        metric=metric,
        aggregation=aggregation if parts else "pooled",
        value=main.value,
        low=main.low,
        high=main.high,
        n=len(x),
        total=len(pairs),
        coverage=found.coverage,
        dropped={**pairs.dropped, **found.dropped},
        settings=found.settings,
        notes=(*pairs.notes, *_undefined(estimates)),
        estimates=estimates,
        rows=kept,
        similarity=x,
        gold=gold,
        subset_of=np.array([pairs.subsets[row] for row in kept] if parts else [""] * len(kept), dtype=np.str_),
    )


def _undefined(estimates: Mapping[tuple[Metric, Aggregation, str], Estimate]) -> list[str]:
    """Why correlations are NaN, in the whole and in subsets."""
    notes = []
    for (metric, aggregation, subset), estimate in estimates.items():
        if (metric, aggregation) == ("spearman", "pooled") and np.isnan(estimate.value):
            why = "fewer than two pairs" if estimate.n < 2 else "all cosines or all gold scores are equal"
            notes.append(f"undefined{f' in {subset}' if subset else ''}: {why}")
    return notes
