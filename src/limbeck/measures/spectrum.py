"""Spectra: eigenvalues of the space, raw and centered, and how many directions they amount to."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from limbeck.accumulators import Moments, Points
from limbeck.measures.arrays import observe
from limbeck.measures.isotropy import participation
from limbeck.measures.mev import EQUAL
from limbeck.measures.result import Floats, Result

NOISE = 8.0  #: eigenvalues below so many times the products' rounding are none


@dataclass(frozen=True)
class Spectrum:
    """Eigenvalues of a layer's second moment about zero and about the mean, largest first, (layers, d)."""

    raw: Floats
    centered: Floats


def spectrum_of(moments: Moments, points: Points | None = None) -> Spectrum:
    """Both spectra. Below n = d they come from the points themselves (see `effective_rank_of`)."""
    if not moments.n:
        nothing = np.full((moments.layers, moments.dim), np.nan)
        return Spectrum(nothing, nothing)
    if points is not None and points.complete and 0 < len(points) <= moments.dim:
        raw, centered = [], []
        for layer in range(moments.layers):
            w = torch.from_numpy(points.layer(layer)).to(torch.float64)
            raw.append(_squared_singular_values(w))
            centered.append(_squared_singular_values(w - w.mean(0)))
        return Spectrum(np.stack(raw), np.stack(centered))
    noise = NOISE * moments.precision
    return Spectrum(_eigenvalues(moments.second_moment, noise), _eigenvalues(moments.covariance, noise))


def effective_rank(x: Any) -> Result:
    """exp of the entropy of the normalised singular values of the centered matrix; see `effective_rank_of`."""
    seen = observe(x)
    moments = Moments(**seen.shape)
    moments.update(replace(seen.batch, vectors=seen.batch.vectors.to(torch.float64)))
    points = Points(**seen.shape, capacity=min(len(seen.batch), moments.dim) or 1)
    points.update(seen.batch)
    result = effective_rank_of(spectrum_of(moments, points), n=moments.n)
    return result.squeezed() if seen.flat else result


def effective_rank_of(spectrum: Spectrum, *, n: int) -> Result:
    """exp(−Σ p log p), p = σ/Σσ over the singular values of the centered matrix, in [1, d] (Roy & Vetterli 2007).

    Square roots of rounding noise would spoil it where fewer points than dimensions leave most σ at zero: there it is
    made from the points. NaN where all points are equal.
    """
    singular = np.sqrt(np.maximum(spectrum.centered, 0))
    total = singular.sum(-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = singular / total
        entropy = -np.where(p > 0, p * np.log(p), 0.0).sum(-1)
    differ = spectrum.centered.sum(-1) > EQUAL * spectrum.raw.sum(-1)
    value = np.where(differ, np.exp(entropy), np.nan)
    return Result("effective_rank", value, n, note="" if np.isfinite(value).all() else _undefined(n))


def participation_ratio(x: Any) -> Result:
    """(Σλ)² / Σλ² of the centered covariance, in [1, d]; see `participation_ratio_of`."""
    seen = observe(x)
    moments = Moments(**seen.shape)
    moments.update(seen.batch)
    result = participation_ratio_of(moments)
    return result.squeezed() if seen.flat else result


def participation_ratio_of(moments: Moments) -> Result:
    """(tr C)² / ‖C‖_F², the number of directions that variance amounts to. NaN where all points are equal."""
    value = participation(moments)
    note = "" if np.isfinite(value).all() else _undefined(moments.n)
    return Result("participation_ratio", value, moments.n, note=note)


def _undefined(n: int) -> str:
    return "all points are equal" if n else "no points"


def _eigenvalues(matrices: torch.Tensor, noise: float) -> Floats:
    """Eigenvalues of symmetric matrices (layers, d, d), largest first, those that are rounding noise as zeros.

    Every layer that ends in a LayerNorm has a direction of no variance at all; the square root of what rounding leaves
    there would count as a direction of its own. Noise along v is judged by the variances it is made of, Σ v_i² C_ii,
    not by the largest eigenvalue, beside which a rogue dimension would make all others noise.
    """
    found = np.empty(matrices.shape[:2])
    for layer, matrix in enumerate(matrices.cpu()):
        values, vectors = torch.linalg.eigh(matrix)
        floor = noise * (vectors.square().T @ matrix.diagonal())
        found[layer] = torch.where(values > floor, values, 0.0).flip(0).numpy()
    return np.sort(found, axis=1)[:, ::-1].copy()


def _squared_singular_values(w: torch.Tensor) -> Floats:
    """Eigenvalues of wᵀw/n from the points, padded with exact zeros."""
    values = np.zeros(w.shape[1])
    singular = torch.linalg.svdvals(w).numpy()
    # σ below the solver's own rounding is zero: centering takes one rank away
    singular = np.where(singular > singular.max(initial=0) * max(w.shape) * np.finfo(np.float64).eps, singular, 0)
    values[: len(singular)] = singular**2 / len(w)
    return values
