"""Isotropy seen from near: of clusters that are each put on the origin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import torch

from limbeck.errors import LimbeckError, choose
from limbeck.measures.arrays import observe
from limbeck.measures.isotropy import log10_isotropy_of
from limbeck.measures.kmeans import lloyd, starting_centers
from limbeck.measures.mev import EQUAL
from limbeck.measures.result import Floats, Result
from limbeck.measures.rows import narrow
from limbeck.seeds import generator_for

STARTS = ("k-means++", "random")


@dataclass(frozen=True, repr=False)
class LocalIsotropy(Result):
    """log₁₀ I(W) of clusters put on the origin, a mean over seeds, and beside it of the same points:

    one_sign     log₁₀ I(W) with one sign of each eigenvector; see `log10_isotropy_one_sign`
    mean_cosine  of all pairs: near 0 where I(W) may still be tiny (Rajaee & Pilehvar 2021, Figure 2)
    spread       standard deviation of `value` over the seeds
    """

    one_sign: Any = None
    mean_cosine: Any = None
    spread: Any = None

    def squeezed(self) -> Self:
        more: dict[str, Any] = {name: float(getattr(self, name)[0]) for name in ("one_sign", "mean_cosine", "spread")}
        return replace(super().squeezed(), **more)


def local_isotropy(
    x: Any, *, clusters: int = 1, seeds: int = 5, iterations: int = 10, init: str = "k-means++", seed: int = 0
) -> LocalIsotropy:
    """log₁₀ I(W) after each of k clusters was centered by itself, a mean over seeds (Rajaee & Pilehvar 2021, Table 1).

    k-means on the vectors as they are, each cluster's mean subtracted, then one I(W) over all points together; k = 1
    is plain centering. At most 0; see `log10_isotropy`. The mean is one of logarithms: I(W) itself can be 1e-200, and a
    mean of such numbers would be their largest. NaN where I(W) is undefined, with the reason.

    clusters    k; where fewer vectors are different, so many
    seeds       how many runs of k-means, from `seed` on; one is enough for k = 1
    iterations  of Lloyd's algorithm, 10 as in the published code
    init        "k-means++", or "random" as in the published code
    """
    for name, number in (("clusters", clusters), ("seeds", seeds), ("iterations", iterations)):
        if number < 1:
            raise LimbeckError(f"{name} must be at least 1; got {number}.", code="out_of_range", parameter=name)
    choose(init, STARTS, what="init")
    seen = observe(x)
    found = np.empty((len(seen.batch.vectors), seeds if clusters > 1 else 1, 3))  # (layers, seeds, values)
    notes = []
    for layer, w in enumerate(seen.batch.vectors):
        for run in range(found.shape[1]):
            near = centered_by_cluster(w, clusters, iterations=iterations, spread=init == "k-means++", seed=seed + run)
            found[layer, run, :2], note = log10_isotropy_of(near)
            if not bool((near.square().sum(1) > EQUAL * w.to(torch.float64).square().sum(1)).any()):
                found[layer, run, :2], note = math.nan, "every point is its cluster's mean: nothing is left of it"
            found[layer, run, 2], left_out = mean_cosine_of(near, least=EQUAL * w.to(torch.float64).square().sum(1))
            told = f"{left_out} vectors that are their cluster's mean have no cosine" if left_out else ""
            notes.append(note or told)
    mean = found.mean(1)
    result = LocalIsotropy(
        "local_isotropy",
        mean[:, 0],
        len(seen.batch),
        note=next(filter(None, notes), ""),
        one_sign=mean[:, 1],
        mean_cosine=mean[:, 2],
        spread=_spread(found[:, :, 0]),
    )
    return result.squeezed() if seen.flat else result


def centered_by_cluster(
    x: torch.Tensor, clusters: int, *, iterations: int = 10, spread: bool = True, seed: int = 0
) -> torch.Tensor:
    """x (n, d) in float64, each cluster of k-means less its own mean.

    The clusters are those that `limbeck.repairs.ClusterRemoval` of the same seed finds.
    """
    if not len(x):
        return x.to(torch.float64)
    rows = x.to(narrow(x))
    start = starting_centers(rows, clusters, generator_for(seed, "clusters"), spread=spread)
    centers, labels = lloyd(rows, start, iterations=iterations)
    wide = rows.to(torch.float64)
    sums = torch.zeros_like(centers).index_add_(0, labels, wide)
    sizes = torch.bincount(labels, minlength=len(centers)).clamp(min=1)
    return wide - (sums / sizes.unsqueeze(1))[labels]


def mean_cosine_of(w: torch.Tensor, *, least: torch.Tensor | float = 0.0) -> tuple[float, int]:
    """Mean cosine of all pairs of w (n, d), and how many vectors were left out: ‖w‖² at most `least` has no direction.

    (‖Σû‖² − n) / (n² − n); NaN for fewer than two vectors.
    """
    w = w.to(torch.float64)
    there = w.square().sum(1) > least
    units = torch.nn.functional.normalize(w[there], dim=1, eps=0.0)
    n = len(units)
    if n < 2:
        return math.nan, len(w) - n
    return (float(units.sum(0).square().sum()) - n) / (n * n - n), len(w) - n


def _spread(values: Floats) -> Floats:
    """Standard deviation (layers,) of values (layers, seeds); 0 for one seed."""
    return values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
