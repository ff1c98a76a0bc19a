"""Every measure of layers.csv written out plainly: over all pairs, by singular values, in float64. numpy alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Seen:
    """All occurrences of a pass."""

    vectors: NDArray[np.floating]  # (layers, n, d), as they came
    words: Ints  # (n,) id of a followed word, or -1
    sentences: Ints
    texts: Ints


def measure(seen: Seen) -> dict[str, Floats]:
    """Each measure's value by layer."""
    by_layer = [measure_layer(x.astype(np.float64), seen) for x in seen.vectors]
    return {name: np.array([values[name] for values in by_layer]) for name in by_layer[0]}


def measure_layer(x: Floats, seen: Seen) -> dict[str, float]:
    norms = np.sqrt((x * x).sum(1))
    units = x / norms[:, None]
    apart = seen.texts[:, None] != seen.texts[None, :]  # pairs from different texts
    cosines = units @ units.T
    words = [np.flatnonzero(seen.words == word) for word in np.unique(seen.words[seen.words >= 0])]
    sentences = [np.flatnonzero(seen.sentences == sentence) for sentence in np.unique(seen.sentences)]
    intra = np.mean([to_mean(x[rows]) for rows in sentences if len(rows) > 1])
    mev = np.array([explained(x[rows]) for rows in words])  # (words, 3)
    both, one = isotropies(x)
    centered = x - x.mean(0)
    singular = np.linalg.svd(centered, compute_uv=False)
    share = singular / singular.sum()
    variances = singular**2 / len(x)
    parts = np.array([column @ (apart @ column) for column in units.T])  # of each dimension, over all pairs
    parts = np.sort(parts / parts.sum())[::-1]
    mean = np.linalg.norm(x.mean(0))
    return {
        "anisotropy": float(cosines[apart].mean()),
        "self_similarity": float(
            np.mean([cosines[np.ix_(rows, rows)][apart[np.ix_(rows, rows)]].mean() for rows in words])
        ),
        "intra_sentence_similarity": float(intra),
        "intra_sentence_similarity_matched": float(intra),
        "mev": float(mev[:, 0].mean()),
        "mev_centered": float(mev[:, 1].mean()),
        "mev_truncated_svd": float(mev[:, 2].mean()),
        "log10_isotropy": both,
        "log10_isotropy_one_sign": one,
        "isoscore": isoscore(variances),
        "effective_rank": float(np.exp(-(share * np.log(share)).sum())),
        "participation_ratio": float(variances.sum() ** 2 / (variances**2).sum()),
        "mean_norm": float(norms.mean()),
        "norm_spread": float(norms.std()),
        "least_norm": float(norms.min()),
        "greatest_norm": float(norms.max()),
        "norm_of_mean": float(mean),
        "norm_of_mean_over_mean_norm": float(mean / norms.mean()),
        "largest_dimension_share": float(parts[0]),
        "three_largest_dimension_shares": float(parts[:3].sum()),
    }


def to_mean(x: Floats) -> float:
    """Mean cosine of vectors with their own mean."""
    mean = x.mean(0)
    return float(np.mean([v @ mean / (np.linalg.norm(v) * np.linalg.norm(mean)) for v in x]))


def explained(x: Floats) -> tuple[float, float, float]:
    """The three MEVs of a word's occurrences."""
    _, raw, directions = np.linalg.svd(x, full_matrices=False)
    centered = np.linalg.svd(x - x.mean(0), compute_uv=False)
    along = x @ directions[0]
    total = (centered**2).sum()
    return raw[0] ** 2 / (raw**2).sum(), centered[0] ** 2 / total, len(x) * along.var() / total


def isotropies(x: Floats) -> tuple[float, float]:
    """log10 of I(W) over both signs of every direction, and over the sign with the positive mean."""
    directions = np.linalg.svd(x, full_matrices=False)[2]
    along = x @ directions.T  # (n, d)
    plus, minus = (logsumexp(sign * along) for sign in (1, -1))
    both = np.concatenate([plus, minus])
    one = np.where(along.mean(0) >= 0, plus, minus)
    return float((both.min() - both.max()) / np.log(10)), float((one.min() - one.max()) / np.log(10))


def logsumexp(a: Floats) -> Floats:
    greatest = a.max(0)
    summed: Floats = greatest + np.log(np.exp(a - greatest).sum(0))
    return summed


def isoscore(variances: Floats) -> float:
    """Rudman et al. (2022), step by step: distance of the normalised variances from equal ones, rescaled to [0, 1]."""
    d = len(variances)
    normalised = np.sqrt(d) * variances / np.linalg.norm(variances)
    defect = np.linalg.norm(normalised - 1) / np.sqrt(2 * (d - np.sqrt(d)))
    occupied = (d - defect**2 * (d - np.sqrt(d))) ** 2 / d**2
    return float((d * occupied - 1) / (d - 1))
