"""The few exceptions a user can meet, none of which tells a password, and the check that every named choice passes."""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from urllib.parse import unquote

#: What is wrong with something, in a word or two that programs and tests can ask for; the same words everywhere.
Code = Literal[
    # what was given
    "required",  # something must be given
    "unknown_choice",  # none of the names that there are
    "unknown_parameter",  # no keyword or setting of that name
    "unknown_option",  # no option of that name on the command line
    "unknown_argument",  # one word too many on the command line
    "unknown_command",  # no command of that name
    "usage",  # a command line that cannot be read
    "pipeline",  # an entry of a pipeline that cannot be used
    "wrong_type",  # of another kind than is taken
    "out_of_range",  # too small or too large
    "no_effect",  # nothing would follow from it
    "exclusive",  # it does not go with something else that was given
    "twice",  # there once too often
    "ambiguous",  # several, and none of them is named
    "unsupported",  # not with this model, file or method
    "read_once",  # it can be read once, and more passes are needed
    "not_shared",  # no part of a pass that several runs share
    "password",  # an address with a password in it
    # arrays
    "wrong_shape",
    "unequal_lengths",  # as many of one as of the other are needed
    "other_dimensions",  # vectors of another width
    "not_finite",  # NaN or infinity
    # files, folders, addresses
    "not_found",
    "not_readable",
    "not_writable",
    "not_reachable",  # another machine gives no answer
    "not_permitted",  # another machine refuses
    "empty",
    "damaged",  # cut off, or with parts that do not fit together
    "incomplete",  # a file, column, field or row is missing
    "malformed",  # not of the form that it must have
    "not_utf8",  # bytes that are no text in their encoding
    "out_of_order",  # what must stand together, or before something, does not
    "other_kind",  # something else than is read here
    "other_format",  # of another version of limbeck's files
    "too_large",  # more than can be meant
    "outside_folder",  # a name or link that leads out of its folder
    "changed",  # it did not stay as it was while it was read
    "vanished",  # it was there when it was read first
    "exists",  # it is there already
    "unfinished",  # an unfinished run is there
    "in_the_way",  # something that is not limbeck's has the name
    "busy",  # somebody else uses it at this moment
    # runs and what they need
    "no_run",  # a folder without a run
    "other_run",  # the run was begun with something else
    "other_settings",
    "other_model",
    "other_layers",
    "not_mergeable",
    "not_comparable",
    "no_words",
    "no_counts",
    "no_labels",
    "no_vectors",
    "no_teacher",  # kept vectors cannot read words
    "no_probes",
    "no_figure",  # nothing to draw
    "too_few",  # of words, contexts, examples, ...
    # the machine
    "not_installed",
    "no_gpu",
    "no_memory",
    "no_space",  # on the disk
    "worker_lost",  # another process ended
    "stopped",
]

#: a parameter in a message, as the command line spells it
FLAG = re.compile(r"(?<![\w-])--(?P<name>[a-z][a-z0-9]*(?:-[a-z0-9]+)*)(?:=(?P<value>[\w.-]*\w))?")
#: a scheme and what follows it; a Path keeps only one of its two slashes
ADDRESS = re.compile(r"\b[a-z][a-z0-9+.\-]+:/\S*", re.IGNORECASE)
MANY = 50_000  #: names that the nearest is sought among, in a fraction of a second
FEW = 20  #: names that stand in a message before what was got
#: after a scheme: a colon that no port follows, and an @ before the next slash; or before the first slash, and an @
PASSWORD = re.compile(r":(?!\d+[/?#])[^/@]*@|^[^/@]*:(?!\d*(?:/|$))[^@]*@")


class LimbeckError(Exception):
    """Something a user can mend. Its text is one sentence: what must hold, what was got, what to do.

    code       what is wrong, one of `Code`
    parameter  the parameter that it is about, if it is about one
    hint       the part of the text that says which name may have been meant, where one is known
    flag       how the command line spells the parameter, where that is not by its name

    Messages name parameters as the command line does, `--min-contexts` or `--existing=replace`. Python users read
    `min_contexts` and `existing='replace'`.
    """

    exit_status: ClassVar[int] = 1

    def __init__(self, message: str, *, code: Code, parameter: str = "", hint: str = "", flag: str = "") -> None:
        super().__init__(message)
        self.code: Code = code
        self.parameter = parameter
        self.hint = hint
        self.flag = flag

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(type(self), code=self.code), self.args, self.__dict__

    @property
    def message(self) -> str:
        """As it was raised, without passwords."""
        return without_passwords(str(self.args[0]))

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
    def at(cls, path: str | Path, line: int | None, message: str, *, code: Code, parameter: str = "") -> Self:
        """An error that names its place as editors do: `path:line: message`."""
        place = f"{path}:{line}" if line is not None else str(path)
        return cls(f"{place}: {message}", code=code, parameter=parameter)


class Changed(InputError):
    """What a run reads has changed under it: nothing that was made of it can be gone on from."""


class UsageError(LimbeckError):
    """Options that cannot go together, or a name that does not exist."""

    exit_status: ClassVar[int] = 2


class UnknownName(UsageError, KeyError):
    """A key that is not there. The nearest is sought when the message is read: a table may have a million."""

    def __init__(self, what: str, name: object, names: Iterable[str]) -> None:
        super().__init__(f"There is no {what} {name!r}", code="unknown_choice")
        self.what, self.name, self.names = what, name, names

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.what, self.name, list(self.names))

    @property
    def message(self) -> str:
        """As it was raised, with the nearest name among the first."""
        near = difflib.get_close_matches(str(self.name), islice(self.names, MANY), n=1)
        return super().message + (f", did you mean {near[0]!r}?" if near else ".")


class MissingExtra(LimbeckError):
    """An optional package is needed and not installed."""


class Interrupted(LimbeckError):
    """The user stopped a run; the message says how to go on."""

    exit_status: ClassVar[int] = 130


class Advice(UserWarning):
    """A warning that names parameters as errors do."""

    def __str__(self) -> str:
        return in_python(self.for_terminal())

    def for_terminal(self) -> str:
        """The warning in the words of the command line."""
        return str(self.args[0])


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
    hint = f"did you mean {near[0]!r}?" if near else ""
    end = f", {hint}" if near else "."
    message = f"{what} must be one of {', '.join(names)}; got {value!r}{end}"
    if len(names) > FEW:  # who has read them all has forgotten what it was about
        message = f"{what}: there is no {value!r}{end} It must be one of {', '.join(names)}."
    raise UsageError(message, code="unknown_choice", parameter=parameter_of(what), hint=hint)


def parameter_of(what: str) -> str:
    """The parameter that a message begins with; nothing where it begins otherwise.

    >>> parameter_of("--min-contexts"), parameter_of("--set of tencent"), parameter_of("init"), parameter_of("a task")
    ('min_contexts', 'set', 'init', '')
    """
    found = re.match(r"--([a-z0-9-]+)|([a-z0-9_]+)(?= of |$)", what)
    return (found[1] or found[2]).replace("-", "_") if found else ""


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
