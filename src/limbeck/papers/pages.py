"""Pages of which a part is written by hand and a part generated, each in its place.

A generated block stands between two comments:

    <!-- begin generated: claims -->
    <!-- end generated: claims -->

Only what stands between them is ever written; the rest is its authors'.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Collection, Mapping
from pathlib import Path

from limbeck.errors import InputError, LimbeckError, UsageError, choose
from limbeck.places import check_file, place_of
from limbeck.state import atomic

MARK = re.compile(r"^<!-- (begin|end) generated: (\S+) -->[ \t]*(?=\r?$)", re.MULTILINE)


def blocks_of(text: str, *, page: str | Path = "page") -> list[str]:
    """Names of the generated blocks of a page, each begun and ended once and none inside another."""
    names: list[str] = []
    opened = ""
    for mark in MARK.finditer(text):
        kind, name = mark.groups()
        line = text.count("\n", 0, mark.start()) + 1
        if kind == "end" and name == opened:
            opened = ""
        elif kind == "begin" and not opened and name not in names:
            names.append(name)
            opened = name
        else:
            wanted = f"the end of {opened!r}" if opened else "the beginning of a block that was not there before"
            raise InputError.at(
                page, line, f"must be {wanted}, got {kind} of {name!r}: mend the marks.", code="malformed"
            )
    if opened:
        raise InputError.at(
            page, None, f"every generated block must end, {opened!r} does not: mend the marks.", code="malformed"
        )
    return names


def fill(text: str, blocks: Mapping[str, str], *, page: str | Path = "page") -> str:
    """The text with its generated blocks written anew, and not a character changed outside them.

    >>> marks = "prose\\n<!-- begin generated: a -->\\nold\\n<!-- end generated: a -->\\nmore prose\\n"
    >>> print(fill(marks, {"a": "new"}), end="")
    prose
    <!-- begin generated: a -->
    <BLANKLINE>
    new
    <BLANKLINE>
    <!-- end generated: a -->
    more prose
    """
    blocks_of(text, page=page)
    parts: list[str] = []
    at = 0
    end = "\r\n" if "\r\n" in text else "\n"
    for mark in MARK.finditer(text):
        kind, name = mark.groups()
        if kind == "begin":
            written = f"\n\n{blocks[name].strip()}\n\n"
            parts += [text[at : mark.end()], written.replace("\n", end)]
        else:
            at = mark.start()
    return "".join([*parts, text[at:]])


def read_page(path: Path, known: Collection[str]) -> str:
    """A page whose blocks are all known; refused before anything dear is done for it."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait
            raise IsADirectoryError(errno.EISDIR, "it is no plain file")
        text = path.read_bytes().decode("utf-8")  # ends of lines as they are
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        raise InputError(
            f"{path}: --page must be a page that is there; {reason}: check the path.",
            code="not_found",
            parameter="page",
        ) from error
    names = blocks_of(text, page=path)
    if not names:
        raise InputError(
            f"{path}: must have a generated block; it has none: see docs/reproduce.md for the marks.",
            code="incomplete",
            parameter="page",
        )
    for name in names:
        try:
            choose(name, known, what=f"{path}: the name of a generated block")
        except UsageError as error:
            raise InputError(str(error), code=error.code) from None
    return text


def check_page(path: Path, known: Collection[str]) -> None:
    """Refuse a page that could not be read or written, or whose figures could not be put beside it."""
    read_page(path, known)
    check_file(path, option="--page")
    figures = path.parent / "figures"
    if figures.exists() and not (figures.is_dir() and os.access(figures, os.W_OK | os.X_OK)):
        raise LimbeckError(
            f"{figures}: figures of --page are written here, it must be a folder that is writable: move it away.",
            code="not_writable",
            parameter="page",
        )


def write_page(path: Path, blocks: Mapping[str, str]) -> None:
    """Write a page's generated blocks anew; `read_page` has found it in order."""
    text = read_page(path, blocks)
    filled = fill(text, blocks, page=path)
    if filled != text:
        place = place_of(path)  # of a link the file that it leads to
        mode = stat.S_IMODE(place.stat().st_mode)
        with atomic(place) as temporary:
            temporary.chmod(mode | stat.S_IWUSR)
            temporary.write_bytes(filled.encode("utf-8"))  # ends of lines as they are
        place.chmod(mode)
