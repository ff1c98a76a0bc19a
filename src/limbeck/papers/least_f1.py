"""The lowest macro-F1 that predictions of an accuracy can have."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np


def least_macro_f1(sizes: Sequence[int], accuracy: float, *, steps: int = 400) -> float:
    """The lowest macro-F1 of any predictions of an accuracy, for classes of these sizes.

    F1 of a class is 2c/(n + p) with n its size, p how often it is predicted and c ≤ min(n, p) how often rightly. At the
    lowest, wrong predictions go where they cost most, and classes are either rightly predicted as a whole or not at
    all, but for one: so all orders of filling classes are tried, and all ways to divide wrong predictions among them.
    """
    total = sum(sizes)
    least = 1.0
    for count in range(1, len(sizes) + 1):
        for chosen in itertools.permutations(range(len(sizes)), count):
            right, left = [0] * len(sizes), round(accuracy * total)
            for place in chosen:
                right[place] = min(sizes[place], left)
                left -= right[place]
            if left or not all(right[place] for place in chosen):
                continue
            least = min(least, _least_for(sizes, right, total - sum(right), steps))
    return least


def _least_for(sizes: Sequence[int], right: Sequence[int], wrong: int, steps: int) -> float:
    """The lowest macro-F1 with so many right in each class.

    F1 is convex in p, so wrong predictions go, a step at a time, where the next ones cost most; a class cannot be
    wrongly predicted for what is its own.
    """
    predicted = list(right)
    room = [wrong - (n - c) for n, c in zip(sizes, right, strict=True)]
    step = max(1, wrong // steps)
    while wrong > 0:
        some = [min(step, wrong, left) for left in room]
        fall = [
            2 * c / (n + p) - 2 * c / (n + p + more) if more > 0 else -1.0
            for c, n, p, more in zip(right, sizes, predicted, some, strict=True)
        ]
        place = int(np.argmax(fall))
        predicted[place] += some[place]
        room[place] -= some[place]
        wrong -= some[place]
    return float(np.mean([2 * c / (n + p) if c else 0.0 for c, n, p in zip(right, sizes, predicted, strict=True)]))
