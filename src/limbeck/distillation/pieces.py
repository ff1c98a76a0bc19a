"""What a teacher's tokenizer makes of single words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.alone import reads_pieces
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.protocol import Encoder

WORDS_AND_SIGNS = re.compile(r"\w+|[^\w\s]")


def pieces_of(aligner: Aligner, words: Sequence[str]) -> list[list[int]]:
    """The pieces of each word by itself, as they are where it follows another."""
    blank = " " if aligner.leading_blank else ""
    return [aligner.encode(blank + word) for word in words]


def unknown_words(encoder: Encoder | None, words: Sequence[str]) -> NDArray[np.bool_]:
    """(words,) whether the tokenizer makes nothing but the piece for what is unknown of each.

    No word is unknown to a teacher that spells, and of one that looks whole words up that is not asked.
    """
    found = np.zeros(len(words), dtype=bool)
    if (aligner := _aligner(encoder)) is not None:
        for number, pieces in enumerate(pieces_of(aligner, words)):
            found[number] = _unknown(aligner, pieces)
    return found


def split_words(encoder: Encoder | None, words: Sequence[str]) -> NDArray[np.bool_]:
    """(words,) whether the tokenizer cuts each up: it makes more pieces than there are words and signs in it.

    "New York" has two words, "well-known" two and a sign. One that is unknown to the teacher counts as cut up: it knows
    that least of all. No word is cut up for a teacher that spells or looks whole words up.
    """
    found = np.zeros(len(words), dtype=bool)
    if (aligner := _aligner(encoder)) is not None:
        for number, pieces in enumerate(pieces_of(aligner, words)):
            heard = sum(not aligner.silent[piece] for piece in pieces)
            found[number] = heard > len(WORDS_AND_SIGNS.findall(words[number])) or _unknown(aligner, pieces)
    return found


def cuts_words_up(encoder: Encoder | None) -> bool:
    """Whether there is a tokenizer that may make several pieces of a word."""
    return _aligner(encoder) is not None


def _unknown(aligner: Aligner, pieces: list[int]) -> bool:
    return aligner.unknown in pieces and not aligner.knows(np.array(pieces)).any()


def _aligner(encoder: Encoder | None) -> Aligner | None:
    if encoder is None or not reads_pieces(encoder):
        return None
    aligner: Aligner = encoder.prepare.aligner  # type: ignore[attr-defined]
    return aligner
