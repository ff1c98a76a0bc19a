"""From filled accumulators to every number of a measuring run. Pure: nothing is read or written here."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators import (
    Accumulator,
    Moments,
    Norms,
    Occurrences,
    Partition,
    Points,
    SentencePoints,
    Sentences,
    UnitSums,
    WordSums,
)
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.measures.contextuality import (
    anisotropy_of,
    dimension_shares_of,
    intra_sentence_similarity_of,
    matched_baseline_of,
    sampled_anisotropy_of,
    self_similarity_of,
)
from limbeck.measures.isotropy import eigenvectors, isoscore_of, log10_isotropy_from, log10_isotropy_of
from limbeck.measures.mev import MEASURES as MEV_MEASURES
from limbeck.measures.mev import mev_of, word_variance
from limbeck.measures.norms import norms_of
from limbeck.measures.result import Floats, Result, WordResult
from limbeck.measures.spectrum import Spectrum, effective_rank_of, participation_ratio_of, spectrum_of
from limbeck.runs.measure import MeasureSettings
from limbeck.stream import Plan
from limbeck.stream.plan import chosen_by_hash


@dataclass(frozen=True)
class Measured:
    """Every number of one run, with what it was made of; `measured["self_similarity"].value` is by layer."""

    name: str
    layers: tuple[str, ...]
    results: dict[str, Result]
    plan: Plan
    counted: NDArray[np.bool_]  # (words,) of the plan's: those that numbers of words are made of, see `counted_words`
    kept_words: list[int]  # ids of the words that have MEV
    spectrum: Spectrum
    dimensions: dict[str, Floats]  # share, low, high, mean, variance: (layers, d) each
    moments: Moments
    points: Points
    source: Mapping[str, object] = field(default_factory=dict)  # where the vectors came from

    def __getitem__(self, measure: str) -> Result:
        return self.results[measure]

    def words(self, measure: str = "self_similarity") -> WordResult:
        """A measure of words: `run.words("mev")["bank"]`."""
        result = self.results[measure]
        if not isinstance(result, WordResult):
            raise KeyError(f"{measure} is not a measure of words")
        return result


def compute(
    name: str,
    layers: tuple[str, ...],
    plan: Plan,
    accumulators: list[Accumulator],
    settings: MeasureSettings,
    partition: Partition | None = None,
) -> Measured:
    """All measures, in the order of the table."""
    found: dict[type, Any] = {type(accumulator): accumulator for accumulator in accumulators}
    moments: Moments = found[Moments]
    sums: UnitSums = found[UnitSums]
    norms: Norms = found[Norms]
    words: WordSums = found[WordSums]
    sentences: Sentences = found[Sentences]
    points: Points = found[Points]
    occurrences: Occurrences = found[Occurrences]
    rules, seed = settings.rules, settings.seed

    if rules.anisotropy_sample:
        anisotropy = sampled_anisotropy_of(found[SentencePoints], pairs=rules.anisotropy_sample, seed=seed)
    else:
        anisotropy = anisotropy_of(sums)
    counted = counted_words(plan.vocabulary, words, settings)
    similarity = self_similarity_of(
        words,
        plan.vocabulary.words,
        baseline=anisotropy.value,
        enough=_some(plan.vocabulary.words, counted, rules.word_sample, seed),
        across_contexts=rules.across_contexts,
        seed=seed,
    )
    results: list[Result] = [
        anisotropy,
        _of_counted(similarity, counted),
        intra_sentence_similarity_of(sentences, baseline=anisotropy.value),
    ]
    matched, note = matched_baseline_of(points, sentences.lengths, seed=seed)
    results.append(intra_sentence_similarity_of(sentences, baseline=matched, matched=True, note=note))
    variance = word_variance(occurrences, points, seed=seed, baseline_size=rules.mev_baseline_size or None)
    kept = occurrences.chosen
    varying = mev_of(variance, [plan.vocabulary.words[i] for i in kept], enough=counted[kept], seed=seed)
    results += [_of_counted(result, counted[kept]) for result in varying]
    results += _isotropies(points, partition, moments, layers)
    spectrum = spectrum_of(moments, points)
    results += [isoscore_of(moments), effective_rank_of(spectrum, n=moments.n), participation_ratio_of(moments)]
    results += norms_of(norms, moments)
    share, low, high = dimension_shares_of(sums)
    order = np.sort(share, axis=1)[:, ::-1]
    results.append(Result("largest_dimension_share", order[:, 0], moments.n))
    results.append(Result("three_largest_dimension_shares", order[:, :3].sum(1), moments.n))
    dimensions = {
        "share": share,
        "low": low,
        "high": high,
        "mean": moments.mean.cpu().numpy(),
        "variance": moments.covariance.diagonal(dim1=1, dim2=2).cpu().numpy(),
    }
    by_name = {result.measure: replace(result, layers=layers) for result in results}
    return Measured(name, layers, by_name, plan, counted, kept, spectrum, dimensions, moments, points)


def counted_words(vocabulary: Vocabulary, words: WordSums, settings: MeasureSettings) -> NDArray[np.bool_]:
    """Which words count, everywhere: in means over words, in the tables of words, and in all that is made of these.

    A word must stand in at least `min_contexts` different texts, and two of its occurrences in different ones must
    have a vector: some have none, such as those at the first position of a decoder's window.
    """
    rules = settings.rules
    found = vocabulary.counts if rules.by_occurrences else vocabulary.contexts
    within = words.pairs if rules.across_contexts else words.n  # of all pairs, those that are not compared
    return np.asarray((found >= settings.min_contexts) & (words.n**2 > within))


def _of_counted(result: WordResult, counted: NDArray[np.bool_]) -> WordResult:
    """Without values of words that do not count."""
    return replace(result, values=np.where(counted, result.values, np.nan))


def basis_of(moments: Moments) -> torch.Tensor:
    """Eigenvectors of each layer's raw second moment: the directions of I(W) for a second pass."""
    return torch.stack([eigenvectors(matrix)[0] for matrix in moments.second_moment])


def _isotropies(points: Points, partition: Partition | None, moments: Moments, layers: tuple[str, ...]) -> list[Result]:
    names = ("log10_isotropy", "log10_isotropy_one_sign")
    if partition is not None:
        both = np.stack(log10_isotropy_from(partition))
        told = [eigenvectors(matrix)[1] for matrix in moments.second_moment]
        both[:, [bool(note) for note in told]] = np.nan
        why = "; ".join(f"layer {layer}: {note}" for layer, note in zip(layers, told, strict=True) if note)
        return [Result(name, value, partition.n, note=why) for name, value in zip(names, both, strict=True)]
    values = np.empty((2, points.layers))
    notes: list[str] = []
    greatest = 0.0
    for layer, name in enumerate(layers):
        w = torch.from_numpy(points.layer(layer))
        greatest = max(greatest, float(w.norm(dim=1).max()))
        values[:, layer], note = log10_isotropy_of(w)
        if note:
            notes.append(f"layer {name}: {note}")
    if not points.complete:
        notes.append(f"sample of {len(points)} of {points.seen} occurrences, largest norm {greatest:.4g}")
    return [Result(name, value, len(points), note="; ".join(notes)) for name, value in zip(names, values, strict=True)]


def _some(words: list[str], enough: NDArray[np.bool_], count: int, seed: int) -> NDArray[np.bool_]:
    """At most `count` of the words that have enough, chosen by hash; all of them for 0."""
    places = np.flatnonzero(enough).tolist()
    if not count or len(places) <= count:
        return enough
    some = np.zeros_like(enough)
    some[chosen_by_hash(words, places, count, seed)] = True
    return some


# tables


def layer_table(measured: Measured) -> dict[str, list[Any]]:
    """A row a layer and measure."""
    columns: dict[str, list[Any]] = {
        name: [] for name in ("layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note")
    }
    for place, layer in enumerate(measured.layers):
        for result in measured.results.values():
            at = {name: _at(getattr(result, name), place) for name in ("value", "baseline", "adjusted", "low", "high")}
            n = int(result.n[place]) if isinstance(result.n, np.ndarray) else result.n
            note = result.note if isinstance(result.note, str) else result.note[place]
            for name, value in {"layer": layer, "measure": result.measure, "n": n, "note": note, **at}.items():
                columns[name].append(value)
    return columns


def word_table(measured: Measured) -> dict[str, Any]:
    """A row a word that counts and layer; MEV is empty for words whose occurrences were not kept."""
    vocabulary = measured.plan.vocabulary
    rows = np.flatnonzero(measured.counted)
    layers = len(measured.layers)
    similarity = measured.words("self_similarity")
    columns: dict[str, Any] = {
        "word": [vocabulary.words[row] for row in rows.tolist() for _ in range(layers)],
        "layer": list(measured.layers) * len(rows),
        "n": np.repeat(similarity.counts[rows], layers),
        "contexts": np.repeat(vocabulary.contexts[rows], layers),
        "self_similarity": similarity.values[:, rows].T.ravel(),
    }
    for name in MEV_MEASURES:
        result = measured.words(name)
        for column, found in ((name, result.values), (f"{name}_baseline", result.baselines)):
            values = np.full((len(vocabulary), layers), np.nan)
            if found is not None:
                values[measured.kept_words] = found.T
            columns[column] = values[rows].ravel()
    kept = np.zeros(len(vocabulary), dtype=np.int64)
    kept[measured.kept_words] = measured.words("mev").counts
    columns["mev_n"] = np.repeat(kept[rows], layers)
    return columns


def frequency_table(measured: Measured) -> dict[str, list[Any]]:
    """Means over the words that count by frequency band: bands double, [5, 10), [10, 20), …"""
    similarity = measured.words("self_similarity")
    counts = similarity.counts[measured.counted]
    values = similarity.values[:, measured.counted]
    columns: dict[str, list[Any]] = {
        name: [] for name in ("layer", "from", "below", "words", "self_similarity", *MEV_MEASURES)
    }
    if not len(counts):
        return columns
    edges = [max(int(counts.min()), 1)]
    while edges[-1] <= counts.max():
        edges.append(edges[-1] * 2)
    mev_counts = similarity.counts[measured.kept_words]  # the MEVs of those that do not count are NaN
    for place, layer in enumerate(measured.layers):
        for low, high in itertools.pairwise(edges):
            here = (counts >= low) & (counts < high)
            if not here.any():
                continue
            row: dict[str, Any] = {"layer": layer, "from": low, "below": high, "words": int(here.sum())}
            row["self_similarity"] = _mean(values[place, here])
            for name in MEV_MEASURES:
                row[name] = _mean(measured.words(name).values[place, (mev_counts >= low) & (mev_counts < high)])
            for name, value in row.items():
                columns[name].append(value)
    return columns


def spectrum_table(measured: Measured) -> dict[str, Any]:
    """A row a layer and eigenvalue, largest first."""
    layers, d = measured.spectrum.raw.shape
    return {
        "layer": [layer for layer in measured.layers for _ in range(d)],
        "index": np.tile(np.arange(d), layers),
        "raw": measured.spectrum.raw.ravel(),
        "centered": measured.spectrum.centered.ravel(),
    }


def dimension_table(measured: Measured) -> dict[str, Any]:
    """A row a layer and dimension."""
    layers, d = measured.dimensions["share"].shape
    columns: dict[str, Any] = {
        "layer": [layer for layer in measured.layers for _ in range(d)],
        "dimension": np.tile(np.arange(d), layers),
    }
    return columns | {name: values.ravel() for name, values in measured.dimensions.items()}


def _at(value: Any, place: int) -> float | None:
    return None if value is None else float(value[place])


def _mean(values: Floats) -> float:
    defined = values[np.isfinite(values)]
    return float(defined.mean()) if len(defined) else float("nan")
