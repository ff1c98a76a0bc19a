"""Principal axes that are the same in two runs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def principal_axes(products: Floats, dim: int) -> tuple[Floats, Floats]:
    """The first `dim` eigenvectors (d, dim) of a d × d matrix of products, and all its eigenvalues, the greatest first.

    Each points to where its largest coordinate is positive: libraries leave the sign open, and without a rule two runs
    could give mirrored vectors. Cosines are the same either way.
    """
    values, vectors = np.linalg.eigh(products)
    axes = vectors[:, ::-1][:, :dim]
    largest = np.abs(axes).argmax(axis=0)
    signs = np.where(axes[largest, np.arange(axes.shape[1])] < 0, -1.0, 1.0)
    return axes * signs, values[::-1]
