"""What every command that runs a pass does around it."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from limbeck.cli.process import prepare_process
from limbeck.cli.program import TerminalCommand, TerminalSettings, show_of
from limbeck.runs.execution.command import Command
from limbeck.runs.execution.run import Run

if TYPE_CHECKING:
    pass


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
