"""Word vectors as the objects of other libraries: gensim's KeyedVectors, a spaCy pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.extras import need
from limbeck.vectors.gather import Floats
from limbeck.vectors.spacy_folders import pipeline_with


def to_gensim(words: Sequence[str], matrix: Floats, counts: NDArray[np.int64] | None) -> Any:
    """gensim's KeyedVectors; any word will do, also those that its file formats cannot hold."""
    gensim = need("gensim.models.keyedvectors", purpose="vectors for gensim")
    keyed = gensim.KeyedVectors(vector_size=matrix.shape[1], count=len(words), dtype=np.float32)
    # as its own reader does: the rows are there, the words are entered
    keyed.vectors[:] = matrix
    keyed.index_to_key = list(words)
    keyed.key_to_index = {word: row for row, word in enumerate(words)}
    if counts is not None:
        for word, count in zip(words, counts.tolist(), strict=True):
            keyed.set_vecattr(word, "count", count)
    return keyed


def to_spacy(words: Sequence[str], matrix: Floats, language: str) -> Any:
    """spaCy's blank pipeline of a language with a copy of these vectors, which spaCy may change."""
    return pipeline_with(words, np.array(matrix), language)
