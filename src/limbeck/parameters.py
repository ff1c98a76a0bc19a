"""What a public function is given, checked by signatures beforehand: unknown names, values of a wrong kind.

Options travel through a verb's `**options` to several functions; the last of them would raise a TypeError of its own,
about a class that the user has never called.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Any, ParamSpec, TypeVar, cast

from limbeck.errors import UsageError

Given = ParamSpec("Given")
Made = TypeVar("Made")

#: of annotations: what a value of that kind is called; others are not checked here
KINDS = {
    "int": "a whole number",
    "float": "a number",
    "bool": "True or False",
    "str": "text",
    "Path": "a path",
    "Sequence": "a list",
    "Collection": "a list",
    "Iterable": "a list",
    "Mapping": "a dict",
    "None": "None",
}
LISTS = ("Sequence", "Collection", "Iterable")


def takes(*takers: str) -> Callable[[Callable[Given, Made]], Callable[Given, Made]]:
    """Check a public function's keyword arguments; `takers`, "module:name", are what its `**options` go to.

    A name that neither it nor a taker knows is a UsageError which suggests the nearest, and so is a value of another
    kind than the annotation's. None is the default where there is one, and numpy's numbers become plain ones.
    """

    def decorate(function: Callable[Given, Made]) -> Callable[Given, Made]:
        signature = inspect.signature(function).parameters.values()
        own = {one.name: one for one in signature if one.kind != one.VAR_KEYWORD}

        @functools.wraps(function)
        def call(*args: Given.args, **kwargs: Given.kwargs) -> Made:
            known = own if kwargs.keys() <= own.keys() else taken_by(takers) | own
            for name in kwargs.keys() - known.keys():
                raise UsageError(unknown(function, name, known), code="unknown_parameter", parameter=name)
            given = {}
            for name, value in kwargs.items():
                annotation, default = known[name].annotation, known[name].default
                if value is None and default is not inspect.Parameter.empty and "None" not in kinds_of(annotation):
                    continue
                given[name] = fitting(value, annotation, what=f"{function.__name__}: {name}")
                if name == "settings" and not isinstance(value, settings_class(function, annotation) or object):
                    kind = annotation.removesuffix(" | None")
                    raise UsageError(
                        f"{function.__name__}: settings must be {kind}(...), got {_shown(value)}.",
                        code="wrong_type",
                        parameter="settings",
                    )
            return function(*args, **cast(Any, given))

        return call

    return decorate


def check_fields(settings: Any) -> None:
    """Check the fields of a frozen dataclass by their annotations; for its `__post_init__`."""
    for one in fields(settings):
        value = getattr(settings, one.name)
        fit = fitting(value, str(one.type), what=f"{type(settings).__name__}: {one.name}")
        if fit is not value:
            object.__setattr__(settings, one.name, fit)


def taken_by(takers: Iterable[str]) -> dict[str, inspect.Parameter]:
    """Keyword parameters of functions and classes, and the fields of dataclasses."""
    found: dict[str, inspect.Parameter] = {}
    for taker in takers:
        module, _, name = taker.partition(":")
        thing = getattr(importlib.import_module(module), name)
        found |= {
            one.name: one
            for one in inspect.signature(thing).parameters.values()
            if one.kind == one.KEYWORD_ONLY or is_dataclass(thing)
        }
    return found


def unknown(function: Callable[..., Any], name: str, known: Mapping[str, inspect.Parameter]) -> str:
    """That a function has no such parameter, and what may have been meant."""
    told = f"{function.__name__} has no parameter {name!r}"
    kind = settings_class(function, known["settings"].annotation) if "settings" in known else None
    if kind is not None and name in {field.name for field in fields(kind)}:
        return f"{told}, it is one of the settings: give settings={kind.__name__}({name}=...)."
    for near in (f"{name}s", name.removesuffix("s"), *get_close_matches(name, known, n=1)):
        if near in known and near != name:
            return f"{told}, did you mean {near!r}?"
    return f"{told}: leave it out, or choose one of {', '.join(known)}."


def settings_class(function: Callable[..., Any], annotation: Any) -> Any:
    """The dataclass that a function's settings are of, None where there is none of that name."""
    return inspect.unwrap(function).__globals__.get(str(annotation).removesuffix(" | None"))


def kinds_of(annotation: Any) -> list[str]:
    """The parts of an annotation such as "str | Path | None", without what stands in brackets.

    >>> kinds_of("str | Sequence[str | tuple[int, ...]] | Mapping[str, int] | None")
    ['str', 'Sequence', 'Mapping', 'None']
    """
    text = str(annotation)
    while (without := re.sub(r"\[[^\[\]]*\]", "", text)) != text:  # the innermost brackets
        text = without
    return [part.strip() for part in text.split("|")]


def fitting(value: Any, annotation: Any, *, what: str) -> Any:
    """The value as one of an annotation's kinds; a UsageError where it is of none."""
    kinds = kinds_of(annotation)
    if not set(kinds) <= KINDS.keys():
        return value  # a choice, an object: whoever takes it knows
    for kind in kinds:
        if (fit := _as(kind, value)) is not None:
            return fit
    if value is None and "None" in kinds:
        return None
    wanted = [KINDS[kind] for kind in dict.fromkeys(kinds)]
    told = f"{', '.join(wanted[:-1])} or {wanted[-1]}" if len(wanted) > 1 else wanted[0]
    raise UsageError(
        f"{what} must be {told}, got {_shown(value)}.", code="wrong_type", parameter=what.rpartition(" ")[2]
    )


def _shown(value: Any) -> str:
    return " ".join(repr(value).split())[:60]


def _as(kind: str, value: Any) -> Any:
    """The value, if it is of that kind."""
    truth = isinstance(value, bool) or type(value).__name__ == "bool"  # numpy's too
    if kind == "bool":
        return bool(value) if truth else None
    if kind == "int":
        return int(value) if isinstance(value, Integral) and not truth else None
    if kind == "float":
        return float(value) if isinstance(value, Real) and not truth else None
    if kind == "str":
        if type(value).__module__ == "torch" and type(value).__name__ in ("device", "dtype"):
            return str(value).removeprefix("torch.")
        return value if isinstance(value, str) else None
    if kind == "Path":
        return value if isinstance(value, str | os.PathLike) else None
    if kind == "Mapping":
        return value if isinstance(value, Mapping) else None
    if kind in LISTS:
        listed = isinstance(value, Iterable) and not isinstance(value, str | bytes | os.PathLike | Mapping)
        return (value.tolist() if hasattr(value, "tolist") else value) if listed else None
    return None
