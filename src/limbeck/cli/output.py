"""What commands print: tables that fit the window, and with --json one object in the place of all of it."""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDE = 120  #: columns where nobody says how wide the window is, as in a file or a pipe
SECOND_KEYS = ("layer", "target", "column")  #: second columns that say, with the first, what a row is of
LONGEST_WORD = 30  #: a longer one, a path say, may be broken
NAMES = ("layer",)  #: columns of names, whatever they look like: beside layer 0 there is the layer "table"
NUMBER = re.compile(r"[-+]?\d+(?:,\d{3})*(?P<broken>\.\d+)?(?P<power>e[-+]?\d+)?")
NOTHING = ("", "-", "nan", "inf", "-inf")  #: what stands in the place of a number

_told: dict[str, Any] | None = None  #: what the command in progress has told for --json; None without it


def tell(**facts: Any) -> None:
    """Say facts of the result for --json. Without it nothing happens."""
    if _told is not None:
        _told.update(facts)


def add(name: str, fact: Any) -> None:
    """Say one more of several facts of a kind, such as a run."""
    if _told is not None:
        _told.setdefault(name, []).append(fact)


@contextmanager
def recorded(wanted: bool) -> Iterator[dict[str, Any]]:
    """While a command runs: with --json nothing goes to standard output, and what is told and printed is kept."""
    global _told
    if not wanted:
        yield {}
        return
    before, printed = _told, io.StringIO()
    told: dict[str, Any] = {}
    _told = told
    try:
        with contextlib.redirect_stdout(printed):
            yield told
    finally:
        _told = before
        lines = [line for line in printed.getvalue().splitlines() if line.strip()]
        if lines:
            told["lines"] = lines


@contextmanager
def silenced(wanted: bool) -> Iterator[None]:
    """While a command runs: with --quiet, where its result is in files, nothing goes to standard output."""
    with contextlib.redirect_stdout(io.StringIO()) if wanted else contextlib.nullcontext():
        yield


def as_json(facts: dict[str, Any]) -> str:
    """One object, as every JSON reader takes it: NaN and infinity are null, paths and the like are text."""
    plain = _plain(facts)
    text = json.dumps(plain, indent=2, ensure_ascii=False, allow_nan=False)
    try:
        text.encode(getattr(sys.stdout, "encoding", None) or "ascii")
    except UnicodeEncodeError:  # a terminal of another time, or a file name that is no text
        text = json.dumps(plain, indent=2, allow_nan=False)
    return text


def console() -> Console:
    """Where summaries go: as wide as the window, without colour where NO_COLOR says so or nobody is looking."""
    from rich.console import Console
    from rich.table import Table

    class Fitting(Console):
        """Divides a table that is too wide for the window, and keeps tables for --json."""

        def print(self, *objects: Any, **keywords: Any) -> None:
            for thing in objects or ("",):
                if isinstance(thing, Table) and _told is not None:
                    _told.setdefault("tables", []).append(table_facts(thing))
                elif isinstance(thing, Table):
                    for part in fitted(thing, self.width):
                        super().print(part, **keywords)
                elif isinstance(thing, str) and keywords.get("soft_wrap"):
                    super().print(wrapped(thing), **keywords)
                else:
                    super().print(thing, **keywords)

    return Fitting(width=width())


def say(*things: Table | str) -> None:
    """Print tables and lines as they are: nothing in them is markup, and a line is broken between words alone."""
    to = console()
    for one in things:
        if isinstance(one, str):
            to.print(one, markup=False, highlight=False, soft_wrap=True)
        else:
            to.print(one, markup=False)


def window() -> int | None:
    """Columns of the window, which COLUMNS says too; None of a file or a pipe."""
    seen = sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit()
    return shutil.get_terminal_size((WIDE, 24)).columns if seen else None


def width() -> int:
    """Columns of the window, of a file or a pipe 120."""
    return window() or WIDE


def wrapped(line: str, *, indent: str = "", columns: int | None = None) -> str:
    """A line as several that fit the window, all but the first after `indent`; in a file or a pipe it stays whole.

    It is broken between words alone, so that a path can be copied, and "95 %" is one word. `columns` says how wide the
    window is whatever there is.

    >>> wrapped("a mean of 95 % of all", columns=13)
    'a mean of\\n95 % of all'
    """
    columns = columns or window()
    if columns is None or len(line) <= columns:
        return line
    one_word = re.sub(r"(?<=\d) (?=%)", "\0", line)
    filled = textwrap.fill(
        one_word, columns, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip
    return filled.replace("\0", " ")


def fitted(table: Table, most: int) -> list[Table]:
    """The table, or where it is too wide several, each with the columns that say what a row is of."""
    needs = [least_width(table, place) + 3 for place in range(len(table.columns))]  # cell, padding, border
    if sum(needs) + 1 <= most or len(needs) < 3:
        return [table]
    groups: list[list[int]] = [[]]
    keys = 2 if str(table.columns[1].header) in SECOND_KEYS else 1
    room = most - sum(needs[:keys]) - 1
    for place in range(keys, len(needs)):
        if groups[-1] and sum(needs[p] for p in groups[-1]) + needs[place] > room:
            groups.append([])
        groups[-1].append(place)
    parts = []
    for number, group in enumerate(groups):
        part = copy(table)
        part.columns = [copy(table.columns[place]) for place in (*range(keys), *group)]
        for place, column in enumerate(part.columns):
            column._index = place
        if number:
            part.title = None
        if number < len(groups) - 1:
            part.caption = None
        parts.append(part)
    return parts


def least_width(table: Table, place: int) -> int:
    """Of a column that can still be read: numbers whole, of text and of headings the longest word."""
    from rich.cells import cell_len

    column = table.columns[place]
    cells = [str(cell) for cell in column._cells]
    words = [
        word for text in [str(column.header), *(cells if column.justify == "left" else [])] for word in text.split()
    ]
    whole = [] if column.justify == "left" else cells
    longest = max((min(cell_len(word), LONGEST_WORD) for word in words), default=1)
    return max([longest, *(cell_len(cell) for cell in whole)])


def table_facts(table: Table) -> dict[str, Any]:
    """A printed table for a program: its title and rows by column, numbers as numbers where a column is of numbers."""
    names = [str(column.header) for column in table.columns]
    cells = [
        [value_of(str(cell), numeric=column.justify == "right" and name not in NAMES) for cell in column._cells]
        for name, column in zip(names, table.columns, strict=True)
    ]
    found: dict[str, Any] = {"title": str(table.title)} if table.title else {}
    return {**found, "rows": [dict(zip(names, row, strict=True)) for row in zip(*cells, strict=True)]}


def value_of(cell: str, *, numeric: bool) -> Any:
    """A cell as a program wants it: text as it is, and in a column of numbers a number, or None for none.

    >>> value_of("1,234", numeric=True), value_of("+0.5", numeric=True), value_of("nan", numeric=True)
    (1234, 0.5, None)
    >>> value_of("nan", numeric=False), value_of("0.1 – 0.2", numeric=True)
    ('nan', '0.1 – 0.2')
    """
    text = cell.strip()
    if not numeric:
        return cell
    if text in NOTHING:
        return None
    if not (match := NUMBER.fullmatch(text)):
        return text
    plain = text.replace(",", "")
    return float(plain) if match["broken"] or match["power"] else int(plain)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one) for one in value]
    if hasattr(value, "tolist"):  # numpy
        return _plain(value.tolist())
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, bool | int | str):
        return value
    return str(value) if isinstance(value, Path) or not hasattr(value, "__dict__") else _plain(vars(value))
