"""Vectors of labeled words out of a pass that others share."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from limbeck.encoders.protocol import Encoder
from limbeck.probing.features import Gather, texts_around
from limbeck.probing.labelled import Labelled


class KeptGather(Gather):
    """Gathers vectors into files, so that a stopped pass goes on with them; a shard done twice does no harm."""

    def __init__(self, encoder: Any, texts: Any, folder: Path, identities: Any) -> None:
        super().__init__(encoder, texts, None, identities)
        folder.mkdir(parents=True, exist_ok=True)
        for name in self.KEPT:
            array = getattr(self, name)
            if array is not None:
                setattr(self, name, _in_file(folder / f"{name}.npy", array))

    def end_shard(self, number: int) -> None:
        for name in self.KEPT:
            if (array := getattr(self, name)) is not None:
                array.flush()


def gather_into(folder: Path, encoder: Encoder, labelled: Labelled) -> KeptGather:
    """What takes the vectors of labeled words, into files of that folder."""
    texts = texts_around(labelled, None)
    identities = np.zeros(len(texts.texts), dtype=np.int64)
    own = np.array([sentence.identity for sentence in labelled.sentences], dtype=np.int64)
    identities[texts.text[::-1]] = own[labelled.sentence[::-1]]  # the first sentence that says it
    return KeptGather(encoder, texts, folder, identities)


def _in_file(path: Path, like: np.ndarray[Any, Any]) -> np.memmap[Any, Any]:
    """An array in a file of a stopped run, or a new one of zeros."""
    if path.is_file():
        return np.lib.format.open_memmap(path, mode="r+")
    return np.lib.format.open_memmap(path, mode="w+", dtype=like.dtype, shape=like.shape)
