"""The program out of settings: a parser and `--help` for each command, read off the fields of its class.

Only this module and `help` know argparse. A settings class says all that is needed: nothing is declared or mapped here.
"""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import re
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar

from limbeck import __version__, papers, runs
from limbeck.cli import commands
from limbeck.cli.help import Help
from limbeck.errors import UsageError
from limbeck.remote import Place
from limbeck.runs.execution.command import Command
from limbeck.settings import Option, Settings, option, options_of

C = TypeVar("C", bound=Command)

ARGUMENTS = "arguments"
COMMON = "options that nearly everybody needs"
REST = "--"  #: the flag of an option that takes what follows a `--`
BEHIND = "..."  #: the flag of an option that takes everything from the first argument on
#: a value that looks like an option to argparse: "-1", "-2,-1", "-3--1"
NEGATIVE = re.compile(r"-\d[\d,.\-eE]*")
MARK = "\0"  #: before such a value, until argparse has seen that it is none; no argument of a process can have it


@dataclass(frozen=True)
class TerminalSettings(Settings, group="terminal"):
    """What every command has on the command line, and nothing else has."""

    quiet: bool = option(False, terminal=True, help="print errors only, and what is not written to files")
    json: bool = option(False, terminal=True, help="print the result as one JSON object, for programs")
    debug: bool = option(False, terminal=True, help="show the whole traceback when something goes wrong")


class TerminalCommand(Command):
    """A command that fills no run folder: it does at once what it does, and prints it."""

    @abstractmethod
    def perform(self, terminal: TerminalSettings) -> int:
        """Do it; the exit status."""


class Parser(argparse.ArgumentParser):
    """A parser whose errors are ours: one line, with the nearest name."""

    def __init__(self, prog: str, options: Mapping[str, Option], **keywords: Any) -> None:
        super().__init__(prog=prog, formatter_class=Help, allow_abbrev=False, **keywords)
        self.options = options  # flag -> option
        self.otherwise = f"see `{prog} --help`."  # where no name is near

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].lower()}{message[1:]}; {self.otherwise}", code="usage")

    def read(self, words: Sequence[str]) -> dict[str, Any]:
        """The values that are given, by name."""
        rest = {}
        if REST in self.options and REST in words:
            place = words.index(REST)
            rest[self.options[REST].name] = words[place + 1 :]
            words = words[:place]
        if BEHIND in self.options:
            place = self._first_argument(words)
            rest[self.options[BEHIND].name] = tuple(words[place:])
            words = words[:place]
        marked = [f"{MARK}{word}" if NEGATIVE.fullmatch(word) else word for word in words]
        found, unknown = self.parse_known_intermixed_args(marked)
        for word in (word.removeprefix(MARK) for word in unknown):
            name = word.partition("=")[0]
            if not word.startswith("-") or NEGATIVE.fullmatch(word):
                text = "--corpus" in self.options and Path(word).is_file()
                hint = f"did you mean --corpus {word}?" if text else ""
                told = f"{self.prog} takes no other argument, got {word!r}; {hint or self.otherwise}"
                raise UsageError(told, code="unknown_argument", hint=hint)
            near = get_close_matches(name, self.options, n=1)
            hint = f"did you mean {near[0]}?" if near else ""
            told = f"{self.prog} has no option {name}; {hint or self.otherwise}"
            raise UsageError(told, code="unknown_option", parameter=name, hint=hint)
        return {name: value for name, value in vars(found).items() if value not in (None, [])} | rest

    def _first_argument(self, words: Sequence[str]) -> int:
        """The place of the first word that is neither an option nor the value of one."""
        place = 0
        while place < len(words) and words[place].startswith("-"):
            known = self.options.get(words[place])
            place += 2 if known is not None and known.type is not bool else 1
        return place


EPILOG = """\
examples:
  limbeck demo
  limbeck models
  limbeck measure --model mini-bert --corpus sample --out runs/mini-bert
  limbeck measure --model bert-base-cased --corpus text.txt --out runs/bert
  limbeck measure --model bert-base-cased gpt2 --corpus 'texts/*.txt.gz' --out runs/two
  limbeck run pipeline.toml
  limbeck merge parts/1 parts/2 --out runs/whole
  limbeck encode --model ./my-model --corpus text.txt --out vectors
  limbeck measure --vectors vectors --out runs/again
  limbeck repair --model mini-bert --corpus sample --method cluster --out runs/repaired
  limbeck distill --model mini-bert --corpus sample --out vectors
  limbeck analyze frequency --model mini-bert --out runs/frequency
  limbeck evaluate mini-bert --tasks sts --data data --out runs/sts
  limbeck probe --model mini-bert --data sample --min-words 5 --out runs/probe
  limbeck compare runs/before runs/after
  limbeck convert vectors vectors.bin
  limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019
  limbeck report runs/demo --out report.html
  limbeck doctor
  limbeck completion bash

`limbeck COMMAND --help` tells more about each.
"""


def build_parser() -> Parser:
    """The whole program: what every command is for, and a parser for each."""
    parser = Parser(
        "limbeck",
        {},
        description="Measure the word vectors of language models: how contextual, how isotropic each layer is.",
        epilog=EPILOG,
    )
    parser.add_argument("--version", action="version", version=f"limbeck {__version__}")
    listed = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=argparse.ArgumentParser)
    for name, command in all_commands().items():
        listed.add_parser(name, help=command.summary)
        listed.choices[name] = parser_for(command)
    return parser


def options_for(command: type[Command]) -> list[Option]:
    """All that can be given to a command on the command line."""
    return [*command.all_options(), *options_of(TerminalSettings)]


def parser_for(command: type[Command]) -> Parser:
    """The parser of a command."""
    options = options_for(command)
    description = (command.__doc__ or "").strip()
    parts = [command.details.strip(), "examples:\n" + _indented(command.examples) if command.examples else ""]
    arguments = "".join(f" {one.flag}{' ...' * one.several}" for one in options if one.positional)
    arguments += "".join(f" [options] {one.metavar}" for one in options if one.flag == BEHIND)
    parser = Parser(
        f"limbeck {command.command}",
        {flag: one for one in options if not one.positional for flag in (one.flag, *one.aliases)},
        usage=f"limbeck {command.command}{arguments} [options]",
        description=description,
        add_help=False,
        epilog="\n\n".join(filter(None, parts)),
    )
    _add_options(parser, options)
    parser._action_groups[-1].add_argument("-h", "--help", action="help", help="show this help and exit")
    return parser


def _add_options(parser: argparse.ArgumentParser, options: Iterable[Option]) -> None:
    """Options in groups: first what nearly everybody needs, then by the headings of their settings classes."""
    listed = [one for one in options if one.flag not in (REST, BEHIND)]
    headings = dict.fromkeys([ARGUMENTS, COMMON, *map(heading_of, listed)])
    for heading in headings:
        own = [one for one in listed if heading_of(one) == heading]
        if own:
            group = parser.add_argument_group(heading)
            for one in own:
                _add(group, one)


def heading_of(one: Option) -> str:
    """What an option is listed under."""
    return ARGUMENTS if one.positional else COMMON if one.common else one.group


def _add(group: argparse._ActionsContainer, one: Option) -> None:
    told = f"{one.help} (required)" if one.required else one.help
    common: dict[str, Any] = {"default": argparse.SUPPRESS, "help": told.replace("%", "%%")}
    if one.type is bool:
        group.add_argument(one.flag, dest=one.name, action="store_const", const=not one.default, **common)
        return
    common["metavar"] = one.metavar or one.name.rpartition("_")[2].upper()
    kind: Callable[[str], Any] = str if one.separator else Place if one.paths else one.parse
    common["type"] = lambda text: kind(text.removeprefix(MARK))
    many = one.several and not one.separator and not one.repeat
    if one.paths or many:
        common["nargs"] = "+"
    if many and not one.positional:
        common["action"] = "extend"
    if one.positional:  # that it is needed is seen later, so that a mistyped option is told first
        group.add_argument(one.name, **{**common, "default": None, "nargs": "*" if many or one.paths else "?"})
    elif one.repeat:
        group.add_argument(one.flag, dest=one.name, action="append", **common)
    else:
        group.add_argument(one.flag, *one.aliases, dest=one.name, **common)


def read_command(command: type[C], words: Sequence[str]) -> tuple[C, TerminalSettings]:
    """What a command line asks for, and how it should speak."""
    kinds = command.kinds() if {"-h", "--help"} & set(words) else {}  # each has a help of its own
    given = parser_for(next((kinds[word] for word in words if word in kinds), command)).read(words)
    return made(command, given), TerminalSettings.of(given)


def made(command: type[C], given: Mapping[str, Any]) -> C:
    """A command out of values by name, as a command line or a pipeline file gives them."""
    kind = command.kind_for(given)
    settings = {field: one.of(given) for field, one in kind.settings().items()}  # a wrong one is told before none
    for one in kind.all_options():
        if one.required and given.get(one.name) is None:
            one.refuse("is required", code="required")
    return kind(**settings)


# commands

#: the order in which `limbeck --help` lists commands; others come after these
ORDER = (
    "measure", "encode", "repair", "distill", "evaluate", "analyze", "probe", "finetune", "plan", "run", "merge",
    "compare", "reproduce", "report", "serve", "convert", "models", "demo", "doctor", "completion",
)  # fmt: skip
_registered: dict[str, type[Command]] = {}


def register_command(command: type[C]) -> type[C]:
    """Make a class a command of the program, from outside the package."""
    _registered[command.command] = command
    return command


def command_named(name: str) -> type[Command] | None:
    """The class of a command; None where there is none."""
    if name in _registered:
        return _registered[name]
    package = _modules().get(name)
    return None if package is None else command_in(f"{package}.{name}")


def command_names() -> list[str]:
    """Names of commands, as `limbeck --help` lists them.

    A module of `limbeck.runs` or `limbeck.cli.commands` is one, and so is `limbeck.papers.reproduce`.
    """
    names = {**_modules(), **_registered}
    return sorted(names, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER))


def all_commands() -> dict[str, type[Command]]:
    """Every command by its name; their modules are imported."""
    return {name: command for name in command_names() if (command := command_named(name)) is not None}


def _modules() -> dict[str, str]:
    """Command -> the package that has its module; packages beside are what commands share."""
    found = {
        one.name: package.__name__
        for package in (runs, commands)
        for one in pkgutil.iter_modules(package.__path__)
        if not one.ispkg
    }
    return found | {"reproduce": papers.__name__}


def command_in(module: str) -> type[Command]:
    """The command that a module defines."""
    defined = vars(importlib.import_module(module)).values()
    (found,) = (
        one
        for one in defined
        if isinstance(one, type) and issubclass(one, Command) and one.__module__ == module and "command" in vars(one)
    )
    return found


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.strip().splitlines())
