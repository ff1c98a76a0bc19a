"""Intervals of a correlation, and whether one target's correlation is higher than another's on the same pairs.

Arrays in, numbers out: nothing here knows what the pairs are. Pairs are resampled as counts, n counts a draw that sum
to n. Ranks within a draw then are running sums of the counts in an order that is sorted once, so that a draw costs
O(n) and no sorting, and is exactly what ranking the resampled values anew would give.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose
from limbeck.evaluation.correlations import METRICS, Floats, checked, correlation, ranks
from limbeck.evaluation.settings import DRAWS, Metric
from limbeck.seeds import generator_for

DRAWS_A_TEST = 50  #: of several tests, see `draws_for`
MOST_DRAWS = 10_000  #: that `draws_for` asks for
ALPHA = 0.05
LEVEL = 0.95
TINY = 1e-12  #: a variance below this part of the mean square is rounding noise
BLOCK = 400_000  #: counts made at once: a few megabytes, which stay in the cache
Test = Literal["bootstrap", "permutation"]


@dataclass(frozen=True)
class Comparison:
    """How much higher the first target's correlation is than the second's, on the same pairs.

    low, high  95 % interval of the difference (bootstrap; NaN for a permutation test, which has none)
    p          two-sided; NaN where the difference is undefined
    """

    difference: float
    p: float
    low: float
    high: float
    n: int
    test: Test


def bootstrap_interval(
    x: Floats, y: Floats, *, metric: Metric = "spearman", draws: int = DRAWS, level: float = LEVEL, seed: int = 0
) -> tuple[float, float]:
    """Percentile interval of the correlation of x and y, pairs resampled. NaN for fewer than four pairs."""
    return percentiles(bootstrap_draws([x], y, metric=metric, draws=draws, seed=seed)[0], level=level)


def fisher_interval(r: float, n: int, *, metric: Metric = "spearman", level: float = LEVEL) -> tuple[float, float]:
    """Interval tanh(artanh r ± z·s) of a correlation of n pairs. NaN for fewer than four pairs.

    s² = 1/(n − 3) for Pearson's (Fisher 1921), (1 + r²/2)/(n − 3) for Spearman's (Bonett & Wright 2000).
    """
    choose(metric, METRICS, what="metric")
    if n < 4 or not np.isfinite(r):
        return float("nan"), float("nan")
    if abs(r) >= 1:
        return float(r), float(r)
    spread = np.sqrt((1 + r * r / 2 if metric == "spearman" else 1.0) / (n - 3))
    half = NormalDist().inv_cdf((1 + _level(level)) / 2) * spread
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half))


def paired_bootstrap(
    a: Floats,
    b: Floats,
    gold: Floats,
    *,
    metric: Metric = "spearman",
    draws: int = DRAWS,
    level: float = LEVEL,
    seed: int = 0,
) -> Comparison:
    """The correlation of a with gold less that of b, pairs resampled for both alike.

    p is twice the smaller share of draws in which the difference is at most, or at least, zero.
    """
    observed = correlation(a, gold, metric=metric) - correlation(b, gold, metric=metric)
    drawn = bootstrap_draws([a, b], gold, metric=metric, draws=draws, seed=seed)
    return from_bootstrap(observed, drawn[0] - drawn[1], n=len(gold), level=level)


def paired_permutation(
    a: Floats, b: Floats, gold: Floats, *, metric: Metric = "spearman", draws: int = DRAWS, seed: int = 0
) -> Comparison:
    """The same difference against what it is when, pair by pair, a coin decides which target's value is whose.

    Cosines of two targets have no common scale, so what is exchanged are their ranks (Spearman) or their values
    standardised (Pearson).
    """
    observed = correlation(a, gold, metric=metric) - correlation(b, gold, metric=metric)
    drawn = permutation_draws(a, b, gold, metric=metric, draws=draws, seed=seed)
    return from_permutation(observed, drawn[0] - drawn[1], n=len(gold))


def holm(p: Sequence[float]) -> list[float]:
    """p-values of several tests, adjusted so that an error among all of them stays as rare (Holm 1979).

    The k-th smallest of m becomes max over j ≤ k of (m − j + 1)·p_j, at most 1. NaN stays NaN and is not counted.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    known = np.flatnonzero(~np.isnan(values))
    order = known[np.argsort(values[known], kind="stable")]
    adjusted = values.copy()
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(len(order), 0, -1)))
    return [float(value) for value in adjusted]


def smallest_p(draws: int) -> float:
    """What `paired_bootstrap` gives at the least, where no draw lies on the other side of zero."""
    return 2 / (draws + 1)


def draws_for(tests: int, draws: int = DRAWS) -> int:
    """Draws for each of several tests that Holm's method adjusts together: at least `draws`, and 50 for each test.

    The smallest p of m tests is multiplied by m. With 1,000 draws none of 42 could come below 42 · 2/1,001 = 0.08,
    however large its difference. With 50 m draws the least is 0.04. Beyond 200 tests it stays at 10,000 draws, which
    let a p below 0.05 be found among up to 250.

    >>> draws_for(3), draws_for(42), draws_for(1000), draws_for(1000, 50_000)
    (1000, 2100, 10000, 50000)
    """
    return max(draws, min(DRAWS_A_TEST * tests, MOST_DRAWS))


# --- what the tests above are made of -----------------------------------------------------------


def bootstrap_draws(
    xs: Sequence[Floats], y: Floats, *, metric: Metric, draws: int = DRAWS, seed: int = 0, name: str = ""
) -> Floats:
    """Correlations (len(xs), draws) of each x with y, the same pairs resampled for all.

    The pairs drawn depend on seed, name and n alone. NaN where a draw has a constant side, and everywhere for fewer
    than four pairs.
    """
    columns = [checked(x, y, metric=metric)[0] for x in xs]
    y = np.asarray(y, dtype=np.float64)
    _positive(draws)
    n = len(y)
    if n < 4:
        return np.full((len(columns), draws), np.nan)
    generator = generator_for(seed, "evaluate", "bootstrap", name)
    correlate = _SpearmanOfCounts(columns, y) if metric == "spearman" else _PearsonOfCounts(columns, y)
    found = [correlate(counts) for counts in _counts(generator, n, draws)]
    return np.concatenate(found, axis=1)


def mean_draws(xs: Sequence[Floats], *, draws: int = DRAWS, seed: int = 0, name: str = "") -> Floats:
    """Means (len(xs), draws) of each x, all (n,), the same items resampled for all. NaN for fewer than four items.

    Items that are alike in all xs need not be told apart: how many of each sort are drawn is multinomial, so that a
    draw costs as much as there are sorts, which of right and wrong answers are four.
    """
    _positive(draws)
    items = np.stack([np.asarray(x, dtype=np.float64) for x in xs], axis=1)  # (n, len(xs))
    if len(items) < 4:
        return np.full((len(xs), draws), np.nan)
    sorts, counts = np.unique(items, axis=0, return_counts=True)
    generator = generator_for(seed, "evaluate", "means", name)
    drawn = generator.multinomial(len(items), counts / len(items), size=draws)  # (draws, sorts)
    return np.asarray((drawn @ sorts / len(items)).T)


def permutation_draws(
    a: Floats, b: Floats, gold: Floats, *, metric: Metric, draws: int = DRAWS, seed: int = 0, name: str = ""
) -> Floats:
    """Correlations (2, draws) of both sides with gold after random exchanges of a's and b's values of a pair."""
    (a, gold), (b, _) = checked(a, gold, metric=metric), checked(b, gold, metric=metric)
    _positive(draws)
    n = len(gold)
    if n < 4:
        return np.full((2, draws), np.nan)
    if metric == "spearman":
        a, b, gold = ranks(a), ranks(b), ranks(gold)
    a, b, g = _standard(a), _standard(b), _standard(gold)
    middle, half = (a + b) / 2, (a - b) / 2
    generator = generator_for(seed, "evaluate", "permutation", name)
    sums = np.stack([half, half * g, 2 * middle * half], axis=1)  # (n, 3): a side is middle ± coin · half
    rows = max(1, BLOCK // n)
    drawn = np.empty((2, draws))
    for start in range(0, draws, rows):
        count = min(rows, draws - start)
        coins = np.where(generator.random((count, n)) < 0.5, 1.0, -1.0)
        shift, product, square = (coins @ sums).T
        for side, sign in enumerate((1.0, -1.0)):
            mean = (middle.sum() + sign * shift) / n
            variance = ((middle @ middle + half @ half) + sign * square) / n - mean**2
            with np.errstate(divide="ignore", invalid="ignore"):
                r = (middle @ g + sign * product) / n / np.sqrt(variance)  # g has mean 0 and variance 1
            drawn[side, start : start + count] = np.where(variance > TINY, r, np.nan)
    return drawn


def percentiles(draws: Floats, *, level: float = LEVEL) -> tuple[float, float]:
    """The middle `level` of the draws that are defined; NaN if none is."""
    tail = (1 - _level(level)) / 2
    known = draws[~np.isnan(draws)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, (tail, 1 - tail))
    return float(low), float(high)


def from_bootstrap(observed: float, differences: Floats, *, n: int, level: float = LEVEL) -> Comparison:
    """A comparison out of the differences in resampled pairs."""
    known = differences[~np.isnan(differences)]
    p = float("nan")
    if len(known) and np.isfinite(observed):
        # counted with the observed one, so that no number of draws gives a p of 0
        below, above = (1 + int((known <= 0).sum())), (1 + int((known >= 0).sum()))
        p = min(1.0, min(below, above) * smallest_p(len(known)))
    low, high = percentiles(differences, level=level)
    return Comparison(observed, p, low, high, n, "bootstrap")


def from_permutation(observed: float, differences: Floats, *, n: int) -> Comparison:
    """A comparison out of the differences after exchanges."""
    known = differences[~np.isnan(differences)]
    p = float("nan")
    if len(known) and np.isfinite(observed):
        p = (1 + int((np.abs(known) >= abs(observed) - 1e-12).sum())) / (len(known) + 1)
    return Comparison(observed, p, float("nan"), float("nan"), n, "permutation")


def _counts(generator: np.random.Generator, n: int, draws: int) -> Iterator[NDArray[np.int32]]:
    """How often each pair is drawn, (n, block): n of n with replacement. The blocks' size does not change them."""
    block = max(1, BLOCK // n)
    for start in range(0, draws, block):
        size = min(block, draws - start)
        chosen = generator.integers(n, size=(size, n))
        chosen *= size
        chosen += np.arange(size)[:, None]
        yield np.bincount(chosen.ravel(), minlength=n * size).reshape(n, size).astype(np.int32)


class _Levels:
    """The different values of a row of numbers, for ranking it under any counts."""

    def __init__(self, x: Floats) -> None:
        self.order = np.argsort(x, kind="stable")
        arranged = x[self.order]
        self.starts = np.flatnonzero(np.concatenate([[True], arranged[1:] != arranged[:-1]]))
        self.level = np.empty(len(x), dtype=np.int64)  # of each value
        self.level[self.order] = np.cumsum(np.concatenate([[0], arranged[1:] != arranged[:-1]]))

    def rank(self, counts: NDArray[np.int32]) -> tuple[NDArray[np.int32], Floats]:
        """Twice the centred mean rank of each level, (levels, block), and the sum over pairs of its square (block,)."""
        here = counts[self.order]
        if len(self.starts) < len(here):
            here = np.add.reduceat(here, self.starts, axis=0)
        centered = 2 * np.cumsum(here, axis=0, dtype=np.int32) - here - np.int32(len(counts))
        return centered, np.einsum("lb,lb,lb->b", here, centered, centered, dtype=np.float64)


class _SpearmanOfCounts:
    def __init__(self, xs: Sequence[Floats], y: Floats) -> None:
        self.xs, self.y = [_Levels(x) for x in xs], _Levels(y)

    def __call__(self, counts: NDArray[np.int32]) -> Floats:
        """(len(xs), block)"""
        ys, y_squares = self.y.rank(counts)
        weighted = counts * ys[self.y.level].astype(np.float64)
        found = np.empty((len(self.xs), counts.shape[1]))
        for row, levels in enumerate(self.xs):
            xs, x_squares = levels.rank(counts)
            products = np.einsum("nb,nb->b", weighted, xs[levels.level])
            with np.errstate(divide="ignore", invalid="ignore"):
                found[row] = np.clip(products / np.sqrt(x_squares * y_squares), -1.0, 1.0)
        return found


class _PearsonOfCounts:
    def __init__(self, xs: Sequence[Floats], y: Floats) -> None:
        y = y - y.mean()
        self.sums = []  # (n, 5) for each x
        for x in xs:
            x = x - x.mean()  # near zero, so that little is lost when squares of means are subtracted
            self.sums.append(np.stack([x, y, x * x, y * y, x * y], axis=1))

    def __call__(self, counts: NDArray[np.int32]) -> Floats:
        """(len(xs), block)"""
        n = len(counts)
        weights = counts.T.astype(np.float64)
        found = np.empty((len(self.sums), counts.shape[1]))
        for row, sums in enumerate(self.sums):
            x, y, xx, yy, xy = (weights @ sums).T / n
            x_variance, y_variance = xx - x * x, yy - y * y
            with np.errstate(divide="ignore", invalid="ignore"):
                r = np.clip((xy - x * y) / np.sqrt(x_variance * y_variance), -1.0, 1.0)
            found[row] = np.where((x_variance > TINY * xx) & (y_variance > TINY * yy), r, np.nan)
        return found


def _standard(x: Floats) -> Floats:
    spread = x.std()
    centered = x - x.mean()
    return np.asarray(centered / spread) if spread > 0 else centered


def _level(level: float) -> float:
    if not 0 < level < 1:
        raise UsageError(f"level must lie between 0 and 1, got {level}.", code="out_of_range", parameter="level")
    return level


def _positive(draws: int) -> None:
    if draws < 1:
        raise UsageError(f"draws must be at least 1, got {draws}.", code="out_of_range", parameter="draws")
