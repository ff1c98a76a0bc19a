"""Repairs that move vectors without turning them: centering, plain, scaled, and with unit variances."""

from __future__ import annotations

from typing import Any, Self

import torch

from limbeck.accumulators import UnitSums
from limbeck.errors import LimbeckError
from limbeck.measures.rows import blocks
from limbeck.repairs.repair import Learned, Repair
from limbeck.repairs.sums import Form, Sums, check_layer


class Summed(Repair):
    """A repair that is fitted from a mean and, as `form` says, from variances or the whole covariance."""

    form: Form = "mean"

    def begin(self, dim: int) -> None:
        self._sums = Sums(dim, self.form)

    def take(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        self._sums.add(x, weights)

    def fit_from(self, moments: Any, *, layer: int = 0) -> Self:
        """Fit on what a pass has summed up: one layer of `accumulators.Moments`."""
        return self._fit_sums(Sums.of_moments(moments, layer, self.form))

    def _fit_sums(self, sums: Sums) -> Self:
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = len(sums.mean)
        self._restart(self.n_features_in_)
        self._sums = sums
        self._settle()
        return self


class Center(Summed):
    """x − μ: subtract the mean.

    Biš et al. (2021) take the mean over all rows of the table alike (docs/fidelity.md §5.4); with word frequencies as
    `sample_weight` it is the mean over a text. A single vector becomes zero.
    """

    learned = ("mean_",)

    def learn(self) -> Learned:
        return {"mean_": self._sums.mean}

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        return x - learned["mean_"]


class ScaledCenter(Center):
    """x − ‖x‖ μ̂, μ̂ the mean of the unit vectors x/‖x‖ (Biš et al. 2021, §5.2).

    Long vectors are moved further. A zero vector has no direction: it is left out of μ̂ and stays zero. Where all are
    zero, μ̂ is zero.
    """

    def take(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        for start in (starts := blocks(x)):
            part = slice(start, start + starts.step)
            rows = x[part].to(torch.float64)
            largest = rows.abs().amax(1, keepdim=True)
            there = largest.squeeze(1) > 0
            rows = (rows / largest)[there]  # so that no square is too small or too large for its number
            units = rows / torch.linalg.vector_norm(rows, dim=1, keepdim=True)
            self._sums.add(units, None if weights is None else weights[part][there])

    def fit_from(self, units: Any, *, layer: int = 0) -> Self:
        """Fit on what a pass has summed up: one layer of `accumulators.UnitSums`."""
        if not isinstance(units, UnitSums):
            raise LimbeckError(
                f"ScaledCenter.fit_from takes accumulators.UnitSums; got {type(units).__name__}.",
                code="wrong_type",
                parameter="units",
            )
        check_layer(layer, units.layers, n=int(units.n.sum()))
        sums = Sums(units.dim, self.form)
        sums.rows, sums.weight = int(units.n.sum()), float(units.n.sum())
        sums.mean = units.sums[layer].sum(0) / sums.weight
        return self._fit_sums(sums)

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        norms: torch.Tensor = torch.linalg.vector_norm(x, dim=1, keepdim=True)
        return x - norms * learned["mean_"]


class Standardize(Summed):
    """(x − μ) / σ, dimension by dimension, σ² the variance over n (not n − 1).

    A constant dimension has no σ: it is centered and not scaled, as in scikit-learn's StandardScaler.
    """

    form = "diagonal"
    learned = ("mean_", "scale_")

    def learn(self) -> Learned:
        variance = self._sums.covariance
        constant = variance <= self._sums.noise
        return {"mean_": self._sums.mean, "scale_": torch.where(constant, 1.0, variance.clamp(min=0.0).sqrt())}

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        return (x - learned["mean_"]) / learned["scale_"]
