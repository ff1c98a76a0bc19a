"""The few exceptions a user can meet, and the check that every named choice goes through."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from pathlib import Path
from typing import ClassVar


class LimbeckError(Exception):
    """Something a user can mend. Its text is one sentence: what must hold, what was got, what to do."""

    exit_status: ClassVar[int] = 1


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
