"""How much of a space is word frequency? (Rajaee & Pilehvar 2021, Figure 5.)"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.analysis.neighbors import nearest
from limbeck.analysis.reading import EVERY, read
from limbeck.analysis.result import Analysis, Claim, Findings, Row
from limbeck.analysis.settings import DEFAULTS, AnalysisSettings
from limbeck.analysis.spaces import BASELINE, Space, check_rows, fit_spaces
from limbeck.errors import LimbeckError
from limbeck.evaluation.correlations import ranks
from limbeck.measures.intervals import QUANTILES, REPLICATES
from limbeck.seeds import generator_for
from limbeck.stream import Source, survey
from limbeck.stream.run import running
from limbeck.stream.workers import Workers

Floats = NDArray[np.float64]
Estimate = tuple[float, float, float]  #: value and the ends of its interval

COMPONENTS = 5  #: whose correlations are told one by one
DRAWN = 2  #: components of the picture, whose R² the claim is about
MANY = 10  #: components whose R² is told beside it
BANDS = 5  #: of frequency, each with about as many occurrences
QUERIES = 2000  #: rows whose neighbours are looked at
PICTURE = 1500  #: points of the picture
EMPTY = 1e-9  #: of the largest variance: a direction without any
UNCOUNTED = "unit not in the counts"


@dataclass(frozen=True)
class FrequencySpace:
    """One space. All intervals are over words: occurrences of a word come and go together.

    pearson, spearman   of each of the first components with log frequency, their sign turned to be positive
    r2                  number of first components -> share of log frequency's variance that they give together (R²)
    r2_of_all           the same of all dimensions: what is still there for a linear probe
    variance_share      share of the space's variance that log frequency explains, ‖cov(x, f)‖² / (var f · tr C)
    norm_pearson, norm_spearman   of the vectors' lengths with log frequency
    neighbors           share of nearest neighbours, those of the same word left out, in the same frequency band
    chance              the same if neighbours were drawn at random
    projection          (n, 2) the first two components
    """

    space: str
    pearson: tuple[Estimate, ...]
    spearman: tuple[Estimate, ...]
    r2: dict[int, Estimate]
    r2_of_all: float
    variance_share: float
    norm_pearson: Estimate
    norm_spearman: Estimate
    neighbors: Estimate
    chance: float
    projection: Floats
    occurrences: int
    words: int
    r2_draws: Floats  # (replicates,) of the first two components, the same words in every space

    def rows(self) -> list[Row]:
        """A row a number."""
        nothing = (math.nan, math.nan)
        numbers: list[tuple[str, int, Estimate]] = [
            *(("pearson", place, one) for place, one in enumerate(self.pearson, 1)),
            *(("spearman", place, one) for place, one in enumerate(self.spearman, 1)),
            *(("r2_of_first_components", count, one) for count, one in self.r2.items()),
            ("r2_of_all_dimensions", 0, (self.r2_of_all, *nothing)),
            ("variance_share", 0, (self.variance_share, *nothing)),
            ("norm_pearson", 0, self.norm_pearson),
            ("norm_spearman", 0, self.norm_spearman),
            ("neighbors_in_band", 0, self.neighbors),
            ("neighbors_in_band_by_chance", 0, (self.chance, *nothing)),
        ]
        return [
            {
                "space": self.space, "measure": measure, "components": count, "value": one[0], "low": one[1],
                "high": one[2], "occurrences": self.occurrences, "words": self.words,
            }
            for measure, count, one in numbers
        ]  # fmt: skip


def frequency(
    x: Any,
    frequencies: Any,
    words: Any,
    *,
    spaces: Sequence[Space] | None = None,
    settings: AnalysisSettings = DEFAULTS,
) -> list[FrequencySpace]:
    """How far frequency decides where vectors lie, in each space.

    x            (n, d) vectors of occurrences
    frequencies  (n,) how often the row's word occurs, in any text and unit; above 0
    words        (n,) the row's word
    settings     `neighbors`, `metric` and `seed`
    """
    x, counts, word = np.asarray(x), np.asarray(frequencies, dtype=np.float64), np.asarray(words)
    check_rows(x, frequencies=counts, words=word)
    if not (np.isfinite(counts) & (counts > 0)).all():
        raise LimbeckError(
            "frequencies must be finite and above 0; some are not: leave those rows out.",
            code="out_of_range",
            parameter="frequencies",
        )
    names, of_row = np.unique(word, return_inverse=True)
    log = np.log10(counts)
    if len(names) < 3 or np.ptp(log) == 0:
        raise LimbeckError("at least three words of different frequencies are needed.", code="too_few")
    seed = settings.seed
    chosen = fit_spaces(x, seed=seed) if spaces is None else spaces
    generator = generator_for(seed, "frequency", "words")
    drawn = generator.multinomial(len(names), np.full(len(names), 1 / len(names)), size=REPLICATES)
    weights = drawn.astype(np.float64)
    queries = np.sort(generator_for(seed, "frequency", "queries").permutation(len(x))[:QUERIES])
    bands = bands_of(log)
    return [_one_space(space.name, space(x), log, of_row, weights, bands, queries, settings) for space in chosen]


def bands_of(log: Floats, bands: int = BANDS) -> NDArray[np.int64]:
    """The frequency band (n,) of each row: quantiles, words of equal frequency always together.

    >>> bands_of(np.array([1.0, 1.0, 1.0, 2.0, 3.0, 4.0]), 2).tolist()
    [0, 0, 0, 1, 1, 1]
    """
    edges = np.unique(np.quantile(log, np.arange(1, bands) / bands, method="lower"))
    return np.searchsorted(edges, log, side="left").astype(np.int64)


def _one_space(
    name: str,
    x: NDArray[Any],
    log: Floats,
    word: NDArray[np.int64],
    weights: Floats,
    bands: NDArray[np.int64],
    queries: NDArray[np.int64],
    settings: AnalysisSettings,
) -> FrequencySpace:
    rows = x.astype(np.float64)
    norms = np.linalg.norm(rows, axis=1)
    centered = rows - rows.mean(0)
    covariance = centered.T @ centered / len(rows)
    along = (log - log.mean()) @ centered / len(rows)
    explained = float(along @ along / (log.var() * np.trace(covariance)))
    variances, directions = np.linalg.eigh(covariance)
    # directions that a repair has emptied hold rounding alone, and that tells frequency too, being relative to length
    count = max(1, min(MANY, int((variances > EMPTY * variances[-1]).sum())))
    scores = centered @ directions[:, ::-1][:, :count]
    signs = np.where((scores * (log - log.mean())[:, None]).sum(0) < 0, -1.0, 1.0)
    told = min(COMPONENTS, count)
    log_ranks = ranks(log)
    pearson = [_correlate(scores[:, at] * signs[at], log, word, weights) for at in range(told)]
    spearman = [_correlate(ranks(scores[:, at]), log_ranks, word, weights) for at in range(told)]
    # ranks may turn the other way where a component is bent
    spearman = [one if one[0] >= 0 else (-one[0], -one[2], -one[1]) for one in spearman]
    r2, draws = {}, np.empty(0)
    for many in sorted({min(DRAWN, count), count}):
        value, drawn = r_squared(scores[:, :many], log, word, weights)
        r2[many] = (value, *_ends(drawn))
        draws = drawn if many == min(DRAWN, count) else draws
    near = nearest(x, neighbors=settings.neighbors, metric=settings.metric, queries=queries, apart=word)
    same = (bands[near] == bands[queries][:, None]).mean(1)
    return FrequencySpace(
        space=name,
        pearson=tuple(pearson),
        spearman=tuple(spearman),
        r2=r2,
        r2_of_all=float(along @ np.linalg.pinv(covariance, rcond=EMPTY, hermitian=True) @ along / log.var()),
        variance_share=explained,
        norm_pearson=_correlate(norms, log, word, weights),
        norm_spearman=_correlate(ranks(norms), log_ranks, word, weights),
        neighbors=_mean(same, word[queries], weights),
        chance=_chance(bands, word, queries),
        projection=scores[:, :2],
        occurrences=len(x),
        words=weights.shape[1],
        r2_draws=draws,
    )


def _correlate(a: Floats, b: Floats, word: NDArray[np.int64], weights: Floats) -> Estimate:
    """Pearson's r over occurrences, words resampled; ranks given are kept as they are in every resample."""
    value, draws = r_squared(a[:, None], b, word, weights, signed=True)
    return (value, *_ends(draws))


def r_squared(
    z: Floats, y: Floats, word: NDArray[np.int64], weights: Floats, *, signed: bool = False
) -> tuple[float, Floats]:
    """R² of the regression of y (n,) on z (n, m): of all rows, and of words resampled by weights (replicates, words).

    With one column and `signed`, its correlation instead. NaN where z or y do not vary.
    """
    standard = np.column_stack([z - z.mean(0), y - y.mean()])
    scale = standard.std(0)
    standard = standard / np.where(scale > 0, scale, 1.0)
    both = np.column_stack([np.ones(len(y)), standard])  # (n, m + 2)
    size = both.shape[1]
    products = _sums_by_word((both[:, :, None] * both[:, None, :]).reshape(len(both), -1), word, weights.shape[1])
    sums = np.vstack([products.sum(0), weights @ products]).reshape(-1, size, size)
    sums = sums / sums[:, :1, :1]
    mean = sums[:, 0, 1:]
    covariance = sums[:, 1:, 1:] - mean[:, :, None] * mean[:, None, :]
    zz, zy, yy = covariance[:, :-1, :-1], covariance[:, :-1, -1], covariance[:, -1, -1]
    if not (scale > 0).all():
        found = np.full(len(sums), np.nan)
    elif signed:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = zy[:, 0] / np.sqrt(zz[:, 0, 0] * yy)
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.einsum("bi,bij,bj->b", zy, np.linalg.pinv(zz, hermitian=True), zy) / yy
    return float(found[0]), found[1:]


def _sums_by_word(rows: Floats, word: NDArray[np.int64], words: int) -> Floats:
    """Sums (words, m) of rows (n, m); every word has a row."""
    order = np.argsort(word, kind="stable")
    starts = np.searchsorted(word[order], np.arange(words))
    return np.asarray(np.add.reduceat(rows[order], starts, axis=0))


def _ends(draws: Floats) -> tuple[float, float]:
    known = draws[np.isfinite(draws)]
    if not len(known):
        return math.nan, math.nan
    low, high = np.quantile(known, QUANTILES)
    return float(low), float(high)


def _mean(values: Floats, word: NDArray[np.int64], weights: Floats) -> Estimate:
    """Mean over rows, words resampled."""
    sums = np.bincount(word, values, minlength=weights.shape[1])
    counts = np.bincount(word, minlength=weights.shape[1])
    with np.errstate(invalid="ignore", divide="ignore"):
        draws = (weights @ sums) / (weights @ counts)
    return (float(values.mean()), *_ends(draws))


def _chance(bands: NDArray[np.int64], word: NDArray[np.int64], queries: NDArray[np.int64]) -> float:
    """Share of the rows of other words that are in a query's band, averaged over queries."""
    in_band = np.bincount(bands)
    of_word = np.bincount(word)
    # all rows of a word are in one band
    others = in_band[bands[queries]] - of_word[word[queries]]
    return float((others / (len(bands) - of_word[word[queries]])).mean())


def frequency_claims(found: Sequence[FrequencySpace]) -> list[Claim]:
    """F5: the first two components tell less of frequency after repair."""
    before = next(one for one in found if one.space == BASELINE)
    claims = []
    for one in found:
        if one.space == BASELINE:
            continue
        count = min(one.r2)
        difference = before.r2[count][0] - one.r2[count][0]
        low, high = _ends(before.r2_draws - one.r2_draws)
        claims.append(
            Claim(
                id=f"F5.shrinks.{one.space}",
                text="frequency bias shrinks",
                rule=f"R² of log frequency on the first {count} components: {BASELINE} minus {one.space}, over words",
                value=difference,
                low=low,
                high=high,
                n=one.words,
                why=f"{before.r2[count][0]:.3f} before, {one.r2[count][0]:.3f} after",
            )
        )
    return claims


def frequency_of(
    source: Source,
    *,
    count_in: Source | None = None,
    settings: AnalysisSettings = DEFAULTS,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Analysis:
    """Figure 5 for a model: a sample of all units of a text, every layer of the source, before and after repair.

    count_in   a larger text read by the same encoder, in which units are counted; without it the text itself. No model
               runs for it.
    """
    found = read(source, points=settings.points, workers=workers, progress=progress)
    counted = found.plan
    if count_in is not None:
        with running(workers, progress=progress) as context:
            counted = survey(count_in, choice=EVERY, context=context)
    vocabulary = counted.vocabulary
    count_of: Mapping[str, int] = dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True))
    findings = Findings("frequency", source.name, ("frequency", "points", "spaces"))
    dropped = dict(found.dropped)
    for place, layer in enumerate(source.layers):
        everything, strings = found.sample(place)
        known = np.flatnonzero([string in count_of for string in strings])
        if len(known) < len(strings):
            dropped[UNCOUNTED] = len(strings) - len(known)
        if not len(known):
            raise LimbeckError(
                "no unit of the text occurs in the text that is counted: give another to --count-in.",
                code="no_words",
                parameter="count_in",
            )
        x, words = everything[known], [strings[row] for row in known.tolist()]
        counts = np.array([count_of[word] for word in words], dtype=np.float64) * 1e6 / counted.units
        spaces = found.spaces(place, settings, x)
        judged = frequency(x, counts, words, spaces=spaces, settings=settings)
        findings.add(
            layer,
            frequency_claims(judged),
            frequency=(row for one in judged for row in one.rows()),
            points=_picture(judged, words, counts),
            spaces=(space.row() for space in spaces),
        )
    return findings.analysis(
        units=found.units,
        settings={
            **settings.describe(),
            "counted": counted.units,
            "counted_in": "the text" if count_in is None else "--count-in",
        },
        dropped=dropped,
        notes=()
        if found.points.complete
        else (f"{len(found.points):,} of {found.points.seen:,} occurrences, chosen by hash",),
    )


def _picture(judged: Sequence[FrequencySpace], words: Sequence[str], counts: Floats) -> list[Row]:
    """The first rows, which a hash has chosen, in the first two components of each space."""
    return [
        {
            "space": one.space, "unit": words[at], "per_million": float(counts[at]),
            "first": float(one.projection[at, 0]), "second": float(one.projection[at, -1]),
        }
        for one in judged
        for at in range(min(PICTURE, len(words)))
    ]  # fmt: skip
