"""The program out of settings: a parser, `--help` and a run for each command, read off the fields of its run class.

Only this module knows argparse. A settings class says all that is needed, so nothing is declared or mapped here.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, NoReturn

from limbeck import runs
from limbeck.cli.help import Help
from limbeck.errors import UsageError
from limbeck.remote import Place
from limbeck.runs.execution.run import Run
from limbeck.settings import Option, Settings, option, options_of

COMMON = "options that nearly everybody needs"
#: a value that looks like an option to argparse: "-1", "-2,-1", "-3--1"
NEGATIVE = re.compile(r"-\d[\d,.\-eE]*")


@dataclass(frozen=True)
class TerminalSettings(Settings, group="terminal"):
    """What every command has on the command line, and nothing else has."""

    quiet: bool = option(False, terminal=True, help="print errors only, and what is not written to files")
    json: bool = option(False, terminal=True, help="print the result as one JSON object, for programs")
    debug: bool = option(False, terminal=True, help="show the whole traceback when something goes wrong")


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ours: one line, with the nearest name."""

    def __init__(self, prog: str, options: Mapping[str, Option], **how: Any) -> None:
        super().__init__(prog=prog, formatter_class=Help, allow_abbrev=False, **how)
        self.options = options  # flag -> option

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].lower()}{message[1:]}; see `{self.prog} --help`.", code="usage")

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """The values that are given, by name."""
        found, unknown = self.parse_known_args(self._joined(words))
        for word in unknown:
            name = word.partition("=")[0]
            near = get_close_matches(name, self.options, n=1)
            hint = f"; did you mean {near[0]}?" if near else f"; see `{self.prog} --help`."
            raise UsageError(f"{self.prog} has no option {name}{hint}", code="unknown_option", parameter=name)
        return vars(found)

    def _joined(self, words: Sequence[str]) -> list[str]:
        """Words with negative values joined to their options, which argparse would take for options."""
        found: list[str] = []
        for word in words:
            before = self.options.get(found[-1]) if found else None
            if before is not None and before.type is not bool and NEGATIVE.fullmatch(word):
                found[-1] += f"={word}"
            else:
                found.append(word)
        return found


def parser_for(run: type[Run[Any]]) -> Parser:
    """The parser of a command."""
    classes = [*run.settings().values(), TerminalSettings]
    options = [one for kind in classes for one in options_of(kind)]
    description = (run.__doc__ or "").strip()
    parts = [run.details.strip(), "examples:\n" + _indented(run.examples) if run.examples else ""]
    arguments = "".join(
        f" {one.metavar or one.name.upper()}{' ...' * one.several}" for one in options if one.positional
    )
    parser = Parser(
        f"limbeck {run.command}",
        {one.flag: one for one in options if not one.positional},
        usage=f"limbeck {run.command}{arguments} [options]",
        description=description,
        add_help=False,
        epilog="\n\n".join(filter(None, parts)),
    )
    add_options(parser, options)
    parser._action_groups[-1].add_argument("-h", "--help", action="help", help="show this help and exit")
    return parser


def add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Options in groups: first what nearly everybody needs, then by the headings of their settings classes."""
    listed = list(options)
    headings = dict.fromkeys([COMMON, *(one.group for one in listed if not one.common)])
    for heading in headings:
        own = [one for one in listed if (COMMON if one.common else one.group) == heading]
        if own:
            group = parser.add_argument_group(heading)
            for one in own:
                _add(group, one)


def _add(group: argparse._ActionsContainer, one: Option, default: Any = argparse.SUPPRESS) -> None:
    text = one.help.replace("%", "%%")
    common: dict[str, Any] = {"default": default, "help": text}
    if one.type is bool:
        group.add_argument(one.flag, dest=one.name, action="store_const", const=not one.default, **common)
        return
    common["metavar"] = one.metavar or one.name.rpartition("_")[2].upper()
    common["type"] = Place if one.paths else one.parse
    many = one.several and not one.separator and not one.repeat
    if one.paths or many:
        common["nargs"] = "+"
    if one.separator:
        common["type"] = str
    if one.positional:
        group.add_argument(one.name, **common)
    elif one.repeat:
        group.add_argument(one.flag, dest=one.name, action="append", **common)
    else:
        group.add_argument(one.flag, dest=one.name, **common)


def read_run(run: type[Run[Any]], words: Sequence[str]) -> tuple[Run[Any], TerminalSettings]:
    """The run that a command line asks for, and how it should speak."""
    given = parser_for(run).read(words)
    return made(run, given), TerminalSettings.of(given)


def made(run: type[Run[Any]], given: Mapping[str, Any]) -> Run[Any]:
    """A run out of values by name, as a command line or a pipeline file gives them."""
    classes = run.settings()
    for kind in classes.values():
        for one in options_of(kind):
            if one.required and given.get(one.name) is None:
                raise UsageError(f"{one.flag} is required.", code="required", parameter=one.name)
    return run(**{field: kind.of(given) for field, kind in classes.items()})


# commands

#: commands that are read off their settings
FROM_SETTINGS = ("measure",)
_registered: dict[str, type[Run[Any]]] = {}


def register_command(run: type[Run[Any]]) -> type[Run[Any]]:
    """Make a run class a command of the program, from outside the package."""
    _registered[run.command] = run
    return run


def command_named(name: str) -> type[Run[Any]] | None:
    """The run class of a command; None where there is none."""
    if name in _registered:
        return _registered[name]
    return run_in(f"{runs.__name__}.{name}") if name in command_names() else None


def command_names() -> list[str]:
    """Names of commands: a module of `limbeck.runs` is one, packages beside are what they share."""
    found = [one.name for one in pkgutil.iter_modules(runs.__path__) if not one.ispkg and one.name in FROM_SETTINGS]
    return [*found, *_registered]


def run_in(module: str) -> type[Run[Any]]:
    """The run class that a module defines."""
    defined = vars(importlib.import_module(module)).values()
    (found,) = (
        one
        for one in defined
        if isinstance(one, type) and issubclass(one, Run) and one.__module__ == module and "command" in vars(one)
    )
    return found


def show_of(command: str) -> Callable[..., None]:
    """What prints a command's result."""
    try:
        module = importlib.import_module(f"limbeck.cli.summaries.{command}")
    except ModuleNotFoundError:
        from limbeck.cli.summaries.plain import show
    else:
        show = module.show
    found: Callable[..., None] = show
    return found


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.strip().splitlines())
