"""95 % intervals: words resampled, groups of texts left out, sentences weighted."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from limbeck.seeds import generator_for

Floats = NDArray[np.float64]

REPLICATES = 1000
QUANTILES = (0.025, 0.975)


def bootstrap_mean(values: Floats, *, seed: int, name: str) -> tuple[Floats, Floats]:
    """Percentile interval of the mean over columns of values (layers, n), columns resampled."""
    n = values.shape[1]
    if n < 2:
        return np.full(len(values), np.nan), np.full(len(values), np.nan)
    generator = generator_for(seed, "bootstrap", name)
    means = np.empty((REPLICATES, len(values)))
    rows = max(1, 4_000_000 // n)  # replicates at once
    for start in range(0, REPLICATES, rows):
        count = min(rows, REPLICATES - start)
        weights = generator.multinomial(n, np.full(n, 1 / n), size=count)
        means[start : start + count] = weights @ values.T / n
    low, high = np.quantile(means, QUANTILES, axis=0)
    return low, high


def from_replicates(replicates: Floats) -> tuple[Floats, Floats]:
    """Percentile interval from replicates (layers, replicates)."""
    if not replicates.size or not np.isfinite(replicates).any():
        return np.full(len(replicates), np.nan), np.full(len(replicates), np.nan)
    low, high = np.nanquantile(replicates, QUANTILES, axis=1)
    return low, high


def jackknife(value: Floats, without: Floats) -> tuple[Floats, Floats]:
    """Interval by delete-a-group jackknife: value (layers,), without (groups, layers), empty groups left out."""
    groups = len(without)
    if groups < 2:
        return np.full_like(value, np.nan), np.full_like(value, np.nan)
    spread = np.sqrt((groups - 1) / groups * ((without - without.mean(axis=0)) ** 2).sum(axis=0))
    return value - 1.959964 * spread, value + 1.959964 * spread
