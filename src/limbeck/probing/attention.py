"""How alike two models attend: cosine of their attention weights by layer and head (Zhao et al. 2020, Figure 7)."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoders.alignment import Aligner
from limbeck.encoders.batching import cut
from limbeck.encoders.huggingface import choose_device
from limbeck.encoders.loading import Parts, load_parts
from limbeck.encoders.positions import choose_window_size
from limbeck.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

Floats = NDArray[np.float64]
WEIGHTS = 1 << 25  #: attention weights of one layer held at once, of both models


@dataclass(frozen=True)
class AttentionSimilarity:
    """Cosine of attention weights by layer and head, (layers, heads); the lowest layer first.

    pooled   the weights of all texts as one vector a head
    mean     mean over texts of the cosine of each text's own weights, in which a short text counts as a long one
    spread   standard deviation of that over texts; NaN for one text
    """

    names: tuple[str, str]
    pooled: Floats
    mean: Floats
    spread: Floats
    texts: int

    def table(self) -> dict[str, list[Any]]:
        """Columns of attention.csv: a row a layer and head; layer 1 is the first block."""
        layers, heads = self.pooled.shape
        return {
            "layer": [str(layer + 1) for layer in range(layers) for _ in range(heads)],
            "head": [head + 1 for _ in range(layers) for head in range(heads)],
            "similarity": self.pooled.ravel().tolist(),
            "mean": self.mean.ravel().tolist(),
            "spread": self.spread.ravel().tolist(),
            "texts": [self.texts] * (layers * heads),
        }


def attention_similarity(
    a: str | Path | Parts,
    b: str | Path | Parts,
    texts: Sequence[str],
    *,
    length: int = 128,
    device: str = "auto",
) -> AttentionSimilarity:
    """Cosine between the attention weights of two models on the same texts, by layer and head.

    a, b    names or folders of models, or parts as `limbeck.encoders.loading.load_parts` gives them; both must have
            the same pieces, layers and heads, as a model has before and after fine-tuning
    texts   strings; cut after `length` pieces, special tokens included, which attend and are attended to

    Attention weights are not negative, so the cosine lies in [0, 1], and 0 is not what chance gives: two heads that
    attend to everything alike have 1.
    """
    if not len(texts):
        raise UsageError("texts must be at least one, got none: give some.", code="required", parameter="texts")
    first, second = (one if isinstance(one, Parts) else load_parts(one) for one in (a, b))
    where = choose_device(device)
    windows = [_windows(parts, texts, length) for parts in (first, second)]
    if windows[0] != windows[1]:
        raise InputError(
            f"{first.name} and {second.name} must cut texts into the same pieces to be compared weight by weight, "
            "and do not: give two models with one tokenizer.",
            code="not_comparable",
        )
    pieces = windows[0]
    sizes = np.array([len(window) for window in pieces])
    order = np.argsort(-sizes, kind="stable")
    heads = max(int(getattr(parts.model.config, "num_attention_heads", 1)) for parts in (first, second))
    cuts = cut(sizes[order], np.ones_like(order), max(int(sizes.max()), WEIGHTS // (2 * heads * int(sizes.max()))))
    sums = []  # of each text and head: products, squares of a, squares of b
    with _showing(first.model, where), _showing(second.model, where), torch.inference_mode():
        for low, high in pairwise(cuts):
            ids, real = _padded([pieces[place] for place in order[low:high]], where)
            both = [_attention(parts, ids, real) for parts in (first, second)]
            if [one.shape for one in both[0]] != [one.shape for one in both[1]]:
                raise InputError(
                    f"{first.name} and {second.name} must have the same layers and heads, and do not.",
                    code="not_comparable",
                )
            seen = (real[:, :, None] & real[:, None, :])[:, None]
            sums.append(np.stack([_sums(x, y, seen) for x, y in zip(*both, strict=True)], axis=1))
    products, squares_a, squares_b = np.moveaxis(np.concatenate(sums), -1, 0)  # (texts, layers, heads) each
    each = products / np.sqrt(squares_a * squares_b)
    return AttentionSimilarity(
        names=(first.name, second.name),
        pooled=products.sum(0) / np.sqrt(squares_a.sum(0) * squares_b.sum(0)),
        mean=each.mean(0),
        spread=each.std(0, ddof=1) if len(each) > 1 else np.full(each.shape[1:], np.nan),
        texts=len(each),
    )


def _windows(parts: Parts, texts: Sequence[str], length: int) -> list[list[int]]:
    aligner = Aligner(parts.tokenizer)
    most = min(length, choose_window_size(parts.model, parts.tokenizer, None))
    room = most - len(aligner.prefix) - len(aligner.suffix)
    if room < 1:
        raise UsageError(
            f"--max-length must have room for a text beside special tokens, got {length}: give more.",
            code="out_of_range",
            parameter="max_length",
        )
    blank = " " if aligner.leading_blank else ""
    cut_off = [aligner.encode(blank + text)[:room] for text in texts]
    return [[*aligner.prefix, *window, *aligner.suffix] for window in cut_off if window]


def _padded(windows: Sequence[Sequence[int]], device: torch.device) -> tuple[torch.Tensor, torch.Tensor]:
    longest = max(map(len, windows))
    ids = torch.tensor([[*window, *[0] * (longest - len(window))] for window in windows], device=device)
    real = torch.tensor([[True] * len(window) + [False] * (longest - len(window)) for window in windows], device=device)
    return ids, real


def _attention(parts: Parts, ids: torch.Tensor, real: torch.Tensor) -> tuple[torch.Tensor, ...]:
    found = parts.model(input_ids=ids, attention_mask=real.long(), output_attentions=True).attentions
    if not found or any(one is None for one in found):
        raise UsageError(
            f"{parts.name} shows no attention weights: give a model that has them, BERT or GPT-2 say.",
            code="unsupported",
        )
    return tuple(found)


def _sums(a: torch.Tensor, b: torch.Tensor, seen: torch.Tensor) -> Floats:
    """Σab, Σa², Σb² of each text and head (texts, heads, 3) over the weights between real pieces."""
    x, y = ((one * seen).double() for one in (a, b))
    return np.asarray(torch.stack([(x * y).sum((2, 3)), (x * x).sum((2, 3)), (y * y).sum((2, 3))], dim=-1).cpu())


@contextmanager
def _showing(model: Any, device: torch.device) -> Iterator[None]:
    """A model that computes attention step by step, since the fused kernels do not give the weights away."""
    before, training = model.config._attn_implementation, model.training
    model.to(device=device, dtype=torch.float32).eval()
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)
        model.train(training)
