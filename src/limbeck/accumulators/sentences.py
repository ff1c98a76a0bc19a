"""How like its words each sentence is: intra-sentence similarity, sentence by sentence."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded
from limbeck.seeds import hash_ids
from limbeck.state import State
from limbeck.transfer import send

REPLICATES = 200  #: of the Poisson bootstrap over sentences
LONGEST = 1024  #: longer sentences are counted with this length


class Sentences:
    """Σ over sentences of the mean cosine of a word with its sentence's mean vector.

    IntraSim(s) = (mean û)·(mean x) / ‖mean x‖ (Ethayarajh 2019, Eq. 2). Sentences of one word are
    left out and counted. Each sentence enters replicate b with a Poisson(1) weight drawn from the hash
    of its identity, which is a bootstrap over sentences that needs no sentence to be kept.

    limit    keep and use only the `limit` sentences of smallest hash (presets that sample), 0 for all
    totals   (layers + 1, 1 + replicates)  weighted sums of IntraSim; the last row sums the weights;
             the first column has weight 1
    lengths  (LONGEST + 1,)                number of sentences by length
    """

    name: ClassVar[str] = "sentences"

    def __init__(self, *, layers: int, dim: int, limit: int = 0) -> None:
        self.layers = layers
        self.dim = dim
        self.limit = limit
        self.single = 0  # sentences of one word
        self._totals = torch.zeros(layers + 1, 1 + REPLICATES, dtype=torch.float64)
        self._lengths = np.zeros(LONGEST + 1, dtype=np.int64)
        # kept sentences, where there is a limit
        self._hashes = np.empty(0, dtype=np.uint64)
        self._values = np.empty((0, layers))
        self._sizes = np.empty(0, dtype=np.int64)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "limit": self.limit}

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        sentences = batch.by_sentence
        self.single += int((sentences.sizes == 1).sum())
        keep = np.flatnonzero(sentences.sizes > 1)
        if not len(keep):
            return
        units = batch.unit_sums_by_sentence  # (layers, sentences, d)
        sums = batch.sums_by_sentence
        sizes = send(sentences.sizes, units.device)
        values = (units * sums).sum(-1) / (sizes * torch.linalg.vector_norm(sums, dim=-1))
        hashes = hash_ids(sentences.identities[keep])
        # a zero mean vector has no direction: such sentences (never seen in a real model) weigh nothing
        if self.limit:
            chosen = values.T.to(torch.float64).cpu().numpy()[keep]  # (sentences, layers)
            some = np.isfinite(chosen).all(axis=1)
            self._keep_smallest(hashes[some], chosen[some], sentences.sizes[keep][some])
            return
        weights = np.zeros((len(sentences.sizes), 1 + REPLICATES), dtype=np.uint8)  # small, since it travels
        weights[keep, 0] = 1
        weights[keep, 1:] = poisson_weights(hashes)
        defined = torch.isfinite(values).all(dim=0)
        rows = torch.cat([values, torch.ones_like(values[:1])]).to(torch.float64)
        rows = torch.where(defined, rows, 0.0)
        self._totals = self._totals.to(rows.device) + rows @ send(weights, rows.device).to(torch.float64)
        self._lengths += np.bincount(np.minimum(sentences.sizes[keep], LONGEST), minlength=LONGEST + 1)

    def _keep_smallest(self, hashes: NDArray[np.uint64], values: NDArray[np.float64], sizes: NDArray[np.int64]) -> None:
        hashes = np.concatenate([self._hashes, hashes])
        order = np.argsort(hashes, kind="stable")[: self.limit]
        self._hashes = hashes[order]
        self._values = np.concatenate([self._values, values])[order]
        self._sizes = np.concatenate([self._sizes, sizes])[order]

    # what measures read, whether sentences were kept or summed

    @property
    def totals(self) -> NDArray[np.float64]:
        totals: NDArray[np.float64]
        if not self.limit:
            totals = self._totals.cpu().numpy()
            return totals
        weights = np.concatenate([np.ones((len(self._hashes), 1)), poisson_weights(self._hashes)], axis=1)
        totals = np.concatenate([self._values, np.ones((len(self._values), 1))], axis=1).T @ weights
        return totals

    @property
    def n(self) -> int:
        return int(self.totals[-1, 0])

    @property
    def lengths(self) -> NDArray[np.int64]:
        if self.limit:
            return np.bincount(np.minimum(self._sizes, LONGEST), minlength=LONGEST + 1)
        return self._lengths

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.single += other.single
        self._keep_smallest(other._hashes, other._values, other._sizes)
        self._totals = self._totals + other._totals.to(self._totals.device)
        self._lengths = self._lengths + other._lengths

    def state(self) -> State:
        return {
            "single": np.array(self.single),
            "totals": self._totals.cpu().numpy().copy(),
            "lengths": self._lengths.copy(),
            "hashes": self._hashes.copy(),
            "values": self._values.copy(),
            "sizes": self._sizes.copy(),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.single = int(state["single"])
        made._totals = torch.from_numpy(state["totals"].copy())
        made._lengths = state["lengths"].copy()
        made._hashes = state["hashes"].copy()
        made._values = state["values"].copy()
        made._sizes = state["sizes"].copy()
        return made


def _poisson_table() -> NDArray[np.uint8]:
    """Poisson(1) quantiles of the 65,536 values of 16 random bits."""
    uniform = (np.arange(65536) + 0.5) / 65536
    cumulative = np.cumsum([math.exp(-1) / math.factorial(k) for k in range(12)])
    return np.searchsorted(cumulative, uniform).astype(np.uint8)


_POISSON = _poisson_table()


def poisson_weights(hashes: NDArray[np.uint64]) -> NDArray[np.uint8]:
    """(n, REPLICATES) Poisson(1) weights, a function of the hashes alone. One hash gives four draws."""
    salts = np.arange(1, REPLICATES // 4 + 1, dtype=np.uint64) * np.uint64(0xD1B54A32D192ED03)
    mixed = hash_ids(hashes[:, None] ^ salts[None, :])
    bits = mixed.view(np.uint16).reshape(len(hashes), REPLICATES)
    return _POISSON[bits]
