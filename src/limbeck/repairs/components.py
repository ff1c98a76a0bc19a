"""Removal of the dominant directions of the whole space."""

from __future__ import annotations

from typing import Any

import torch

from limbeck.errors import choose
from limbeck.repairs.center import Summed
from limbeck.repairs.repair import Learned, check_below, check_whole
from limbeck.repairs.sums import principal

PROJECTIONS = ("centered", "uncentered")


class AllButTheTop(Summed):
    """x − μ − Σ_j u_j u_jᵀ(x − μ): subtract the mean, and the D first principal components (Mu & Viswanath 2018).

    n_components  D, ⌈d/100⌉ without it. Biš et al. (2021) took ⌈d/100⌉ for isotropy and 2 for word similarity, Rajaee &
                  Pilehvar (2021) 15 to 30
    projection    "centered" projects x − μ (Biš et al., Eq. 11); "uncentered" projects x itself, as in the original.
                  They differ by the constant vector Σ_j u_j u_jᵀμ (docs/fidelity.md §5.5)

    D must be below d, else nothing but rounding would be left. Of fewer directions with variance than D, all are
    removed and no other.
    """

    form = "full"
    learned = ("mean_", "components_", "variances_")

    def __init__(self, n_components: int | None = None, *, projection: str = "centered") -> None:
        self.n_components = n_components
        self.projection = projection

    def begin(self, dim: int) -> None:
        choose(self.projection, PROJECTIONS, what="projection")
        count = -(-dim // 100) if self.n_components is None else check_whole("n_components", self.n_components, least=0)
        self._count = check_below(count, dim)
        super().begin(dim)

    def learn(self) -> Learned:
        variances, directions = principal(self._sums, self._count)
        return {"mean_": self._sums.mean, "components_": directions, "variances_": variances}

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        centered = x - learned["mean_"]
        projected = centered if params["projection"] == "centered" else x
        return centered - (projected @ learned["components_"].T) @ learned["components_"]
