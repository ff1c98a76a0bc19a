"""Scores of probes that can be subtracted: each with its value in draws of the words that are the same for all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.papers.estimates import Estimate
from limbeck.papers.parts import Row
from limbeck.probing.result import Outcome, confidence_rows, deviation, names_of, quarters
from limbeck.probing.scoring import f1_of, mean_score, weights_of_words
from limbeck.probing.splits import DEV, SIDES, TEST

Floats = NDArray[np.float64]
DRAWS = 200  #: of the words, of those that intervals are made of
DIGITS = 4


@dataclass(frozen=True)
class Scored:
    """A micro-F1, or what was made of several, in the whole sample and in every draw of its words.

    draws  (draws,) empty where there are none, as for numbers of a paper
    words  of how many words; draws of as many words are draws of the same words
    """

    value: float
    draws: Floats
    words: int = 0

    def __sub__(self, other: Scored) -> Scored:
        return combined(lambda a, b: a - b, [self, other])

    @property
    def estimate(self) -> Estimate:
        """The value and half the width of the middle 95 % of the draws around it."""
        known = self.draws[np.isfinite(self.draws)]
        if len(known) < 2:
            return Estimate(round(self.value, 12))
        low, high = np.quantile(known, [0.025, 0.975])
        return Estimate(round(self.value, 12), float(max(high - self.value, self.value - low, 0.0)))


def combined(make: Callable[..., Any], scores: Sequence[Scored]) -> Scored:
    """A number made of several scores, in the sample and draw by draw.

    Where the scores are not of the same words, every order of draws is as good as another: these are then drawn apart.
    """
    value = float(make(*(one.value for one in scores)))
    if not all(len(one.draws) for one in scores):
        return Scored(value, np.empty(0))
    together = len({one.words for one in scores}) == 1
    generator = np.random.default_rng(0)
    draws = [one.draws if together else generator.permutation(one.draws) for one in scores]
    return Scored(value, np.array([float(make(*each)) for each in zip(*draws, strict=True)]), scores[0].words)


def mean(scores: Sequence[Scored]) -> Scored:
    return combined(lambda *values: sum(values) / len(values), scores)


def scored_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for each layer and side: F1 with its interval, and its values in the draws."""
    rows = []
    for side in (DEV, TEST):
        for place, layer in enumerate(outcomes[0].layers):
            scores = [one.score(place, side) for one in outcomes]
            both = mean_score(scores)
            weights = weights_of_words(len(both.by_word), 0)[:DRAWS].astype(np.float64)
            drawn = f1_of(*(weights @ both.by_word).T)
            low, high = both.interval()
            rows.append(
                names_of(outcomes[0], layer)
                | {
                    "side": SIDES[side],
                    "f1": float(np.mean([one.f1 for one in scores])),
                    "low": low,
                    "high": high,
                    "deviation": deviation(np.array([one.f1 for one in scores])),
                    "recall": float(np.mean([one.recall for one in scores])),
                    "units": both.units,
                    "words": len(both.by_word),
                    "starts": len(scores),
                    "draws": np.round(drawn, DIGITS).tolist(),
                }
            )
    return rows


def quarter_rows(outcomes: Sequence[Outcome], around: Sequence[Outcome]) -> list[Row]:
    """`confidence_rows` with the F1 of each in draws of all test words, which are the same for layers and quarters."""
    quarter = quarters(around)
    words = outcomes[0].score(0, TEST).words
    weights = weights_of_words(len(words), 0)[:DRAWS].astype(np.float64)
    rows = []
    for row in confidence_rows(outcomes, around):
        place, chosen = outcomes[0].layers.index(row["layer"]), quarter == int(row["quarter"])
        both = mean_score([one.score(place, TEST, chosen) for one in outcomes])
        drawn = f1_of(*(weights[:, np.searchsorted(words, both.words)] @ both.by_word).T)
        rows.append(row | {"draws": np.round(drawn, DIGITS).tolist()})
    return rows


def scored(row: Row) -> Scored:
    """A row of such a table; one of a paper's has no draws."""
    draws = row.get("draws")
    known = np.array(draws, dtype=np.float64) if isinstance(draws, list) else np.empty(0)
    return Scored(float(row["f1"]), known, int(row.get("words", 0)))
