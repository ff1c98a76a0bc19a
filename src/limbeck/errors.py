"""The few exceptions a user can meet, none of which tells a password, and the check that every named choice passes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar, Self
from urllib.parse import unquote

#: a parameter in a message, as the command line spells it
FLAG = re.compile(r"(?<![\w-])--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:=(?P<value>[\w.-]*\w))?")
#: a scheme and what follows it; a Path keeps only one of its two slashes
ADDRESS = re.compile(r"\b[a-z][a-z0-9+.\-]+:/\S*", re.IGNORECASE)
#: after a scheme: a colon that no port follows, and an @ before the next slash; or before the first slash, and an @
PASSWORD = re.compile(r":(?!\d+[/?#])[^/@]*@|^[^/@]*:(?!\d*(?:/|$))[^@]*@")


class LimbeckError(Exception):
    """Something a user can mend. Its text is one sentence: what must hold, what was got, what to do.

    code       what is wrong, in a word or two that programs and tests can ask for
    parameter  the parameter that it is about, if it is about one
    hint       what to do, where that is said apart
    flag       how the command line spells the parameter, where that is not by its name

    Messages name parameters as the command line does, `--min-contexts` or `--existing=replace`. Python users read
    `min_contexts` and `existing='replace'`.
    """

    exit_status: ClassVar[int] = 1

    def __init__(
        self, message: str = "", *, code: str = "", parameter: str = "", hint: str = "", flag: str = ""
    ) -> None:
        super().__init__(message)
        self.code = code
        self.parameter = parameter
        self.hint = hint
        self.flag = flag

    @property
    def message(self) -> str:
        """As it was raised, without passwords."""
        return without_passwords(" ".join(filter(None, (super().__str__(), self.hint))))

    def __str__(self) -> str:
        return in_python(self.message)

    def for_terminal(self) -> str:
        """The message in the words of the command line."""
        text = FLAG.sub(lambda found: found[0].replace("=", " ", 1), self.message)
        named = rf"--{self.parameter.replace('_', '-')}(?![\w-])"
        return re.sub(named, self.flag, text) if self.flag else text


class InputError(LimbeckError):
    """A file, folder or model that cannot be used as it is."""

    @classmethod
    def at(cls, path: str | Path, line: int | None, message: str, *, code: str = "", parameter: str = "") -> Self:
        """An error that names its place as editors do: `path:line: message`."""
        place = f"{path}:{line}" if line is not None else str(path)
        return cls(f"{place}: {message}", code=code, parameter=parameter)


class Changed(InputError):
    """What a run reads has changed under it: nothing that was made of it can be gone on from."""


class UsageError(LimbeckError):
    """Options that cannot go together, or a name that does not exist."""

    exit_status: ClassVar[int] = 2


class MissingExtra(LimbeckError):
    """An optional package is needed and not installed."""


class Interrupted(LimbeckError):
    """The user stopped a run; the message says how to go on."""

    exit_status: ClassVar[int] = 130


def in_python(message: str) -> str:
    """A message with parameters named as Python spells them.

    >>> in_python("lower --min-contexts, or --existing=replace, or omit --no-text")
    "lower min_contexts, or existing='replace', or omit text=False"
    """

    def python(found: re.Match[str]) -> str:
        name, value = found["name"].replace("-", "_"), found["value"]
        if value:
            return f"{name}={value}" if re.fullmatch(r"[\d.]+|True|False", value) else f"{name}={value!r}"
        return f"{name[3:]}=False" if name.startswith("no_") else name

    return FLAG.sub(python, message)


def choose(value: str, choices: Iterable[str], *, what: str) -> str:
    """Return `value` if it is one of `choices`, else raise a UsageError that suggests the nearest."""
    names = list(choices)
    if value in names:
        return value
    near = difflib.get_close_matches(value, names, n=1)
    hint = f", did you mean {near[0]!r}?" if near else "."
    message = f"{what} must be one of {', '.join(names)}; got {value!r}{hint}"
    raise UsageError(message, code="unknown_choice", parameter=parameter_of(what))


def parameter_of(what: str) -> str:
    """The parameter that a message begins with; nothing where it begins otherwise.

    >>> parameter_of("--min-contexts"), parameter_of("--set of tencent"), parameter_of("init"), parameter_of("a task")
    ('min_contexts', 'set', 'init', '')
    """
    found = re.match(r"(?:--)?([a-z][a-z0-9_-]*)(?= of |$)", what)
    return found[1].replace("-", "_") if found else ""


def first_few(names: Iterable[str], most: int = 12) -> str:
    """Names in a message, and how many more there are.

    >>> first_few("abcd", 3)
    'a, b, c and 1 more'
    """
    known = list(names)
    return ", ".join(known[:most]) + (f" and {len(known) - most:,} more" if len(known) > most else "")


def holds_password(text: str) -> bool:
    """Whether an address, or one of a chain of them, has a password in it, plain or percent-encoded.

    >>> holds_password("zip://a.txt::http://name:secret@host/b.zip"), holds_password("http://host:80/a@b")
    (True, False)
    """
    for _ in range(4):  # an encoded one may be encoded again
        if re.search(r"[a-z0-9+.\-]{2}:/", text, re.IGNORECASE):
            parts = [re.sub(r"^.*?:/+", "", part) for part in text.split("::") if not re.search("(^|=)file:/", part)]
            if any(PASSWORD.search(part) for part in parts):
                return True
        decoded = unquote(text)
        if decoded == text:
            break
        text = decoded
    return False


def without_passwords(text: str) -> str:
    """A text in which passwords of addresses are stars.

    >>> without_passwords("no answer from ftp://name:secret@host/a")
    'no answer from ftp://name:***@host/a'
    """

    def hidden(match: re.Match[str]) -> str:
        found = match[0]
        if not holds_password(found):
            return found
        scheme, _, rest = found.partition("/")
        shown = f"{scheme}/{re.sub(r':(?!/)(?![0-9]+[/?#])[^/@]*@', ':***@', rest)}"
        return f"{scheme}//***" if holds_password(shown.replace(":***@", "@")) else shown

    return ADDRESS.sub(hidden, text) if ":/" in text else text
