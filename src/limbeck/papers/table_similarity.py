"""Word similarity by inner product and by cosine, table against repaired table, on pairs of single tokens.

Pearson's correlation with what people said, a set at a time and averaged over sets, as in Tables 2 and 3 of Biš et al.
(2021). Every way is scored on the same pairs, so differences have intervals of their own: pairs are resampled together.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.evaluation import tasks
from limbeck.evaluation.correlations import cosines
from limbeck.evaluation.task import Task
from limbeck.papers.estimates import CannotShow, Estimate, Floats
from limbeck.papers.statistics import QUANTILES, correlation
from limbeck.papers.table_sources import EmbeddingTable
from limbeck.seeds import generator_for

#: name of a task -> what Table 3 calls it
SETS = {
    "men": "MEN",
    "rw": "RW",
    "simlex-999": "SimLex-999",
    "ws-353-similarity": "WS-353 sim.",
    "ws-353-relatedness": "WS-353 rel.",
}
INNER, COSINE = "inner", "cosine"
SCORINGS = (INNER, COSINE)
REPLICATES = 1000
FEWEST_PAIRS = 20  #: fewer are no ground for a correlation
Way = tuple[str, str]  #: a form of the table, and how pairs are scored


@dataclass(frozen=True)
class KeptPairs:
    """The pairs of a set that are two single tokens: their rows (n, 2), and what people said; `total` is the set's."""

    rows: NDArray[np.int64]
    gold: Floats
    total: int


@dataclass(frozen=True)
class SetScores:
    """Correlations on one set: by way the value, and as many resampled ones; NaN where the pairs are too few."""

    kept: int
    total: int
    values: Mapping[Way, float]
    draws: Mapping[Way, Floats] = field(default_factory=dict)

    @property
    def enough(self) -> bool:
        return self.kept >= FEWEST_PAIRS


@dataclass(frozen=True)
class Scores:
    """All sets. Means are over the sets with enough pairs, each alike, so that WS-353 counts twice as in the paper.

    means  a paper's own averages by way, where those of the sets are not all printed
    """

    sets: Mapping[str, SetScores]
    means: Mapping[Way, float] = field(default_factory=dict)

    @property
    def used(self) -> list[SetScores]:
        found = [one for one in self.sets.values() if one.enough]
        if not found:
            raise CannotShow(f"no set has {FEWEST_PAIRS} pairs of single tokens")
        return found

    @property
    def ways(self) -> set[Way]:
        """All that have a mean."""
        return set(self.means) or set.intersection(*(set(one.values) for one in self.used))

    def mean(self, form: str, scoring: str) -> Estimate:
        return self.contrast({(form, scoring): 1.0})

    def contrast(self, weights: Mapping[Way, float]) -> Estimate:
        """A weighted sum of mean correlations, with its interval by resampling pairs within every set."""
        if self.means:
            if not weights.keys() <= self.means.keys():
                raise CannotShow("the paper gives no such average")
            return Estimate(sum(weight * self.means[way] for way, weight in weights.items()))
        used = self.used
        if any(way not in one.values for one in used for way in weights):
            raise CannotShow("not all of these were scored")
        ways, share = list(weights), np.array(list(weights.values()))
        value = float(np.mean([share @ [one.values[way] for way in ways] for one in used]))
        if not all(one.draws for one in used):
            return Estimate(value)
        drawn: Floats = np.mean([share @ np.stack([one.draws[way] for way in ways]) for one in used], axis=0)
        return Estimate(value, interval(value, drawn))


def interval(value: float, drawn: Floats) -> float:
    """The longer half of the 95 % interval."""
    drawn = drawn[np.isfinite(drawn)]
    if not len(drawn):
        return 0.0
    low, high = np.quantile(drawn, QUANTILES)
    return float(max(high - value, value - low, 0.0))


def find_sets(data: Path | None) -> tuple[dict[str, Task], str]:
    """The five sets as far as they lie under a folder, and what is missing, "" where nothing is."""
    if data is None:
        return {}, f"needs {', '.join(SETS.values())}: give the folder of their files by --data"
    found: dict[str, Task] = {}
    for name in SETS:
        try:
            found |= tasks(data, name)
        except InputError:
            if not data.is_dir():
                raise
    missing = [title for name, title in SETS.items() if name not in found]
    return found, f"no files of {', '.join(missing)} under {data}" if missing else ""


def keep_pairs(task: Task, table: EmbeddingTable, memory: dict[str, int | None]) -> KeptPairs:
    """The pairs of which both words are one token of the table; `memory` spares the tokeniser words seen before."""
    pairs = task.read()
    for word in {*pairs.first, *pairs.second} - memory.keys():
        memory[word] = table.row_of(word)
    rows = [(memory[a], memory[b]) for a, b in zip(pairs.first, pairs.second, strict=True)]
    kept = [place for place, both in enumerate(rows) if None not in both]
    chosen = np.array([rows[place] for place in kept], dtype=np.int64).reshape(-1, 2)
    return KeptPairs(chosen, pairs.gold[kept], len(pairs))


def score_set(pairs: KeptPairs, forms: Mapping[str, Floats], place: NDArray[np.int64], *, seed: int) -> SetScores:
    """Every form and scoring on one set; `forms` hold the rows that occur, and `place` tells where each row is."""
    first, second = place[pairs.rows[:, 0]], place[pairs.rows[:, 1]]
    similarity: dict[Way, Floats] = {}
    for form, rows in forms.items():
        a, b = rows[first], rows[second]
        similarity[form, INNER] = (a * b).sum(axis=1)
        similarity[form, COSINE] = np.nan_to_num(cosines(a, b))  # a row that was removed whole is like no other
    if len(pairs.gold) < FEWEST_PAIRS:
        return SetScores(len(pairs.gold), pairs.total, dict.fromkeys(similarity, math.nan))
    values = {way: correlation(x, pairs.gold) for way, x in similarity.items()}
    draws = resampled(similarity, pairs.gold, seed=seed)
    return SetScores(len(pairs.gold), pairs.total, values, draws)


def resampled(similarity: Mapping[Way, Floats], gold: Floats, *, seed: int) -> dict[Way, Floats]:
    """Pearson's correlation in resamples of the pairs, the same resamples for all ways."""
    n = len(gold)
    weights = generator_for(seed, "reproduce", "pairs").multinomial(n, np.full(n, 1 / n), size=REPLICATES) / n
    y = _standard(gold)
    mean_y, square_y = weights @ y, weights @ y**2
    spread_y = square_y - mean_y**2
    draws = {}
    for way, values in similarity.items():
        x = _standard(values)
        mean_x = weights @ x
        spread_x = weights @ x**2 - mean_x**2
        with np.errstate(divide="ignore", invalid="ignore"):
            draws[way] = (weights @ (x * y) - mean_x * mean_y) / np.sqrt(spread_x * spread_y)
    return draws


def _standard(x: Floats) -> Floats:
    centered: Floats = x - x.mean()
    return centered / (float(x.std()) or 1.0)
