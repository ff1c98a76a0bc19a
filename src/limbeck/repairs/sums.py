"""Weighted mean and scatter of rows, in one pass and in memory that does not grow with them."""

from __future__ import annotations

from typing import Any, Literal, Self

import torch

from limbeck.accumulators import Moments
from limbeck.accumulators.moments import symmetric_products
from limbeck.errors import LimbeckError
from limbeck.measures.rows import blocks, narrow

Form = Literal["mean", "diagonal", "full"]


def check_layer(layer: int, layers: int, *, n: int) -> None:
    """Refuse what no repair can be fitted on: no vectors, or a layer that is not there."""
    if not n:
        raise LimbeckError(
            "fit_from needs the sums of at least one vector; these are empty: fill them by a pass.", code="empty"
        )
    if not -layers <= layer < layers:
        raise LimbeckError(
            f"layer must be one of the {layers} that were summed; got {layer}.", code="out_of_range", parameter="layer"
        )


class Sums:
    """Σw, the mean Σwx / Σw, and the scatter Σw(x − mean)(x − mean)ᵀ: all of it, its diagonal, or none.

    Chan's update in float64. Products are made in the rows' own precision after a shift to the running mean. Unlike
    `accumulators.Moments` it has weights and never splits into 16-bit parts, which whitening would notice.
    """

    def __init__(self, dim: int, form: Form) -> None:
        self.form = form
        self.rows = 0
        self.weight = 0.0
        self.precision = torch.finfo(torch.float64).eps  # relative rounding of the coarsest products in scatter
        self.mean = torch.zeros(dim, dtype=torch.float64)
        shape = {"mean": (0,), "diagonal": (dim,), "full": (dim, dim)}[form]
        self.scatter = torch.zeros(shape, dtype=torch.float64)

    @classmethod
    def of_moments(cls, moments: Any, layer: int, form: Form) -> Self:
        """What a pass has summed up in `accumulators.Moments` for one layer."""
        if not isinstance(moments, Moments):
            raise LimbeckError(
                f"fit_from takes accumulators.Moments; got {type(moments).__name__}.",
                code="wrong_type",
                parameter="moments",
            )
        check_layer(layer, moments.layers, n=moments.n)
        made = cls(moments.dim, form)
        made.rows, made.weight = moments.n, float(moments.n)
        made.precision = max(made.precision, moments.precision)
        made.mean = moments.mean[layer]  # never changed in place
        scatter = moments.scatter[layer]
        if form != "mean":
            made.scatter = (scatter if form == "full" else scatter.diagonal()).clone()
        return made

    def add(self, x: torch.Tensor, weights: torch.Tensor | None = None) -> None:
        """Take in rows x (n, d), with weights (n,) in float64."""
        for start in (starts := blocks(x)):
            rows = slice(start, start + starts.step)
            self._add(x[rows], None if weights is None else weights[rows])

    def _add(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        weight = float(len(x)) if weights is None else float(weights.sum())
        if not weight:
            return
        self.mean, self.scatter = self.mean.to(x.device), self.scatter.to(x.device)
        total = x.sum(0, dtype=torch.float64) if weights is None else weights @ x.to(torch.float64)
        # the shift as it is subtracted: rounded to the precision of the products
        shift = (self.mean if self.weight else total / weight).to(narrow(x))
        rest = total - weight * shift.to(torch.float64)  # Σw(x − shift)
        if self.form != "mean":
            self.precision = max(self.precision, torch.finfo(shift.dtype).eps)
            shifted = x.to(shift.dtype) - shift
            if weights is not None:
                shifted *= weights.sqrt().to(shift.dtype).unsqueeze(1)
            if self.form == "full":
                scatter = symmetric_products(shifted.unsqueeze(0))[0] - torch.outer(rest, rest / weight)
            else:
                scatter = shifted.square().sum(0, dtype=torch.float64) - rest.square() / weight
            self.scatter += scatter
        self._combine(len(x), weight, shift.to(torch.float64) + rest / weight)

    def _combine(self, rows: int, weight: float, mean: torch.Tensor) -> None:
        """Chan, Golub & LeVeque (1983): what the distance of two means adds to the scatter, and the mean of both."""
        total = self.weight + weight
        delta = mean - self.mean
        share = self.weight * weight / total
        if self.form == "full":
            self.scatter += torch.outer(delta, delta * share)
        elif self.form == "diagonal":
            self.scatter += delta.square() * share
        self.mean = self.mean + delta * (weight / total)
        self.weight = total
        self.rows += rows

    @property
    def covariance(self) -> torch.Tensor:
        """Scatter over Σw: (d, d), or its diagonal (d,); zero before any row."""
        return self.scatter / (self.weight or 1.0)

    @property
    def noise(self) -> torch.Tensor:
        """Variance (d,) that rounding alone can give a constant dimension."""
        return (self.rows * torch.finfo(torch.float64).eps * self.mean).square()


def principal(sums: Sums, count: int | None = None) -> tuple[torch.Tensor, torch.Tensor]:
    """The `count` largest variances (count,) and their directions (count, d), all of them without `count`.

    By the symmetric solver on the d × d covariance, which is cheaper than a decomposition of the rows. Directions
    without variance, as far as the rounding of the sums can tell, are zero vectors of variance 0: nothing is there.
    """
    d = len(sums.mean)
    count = d if count is None else min(count, d)
    if not count:
        return sums.mean.new_zeros(0), sums.mean.new_zeros(0, d)
    values, vectors = _largest(sums.covariance, count)
    floor = max(d * torch.finfo(torch.float64).eps, sums.precision) * values[0] + sums.noise.sum()
    there = values > floor
    return torch.where(there, values, 0.0), torch.where(there.unsqueeze(1), vectors, 0.0)


def _largest(symmetric: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The largest eigenvalues (count,) of a symmetric matrix and their eigenvectors (count, d)."""
    d = len(symmetric)
    if symmetric.device.type == "cpu" and 4 * count < d:  # a few cost a third of all, but torch has no such solver
        import scipy.linalg  # comes with scikit-learn, whose absence is told where it is imported

        values, vectors = map(
            torch.from_numpy, scipy.linalg.eigh(symmetric.numpy(), subset_by_index=(d - count, d - 1))
        )
    else:
        values, vectors = torch.linalg.eigh(symmetric)
    return values.flip(0)[:count], vectors.flip(1).T[:count].contiguous()
