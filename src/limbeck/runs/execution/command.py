"""What is a command of the program: settings, and what `--help` says of it."""

from __future__ import annotations

import sys
from abc import ABC
from dataclasses import fields
from typing import Any, ClassVar, Self

from limbeck.settings import Settings, build


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
    def of(cls, keywords: dict[str, Any]) -> Self:
        """The command that a function's keywords ask for."""
        return cls(**build(cls.settings(), keywords, verb=cls.command))

    @property
    def writes(self) -> bool:
        """Whether its result is in files, so that with --quiet nothing need be printed."""
        return False


def _declared(cls: type, name: str) -> type[Settings]:
    """The class that a field is annotated with; other annotations need not be importable."""
    owner = next(base for base in cls.__mro__ if name in vars(base).get("__annotations__", {}))
    found: type[Settings] = eval(owner.__annotations__[name], vars(sys.modules[owner.__module__]))
    return found
