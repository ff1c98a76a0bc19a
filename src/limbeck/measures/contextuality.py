"""How contextual words are: anisotropy, self-similarity, intra-sentence similarity (Ethayarajh 2019).

Each measure stands twice: `x(array, …)` for arrays, and `x_of(accumulator)`, which does the work.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Points, Sentences, UnitSums, WordSums
from limbeck.measures.arrays import observe
from limbeck.measures.draws import draw_from_different_texts
from limbeck.measures.intervals import bootstrap_mean, from_replicates, jackknife
from limbeck.measures.result import Floats, Result, WordResult
from limbeck.seeds import generator_for

DRAWN_SENTENCES = 1000  #: made sentences a length, for the matched baseline


def anisotropy(x: Any, *, contexts: Any = None) -> Result:
    """Mean cosine of two random occurrences from different contexts; see `anisotropy_of`.

    >>> import numpy as np
    >>> anisotropy(np.array([[1.0, 0.0], [0.0, 1.0]])).value
    0.0
    """
    seen = observe(x, contexts=contexts)
    sums = UnitSums(**seen.shape)
    sums.update(seen.batch)
    result = anisotropy_of(sums)
    return result.squeezed() if seen.flat else result


def anisotropy_of(sums: UnitSums) -> Result:
    """(‖Σû‖² − Σ_c‖Σ_{i∈c}û‖²) / (N² − Σ_c n_c²), in [−1, 1]; exact over all pairs (Ethayarajh 2019, §3.4).

    NaN where there are no two contexts.
    """
    totals, squares, n, pairs = _totals(sums)
    value = _mean_cosine((totals**2).sum(-1), squares.sum(-1), n, pairs)
    low, high = jackknife(value, _without_groups(sums))
    note = "" if np.isfinite(value).all() else "all occurrences stand in one context"
    return Result("anisotropy", value, n, low=low, high=high, note=note)


def sampled_anisotropy_of(points: Points, *, pairs: int, seed: int) -> Result:
    """Mean cosine of random pairs of kept points, drawn with replacement (docs/fidelity.md §1.13).

    A point can meet itself.
    """
    generator = generator_for(seed, "pairs")
    nothing = np.full(points.layers, np.nan)
    if not len(points):
        return Result("anisotropy", nothing, 0, low=nothing, high=nothing, note="no points")
    left, right = points.order[generator.integers(len(points), size=(2, pairs))]
    cosines = np.empty((points.layers, pairs))
    for layer in range(points.layers):
        vectors = points.layer(layer).astype(np.float64)
        units = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        cosines[layer] = (units[left] * units[right]).sum(1)
    low, high = bootstrap_mean(cosines, seed=seed, name="anisotropy")
    return Result("anisotropy", cosines.mean(1), pairs, low=low, high=high, note=f"{pairs} sampled pairs")


def dimension_shares_of(sums: UnitSums) -> tuple[Floats, Floats, Floats]:
    """Each dimension's share of the mean cosine, (layers, d), with its interval.

    share_j = (S_j² − Σ_c s_cj²) / Σ_j(…): shares sum to 1, single ones can be below 0 or above 1. A few large
    shares are "rogue" dimensions (Timkey & van Schijndel 2021).
    """
    totals, squares, n, pairs = _totals(sums)
    if n**2 == pairs:  # no two contexts
        return (np.full_like(totals, np.nan),) * 3
    parts = totals**2 - squares  # (layers, d)
    shares = parts / parts.sum(-1, keepdims=True)
    left = (n - sums.n) ** 2 > pairs - sums.pairs  # two contexts must be left without the group
    filled = np.flatnonzero((sums.n > 0) & left)
    group_sums, group_squares = sums.sums.cpu().numpy(), sums.squares.cpu().numpy()
    mean = np.zeros_like(shares)
    spread = np.zeros_like(shares)
    for count, group in enumerate(filled, start=1):  # Welford over the groups: d × groups × layers is not kept
        rest = (totals - group_sums[:, group]) ** 2 - (squares - group_squares[:, group])
        rest = rest / rest.sum(-1, keepdims=True)
        delta = rest - mean
        mean += delta / count
        spread += delta * (rest - mean)
    if len(filled) < 2:
        empty = np.full_like(shares, np.nan)
        return shares, empty, empty
    error = 1.959964 * np.sqrt((len(filled) - 1) / len(filled) * spread)
    return shares, shares - error, shares + error


def self_similarity(x: Any, *, words: Any, contexts: Any = None, min_contexts: int = 2, seed: int = 0) -> WordResult:
    """Mean cosine of a word's occurrences in different contexts; see `self_similarity_of`.

    >>> import numpy as np
    >>> self_similarity(np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 2.0]]), words=["a", "a", "b"])["a"]
    1.0
    """
    seen = observe(x, words=words, contexts=contexts)
    sums = WordSums(**seen.shape, words=len(seen.words))
    sums.update(seen.batch)
    around = UnitSums(**seen.shape)
    around.update(seen.batch)
    result = self_similarity_of(
        sums, seen.words, baseline=anisotropy_of(around).value, enough=sums.contexts >= min_contexts, seed=seed
    )
    return result.squeezed() if seen.flat else result


def self_similarity_of(
    sums: WordSums,
    words: list[str],
    *,
    baseline: Floats,
    enough: NDArray[np.bool_],
    across_contexts: bool = True,
    seed: int = 0,
) -> WordResult:
    """SelfSim(w) = (‖Σû‖² − Σ_c‖Σ_{i∈c}û‖²) / (n² − Σ_c n_c²), in [−1, 1] (Ethayarajh 2019, Eq. 1, exact).

    Two mentions in one context are not two (docs/fidelity.md §0.4); with `across_contexts=False` every pair i ≠ j
    counts, as in the released code. NaN for a word that stands in one context only. The value of a layer is the
    unweighted mean over the words that have `enough`.
    """
    norms = sums.sums.square().sum(-1).cpu().numpy()  # (layers, words)
    if across_contexts:
        values = _mean_cosine(norms, sums.squares.cpu().numpy(), sums.n, sums.pairs)
    else:
        values = _mean_cosine(norms, sums.n[None, :].astype(np.float64), sums.n, sums.n)
    return over_words(
        "self_similarity",
        values,
        sums.n,
        words,
        baseline=baseline,
        enough=enough,
        seed=seed,
        why="they stand in one context only",
    )


def over_words(
    name: str,
    values: Floats,
    counts: NDArray[np.int64],
    words: list[str],
    *,
    baseline: Any,
    enough: NDArray[np.bool_],
    seed: int,
    why: str = "all their occurrences are equal there",
) -> WordResult:
    """The unweighted mean over words of values (layers, words).

    Where a layer leaves a word undefined (a static input layer makes its occurrences equal) that word is left out of
    that layer's mean; `n` then counts the words layer by layer.
    """
    defined = np.isfinite(values) & enough
    counted = defined.sum(axis=1)
    mean, low, high = np.full((3, len(values)), np.nan)
    for pattern in np.unique(defined, axis=0):  # layers that share their words are resampled together
        if pattern.any():
            same = np.flatnonzero((defined == pattern).all(axis=1))
            used = values[same][:, pattern]
            mean[same] = used.mean(axis=1)
            low[same], high[same] = bootstrap_mean(used, seed=seed, name=name)
    left_out = int(enough.sum()) - counted
    note: str | tuple[str, ...] = "" if enough.any() else "no word has enough contexts"
    if left_out.any():
        note = tuple(f"{count} words left out: {why}" if count else "" for count in left_out)
    n = int(counted[0]) if (counted == counted[0]).all() else counted
    return WordResult(name, mean, n, baseline, low, high, note, words, values, counts)


def intra_sentence_similarity(x: Any, *, sentences: Any, contexts: Any = None) -> Result:
    """Mean cosine of a word with the mean vector of its sentence; see `intra_sentence_similarity_of`."""
    seen = observe(x, sentences=sentences, contexts=contexts)
    values = Sentences(**seen.shape)
    values.update(seen.batch)
    around = UnitSums(**seen.shape)
    around.update(seen.batch)
    result = intra_sentence_similarity_of(values, baseline=anisotropy_of(around).value)
    return result.squeezed() if seen.flat else result


def intra_sentence_similarity_matched(x: Any, *, sentences: Any, contexts: Any = None, seed: int = 0) -> Result:
    """Intra-sentence similarity beside made sentences of the same lengths; see `matched_baseline_of`."""
    seen = observe(x, sentences=sentences, contexts=contexts)
    values = Sentences(**seen.shape)
    values.update(seen.batch)
    points = Points(**seen.shape, capacity=len(seen.batch))
    points.update(seen.batch)
    baseline, note = matched_baseline_of(points, values.lengths, seed=seed)
    result = intra_sentence_similarity_of(values, baseline=baseline, matched=True, note=note)
    return result.squeezed() if seen.flat else result


def intra_sentence_similarity_of(
    sentences: Sentences, *, baseline: Floats, matched: bool = False, note: str = ""
) -> Result:
    """IntraSim = mean over sentences of (mean û)·(mean x)/‖mean x‖ (Ethayarajh 2019, Eq. 2).

    In [−1, 1], and below 0 only where a few long vectors outweigh many short ones. Sentences of one word are left
    out: theirs would be 1 by definition. NaN where no sentence has two words.
    """
    name = "intra_sentence_similarity_matched" if matched else "intra_sentence_similarity"
    totals = sentences.totals
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals[:-1] / totals[-1]  # (layers, 1 + replicates)
    low, high = from_replicates(means[:, 1:])
    if sentences.n < 2:  # one sentence resampled is that sentence: no interval, not one of no width
        low, high = np.full((2, len(means)), np.nan)
    if not sentences.n:
        note = "no sentence has two words"
    return Result(name, means[:, 0], sentences.n, baseline, low, high, note)


def matched_baseline_of(points: Points, lengths: NDArray[np.int64], *, seed: int) -> tuple[Floats, str]:
    """IntraSim of made sentences: occurrences from different texts, lengths as in the corpus.

    The paper's baseline, the pair cosine, is of another kind: independent isotropic vectors have a cosine of
    about 1/√n with their mean, not 0 (docs/fidelity.md §1.15). 1,000 sentences are made for each length; a sentence of
    n words is the beginning of one of n + 1, so all lengths cost what the longest does.
    """
    wanted = np.flatnonzero(lengths)
    nothing = np.full(points.layers, np.nan)
    if not len(wanted) or not len(points):
        return nothing, "no sentence has two words"
    longest = int(wanted.max())
    order = points.order
    rows = draw_from_different_texts(
        points.texts[order], size=longest, draws=DRAWN_SENTENCES, seed=seed, name="sentences"
    )
    rows = order[rows]
    reach = rows.shape[1]  # fewer than `longest` where the sample has fewer texts
    used = wanted[wanted <= reach]
    if not len(used):
        return nothing, "too few texts for a matched baseline"
    weights = lengths[used] / lengths[used].sum()
    baseline = np.zeros(points.layers)
    for layer in range(points.layers):
        vectors = points.layer(layer).astype(np.float64)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        sums = np.zeros((len(rows), points.dim))
        units = np.zeros_like(sums)
        for size in range(1, int(used.max()) + 1):
            drawn = vectors[rows[:, size - 1]]
            sums += drawn
            units += drawn / norms[rows[:, size - 1]]
            place = np.searchsorted(used, size)
            if used[place] == size:
                lengths_of_sums = np.linalg.norm(sums, axis=1)
                some = lengths_of_sums > 0  # opposite vectors have no mean direction
                cosines = (units[some] * sums[some]).sum(1) / (size * lengths_of_sums[some])
                baseline[layer] += weights[place] * (cosines.mean() if some.any() else np.nan)
    left_out = int(lengths[wanted[wanted > reach]].sum())
    note = f"{left_out} sentences are longer than the sample has texts: left out of the baseline" if left_out else ""
    return baseline, note


def _mean_cosine(total: Any, within: Any, n: Any, pairs: Any) -> Floats:
    """(total − within) / (n² − pairs); NaN where no pair is left."""
    n = np.asarray(n, dtype=np.float64)
    denominator = n**2 - np.asarray(pairs, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(denominator > 0, (total - within) / denominator, np.nan)


def _totals(sums: UnitSums) -> tuple[Floats, Floats, int, int]:
    return (
        sums.sums.sum(1).cpu().numpy(),
        sums.squares.sum(1).cpu().numpy(),
        int(sums.n.sum()),
        int(sums.pairs.sum()),
    )


def _without_groups(sums: UnitSums) -> Floats:
    """Anisotropy with each filled group of texts left out, (groups, layers)."""
    totals, squares, n, pairs = _totals(sums)
    filled = np.flatnonzero(sums.n)
    group_sums = sums.sums.cpu().numpy()[:, filled]  # (layers, groups, d)
    group_squares = sums.squares.cpu().numpy()[:, filled].sum(-1)
    rest = ((totals[:, None] - group_sums) ** 2).sum(-1)
    value = _mean_cosine(rest, squares.sum(-1)[:, None] - group_squares, n - sums.n[filled], pairs - sums.pairs[filled])
    value = value.T
    return value[np.isfinite(value).all(axis=1)]
