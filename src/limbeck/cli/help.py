"""--help in windows of any width: prose is filled anew where it does not fit, commands stay whole to be copied."""

from __future__ import annotations

import argparse
import re
import textwrap

ROW = re.compile(r"(?P<name> *\S+(?: \S+)*)(?P<gap> {2,})(?P<rest>\S.*)")  #: a name, and behind a gap what it is
LEAST = 20  #: columns that are left for what a name is; below its name there are more


class Help(argparse.RawDescriptionHelpFormatter):
    """Texts as they were written where the window is wide enough, filled where it is not."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = text.splitlines()
        return "\n".join(lines if max(map(len, lines), default=0) <= width else filled(lines, width))


def filled(lines: list[str], width: int) -> list[str]:
    """Lines that fit, as far as they may be broken.

    >>> filled(["It is one", "sentence.", "  limbeck do this and that", "  name  what it is", "        called"], 20)
    ['It is one sentence.', '  limbeck do this and that', '  name', '      what it is', '      called']
    """
    found: list[str] = []
    for line in joined(lines):
        row = ROW.fullmatch(line)
        if row and row["rest"].startswith("#"):  # of a file, with a remark
            found.append(line)
        elif row and width - row.end("gap") < LEAST:
            found += [row["name"], *broken(row["rest"], width, "      ", "      ")]
        elif row:
            found += broken(row["rest"], width, row["name"] + row["gap"], " " * row.end("gap"))
        elif is_command(line):
            found.append(line)
        else:
            blanks = " " * (len(line) - len(line.lstrip()))
            found += broken(line.lstrip(), width, blanks, blanks)
    return found


def joined(lines: list[str]) -> list[str]:
    """A paragraph a line, and a row of two columns a line."""
    found: list[str] = []
    column: int | None = None  # where what is said goes on in the next line: 0 for prose
    for line in lines:
        row = ROW.fullmatch(line)
        blanks = len(line) - len(line.lstrip())
        if line and not row and blanks == column:
            found[-1] += f" {line.lstrip()}"
            continue
        found.append(line)
        column = row.start("rest") if row else None if blanks or not line else 0
    return found


def is_command(line: str) -> bool:
    """One to be copied, or a part of one."""
    return line.startswith(" ") and re.search(r"\blimbeck\b|\\$| --", line) is not None


def broken(text: str, width: int, first: str, others: str) -> list[str]:
    lines = textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=others, break_long_words=False, break_on_hyphens=False
    )
    return lines or [""]
