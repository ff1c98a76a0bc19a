"""What every command that runs a pass does around it."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.cli.options import workers_for
from limbeck.cli.process import prepare_process
from limbeck.cli.program import TerminalCommand, TerminalSettings, show_of
from limbeck.errors import Interrupted, UsageError
from limbeck.runs.execution.command import Command
from limbeck.runs.execution.run import Run
from limbeck.stopping import stop_now

if TYPE_CHECKING:
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.stream.workers import Workers


def perform(command: Command, terminal: TerminalSettings) -> int:
    """Do what a command does, and print what comes out; its exit status."""
    if isinstance(command, TerminalCommand):
        return command.perform(terminal)
    assert isinstance(command, Run)
    perform_run(command, terminal)
    return 0


def perform_run(run: Run[Any], terminal: TerminalSettings) -> None:
    """Execute a run, or say what it would take, and print what comes out."""
    from limbeck.runs.execution.context import silent
    from limbeck.runs.execution.execute import estimate, execute

    if run.output.dry_run:
        for line in estimate(run, prepare=prepare_process):
            print(line)
        return
    show = show_of(run.command)

    def finished(result: Any, one: Run[Any], complete: bool) -> None:
        if complete:
            print(f"{one.output.out}: complete already.")
        if not complete or run.shows_again:
            show(result, one)

    def notify(line: str) -> None:
        print(line, file=sys.stderr, flush=True)

    speaks = not terminal.quiet
    execute(run, progress=speaks, notify=notify if speaks else silent, finished=finished, prepare=prepare_process)
    shared = None if run.output.out is None else run.output.out / "report.html"
    if shared is not None and len(run.split()) > 1:
        if run.output.figures:
            print(f"figures with all models: {shared.with_name('figures')}")
        print(f"report with all models: {shared}")


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
