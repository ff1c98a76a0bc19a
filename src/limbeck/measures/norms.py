"""Lengths of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from limbeck.accumulators import Moments, Norms
from limbeck.measures.arrays import observe
from limbeck.measures.intervals import jackknife
from limbeck.measures.result import Result


def mean_norm(x: Any, *, contexts: Any = None) -> Result:
    """Mean Euclidean norm; see `mean_norm_of`."""
    seen = observe(x, contexts=contexts)
    norms = Norms(**seen.shape)
    norms.update(seen.batch)
    result = mean_norm_of(norms)
    return result.squeezed() if seen.flat else result


def mean_norm_of(norms: Norms) -> Result:
    """E‖x‖, at least 0. NaN where there are no points."""
    n, sums = norms.n, norms.sums.cpu().numpy()  # (groups,), (layers, groups)
    total = int(n.sum())
    if not total:
        nothing = np.full(norms.layers, np.nan)
        return Result("mean_norm", nothing, 0, low=nothing, high=nothing, note="no points")
    value = sums.sum(1) / total
    filled = np.flatnonzero((n > 0) & (n < total))
    without = ((sums.sum(1)[:, None] - sums[:, filled]) / (total - n[filled])).T
    low, high = jackknife(value, without)
    return Result("mean_norm", value, total, low=low, high=high)


def norms_of(norms: Norms, moments: Moments) -> list[Result]:
    """Mean norm, spread of norms, extremes, ‖mean‖ and ‖mean‖ / mean norm.

    The last, in [0, 1], is how far the cloud sits from the origin beside its own size (Biś et al. 2021).
    """
    mean = mean_norm_of(norms)
    n = mean.n
    square = norms.squares.cpu().numpy().sum(1) / max(n, 1)
    spread = np.sqrt(np.maximum(square - mean.value**2, 0))
    of_mean = moments.mean.norm(dim=1).cpu().numpy()
    rest = {
        "norm_spread": spread,
        "least_norm": norms.least.cpu().numpy(),
        "greatest_norm": norms.greatest.cpu().numpy(),
        "norm_of_mean": of_mean,
        "norm_of_mean_over_mean_norm": of_mean / mean.value,
    }
    if not n:
        rest = dict.fromkeys(rest, mean.value)  # NaN
    return [mean, *(Result(name, value, n, note=mean.note) for name, value in rest.items())]
