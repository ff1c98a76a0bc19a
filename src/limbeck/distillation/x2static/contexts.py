"""What a trainer takes from a batch: the context vector of each sentence, and the words that stand in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from limbeck.encoded import Encoded, index_on
from limbeck.errors import LimbeckError
from limbeck.strings import Strings
from limbeck.transfer import send

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Gathered:
    """Contexts and candidates for targets, in the order of the text.

    contexts    (c, d) on the device, float32
    texts       (c,) identity of the text that each context is in
    words       (n,) id in the vocabulary
    context_of  (n,) row of `contexts`, never falling
    keys        (n,) hash of the occurrence
    seen        occurrences that had a vector, those outside of the vocabulary too
    """

    contexts: torch.Tensor
    texts: Ints
    words: Ints
    context_of: Ints
    keys: NDArray[np.uint64]
    seen: int

    @classmethod
    def join(cls, parts: Sequence[Gathered]) -> Gathered:
        before = np.cumsum([0, *(len(part.texts) for part in parts[:-1])])
        return cls(
            contexts=torch.cat([part.contexts for part in parts]),
            texts=np.concatenate([part.texts for part in parts]),
            words=np.concatenate([part.words for part in parts]),
            context_of=np.concatenate([part.context_of + rows for part, rows in zip(parts, before, strict=True)]),
            keys=np.concatenate([part.keys for part in parts]),
            seen=sum(part.seen for part in parts),
        )


def sentence_contexts(batch: Encoded, layer: int, *, over: str = "words", paragraphs: bool = False) -> Gathered:
    """The mean of each sentence's vectors, whatever text it is read in: eq. 3 of the paper, and eq. 4 for paragraphs.

    over  "words", or "pieces", those of the special tokens too, which are rows of the batch then (docs/fidelity.md
          §4.3); what stands behind a paragraph is its last sentence's, what stands before it nobody's (§4.6)
    """
    groups = batch.by_sentence
    if over == "pieces":
        means = _piece_means(batch, layer, paragraphs)
    else:
        means = batch.sums_by_sentence[layer] / index_on(groups.sizes, batch.vectors).unsqueeze(1)
    known = _known(batch)
    return Gathered(
        contexts=means.float(),
        texts=batch.texts[_first_rows(batch)],
        words=batch.words[known],
        context_of=groups.of_row[known],
        keys=batch.occurrences[known],
        seen=_named(batch) if over == "pieces" else len(batch),
    )


def other_contexts(batch: Encoded, layer: int, targets: Ints) -> Gathered:
    """For each target row the mean over the other words of its sentence; a word alone in its sentence has none."""
    groups = batch.by_sentence
    targets = targets[groups.sizes[groups.of_row[targets]] > 1]
    own = index_on(groups.of_row[targets], batch.vectors)
    sums = batch.sums_by_sentence[layer][own]
    others = index_on(groups.sizes[groups.of_row[targets]] - 1, batch.vectors).unsqueeze(1)
    means = (sums - batch.vectors[layer][index_on(targets, batch.vectors)]) / others
    return _own(batch, targets, means)


def row_contexts(batch: Encoded, layer: int, targets: Ints) -> Gathered:
    """For each target row its own vector, where the encoder gives contexts in the place of words (`masked`)."""
    return _own(batch, targets, batch.vectors[layer][index_on(targets, batch.vectors)])


def no_contexts(batch: Encoded) -> Gathered:
    """The words of each sentence alone, for contexts that are trained too (eq. 2)."""
    groups = batch.by_sentence
    known = _known(batch)
    nothing = torch.empty(len(groups.sizes), 0, device=batch.vectors.device)
    return Gathered(
        nothing, batch.texts[_first_rows(batch)], batch.words[known], groups.of_row[known], batch.occurrences[known],
        len(batch),
    )  # fmt: skip


def _own(batch: Encoded, targets: Ints, means: torch.Tensor) -> Gathered:
    return Gathered(
        contexts=means.float(),
        texts=batch.texts[targets],
        words=batch.words[targets],
        context_of=np.arange(len(targets)),
        keys=batch.occurrences[targets],
        seen=len(batch),
    )


def _known(batch: Encoded) -> Ints:
    """Rows of words that are in the vocabulary, those of one sentence together."""
    known = np.flatnonzero(batch.words >= 0)
    return known if batch.by_sentence.runs else known[np.argsort(batch.by_sentence.of_row[known], kind="stable")]


def _named(batch: Encoded) -> int:
    """Rows that are words: special tokens have no name."""
    strings = Strings.of(batch.strings)
    return int(np.array([name != "" for name in strings.distinct], dtype=bool)[strings.codes].sum())


def _first_rows(batch: Encoded) -> Ints:
    """A row of each sentence."""
    groups = batch.by_sentence
    first = np.zeros(len(groups.sizes), dtype=np.int64)
    first[groups.of_row[::-1]] = np.arange(len(batch))[::-1]
    return first


def _piece_means(batch: Encoded, layer: int, paragraphs: bool) -> torch.Tensor:
    """Means over pieces: a word's vector is the mean of its pieces, so it counts as often as it has pieces."""
    if batch.pieces is None:
        raise LimbeckError(
            "contexts over pieces need a teacher that tells how many a word has; this one does not.",
            code="unsupported",
            parameter="context",
        )
    counts = batch.pieces.astype(np.float64)
    if paragraphs:
        texts = batch.by_text
        begins = np.append(True, np.diff(texts.of_row) != 0)
        nameless = np.array([name == "" for name in Strings.of(batch.strings).distinct])
        counts[begins & nameless[Strings.of(batch.strings).codes]] = 0
    groups = batch.by_sentence
    order = np.argsort(groups.of_row, kind="stable")
    weights = (counts / np.bincount(groups.of_row, weights=counts)[groups.of_row])[order]
    rows = batch.vectors[layer]
    rows = rows if rows.dtype == torch.float64 else rows.float()
    starts = np.cumsum(groups.sizes) - groups.sizes
    return functional.embedding_bag(
        index_on(order, rows),
        rows,
        index_on(starts, rows),
        mode="sum",
        per_sample_weights=send(weights, rows.device).to(rows),
    )
