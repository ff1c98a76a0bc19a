"""The few exceptions a user can meet, none of which tells a password, and the check that every named choice passes."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar
from urllib.parse import unquote

#: a scheme and what follows it; a Path keeps only one of its two slashes
ADDRESS = re.compile(r"\b[a-z][a-z0-9+.\-]+:/\S*", re.IGNORECASE)
#: after a scheme: a colon that no port follows, and an @ before the next slash; or before the first slash, and an @
PASSWORD = re.compile(r":(?!\d+[/?#])[^/@]*@|^[^/@]*:(?!\d*(?:/|$))[^@]*@")


class LimbeckError(Exception):
    """Something a user can mend. Its text is one sentence: what must hold, what was got, what to do."""

    exit_status: ClassVar[int] = 1

    def __str__(self) -> str:
        return without_passwords(super().__str__())


class InputError(LimbeckError):
    """A file, folder or model that cannot be used as it is."""

    @classmethod
    def at(cls, path: str | Path, line: int | None, message: str) -> InputError:
        """An error that names its place as editors do: `path:line: message`."""
        place = f"{path}:{line}" if line is not None else str(path)
        return cls(f"{place}: {message}")


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


def choose(value: str, choices: Iterable[str], *, what: str) -> str:
    """Return `value` if it is one of `choices`, else raise a UsageError that suggests the nearest."""
    names = list(choices)
    if value in names:
        return value
    near = difflib.get_close_matches(value, names, n=1)
    hint = f", did you mean {near[0]!r}?" if near else "."
    raise UsageError(f"{what} must be one of {', '.join(names)}; got {value!r}{hint}")


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
