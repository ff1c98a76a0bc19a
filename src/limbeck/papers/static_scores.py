"""Word similarity of several static vectors on the same pairs: Spearman a set, means over sets, and differences.

All are scored on the pairs that all know, so that a difference is one of vectors and not of vocabularies; its interval
comes from resampling those pairs for both sides at once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.evaluation import tasks
from limbeck.evaluation.correlations import correlation
from limbeck.evaluation.significance import bootstrap_draws, percentiles
from limbeck.evaluation.task import Pairs
from limbeck.evaluation.wordsim import Fallback, WordVectors, word_similarities
from limbeck.papers.estimates import Floats
from limbeck.papers.parts import Row
from limbeck.papers.published_static import SETS
from limbeck.papers.static_subjects import MEAN

OTHER_SETS = ("mturk-287", "mturk-771", "men")  #: on which layers are chosen without looking at the five
FEWEST_PAIRS = 20  #: fewer are no ground for a correlation
DRAWS = 1000
Way = tuple[str, str]  #: a method and its layer


@dataclass(frozen=True)
class WordSets:
    """The sets that were found: the five, those that layers are chosen on, and what is missing of the five."""

    told: Mapping[str, Pairs]
    other: Mapping[str, Pairs]
    missing: str = ""

    @property
    def words(self) -> list[str]:
        """Every word of every set, in lower case."""
        found = [*self.told.values(), *self.other.values()]
        return sorted({word.lower() for pairs in found for side in (pairs.first, pairs.second) for word in side})


def find_word_sets(data: Path | None) -> WordSets:
    """The sets as far as they lie under a folder."""
    if data is None:
        return WordSets({}, {}, f"needs {', '.join(SETS.values())}: give the folder of their files by --data")
    found: dict[str, Pairs] = {}
    for name in (*SETS, *OTHER_SETS):
        try:
            found |= {name: task.read() for name, task in tasks(data, name).items()}
        except InputError:
            if not data.is_dir():
                raise
    missing = [title for name, title in SETS.items() if name not in found]
    return WordSets(
        {name: found[name] for name in SETS if name in found},
        {name: found[name] for name in OTHER_SETS if name in found},
        f"no files of {', '.join(missing)} under {data}" if missing else "",
    )


@dataclass(frozen=True)
class SetScore:
    """Spearman's correlation of several ways on one set, on the pairs that all know."""

    values: Mapping[Way, float]
    draws: Mapping[Way, Floats]
    n: int
    total: int

    @property
    def enough(self) -> bool:
        return self.n >= FEWEST_PAIRS


class Scoreboard:
    """Ways on sets: what each scores, how much two differ, and the same on average over the sets."""

    def __init__(self, sets: Mapping[str, SetScore], ways: Sequence[Way]) -> None:
        self.sets, self.ways = sets, list(ways)

    @property
    def used(self) -> list[SetScore]:
        """Sets with pairs enough; means are over these, each alike."""
        return [one for one in self.sets.values() if one.enough]

    def value(self, way: Way, over: str = MEAN) -> float:
        return self._number({way: 1.0}, over)[0]

    def number(self, way: Way, over: str = MEAN) -> tuple[float, float, float]:
        """Value, low, high."""
        return self._number({way: 1.0}, over)

    def difference(self, one: Way, other: Way, over: str = MEAN) -> tuple[float, float, float]:
        """Value, low, high of one less the other."""
        return self._number({one: 1.0, other: -1.0} if one != other else {one: 0.0}, over)

    def best(self, ways: Sequence[Way], over: str = MEAN) -> Way:
        """The way of highest value; of equals the first."""
        return max(ways, key=lambda way: self.value(way, over))

    def pairs(self, over: str = MEAN) -> tuple[int, int]:
        """Pairs scored, and pairs in all."""
        sets = self.used if over == MEAN else [self.sets[over]]
        return sum(one.n for one in sets), sum(one.total for one in sets)

    def _number(self, weights: Mapping[Way, float], over: str) -> tuple[float, float, float]:
        sets = self.used if over == MEAN else [self.sets[over]]
        if not sets or not all(one.enough for one in sets):
            return math.nan, math.nan, math.nan
        ways, share = list(weights), np.array(list(weights.values()))
        value = float(np.mean([share @ [one.values[way] for way in ways] for one in sets]))
        drawn: Floats = np.mean([share @ np.stack([one.draws[way] for way in ways]) for one in sets], axis=0)
        return (value, *percentiles(drawn))


def cosines_of(
    vectors: WordVectors, sets: Mapping[str, Pairs], *, fallback: Fallback | None = None
) -> dict[str, Floats]:
    """The cosine of every pair of every set, words in lower case; NaN where a word has no vector."""
    found = {}
    for name, pairs in sets.items():
        found[name] = word_similarities(
            pairs.first,
            pairs.second,
            vectors,
            oov="drop" if fallback is None else "fallback",
            case="lower",
            fallback=fallback,
        ).values
    return found


def scoreboard(
    cosines: Mapping[Way, Mapping[str, Floats]], sets: Mapping[str, Pairs], *, seed: int, draws: int = DRAWS
) -> Scoreboard:
    """Every way on every set, on the pairs that all ways know."""
    ways = list(cosines)
    scored = {}
    for name, pairs in sets.items():
        columns = [np.asarray(cosines[way][name]) for way in ways]
        kept: NDArray[np.int64] = np.flatnonzero(np.isfinite(np.stack(columns)).all(axis=0))
        gold = pairs.gold[kept]
        values = dict.fromkeys(ways, math.nan)
        resampled: dict[Way, Floats] = {}
        if len(kept) >= FEWEST_PAIRS:
            values = {
                way: correlation(column[kept], gold, metric="spearman")
                for way, column in zip(ways, columns, strict=True)
            }
            found = bootstrap_draws(
                [column[kept] for column in columns], gold, metric="spearman", draws=draws, seed=seed, name=name
            )
            resampled = dict(zip(ways, found, strict=True))
        scored[name] = SetScore(values, resampled, len(kept), len(pairs))
    return Scoreboard(scored, ways)


def score_rows(board: Scoreboard, everything: Mapping[Way, Mapping[str, float]]) -> list[Row]:
    """Rows of a table: every way on every set and on average; `all_pairs` is where unseen words have a fallback."""
    rows = []
    for way in board.ways:
        for over in (*board.sets, MEAN):
            value, low, high = board.number(way, over)
            n, total = board.pairs(over)
            rows.append(
                {
                    "method": way[0], "layer": way[1], "set": over, "value": value, "low": low, "high": high, "n": n,
                    "total": total, "all_pairs": everything.get(way, {}).get(over, math.nan),
                }
            )  # fmt: skip
    return rows


def all_pair_values(cosines: Mapping[str, Floats], sets: Mapping[str, Pairs]) -> dict[str, float]:
    """Spearman's correlation on every pair that has a cosine, a set at a time and on average over the sets."""
    values = {}
    for name, pairs in sets.items():
        kept = np.flatnonzero(np.isfinite(cosines[name]))
        enough = len(kept) >= FEWEST_PAIRS
        values[name] = correlation(cosines[name][kept], pairs.gold[kept], metric="spearman") if enough else math.nan
    return {**values, MEAN: float(np.mean(list(values.values()))) if values else math.nan}


def existing_rows(
    way: Way, cosines: Mapping[str, Floats], files: Mapping[str, WordVectors], sets: Mapping[str, Pairs], *, seed: int
) -> list[Row]:
    """Rows of a table: a way beside each file of vectors on the pairs that both know; `value` is their difference."""
    rows = []
    for name, vectors in files.items():
        other: Way = ("file", name)
        board = scoreboard({way: cosines, other: cosines_of(vectors, sets)}, sets, seed=seed)
        for over in (*board.sets, MEAN):
            value, low, high = board.difference(way, other, over)
            n, total = board.pairs(over)
            rows.append(
                {
                    "file": name, "method": way[0], "set": over, "value": value, "low": low, "high": high,
                    "own": board.value(way, over), "other": board.value(other, over), "n": n, "total": total,
                }
            )  # fmt: skip
    return rows


def difference_rows(board: Scoreboard, wanted: Sequence[tuple[str, Way, str, Way]]) -> list[Row]:
    """Rows of a table: pairs of named ways, on every set and on average."""
    rows = []
    for one, first, other, second in wanted:
        for over in (*board.sets, MEAN):
            value, low, high = board.difference(first, second, over)
            rows.append({"one": one, "other": other, "set": over, "value": value, "low": low, "high": high})
    return rows
