"""Settings: options declared once, as fields of frozen dataclasses.

    @dataclass(frozen=True)
    class VocabularySettings(Settings, group="vocabulary"):
        min_contexts: int = option(5, minimum=1, help="minimum number of distinct contexts per word")

The command line, Python keywords, pipeline files, shell completion, `--help`, the option tables of the docs and
`run.json` are read off these classes: an option that is declared here exists everywhere, under one name. Modules with
settings import neither torch nor scikit-learn, so that `limbeck COMMAND --help` is quick.
"""

from __future__ import annotations

import math
import os
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from difflib import get_close_matches
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, ClassVar, Literal, Self, Union, get_args, get_origin, get_type_hints

from limbeck.errors import Code, UsageError

_known: dict[type[Settings], tuple[Option, ...]] = {}
Names = Sequence[str] | Callable[[], Sequence[str]]

#: what a value of a type is called in messages
KINDS: dict[type, str] = {int: "a whole number", float: "a number", bool: "True or False", str: "text", Path: "a path"}


def option(
    default: Any = MISSING,
    *,
    help: str,
    minimum: float | None = None,
    above: float | None = None,
    maximum: float | None = None,
    below: float | None = None,
    flag: str = "",
    metavar: str = "",
    suggestions: Names = (),
    files: bool = False,
    paths: bool = False,
    separator: str = "",
    between: str = "",
    repeat: bool = False,
    aliases: tuple[str, ...] = (),
    common: bool = False,
    required: bool = False,
    positional: bool = False,
    terminal: bool = False,
    recorded: bool = True,
) -> Any:
    """A field of a settings class.

    minimum, above, maximum, below   bounds of a number: at least, more than, at most, less than
    flag                             how the command line spells it, if not by its name; "--" takes what follows a `--`
    suggestions                      names for completion, where others are possible too; choices are a `Literal`
    files                            whether completion offers files
    paths                            whether the command line takes several words, each a path though it looks like text
    separator                        of a tuple: between values in one word of the command line, instead of blanks
    between                          what joins several suggestions into one value, for completion
    repeat                           of a tuple: the option is given once for each value
    aliases                          other flags of the command line
    common                           whether `--help` lists it among the options that nearly everybody needs
    required                         whether the command line needs it; Python functions say themselves what they need
    positional                       an argument of the command line instead of an option
    terminal                         whether only the command line has it
    recorded                         whether `run.json` keeps it among the settings
    """
    facts = dict(locals())
    del facts["default"]
    return field(default=default, kw_only=True, metadata={"option": facts})


@dataclass(frozen=True)
class Option:
    """One option, as its field declares it."""

    name: str
    type: type
    several: bool
    nullable: bool
    choices: tuple[str, ...]
    default: Any
    group: str
    help: str
    minimum: float | None
    above: float | None
    maximum: float | None
    below: float | None
    flag: str  # how the command line spells it; of an argument what stands in its place in --help
    metavar: str
    suggestions: Names
    files: bool
    paths: bool
    separator: str
    between: str
    repeat: bool
    aliases: tuple[str, ...]
    common: bool
    required: bool
    positional: bool
    terminal: bool
    recorded: bool

    @property
    def names(self) -> Sequence[str]:
        """Values that are known by name."""
        return self.choices or (self.suggestions() if callable(self.suggestions) else self.suggestions)

    def check(self, value: Any) -> Any:
        """The value as its type has it; a `UsageError` that names the parameter where it cannot be that."""
        if value is None and (self.nullable or self.default is None):
            return None
        if not self.several:
            return self._checked(value)
        if isinstance(value, str | bytes | os.PathLike | Mapping) or not isinstance(value, Iterable):
            if self.type is object or self.separator or self.repeat:
                return self.check(self._split(value))
            self.refuse(f"must be a list, got {shown(value)}", code="wrong_type")
        return tuple(self._checked(one) for one in value)

    def _split(self, value: Any) -> tuple[Any, ...]:
        if self.separator and isinstance(value, str):
            return tuple(self.parse(one) for part in value.split(self.separator) if (one := part.strip()))
        return (value,)

    def _checked(self, value: Any) -> Any:
        found = value if self.type is object else as_type(value, self.type)
        if found is None and value is not None:
            self.refuse(f"must be {KINDS[self.type]}, got {shown(value)}", code="wrong_type")
        if self.choices and found not in self.choices:
            near = get_close_matches(str(found), self.choices, n=1)
            hint = f"did you mean {near[0]!r}?" if near else ""
            told = ", ".join(filter(None, (shown(value), hint)))
            self.refuse(f"must be one of {', '.join(self.choices)}; got {told}", code="unknown_choice", hint=hint)
        if isinstance(found, int | float) and not isinstance(found, bool):
            for bound, holds, what in (
                (self.minimum, self.minimum is None or found >= self.minimum, "at least"),
                (self.above, self.above is None or found > self.above, "above"),
                (self.maximum, self.maximum is None or found <= self.maximum, "at most"),
                (self.below, self.below is None or found < self.below, "below"),
            ):
                if not holds:
                    self.refuse(f"must be {what} {bound}, got {value}", code="out_of_range")
            if not math.isfinite(found):
                self.refuse(f"must be finite, got {value}", code="out_of_range")
        return found

    def parse(self, text: str) -> Any:
        """A value as the command line spells it."""
        if self.type is int:
            plain = text.replace("_", "")
            return self._checked(int(plain) if plain.lstrip("+-").isdecimal() else text)
        if self.type is float:
            try:
                return self._checked(float(text))
            except ValueError:
                return self._checked(text)
        return text if self.type is object else self._checked(text)

    def words(self, value: Any) -> list[str]:
        """How the command line gives a value."""
        if self.type is bool:
            return [self.flag] if value != self.default else []
        several = list(map(str, value)) if isinstance(value, list | tuple) else [str(value)]
        given = [self.separator.join(several)] if self.separator else several
        return given if self.positional else [self.flag, *given]

    def refuse(self, what: str, *, code: Code, hint: str = "") -> typing.NoReturn:
        """Raise a `UsageError` about this option."""
        end = "" if what.endswith("?") else "."
        spelled = f"--{self.name.replace('_', '-')}"
        raise UsageError(f"{spelled} {what}{end}", code=code, parameter=self.name, hint=hint, flag=self.flag)


class Settings:
    """Base of settings classes, which are frozen dataclasses with `option` fields.

    `group` is their heading in `--help`. Values are checked when one is made, so that code which has one need not.
    """

    group: ClassVar[str] = ""

    def __init_subclass__(cls, *, group: str | None = None) -> None:
        super().__init_subclass__()
        if group is not None:
            cls.group = group

    def __post_init__(self) -> None:
        for one in options_of(type(self)):
            object.__setattr__(self, one.name, one.check(getattr(self, one.name)))
        self.check()

    def check(self) -> None:
        """Refuse values that do not go together; for subclasses."""

    def given(self) -> dict[str, Any]:
        """The options that differ from their defaults."""
        values = {one: getattr(self, one.name) for one in options_of(type(self))}
        return {
            one.name: value
            for one, value in values.items()
            if value is not one.default and (one.type is object or value != one.default)  # arrays have no equality
        }

    def as_dict(self) -> dict[str, Any]:
        """Name and value of each option that a record keeps."""
        return {one.name: getattr(self, one.name) for one in options_of(type(self)) if one.recorded}

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """The settings out of keywords, of which there may be more."""
        return cls(**{one.name: keywords[one.name] for one in options_of(cls) if one.name in keywords})


def options_of(settings: type[Settings]) -> tuple[Option, ...]:
    """The options of a settings class, in the order in which they are declared."""
    if settings not in _known:
        hints = get_type_hints(settings)
        declared = fields(settings)  # type: ignore[arg-type]
        _known[settings] = tuple(_option(one, hints[one.name], _group_of(settings, one.name)) for one in declared)
    return _known[settings]


def _group_of(settings: type[Settings], name: str) -> str:
    """The heading of the class that declares an option; settings put together of several classes keep theirs."""
    declaring = (kind for kind in settings.__mro__ if name in vars(kind).get("__annotations__", {}))
    return next((kind.group for kind in declaring if issubclass(kind, Settings)), settings.group)


def _option(one: Field[Any], annotation: Any, group: str) -> Option:
    nullable = several = False
    choices: tuple[str, ...] = ()
    parts = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    if NoneType in parts:
        nullable = True
        parts = tuple(part for part in parts if part is not NoneType)
    kind = parts[0] if len(parts) == 1 else object
    if get_origin(kind) is tuple:
        several, kind = True, get_args(kind)[0]
    if get_origin(kind) is Literal:
        kind, choices = str, get_args(kind)
    kind = object if kind is Any else kind
    default = None if one.default is MISSING else one.default
    facts = dict(one.metadata["option"])
    facts["flag"] = facts["flag"] or _flag(one.name, facts, off=kind is bool and default is True)
    return Option(one.name, kind, several, nullable, choices, default, group, **facts)


def _flag(name: str, facts: Mapping[str, Any], *, off: bool) -> str:
    """How the command line spells an option: a switch that is on by default is turned off by --no-NAME."""
    if facts["positional"]:
        return str(facts["metavar"]) or name.upper()
    return f"--{'no-' * off}{name.replace('_', '-')}"


def build(classes: Mapping[str, type[Settings]], keywords: Mapping[str, Any], *, verb: str) -> dict[str, Settings]:
    """Settings of several classes out of a function's keywords; `UsageError` where none has one of them."""
    known = [one.name for kind in classes.values() for one in options_of(kind) if not one.terminal]
    for name in keywords:
        if name not in known:
            near = [n for n in (f"{name}s", name.removesuffix("s")) if n in known] or get_close_matches(
                name, known, n=1
            )
            hint = f"did you mean {near[0]!r}?" if near else ""
            end = f"; {hint}" if near else f". There are {', '.join(known)}."
            raise UsageError(
                f"{verb} has no parameter {name!r}{end}", code="unknown_parameter", parameter=name, hint=hint
            )
    return {field: kind.of(keywords) for field, kind in classes.items()}


def as_type(value: Any, kind: type) -> Any:
    """The value as one of a type; None where it is no such value. Numpy's numbers become plain ones.

    >>> as_type(3, int), as_type(3, float), as_type("3", int), as_type(True, int)
    (3, 3.0, None, None)
    """
    truth = isinstance(value, bool) or type(value).__name__ == "bool"  # numpy's too
    if kind is bool:
        return bool(value) if truth else None
    if kind is int:
        return int(value) if isinstance(value, Integral) and not truth else None
    if kind is float:
        return float(value) if isinstance(value, Real) and not truth else None
    if kind is Path:
        return value if isinstance(value, Path) else path_of(value)
    if type(value).__module__ == "torch" and type(value).__name__ in ("device", "dtype"):
        return str(value).removeprefix("torch.")
    return value if isinstance(value, str) else None


def path_of(value: Any) -> Path | None:
    """A path; a URL becomes one that is printed as it was given."""
    from limbeck.remote import UrlPath, as_path, as_url

    if not isinstance(value, str | os.PathLike):
        return None
    path = str(value) if isinstance(value, Path) else os.fspath(value)
    return UrlPath(path) if as_url(path) is not None and as_path(path) == path else Path(path)


def refuse_no_path(value: Any, parameter: str) -> None:
    """Refuse what is neither a path nor the text of one."""
    if path_of(value) is None:
        raise UsageError(f"--{parameter} must be a path, got {shown(value)}.", code="wrong_type", parameter=parameter)


def shown(value: Any) -> str:
    """A value in a message."""
    return " ".join(repr(value).split())[:60]
