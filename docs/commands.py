"""The text of docs/commands.md, every command with its options, read off the settings; `docs.generate` writes it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from limbeck.cli.program import (
    ARGUMENTS,
    BEHIND,
    COMMON,
    REST,
    TerminalSettings,
    command_named,
    command_names,
    heading_of,
)
from limbeck.runs.execution.command import Command
from limbeck.settings import Option, options_of

PAGE = Path(__file__).with_name("commands.md")

HEAD = """\
# Every command and option

This page is made from the settings of the commands by `make pages`; do not edit it. `limbeck COMMAND --help` tells \
the same. What commands are for and when to use which option is told in the guides ([measuring](measure.md), \
[encoding](encode.md), [repairing](repair.md) and so on).

In Python an option is a keyword of the verb of that name, with `_` for `-`: `--min-contexts 3` is `min_contexts=3`. \
Pipeline files ([plans](plans.md)) have the same names. Where the name differs from the option, the table says so.
"""

EVERYWHERE = """\
## In every command

Only the command line has these ([the command line](terminal.md)).
"""


def page() -> str:
    """The whole page."""
    lines = [HEAD]
    for name in command_names():
        command = command_named(name)
        assert command is not None
        lines += [*section(command), ""]
    return "\n".join([*lines, EVERYWHERE, *table(list(options_of(TerminalSettings))), ""])


def section(command: type[Command]) -> Iterator[str]:
    """What a command does, examples, and a table of options a group."""
    options = command.all_options()
    yield f"## {command.command}"
    yield ""
    yield " ".join((command.__doc__ or "").split("\n\n")[0].split())
    if command.examples:
        yield from ("", "```sh", re.sub(r"(?m) {3,}(?=\S)", "  # ", command.examples.strip()), "```")
    for heading in dict.fromkeys([ARGUMENTS, COMMON, *map(heading_of, options)]):
        own = [one for one in options if heading_of(one) == heading]
        if own:
            yield from ("", f"**{heading[:1].upper()}{heading[1:]}**", "", *table(own))


def table(options: list[Option]) -> list[str]:
    """Options as rows."""
    rows = (f"| {named(one)} | {kind_of(one)} | {default_of(one)} | {told(one)} |" for one in options)
    return ["| option | value | default | meaning |", "|---|---|---|---|", *rows]


def named(one: Option) -> str:
    """How the command line spells it, and Python where that is not the same."""
    if one.positional or one.flag == BEHIND:
        return f"`{one.name.upper() if one.flag == BEHIND else one.flag}`"
    if one.flag == REST:
        return f"`-- {one.name.upper()}`"
    shown = ", ".join(f"`{flag}`" for flag in (one.flag, *one.aliases))
    python = f"{one.name}={not one.default}" if one.type is bool and one.default else one.name
    plain = one.terminal or one.flag == f"--{one.name.replace('_', '-')}"
    return shown if plain else f"{shown} (Python: `{python}`)"


def kind_of(one: Option) -> str:
    """What a value is, with its bounds."""
    if one.type is bool:
        return ""
    names: dict[Any, str] = {int: "whole number", float: "number", Path: "path", str: "text", object: "text"}
    kind = ", ".join(f"`{choice}`" for choice in one.choices) or names[one.type]
    bounds = (("at least", one.minimum), ("above", one.above), ("at most", one.maximum), ("below", one.below))
    kind = ", ".join([kind, *(f"{what} {bound:,}" for what, bound in bounds if bound is not None)])
    if one.several or one.paths:
        kind += f"; several, separated by `{one.separator}`" if one.separator else "; several"
        kind += ", the option again for each" if one.repeat else ""
    return kind


def default_of(one: Option) -> str:
    """The default as the command line would spell it; "required" where there is none."""
    if one.required:
        return "required"
    if one.type is bool or one.default is None or one.default in ((), ""):
        return ""
    values = one.default if isinstance(one.default, tuple) else (one.default,)
    return f"`{(one.separator or ' ').join(map(str, values))}`"


def told(one: Option) -> str:
    """Its help for a cell of a table, without the default at its end, which has a cell of its own."""
    text = one.help.removesuffix(f" ({one.default})")
    for mark in "|*<[]":
        text = text.replace(mark, f"\\{mark}")
    return text
