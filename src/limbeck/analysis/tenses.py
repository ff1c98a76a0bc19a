"""Does a verb's tense decide where it lies, rather than its sense? (Rajaee & Pilehvar 2021, Table 4.)"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.analysis.lexicon import TenseLexicon, find_verbs
from limbeck.analysis.neighbors import distances
from limbeck.analysis.reading import read
from limbeck.analysis.result import Analysis, Claim, Findings, Row
from limbeck.analysis.settings import DEFAULTS, METRICS, VERBS, AnalysisSettings, TenseSettings
from limbeck.analysis.spaces import BASELINE, Space, check_rows, fit_spaces
from limbeck.corpus import Corpus, Sentence
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError
from limbeck.measures import log10_isotropy, log10_isotropy_one_sign
from limbeck.measures.intervals import bootstrap_mean
from limbeck.stream import TextSource
from limbeck.stream.workers import Workers

Floats = NDArray[np.float64]

#: pairs of occurrences of one verb: same or different tense, same or different meaning
KINDS = ("ST-SM", "ST-DM", "DT-SM", "DT-DM")
TENSE_KINDS = ("ST", "DT")  #: whatever their meaning: all there is where senses are not known
COMPARED = ("ST-SM", "ST-DM", "DT-SM")  #: a verb counts if it has pairs of these three, as the paper's table has
NO_SENSES = "senses are not labelled, so that same and different meaning cannot be told apart"


@dataclass(frozen=True)
class TenseSpace:
    """One space and metric.

    verbs       those that have pairs of every kind compared
    by_verb     kind -> (verbs,) mean distance of all ordered pairs of the verb's occurrences; NaN where it has none
    values      kind -> mean over verbs, with the ends of its interval (verbs resampled)
    dominance   DT-SM − ST-DM over verbs (DT − ST where senses are not known) with its interval: above 0, tense decides
    isotropy    log₁₀ I(W) of all the occurrences, both signs and one
    """

    space: str
    metric: str
    verbs: tuple[str, ...]
    by_verb: dict[str, Floats]
    values: dict[str, tuple[float, float, float]]
    dominance: tuple[float, float, float]
    isotropy: tuple[float, float]
    occurrences: int

    def rows(self) -> list[Row]:
        """A row a kind."""
        common = {
            "verbs": len(self.verbs),
            "occurrences": self.occurrences,
            "log10_isotropy": self.isotropy[0],
            "log10_isotropy_one_sign": self.isotropy[1],
        }
        numbers = {**self.values, "dominance": self.dominance}
        return [
            {"space": self.space, "metric": self.metric, "kind": kind, "value": v, "low": low, "high": high, **common}
            for kind, (v, low, high) in numbers.items()
        ]


def verb_distances(
    x: NDArray[Any], tenses: NDArray[Any], senses: NDArray[Any] | None, *, metric: str
) -> dict[str, float]:
    """Mean distance of all ordered pairs of one verb's occurrences by kind of pair; NaN where there is no such pair."""
    away = distances(x, metric)
    np.fill_diagonal(away, 0.0)
    same_tense = tenses[:, None] == tenses[None, :]
    other = ~np.eye(len(x), dtype=bool)
    kinds = {"ST": same_tense, "DT": ~same_tense}
    if senses is not None:
        same_sense = senses[:, None] == senses[None, :]
        kinds |= {
            "ST-SM": same_tense & same_sense,
            "ST-DM": same_tense & ~same_sense,
            "DT-SM": ~same_tense & same_sense,
            "DT-DM": ~same_tense & ~same_sense,
        }
    found = {}
    for kind, pairs in kinds.items():
        count = int((pairs & other).sum())
        found[kind] = float(away[pairs & other].sum() / count) if count else math.nan
    return found


def tense(
    x: Any,
    verbs: Any,
    tenses: Any,
    senses: Any = None,
    *,
    spaces: Sequence[Space] | None = None,
    metrics: Sequence[str] = METRICS,
    settings: AnalysisSettings = DEFAULTS,
) -> list[TenseSpace]:
    """Distances between a verb's occurrences by tense and meaning, in each space and metric.

    x               (n, d) vectors of verb occurrences
    verbs, tenses   (n,) labels
    senses          (n,) labels, or None where they are not known
    settings        `seed`

    Each verb counts once, however many occurrences it has.
    """
    x, seed = np.asarray(x), settings.seed
    verb, tense_of_row = np.asarray(verbs), np.asarray(tenses)
    sense = None if senses is None else np.asarray(senses)
    check_rows(x, verbs=verb, tenses=tense_of_row, **({} if sense is None else {"senses": sense}))
    chosen = fit_spaces(x, seed=seed) if spaces is None else spaces
    names, of_row = np.unique(verb, return_inverse=True)
    members = np.split(np.argsort(of_row, kind="stable"), np.cumsum(np.bincount(of_row))[:-1])
    found = []
    for space in chosen:
        vectors = space(x)
        isotropy = float(log10_isotropy(vectors).value), float(log10_isotropy_one_sign(vectors).value)
        for metric in metrics:
            told = [
                verb_distances(vectors[rows], tense_of_row[rows], None if sense is None else sense[rows], metric=metric)
                for rows in members
            ]
            found.append(_over_verbs(space.name, metric, names, told, isotropy, len(x), seed=seed))
    return found


def _over_verbs(
    space: str,
    metric: str,
    names: NDArray[Any],
    told: Sequence[dict[str, float]],
    isotropy: tuple[float, float],
    occurrences: int,
    *,
    seed: int,
) -> TenseSpace:
    by_verb = {kind: np.array([one[kind] for one in told]) for kind in told[0]}
    sensed = "ST-SM" in by_verb
    needed = COMPARED if sensed else TENSE_KINDS
    kept = np.all([np.isfinite(by_verb[kind]) for kind in needed], axis=0)
    if not kept.any():
        raise LimbeckError(f"no verb has pairs of every kind ({', '.join(needed)}): give more text.", code="too_few")
    by_verb = {kind: values[kept] for kind, values in by_verb.items()}
    over, under = ("DT-SM", "ST-DM") if sensed else ("DT", "ST")
    values = {}
    for kind, distance in by_verb.items():
        there = distance[np.isfinite(distance)][None, :]
        low, high = bootstrap_mean(there, seed=seed, name="tense")
        values[kind] = (float(there.mean()) if there.size else math.nan, float(low[0]), float(high[0]))
    if not sensed:
        values |= dict.fromkeys(KINDS, (math.nan, math.nan, math.nan))
    difference = (by_verb[over] - by_verb[under])[None, :]
    low, high = bootstrap_mean(difference, seed=seed, name="tense")
    dominance = float(difference.mean()), float(low[0]), float(high[0])
    return TenseSpace(space, metric, tuple(names[kept].tolist()), by_verb, values, dominance, isotropy, occurrences)


def tense_claims(found: Sequence[TenseSpace]) -> list[Claim]:
    """T4: tense dominates sense before, and not after; isotropy rises."""
    claims = []
    before = {one.metric: one for one in found if one.space == BASELINE}
    for one in found:
        sensed = math.isfinite(one.values["ST-DM"][0])
        value, low, high = one.dominance
        n = len(one.verbs)
        told = ", ".join(f"{kind} {one.values[kind][0]:.3f}" for kind in (COMPARED if sensed else TENSE_KINDS))
        why = f"{told} over {n} verbs"
        turned = f"ST-DM − DT-SM, with {why}"  # the table has it the other way round
        if one.space == BASELINE:
            text, rule = "tense dominates sense", "mean over verbs of DT-SM minus ST-DM"
            if not sensed:
                claims.append(_unshown("T4.before", text, rule, one.metric))
                text, rule = "tenses lie apart", "mean over verbs of DT minus ST"
            id = "T4.before" if sensed else "T4.tenses-apart"
            claims.append(Claim(id, text, rule, value, low, high, n, why, one.metric))
            continue
        text = f"tense does not dominate sense any more ({one.space})"
        rule = "mean over verbs of ST-DM minus DT-SM"
        id = f"T4.after.{one.space}"
        if sensed:
            claims.append(Claim(id, text, rule, -value, -high, -low, n, turned, one.metric))
            continue
        claims.append(_unshown(id, text, rule, one.metric))
        claims.append(_nearer(before[one.metric], one))
    return claims


def _nearer(before: TenseSpace, after: TenseSpace) -> Claim:
    """Whether tenses are less far apart than before, beside all distances: every repair shortens those."""
    told = [(one.by_verb["DT"] - one.by_verb["ST"], one.by_verb["DT"] + one.by_verb["ST"]) for one in (before, after)]
    there = np.all([total > 0 for _, total in told], axis=0)
    first, second = (difference[there] / total[there] for difference, total in told)
    change = (first - second)[None, :]
    low, high = bootstrap_mean(change, seed=0, name="tense")
    known = bool(there.any())
    return Claim(
        f"T4.tenses-nearer.{after.space}",
        "tenses lie less far apart than before",
        f"mean over verbs of (DT − ST) / (DT + ST): {BASELINE} minus {after.space}",
        float(change.mean()) if known else math.nan,
        float(low[0]),
        float(high[0]),
        int(there.sum()),
        f"(DT − ST) / (DT + ST) is {first.mean():.3f} before, {second.mean():.3f} after"
        if known
        else "all distances are 0",
        after.metric,
    )


def _unshown(id: str, text: str, rule: str, metric: str) -> Claim:
    return Claim(id, text, rule, math.nan, math.nan, math.nan, 0, NO_SENSES, metric)


def tense_of(
    encoder: Encoder,
    corpus: Iterable[Sentence],
    *,
    treebank: Iterable[Sentence] | None = None,
    settings: AnalysisSettings = DEFAULTS,
    wanted: TenseSettings = VERBS,
    batch_tokens: int | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Analysis:
    """Table 4 for a model: verbs of a labelled corpus, every layer of the encoder, before and after repair.

    treebank  CoNLL-U sentences that tell tenses where the corpus does not (SemCor)
    wanted    how many occurrences of a verb

    Only sentences with such verbs are read. Words are units, the mean of their pieces.
    """
    if encoder.units != "words":
        raise LimbeckError("Verbs are labelled words: --units must be words.", code="unsupported", parameter="units")
    lexicon = None if treebank is None else TenseLexicon.learn(treebank)
    verbs = find_verbs(corpus, lexicon, wanted, seed=settings.seed)
    source = TextSource(Corpus.from_sentences(verbs.sentences), encoder, "sentence", batch_tokens)
    found = read(source, points=settings.points, chosen=verbs.hashes, workers=workers, progress=progress)
    there = np.flatnonzero(found.found)
    if not len(there):
        raise LimbeckError("no labelled verb has a vector: check --model.", code="no_vectors")
    lemmas, tenses = np.array(verbs.lemmas)[there], np.array(verbs.tenses)[there]
    senses = np.array(verbs.senses)[there] if verbs.with_senses else None
    findings = Findings("tense", encoder.name, ("tense", "verbs", "spaces"))
    for place, layer in enumerate(source.layers):
        x = found.chosen[place][there]
        spaces = found.spaces(place, settings, x)
        judged = tense(x, lemmas, tenses, senses, spaces=spaces, settings=settings)
        findings.add(
            layer,
            tense_claims(judged),
            tense=(row for one in judged for row in one.rows()),
            verbs=_verb_rows(judged, settings.metric),
            spaces=(space.row() for space in spaces),
        )
    missing = int((~found.found).sum())
    dropped = verbs.dropped | found.dropped | ({"labelled verbs without a vector": missing} if missing else {})
    return findings.analysis(
        units="words",
        settings={**settings.describe(), **wanted.as_dict()},
        dropped=dropped,
        notes=() if verbs.with_senses else (NO_SENSES,),
    )


def _verb_rows(judged: Sequence[TenseSpace], metric: str) -> list[Row]:
    """A row a verb and space, for the metric that was asked for."""
    return [
        {"space": one.space, "verb": verb, **{kind: values[at] for kind, values in one.by_verb.items()}}
        for one in judged
        if one.metric == metric
        for at, verb in enumerate(one.verbs)
    ]
