"""The measuring run from its source to every number: the pass, made twice where asked, and all measures of its sums."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from limbeck.accumulators import Accumulator, Moments, Partition
from limbeck.errors import LimbeckError, UsageError
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.parts import Division, planned
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.results import Measured, basis_of, compute
from limbeck.runs.measuring.sums import accumulators_for
from limbeck.stream import Passed, Plan, Source, run_pass
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.context import RunContext
from limbeck.stream.run import identity_of


def measure_source(
    source: Source,
    settings: MeasureSettings,
    context: RunContext | None = None,
    *,
    division: Division | None = None,
    on_index: Callable[[Plan], None] = lambda index: None,
) -> tuple[Measured, Passed]:
    """Run the pass (twice where asked) and compute everything."""
    began = time.monotonic()
    context, division = context or RunContext(), division or Division()
    if division.part is not None and settings.two_pass:
        raise UsageError(
            "--two-pass needs directions of the whole text, which a part does not have: omit one of them.",
            code="exclusive",
            parameter="two_pass",
        )
    shape = {"layers": len(source.layers), "dim": source.dim}
    identity = identity_for(source, settings, division)
    chosen: dict[str, Any] = {"choice": settings.choice, "deduplicate": settings.rules.deduplicate}

    def enough(index: Plan) -> None:
        check_enough(index, settings, source)

    def prepare(index: Plan) -> list[Accumulator]:
        on_index(index)
        return accumulators_for(index, **shape, settings=settings)

    with steady(source):
        index = planned(source, division, identity, check=enough, context=context, **chosen)
        depends = settings.as_dict() | division.told()
        passed = run_pass(
            source,
            prepare,
            context=context,
            plan=index,
            settings=depends,
            seed=settings.seed,
            **chosen,
        )
        passed.seconds = time.monotonic() - began
        check_any(passed, source.remedy, division)
        partition = None
        if settings.two_pass:
            moments = next(a for a in passed.accumulators if isinstance(a, Moments))
            partition = Partition(**shape, basis=basis_of(moments).cpu())
            once = context.without_checkpoint()
            run_pass(source, [partition], context=once, plan=passed.plan, seed=settings.seed)
    measured = compute(source.name, source.layers, passed.plan, passed.accumulators, settings, partition)
    return replace(measured, source=source.describe()), passed


def identity_for(source: Source, settings: MeasureSettings, division: Division | None = None) -> dict[str, Any]:
    """All that a run's numbers depend on."""
    return identity_of(
        source,
        settings.as_dict() | (division or Division()).told(),
        seed=settings.seed,
        choice=settings.choice,
        deduplicate=settings.rules.deduplicate,
    )


def check_enough(index: Plan, settings: MeasureSettings, source: Source | None = None) -> None:
    """A run without a single word to track would be a table of holes, unless nobody has asked for words."""
    if not len(index.vocabulary) and not (source is not None and source.wordless):
        raise LimbeckError(
            f"at least one word must occur in {settings.min_contexts} different texts; of {index.types:,} words in "
            f"{index.texts:,} texts none does: lower --min-contexts or give more text.",
            code="too_few",
            parameter="min_contexts",
        )


def check_any(passed: Passed, remedy: str, division: Division | None = None) -> None:
    """A run in which no word has a vector would be a table of holes too."""
    if not any(accumulator.n for accumulator in passed.accumulators if isinstance(accumulator, Moments)):
        if division is not None and division.part is not None and not any(passed.dropped.values()):
            raise LimbeckError(
                f"--part {division.part}: at least one text must not repeat an earlier one, all of this part do: merge "
                "the other parts without it, which gives the same numbers, or divide the text into fewer.",
                code="too_few",
                parameter="part",
            )
        reasons = ", ".join(f"{reason} ({number:,})" for reason, number in passed.dropped.items() if number)
        raise LimbeckError(
            f"at least one word must have a vector, none of {passed.plan.units:,} has: "
            f"{reasons or 'none was asked for'}: {remedy}.",
            code="no_vectors",
        )


def check_same(state: Path, source: Source, settings: MeasureSettings, division: Division | None = None) -> None:
    """Refuse to take a finished run, known by its state, for one of another model, text or settings."""
    Checkpoint(state, identity_for(source, settings, division)).load_plan()
