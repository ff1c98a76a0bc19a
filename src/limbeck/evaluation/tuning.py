"""How many clusters and how many components: every setting's score on a development set, from one pass.

Principal components are nested: the first three of twelve are those that a fit with three would have found. So one
fit a number of clusters and seed, with the most components, serves all numbers of components.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoded import add_rows
from limbeck.errors import InputError, UsageError
from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.rows import TextRows, fitted_on
from limbeck.evaluation.settings import DEFAULTS, Aggregation, Metric, ScoreSettings, TuningSettings
from limbeck.evaluation.sts import combine, sentence_similarities
from limbeck.evaluation.sweeping import different_texts
from limbeck.evaluation.targets import Target
from limbeck.evaluation.task import Pairs, Task
from limbeck.measures.kmeans import nearest
from limbeck.repairs import AllButTheTop, ClusterRemoval
from limbeck.repairs.clusters import ROUNDING
from limbeck.shown import Tabular
from limbeck.sketch import Curves

CLUSTERS = (5, 10, 15, 20, 25, 27, 30)  #: the range of Rajaee & Pilehvar (2021), and their own choice
COMPONENTS = tuple(range(5, 31))
GLOBAL = 1  #: clusters of the global method: with one, it is all-but-the-top


@dataclass(frozen=True)
class Tuning(Tabular):
    """Scores of every setting on one task.

    clusters    numbers of clusters, `GLOBAL` among them where it was asked for
    components  numbers of components
    scores      (clusters, components, seeds); NaN where undefined
    baseline    score of the vectors as they are
    """

    task: str
    target: str
    layer: str
    metric: Metric
    aggregation: Aggregation
    clusters: tuple[int, ...]
    components: tuple[int, ...]
    seeds: tuple[int, ...]
    scores: NDArray[np.float64]
    baseline: float

    def title(self) -> str:
        return f"{self.target}, layer {self.layer}: tuned on {self.task}"

    def columns(self) -> dict[str, list[Any]]:
        """The rows of tuning.csv."""
        return self.table()

    def curves(self) -> Curves:
        """The mean over seeds by number of components, a line a number of clusters."""
        lines = {f"{k} clusters" if k != GLOBAL else "global": self.means[row] for row, k in enumerate(self.clusters)}
        return Curves([str(number) for number in self.components], lines, across="components", up=self.metric)

    @property
    def means(self) -> NDArray[np.float64]:
        """Mean over seeds, (clusters, components)."""
        return np.asarray(self.scores.mean(axis=2))

    def best(self, *, clustered: bool) -> tuple[int, int]:
        """Clusters and components of the highest mean, among the clustered settings or among the global ones.

        Of equal ones the fewest clusters, then components.
        """
        rows = [row for row, k in enumerate(self.clusters) if (k != GLOBAL) == clustered]
        means = self.means[rows]
        if not np.isfinite(means).any():
            raise UsageError(
                f"No {'clustered' if clustered else 'global'} setting of {self.target} has a score.", code="empty"
            )
        row, column = np.unravel_index(int(np.nanargmax(means)), means.shape)
        return self.clusters[rows[int(row)]], self.components[int(column)]

    def best_repairs(self, *, seed: int = 0) -> dict[str, Any]:
        """The best global and the best clustered setting by name, as repairs that are not fitted."""
        found: dict[str, Any] = {}
        if GLOBAL in self.clusters:
            _, components = self.best(clustered=False)
            found[f"global {components}"] = AllButTheTop(components)
        if set(self.clusters) - {GLOBAL}:
            clusters, components = self.best(clustered=True)
            found[f"cluster {clusters}/{components}"] = ClusterRemoval(clusters, components, random_state=seed)
        return found

    def table(self) -> dict[str, list[Any]]:
        """Columns of a table with a row for each setting: mean, spread and extremes over seeds."""
        rows = [
            {
                "target": self.target,
                "layer": self.layer,
                "task": self.task,
                "method": "global" if clusters == GLOBAL else "cluster",
                "clusters": clusters,
                "components": components,
                "metric": self.metric,
                "aggregation": self.aggregation,
                "value": float(values.mean()),
                "sd": float(values.std(ddof=1)) if len(values) > 1 else float("nan"),
                "lowest": float(values.min()),
                "highest": float(values.max()),
                "seeds": len(values),
                "baseline": self.baseline,
            }
            for clusters, row in zip(self.clusters, self.scores, strict=True)
            for components, seeds in zip(self.components, row, strict=True)
            for values in [seeds[:1] if clusters == GLOBAL else seeds]  # chance has no part in the global method
        ]
        return {name: [row[name] for row in rows] for name in rows[0]}


def tune(
    task: Task | Pairs,
    target: Target,
    settings: TuningSettings | None = None,
    *,
    scores: ScoreSettings = DEFAULTS,
    layer: str | None = None,
    rows: TextRows | None = None,
) -> Tuning:
    """The score of `AllButTheTop`, and of `ClusterRemoval` for each number of clusters, by number of components.

    settings  `clusters` and `components` that are tried, `seeds` of the first centers, whose scores are all kept
    scores    `metric` and `aggregation`
    layer     of the target; its last unless said
    rows      the target's rows of the task's different texts, where they are there already

    Fitted as `sweep` does it: each text counts as often as it occurs in the pairs.
    """
    pairs = task.read() if isinstance(task, Task) else task
    if pairs.kind != "sts":
        raise UsageError(
            f"Tuning is on a task of texts, got {pairs.name}, a task of words: give one like sts-b-dev.",
            code="unsupported",
        )
    settings = settings or TuningSettings()
    metric, aggregation = scores.metric or pairs.metric, scores.aggregation
    components, seeds = _rising(settings.components or COMPONENTS), range(settings.seeds)
    layer = target.layers[-1] if layer is None else layer
    texts, times = different_texts(pairs)
    rows = target.rows(texts) if rows is None else rows
    x = rows.of_layer(layer)
    if not len(x):
        raise InputError(
            f"{pairs.name}: tuning needs texts with vectors, {target.name} has none for any of them.", code="no_vectors"
        )
    weights = times[rows.texts].astype(np.float64)
    score = _Scorer(pairs, texts, metric, aggregation)

    clusters = _rising((GLOBAL, *(settings.clusters or CLUSTERS)))
    found = np.full((len(clusters), len(components), len(seeds)), np.nan)
    for row, k in enumerate(clusters):
        for column, seed in enumerate(seeds):
            if k == GLOBAL and column:
                found[row, :, column] = found[row, :, 0]  # one cluster is the same whatever the seed
                continue
            fitted = fitted_on(ClusterRemoval(k, components[-1], random_state=seed), x, weights)
            for at, means in enumerate(nested_means(fitted, rows, x, components)):
                found[row, at, column] = score(means)
    return Tuning(
        task=pairs.name,
        target=target.name,
        layer=layer,
        metric=metric,
        aggregation=aggregation,
        clusters=clusters,
        components=components,
        seeds=tuple(seeds),
        scores=found,
        baseline=score(rows.means(x).numpy()),
    )


def nested_means(
    fitted: ClusterRemoval, rows: TextRows, x: torch.Tensor, components: Sequence[int]
) -> Iterator[NDArray[np.float64]]:
    """Means (texts, d) of rows x (n, d) without the first c components of their clusters, for each c, which rise.

    The same as separate fits with so many components, whose directions are the first of these. Σ over a text's rows of
    u(u·x) is u times the sum of u·x over the text's rows in u's cluster, so that a row is touched once, not once a c.
    """
    k = len(fitted.means_)
    labels = nearest(x, torch.from_numpy(fitted.centers_))
    directions = torch.from_numpy(fitted.components_)  # (clusters, most, d)
    centered = x - torch.from_numpy(fitted.means_).to(x.dtype)[labels]
    along = x.new_empty(len(x), directions.shape[1])
    for cluster in range(k):
        here = (labels == cluster).nonzero().squeeze(1)
        along[here] = centered.index_select(0, here) @ directions[cluster].T.to(x.dtype)
    cells = rows.texts * k + labels.numpy()
    zeros = torch.zeros(1, rows.count * k, directions.shape[1], dtype=torch.float64)
    sums = add_rows(zeros, cells, along.to(torch.float64).unsqueeze(0))[0].reshape(rows.count, k, -1)
    sizes = torch.from_numpy(np.bincount(rows.texts, minlength=rows.count)).clamp_(min=1).unsqueeze(1)
    left = rows.means(centered)
    # as in the repair itself: what is as short as the rounding of what it was made of is nothing
    least = ROUNDING * torch.finfo(x.dtype).eps * rows.means(torch.linalg.vector_norm(x, dim=1, keepdim=True))
    gone = 0
    for count in components:
        for place in range(gone, min(count, directions.shape[1])):
            left = left - (sums[:, :, place] @ directions[:, place]) / sizes
        gone = max(gone, count)
        there = torch.linalg.vector_norm(left, dim=1, keepdim=True) > least
        yield torch.where(there, left, 0.0).numpy()


class _Scorer:
    """From texts' vectors to the one correlation that is tuned for, without the interval, which would cost more."""

    def __init__(self, pairs: Pairs, texts: Sequence[str], metric: Metric, aggregation: Aggregation) -> None:
        place = {text: row for row, text in enumerate(texts)}
        self.sides = [np.array([place[text] for text in side]) for side in (pairs.first, pairs.second)]
        self.pairs, self.metric, self.aggregation = pairs, metric, aggregation
        self.parts = pairs.rows_of_subsets()

    def __call__(self, means: NDArray[np.float64]) -> float:
        found = sentence_similarities(self.pairs.first, self.pairs.second, [means[side] for side in self.sides]).values
        gold = self.pairs.gold
        pooled = correlation(found, gold, metric=self.metric)
        if self.aggregation == "pooled" or not self.parts:
            return pooled
        values = {name: correlation(found[part], gold[part], metric=self.metric) for name, part in self.parts.items()}
        sizes = {name: len(part) for name, part in self.parts.items()}
        return float(combine(pooled, values, sizes, aggregation=self.aggregation))


def _rising(numbers: Sequence[int]) -> tuple[int, ...]:
    """The numbers, each once."""
    return tuple(sorted(set(numbers)))
