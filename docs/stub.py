"""Writes src/limbeck/__init__.pyi, the public names with their types, off the settings of the verbs.

python -m docs.stub            write the file
python -m docs.stub --check    only say whether it is what would be written, by the exit status

At run time `import limbeck` loads nothing: a verb takes `**keywords` and checks them by its settings. Editors and mypy
read the same settings here, so that a misspelt keyword is an error before anything runs.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import limbeck
from limbeck.cli.program import command_named
from limbeck.runs.execution import result
from limbeck.runs.execution.command import Command
from limbeck.settings import Option

STUB = Path(limbeck.__file__).with_name("__init__.pyi")
HEAD = '''\
"""The public names of limbeck with their types; written by `python -m docs.stub`, do not edit."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, overload

'''


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    text = stub()
    if parser.parse_args().check:
        return int(not STUB.is_file() or STUB.read_text(encoding="utf-8") != text)
    STUB.write_text(text, encoding="utf-8")
    return 0


def stub() -> str:
    """The whole file."""
    imports, verbs = [], []
    for name, (module, attribute) in sorted(limbeck._PUBLIC.items()):
        thing = getattr(limbeck, name)
        command = command_of(thing)
        if command is not None:
            verbs += signatures(name, thing, command)
        elif not attribute:
            package, _, last = module.rpartition(".")
            imports.append(f"from {package} import {last} as {name}")
        else:
            imports.append(f"from {module} import {attribute} as {name}")
    results = sorted({name for one in verbs for name in results_in(one)} - set(limbeck._PUBLIC))
    imports += [f"from {where(name)} import {name} as {name}" for name in results]
    return HEAD + "\n".join(sorted(imports)) + "\n\n__version__: str\n\n" + "\n".join(verbs)


def command_of(thing: Any) -> type[Command] | None:
    """The command that a verb is on the command line; None of what is no verb."""
    return command_named(thing.__name__) if inspect.isfunction(thing) else None


def signatures(name: str, verb: Callable[..., Any], command: type[Command]) -> Iterator[str]:
    """A verb with every keyword, as many times as it has overloads."""
    several = typing.get_overloads(verb)
    for one in several or [verb]:
        parameters = inspect.signature(one).parameters.values()
        own = [parameter for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD]
        options = [
            option
            for option in command.all_options()
            if not option.terminal and option.name not in {parameter.name for parameter in own}
        ]
        words = [spelled(parameter) for parameter in own]
        keyword_only = any(parameter.kind is parameter.KEYWORD_ONLY for parameter in own)
        if keyword_only:
            first = next(place for place, one in enumerate(own) if one.kind is one.KEYWORD_ONLY)
            if not any(one.kind is one.VAR_POSITIONAL for one in own):
                words.insert(first, "*")
        elif not any(one.kind is one.VAR_POSITIONAL for one in own):
            words.append("*")
        words += [f"{option.name}: {type_of(option)} = ..." for option in options]
        lines = "".join(f"    {word},\n" for word in words)
        returns = inspect.signature(one).return_annotation
        yield f"{'@overload' + chr(10) if several else ''}def {name}(\n{lines}) -> {returns}: ...\n"


def spelled(parameter: inspect.Parameter) -> str:
    """A parameter of the verb itself; one that is "" by default is needed, the verb says so after misspelt ones."""
    star = "*" if parameter.kind is parameter.VAR_POSITIONAL else ""
    default = "" if parameter.default in (parameter.empty, "") else " = ..."
    return f"{star}{parameter.name}: {parameter.annotation}{default}"


def type_of(option: Option) -> str:
    """The type of an option's values, as wide as the check takes them."""
    name = "Any" if option.type is object else "str | Path" if option.type is Path else option.type.__name__
    if option.choices:
        name = "Literal[" + ", ".join(f'"{choice}"' for choice in option.choices) + "]"
    if option.several and name != "Any":
        alone = "str | " + f"{name} | " * (name != "str") if option.separator else ""
        name = f"{alone}Sequence[{name}]"
    nullable = option.nullable or option.default is None
    return f"{name} | None" if nullable and name != "Any" else name


def results_in(signature: str) -> list[str]:
    """Names of classes in what a signature returns."""
    words = re.findall(r"[A-Z]\w+", signature.rpartition("->")[2])
    return [word for word in words if word not in ("Any", "Sequence", "Path")]


def where(name: str) -> str:
    """The module of a result class."""
    if name in vars(result):
        return result.__name__
    for module, _ in limbeck._PUBLIC.values():
        if module.startswith("limbeck.runs.") and hasattr(sys.modules.get(module), name):
            return module
    raise SystemExit(f"{name} is returned by a verb and stands in no module of limbeck.runs.")


if __name__ == "__main__":
    sys.exit(main())
