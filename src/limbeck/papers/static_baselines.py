"""The baselines of a text, skip-gram and CBOW, trained side by side in processes of their own where there are some."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.distillation.baselines import BASELINES, train_baseline
from limbeck.distillation.method_settings import NgramSettings
from limbeck.errors import LimbeckError
from limbeck.stream import Plan
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Pool
from limbeck.vectors import StaticVectors


@dataclass(frozen=True)
class TrainedBaseline:
    """What is left of a baseline when its trainer is gone.

    missing  why there is none; then there are no vectors
    unseen   vectors of those words that were asked for beside the vocabulary of which n-grams tell something; None for
             a method without n-grams
    """

    method: str
    vectors: StaticVectors | None = None
    unseen: StaticVectors | None = None
    missing: str = ""


@dataclass(frozen=True)
class TrainBaseline:
    """A method to its vectors for the words of a plan, and for `others`."""

    corpus: Corpus
    plan: Plan
    settings: NgramSettings
    others: Sequence[str]
    progress: bool = False

    def __call__(self, method: str) -> TrainedBaseline:
        try:
            made = train_baseline(method, self.corpus, self.plan, self.settings, RunContext(progress=self.progress))
        except LimbeckError as error:
            return TrainedBaseline(method, missing=str(error).rstrip("."))
        vectors = StaticVectors(self.plan.vocabulary.words, made.matrix)
        if made.unseen is None:
            return TrainedBaseline(method, vectors)
        others = [word for word in self.others if word not in vectors]
        rows: NDArray[np.float32] = made.unseen(others)
        there = np.flatnonzero(np.isfinite(rows).all(axis=1))
        return TrainedBaseline(method, vectors, StaticVectors([others[row] for row in there.tolist()], rows[there]))


@dataclass(frozen=True)
class BaselineJob:
    """All baselines of a text, for `Workers.run`."""

    train: TrainBaseline

    def __call__(self, pool: Pool) -> Iterator[TrainedBaseline]:
        return pool.map(self.train, BASELINES)
