"""What an evaluation returns: a correlation with its interval, how much of the task it covers, and rows for a table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.evaluation.settings import Aggregation, Metric
from limbeck.shown import Tabular
from limbeck.tables import columns_of


@dataclass(frozen=True)
class Estimate:
    """A correlation, or mean, and its 95 % interval, NaN where undefined; of n pairs, or items, of total; coverage."""

    value: float
    low: float
    high: float
    n: int
    total: int
    coverage: float


class ScoreTable(Tabular):
    """Scores as tables: a row for each of their estimates, which are by metric, aggregation and part."""

    task: str
    target: str
    metric: str
    aggregation: str
    dropped: Mapping[str, int]
    settings: Mapping[str, str | int]
    notes: tuple[str, ...]
    estimates: Mapping[Any, Estimate]
    word_coverage: float = math.nan  #: see `Score`; other kinds have none

    def title(self) -> str:
        return f"{self.target or 'vectors'} on {self.task}"

    def table_rows(self) -> list[dict[str, Any]]:
        """A row for each estimate, the one asked for first; all rows have the same keys."""
        main = (self.metric, self.aggregation, "")
        settings = " ".join(f"{name}={value}" for name, value in self.settings.items())
        ordered = sorted(self.estimates.items(), key=lambda item: item[0] != main)
        dropped = "; ".join(f"{reason}: {count}" for reason, count in self.dropped.items())
        return [
            {
                "target": self.target,
                "task": self.task,
                "subset": subset,
                "metric": metric,
                "aggregation": aggregation,
                "value": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "n": estimate.n,
                "total": estimate.total,
                "coverage": estimate.coverage,
                "word_coverage": math.nan if subset else self.word_coverage,
                "settings": settings,
                "dropped": dropped,
                "note": "; ".join(self.notes),
            }
            for (metric, aggregation, subset), estimate in ordered
        ]

    def columns(self) -> dict[str, list[Any]]:
        """The rows of scores.csv."""
        return columns_of(self.table_rows())


@dataclass(frozen=True)
class Score(ScoreTable):
    """A target's score on a task.

    value, low, high  the correlation asked for, with its 95 % interval; NaN where undefined, `notes` say why
    n, total          pairs it was made of, and pairs with a gold score
    coverage          share of those for which the target itself had both vectors: of texts, a word of each is enough
    word_coverage     share of the words of the task's different texts that a table has; NaN for other targets and tasks
    dropped           pairs left out, by reason
    settings          the policies followed
    estimates         every correlation: by metric, aggregation, and subset ("" for the whole)
    rows, similarity, gold   of the n pairs: their numbers in the task, cosines and gold scores
    """

    task: str
    target: str
    metric: Metric
    aggregation: Aggregation
    value: float
    low: float
    high: float
    n: int
    total: int
    coverage: float
    dropped: Mapping[str, int]
    settings: Mapping[str, str | int]
    notes: tuple[str, ...]
    estimates: Mapping[tuple[Metric, Aggregation, str], Estimate] = field(repr=False)
    rows: NDArray[np.int64] = field(repr=False)
    similarity: NDArray[np.float64] = field(repr=False)
    gold: NDArray[np.float64] = field(repr=False)
    subset_of: NDArray[np.str_] = field(repr=False)  # (n,) empty strings where there are no subsets
    word_coverage: float = math.nan

    @property
    def subsets(self) -> dict[str, Estimate]:
        """The score's metric in each subset."""
        found = self.estimates.items()
        return {subset: estimate for (metric, _, subset), estimate in found if subset and metric == self.metric}


def table(scores: Iterable[ScoreTable]) -> dict[str, list[Any]]:
    """Columns of all scores' rows, for `limbeck.tables`."""
    return columns_of([row for score in scores for row in score.table_rows()])
