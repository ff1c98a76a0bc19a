"""What one of several consumers sees of a pass that they share: its own layers, words, texts and seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from limbeck.accumulators import Accumulator
from limbeck.encoded import Encoded, index_on
from limbeck.state import State
from limbeck.stream import Consumer, Plan
from limbeck.stream.tasks import salted


class View:
    """Turns a batch of the shared pass into the batch that the consumer's own pass would have given.

    shared      plan of the shared pass, whose vocabulary has every word
    plan        the consumer's own
    layers      which of the batch's layers are the consumer's
    duplicates  whether it reads texts that repeat an earlier one
    """

    def __init__(self, shared: Plan, plan: Plan, *, layers: Sequence[int], duplicates: bool, seed: int = 0) -> None:
        self._words = np.append(plan.vocabulary.ids(shared.vocabulary.words), -1)  # a word that is not followed is -1
        self._left_out = plan.duplicates[:0] if duplicates else plan.duplicates
        self._layers = np.array(layers, dtype=np.int64)
        self._seed = seed
        self._seen: tuple[Encoded, Encoded] | None = None

    def __call__(self, batch: Encoded) -> Encoded:
        if self._seen is None or self._seen[0] is not batch:  # several accumulators ask for the same one
            self._seen = (batch, self._turned(batch))
        return self._seen[1]

    def _turned(self, batch: Encoded) -> Encoded:
        if len(self._left_out):
            keep = np.flatnonzero(~np.isin(batch.texts, self._left_out))
            batch = batch if len(keep) == len(batch) else batch.take(keep)
        vectors = batch.vectors
        if not np.array_equal(self._layers, np.arange(len(vectors))):
            vectors = vectors.index_select(0, index_on(self._layers, vectors))
        return replace(
            batch,
            vectors=vectors,
            words=self._words[batch.words],
            occurrences=salted(batch.occurrences, self._seed),
        )


class ViewedConsumer:
    """A consumer that is given its view of every batch."""

    def __init__(self, consumer: Consumer, view: View) -> None:
        self._consumer, self._view = consumer, view

    def update(self, batch: Encoded) -> None:
        self._consumer.update(self._view(batch))

    def end_shard(self, number: int) -> None:
        self._consumer.end_shard(number)


class Viewed:
    """An accumulator that takes in its view of every batch; its state and settings are those of the accumulator."""

    name: ClassVar[str]
    view: ClassVar[View]
    kind: ClassVar[type[Accumulator]]

    def __init__(self, accumulator: Accumulator) -> None:
        self.accumulator = accumulator

    def settings(self) -> dict[str, Any]:
        return self.accumulator.settings()

    def update(self, batch: Encoded) -> None:
        self.accumulator.update(self.view(batch))

    def settle(self) -> None:
        if (own := getattr(self.accumulator, "settle", None)) is not None:
            own()

    def merge(self, other: Self) -> None:
        self.accumulator.merge(other.accumulator)

    def state(self) -> State:
        return self.accumulator.state()

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        return cls(cls.kind.from_state(state, **settings))


def viewed(accumulators: Sequence[Accumulator], view: View) -> list[Viewed]:
    """The accumulators behind a view. Each has a class of its own: a stopped pass restores states through the class."""
    made = []
    for accumulator in accumulators:
        own = {"name": accumulator.name, "view": view, "kind": type(accumulator)}
        made.append(type("Viewed", (Viewed,), own)(accumulator))
    return made
