"""A score that is a mean over items: over the questions of analogies, sub-relations, or words put into clusters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError
from limbeck.evaluation import significance
from limbeck.evaluation.score import Estimate, ScoreTable
from limbeck.evaluation.settings import DRAWS
from limbeck.evaluation.significance import Comparison

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]
#: how items (by number), of each of them those parts alone that are true, come out without the others
Again = Callable[[Rows, Sequence[Mask]], Floats]
FEWEST = 10  #: items that both have; of fewer a bootstrap tells too little for a p


@dataclass(frozen=True)
class ItemScore(ScoreTable):
    """A target's score on a task of words.

    value, low, high  mean outcome and its 95 % interval, items resampled; NaN where undefined, `notes` say why
    n, total          items it was made of, and items of the task
    coverage          share of the items for which the target itself had all vectors; of relations' pairs, their mean
    dropped           what was left out, by reason
    settings          the policies followed
    estimates         every mean: by metric, aggregation ("mean"), and part ("" for the whole)
    rows, outcomes    of the n items: their numbers in the task, and how each came out
    known             of each item of the task which of its parts have vectors, where it has any: a relation's pairs
    again             how some of them come out without the others, where that matters: words are clustered anew,
                      relations rated by some of their pairs
    """

    task: str
    target: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    total: int
    coverage: float
    dropped: Mapping[str, int]
    settings: Mapping[str, str | int]
    notes: tuple[str, ...]
    estimates: Mapping[tuple[str, str, str], Estimate] = field(repr=False)
    rows: Rows = field(repr=False)
    outcomes: Floats = field(repr=False)
    aggregation: str = "mean"
    known: Sequence[Mask] = field(default=(), repr=False)
    again: Again | None = field(default=None, repr=False)

    @property
    def parts(self) -> dict[str, Estimate]:
        """The score's metric in each part of the task."""
        found = self.estimates.items()
        return {part: estimate for (metric, _, part), estimate in found if part and metric == self.metric}


@dataclass(frozen=True)
class Outcomes:
    """How the items of a task came out: see `item_score`."""

    outcomes: Mapping[str, Floats]
    found: Floats
    dropped: Mapping[str, int]
    settings: Mapping[str, str | int]
    known: Sequence[Mask] = ()
    again: Again | None = None


def item_score(
    task: str,
    target: str,
    outcomes: Mapping[str, Floats],
    found: Floats,
    *,
    parts: Mapping[str, Rows],
    dropped: Mapping[str, int],
    settings: Mapping[str, str | int],
    notes: tuple[str, ...] = (),
    known: Sequence[Mask] = (),
    again: Again | None = None,
    draws: int = DRAWS,
    seed: int = 0,
) -> ItemScore:
    """A score out of outcomes, by metric, the one asked for first: (items,) each, NaN for an item left out.

    found  (items,) whether the target itself had all vectors of an item, or for what share of it
    parts  numbers of the items of each part; an item may be in several
    """
    everything = {"": np.arange(len(found), dtype=np.int64), **parts}
    estimates = {
        (metric, "mean", part): _estimate(values[rows], found[rows], draws=draws, seed=seed, name=part)
        for metric, values in outcomes.items()
        for part, rows in everything.items()
    }
    metric = next(iter(outcomes))
    main = estimates[metric, "mean", ""]
    kept = np.flatnonzero(~np.isnan(outcomes[metric]))
    whose = f"undefined for {target}" if target else "undefined"
    undefined = () if len(kept) else (f"{whose}: no item of the task has all its vectors",)
    return ItemScore(
        task=task,
        target=target,
        metric=metric,
        value=main.value,
        low=main.low,
        high=main.high,
        n=main.n,
        total=main.total,
        coverage=main.coverage,
        dropped={reason: count for reason, count in dropped.items() if count},
        settings=settings,
        notes=(*notes, *undefined),
        estimates=estimates,
        rows=kept,
        outcomes=outcomes[metric][kept],
        known=known,
        again=again,
    )


def compare_items(a: ItemScore, b: ItemScore, *, draws: int = DRAWS, seed: int = 0) -> Comparison:
    """How much higher a's mean is than b's, on the items that both have; items are resampled for both alike.

    Where an item's outcome depends on which others are there, both are made anew of these items alone; where items have
    parts, of those parts alone that both know. Of fewer than ten items no p is made.
    """
    if (a.task, a.total, a.metric) != (b.task, b.total, b.metric):
        raise UsageError(
            f"Two scores are compared on one task by one metric, got {a.task} ({a.total} items, {a.metric}) and "
            f"{b.task} ({b.total}, {b.metric}): evaluate both alike.",
            code="not_comparable",
        )
    rows, in_a, in_b = np.intersect1d(a.rows, b.rows, assume_unique=True, return_indices=True)
    shared = [a.known[row] & b.known[row] for row in rows.tolist()] if a.known and b.known else []
    sides = np.stack([_alone(score, at, rows, shared) for score, at in ((a, in_a), (b, in_b))])
    sides = sides[:, ~np.isnan(sides).any(axis=0)]  # an item may be undefined by the parts that both know
    n = sides.shape[1]
    observed = float(sides[0].mean() - sides[1].mean()) if n else float("nan")
    drawn = significance.mean_draws(list(sides), draws=draws, seed=seed)
    found = significance.from_bootstrap(observed, drawn[0] - drawn[1], n=n)
    return found if n >= FEWEST else replace(found, p=float("nan"))


def _alone(score: ItemScore, at: Rows, rows: Rows, shared: Sequence[Mask]) -> Floats:
    """How the items of these rows, `at` in the score, come out without others, and without parts not shared."""
    whole = all(np.array_equal(score.known[row], mask) for row, mask in zip(rows.tolist(), shared, strict=False))
    if score.again is None or (len(at) == score.n and whole):
        return score.outcomes[at]
    return score.again(rows, shared)


def _estimate(values: Floats, found: Floats, *, draws: int, seed: int, name: str) -> Estimate:
    known = values[~np.isnan(values)]
    value = float(known.mean()) if len(known) else float("nan")
    low, high = significance.percentiles(significance.mean_draws([known], draws=draws, seed=seed, name=name)[0])
    coverage = float(found.mean()) if len(found) else float("nan")
    return Estimate(value, low, high, len(known), len(values), coverage)
