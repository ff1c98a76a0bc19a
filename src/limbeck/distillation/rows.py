"""What a method gives at one layer: a vector for each word, and which words have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Rows:
    """One vector a word.

    matrix  (words, d); what stands in the row of a word without a vector means nothing
    found   (words,) whether the word has one
    """

    matrix: NDArray[Any]
    found: NDArray[np.bool_]

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Rows:
        """Every row that is finite is a vector."""
        return cls(matrix, np.isfinite(matrix).all(axis=1))

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """The rows of these numbers; −1 is a word without a vector."""
        if len(rows) == len(self.matrix) and np.array_equal(rows, np.arange(len(rows))):
            return self
        if not len(self.matrix):
            return Rows(np.zeros((len(rows), self.matrix.shape[1])), np.zeros(len(rows), dtype=bool))
        return Rows(self.matrix[rows], self.found[rows] & (rows >= 0))


@dataclass(frozen=True)
class Known:
    """What is known of words beside their vectors.

    counts  (words,) occurrences in the text
    split   (words,) whether the teacher's tokenizer cuts the word up, or does not know it at all
    """

    words: Sequence[str]
    counts: NDArray[np.int64]
    split: NDArray[np.bool_]
