"""First principal components, a word at a time: the direction that most of a word's occurrences share."""

from __future__ import annotations

import numpy as np
import torch

from limbeck.accumulators import Occurrences
from limbeck.distillation.rows import Rows

BYTES = 64 << 20  #: of vectors that are taken at once


def principal_rows(kept: Occurrences, layer: int) -> Rows:
    """The first right singular vector of each word's kept occurrences, uncentered (Ethayarajh 2019, §4.3).

    Of unit length. Its sign is that of its product with the mean of the same occurrences: libraries leave it open, and
    words whose components point in opposite senses would have cosines of the wrong sign (docs/fidelity.md §1.18).
    """
    counts = kept.counts
    matrix = np.full((len(kept.chosen), kept.dim), np.nan)
    for n in np.unique(counts[counts > 0]).tolist():
        alike = np.flatnonzero(counts == n)
        step = max(1, BYTES // (8 * n * max(kept.dim, n)))
        for start in range(0, len(alike), step):
            some = alike[start : start + step]
            matrix[some] = first_components(torch.from_numpy(kept.stacked(some, layer))).numpy()
    return Rows.of(matrix)


def first_components(x: torch.Tensor) -> torch.Tensor:
    """First right singular vectors (words, d) of x (words, n, d), oriented to the rows' mean, in float64."""
    x = x.to(torch.float64)
    if x.shape[1] <= x.shape[2]:  # n × n is the smaller problem
        _, vectors = torch.linalg.eigh(x @ x.mT)
        first = (x.mT @ vectors[..., -1:]).squeeze(-1)
    else:
        _, vectors = torch.linalg.eigh(x.mT @ x)
        first = vectors[..., -1]
    first = first / torch.linalg.vector_norm(first, dim=-1, keepdim=True)
    sign = torch.where((first * x.mean(dim=1)).sum(-1, keepdim=True) < 0, -1.0, 1.0)
    oriented: torch.Tensor = first * sign
    return oriented
