"""A model and the linear layer on top of it."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.probing.finetuning.neighbors import check_masking, neighbor_mask
from limbeck.probing.finetuning.pieces import Batch
from limbeck.seeds import seed_of

SPREAD = 0.02  #: standard deviation of the new layer's first weights, BERT's own


class Network(torch.nn.Module):
    """Logits of the places in a batch, from the vectors of the model's last layer.

    counts     examples of each class in training. The new layer's bias begins at the logarithm of their shares: from
               a bias of nothing the first thing to be learnt is which class is frequent, and where nine of ten words
               have the same tag the model learns that by making all their vectors alike, from which it hardly returns
    neighbors  None, or k: each word attends to k words on either side only
    """

    def __init__(
        self,
        model: Any,
        counts: NDArray[np.int64],
        *,
        causal: bool = False,
        neighbors: int | None = None,
        seed: int = 0,
    ) -> None:
        super().__init__()
        self.model = model
        classes, width = len(counts), int(model.config.hidden_size)
        self.head = torch.nn.utils.skip_init(torch.nn.Linear, width, classes)  # draws nothing from the global chance
        draws = torch.Generator().manual_seed(seed_of(seed, "finetune", "head") >> 1)
        with torch.no_grad():
            self.head.weight.copy_(torch.empty(classes, width).normal_(0.0, SPREAD, generator=draws))
            self.head.bias.copy_(torch.from_numpy(first_bias(counts)))
        self.causal, self.neighbors = causal, neighbors
        accepted = inspect.signature(model.forward).parameters
        kinds = getattr(model.config, "type_vocab_size", 0) or 0
        self._segmented = "token_type_ids" in accepted and kinds > 1
        self._cacheable = "use_cache" in accepted
        if neighbors is not None:
            check_masking(model, causal=causal)

    def forward(self, batch: Batch) -> torch.Tensor:
        """(places, classes)."""
        settings: dict[str, Any] = {"attention_mask": self._mask(batch)}
        if self._segmented:
            settings["token_type_ids"] = batch.segments
        if self._cacheable:
            settings["use_cache"] = False
        states = self.model(input_ids=batch.ids, **settings).last_hidden_state  # (windows, length, width)
        chosen = states.reshape(-1, states.shape[-1])[batch.flat]
        if len(batch.row) > len(batch.counts):  # several pieces a place
            sums = torch.zeros(len(batch.counts), chosen.shape[1], device=chosen.device).index_add(0, batch.row, chosen)
            chosen = sums / batch.counts[:, None]
        logits: torch.Tensor = self.head(chosen)
        return logits

    def _mask(self, batch: Batch) -> torch.Tensor:
        if self.neighbors is None:
            return batch.real.long()
        return neighbor_mask(batch.words, batch.real, self.neighbors, causal=self.causal)


def first_bias(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    """Logarithms of the classes' shares, each counted once more than it was met, since 0 has none.

    >>> first_bias(np.array([8, 0])).round(3)
    array([-0.105, -2.303])
    """
    more = np.asarray(counts, dtype=np.float64) + 1
    found: NDArray[np.float64] = np.log(more / more.sum())
    return found
