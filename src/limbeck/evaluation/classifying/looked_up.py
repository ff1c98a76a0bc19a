"""Texts as words of a table of vectors: each different word once, and texts as numbers of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.classifying.cnn import WordIds
from limbeck.evaluation.classifying.features import NO_VECTOR
from limbeck.evaluation.targets import TableTarget

Floats = NDArray[np.float32]


@dataclass(frozen=True)
class LookedUp:
    """Vectors of the words of some texts.

    texts   as rows of the matrix
    matrix  (different words + 1, d); the first row is zeros, for what stands beside a text
    there   (different words + 1,) whether a row is a vector, and not zeros in the place of one
    words, found      words of all texts, and those of them that are in the table
    different, known  different words, and those of them that are in the table
    dropped           reason -> number of texts
    """

    texts: WordIds
    matrix: Floats
    there: NDArray[np.bool_]
    words: int
    found: int
    different: int
    known: int
    dropped: dict[str, int]

    def repaired(self, repair: object) -> torch.Tensor:
        """The matrix after a fitted repair, or None: as it is. What is zeros stays so."""
        from limbeck.evaluation.rows import repaired

        made = torch.from_numpy(self.matrix.copy())
        rows = torch.from_numpy(np.flatnonzero(self.there))
        made[rows] = repaired(made[rows], repair).to(made.dtype)
        return made


def look_up(texts: Sequence[str], target: TableTarget) -> LookedUp:
    """Words as the target tells them apart and looks them up; an unknown one is treated as its `oov` says.

    "drop" leaves it out of the text, so that its neighbours become each other's; "zero" leaves zeros in its place;
    "mean" and "fallback" put a vector there.
    """
    split = target.split(texts)
    different = list(dict.fromkeys(word for text in split for word in text))
    places, stand_ins = target.look_up(different)
    rows = [np.zeros(target.dim, dtype=np.float32)]
    ids: dict[str, int] = {}  # −1: left out
    there = [False]
    for word in different:
        vector = target.vectors.matrix[places[word]] if places[word] >= 0 else stand_ins.get(word)
        if vector is None and target.oov != "zero":
            ids[word] = -1
            continue
        ids[word] = len(rows)
        rows.append(rows[0] if vector is None else vector.astype(np.float32))
        there.append(vector is not None)
    numbers = np.array([ids[word] for text in split for word in text], dtype=np.int64)
    owners = np.repeat(np.arange(len(texts), dtype=np.int64), [len(text) for text in split])
    sizes = np.bincount(owners[numbers >= 0], minlength=len(texts))
    empty = int((np.bincount(owners[np.array(there)[numbers] & (numbers >= 0)], minlength=len(texts)) == 0).sum())
    return LookedUp(
        texts=WordIds(
            ids=numbers[numbers >= 0],
            starts=np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            lengths=np.array([len(text) for text in split], dtype=np.int64),
        ),
        matrix=np.stack(rows),
        there=np.array(there),
        words=len(numbers),
        found=sum(places[word] >= 0 for text in split for word in text),
        different=len(different),
        known=sum(place >= 0 for place in places.values()),
        dropped={NO_VECTOR: empty} if empty else {},
    )
