"""A vector drawn towards those of the nearest words: what these share is meaning, what they do not is mostly noise.

The mean of a hundred near vectors has lost what is each word's own, and with it the accidents of a few contexts and of
a teacher's word pieces. A word keeps its own vector and gets a part of that mean. Among few words the nearest are not
near: the pull grows with the number of words, and is whole from `ENOUGH`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.stream.progress import Progress
from limbeck.vectors.nearest import unit_rows

Floats = NDArray[np.float32]

NEAREST = 100  #: words that draw
AMONG = 50_000  #: the most frequent words, of which they are: more cost time and add names and typing errors
ENOUGH = 20_000  #: words there must be for the whole pull
SHARPNESS = 10.0  #: a neighbour whose cosine is greater by 0.1 counts e times as much
SAME = 1 - 1e-6  #: the cosine of rows that differ by rounding
BLOCK = 512  #: rows that are compared at once


def pull_of(weight: float, words: int, enough: int = ENOUGH) -> float:
    """What is left of the weight of neighbours among so many words."""
    return weight * min(1.0, words / enough)


def draw_to_neighbours(
    matrix: Floats,
    counts: NDArray[Any],
    weight: float,
    *,
    nearest: int = NEAREST,
    among: int = AMONG,
    enough: int = ENOUGH,
    device: str = "cpu",
    progress: bool = False,
) -> Floats:
    """Rows of the same lengths, each turned towards the weighted mean of its nearest, by cosine.

    A row's direction becomes that of u + weight · m, both of length 1: u its own, m of the mean. The row itself is left
    out, and so are rows that are the same but for rounding: Tea beside tea has nothing to add. Rows of zeros stay.
    `limbeck.vectors.nearest` finds nearest rows too, on the host; these are found where the teacher was.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    there = np.flatnonzero(lengths[:, 0] > 0)
    weight = pull_of(weight, len(there), enough)
    candidates = there[np.argsort(-counts[there], kind="stable")][:among]
    nearest = min(nearest, len(candidates) - 1)
    if not weight or nearest < 1:
        return matrix
    units = unit_rows(matrix)
    known = torch.from_numpy(units[candidates]).to(device)
    place = np.full(len(matrix), -1)  # of a row among the candidates
    place[candidates] = np.arange(len(candidates))
    made = np.zeros_like(matrix)
    with Progress("neighbours", total=len(there), show=progress) as bar:
        for start in range(0, len(there), BLOCK):
            rows = there[start : start + BLOCK]
            own = torch.from_numpy(units[rows]).to(device)
            cosines = own @ known.T
            cosines[cosines > SAME] = -torch.inf
            listed = np.flatnonzero(place[rows] >= 0)
            cosines[listed, place[rows[listed]]] = -torch.inf
            best, which = cosines.topk(nearest, dim=1)
            shares = torch.softmax(SHARPNESS * best, dim=1).nan_to_num()  # where there are none but the same
            mean = torch.einsum("rn,rnd->rd", shares, known[which])
            turned = own + weight * torch.nn.functional.normalize(mean, dim=1)
            made[rows] = torch.nn.functional.normalize(turned, dim=1).cpu().numpy()
            bar.advance(len(rows))
    made *= lengths
    return made
