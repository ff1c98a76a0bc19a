"""Attention limited to neighbours: each word attends to k words on either side (Zhao et al. 2020, Appendix C)."""

from __future__ import annotations

from typing import Any

import torch

from limbeck.errors import UsageError


def neighbor_mask(words: torch.Tensor, real: torch.Tensor, k: int, *, causal: bool = False) -> torch.Tensor:
    """What is added to attention scores (texts, 1, length, length): 0 where seen, the least number where not.

    words  (texts, length) number of the word that a piece belongs to; special tokens are words of their own at the
           ends, so that nothing can pass by way of them from far off
    real   (texts, length) False for padding

    A position is always seen by itself, so that every row has something to attend to. Added numbers rather than a
    boolean mask, since that is what both of transformers' ways to compute attention (sdpa, eager) take.

    >>> neighbor_mask(torch.tensor([[0, 1, 1, 2]]), torch.ones(1, 4, dtype=bool), 0)[0, 0] == 0
    tensor([[ True, False, False, False],
            [False,  True,  True, False],
            [False,  True,  True, False],
            [False, False, False,  True]])
    """
    near = (words[:, :, None] - words[:, None, :]).abs() <= k
    seen = near & real[:, None, :]
    if causal:
        seen = seen.tril()
    seen = seen | torch.eye(words.shape[1], dtype=torch.bool, device=words.device)
    least = torch.finfo(torch.float32).min
    return torch.zeros(seen.shape, device=words.device).masked_fill_(~seen, least)[:, None]


@torch.no_grad()
def check_masking(model: Any, *, causal: bool, pieces: int = 6) -> None:
    """Refuse a model that does not heed such a mask: with k = 0 the last piece must change nothing but itself."""
    table = model.get_input_embeddings().weight
    some = torch.arange(pieces, device=table.device) + len(table) // 2
    ids = torch.stack([some, some])
    ids[1, -1] += 1
    words = torch.arange(pieces, device=table.device).expand(2, -1)
    mask = neighbor_mask(words, torch.ones_like(ids, dtype=torch.bool), 0, causal=causal)
    training = model.training
    model.eval()
    try:
        states = model(input_ids=ids, attention_mask=mask).last_hidden_state
        changed = (states[0] - states[1]).abs().amax(-1)
        heeded = bool(changed[:-1].max() <= 1e-4 * changed[-1])
    except (IndexError, RuntimeError, TypeError, ValueError):
        heeded = False
    finally:
        model.train(training)
    if not heeded:
        raise UsageError(
            f"--attention-window needs a model that takes a mask for each pair of positions, as BERT and GPT-2 do; "
            f"{model.config.model_type} does not: leave it out.",
            code="unsupported",
            parameter="attention_window",
        )
