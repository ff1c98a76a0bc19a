"""Numbers with their uncertainty, alone and by layer, and what can be said of them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
NEGATIVE = re.compile(r"(?<![\w.)])-(?=\d)")  #: a sign, not a hyphen


class Verdict(StrEnum):
    """What becomes of a claim. Too close to call: the number lies on the rule's side, or not, within its interval."""

    HELD = "held"
    NOT_HELD = "not held"
    CLOSE = "too close to call"
    UNSHOWN = "cannot be shown"


class CannotShow(Exception):
    """A rule lacks what it needs; the text says what."""


@dataclass(frozen=True)
class Estimate:
    """A number and half the width of its 95 % interval, 0 where it has none.

    >>> Estimate(0.30, 0.04) - Estimate(0.20, 0.03)
    Estimate(value=0.1, error=0.05)
    """

    value: float
    error: float = 0.0

    @property
    def low(self) -> float:
        return self.value - self.error

    @property
    def high(self) -> float:
        return self.value + self.error

    def __sub__(self, other: Estimate) -> Estimate:
        """Errors are taken as independent: too wide, never too narrow, where both come from the same words."""
        return Estimate(round(self.value - other.value, 12), math.hypot(self.error, other.error))

    def __neg__(self) -> Estimate:
        return Estimate(-self.value, self.error)

    def above(self, threshold: float) -> Verdict:
        """Whether the number is above a threshold with its whole interval, below it, or neither."""
        if self.low > threshold:
            return Verdict.HELD
        return Verdict.NOT_HELD if self.high < threshold or not self.error else Verdict.CLOSE

    def below(self, threshold: float) -> Verdict:
        return (-self).above(-threshold)

    def __str__(self) -> str:
        """To three decimals, with the error where there is one."""
        return minus(f"{self.value:.3f}") + (f" ± {self.error:.3f}" if self.error else "")


def minus(text: str) -> str:
    """A text whose negative numbers have a minus sign, and whose hyphens stay.

    >>> minus("skip-gram -0.5")
    'skip-gram −0.5'
    """
    return NEGATIVE.sub("−", text)


def percent(share: float) -> str:
    """A share as a person would write it.

    >>> percent(0.254)
    '25 %'
    """
    return f"{100 * share:.0f} %"


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Errors are averaged, as if all erred together: layers share their words, so that nothing cancels."""
    return Estimate(
        sum(one.value for one in estimates) / len(estimates), sum(one.error for one in estimates) / len(estimates)
    )


def every(verdicts: Iterable[Verdict]) -> Verdict:
    """All together: one that fails decides, then one that is open. What cannot be shown counts only if all of it is."""
    found = set(verdicts)
    for verdict in (Verdict.NOT_HELD, Verdict.CLOSE, Verdict.HELD):
        if verdict in found:
            return verdict
    return Verdict.UNSHOWN


def at_least(count: int, verdicts: Sequence[Verdict]) -> Verdict:
    """So many of the conditions; decided where the open ones could not change it."""
    sure = sum(verdict is Verdict.HELD for verdict in verdicts)
    possible = sure + sum(verdict is Verdict.CLOSE for verdict in verdicts)
    if sure >= count:
        return Verdict.HELD
    return Verdict.NOT_HELD if possible < count else Verdict.CLOSE


def opposite(verdict: Verdict) -> Verdict:
    return {Verdict.HELD: Verdict.NOT_HELD, Verdict.NOT_HELD: Verdict.HELD}.get(verdict, verdict)


@dataclass(frozen=True)
class Curve:
    """A number a layer, from the input upwards."""

    layers: tuple[str, ...]
    values: Floats
    errors: Floats

    def __len__(self) -> int:
        return len(self.layers)

    def __getitem__(self, place: int) -> Estimate:
        value = float(self.values[place])
        if not math.isfinite(value):
            raise CannotShow(f"layer {self.layers[place]} has no value")
        error = float(self.errors[place])
        return Estimate(value, error if math.isfinite(error) else 0.0)

    def __iter__(self) -> Iterator[Estimate]:
        return (self[place] for place in range(len(self)))

    def part(self, places: Sequence[int]) -> Curve:
        return Curve(tuple(self.layers[place] for place in places), self.values[places], self.errors[places])

    def halves(self) -> tuple[Estimate, Estimate]:
        """Means of the lower and of the upper half; of an odd number of layers the middle one belongs to neither."""
        if len(self) < 2:
            raise CannotShow("a trend needs two layers or more")
        half, found = len(self) // 2, list(self)
        return mean_of(found[:half]), mean_of(found[-half:])

    def lowest(self) -> tuple[str, Estimate]:
        place = min(range(len(self)), key=lambda at: self[at].value)
        return self.layers[place], self[place]

    def highest(self) -> tuple[str, Estimate]:
        place = max(range(len(self)), key=lambda at: self[at].value)
        return self.layers[place], self[place]
