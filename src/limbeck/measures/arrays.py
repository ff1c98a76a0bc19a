"""Anybody's arrays as a batch, so that every measure runs on them exactly as in a streamed run."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoded import Encoded, refuse, well_defined
from limbeck.errors import LimbeckError
from limbeck.real import has_mask, real_array, refuse_unreal
from limbeck.seeds import hash_ids


@dataclass(frozen=True)
class Observed:
    """Arrays as one batch, and the words that its ids refer to."""

    batch: Encoded
    words: list[str]
    flat: bool  # whether x had no layer dimension

    @property
    def shape(self) -> dict[str, Any]:
        return {"layers": self.batch.vectors.shape[0], "dim": self.batch.vectors.shape[2]}


def observe(x: Any, *, words: Any = None, contexts: Any = None, sentences: Any = None) -> Observed:
    """Check x, (n, d) or (layers, n, d), numpy or torch, and name its rows.

    words, contexts and sentences are n labels each, of any kind that sorts. Without contexts the sentence
    is the context, and without both every row is its own.
    """
    vectors = _tensor(x)
    if not vectors.is_floating_point():
        vectors = vectors.to(torch.float64)
    flat = vectors.ndim == 2
    if flat:
        vectors = vectors.unsqueeze(0)
    if vectors.ndim != 3 or vectors.shape[2] == 0:
        raise LimbeckError(
            f"x must be (n, d) or (layers, n, d); got {tuple(np.shape(x))}.", code="wrong_shape", parameter="x"
        )
    n = vectors.shape[1]
    rows = np.arange(n)
    names, word_ids = _labels(words, n, "words")
    _, sentence_ids = _labels(sentences, n, "sentences")
    _, text_ids = _labels(contexts if contexts is not None else sentences, n, "contexts")
    batch = Encoded(
        vectors=vectors,
        words=word_ids if words is not None else np.full(n, -1),
        sentences=sentence_ids,
        texts=text_ids,
        occurrences=hash_ids(rows),
        strings=[names[i] for i in word_ids] if words is not None else (),
    )
    if not bool(well_defined(batch)):
        refuse(batch.norms, batch.strings)
    return Observed(batch, names, flat)


def _tensor(x: Any) -> torch.Tensor:
    """x without a copy where that can be. It is read only, so torch's warning about read-only arrays says nothing."""
    if isinstance(x, torch.Tensor):
        refuse_unreal(x)
        return x.detach()
    array = real_array(x)
    if not array.dtype.isnative or any(stride < 0 for stride in array.strides):  # torch has neither
        array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return torch.as_tensor(array)


def _labels(labels: Any, n: int, name: str) -> tuple[list[str], NDArray[np.int64]]:
    if labels is None:
        return [], np.arange(n)
    if has_mask(labels):
        raise LimbeckError(
            f"{name} must hold a label for each row of x; got masked ones: leave these rows out.",
            code="wrong_type",
            parameter=name,
        )
    array = labels.detach().cpu().numpy() if isinstance(labels, torch.Tensor) else np.asarray(labels)
    if array.shape != (n,):
        raise LimbeckError(
            f"{name} must hold one label for each of the {n} rows of x; got shape {array.shape}.",
            code="wrong_shape",
            parameter=name,
        )
    distinct, ids = np.unique(array, return_inverse=True)
    return [str(label) for label in distinct], ids.astype(np.int64)
