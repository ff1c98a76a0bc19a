"""Vectors of words that the text does not have, in the space of a method that makes vectors of its own.

A frame's vector is the teacher's: as long as the teacher's are, along the teacher's axes. Beside vectors that were
trained, or turned to principal components, it would be another language. So a ridge regression learns, from words that
have both, what a method makes of what the teacher reads, and says it of words that have only the one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FITTED = 5000  #: words to fit on, the most frequent
LEAST = 2  #: words that a regression needs
#: penalties that are tried, as shares of the mean variance
PENALTIES = tuple(10.0**power for power in range(-8, 3))


@dataclass(frozen=True)
class Ridge:
    """A linear map from what the teacher reads to a method's vectors.

    penalty    the one of `PENALTIES` whose error is least for words left out one at a time
    explained  share of the vectors' variance that it says of words left out, 1 at most
    """

    mean_read: Floats  # (d,)
    mean_made: Floats  # (e,)
    weights: Floats  # (d, e)
    penalty: float
    explained: float

    @classmethod
    def fit(cls, read: NDArray[Any], made: NDArray[Any]) -> Ridge:
        """Fitted on words of which both are known: `read` (words, d), `made` (words, e); both are centered.

        Leaving out word i needs no second fit: its error is the residual over 1 − h, h the leverage of the word.
        """
        x, y = np.asarray(read, dtype=np.float64), np.asarray(made, dtype=np.float64)
        mean_read, mean_made = x.mean(axis=0), y.mean(axis=0)
        x, y = x - mean_read, y - mean_made
        variances, axes = np.linalg.eigh(x.T @ x)
        variances = np.maximum(variances, 0.0)
        if not variances.any() or not y.any():  # nothing to tell words apart by
            return cls(mean_read, mean_made, np.zeros((x.shape[1], y.shape[1])), 0.0, 0.0)
        along = x @ axes  # (words, d)
        products = along.T @ y  # (d, e)
        squares = along**2
        best, least, kept = 0.0, np.inf, np.zeros_like(products)
        for share in PENALTIES:
            shrunk = 1.0 / (variances + share * variances.mean())
            leverage = squares @ shrunk + 1.0 / len(x)  # the mean counts too
            residual = y - along @ (shrunk[:, None] * products)
            error = float(((residual / np.maximum(1.0 - leverage, 1e-12)[:, None]) ** 2).sum())
            if error < least:
                best, least, kept = share, error, shrunk[:, None] * products
        return cls(mean_read, mean_made, axes @ kept, best, 1.0 - least / float((y**2).sum()))

    def predict(self, read: NDArray[Any]) -> Floats:
        """The vectors (words, e) of words that the teacher has read (words, d)."""
        predicted: Floats = (np.asarray(read, dtype=np.float64) - self.mean_read) @ self.weights + self.mean_made
        return predicted
