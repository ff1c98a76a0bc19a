"""A model and the linear layer on top of it."""

from __future__ import annotations

import inspect
from typing import Any

import torch

from limbeck.probe.finetuning.neighbors import check_masking, neighbor_mask
from limbeck.probe.finetuning.pieces import Batch
from limbeck.seeds import seed_of

SPREAD = 0.02  #: standard deviation of the new layer's first weights, BERT's own


class Network(torch.nn.Module):
    """Logits of the places in a batch, from the vectors of the model's last layer.

    neighbors  None, or k: each word attends to k words on either side only
    """

    def __init__(
        self, model: Any, classes: int, *, causal: bool = False, neighbors: int | None = None, seed: int = 0
    ) -> None:
        super().__init__()
        self.model = model
        width = int(model.config.hidden_size)
        self.head = torch.nn.utils.skip_init(torch.nn.Linear, width, classes)  # draws nothing from the global chance
        draws = torch.Generator().manual_seed(seed_of(seed, "finetune", "head") >> 1)
        with torch.no_grad():
            self.head.weight.copy_(torch.empty(classes, width).normal_(0.0, SPREAD, generator=draws))
            self.head.bias.zero_()
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
