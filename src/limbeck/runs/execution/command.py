"""What is a command of the program: settings, and what `--help` says of it."""

from __future__ import annotations

import sys
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, ClassVar, Self

from limbeck.settings import Option, Settings, build, options_of


class Command(ABC):
    """A command as a value: a dataclass whose fields are its settings classes.

    The first line of a subclass' docstring is the description in `--help`. A `Run` is a command that fills a run
    folder; others stand in `limbeck.cli.commands`.

    command     name on the command line, and of the verb in Python
    summary     what it does, in the list of commands
    details     for `--help`, below the options: what a folder holds, what names mean
    examples    command lines for `--help`
    """

    command: ClassVar[str]
    summary: ClassVar[str]
    details: ClassVar[str] = ""
    examples: ClassVar[str] = ""

    @classmethod
    def settings(cls) -> dict[str, type[Settings]]:
        """Field -> settings class, in the order of `--help`."""
        return {one.name: _declared(cls, one.name) for one in fields(cls) if one.init}  # type: ignore[arg-type]

    @classmethod
    def kinds(cls) -> Mapping[str, type[Self]]:
        """Subclasses by the command's argument, where that decides which options there are."""
        return {}

    @classmethod
    def all_options(cls) -> list[Option]:
        """Everything that can be given to it; an option that only some kinds have names them in its help."""
        kinds = cls.kinds() or {"": cls}
        found: dict[str, Option] = {}
        helps: dict[str, dict[str, list[str]]] = {}
        for name, kind in kinds.items():
            for one in (one for settings in kind.settings().values() for one in options_of(settings)):
                found.setdefault(one.name, one)
                helps.setdefault(one.name, {}).setdefault(one.help, []).append(name)
        for name, texts in helps.items():
            if texts != {found[name].help: list(kinds)}:
                told = "; ".join(f"{text} [{_some(names, kinds)}]" for text, names in texts.items())
                found[name] = replace(found[name], help=told)
        return list(found.values())

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """The command that a function's keywords ask for."""
        kind = cls.kind_for(keywords)
        return kind(**build(kind.settings(), keywords, verb=cls.command))

    @classmethod
    def kind_for(cls, given: Mapping[str, Any]) -> type[Self]:
        """The kind that the argument names; options of other kinds are refused."""
        kinds = cls.kinds()
        if not kinds:
            return cls
        options = cls.all_options()
        (argument,) = (one for one in options if one.positional)
        name = given.get(argument.name)
        if name is None:
            argument.refuse("is required", code="required")
        kind = kinds[replace(argument, choices=tuple(kinds)).check(name)]
        own = {label: {one.name for one in other.all_options()} for label, other in kinds.items()}
        for one in options:
            if one.name not in own[name] and given.get(one.name) is not None:
                others = ", ".join(label for label in kinds if one.name in own[label])
                one.refuse(f"has an effect on {others} only, not on {name}: omit it", code="no_effect")
        return kind

    @property
    def writes(self) -> bool:
        """Whether its result is in files, so that with --quiet nothing need be printed."""
        return False


def _some(names: Sequence[str], known: Iterable[str]) -> str:
    """Some of the known names, or those that are not among them where these are fewer."""
    others = [name for name in known if name not in names]
    return ", ".join(names) if len(names) <= len(others) else f"not {', '.join(others)}"


def _declared(cls: type, name: str) -> type[Settings]:
    """The class that a field is annotated with; other annotations need not be importable."""
    owner = next(base for base in cls.__mro__ if name in vars(base).get("__annotations__", {}))
    found: type[Settings] = eval(owner.__annotations__[name], vars(sys.modules[owner.__module__]))
    return found
