"""An n-gram model with interpolated modified Kneser-Ney smoothing, from an array of token ids: the baseline to beat.

Chen & Goodman (1999), section 3: three discounts an order, estimated from the counts of counts; the orders below the
highest are made of continuation counts; the lowest is interpolated with the uniform distribution. Everything is sorted
arrays: an n-gram is one uint64, counting is sorting, looking up is a binary search.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Tokens = npt.NDArray[np.integer[Any]]
Keys = npt.NDArray[np.uint64]
Floats = npt.NDArray[np.float64]

FALLBACK = (0.5, 1.0, 1.5)  #: discounts where the counts of counts give none, as KenLM's --discount_fallback
AT_ONCE = 1 << 20  #: positions looked up together, so that a long text needs no more memory than a short one


@dataclass(frozen=True)
class Level:
    """The n-grams of one order: what each is worth after its context, and what each context leaves to the order below.

    p(w | h) = (c(hw) − D(c(hw))) / Σ_v c(hv) + γ(h)·p(w | h without its first word), γ(h) = Σ_v D(c(hv)) / Σ_v c(hv).
    """

    keys: Keys  # (n-grams,), sorted
    counts: npt.NDArray[np.uint32]  # (n-grams,), how often, or after how many different words
    contexts: Keys  # (contexts,), sorted
    totals: Floats  # (contexts,), Σ_v c(hv)
    weights: Floats  # (contexts,), γ(h)
    discounts: Floats  # (4,), D of a count of 0, 1, 2, and 3 or more

    @classmethod
    def of(cls, keys: Keys, counts: npt.NDArray[np.uint32], *, bits: int) -> Level:
        """From the sorted, distinct n-grams and their counts."""
        discounts = estimate_discounts(counts)
        contexts = keys >> np.uint64(bits)
        starts = _starts(contexts)
        if len(starts):
            totals = np.add.reduceat(counts, starts, dtype=np.float64)
            weights = np.add.reduceat(discounts[np.minimum(counts, 3)], starts) / totals
        else:
            totals = weights = np.empty(0)
        return cls(keys, counts, contexts[starts], totals, weights, discounts)

    def interpolate(self, queries: Keys, lower: Floats, *, bits: int) -> Floats:
        """p(w | h) for n-grams hw, given p(w | h without its first word). A context never seen leaves it as it is."""
        at, known = _find(self.contexts, queries >> np.uint64(bits))
        place, seen = _find(self.keys, queries)
        counts = np.where(seen, self.counts[place], 0) if len(self.counts) else np.zeros(len(queries), np.uint32)
        p = lower.copy()
        at, counts = at[known], counts[known]
        p[known] = (counts - self.discounts[np.minimum(counts, 3)]) / self.totals[at] + self.weights[at] * lower[known]
        return p


@dataclass(frozen=True)
class KneserNey:
    """A fitted model. A break between sentences or paragraphs is a token like any other: context, and predicted.

    Whoever does not want the break's own prediction scored leaves those positions out of `log_probabilities`.

    >>> text = np.array([1, 2, 3, 1, 2, 4, 1, 2, 3, 0, 1, 2, 3])
    >>> model = KneserNey.fit(text, vocabulary_size=6)
    >>> np.exp(model.log_probabilities(np.array([1, 2, 3]))).round(3)
    array([0.298, 0.577, 0.539])
    """

    vocabulary_size: int
    bits: int  # of one token in a key
    levels: tuple[Level, ...]  # for n = 1 … order
    unigrams: Level  # n = 1 of the plain counts, which are not those that the trigrams fall back to

    @classmethod
    def fit(cls, tokens: Tokens, vocabulary_size: int, order: int = 3) -> KneserNey:
        """Count the n-grams of a text, an array of ids below `vocabulary_size`. Takes about 30 bytes a token."""
        bits = max(1, (vocabulary_size - 1).bit_length())
        if order < 1 or order * bits > 64:
            raise ValueError(
                f"{order} ids below {vocabulary_size} must fit into 64 bits, they take {order * bits}: "
                f"give an order between 1 and {64 // bits}."
            )
        _check(tokens, vocabulary_size)
        levels = []
        for n in range(1, order):  # N₁₊(· w₁…wₙ): how many different words come before it
            longer, _ = _count(_pack(tokens, n + 1, bits))
            longer &= np.uint64((1 << n * bits) - 1)
            levels.append(Level.of(*_count(longer), bits=bits))
            del longer
        levels.append(Level.of(*_count(_pack(tokens, order, bits)), bits=bits))
        unigrams = levels[0] if order == 1 else Level.of(*_count(_pack(tokens, 1, bits)), bits=bits)
        return cls(vocabulary_size, bits, tuple(levels), unigrams)

    @property
    def order(self) -> int:
        return len(self.levels)

    def log_probabilities(self, tokens: Tokens) -> Floats:
        """log p(token | the order − 1 tokens before it) at each position, natural; the first ones have less before."""
        return self._log_probabilities(tokens, self.levels)

    def unigram_log_probabilities(self, tokens: Tokens) -> Floats:
        """log p(token) at each position, natural, from how often it occurs; discounted, so that none is impossible."""
        return self._log_probabilities(tokens, (self.unigrams,))

    def _log_probabilities(self, tokens: Tokens, levels: tuple[Level, ...]) -> Floats:
        _check(tokens, self.vocabulary_size)
        log_p = np.empty(len(tokens))
        for start in range(0, len(tokens), AT_ONCE):
            before = min(start, len(levels) - 1)
            piece = tokens[start - before : start + AT_ONCE]
            p = np.full(len(piece), 1.0 / self.vocabulary_size)
            for n, level in enumerate(levels, 1):
                p[n - 1 :] = level.interpolate(_pack(piece, n, self.bits), p[n - 1 :], bits=self.bits)
            log_p[start : start + AT_ONCE] = np.log(p[before:])
        return log_p


def estimate_discounts(counts: npt.NDArray[np.uint32]) -> Floats:
    """What is taken off a count of 0, 1, 2, and 3 or more: D(k) = k − (k+1)·Y·nₖ₊₁/nₖ with Y = n₁/(n₁ + 2n₂).

    nₖ is how many n-grams have a count of k. Where that is undefined or not above 0, as in texts too small or
    vocabularies whose words are all frequent, it is `FALLBACK`: 0 would leave nothing to words not seen there.
    """
    n = np.bincount(np.minimum(counts, 5), minlength=6).astype(np.float64)
    discounts = np.array([0.0, *FALLBACK])
    if n[1:4].all():
        k = np.arange(1, 4)
        estimated = k - (k + 1) * n[1] / (n[1] + 2 * n[2]) * n[2:5] / n[1:4]
        if (estimated > 0).all():
            discounts[1:] = estimated
    return discounts


def _check(tokens: Tokens, vocabulary_size: int) -> None:
    if tokens.ndim != 1 or not np.issubdtype(tokens.dtype, np.integer):
        raise ValueError(f"Tokens must be a flat array of ids, got {tokens.dtype} of shape {tokens.shape}.")
    if len(tokens) and not (tokens.min() >= 0 and tokens.max() < vocabulary_size):
        raise ValueError(
            f"Ids must be 0 to {vocabulary_size - 1}, got {tokens.min()} to {tokens.max()}: "
            "give the size of the tokeniser that made them."
        )


def _pack(tokens: Tokens, n: int, bits: int) -> Keys:
    """The n-gram that ends at each position from the n-th on, first word in the highest bits."""
    size = max(len(tokens) - n + 1, 0)
    keys = tokens[:size].astype(np.uint64)
    for i in range(1, n):
        keys <<= np.uint64(bits)
        keys |= tokens[i : i + size].astype(np.uint64)
    return keys


def _count(keys: Keys) -> tuple[Keys, npt.NDArray[np.uint32]]:
    """Distinct keys, sorted, and how often each occurs. Sorts what it is given, in place."""
    keys.sort()
    starts = _starts(keys)
    return keys[starts], np.diff(starts, append=len(keys)).astype(np.uint32)


def _starts(ordered: Keys) -> npt.NDArray[np.intp]:
    """Where a run of equal keys begins."""
    first = np.empty(len(ordered), dtype=bool)
    first[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return np.flatnonzero(first)


def _find(ordered: Keys, queries: Keys) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """A valid place in `ordered` for each query, and whether the query stands there."""
    if not len(ordered):
        return np.zeros(len(queries), dtype=np.intp), np.zeros(len(queries), dtype=bool)
    places = np.minimum(np.searchsorted(ordered, queries), len(ordered) - 1)
    return places, ordered[places] == queries
