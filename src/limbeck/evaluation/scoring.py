"""From similarities to a score: every correlation of a task with its interval."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from limbeck.evaluation import significance
from limbeck.evaluation.correlations import METRICS, correlation
from limbeck.evaluation.score import Estimate, Score
from limbeck.evaluation.settings import DEFAULTS, Aggregation, Metric, ScoreSettings
from limbeck.evaluation.similarities import Similarities
from limbeck.evaluation.sts import AGGREGATIONS, combine
from limbeck.evaluation.task import Pairs


def score_of(
    pairs: Pairs,
    found: Similarities,
    *,
    name: str = "",
    settings: ScoreSettings = DEFAULTS,
) -> Score:
    """The correlations of some similarities with a task's gold scores, each with its interval."""
    metric, aggregation = settings.metric or pairs.metric, settings.aggregation
    draws, seed = settings.draws, settings.seed
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
        word_coverage=found.words,
        dropped={**pairs.dropped, **found.dropped},
        settings=found.settings,
        notes=(*pairs.notes, *_undefined(estimates, name)),
        estimates=estimates,
        rows=kept,
        similarity=x,
        gold=gold,
        subset_of=np.array([pairs.subsets[row] for row in kept] if parts else [""] * len(kept), dtype=np.str_),
    )


def _undefined(estimates: Mapping[tuple[Metric, Aggregation, str], Estimate], target: str) -> list[str]:
    """Why a target's correlations are NaN, in the whole and in subsets."""
    notes = []
    whose = f"undefined for {target}" if target else "undefined"
    for (metric, aggregation, subset), estimate in estimates.items():
        if (metric, aggregation) == ("spearman", "pooled") and np.isnan(estimate.value):
            why = "fewer than two pairs" if estimate.n < 2 else "all cosines or all gold scores are equal"
            notes.append(f"{whose}{f' in {subset}' if subset else ''}: {why}")
    return notes
