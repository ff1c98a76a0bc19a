"""Whitening: the same variance in every direction, and none shared between two."""

from __future__ import annotations

from typing import Any

import torch

from limbeck.repairs.center import Summed
from limbeck.repairs.repair import Learned
from limbeck.repairs.sums import principal


class Whitening(Summed):
    """C^(−1/2) (x − μ), C the covariance over n: afterwards it is the identity.

    This root is the symmetric one, which moves vectors least; any other is a rotation of it and gives the same
    cosines and distances. With word frequencies as `sample_weight` it is Zipfian whitening (Yokoi et al. 2024).

    Directions without variance (rank deficiency, fewer points than dimensions, one point) become 0: they are those
    whose variance is below the rounding of the sums, relative to the largest. For vectors in float32 that is 1e-7, for
    moments summed on a GPU 2e-5: where a few dimensions are that much wider than others, fit on the vectors.
    """

    form = "full"
    learned = ("mean_", "matrix_", "variances_")

    def learn(self) -> Learned:
        variances, directions = principal(self._sums)
        inverse = torch.where(variances > 0, variances, torch.inf).rsqrt()  # 1/√∞ = 0
        matrix = (directions.T * inverse) @ directions
        return {"mean_": self._sums.mean, "matrix_": matrix, "variances_": variances}

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        return (x - learned["mean_"]) @ learned["matrix_"]
