"""Words without a vector: why, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

NO_VECTOR = "no vector for the word"
UNKNOWN = "the teacher's tokenizer knows no piece of the word"  #: to the teacher all such words are the same one
NAMED = 5  #: words of a kind that are named, the first; all are counted
LONGEST = 30  #: letters of such a word that are shown


def lacking(words: Sequence[str], unknown: NDArray[np.bool_]) -> dict[str, Any]:
    """What run.json says of the words without a vector: reason -> how many, and reason -> the first of them."""
    kinds = {UNKNOWN: list(compress(words, unknown)), NO_VECTOR: list(compress(words, ~unknown))}
    kinds = {reason: some for reason, some in kinds.items() if some}
    return {
        "left_out": {reason: len(some) for reason, some in kinds.items()},
        "left_out_words": {reason: some[:NAMED] for reason, some in kinds.items()},
    }


def lacking_told(about: Mapping[str, Any]) -> str:
    """The same for a person, behind how many they are; "" where there are none.

    >>> lacking_told(lacking(["a", "b", "c"], np.array([False, True, True])))
    ": b, c (the teacher's tokenizer knows no piece of the word); a"
    """
    told = []
    for reason, first in about["left_out_words"].items():
        others = about["left_out"][reason] - len(first)
        names = ", ".join(map(shown, first))
        names += f" and {others:,} other{'s' if others > 1 else ''}" if others else ""
        told.append(names if reason == NO_VECTOR else f"{names} ({reason})")
    return ": " + "; ".join(told) if told else ""


def shown(word: str) -> str:
    """A word as it can stand in a line, however long or invisible it is.

    >>> shown("tea"), shown("a" * 400), shown("\\u200b")
    ('tea', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…', "'\\\\u200b'")
    """
    word = " ".join(word.split())
    if not any(letter.isprintable() for letter in word):
        return ascii(word)
    return word if len(word) <= LONGEST else word[:LONGEST] + "…"
