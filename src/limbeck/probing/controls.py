"""What probing results need beside them: a majority guess, labels at random, weights at random, description length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.errors import UsageError
from limbeck.probing.batched import Rows, train
from limbeck.probing.settings import Training
from limbeck.probing.spaces import Level
from limbeck.probing.splits import TRAIN
from limbeck.seeds import generator_for, seed_of

#: shares of the training rows after which a new code begins (Voita & Titov 2020)
PORTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


def majority_decisions(level: Level, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Every row is of the class that most units of the training side have."""
    seen = np.unique(level.unit[level.sides == TRAIN])
    most = int(level.gold[seen].sum(0).argmax())
    decisions = np.zeros((len(rows), level.gold.shape[1]), dtype=bool)
    decisions[:, most] = True
    return decisions


def random_labels(level: Level, *, seed: int) -> Level:
    """The level with a class drawn for each word, in the shares that classes have (Hewitt & Liang 2019).

    What a probe learns of these it knows by heart: nothing in a vector tells the class of a word that it has not met.
    """
    words, of_unit = np.unique(level.word, return_inverse=True)
    share = level.gold.sum(0) / level.gold.sum()
    drawn = generator_for(seed, "probe", "random labels").choice(len(share), size=len(words), p=share)
    # a row is a unit of its own now: one of the word's, whatever class it had
    gold = np.zeros((len(words), len(share)), dtype=bool)
    gold[np.arange(len(words)), drawn] = True
    unit = of_unit[level.unit].astype(np.int64)
    return replace(level, targets=gold[unit], unit=unit, gold=gold, word=np.arange(len(words), dtype=np.int64))


def with_random_weights(encoder: Any, *, seed: int) -> HuggingFaceEncoder:
    """The same model with the weights that it has before training: what its architecture gives alone."""
    if not isinstance(encoder, HuggingFaceEncoder):
        raise UsageError(
            "random weights are for models of transformers: leave --control=random-weights out.",
            code="unsupported",
            parameter="control",
        )
    return encoder.with_random_weights(seed_of(seed, "probe", "random weights") % (1 << 31))


@dataclass(frozen=True)
class DescriptionLength:
    """Bits that it takes to tell the labels of the training rows to somebody who has the vectors, (layers, classes).

    bits     of the online code
    uniform  one bit a row
    """

    bits: NDArray[np.float64]
    uniform: int

    @property
    def compression(self) -> NDArray[np.float64]:
        """How many times shorter than the uniform code, by layer, all classes together."""
        found: NDArray[np.float64] = self.uniform * self.bits.shape[1] / self.bits.sum(1)
        return found


def description_length(
    rows: Rows,
    dev: Rows,
    *,
    words: NDArray[np.int64],
    names: Sequence[str],
    settings: Training,
    seed: int,
    device: str | torch.device,
    on_epoch: Callable[[int], None] = lambda layers: None,
) -> DescriptionLength:
    """Online code: each portion of the rows is told by probes that were trained on those before it.

    words  (n,) the word of each row

    Portions are of whole words, in an order that is drawn: a word in two of them could be told by heart. The first is
    told in one bit a row. A portion costs the cross-entropy in bits.
    """
    count = len(rows.index)
    order, ends = portions(words, seed=seed)
    bits = np.full((rows.features.shape[1], len(names)), float(ends[0]))
    for end, following in pairwise(ends):
        known, told = order[:end], order[end:following]
        seen = Rows(rows.features, rows.index[known], rows.targets[known])
        trained = train(seen, dev, names=names, settings=settings, seed=seed, device=device, on_epoch=on_epoch)
        for part, margins in trained.probes.margins(rows.features, rows.index[told]):
            wrong_way = np.where(rows.targets[told[part]], -margins, margins).astype(np.float64)
            bits += (np.logaddexp(0, wrong_way) / np.log(2)).sum(1)
    return DescriptionLength(bits, count)


def portions(words: NDArray[np.int64], *, seed: int) -> tuple[NDArray[np.int64], list[int]]:
    """Rows in an order in which those of a word stand together, and where portions end: with the word that fills each.

    >>> portions(np.array([7, 7, 7, 7]), seed=0)
    (array([0, 1, 2, 3]), [4])
    """
    _, word = np.unique(words, return_inverse=True)
    place = generator_for(seed, "probe", "portions").permutation(int(word.max()) + 1)
    order = np.argsort(place[word], kind="stable")
    filled = np.cumsum(np.bincount(place[word]))
    wanted = [share * len(words) for share in PORTIONS if share * len(words) >= 1]
    return order, sorted({int(filled[np.searchsorted(filled, rows)]) for rows in wanted})
