"""How evenly directions are used: the partition function I(W), and IsoScore."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from limbeck.accumulators import Moments, Partition
from limbeck.errors import LimbeckError
from limbeck.measures.arrays import observe
from limbeck.measures.mev import EQUAL
from limbeck.measures.result import Floats, Result
from limbeck.real import real_array, refuse_unreal

ALIKE = 1e-6  #: eigenvalues this near to each other (relative to the largest) have no eigenvectors of their own
CENTERED = 1e-6  #: a mean projection below this part of the root mean square decides no sign
ROWS_AT_ONCE = 8192


def log10_isotropy(x: Any, *, basis: Any = None) -> Result:
    """log₁₀ of I(W) = min Z(u) / max Z(u), Z(u) = Σ exp(u·w), over +u and −u of every eigenvector of WᵀW.

    At most 0, and 0 for a perfectly isotropic space (Mu & Viswanath 2018). In log space, since GPT-2's is near 1e-174.
    It depends on scale. Both signs are taken because an eigenvector has none (docs/fidelity.md §3.12). NaN where the
    non-zero eigenvalues agree within 1e-6, as after whitening, unless another space's eigenvectors (columns) are given
    as `basis`.
    """
    return _on_arrays(0, x, basis)


def log10_isotropy_one_sign(x: Any, *, basis: Any = None) -> Result:
    """log₁₀ I(W) with one sign of each eigenvector, comparable with published figures; see `log10_isotropy`.

    The sign makes the mean projection positive, or, where that vanishes (after centering), the third moment.
    """
    return _on_arrays(1, x, basis)


def _on_arrays(which: int, x: Any, basis: Any) -> Result:
    seen = observe(x)
    vectors = seen.batch.vectors.to(torch.float64)
    given = None if basis is None else _checked_basis(basis, *vectors.shape[::2])
    values, notes = [], []
    for layer, w in enumerate(vectors):
        both, note = log10_isotropy_of(w, basis=None if given is None else given[layer])
        values.append(both[which])
        notes.append(note)
    name = ("log10_isotropy", "log10_isotropy_one_sign")[which]
    result = Result(name, np.array(values), len(seen.batch), note=next(filter(None, notes), ""))
    return result.squeezed() if seen.flat else result


def _checked_basis(basis: Any, layers: int, d: int) -> torch.Tensor:
    """A basis for every layer: one (d, d) for all of them, or (layers, d, d)."""
    refuse_unreal(basis, what="basis")
    given = torch.as_tensor(basis if isinstance(basis, torch.Tensor) else real_array(basis, what="basis"))
    given = given.to(torch.float64)
    if given.shape == (d, d):
        return given.expand(layers, d, d)
    if given.shape != (layers, d, d):
        raise LimbeckError(
            f"basis must be ({d}, {d}) or ({layers}, {d}, {d}), eigenvectors in columns; got {tuple(given.shape)}.",
            code="wrong_shape",
            parameter="basis",
        )
    return given


def log10_isotropy_of(w: torch.Tensor, *, basis: torch.Tensor | None = None) -> tuple[tuple[float, float], str]:
    """Both values for points w (n, d) in memory, and a note where they are undefined."""
    w = w.to(torch.float64)
    if not len(w):
        return (math.nan, math.nan), "no points"
    if basis is None:
        basis, note = eigenvectors(w.T @ w)
        if note:
            return (math.nan, math.nan), note
    d = w.shape[1]
    sums = torch.full((2, d), -torch.inf, dtype=torch.float64)
    moments = torch.zeros(3, d, dtype=torch.float64)
    for rows in w.split(ROWS_AT_ONCE):
        along = rows @ basis
        sums = torch.logaddexp(sums, torch.stack([torch.logsumexp(along, 0), torch.logsumexp(-along, 0)]))
        moments += torch.stack([along.sum(0), along.square().sum(0), along.pow(3).sum(0)])
    return _from_sums(sums, moments, len(w)), ""


def log10_isotropy_from(partition: Partition) -> tuple[Floats, Floats]:
    """Both values by layer, from a second pass over every occurrence."""
    pairs = [
        _from_sums(partition.sums[i].cpu(), partition.moments[i].cpu(), partition.n) for i in range(partition.layers)
    ]
    return np.array([both for both, _ in pairs]), np.array([one for _, one in pairs])


def eigenvectors(second_moment: torch.Tensor) -> tuple[torch.Tensor, str]:
    """Eigenvectors (columns) of a symmetric d × d matrix, and a note where they mean nothing."""
    values, vectors = torch.linalg.eigh(second_moment)  # symmetric solver: the general one may go complex
    largest = values[-1]
    positive = values[values > 1e-12 * largest]
    # along directions without variance Z(u) = n whatever they are, so only the non-zero eigenvalues matter
    if len(positive) > 1 and float(largest - positive[0]) <= ALIKE * float(largest):
        return vectors, "all non-zero eigenvalues are equal, so no eigenvector is defined"
    return vectors, ""


def _from_sums(sums: torch.Tensor, moments: torch.Tensor, n: int) -> tuple[float, float]:
    mean, square, cube = moments / n
    decided = mean.abs() >= CENTERED * square.sqrt()
    plus = torch.where(decided, mean >= 0, cube >= 0)
    one = torch.where(plus, sums[0], sums[1])
    return (
        float(sums.min() - sums.max()) / math.log(10),
        float(one.min() - one.max()) / math.log(10),
    )


def isoscore(x: Any) -> Result:
    """How evenly variance spreads over dimensions, in [0, 1]; see `isoscore_of`."""
    seen = observe(x)
    moments = Moments(**seen.shape)
    moments.update(seen.batch)
    result = isoscore_of(moments)
    return result.squeezed() if seen.flat else result


def isoscore_of(moments: Moments) -> Result:
    """IsoScore = ((tr C)² / ‖C‖_F² − 1) / (d − 1) (Rudman et al. 2022, in closed form).

    1 for equal variance in every direction, 0 for one direction. Invariant to mean, rotation and scale. It is biased
    down when points are few: the note says so below 10 × d. NaN where all points are equal, or d is 1.
    """
    d = moments.dim
    ratio = participation(moments)
    value = (ratio - 1) / (d - 1) if d > 1 else np.full_like(ratio, np.nan)
    note = f"{moments.n} points are fewer than 10 times the {d} dimensions: biased low" if moments.n < 10 * d else ""
    if not np.isfinite(value).all():
        note = "all points are equal" if d > 1 else "one dimension has no other to compare with"
    return Result("isoscore", value, moments.n, note=note)


def participation(moments: Moments) -> Floats:
    """(tr C)² / ‖C‖_F² of each layer's covariance C; NaN where all points are equal, as far as rounding can tell."""
    if not moments.n:
        return np.full(moments.layers, np.nan)
    covariance = moments.covariance
    trace = covariance.diagonal(dim1=1, dim2=2).sum(-1)
    raw = trace + moments.mean.square().sum(-1)
    ratio = trace.square() / covariance.square().sum((1, 2))
    value: Floats = torch.where(trace > EQUAL * raw, ratio, torch.nan).cpu().numpy()
    return value
