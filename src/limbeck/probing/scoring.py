"""Scores of probes: micro-F1 over words and classes, each combination one decision whatever its number of contexts.

Zhao et al. (2020) count a combination of word and class as right if at least half of its contexts are. Their text
leaves open what a false positive is. Here every classifier decides on every combination, by its contexts: that of its
own class gives a true positive or a false negative, any other a true negative or a false positive. The other reading,
in which only the own classifier is asked, is the recall.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from limbeck.seeds import generator_for

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
DRAWS = 500  #: of the words, for an interval


@dataclass(frozen=True)
class Score:
    """Counts of one layer's decisions.

    units            combinations of word and class, or words
    tp, fp, fn       (classes,)
    by_word          (words, 3) the same counts, summed over classes, for intervals
    words            (words,) which words these are
    """

    units: int
    tp: Floats
    fp: Floats
    fn: Floats
    by_word: Floats
    words: Ints

    @property
    def f1(self) -> float:
        return float(f1_of(self.tp.sum(), self.fp.sum(), self.fn.sum()))

    @property
    def precision(self) -> float:
        said = self.tp.sum() + self.fp.sum()
        return float(self.tp.sum() / said) if said else float("nan")

    @property
    def recall(self) -> float:
        """The recall-only reading: the share of combinations whose own classifier is right."""
        there = self.tp.sum() + self.fn.sum()
        return float(self.tp.sum() / there) if there else float("nan")

    def interval(self, *, seed: int = 0) -> tuple[float, float]:
        """95 % interval of F1, words drawn again (each as often as a Poisson number of mean 1 says)."""
        return f1_interval(self.by_word, seed=seed)


def f1_of(
    tp: NDArray[np.floating] | float, fp: NDArray[np.floating] | float, fn: NDArray[np.floating] | float
) -> Floats:
    """2 TP / (2 TP + FP + FN); NaN where nothing is there and nothing is said."""
    all_three = np.asarray(2 * np.asarray(tp) + fp + fn, dtype=np.float64)
    found: Floats = np.divide(2 * np.asarray(tp), all_three, out=np.full_like(all_three, np.nan), where=all_three > 0)
    return found


def f1_interval(by_word: Floats, *, seed: int = 0) -> tuple[float, float]:
    if len(by_word) < 2:
        return float("nan"), float("nan")
    drawn = f1_of(*(weights_of_words(len(by_word), seed).astype(np.float64) @ by_word).T)
    low, high = np.nanquantile(drawn, [0.025, 0.975]) if np.isfinite(drawn).any() else (np.nan, np.nan)
    return float(low), float(high)


@lru_cache(maxsize=4)
def weights_of_words(words: int, seed: int) -> NDArray[np.uint8]:
    """How often each word is drawn, (draws, words): the same for all layers and spaces, which can then be compared."""
    return generator_for(seed, "probe", "interval").poisson(1.0, (DRAWS, words)).astype(np.uint8)


def decide(decisions: Bools, unit: Ints, gold: Bools) -> Bools:
    """Whether each classifier says yes to each unit, (units, classes), from what it says to its rows, (n, classes).

    At least half of the rows right is right: a tie is a yes where the class is the unit's, and a no elsewhere.
    """
    size = np.bincount(unit, minlength=len(gold))
    yes = np.zeros(gold.shape, dtype=np.int64)
    np.add.at(yes, unit, decisions)
    return np.where(gold, 2 * yes >= size[:, None], 2 * yes > size[:, None]) & (size > 0)[:, None]


def score(decisions: Bools, unit: Ints, gold: Bools, word: Ints) -> Score:
    """Score the decisions (n, classes) on rows of units.

    unit  (n,) the unit of each row: a combination, or at type level the row's own
    gold  (units, classes) which classes a unit has
    word  (units,) the unit's word

    >>> decisions = np.array([[True, False], [False, False], [False, True]])
    >>> score(decisions, np.array([0, 0, 1]), np.eye(2, dtype=bool), np.array([0, 0])).f1
    1.0
    """
    present = np.bincount(unit, minlength=len(gold)) > 0
    said = decide(decisions, unit, gold)[present]
    own, word = gold[present], word[present]
    tp, fp, fn = said & own, said & ~own, ~said & own
    words, of_word = np.unique(word, return_inverse=True)
    by_word = np.zeros((len(words), 3))
    np.add.at(by_word, of_word, np.stack([each.sum(1) for each in (tp, fp, fn)], axis=1).astype(np.float64))
    tps, fps, fns = (each.sum(0).astype(np.float64) for each in (tp, fp, fn))
    return Score(int(present.sum()), tps, fps, fns, by_word, words)


def mean_score(scores: list[Score]) -> Score:
    """Counts averaged over several starts of the same probes."""
    parts = {name: np.mean([getattr(one, name) for one in scores], axis=0) for name in ("tp", "fp", "fn", "by_word")}
    return Score(scores[0].units, **parts, words=scores[0].words)
