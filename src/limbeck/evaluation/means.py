"""Means over tasks: of five sets with an interval, compared between targets; and of all tasks of a kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError
from limbeck.evaluation import significance
from limbeck.evaluation.catalogue import load_table
from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.score import Estimate, Score, ScoreTable
from limbeck.evaluation.settings import DRAWS
from limbeck.evaluation.significance import Comparison
from limbeck.evaluation.word_task import load_word_table

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scored, Suite

    Columns = Sequence[tuple[Suite, Sequence[Scored]]]

#: the sets over which Gupta & Jaggi (2021) average, and others after them
FIVE = ("rg-65", "ws-353", "simlex-999", "simverb-3500", "rw")
FIVE_NAME = "mean of five"
FEWEST = 20  #: pairs or items that a set must have scored to be part of a mean; fewer are no ground for it
Floats = NDArray[np.float64]
Key = tuple[str, str, str]  # kind, metric, target


@dataclass(frozen=True)
class MeanScore(ScoreTable):
    """The plain mean of a target's scores on several sets, pairs resampled within each set for its interval."""

    task: str
    target: str
    metric: str
    value: float
    low: float
    high: float
    n: int
    total: int
    coverage: float
    scores: tuple[Score, ...] = field(repr=False)
    aggregation: str = "mean"
    dropped: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str | int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def estimates(self) -> Mapping[Any, Estimate]:  # type: ignore[override]  # made of the other fields
        own = Estimate(self.value, self.low, self.high, self.n, self.total, self.coverage)
        return {(self.metric, self.aggregation, ""): own}


def mean_score(scores: Iterable[Score], *, name: str = FIVE_NAME, draws: int = DRAWS, seed: int = 0) -> MeanScore:
    """The mean over the sets of one target's scores; sets of one metric."""
    scores = tuple(scores)
    if not scores or len({(score.target, score.metric) for score in scores}) != 1:
        raise UsageError(
            "A mean is over scores of one target by one metric, got others: give one score a set.",
            code="not_comparable",
        )
    drawn = _mean([_drawn([score], score.rows, draws=draws, seed=seed) for score in scores])[0]
    low, high = significance.percentiles(drawn)
    total = sum(score.total for score in scores)
    return MeanScore(
        task=name,
        target=scores[0].target,
        metric=scores[0].metric,
        value=float(np.mean([_of(score, score.rows) for score in scores])),
        low=low,
        high=high,
        n=sum(score.n for score in scores),
        total=total,
        coverage=sum(score.coverage * score.total for score in scores) / total if total else float("nan"),
        scores=scores,
        notes=(f"over {', '.join(score.task for score in scores)}",),
    )


def compare_means(
    a: MeanScore | Mapping[str, Score] | Iterable[Score],
    b: MeanScore | Mapping[str, Score] | Iterable[Score],
    *,
    draws: int = DRAWS,
    seed: int = 0,
) -> Comparison:
    """How much higher a's mean over several sets is than b's: paired bootstrap, pairs resampled within each set.

    a, b  scores of two targets on the same sets, in any order; each set is compared on the pairs that both have. Where
          these are fewer than 20 in one of them, the difference is NaN
    """
    ours, theirs = _by_task(a), _by_task(b)
    if set(ours) != set(theirs) or not ours:
        raise UsageError(
            f"Two means are compared over the same sets, got {', '.join(ours) or 'none'} and "
            f"{', '.join(theirs) or 'none'}: evaluate both on the same.",
            code="not_comparable",
        )
    observed: list[float] = []
    drawn: list[Floats] = []
    n, few = 0, False
    for task, one in ours.items():
        other = theirs[task]
        rows = np.intersect1d(one.rows, other.rows, assume_unique=True)
        gold, same = (score.gold[np.searchsorted(score.rows, rows)] for score in (one, other))
        if one.total != other.total or one.metric != other.metric or not np.array_equal(gold, same):
            raise UsageError(
                f"Two scores are compared on one task by one metric, got two {task} that differ.", code="not_comparable"
            )
        observed.append(_of(one, rows) - _of(other, rows))
        drawn.append(_drawn([one, other], rows, draws=draws, seed=seed))
        n += len(rows)
        few = few or len(rows) < FEWEST
    if few:  # a set that both have too little of decides nothing
        nan = float("nan")
        return Comparison(nan, nan, nan, nan, n, "bootstrap")
    means = _mean(drawn)
    return significance.from_bootstrap(float(np.mean(observed)), means[0] - means[1], n=n)


def means_of_five(scores: Sequence[Score], *, draws: int = DRAWS, seed: int = 0) -> list[MeanScore]:
    """For each target that has all of the five sets, and alone by one metric, its mean over them.

    Where a set has too few pairs scored, the mean is undefined: one over four sets would be another.
    """
    by_target: dict[str, dict[str, Score]] = {}
    for score in scores:
        if score.task in FIVE:
            by_target.setdefault(score.target, {})[score.task] = score
    return [
        _checked(mean_score([own[task] for task in FIVE], draws=draws, seed=seed))
        for own in by_target.values()
        if len(own) == len(FIVE)
    ]


def _checked(mean: MeanScore) -> MeanScore:
    few = [f"{score.task} {score.n}" for score in mean.scores if score.n < FEWEST]
    if not few:
        return mean
    nan = float("nan")
    note = f"undefined for {mean.target}: fewer than {FEWEST} pairs are scored ({', '.join(few)})"
    return replace(mean, value=nan, low=nan, high=nan, notes=(*mean.notes, note))


def _by_task(scores: MeanScore | Mapping[str, Score] | Iterable[Score]) -> dict[str, Score]:
    if isinstance(scores, MeanScore):
        scores = scores.scores
    found = list(scores.values() if isinstance(scores, Mapping) else scores)
    return {score.task: score for score in found}


def _of(score: Score, rows: NDArray[np.int64]) -> float:
    at = np.searchsorted(score.rows, rows)
    return correlation(score.similarity[at], score.gold[at], metric=score.metric)


def _drawn(scores: Sequence[Score], rows: NDArray[np.int64], *, draws: int, seed: int) -> Floats:
    """(scores, draws) correlations on the same resampled pairs; every set has draws of its own."""
    sides = [score.similarity[np.searchsorted(score.rows, rows)] for score in scores]
    gold = scores[0].gold[np.searchsorted(scores[0].rows, rows)]
    first = scores[0]
    return significance.bootstrap_draws(sides, gold, metric=first.metric, draws=draws, seed=seed, name=first.task)


def _mean(drawn: Sequence[Floats]) -> Floats:
    return np.asarray(np.mean(np.stack(drawn), axis=0))


# over all tasks of a kind


def averages(scores: Columns) -> dict[Key, tuple[float, int]]:
    """The mean over a kind's tasks of one metric, where there are several: {(kind, metric, target): (mean, tasks)}."""
    left_out = {task for task, _ in out_of_means(scores)}
    values: dict[Key, list[float]] = {}
    for suite, columns in scores:
        for score in columns:
            if score.task not in left_out:
                values.setdefault((suite.group, score.metric, score.target), []).append(score.value)
    return {key: (sum(found) / len(found), len(found)) for key, found in values.items() if len(found) > 1}


def out_of_means(scores: Columns) -> list[tuple[str, str]]:
    """Tasks that no mean over several is made of, and why: (task, reason).

    Those of which a target has too little, for all targets, so that their means are over the same tasks; and those
    whose pairs another task has that is there too, which would count twice.
    """
    several = {score.task for _, columns in scores for score in columns}
    wholes = {name: layouts[0].part_of for name, layouts in load_table().items()}
    wholes |= {name: layouts[0].part_of for name, layouts in load_word_table().items()}
    found = []
    for suite, columns in scores:
        alone = {score.task for other, others in scores if other.group == suite.group for score in others}
        if not columns or len(alone) < 2:
            continue
        task = columns[0].task
        few = [f"{score.target} {score.n}" for score in columns if score.n < FEWEST]
        if few:
            found.append((task, f"fewer than {FEWEST} of its items are scored ({', '.join(few)})"))
        elif wholes.get(task) in several:
            found.append((task, f"its pairs are those of {wholes[task]}, which counts once"))
    return found
