"""Methods whose vectors come from the one pass over the text: what it fills, and what is made of that."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limbeck.accumulators import Accumulator, Occurrences, WordContexts, WordPools
from limbeck.distillation.methods import Shape
from limbeck.distillation.principal import principal_rows
from limbeck.distillation.rows import Rows
from limbeck.distillation.settings import DistillSettings
from limbeck.stream.plan import Plan


def pools(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    size = {"layers": shape.layers, "dim": shape.dim, "words": len(plan.vocabulary)}
    return [WordPools(**size, pools=[settings.over_contexts], vocabulary=plan.fingerprint)]


def pooled(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return Rows(filled[0].pooled(settings.over_contexts, layer), filled[0].n > 0)


def occurrences(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    most = int(plan.vocabulary.counts.max(initial=1))
    return [
        Occurrences(
            layers=shape.layers,
            dim=shape.dim,
            capacity=max(1, min(settings.max_contexts, most)),
            chosen=list(range(len(plan.vocabulary))),
            vocabulary=plan.fingerprint,
        )
    ]


def principal(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return principal_rows(filled[0], layer)


def contexts(plan: Plan, shape: Shape, settings: DistillSettings) -> list[Accumulator]:
    size = {"layers": shape.layers, "dim": shape.dim, "words": len(plan.vocabulary)}
    return [WordContexts(**size, vocabulary=plan.fingerprint)]


def mean_context(filled: Sequence[Any], layer: int, settings: DistillSettings) -> Rows:
    return Rows(filled[0].mean(layer), filled[0].n > 0)
