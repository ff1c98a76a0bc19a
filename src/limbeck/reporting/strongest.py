"""What is strongest in some runs: effects that are many times as large as the width of their interval, in sentences.

Every sentence is computed from the run folders. Effects of whole layers are compared by their intervals, effects over
words are paired word by word with a bootstrap over words. Of each kind of statement the strongest one is told, so that
three sentences say three things.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.paired import paired_means
from limbeck.evaluation.significance import bootstrap_draws, percentiles
from limbeck.reporting.word_differences import Measurements, match_layers, read_measurements
from limbeck.tables import read_parquet

Floats = NDArray[np.float64]
DRAWS = 1000
LEAST_WORDS = 20  #: words below which nothing is said about them
LEAST_WIDTH = 1e-6  #: of an interval; a narrower one, of words that all behave alike, counts as this wide


@dataclass(frozen=True)
class Strong:
    """A statement with its effect and 95 % interval; `strength` is |effect| over the interval's width."""

    kind: str
    sentence: str
    effect: float
    low: float
    high: float

    @property
    def strength(self) -> float:
        return abs(self.effect) / max(self.high - self.low, LEAST_WIDTH)


def strongest(folders: Sequence[str | Path], *, count: int = 3, seed: int = 0) -> list[Strong]:
    """The strongest statements about some runs of `limbeck measure`, one of each kind, strongest first.

    Only effects whose interval leaves out 0 are told.
    """
    runs = [(read_measurements(Path(folder)), Path(folder)) for folder in folders]
    found = [one for run, folder in runs for one in _of_run(run, folder, seed)]
    for place, (first, _) in enumerate(runs):
        for second, _ in runs[place + 1 :]:
            found += _of_two(first, second, seed)
    best: dict[str, Strong] = {}
    for one in found:
        clear = math.isfinite(one.strength) and (one.low > 0 or one.high < 0)
        if clear and (one.kind not in best or one.strength > best[one.kind].strength):
            best[one.kind] = one
    return sorted(best.values(), key=lambda one: -one.strength)[:count]


def _of_run(run: Measurements, folder: Path, seed: int) -> Iterator[Strong]:
    yield from _anisotropy(run)
    yield from _course(run, seed)
    yield from _sentences(run)
    yield from _frequency(run, folder, seed)


def _anisotropy(run: Measurements) -> Iterator[Strong]:
    """The layers where random words are least and most alike."""
    rows = [(layer, row) for layer, row in run.whole["anisotropy"].items() if _known(row, "value", "low", "high")]
    if len(rows) < 2:
        return
    (least, low), (most, high) = (choose(rows, key=lambda one: float(one[1]["value"])) for choose in (min, max))
    values = [float(row["value"]) for row in (low, high)]
    width = math.hypot(*(float(row["high"]) - float(row["low"]) for row in (low, high)))
    effect = values[1] - values[0]
    yield Strong(
        "anisotropy",
        f"{run.name}: two random words are most alike at layer {most} (mean cosine {values[1]:.2f}) and least at layer "
        f"{least} ({values[0]:.2f}): {effect:.3f} apart{_interval(effect, width)}.",
        effect,
        effect - width / 2,
        effect + width / 2,
    )


def _course(run: Measurements, seed: int) -> Iterator[Strong]:
    """How much more, or less, contextual words are at the last layer than at the first."""
    values = run.values["self_similarity"]["adjusted"]
    if len(run.layers) < 2 or values.shape[1] < LEAST_WORDS:
        return
    found = paired_means(values[:1], values[-1:], draws=1, seed=seed, name=f"course {run.name}")
    effect, low, high = (float(side[0]) for side in (found.difference, found.low, found.high))
    way = "less" if effect < 0 else "more"
    yield Strong(
        "course",
        f"{run.name}: a word is {way} like itself in other sentences at layer {run.layers[-1]} than at layer "
        f"{run.layers[0]}: self-similarity, less chance, {'falls' if effect < 0 else 'rises'} by {abs(effect):.3f}"
        f"{_between(*_ends(low, high))}, over {found.n:,} words.",
        effect,
        low,
        high,
    )


def _sentences(run: Measurements) -> Iterator[Strong]:
    """The layer where words take most from their sentence."""
    rows = run.whole["intra_sentence_similarity_matched"].items()
    known = [(layer, row) for layer, row in rows if _known(row, "adjusted", "low", "high")]
    if not known:
        return
    layer, row = max(known, key=lambda one: float(one[1]["adjusted"]))
    effect, width = float(row["adjusted"]), float(row["high"]) - float(row["low"])
    yield Strong(
        "sentence",
        f"{run.name}: words of a sentence share most at layer {layer}: they are by {effect:.3f} nearer to their "
        f"sentence's mean than words of made sentences of the same length{_interval(effect, width)}.",
        effect,
        effect - width / 2,
        effect + width / 2,
    )


def _frequency(run: Measurements, folder: Path, seed: int) -> Iterator[Strong]:
    """Whether frequent words are more, or less, like themselves, where that is clearest."""
    counts = np.array(read_parquet(folder / "words.parquet", ["n"])["n"][:: len(run.layers)])
    values = run.values["self_similarity"]["value"]
    known = np.isfinite(values).all(axis=0)
    if known.sum() < LEAST_WORDS:
        return
    counts = counts[known].astype(np.float64)
    found = [correlation(row[known], counts, metric="spearman") for row in values]
    place = int(np.nanargmax(np.abs(found))) if np.isfinite(found).any() else -1
    if place < 0:
        return
    draws = bootstrap_draws([values[place, known]], counts, metric="spearman", draws=DRAWS, seed=seed, name="frequency")
    low, high = percentiles(draws[0])
    effect = float(found[place])
    yield Strong(
        "frequency",
        f"{run.name}: at layer {run.layers[place]} the more frequent a word is, the {'more' if effect > 0 else 'less'} "
        f"it is like itself in other sentences (rank correlation {effect:+.2f}, {low:+.2f} to {high:+.2f}).",
        effect,
        low,
        high,
    )


def _of_two(a: Measurements, b: Measurements, seed: int) -> Iterator[Strong]:
    """Where two models differ most in how contextual the same words are, layers matched."""
    shared = sorted(set(a.words) & set(b.words))
    if len(shared) < LEAST_WORDS:
        return
    pairs = match_layers(a.layers, b.layers)
    sides = []
    for run, which in ((a, 0), (b, 1)):
        at = {word: place for place, word in enumerate(run.words)}
        rows = [run.layers.index(pair[which]) for pair in pairs]
        sides.append(run.values["self_similarity"]["adjusted"][rows][:, [at[word] for word in shared]])
    found = paired_means(*sides, draws=1, seed=seed, name=f"models {a.name} {b.name}")
    if not np.isfinite(found.difference).any():
        return
    place = int(np.nanargmax(np.abs(found.difference)))
    effect, low, high = (float(side[place]) for side in (found.difference, found.low, found.high))
    steadier, freer = (a, b) if effect < 0 else (b, a)  # by self-similarity: words vary less, and more
    agree = int((np.sign(found.difference) == np.sign(effect)).sum())
    everywhere = "" if agree == len(pairs) else f" at {agree} of {len(pairs)} layers"
    at_layers = " and ".join(f"{run.name}'s layer {layer}" for run, layer in zip((a, b), pairs[place], strict=True))
    same = pairs[place][0] == pairs[place][1]
    yield Strong(
        "models",
        f"Words are more contextual in {freer.name} than in {steadier.name}{everywhere}, most so at "
        f"{f'layer {pairs[place][0]}' if same else at_layers}: self-similarity, less chance, is lower by "
        f"{abs(effect):.3f}{_between(*_ends(low, high))}, over {found.n:,} words.",
        effect,
        low,
        high,
    )


def _known(row: dict[str, Any], *names: str) -> bool:
    return all(row.get(name) not in ("", None) for name in names)


def _interval(effect: float, width: float) -> str:
    return _between(effect - width / 2, effect + width / 2)


def _between(low: float, high: float) -> str:
    return f" (95 % interval {low:.3f} to {high:.3f})"


def _ends(low: float, high: float) -> tuple[float, float]:
    """Of the effect's size, whatever its sign."""
    return (-high, -low) if high < 0 else (low, high)
