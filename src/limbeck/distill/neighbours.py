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

Floats = NDArray[np.float32]

NEAREST = 100  #: words that draw
AMONG = 50_000  #: the most frequent words, of which they are: more cost time and add names and typing errors
ENOUGH = 20_000  #: words there must be for the whole pull
SHARPNESS = 10.0  #: a neighbour whose cosine is greater by 0.1 counts e times as much
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
) -> Floats:
    """Rows of the same lengths, each turned towards the weighted mean of its nearest: by cosine, itself left out.

    A row's direction becomes that of u + weight · m, both of length 1: u its own, m of the mean. Rows of zeros stay.
    """
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    there = np.flatnonzero(lengths[:, 0] > 0)
    weight = pull_of(weight, len(there), enough)
    candidates = there[np.argsort(-counts[there], kind="stable")][:among]
    nearest = min(nearest, len(candidates) - 1)
    if not weight or nearest < 1:
        return matrix
    device = "cuda" if torch.cuda.is_initialized() else "cpu"  # where the teacher was
    units = torch.from_numpy(np.divide(matrix, lengths, out=np.zeros_like(matrix), where=lengths > 0)).to(device)
    known = units[torch.from_numpy(candidates).to(device)]
    place = torch.full((len(matrix),), -1, dtype=torch.int64)  # of a row among the candidates
    place[torch.from_numpy(candidates)] = torch.arange(len(candidates))
    place = place.to(device)
    made = np.zeros_like(matrix)
    for start in range(0, len(there), BLOCK):
        rows = torch.from_numpy(there[start : start + BLOCK]).to(device)
        own, cosines = units[rows], units[rows] @ known.T
        listed = torch.nonzero(place[rows] >= 0)[:, 0]
        cosines[listed, place[rows[listed]]] = -torch.inf
        best, which = cosines.topk(nearest, dim=1)
        mean = torch.einsum("rn,rnd->rd", torch.softmax(SHARPNESS * best, dim=1), known[which])
        turned = own + weight * torch.nn.functional.normalize(mean, dim=1)
        made[there[start : start + BLOCK]] = torch.nn.functional.normalize(turned, dim=1).cpu().numpy()
    made *= lengths
    return made
