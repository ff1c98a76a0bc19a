"""Removal of the dominant directions of each cluster of the space."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from limbeck.errors import LimbeckError, choose
from limbeck.measures.kmeans import STARTING_ROWS, lloyd, nearest, starting_centers
from limbeck.measures.rows import blocks
from limbeck.real import real_array
from limbeck.repairs.repair import Learned, Repair, check_whole
from limbeck.repairs.sums import Sums, principal
from limbeck.seeds import generator_for

Rows = tuple[torch.Tensor, torch.Tensor]  # (n, d) and their weights (n,)
STARTS = ("k-means++", "random")
ROUNDING = 64  #: vectors shorter than so many roundings of what they were before are nothing


class ClusterRemoval(Repair):
    """x − μ_c − Σ_j u_cj u_cjᵀ(x − μ_c), c the cluster of x (Rajaee & Pilehvar 2021).

    Vectors are clustered by k-means as they are; each cluster's own mean is subtracted and not added back, so that
    clusters come to lie on one another; then the projections on its first principal components are taken away
    (docs/fidelity.md §3.8). With one cluster it is `AllButTheTop`.

    n_clusters    k; the paper took 27 for BERT and RoBERTa, 10 for GPT-2
    n_components  of each cluster; the paper took 12, and 30 for GPT-2
    init          "k-means++", "random" (rows, as the published code) or the first centers, (k, d)
    iterations    of Lloyd's algorithm at most, 10 as in the published code; 1 only assigns to the first centers
    random_state  seed of the first centers

    A vector belongs to the nearest of `centers_`, and `means_` and `components_` were made of the vectors that did:
    repairing the vectors of the fit is the published way, and others go to the cluster that they would have been in.

    A cluster that is empty at the end is dropped; fewer different vectors than clusters give as many clusters as there
    are different ones. A cluster has at most as many components as directions with variance (`removed_`), so a cluster
    of one vector is centered, and nothing more. Where all of a cluster's directions are removed nothing is left of its
    vectors but rounding, and they become zero.

    `partial_fit` keeps centers that are given by `init`, which is exact: the same as `fit` with one iteration, in any
    batches. Else it waits for 20,000 vectors, or until a result is asked for, and clusters these, as `fit` would; from
    then on centers are the running means of their vectors (mini-batch k-means). For centers from a sample of a stream,
    fit one on `accumulators.Points`, and give its `centers_` to another as `init`.
    """

    learned = ("centers_", "means_", "components_", "removed_")

    def __init__(
        self,
        n_clusters: int = 27,
        n_components: int = 12,
        *,
        init: Any = "k-means++",
        iterations: int = 10,
        random_state: int = 0,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_components = n_components
        self.init = init
        self.iterations = iterations
        self.random_state = random_state

    def begin(self, dim: int) -> None:
        check_whole("n_clusters", self.n_clusters, least=1)
        check_whole("iterations", self.iterations, least=1)
        check_whole("random_state", self.random_state, least=0)
        self._count = min(check_whole("n_components", self.n_components, least=0), dim)
        self._centers: Any = None  # a tensor (k, d) once there is one
        self._given = not isinstance(self.init, str)
        self._waiting: list[Rows] | None = []  # before there are centers
        if self._given:
            shape = tuple(np.shape(self.init))
            if shape != (self.n_clusters, dim):
                raise LimbeckError(
                    f"init must hold {self.n_clusters} centers of {dim} dimensions; got shape {shape}.",
                    code="wrong_shape",
                    parameter="init",
                )
        else:
            choose(self.init, STARTS, what="init")

    def take_all(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        self._waiting = None
        self._cluster(x, weights)

    def take(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        if self._centers is None and self._given:
            self._hold(self._start(x, weights))
        if self._given or self._waiting is None:
            self._follow()
            self._sum_up(x, weights, nearest(x, self._centers.to(x.device)))
            return
        each = torch.ones(len(x), dtype=torch.float64, device=x.device) if weights is None else weights
        self._waiting.append((x.clone(), each))
        if sum(len(rows) for rows, _ in self._waiting) >= STARTING_ROWS:
            self.take_all(*_joined(self._waiting))

    def _cluster(self, x: torch.Tensor, weights: torch.Tensor | None) -> None:
        centers, labels = lloyd(x, self._start(x, weights), iterations=self.iterations, weights=weights)
        self._hold(centers)
        self._sum_up(x, weights, labels)

    def _start(self, x: torch.Tensor, weights: torch.Tensor | None) -> torch.Tensor:
        if self._given:
            given = real_array(self.init, what="init")
            centers = torch.from_numpy(given.astype(np.float64)).to(x.device)
            if not bool(centers.isfinite().all()):
                raise LimbeckError(
                    "init must hold finite centers; it has NaN or infinity: give others.",
                    code="not_finite",
                    parameter="init",
                )
            return centers
        generator = generator_for(self.random_state, "clusters")
        return starting_centers(x, self.n_clusters, generator, spread=self.init == "k-means++", weights=weights)

    def _hold(self, centers: torch.Tensor) -> None:
        self._centers = centers
        self._sums = [Sums(centers.shape[1], "full") for _ in centers]

    def _follow(self) -> None:
        """Move the centers, unless they were given, to the running means of their vectors."""
        if self._given:
            return
        rows = zip(self._sums, self._centers, strict=True)
        self._centers = torch.stack([sums.mean.to(center.device) if sums.rows else center for sums, center in rows])

    def _sum_up(self, x: torch.Tensor, weights: torch.Tensor | None, labels: torch.Tensor) -> None:
        sizes = torch.bincount(labels, minlength=len(self._sums)).tolist()
        for sums, rows in zip(self._sums, labels.argsort(stable=True).split(sizes), strict=True):
            for some in rows.split(blocks(x).step):
                sums.add(x.index_select(0, some), None if weights is None else weights[some])

    def learn(self) -> Learned:
        if self._waiting:
            self._cluster(*_joined(self._waiting))  # they go on waiting: more may come
        filled = [cluster for cluster, sums in enumerate(self._sums) if sums.rows]
        components = torch.stack([principal(self._sums[cluster], self._count)[1] for cluster in filled])
        return {
            "centers_": self._centers[filled],
            "means_": torch.stack([self._sums[cluster].mean for cluster in filled]),
            "components_": components,  # (clusters, components, d)
            "removed_": (components != 0).any(2).sum(1),
        }

    @staticmethod
    def apply(x: torch.Tensor, learned: Learned, **params: Any) -> torch.Tensor:
        labels = nearest(x, learned["centers_"])
        sizes = torch.bincount(labels, minlength=len(learned["centers_"])).tolist()
        # clusters one after the other, so that each is one product
        rows_of_clusters = labels.argsort().split(sizes)
        repaired = torch.empty_like(x)
        for rows, mean, directions in zip(rows_of_clusters, learned["means_"], learned["components_"], strict=True):
            if not len(rows):
                continue
            centered = x.index_select(0, rows) - mean
            rest = torch.addmm(centered, centered @ directions.T, directions, alpha=-1.0)
            repaired = repaired.index_copy_(0, rows, rest)
        least = ROUNDING * torch.finfo(x.dtype).eps * torch.linalg.vector_norm(x, dim=1, keepdim=True)
        there = torch.linalg.vector_norm(repaired, dim=1, keepdim=True) > least
        if x.device.type == "cpu" and bool(there.all()):  # to look costs less than to write, but on a device
            return repaired
        return torch.where(there, repaired, 0.0)


def _joined(parts: list[Rows]) -> Rows:
    rows, weights = zip(*parts, strict=True)
    return torch.cat(rows), torch.cat(weights)
