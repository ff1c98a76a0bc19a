"""The command line. Importing it is cheap: a command's own module loads when the command runs."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, NoReturn

from limbeck.cli.output import as_json, recorded, silenced
from limbeck.cli.process import prepare_process, print_anything, warnings_in_a_line
from limbeck.cli.program import (
    TerminalCommand,
    TerminalSettings,
    build_parser,
    command_named,
    command_names,
    read_command,
)
from limbeck.cli.torchrun import launched, perform_together, refuse_torchrun
from limbeck.errors import LimbeckError, UsageError, holds_password, without_passwords
from limbeck.remote import refuse_password
from limbeck.runs.execution.command import Command
from limbeck.runs.execution.run import Run
from limbeck.stopping import as_ctrl_c


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; 0 when it worked, 1 when it could not be done, 2 for wrong usage, 130 when stopped."""
    print_anything()
    typed = list(sys.argv[1:] if arguments is None else arguments)
    if any(map(_is_secret, typed)):  # before anything can show or record it
        return _refused(typed)
    if typed[:1] == ["help"]:
        typed = [*typed[1:2], "--help"]
    own = typed[: typed.index("--")] if "--" in typed else typed
    terminal = TerminalSettings(**{name: f"--{name}" in own for name in ("quiet", "json", "debug")})
    name = typed[0] if typed else ""
    command = command_named(name)
    if command is not None:
        return _conduct(name, lambda: _perform(command, typed[1:]), terminal)
    if name and not name.startswith("-"):
        return _conduct(name, lambda: _refuse_command(name), terminal)
    try:
        build_parser().parse_args(typed)  # which ends with --help and --version
        _refuse_command(name)
    except LimbeckError as error:
        if not typed:  # somebody who asks what there is
            _complain(build_parser().format_help().partition("\nexamples:")[0])
        _complain(f"limbeck: {error.for_terminal()}")
        return error.exit_status


def _perform(command: type[Command], words: Sequence[str]) -> int:
    made, terminal = read_command(command, words)
    launch = launched()
    with silenced(terminal.quiet and made.writes and not terminal.json):
        if launch is not None:
            return perform_together(launch, made, lambda: perform(made, terminal))
        return perform(made, terminal)


def perform(command: Command, terminal: TerminalSettings) -> int:
    """Do what a command does, and print what comes out; its exit status."""
    if isinstance(command, Run):
        _perform_run(command, terminal)
        return 0
    assert isinstance(command, TerminalCommand)
    return command.perform(terminal)


def _perform_run(run: Run[Any], terminal: TerminalSettings) -> None:
    """Execute a run, or say what it would take, and print what comes out."""
    from limbeck.cli.summaries import show_of
    from limbeck.runs.execution.execute import estimate, execute
    from limbeck.stream.context import silent

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


def _refuse_command(name: str) -> NoReturn:
    near = get_close_matches(name, command_names(), n=1)
    hint = f"did you mean {near[0]}?" if near else ""
    told = f"limbeck has no command {name}; {hint or 'see `limbeck --help`.'}"
    raise UsageError(told, code="unknown_command", hint=hint)


def _conduct(command: str, action: Callable[[], int], terminal: TerminalSettings) -> int:
    """Do what a command does, and speak as it was asked to; its exit status."""
    prepare_process()
    with recorded(terminal.json) as told, warnings_in_a_line():
        status, fault = _attempt(command, action, debug=terminal.debug)
    if terminal.json:
        facts = {"command": command, "status": status, **fault, **told}
        try:
            print(as_json(facts), flush=True)
        except OSError as problem:
            if not isinstance(problem, BrokenPipeError):
                _complain(f"limbeck: {_plainly(problem)}")
            _give_up_printing()
            return 1
    return status


def _is_secret(word: str) -> bool:
    return holds_password(word) and not os.path.lexists(word)


def _refused(typed: Sequence[str]) -> int:
    """Say that a password was typed; the words themselves stay unsaid."""
    status, fault = 0, {"error": ""}
    try:
        refuse_password(next(filter(_is_secret, typed)))
    except LimbeckError as error:
        status, fault = error.exit_status, _fault(error, error.for_terminal())
    print(f"limbeck: {fault['error']}", file=sys.stderr)
    if "--json" in typed:
        print(as_json({"command": typed[0], "status": status, **fault}), flush=True)
    return status


def _attempt(command: str, action: Callable[[], int], *, debug: bool) -> tuple[int, dict[str, str]]:
    """The command's exit status, and for --json what was wrong, which is told on standard error."""
    try:
        with as_ctrl_c():
            refuse_torchrun(command)
            status = action()
            sys.stdout.flush()  # what cannot be printed should be found here, not when Python ends
        return status, {}
    except KeyboardInterrupt:
        _complain("\nlimbeck: stopped.")
        return 130, {"error": "stopped", "code": "stopped"}
    except BrokenPipeError:
        _give_up_printing()
        return 1, {}
    except LimbeckError as error:
        if debug:
            raise
        told = error.for_terminal() + _notes(error)
        _complain(f"limbeck: {told}")
        return error.exit_status, _fault(error, told)
    except (OSError, MemoryError, RuntimeError) as error:
        if debug:
            raise
        told = _plainly(error)
        _complain(f"limbeck: {told} (--debug shows where){_notes(error)}")
        if isinstance(error, OSError):
            _give_up_printing()
        return 1, {"error": told + _notes(error)}


def _fault(error: LimbeckError, told: str) -> dict[str, str]:
    """An error as --json has it."""
    fault = {
        "error": told,
        "code": error.code,
        "parameter": error.parameter,
        "hint": without_passwords(error.hint),
    }
    return {name: fact for name, fact in fault.items() if fact}


def _complain(line: str) -> None:
    """A line for the user, whose terminal may have been closed."""
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        with open(os.devnull, "w") as nowhere, contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere.fileno(), sys.stderr.fileno())


def _give_up_printing() -> None:
    """Let what is still to be printed go nowhere: Python would fail on it once more at its end."""
    with open(os.devnull, "w") as nowhere, contextlib.suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _notes(error: BaseException) -> str:
    """What was added to an error on its way, with parameters as the command line spells them."""
    notes = (without_passwords(" ".join(note.split())) for note in getattr(error, "__notes__", ()))
    return "".join(" " + re.sub(r"\b([a-z_]+)='(\w+)'", r"--\1 \2", note) for note in notes)


def _plainly(error: BaseException) -> str:
    """A system's or a library's error in one line."""
    text = without_passwords(" ".join(str(error).split())) or type(error).__name__
    if isinstance(error, MemoryError) or "out of memory" in text.lower():
        return "out of memory: lower --batch-tokens, --points or --max-words"
    return text[:300]
