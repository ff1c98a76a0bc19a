"""Executing runs: what every command does around its own work, done once."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from limbeck.errors import Interrupted, LimbeckError
from limbeck.places import GROUP, everything_in, from_here, mark, place_of, refuse_beside
from limbeck.runs.execution.folders import MARKERS, RunFolder, room_in
from limbeck.runs.execution.record import write_record
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.uploads import remote_target
from limbeck.runs.execution.workers import start_workers
from limbeck.stream.context import Notify, RunContext, silent

R = TypeVar("R", bound=RunResult)


def execute(
    run: Run[R],
    *,
    progress: bool = False,
    notify: Notify = silent,
    finished: Callable[[R, Run[R], bool], None] = lambda result, run, complete: None,
    prepare: Callable[[], None] | None = None,
) -> list[R]:
    """Execute a run; a result per folder, several where several models are given.

    finished  called with each result as soon as there is one, and with whether its folder was complete already
    prepare   what each process of a cluster does before anything heavy is loaded
    """
    with _uncollected():
        runs = run.split()
        for one in runs:  # the last should not be refused when the first is done
            one.validate()
            one.check_folder()
            one.check_inputs()
    if len(runs) > 1 and run.output.out is not None and remote_target(run.output.out, MARKERS) is None:
        refuse_beside(place_of(run.output.out), run.together)
    context = RunContext(progress=progress, notify=notify, prepare=prepare)
    results = []
    for one in runs:
        result, complete = _execute(one, context)
        if not complete:
            one.publish(result)
        results.append(result)
        finished(result, one, complete)
    if len(runs) > 1 and run.output.out is not None:
        run.join(results, [one.output.out for one in runs if one.output.out is not None])
        if remote_target(run.output.out, MARKERS) is None:
            mark_together(place_of(run.output.out), run.together)
    return results


def _execute(run: Run[R], context: RunContext) -> tuple[R, bool]:
    """One folder: its result, and whether it was there already."""
    if run.output.out is None:
        with _workers(run, prepare=context.prepare) as workers:
            with _uncollected():
                run.open()
            return run.compute(replace(context, workers=workers, began=time.monotonic())), False
    folder = run.make_folder()
    try:
        with folder, _workers(run, prepare=context.prepare) as workers:
            with _uncollected():
                run.open()
            if folder.complete:
                run.check_complete(folder)
                return run.load(folder.target), True
            return complete(run, folder, replace(context, workers=workers)), False
    except KeyboardInterrupt:
        if folder.resumable:
            kept = from_here(folder.unfinished)
            raise Interrupted(
                f"stopped; what is done is kept in {kept}; to go on: the same command with --existing=resume.",
                code="stopped",
                parameter="existing",
            ) from None
        raise


def complete(run: Run[R], folder: RunFolder, context: RunContext) -> R:
    """Compute what is left, and put the folder in its place."""
    began = time.monotonic()
    with room_in(folder.target):
        result = run.compute(replace(context, checkpoint=folder.state, folder=folder.unfinished, began=began))
    write(result, folder.unfinished, figures=run.output.figures)
    folder.passing += run.transient
    folder.finish()
    return result


def write(result: RunResult, folder: Path, *, figures: bool) -> None:
    """Everything that a folder holds but its report."""
    with telling_folder(folder):
        result.write(folder)
        if result.has_record:
            write_record(folder, result.record)
        if figures:
            result.draw(folder)


@contextmanager
def telling_folder(folder: Path) -> Iterator[None]:
    """Turn what a full or read-only disk raises into one sentence that names the folder."""
    try:
        yield
    except OSError as error:
        raise LimbeckError(
            f"{folder}: could not be written ({error.strerror or error}): free space or choose another place.",
            code="not_writable",
            parameter="out",
        ) from error


def mark_together(folder: Path, names: Sequence[str]) -> None:
    """Mark the folder of several runs: of what is beside them, these names are limbeck's."""
    own = {name for name in everything_in(folder) if name.rstrip("/").split("/")[0] in names}
    mark(folder, GROUP, own=own)


def estimate(run: Run[Any], *, prepare: Callable[[], None] | None = None) -> Iterator[str]:
    """Lines that say what a run would take, from a look at some of the text and a few batches."""
    for one in run.split():
        began = time.monotonic()
        with _uncollected():
            one.validate()
        with _workers(one, dry_run=True, prepare=prepare) as workers:
            with _uncollected():
                one.open()
            opened = time.monotonic() - began
            yield from one.estimate(RunContext(workers=workers, prepare=prepare), opened)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Without looking for cycles of garbage, while libraries are imported and a model is loaded.

    They make a million objects and hardly a cycle: looking for some took a third of the time. During a pass it is
    needed: models of transformers leave hidden states in cycles.
    """
    looks = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looks:
            gc.enable()


def _workers(run: Run[Any], *, prepare: Callable[[], None] | None, dry_run: bool = False) -> Any:
    device = getattr(getattr(run, "loading", None), "device", None)
    corpus = getattr(getattr(run, "text", None), "corpus", None)
    return start_workers(run.engine, corpus=corpus, device=device, prepare=prepare, dry_run=dry_run)
