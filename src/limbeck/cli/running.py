"""What every command that runs a pass does around it."""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from limbeck.cli.options import workers_for
from limbeck.errors import Interrupted, UsageError
from limbeck.stopping import stop_now

if TYPE_CHECKING:
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.stream import Plan
    from limbeck.stream.workers import Workers


@contextmanager
def opened(target: Path, options: argparse.Namespace) -> Iterator[tuple[RunFolder, Workers]]:
    """The folder of a run and the processes that feed it. Ctrl-C leaves what can be resumed, and says so."""
    from limbeck.runs.execution.folders import RunFolder

    folder = RunFolder(target, existing=options.existing)
    try:
        with folder, started(options) as workers:
            yield folder, workers
    except KeyboardInterrupt:
        if folder.resumable:
            raise Interrupted("stopped; to go on: the same command with --existing=resume.") from None
        raise


def started(options: argparse.Namespace) -> Workers:
    """The workers of a pass, on their way up while the model is loaded: processes of this machine, or those of Ray."""
    engine = getattr(options, "engine", "local")
    dry = getattr(options, "dry_run", False)  # analyze has none
    if engine == "local" or dry:
        from limbeck.stream.workers import Workers  # without torch, which takes its time

        for name in ("address", "gpus_per_worker"):
            if getattr(options, name, None) is not None and engine == "local":
                raise UsageError(f"--{name.replace('_', '-')} is of --engine=ray: add that, or leave it out.")
        workers = Workers(workers_for(options) if engine == "local" else 0)
        return workers if dry else workers.start()
    from limbeck.cli.process import prepare_process
    from limbeck.stream.run import workers_of

    if options.workers == 0:
        raise UsageError("--workers must be at least 1 with --engine=ray; got 0: leave it out for as many as fit.")
    gpus = 0 if options.gpus_per_worker is None and options.device == "cpu" else options.gpus_per_worker
    how = {"address": options.address, "gpus_per_worker": gpus, "prepare": prepare_process}
    workers = workers_of(engine, options.workers, **how).start()
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, stop_now)  # Ray's own way is a page of traces
    return workers


def describe(plan: Plan) -> str:
    """A plan in a line or two."""
    text = (
        f"{plan.units:,} words in {plan.texts:,} texts of {plan.documents:,} documents; {plan.types:,} distinct, "
        f"{len(plan.vocabulary):,} followed"
    )
    if plan.dropped:
        text += "; left out: " + ", ".join(f"{reason} {number:,}" for reason, number in plan.dropped.items())
    return text
