"""Where sentences end: a few rules on how one blank-separated piece of text ends and the next begins.

The rules see pieces, not words, so that their verdict on a piece can be kept with its words (`segment`).
A stop, bare or before closing quotes and brackets, ends a sentence unless

- the next piece begins in lower case ("Yahoo! is", '"Why?" he asked'), in text that has capitals at all;
- the piece is a title or the like ("Dr.", "vs.", "e.g."), or comes before a number ("No. 5", "p. 12");
- the piece is an initial or another abbreviation ("J.", "U.S.", "Inc."), or in some languages an ordinal
  ("3."), and the next piece is not a capitalised function word ("The", "In").
"""

from __future__ import annotations

import re
from collections.abc import Container

# How a piece ends.
OPEN, STOP, ABBREVIATION, TITLE, BEFORE_NUMBER = range(5)
# How a piece begins.
LOWER, CAPITAL, FUNCTION_WORD, NUMBER, LETTER, CLOSING, STRAIGHT_QUOTE, SIGN = range(8)

OPENERS = "\"'([{«‹“‘„‚¿¡「『（【《〈*_`-–—"
CLOSERS = "\"')]}»›”’“‘」』）】》〉*_"
STOPS = ".!?…‽؟۔।॥։።܀꓿。！？｡"
#: stops after which no blank is written: text is divided there before anything else
STOPS_WITHOUT_BLANK = re.compile(r"([。！？｡]+[」』）】》〉”’\"')]*)")

DOTTED = re.compile(r"(?:[^\W\d_][.])+")  # "J.", "U.S.", "a.m."
ORDINAL = re.compile(r"\d{1,2}[.]")
ORDINAL_LANGUAGES = frozenset("cs da de dsb et fi fo hr hsb hu is lb lv nb nn no sk sl sr tr".split())
TITLES = frozenset(
    """mr mrs ms messrs mme mlle dr drs prof st ste sr sra gen col lt cpt capt cmdr adm maj sgt cpl pvt rev hon gov sen
    rep pres supt fr mt ft bros vs e.g i.e eg ie cf viz approx ca resp incl esp z.b d.h u.a bzw""".split()
)
BEFORE_NUMBERS = frozenset("no nos nr n° p pp vol vols fig figs sec ch eq op art bd s ss abb".split())

_NEVER = frozenset[int]()
_STOP = frozenset({CAPITAL, FUNCTION_WORD, NUMBER, LETTER, SIGN})
_DIVIDES = {
    STOP: _STOP,
    ABBREVIATION: frozenset({FUNCTION_WORD}),
    TITLE: _NEVER,
    BEFORE_NUMBER: _STOP - {NUMBER},
}


def divides(end: int, start: int, *, has_capitals: bool) -> bool:
    """Whether a sentence ends between a piece that ends so and one that begins so."""
    if start == LOWER and not has_capitals:
        start = CAPITAL
    return start in _DIVIDES.get(end, _NEVER)


def ending(piece: str, abbreviations: Container[str], *, ordinals: bool = False) -> int:
    """How a piece of text ends. `abbreviations` are written with their stop, in lower case: "inc."."""
    core = piece.rstrip(CLOSERS)
    if not core or core[-1] not in STOPS:
        return OPEN
    if core[-1] != ".":
        return STOP
    core = core.lstrip(OPENERS)
    bare = core[:-1].lower()
    if bare in TITLES:
        return TITLE
    if bare in BEFORE_NUMBERS:
        return BEFORE_NUMBER
    if DOTTED.fullmatch(core) or core.lower() in abbreviations or (ordinals and ORDINAL.fullmatch(core)):
        return ABBREVIATION
    return STOP


def beginning(piece: str, function_words: Container[str]) -> int:
    """How a piece of text begins, opening quotes and brackets apart."""
    core = piece.lstrip(OPENERS)
    first = core[:1]
    if not first:
        return STRAIGHT_QUOTE if piece in ('"', "'") else CLOSING if not piece.strip(CLOSERS) else SIGN
    if first.isalpha():
        if first.islower():
            return LOWER
        word = core.rstrip(CLOSERS + ",;:")
        if word.lower() in function_words or re.split(r"['’]", word)[0].lower() in function_words:
            return FUNCTION_WORD
        return CAPITAL if first.isupper() else LETTER
    if first.isnumeric():
        return NUMBER
    return CLOSING if not core.strip(CLOSERS + STOPS) else SIGN
