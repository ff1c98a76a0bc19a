"""Cosines of pairs, and the two correlations with what people said: Pearson's and Spearman's."""

from __future__ import annotations

from typing import get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, choose
from limbeck.evaluation.settings import Metric

Floats = NDArray[np.float64]
METRICS: tuple[Metric, ...] = get_args(Metric)
EQUAL = 1e-24  #: a centred sum of squares below this part of the raw one is rounding noise: the values are all equal
#: scores of unit vectors that are nearer than this are one score. Sums over a thousand dimensions in float64 err by
#: less than 1e-12, and what vectors of float32 can tell apart differs by about 1e-7
SAME = 1e-9


def cosines(first: NDArray[np.floating], second: NDArray[np.floating]) -> Floats:
    """Cosine of row i of `first` with row i of `second`, both (n, d); NaN where either is a zero vector.

    >>> cosines(np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[3.0, 4.0], [1.0, 0.0]]))
    array([0.6, nan])
    """
    values = np.empty(len(first))
    for start in range(0, len(first), 4096):  # float64 copies of a block, not of the whole
        a, b = (np.asarray(x[start : start + 4096], dtype=np.float64) for x in (first, second))
        largest = [np.abs(x).max(axis=1, initial=0.0, keepdims=True) for x in (a, b)]  # so that squares do not overflow
        with np.errstate(divide="ignore", invalid="ignore"):
            a, b = a / largest[0], b / largest[1]
            values[start : start + 4096] = (a * b).sum(axis=1) / np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    return values


def ranks(x: Floats) -> Floats:
    """Ranks from 1, equal values sharing the mean of theirs.

    >>> ranks(np.array([3.0, 1.0, 3.0]))
    array([2.5, 1. , 2.5])
    """
    _, level, count = np.unique(x, return_inverse=True, return_counts=True)
    ends = np.cumsum(count)
    middle: Floats = ends - (count - 1) / 2
    return middle[level]


def level(x: Floats, *, within: float = SAME) -> Floats:
    """Numbers of which those that differ by rounding alone are made equal, so that ranks see a tie.

    In rising order a number that is no further than `within` above the one before it becomes that one. This does not
    cut the line into cells of fixed width, whose edges could part two equal numbers. It is meant for scores that are
    sparse beside `within`: of numbers that are all nearer than that to the next, all become the least. NaN stays NaN.

    >>> level(np.array([0.5, 0.1 + 0.2, 0.3])).tolist()
    [0.5, 0.3, 0.3]
    """
    order = np.argsort(x, kind="stable")
    rising = x[order]
    begins = np.concatenate([[True], ~(np.diff(rising) <= within)])[: len(x)]
    made = np.empty_like(rising)
    made[order] = rising[begins][np.cumsum(begins) - 1]
    return made


def correlation(x: Floats, y: Floats, *, metric: Metric = "spearman") -> float:
    """Correlation of x and y, both (n,), in [−1, 1]. NaN for fewer than two pairs or where either is constant.

    pearson   Σ(x − x̄)(y − ȳ) / √(Σ(x − x̄)² Σ(y − ȳ)²)
    spearman  the same of the ranks, equal values sharing the mean of theirs

    >>> x = np.array([0.0, 1.0, 2.0, 3.0])
    >>> correlation(x, x**3), round(correlation(x, x**3, metric="pearson"), 3)
    (1.0, 0.908)
    """
    x, y = checked(x, y, metric=metric)
    if len(x) < 2 or is_constant(x) or is_constant(y):
        return float("nan")
    if metric == "spearman":
        x, y = ranks(x), ranks(y)
    x, y = x - x.mean(), y - y.mean()
    r = float(x @ y / np.sqrt((x @ x) * (y @ y)))
    return min(1.0, max(-1.0, r))


def checked(x: Floats, y: Floats, *, metric: str) -> tuple[Floats, Floats]:
    """Both as float64, if they are equally many finite numbers and the metric is one of the two."""
    choose(metric, METRICS, what="metric")
    x, y = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise InputError(
            f"A correlation needs two equally long rows of numbers, got shapes {x.shape} and {y.shape}.",
            code="wrong_shape",
        )
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise InputError(
            "A correlation needs finite numbers, got NaN or infinity: leave such pairs out first.", code="not_finite"
        )
    return x, y


def is_constant(x: Floats) -> bool:
    """Whether all values are equal but for rounding."""
    centered = x - x.mean()
    return bool(centered @ centered <= EQUAL * (x @ x))
