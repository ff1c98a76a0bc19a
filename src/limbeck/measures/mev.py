"""Maximum explainable variance: how much of a word's occurrences one static vector could explain.

Three quantities go by this name (docs/fidelity.md §0.2), and the published figures are the third:

    mev                σ₁² / Σσ²          uncentred, Eq. 3 of Ethayarajh 2019
    mev_centered       λ₁ / Σλ            first principal component of the centred occurrences
    mev_truncated_svd  v₁ᵀCv₁ / tr C      v₁ the uncentred first direction, C the centred covariance:
                                          what scikit-learn's TruncatedSVD reports and the released code used
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators import Occurrences, Points
from limbeck.measures.arrays import observe
from limbeck.measures.contextuality import over_words
from limbeck.measures.draws import draw_from_different_texts
from limbeck.measures.result import Floats, WordResult

MEASURES = ("mev", "mev_centered", "mev_truncated_svd")
BASELINE_DRAWS = 20
EQUAL = 1e-12  #: centred over raw sum of squares at which occurrences count as equal
AT_ONCE = 1 << 24  #: numbers in one batch of small eigenproblems


@dataclass(frozen=True)
class WordVariance:
    """The three ratios of each word and layer, and those of chance at the same number of occurrences."""

    values: Floats  # (3, layers, words)
    counts: NDArray[np.int64]  # (words,) occurrences used
    baseline: Floats  # (3, layers, words)


def mev(x: Any, *, words: Any, contexts: Any = None, min_contexts: int = 2, seed: int = 0) -> WordResult:
    """Share of the first uncentred direction, σ₁²/Σσ², in [1/n, 1] (Ethayarajh 2019, Eq. 3).

    NaN for a word with one occurrence.

    >>> import numpy as np
    >>> mev(np.array([[1.0, 0.0], [3.0, 0.0]]), words=["a", "a"])["a"]
    1.0
    """
    return _on_arrays(0, x, words=words, contexts=contexts, min_contexts=min_contexts, seed=seed)


def mev_centered(x: Any, *, words: Any, contexts: Any = None, min_contexts: int = 2, seed: int = 0) -> WordResult:
    """Share of the first principal component of the centred occurrences, λ₁/Σλ, in [1/(n−1), 1].

    NaN for a word whose occurrences are all equal.
    """
    return _on_arrays(1, x, words=words, contexts=contexts, min_contexts=min_contexts, seed=seed)


def mev_truncated_svd(x: Any, *, words: Any, contexts: Any = None, min_contexts: int = 2, seed: int = 0) -> WordResult:
    """Centred variance along the first uncentred direction over all centred variance, v₁ᵀCv₁/tr C, in [0, 1].

    What scikit-learn's TruncatedSVD reports, and what the released code of Ethayarajh 2019 used. NaN for a word whose
    occurrences are all equal.
    """
    return _on_arrays(2, x, words=words, contexts=contexts, min_contexts=min_contexts, seed=seed)


def _on_arrays(which: int, x: Any, *, words: Any, contexts: Any, min_contexts: int, seed: int) -> WordResult:
    seen = observe(x, words=words, contexts=contexts)
    most = int(np.bincount(seen.batch.words).max(initial=1))
    kept = Occurrences(**seen.shape, capacity=most, chosen=list(range(len(seen.words))))
    kept.update(seen.batch)
    points = Points(**seen.shape, capacity=len(seen.batch))
    points.update(seen.batch)
    pairs = np.unique(np.stack([seen.batch.words, seen.batch.texts]), axis=1)
    enough = np.bincount(pairs[0], minlength=len(seen.words)) >= min_contexts
    result = mev_of(word_variance(kept, points, seed=seed), seen.words, enough=enough, seed=seed)[which]
    return result.squeezed() if seen.flat else result


def mev_of(variance: WordVariance, words: list[str], *, enough: NDArray[np.bool_], seed: int) -> list[WordResult]:
    """The three measures; the baseline of a layer is the mean over the same words, those that have one."""
    results = []
    for which, name in enumerate(MEASURES):
        values = variance.values[which]
        chance = variance.baseline[which]
        used = enough & np.isfinite(values) & np.isfinite(chance)  # (layers, words)
        baseline = np.array(
            [row[some].mean() if some.any() else np.nan for row, some in zip(chance, used, strict=True)]
        )
        result = over_words(name, values, variance.counts, words, baseline=baseline, enough=enough, seed=seed)
        result = replace(result, baselines=chance)
        lacking = int((enough & np.isnan(chance).all(axis=0) & np.isfinite(values).any(axis=0)).sum())
        if lacking:
            told = f"no baseline for {lacking} words: the sample has too few texts"
            notes = (result.note,) * len(values) if isinstance(result.note, str) else result.note
            result = replace(result, note=tuple("; ".join(filter(None, (note, told))) for note in notes))
        results.append(result)
    return results


def word_variance(kept: Occurrences, points: Points, *, seed: int, baseline_size: int | None = None) -> WordVariance:
    """The three ratios of every kept word, and of seeded draws of occurrences of any words.

    Ratios are biased by n (mev is never below 1/n), so chance is measured at the word's own n, by 20 draws from
    different texts; with `baseline_size` at that one n (the paper: 1,000).
    """
    with one_thread():
        return _word_variance(kept, points, seed=seed, baseline_size=baseline_size)


def _word_variance(kept: Occurrences, points: Points, *, seed: int, baseline_size: int | None) -> WordVariance:
    counts = kept.counts
    values = np.full((3, kept.layers, len(counts)), np.nan)
    baseline = np.full((3, kept.layers, len(counts)), np.nan)
    for n in np.unique(counts[counts >= 2]):
        members = np.flatnonzero(counts == n)
        for some in _portions(members, int(n) * kept.layers * kept.dim):
            vectors = np.stack([kept.of(place) for place in some])  # (some, n, layers, d)
            values[:, :, some] = _by_layer(vectors)
    sizes = [baseline_size] if baseline_size else [int(n) for n in np.unique(counts[counts >= 2])]
    chance = _chance(points, sizes, seed=seed)
    for place, n in enumerate(counts):
        if n >= 2:
            baseline[:, :, place] = chance[baseline_size or int(n)]
    return WordVariance(values, counts, baseline)


@contextmanager
def one_thread() -> Iterator[None]:
    """Thousands of small eigenproblems: on a busy machine a team of threads waits far longer than it computes."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _chance(points: Points, sizes: list[int], *, seed: int) -> dict[int, Floats]:
    """(3, layers) for each size: means over draws of so many occurrences from different texts.

    NaN where there are not so many texts: fewer occurrences would explain more by chance alone.
    """
    order = points.order
    found = {size: np.full((3, points.layers), np.nan) for size in sizes}
    drawn = {
        size: order[
            draw_from_different_texts(
                points.texts[order], size=size, draws=BASELINE_DRAWS, seed=seed, name=f"mev-{size}"
            )
        ]
        for size in sizes
    }
    for layer in range(points.layers):
        vectors = points.layer(layer)
        for size, rows in drawn.items():
            if rows.shape[1] == size:
                ratios = explained(torch.from_numpy(vectors[rows].astype(np.float64)))
                found[size][:, layer] = ratios.nanmean(1).numpy()
    return found


def _by_layer(vectors: NDArray[Any]) -> Floats:
    """(3, layers, words) for vectors (words, n, layers, d)."""
    tensor = torch.from_numpy(np.ascontiguousarray(vectors)).to(torch.float64).permute(2, 0, 1, 3)
    return np.stack([explained(layer).numpy() for layer in tensor], axis=1)


def _portions(members: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, AT_ONCE // size)
    for start in range(0, len(members), step):
        yield members[start : start + step]


def explained(x: torch.Tensor) -> torch.Tensor:
    """The three ratios (3, m) of m sets of n vectors, x (m, n, d) in float64."""
    _, n, d = x.shape
    centered = x - x.mean(dim=1, keepdim=True)
    total = x.square().sum((1, 2))
    centered_total = centered.square().sum((1, 2))
    if n <= d:  # the n × n Gram matrix has the same spectrum as the d × d second moment
        values, left = torch.linalg.eigh(x @ x.transpose(1, 2))
        along = left[..., -1] * values[..., -1:].clamp_min(0).sqrt()  # x v₁ = σ₁ u₁
        centered_values = torch.linalg.eigvalsh(centered @ centered.transpose(1, 2))
    else:
        values, right = torch.linalg.eigh(x.transpose(1, 2) @ x)
        along = (x @ right[..., -1:]).squeeze(-1)  # (m, n) projections on v₁
        centered_values = torch.linalg.eigvalsh(centered.transpose(1, 2) @ centered)
    along = along - along.mean(dim=1, keepdim=True)
    ratios = torch.stack(
        [values[..., -1] / total, centered_values[..., -1] / centered_total, along.square().sum(1) / centered_total]
    )
    equal = centered_total <= EQUAL * total
    ratios[1:, equal] = torch.nan
    return ratios
