"""How many positions a model has, and where it begins to count them."""

from __future__ import annotations

from typing import Any

import torch

from limbeck.errors import UsageError

LONGEST_WINDOW = 4_096  #: unless asked: models of 100,000 positions would read a book at once
_UNKNOWN_WINDOW = 512
_POSITION_TABLES = ("wpe", "pos_emb", "position", "embed_position")


def choose_window_size(model: Any, tokenizer: Any, window: int | None) -> int:
    """How many pieces the model reads at once, special tokens included."""
    limit = position_limit(model)
    if window is not None:
        if window < 1:
            raise UsageError(
                f"A window must hold at least 1 piece; got {window}: leave it out for the model's own.",
                code="out_of_range",
                parameter="window",
            )
        if limit is not None and window > limit:
            raise UsageError(
                f"The model has {limit} positions; got a window of {window}: ask for {limit} or less.",
                code="out_of_range",
                parameter="window",
            )
        return window
    config = model.config
    known = [limit, getattr(tokenizer, "model_max_length", None)]
    known += [getattr(config, key, None) for key in ("max_position_embeddings", "n_positions")]
    # A tokenizer without a limit says 1e30; a model with relative positions may say -1.
    sane = [size for size in known if isinstance(size, int) and 1 < size < 10**7]
    return min([LONGEST_WINDOW, *sane]) if sane else _UNKNOWN_WINDOW


def position_limit(model: Any) -> int | None:
    """How many positions a learned table holds; None for models that compute theirs."""
    limits = []
    for path, module in model.named_modules():
        if isinstance(module, torch.nn.Embedding) and path.rpartition(".")[2].startswith(_POSITION_TABLES):
            # RoBERTa's kind begins to count behind its padding id, BART's and OPT's at a fixed offset.
            reserved = getattr(module, "offset", None)
            if reserved is None:
                reserved = 0 if module.padding_idx is None else module.padding_idx + 1
            limits.append(module.num_embeddings - int(reserved))
    return min(limits, default=None)


def first_position(model: Any) -> int:
    """The number of a text's first position; RoBERTa's kind begins to count behind its padding id."""
    table = next(module for path, module in model.named_modules() if path.endswith("position_embeddings"))
    return 0 if table.padding_idx is None else int(table.padding_idx) + 1
