"""Plan files: TOML with a model, a text, and a table for each consumer, whose keys are the options of its command."""

from __future__ import annotations

import argparse
import difflib
import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from limbeck.cli.options import add_corpus_options, add_model_options, count, positive
from limbeck.cli.program import parser_for
from limbeck.errors import InputError, UsageError
from limbeck.remote import refuse_password
from limbeck.runs.distill import DistillRun
from limbeck.runs.encode import EncodeRun
from limbeck.runs.measure import MeasureRun
from limbeck.runs.probe import ProbeRun
from limbeck.runs.repair import RepairRun

#: commands that can share a pass
CONSUMERS: dict[str, Any] = {
    "measure": MeasureRun,
    "encode": EncodeRun,
    "repair": RepairRun,
    "distill": DistillRun,
    "probe": ProbeRun,
}
#: options that a command has for itself and that mean nothing, or something else, in a plan
NOT_IN_PLANS = (
    "help", "out", "existing", "dry-run", "quiet", "debug", "json", "vectors", "part", "index-of", "vocabulary",
    "first-document", "batch-tokens", "workers", "engine", "address", "gpus-per-worker",
)  # fmt: skip

DEEPEST = 10  #: levels of a plan, which needs four


@dataclass(frozen=True)
class Table:
    """One consumer: its command, and its options by their names without dashes."""

    command: str
    options: Mapping[str, Any]
    line: int
    number: int  # among those of its command, from 1

    @property
    def title(self) -> str:
        return self.command if self.number == 1 else f"{self.command} {self.number}"


@dataclass(frozen=True)
class PlanFile:
    """A plan as it is written."""

    path: Path
    shared: Mapping[str, Any]
    tables: Sequence[Table] = field(default_factory=list)
    text: str = ""

    @classmethod
    def read(cls, path: str | Path) -> PlanFile:
        path = Path(path).expanduser()
        try:
            text = path.read_text(encoding="utf-8")
            found = tomllib.loads(text)
            check_values(found)
        except OSError as error:
            raise InputError(f"{path}: a plan must be readable; {error.strerror}: check the path.") from error
        except RecursionError as error:
            raise InputError(f"{path}: a plan must be TOML of a few levels, this one is nested too deeply.") from error
        except ValueError as error:
            raise InputError(f"{path}: a plan must be TOML: {error}.") from error
        shared = {key: value for key, value in found.items() if key not in CONSUMERS}
        tables: list[Table] = []
        for command in CONSUMERS:
            given = found.get(command, [])
            for number, options in enumerate([given] if isinstance(given, dict) else given, 1):
                if not isinstance(options, dict):
                    raise InputError.at(
                        path, line_of(text, "", 1, command), f"{command} must be a table, [[{command}]]."
                    )
                tables.append(Table(command, options, line_of(text, command, number), number))
        made = cls(path, shared, sorted(tables, key=lambda table: table.line), text)
        made.check()
        return made

    def check(self) -> None:
        """Refuse keys that nobody knows, with the nearest that is known."""
        for key in self.shared:
            self.known(key, [*shared_options(), "out", *CONSUMERS], "", 1)
        for table in self.tables:
            for key in table.options:
                if key in shared_options() and key != "layers":
                    self.fail(f"{key} is of the whole plan: put it at the top", table.command, table.number, key)
                self.known(key, [*own_options(table.command), "out", "layers"], table.command, table.number)

    def known(self, key: str, names: Sequence[str], command: str, number: int) -> None:
        if key not in names:
            near = difflib.get_close_matches(key, names, n=1)
            where = f"[[{command}]]" if command else "the top of a plan"
            remedy = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(names)}"
            self.fail(f"{key!r} is no key of {where}: {remedy}", command, number, key)

    def fail(self, message: str, command: str = "", number: int = 1, key: str = "") -> NoReturn:
        line = line_of(self.text, command, number, key)
        place = f"{self.path}:{line}" if line else f"{self.path}"
        raise UsageError(f"{place}: {message}" + ("" if message.endswith(("?", ".")) else "."))

    def parsed(self, parser: argparse.ArgumentParser, given: Mapping[str, Any], command: str, number: int) -> Any:
        """The options of a command as its own parser reads them; what it refuses is told with file, line and key."""
        actions = options_of(parser)
        arguments: list[str] = []
        for key, value in given.items():
            arguments += arguments_for(key, value, actions[key])

        def fail(message: str) -> NoReturn:
            named = re.search(r"--([\w-]+)", message)
            key = named[1] if named and named[1] in given else ""
            self.fail(re.sub(r"^argument (-\w, )?--", "", message), command, number, key)

        parser.error = fail  # type: ignore[method-assign]
        try:
            return parser.parse_args(arguments)
        except UsageError as error:
            key = error.parameter.replace("_", "-")
            self.fail(error.message.removeprefix("--"), command, number, key if key in given else "")


def check_values(plan: Mapping[str, Any]) -> None:
    """Refuse a URL that has a password in it, anywhere in a plan; RecursionError where it is nested too deeply."""
    level: list[Any] = [plan]
    for _ in range(DEEPEST):
        inside = [one for value in level for one in (value.values() if isinstance(value, dict) else value)]
        for one in inside:
            if isinstance(one, str):
                refuse_password(one)
        level = [one for one in inside if isinstance(one, dict | list)]
    if level:
        raise RecursionError


def arguments_for(key: str, value: Any, action: argparse.Action) -> list[str]:
    """A key and its value as they would be typed."""
    option = f"--{key}"
    if action.nargs == 0:
        return [option] if value is True else []
    values = [str(one) for one in value] if isinstance(value, list) else [str(value)]
    if isinstance(action, argparse._AppendAction):
        return [f"{option}={one}" for one in values]
    if action.nargs == "+":
        return [option, *values]
    return [f"{option}={','.join(values)}"]


def options_of(parser: argparse.ArgumentParser) -> dict[str, argparse.Action]:
    """Long option without dashes -> action."""
    return {
        option[2:]: action
        for action in parser._actions
        for option in action.option_strings
        if option.startswith("--") and action.dest != "help"
    }


def shared_parser() -> argparse.ArgumentParser:
    """Of what all consumers share: model, text, and how the pass is made."""
    parser = argparse.ArgumentParser(prog="plan", add_help=False, allow_abbrev=False)
    add_model_options(parser, several=False)
    add_corpus_options(parser)
    parser.add_argument("--batch-tokens", type=positive)
    parser.add_argument("--workers", type=count)
    return parser


def own_parser(command: str) -> argparse.ArgumentParser:
    """The parser of a consumer's command."""
    if isinstance(CONSUMERS[command], type):
        return parser_for(CONSUMERS[command])
    holder = argparse.ArgumentParser(prog="limbeck")
    made: argparse.ArgumentParser = CONSUMERS[command].add_parser(holder.add_subparsers())
    made.allow_abbrev = False
    return made


def shared_options() -> list[str]:
    return list(options_of(shared_parser()))


def own_options(command: str) -> list[str]:
    """Options that a consumer's table may have, beside out and layers."""
    others = {*shared_options(), *NOT_IN_PLANS, *(("data",) if command == "probe" else ())}
    return [name for name in options_of(own_parser(command)) if name not in others]


def line_of(text: str, command: str, number: int = 1, key: str = "") -> int:
    """The line of a table's header, or of a key in it; 0 where it is not found."""
    seen = 0 if command else number
    found = 0
    for line, content in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([\w-]+)\s*\]", content)
        if header:
            if not command and header[1] == key:
                return line
            if seen == number and (found or not command):
                return found
            seen += header[1] == command
            if seen == number and header[1] == command:
                found = line
                if not key:
                    return line
        elif seen == number and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=", content):
            return line
    return found


def as_toml(value: Any) -> str:
    """A value as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_toml, value))}]"
    return json.dumps(str(value), ensure_ascii=False)


def lines_for(options: Mapping[str, Any]) -> str:
    return "".join(f"{key} = {as_toml(value)}\n" for key, value in options.items())
