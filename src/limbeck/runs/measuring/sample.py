"""A few occurrences laid out in the plane, with the sentences they stand in: what pictures are made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from limbeck.corpus import Corpus
from limbeck.corpus.units import SENTENCE_BITS
from limbeck.runs.measuring.results import Measured

SIZE = 2000


def sample_table(measured: Measured, texts: Corpus | Mapping[int, str] | None) -> dict[str, Any]:
    """A row an occurrence and layer: word, sentence and its place on the layer's first two principal components.

    The occurrences are those of smallest hash. Their sentences are read in the corpus, or given by identity; without
    either (kept vectors, or --no-text) they are empty.
    """
    points, layers = measured.points, len(measured.layers)
    chosen = np.argsort(points.hashes, kind="stable")[:SIZE]
    axes = _plane(measured)  # (layers, d, 2)
    mean = measured.moments.mean.cpu().numpy()
    places = np.stack([(points.layer(i)[chosen] - mean[i]) @ axes[i] for i in range(layers)], axis=1)  # (n, layers, 2)
    if isinstance(texts, Corpus):
        texts = sentence_texts(texts, points.sentences[chosen])
    found = texts or {}
    words = [points.strings[i] for i in chosen]
    said = [found.get(int(identity), "") for identity in points.sentences[chosen]]
    return {
        "word": [word for word in words for _ in range(layers)],
        "sentence": [sentence for sentence in said for _ in range(layers)],
        "layer": list(measured.layers) * len(chosen),
        "x": places[:, :, 0].ravel(),
        "y": places[:, :, 1].ravel(),
    }


def sentence_texts(corpus: Corpus, identities: np.ndarray[Any, np.dtype[np.int64]]) -> dict[int, str]:
    """The words of some sentences, by identity; only their documents are split again."""
    wanted = {int(identity) for identity in identities}
    documents = {identity >> SENTENCE_BITS for identity in wanted}
    found: dict[int, str] = {}
    if not documents:
        return found
    for raw in corpus.documents(min(documents), max(documents) + 1):
        if raw.number in documents:
            for sentence in corpus.parse(raw):
                if sentence.identity in wanted:
                    found[sentence.identity] = " ".join(sentence.words)
    return found


def _plane(measured: Measured) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The first two principal directions of each layer, signed so that their largest coordinate is positive."""
    directions = torch.linalg.eigh(measured.moments.covariance.cpu())[1].numpy()[:, :, ::-1][:, :, :2]
    if directions.shape[2] < 2:  # vectors of one dimension
        directions = np.pad(directions, ((0, 0), (0, 0), (0, 1)))
    largest = np.take_along_axis(directions, np.abs(directions).argmax(axis=1, keepdims=True), axis=1)
    return np.asarray(directions * np.where(largest < 0, -1.0, 1.0))
