"""Vectors for words that the text does not have."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.distillation.alone import chunks, frame_vectors, reads_pieces, whole_words, word_vectors
from limbeck.distillation.pieces import pieces_of
from limbeck.distillation.rows import Rows
from limbeck.distillation.settings import DistillSettings
from limbeck.encoded import add_rows
from limbeck.encoders.memory import read_to_host
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.errors import UsageError, choose
from limbeck.stream.context import RunContext

KINDS = ("frame", "pieces", "alone")


def unseen_vectors(
    kind: str,
    encoder: Encoder,
    words: Sequence[str],
    settings: DistillSettings,
    context: RunContext | None = None,
) -> list[Rows]:
    """Vectors of every layer for words without contexts: in the frame, of their pieces, or alone."""
    choose(kind, KINDS, what="--unseen")
    if kind == "pieces":
        return piece_vectors(encoder, words)
    read = frame_vectors if kind == "frame" else word_vectors
    return read(encoder, words, settings, context)


def piece_vectors(encoder: Encoder, words: Sequence[str]) -> list[Rows]:
    """The mean of the vectors of a word's pieces, each of which the teacher reads alone, between special tokens.

    A word of which the tokenizer knows no piece has none.
    """
    if not reads_pieces(encoder):
        raise UsageError(
            f"{encoder.name} reads whole words, which have no pieces: choose another --unseen.",
            code="unsupported",
            parameter="unseen",
        )
    prepare = whole_words(encoder)
    aligner = prepare.aligner
    total = np.zeros((len(encoder.layers), len(words), encoder.dim), dtype=np.float32)
    found = np.zeros(len(words), dtype=bool)
    for start, chunk in chunks(words):
        cut = [[piece for piece in pieces if not aligner.silent[piece]] for pieces in pieces_of(aligner, chunk)]
        sizes = np.array([len(pieces) for pieces in cut], dtype=np.int64)
        kinds, of_piece = np.unique(
            np.array([p for pieces in cut for p in pieces], dtype=np.int32), return_inverse=True
        )
        if not len(kinds):
            continue
        vectors = read_to_host(encoder, _pieces_alone(kinds, aligner.prefix, aligner.suffix))
        word = np.repeat(np.arange(len(chunk)), sizes)
        sums = torch.zeros(len(encoder.layers), len(chunk), encoder.dim)
        add_rows(sums, word, vectors[:, torch.from_numpy(of_piece)])
        total[:, start : start + len(chunk)] = sums.numpy() / np.maximum(sizes, 1)[None, :, None]
        found[start : start + len(chunk)] = [aligner.knows(np.array(pieces, dtype=np.int32)).any() for pieces in cut]
    return [Rows(layer, found) for layer in total]


def _pieces_alone(kinds: NDArray[np.int32], prefix: Sequence[int], suffix: Sequence[int]) -> Prepared:
    """A window for each piece."""
    n, length = len(kinds), len(prefix) + 1 + len(suffix)
    windows = np.empty((n, length), dtype=np.int32)
    windows[:, : len(prefix)], windows[:, len(prefix)], windows[:, len(prefix) + 1 :] = prefix, kinds, suffix
    numbers = np.arange(n, dtype=np.int64)
    return Prepared(
        pieces=windows.ravel(),
        window_starts=np.arange(n + 1, dtype=np.int64) * length,
        unit_window=numbers,
        unit_first=np.full(n, len(prefix), dtype=np.int64),
        unit_count=np.ones(n, dtype=np.int64),
        strings=[""] * n,
        sentences=numbers,
        positions=np.zeros(n, dtype=np.int64),
        texts=numbers,
    )
