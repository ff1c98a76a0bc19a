"""Accuracy, macro-F1 and Matthews' correlation from tables of true and predicted classes, and all under resampling."""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import choose
from limbeck.seeds import generator_for

Metric = Literal["accuracy", "macro-f1", "matthews"]
METRICS: tuple[Metric, ...] = get_args(Metric)
Floats = NDArray[np.float64]
BLOCK = 4_000_000  #: counts made at once


def score(predicted: NDArray[np.integer], gold: NDArray[np.integer], *, metric: Metric) -> Floats:
    """The metric (…) of predicted classes (…, n) for examples of true classes (n,)."""
    choose(metric, METRICS, what="metric")
    classes = int(max(predicted.max(), gold.max())) + 1
    cells = _cells(predicted.reshape(-1, len(gold)), gold, classes)
    table = np.stack([np.bincount(row, minlength=classes**2) for row in cells]).astype(np.float64)
    return of_tables(table.reshape(*predicted.shape[:-1], classes, classes), metric=metric)


def of_tables(table: Floats, *, metric: Metric) -> Floats:
    """The metric (…) of tables (…, true class, predicted class) of counts.

    accuracy   Σ_k t_kk / n
    macro-f1   mean over classes of 2·t_kk / (true_k + pred_k), the harmonic mean of precision and recall; of the
               classes that occur, as true or as predicted ones, as in scikit-learn
    matthews   (n·Σ_k t_kk − Σ_k true_k·pred_k) / √((n² − Σ pred_k²)(n² − Σ true_k²)): Gorodkin's (2004) for any number
               of classes, Matthews' (1975) for two; 0 where all predictions, or all examples, are of one class, as in
               scikit-learn and GLUE

    >>> of_tables(np.array([[3.0, 1.0], [2.0, 4.0]]), metric="accuracy")
    array(0.7)
    """
    n = table.sum((-2, -1))
    right = np.trace(table, axis1=-2, axis2=-1)
    if metric == "accuracy":
        return np.asarray(right / n)
    true, predicted = table.sum(-1), table.sum(-2)
    if metric == "macro-f1":
        there = true + predicted
        each = 2 * np.diagonal(table, axis1=-2, axis2=-1) / np.where(there > 0, there, 1.0)
        return np.asarray(each.sum(-1) / (there > 0).sum(-1))
    spread = (n**2 - (predicted**2).sum(-1)) * (n**2 - (true**2).sum(-1))
    above = n * right - (true * predicted).sum(-1)
    return np.asarray(np.where(spread > 0, above / np.sqrt(np.where(spread > 0, spread, 1.0)), 0.0))


def resampled(
    predicted: NDArray[np.integer], gold: NDArray[np.integer], *, metric: Metric, draws: int, seed: int
) -> Floats:
    """Mean score over runs (…, draws), of predictions (…, runs, n), examples and runs both drawn with replacement.

    A training run has its own chance, so an interval for the mean of a few runs has to count it beside the examples'.
    What is drawn depends on seed, the number of examples and that of runs alone: settings are compared draw by draw.
    """
    *shape, runs, n = predicted.shape
    classes = int(max(predicted.max(), gold.max())) + 1
    cells = _cells(predicted.reshape(-1, n), gold, classes)  # (settings · runs, n)
    of_examples = generator_for(seed, "classify", "bootstrap", "examples")
    of_runs = generator_for(seed, "classify", "bootstrap", "runs")
    found = np.empty((len(cells), draws))
    step = max(1, BLOCK // n)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        drawn = of_examples.integers(n, size=(size, n))
        drawn += n * np.arange(size)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n * size).reshape(size, n).astype(np.float64)
        for row, cell in enumerate(cells):
            table = counts @ np.eye(classes**2)[cell]  # (size, classes²)
            found[row, start : start + size] = of_tables(table.reshape(size, classes, classes), metric=metric)
    chosen = of_runs.integers(runs, size=(draws, runs))
    weights = np.stack([(chosen == run).mean(1) for run in range(runs)])  # (runs, draws)
    return np.asarray((found.reshape(*shape, runs, draws) * weights).sum(-2))


def _cells(predicted: NDArray[np.integer], gold: NDArray[np.integer], classes: int) -> NDArray[np.int64]:
    """Number of the table's cell that each prediction falls into."""
    return gold.astype(np.int64) * classes + predicted.astype(np.int64)
