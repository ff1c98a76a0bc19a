"""What is said of a whole embedding table, a row a token: its shift, its spectrum, its rare rows (Biš et al. 2021).

Everything here is over all rows alike, whatever their frequency, and exact. Tables are numpy arrays (rows, d).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.errors import LimbeckError
from limbeck.measures.isotropy import CENTERED, log10_isotropy_of
from limbeck.measures.result import Floats
from limbeck.real import real_array

ROWS_AT_ONCE = 8192
Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Geometry:
    """Shape and place of a table.

    zero_rows                those without a direction: they count in means and norms, and are left out of cosines
    mean_norm                mean of ‖w‖ over rows
    norm_of_mean             ‖μ‖
    mean_cosine              of all pairs of different rows, in [−1, 1]; NaN for fewer than two rows with a direction
    top_with_mean            |cosine| of the first eigenvector of WᵀW with μ, in [0, 1]; NaN for a centred table
    log10_isotropy           of I(W) over both signs of each eigenvector; see `measures.log10_isotropy`
    log10_isotropy_one_sign  the published form
    isoscore                 evenness of variance over directions, blind to the mean; NaN where all rows are equal
    singular_values          of W, largest first (d,)
    note                     why I(W) is undefined, if it is
    """

    rows: int
    dim: int
    zero_rows: int
    mean_norm: float
    norm_of_mean: float
    mean_cosine: float
    top_with_mean: float
    log10_isotropy: float
    log10_isotropy_one_sign: float
    isoscore: float
    singular_values: Floats
    note: str = ""

    @property
    def shift(self) -> float:
        """‖μ‖ / mean ‖w‖, in [0, 1]: how far the table stands from the origin beside its own size; NaN if all is 0."""
        return self.norm_of_mean / self.mean_norm if self.mean_norm else math.nan

    @property
    def isotropy(self) -> float:
        """I(W) over both signs; 0 where it is smaller than any float."""
        return math.pow(10, self.log10_isotropy)

    @property
    def isotropy_one_sign(self) -> float:
        """I(W) as published."""
        return math.pow(10, self.log10_isotropy_one_sign)

    @property
    def normalized_singular_values(self) -> Floats:
        """σ / σ₁; NaN where all are zero."""
        largest = self.singular_values[0]
        return self.singular_values / largest if largest else np.full_like(self.singular_values, np.nan)


def geometry(w: Any) -> Geometry:
    """The shape and place of a table (rows, d), in float64.

    >>> found = geometry(np.array([[3.0, 1.0], [3.0, -1.0]]))
    >>> found.norm_of_mean, round(found.shift, 3), round(found.mean_cosine, 3), found.top_with_mean
    (3.0, 0.949, 0.8, 1.0)
    """
    table = checked(w)
    n, d = table.shape
    mean = table.mean(axis=0, dtype=np.float64)
    norms = row_norms(table)
    second, covariance = np.zeros((d, d)), np.zeros((d, d))
    for block in _blocks(table):
        second += block.T @ block
        covariance += (block - mean).T @ (block - mean)
    values, vectors = np.linalg.eigh(second)
    norm_of_mean = float(np.linalg.norm(mean))
    # the mean of a centred table is rounding, and points anywhere
    shifted = norm_of_mean > CENTERED * math.sqrt(max(float(values.sum()), 0.0) / n)
    top = abs(float(vectors[:, -1] @ mean)) / norm_of_mean if shifted else math.nan
    spread = float(np.trace(covariance))
    both, one, note = _isotropies(table)
    return Geometry(
        rows=n,
        dim=d,
        zero_rows=int((norms == 0).sum()),
        mean_norm=float(norms.mean()),
        norm_of_mean=norm_of_mean,
        mean_cosine=mean_cosine(table),
        top_with_mean=min(top, 1.0),
        log10_isotropy=both,
        log10_isotropy_one_sign=one,
        isoscore=_isoscore(covariance, d) if spread > 1e-12 * float(values.sum()) else math.nan,
        singular_values=np.sqrt(np.maximum(values[::-1], 0.0)),
        note=note,
    )


def _isotropies(table: NDArray[Any]) -> tuple[float, float, str]:
    (both, one), note = log10_isotropy_of(torch.from_numpy(np.array(table, dtype=np.float64)))
    return both, one, note


def _isoscore(covariance: Floats, d: int) -> float:
    """((tr C)² / ‖C‖² − 1) / (d − 1); see `measures.isoscore`."""
    return float((np.trace(covariance) ** 2 / (covariance**2).sum() - 1) / (d - 1)) if d > 1 else math.nan


def row_norms(w: NDArray[Any]) -> Floats:
    """‖w‖ of every row, (rows,)."""
    parts = [np.linalg.norm(block, axis=1) for block in _blocks(checked(w))]
    return np.concatenate(parts)


def mean_cosine(w: NDArray[Any]) -> float:
    """Mean cosine of all pairs of different rows, by their sum: (‖Σû‖² − n) / (n² − n). See `Geometry`."""
    total, n = unit_sum(checked(w))
    return (float(total @ total) - n) / (n * n - n) if n > 1 else math.nan


def cosine_regularizer(w: NDArray[Any]) -> float:
    """(1/N²) Σ_i Σ_{j≠i} ŵ_iᵀŵ_j = ‖Σ ŵ_i‖² / N² − 1/N, in [−1/N, 1 − 1/N] (Biš et al. 2021, App. A; Gao et al. 2019).

    The paper prints −N in the place of −1/N (docs/fidelity.md §5.15). NaN where no row has a direction.

    >>> round(cosine_regularizer(np.array([[2.0, 0.0], [0.0, 1.0], [1.0, 0.0]])), 4)  # of 9 pairs 2 are alike
    0.2222
    """
    total, n = unit_sum(checked(w))
    return float(total @ total) / n**2 - 1 / n if n else math.nan


def unit_sum(w: NDArray[Any]) -> tuple[Floats, int]:
    """Σ w/‖w‖ over the rows that are not zero, and their number."""
    total, n = np.zeros(w.shape[1]), 0
    for block in _blocks(w):
        norms = np.linalg.norm(block, axis=1)
        there = norms > 0
        total += (block[there] / norms[there, None]).sum(axis=0)
        n += int(there.sum())
    return total, n


def mean_cosine_between(w: NDArray[Any], rows: Rows, others: Rows, *, self_pairs: bool = False) -> float:
    """Mean cosine of some rows with others, over all pairs of a row of each; NaN without pairs.

    self_pairs  count the pairs of a row with itself, whose cosine is 1, where both have it (docs/fidelity.md §5.12)

    >>> w = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]])
    >>> mean_cosine_between(w, np.array([0, 1]), np.array([1, 2]))  # 1·2 and 1·3 and 2·3; 2 with itself is none
    0.3333333333333333
    """
    table = checked(w)
    (first, n), (second, m) = unit_sum(table[rows]), unit_sum(table[others])
    both = 0 if self_pairs else unit_sum(table[np.intersect1d(rows, others)])[1]
    return (float(first @ second) - both) / (n * m - both) if n * m > both else math.nan


def bins(order: Rows, size: int = 1000) -> list[Rows]:
    """Rows in the order given, in bins of so many; the last may be smaller."""
    return [order[start : start + size] for start in range(0, len(order), size)]


def kinds_to_cover(counts: NDArray[Any], shares: Sequence[float]) -> list[int]:
    """How many of the most frequent kinds (tokens, words) make up each share of a text.

    >>> kinds_to_cover(np.array([1, 6, 0, 3]), [0.3, 0.6, 0.61, 1.0])
    [1, 1, 2, 3]
    """
    falling = np.sort(np.asarray(counts, dtype=np.int64))[::-1]
    covered = np.cumsum(falling)
    total = int(covered[-1]) if len(covered) else 0
    # a rounded share of a count must not ask for one kind more
    return [int(np.searchsorted(covered, share * total * (1 - 1e-12))) + 1 if total else 0 for share in shares]


def softmax_gradient(w: NDArray[Any], hidden: NDArray[Any], target: int) -> Floats:
    """Gradient of −log softmax(Wh)[target] by the table, (y − ŷ) hᵀ, rows × d (Biš et al. 2021, Eq. 5).

    Every row but the target's is a positive multiple of h, so that a step takes all of them along −h. The target's row
    is a negative multiple, as long as the others together: the rows sum to zero. So steps along this gradient, over any
    predictions, leave the mean of the table where it is.
    """
    table, h = checked(w).astype(np.float64), real_array(hidden, what="hidden").astype(np.float64)
    logits = table @ h
    y = np.exp(logits - logits.max())
    y /= y.sum()
    y[target] -= 1.0
    return np.outer(y, h)


def checked(w: Any) -> NDArray[Any]:
    """The table, if it is one: (rows, d), at least one of each, finite numbers."""
    table = real_array(w, what="A table")
    if table.ndim != 2 or not table.size:
        raise LimbeckError(
            f"A table must be (rows, d) with at least one row; got shape {table.shape}.",
            code="wrong_shape",
            parameter="table",
        )
    for start in range(0, len(table), ROWS_AT_ONCE):
        if not np.isfinite(table[start : start + ROWS_AT_ONCE]).all():
            raise LimbeckError(
                "A table must hold finite numbers; got NaN or infinity: mend or remove such rows.",
                code="not_finite",
                parameter="table",
            )
    return table


def _blocks(table: NDArray[Any]) -> Iterator[Floats]:
    """Rows in float64, so many at a time."""
    for start in range(0, len(table), ROWS_AT_ONCE):
        yield np.asarray(table[start : start + ROWS_AT_ONCE], dtype=np.float64)
