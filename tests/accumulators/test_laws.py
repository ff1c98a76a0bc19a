"""Every registered accumulator obeys every law."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from limbeck.accumulators import (
    REGISTERED,
    Accumulator,
    Moments,
    Norms,
    Occurrences,
    Partition,
    Points,
    SentencePoints,
    Sentences,
    UnitSums,
    WordContexts,
    WordPools,
    WordSums,
)
from limbeck.testing import check_accumulator

SHAPE = {"layers": 2, "dim": 5}
BASIS = torch.linalg.qr(torch.randn(2, 5, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(0)))[0]

#: name -> ways to make one; where there is a capacity, one that overflows and one that does not
FACTORIES: dict[str, list[Callable[[], Accumulator]]] = {
    "moments": [lambda: Moments(**SHAPE)],
    "unit_sums": [lambda: UnitSums(**SHAPE)],
    "norms": [lambda: Norms(**SHAPE)],
    "words": [lambda: WordSums(**SHAPE, words=7, vocabulary="v")],
    "word_pools": [
        lambda: WordPools(**SHAPE, words=7, vocabulary="v"),
        lambda: WordPools(**SHAPE, words=7, pools=["max", "min", "mean"]),
        lambda: WordPools(**SHAPE, words=7, pools=["min"]),
    ],
    "word_contexts": [lambda: WordContexts(**SHAPE, words=7, vocabulary="v")],
    "sentences": [lambda: Sentences(**SHAPE), lambda: Sentences(**SHAPE, limit=9)],
    "points": [lambda: Points(**SHAPE, capacity=20), lambda: Points(**SHAPE, capacity=2000)],
    "sentence_points": [lambda: SentencePoints(**SHAPE, capacity=9), lambda: SentencePoints(**SHAPE, capacity=2000)],
    "occurrences": [
        lambda: Occurrences(**SHAPE, capacity=3, chosen=[5, 0, 3], vocabulary="v"),
        lambda: Occurrences(**SHAPE, capacity=300, chosen=list(range(7))),
    ],
    "partition": [lambda: Partition(**SHAPE, basis=BASIS)],
}


def test_every_registered_accumulator_has_a_factory():
    assert set(FACTORIES) == set(REGISTERED)
    for name, makes in FACTORIES.items():
        assert all(type(make()) is REGISTERED[name] for make in makes)
        assert all(isinstance(make(), Accumulator) for make in makes)


@pytest.mark.parametrize(
    "make", [pytest.param(make, id=f"{name}-{i}") for name, makes in FACTORIES.items() for i, make in enumerate(makes)]
)
@pytest.mark.parametrize("seed", [0, 1])
def test_laws(make: Callable[[], Accumulator], seed: int):
    check_accumulator(make, **SHAPE, words=7, seed=seed)
