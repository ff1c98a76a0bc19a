"""Numbers as text files write them: Python's own `float` and `int` read 1_0 as 10, and digits of every script."""

from __future__ import annotations

import re

NUMBER = re.compile(r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:nan|inf|infinity))")


def number_of(text: str) -> float | None:
    """The decimal number that a text is, NaN and infinities too; None where it is something else.

    >>> number_of(" -1.5e3 "), number_of("1_0"), number_of("0x10")
    (-1500.0, None, None)
    """
    text = text.strip()
    return float(text) if NUMBER.fullmatch(text) else None


def count_of(text: str) -> int | None:
    """The whole number from 0 on that a text is, in digits alone; None where it is something else.

    >>> count_of("10"), count_of("1_0"), count_of("-1")
    (10, None, None)
    """
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
