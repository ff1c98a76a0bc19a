"""Means of paired differences: whether what two sides have, word by word or item by item, differs on the whole.

Arrays in, numbers out. A sign-flip test asks how often a mean so far from zero comes of chance, if of each pair a coin
decided which side is which; it assumes nothing of the differences but that, were there no effect, either sign would be
as likely. The interval is a percentile bootstrap of the mean, pairs resampled.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError
from limbeck.evaluation.settings import DRAWS
from limbeck.evaluation.significance import BLOCK
from limbeck.measures.intervals import bootstrap_mean
from limbeck.seeds import generator_for

Floats = NDArray[np.float64]
EXACT = 13  #: of so few pairs every choice of signs is tried, 8,192 at most
FEWEST = 10  #: pairs below which no p is made: of 5 not even all alike could come below 0.05 twice
ROUNDING = 1e-12  #: sums nearer to each other than this part of all are equal


@dataclass(frozen=True)
class Paired:
    """Mean differences (rows,) of n pairs each, with 95 % intervals, p (two-sided) and the share of pairs above 0."""

    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    share: Floats
    n: int


def paired_means(first: Floats, second: Floats, *, draws: int = DRAWS, seed: int = 0, name: str = "") -> Paired:
    """How much higher the second side is on average, row by row: both (rows, n), column by column the same things.

    Columns that are not finite on both sides in every row are left out. NaN where fewer than two are left; no p where
    fewer than ten are.

    >>> found = paired_means(np.zeros((1, 12)), np.arange(1.0, 13.0)[None])
    >>> float(found.difference[0]), round(float(found.p[0]), 5), float(found.share[0])  # 2 of 4,096 choices of signs
    (6.5, 0.00049, 1.0)
    """
    if np.shape(first) != np.shape(second) or np.ndim(first) != 2:
        raise UsageError(
            f"Two sides must have the same pairs, got shapes {np.shape(first)} and {np.shape(second)}.",
            code="wrong_shape",
        )
    differences = np.asarray(second, dtype=np.float64) - np.asarray(first, dtype=np.float64)
    differences = differences[:, np.isfinite(differences).all(axis=0)]
    rows, n = differences.shape
    if n < 2:
        nothing = np.full(rows, np.nan)
        return Paired(nothing, nothing, nothing, nothing, nothing, n)
    low, high = bootstrap_mean(differences, seed=seed, name=f"paired {name}")
    p = sign_flip(differences, draws=draws, seed=seed, name=name) if n >= FEWEST else np.full(rows, np.nan)
    return Paired(differences.mean(axis=1), low, high, p, (differences > 0).mean(axis=1), n)


def sign_flip(differences: Floats, *, draws: int = DRAWS, seed: int = 0, name: str = "") -> Floats:
    """p of each row of differences (rows, n): the share of choices of signs whose mean is at least as far from zero.

    Exact for up to 13 pairs. Beyond, signs are drawn, the same for all rows, and the observed ones are counted with
    them, so that no number of draws gives a p of 0.
    """
    if draws < 1:
        raise UsageError(f"draws must be at least 1, got {draws}.", code="out_of_range", parameter="draws")
    n = differences.shape[1]
    observed = np.abs(differences.sum(axis=1))
    least = observed - ROUNDING * np.abs(differences).sum(axis=1)
    if n <= EXACT:
        bits = np.arange(2**n)[:, None] >> np.arange(n) & 1
        return np.asarray((np.abs((2.0 * bits - 1.0) @ differences.T) >= least).mean(axis=0))
    generator = generator_for(seed, "evaluate", "sign flip", name)
    beyond = np.zeros(len(differences), dtype=np.int64)
    block = max(1, BLOCK * 4 // n)
    for start in range(0, draws, block):
        signs = 2.0 * generator.integers(2, size=(min(block, draws - start), n)) - 1.0
        beyond += (np.abs(signs @ differences.T) >= least).sum(axis=0)
    return np.asarray((beyond + 1) / (draws + 1))
