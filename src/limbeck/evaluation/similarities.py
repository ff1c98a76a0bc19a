"""What a target says of a task's pairs: a cosine each, or the reason why there is none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Similarities:
    """Cosines of pairs.

    values    (pairs,) NaN for a pair that is left out
    found     (pairs,) whether the target itself had a vector for both sides, whatever was put in their place
    dropped   pairs left out, by reason
    settings  the policies that were followed, and what they met, for the result's table
    words     share of the texts' words that the target has a vector for; NaN where it is not one of words
    """

    values: NDArray[np.float64]
    found: NDArray[np.bool_]
    dropped: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, str | int] = field(default_factory=dict)
    words: float = math.nan

    @property
    def kept(self) -> NDArray[np.int64]:
        """Rows of the pairs that are not left out."""
        return np.flatnonzero(~np.isnan(self.values))

    @property
    def coverage(self) -> float:
        """Share of pairs both of whose sides were found; NaN without pairs."""
        return float(self.found.mean()) if len(self.found) else float("nan")
