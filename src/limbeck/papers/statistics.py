"""Rank correlations and comparisons over words, with intervals by resampling the words."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from limbeck.papers.estimates import Estimate, Floats
from limbeck.seeds import generator_for

REPLICATES = 1000
QUANTILES = (0.025, 0.975)


def ranks(values: Floats) -> Floats:
    """Ranks from 1; equal values share their mean rank.

    >>> ranks(np.array([0.3, 0.1, 0.3, 0.2])).tolist()
    [3.5, 1.0, 3.5, 2.0]
    """
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[place], dtype=np.float64)


def correlation(x: Floats, y: Floats) -> float:
    """Pearson's; NaN where one of the two does not vary."""
    x, y = x - x.mean(), y - y.mean()
    scale = float(np.sqrt((x**2).sum() * (y**2).sum()))
    return float((x * y).sum() / scale) if scale else float("nan")


def spearman(x: Floats, y: Floats) -> float:
    """Spearman's rank correlation, in [−1, 1]; NaN where one of the two does not vary."""
    return correlation(ranks(x), ranks(y))


def partial_spearman(x: Floats, y: Floats, given: Floats) -> float:
    """Rank correlation of x and y at equal `given`: (r_xy − r_xz r_yz) / √((1 − r_xz²)(1 − r_yz²)).

    NaN where the given decides one of the two.
    """
    xy, xz, yz = spearman(x, y), spearman(x, given), spearman(y, given)
    rest = (1 - xz**2) * (1 - yz**2)
    return (xy - xz * yz) / float(np.sqrt(rest)) if rest > 0 else float("nan")


def superiority(low: Floats, high: Floats) -> float:
    """Share of pairs in which the value of the first kind is below that of the second; ties count half.

    >>> superiority(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    order = np.sort(high)
    below = len(order) - np.searchsorted(order, low, side="right")
    equal = np.searchsorted(order, low, side="right") - np.searchsorted(order, low, side="left")
    return float((below + equal / 2).mean() / len(order))


def over_words(statistic: Callable[..., float], *columns: Floats, name: str, seed: int = 0) -> Estimate:
    """A statistic of equally long columns, a row a word, with its interval by resampling the rows.

    Resamples in which the statistic is undefined are left out.
    """
    value = statistic(*columns)
    generator = generator_for(seed, "reproduce", name)
    size = len(columns[0])
    drawn = np.empty(REPLICATES)
    with np.errstate(invalid="ignore", divide="ignore"):
        for place in range(REPLICATES):
            rows = generator.integers(size, size=size)
            drawn[place] = statistic(*(column[rows] for column in columns))
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return Estimate(value)
    low, high = np.quantile(drawn, QUANTILES)
    return Estimate(value, float(max(high - value, value - low, 0.0)))
