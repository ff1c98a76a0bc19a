"""What the clusters of a space contain, and whether they share their dominant directions (Rajaee & Pilehvar 2021)."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.analysis.neighbors import squares
from limbeck.analysis.reading import read
from limbeck.analysis.result import Analysis, Claim, Findings, Row
from limbeck.analysis.settings import DEFAULTS, AnalysisSettings
from limbeck.analysis.spaces import BASELINE, PUBLISHED, Space, check_rows, family_of, fit_spaces
from limbeck.corpus.vocabulary import punctuation_only
from limbeck.errors import LimbeckError
from limbeck.measures.intervals import QUANTILES, REPLICATES
from limbeck.repairs import AllButTheTop, ClusterRemoval
from limbeck.seeds import generator_for
from limbeck.stream import Source
from limbeck.stream.workers import Workers

Floats = NDArray[np.float64]

NOTABLE = 0.01  #: share of a cluster's tokens from which it is said to contain them
TYPICAL = 8  #: tokens named of each cluster
MARKS = ("##", "Ġ", "▁")  #: what tokenisers put before a piece
LEAST_ROWS = 20  #: of a cluster whose first component is looked at: half of them must still have one
LEAST_CLUSTERS = 3  #: whose first components are compared: of two there is one angle, and no interval


@dataclass(frozen=True)
class Cluster:
    """One cluster.

    punctuation, stop_words   shares of its tokens
    tokens     the most typical: often here and seldom elsewhere (largest p log(p/q), q the share in the whole)
    variance   share of its variance along its own first component
    halves     |cos| of the first components of two random halves of it: how far the direction is its own, not chance
    to_global  |cos| of its first component with the whole space's
    """

    size: int
    punctuation: float
    stop_words: float
    tokens: tuple[str, ...]
    variance: float
    halves: float
    to_global: float


@dataclass(frozen=True)
class ClusterSpace:
    """The clusters of one space, largest first.

    cosines      (k, k) |cos| between the clusters' first components; NaN in rows of clusters too small to have one
    mean_cosine  over pairs of clusters, with its interval (clusters resampled)
    random       what two random directions of so many dimensions give on average, √(2/πd)
    gap          mean |cos| of two halves of a cluster minus that between clusters, with its interval
    """

    space: str
    clusters: tuple[Cluster, ...]
    cosines: Floats
    mean_cosine: tuple[float, float, float]
    random: float
    gap: tuple[float, float, float]
    punctuation: float  # share in the whole
    stop_words: float

    def share_with(self, kind: str, least: float) -> float:
        """Share of clusters of whose tokens at least so many are punctuation or stop words (and at least one is)."""
        shares = np.array([getattr(one, kind) for one in self.clusters])
        return float(((shares > 0) & (shares >= least)).mean())

    def cluster_rows(self) -> list[Row]:
        return [
            {"space": self.space, "cluster": number, **vars(one), "tokens": " ".join(one.tokens)}
            for number, one in enumerate(self.clusters)
        ]

    def row(self) -> Row:
        """The space in a row."""

        def angle(cosine: float) -> float:
            return math.degrees(math.acos(min(1.0, cosine))) if math.isfinite(cosine) else math.nan

        to_global = np.array([one.to_global for one in self.clusters])
        halves = np.array([one.halves for one in self.clusters])
        return {
            "space": self.space,
            "clusters": len(self.clusters),
            "with_punctuation": self.share_with("punctuation", 0.0),
            "with_1_percent_punctuation": self.share_with("punctuation", NOTABLE),
            "mostly_punctuation": self.share_with("punctuation", 0.5),
            "with_1_percent_stop_words": self.share_with("stop_words", NOTABLE),
            "mostly_stop_words": self.share_with("stop_words", 0.5),
            "punctuation_in_text": self.punctuation,
            "stop_words_in_text": self.stop_words,
            "mean_cosine": self.mean_cosine[0],
            "mean_cosine_low": self.mean_cosine[1],
            "mean_cosine_high": self.mean_cosine[2],
            "mean_angle": angle_mean(self.cosines),
            "random_cosine": self.random,
            "halves_cosine": _mean(halves),
            "halves_angle": angle(_mean(halves)),
            "to_global_cosine": _mean(to_global),
            "gap": self.gap[0],
            "gap_low": self.gap[1],
            "gap_high": self.gap[2],
        }


def clusters(
    x: Any,
    tokens: Any,
    *,
    k: int,
    stop_words: frozenset[str] | None = None,
    spaces: Sequence[Space] | None = None,
    seed: int = 0,
) -> list[ClusterSpace]:
    """k-means clusters of each space: what they contain, and the angles between their first components.

    x           (n, d) vectors
    tokens      (n,) words or pieces
    stop_words  in lower case; spaCy's English list without it
    """
    x, token = np.asarray(x), np.asarray(tokens)
    check_rows(x, tokens=token)
    if not 2 <= k <= len(x) // 2:
        raise LimbeckError(
            f"--clusters must be at least 2 and at most half of the {len(x)} rows; got {k}.",
            code="out_of_range",
            parameter="clusters",
        )
    stop = english_stop_words() if stop_words is None else stop_words
    plain = np.array([_plain(name) for name in token.tolist()])
    kinds = {name: (punctuation_only(name), name.lower() in stop) for name in set(plain.tolist())}
    punctuation = np.array([kinds[name][0] for name in plain.tolist()])
    stopping = np.array([kinds[name][1] for name in plain.tolist()])
    chosen = fit_spaces(x, seed=seed) if spaces is None else spaces
    return [_one_space(space.name, space(x), token, punctuation, stopping, k=k, seed=seed) for space in chosen]


def english_stop_words() -> frozenset[str]:
    """spaCy's list, in lower case."""
    from spacy.lang.en.stop_words import STOP_WORDS

    return frozenset(STOP_WORDS)


def _plain(token: str) -> str:
    """A piece without the mark that its tokeniser put before it.

    >>> _plain("Ġthe"), _plain("##ing"), _plain("##")
    ('the', 'ing', '##')
    """
    return next((token[len(mark) :] for mark in MARKS if token.startswith(mark) and len(token) > len(mark)), token)


def _one_space(
    name: str,
    x: NDArray[Any],
    token: NDArray[Any],
    punctuation: NDArray[np.bool_],
    stopping: NDArray[np.bool_],
    *,
    k: int,
    seed: int,
) -> ClusterSpace:
    rows = x.astype(np.float64)
    fitted = ClusterRemoval(k, 1, random_state=seed, iterations=20).fit(rows)
    labels = squares(torch.from_numpy(rows), torch.from_numpy(fitted.centers_)).argmin(1).numpy()
    members = [np.flatnonzero(labels == number) for number in range(len(fitted.centers_))]
    members = sorted((some for some in members if len(some)), key=len, reverse=True)
    whole = Counter(token.tolist())
    world = first_component(rows)
    generator = generator_for(seed, "clusters", "halves")
    found, directions = [], []
    for some in members:
        own = rows[some]
        enough = len(some) >= LEAST_ROWS
        direction = first_component(own) if enough else None
        directions.append(np.full(rows.shape[1], np.nan) if direction is None else direction)
        centered = own - own.mean(0)
        total = float((centered**2).sum())
        found.append(
            Cluster(
                size=len(some),
                punctuation=float(punctuation[some].mean()),
                stop_words=float(stopping[some].mean()),
                tokens=typical(Counter(token[some].tolist()), whole),
                variance=math.nan if direction is None else float(((centered @ direction) ** 2).sum() / total),
                halves=math.nan if direction is None else _halves(own, generator),
                to_global=math.nan if direction is None or world is None else float(abs(direction @ world)),
            )
        )
    stacked = np.stack(directions)
    cosines = np.abs(stacked @ stacked.T)
    halves = np.array([one.halves for one in found])
    mean, gap = _between(cosines, halves, seed=seed)
    random = math.sqrt(2 / (math.pi * rows.shape[1]))
    return ClusterSpace(
        name, tuple(found), cosines, mean, random, gap, float(punctuation.mean()), float(stopping.mean())
    )


def first_component(x: Floats) -> Floats | None:
    """Unit vector (d,) of most variance; None where all rows are equal."""
    fitted = AllButTheTop(1).fit(x)
    direction: Floats = np.asarray(fitted.components_[0], dtype=np.float64)
    return direction if direction.any() else None


def _halves(x: Floats, generator: np.random.Generator) -> float:
    order = generator.permutation(len(x))
    one, other = (first_component(x[some]) for some in np.array_split(order, 2))
    return math.nan if one is None or other is None else float(abs(one @ other))


def typical(here: Counter[str], whole: Counter[str]) -> tuple[str, ...]:
    """Tokens by p log(p/q), p their share here and q in the whole; the alphabet decides between equals.

    >>> typical(Counter({"the": 5, "sea": 5}), Counter({"the": 100, "sea": 5, "of": 95}))
    ('sea', 'the')
    """
    n, total = here.total(), whole.total()
    score = {name: count / n * math.log(count * total / (n * whole[name])) for name, count in here.items()}
    return tuple(sorted(score, key=lambda name: (-score[name], name))[:TYPICAL])


def _between(cosines: Floats, halves: Floats, *, seed: int) -> tuple[tuple[float, float, float], ...]:
    """Mean |cos| between clusters, and by how much halves of one cluster exceed it; clusters resampled for both.

    A pair of the same cluster drawn twice is no pair of clusters and is left out.
    """
    there = np.flatnonzero(np.isfinite(halves))
    nothing = (math.nan, math.nan, math.nan)
    if len(there) < LEAST_CLUSTERS:
        return nothing, nothing
    cosines, halves = cosines[np.ix_(there, there)], halves[there]
    apart = ~np.eye(len(there), dtype=bool)
    generator = generator_for(seed, "clusters", "between")
    draws = np.empty((2, REPLICATES + 1))
    for at in range(REPLICATES + 1):
        chosen = np.arange(len(there)) if at == 0 else generator.integers(len(there), size=len(there))
        pairs = apart[np.ix_(chosen, chosen)]
        between = cosines[np.ix_(chosen, chosen)][pairs].mean() if pairs.any() else math.nan
        draws[:, at] = between, halves[chosen].mean() - between
    low, high = np.nanquantile(draws[:, 1:], QUANTILES, axis=1)
    mean, gap = ((float(draws[row, 0]), float(low[row]), float(high[row])) for row in (0, 1))
    return mean, gap


def angle_mean(cosines: Floats) -> float:
    """Mean angle in degrees over pairs of clusters."""
    pairs = cosines[np.triu_indices(len(cosines), 1)]
    pairs = pairs[np.isfinite(pairs)]
    return float(np.degrees(np.arccos(np.minimum(pairs, 1.0))).mean()) if len(pairs) else math.nan


def _mean(values: Floats) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else math.nan


def share_interval(share: float, n: int) -> tuple[float, float]:
    """95 % interval of a share of n, which are few (Wilson 1927).

    >>> [round(end, 3) for end in share_interval(0.5, 10)], [round(end, 3) for end in share_interval(1.0, 8)]
    ([0.237, 0.763], [0.676, 1.0])
    """
    z2 = 1.959964**2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return middle - half, min(1.0, middle + half)


def cluster_claims(found: Sequence[ClusterSpace]) -> list[Claim]:
    """F3's neighbours in the text: most clusters contain punctuation; they do not share dominant directions."""
    one = next(space for space in found if space.space == BASELINE)
    n = len(one.clusters)
    share = one.share_with("punctuation", NOTABLE)
    low, high = share_interval(share, n)
    told = [
        Claim(
            id="F3.punctuation",
            text="most clusters contain punctuation",
            rule=f"share of clusters with at least {NOTABLE:.0%} punctuation, minus one half",
            value=share - 0.5,
            low=low - 0.5,
            high=high - 0.5,
            n=n,
            why=f"{share:.0%} of {n} clusters; {one.share_with('punctuation', 0.0):.0%} have one such token or more, "
            f"{one.share_with('punctuation', 0.5):.0%} are mostly of it",
            points="points from one half",
        )
    ]
    value, low, high = one.gap
    why = (
        f"{one.mean_cosine[0]:.3f} between clusters ({one.random:.3f} for random directions), "
        f"{_mean(np.array([c.halves for c in one.clusters])):.3f} between halves of one, "
        f"{_mean(np.array([c.to_global for c in one.clusters])):.3f} with the whole space's"
    )
    compared = sum(math.isfinite(cluster.halves) for cluster in one.clusters)
    if compared < LEAST_CLUSTERS:
        why = (
            f"{LEAST_CLUSTERS} clusters of {LEAST_ROWS} rows or more are needed, {compared} of {n} are: "
            "ask for more clusters, or give more text"
        )
    told.append(
        Claim(
            id="F3.directions",
            text="clusters do not share their dominant directions",
            rule="|cos| of the first components of two halves of a cluster minus that of two clusters, over clusters",
            value=value,
            low=low,
            high=high,
            n=n,
            why=why,
        )
    )
    return told


def clusters_of(
    source: Source,
    *,
    k: int | None = None,
    stop_words: frozenset[str] | None = None,
    settings: AnalysisSettings = DEFAULTS,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Analysis:
    """What the clusters of a model's space contain: a sample of all units of a text, every layer, before and after.

    k   clusters; without it the paper's number for the kind of model (27, or 10 for causal ones)
    """
    found = read(source, points=settings.points, workers=workers, progress=progress)
    count = PUBLISHED[family_of(source)][1] if k is None else k
    findings = Findings("clusters", source.name, ("clusters", "directions", "angles", "spaces"))
    notes = (
        [] if found.points.complete else [f"{len(found.points):,} of {found.points.seen:,} occurrences, chosen by hash"]
    )
    for place, layer in enumerate(source.layers):
        x, strings = found.sample(place)
        spaces = found.spaces(place, settings, x)
        judged = clusters(x, strings, k=count, stop_words=stop_words, spaces=spaces, seed=settings.seed)
        findings.add(
            layer,
            cluster_claims(judged),
            clusters=(row for one in judged for row in one.cluster_rows()),
            directions=(one.row() for one in judged),
            angles=(row for one in judged for row in _angle_rows(one)),
            spaces=(space.row() for space in spaces),
        )
        notes += [
            f"layer {layer}, {one.space}: {len(one.clusters)} clusters instead of {count}, the others stayed empty"
            for one in judged
            if len(one.clusters) < count
        ]
    return findings.analysis(
        units=found.units,
        settings={**settings.describe(), "clusters": count},
        dropped=found.dropped,
        notes=tuple(notes),
    )


def _angle_rows(one: ClusterSpace) -> list[Row]:
    """A row a pair of clusters whose first components are known."""
    rows, columns = np.triu_indices(len(one.cosines), 1)
    return [
        {"space": one.space, "cluster": a, "other": b, "cosine": float(one.cosines[a, b])}
        for a, b in zip(rows.tolist(), columns.tolist(), strict=True)
        if math.isfinite(one.cosines[a, b])
    ]
