"""Whether a text is in the language whose rules divide it: by its script, and by its function words.

It is meant to notice what clearly does not fit, and to say nothing otherwise: a text of another script, and one whose
function words are plainly those of another language. Function words are spaCy's lists of stop words, whose letters tell
a language's script as well. A list of words, a short text or a language without a list raises no warning.
"""

from __future__ import annotations

import importlib.util
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from limbeck.corpus.segment import WITHOUT_BLANKS, code_of

LEAST_LETTERS = 60  #: of a text whose script is judged
LEAST_WORDS = 40  #: of a text whose function words are counted
LEAST_KNOWN = 50  #: function words of a language that are enough to say that a text has few of them
FOREIGN = 0.5  #: the share of letters of other scripts from which on a text does not fit
PLAIN = 0.3  #: the share of its own function words from which on a text fits whatever else is in it: English has 0.4
EVIDENCE = 0.12  #: the least share of words that are function words of another language and not of its own
TIMES = 3  #: as many times more than of those that are function words of its own and not of the other
#: languages with as large a share of the best one's function words cannot be told apart: Indonesian, Malay
ALIKE = 0.95
AHEAD = 1.9  #: the best language has so many times the function words of the next, or
EVEN = 8  #: its function words occur as if so many were equally frequent: then it is the one
KINDS = 8  #: the least number of different ones: "de la" in a list of names is not Spanish
HELD = 0.5  #: the share of a language's function words that a list of its words has
LONG_WORD = 10  #: mean letters of a "word" that show that a script without blanks was not divided into words

NEXT_TO_NONE = 0.04  #: a share of function words that prose of the language does not have
RUNNING = 0.8  #: the share of words in sentences from which on a text is prose
SHORTEST, LONGEST = 6, 80  #: words of a sentence
SENTENCE_END = re.compile(r"(?<=[.!?…])\s+")
#: a sentence of letters: what has digits, brackets or signs in it is none
SENTENCE = re.compile(r"(?:[^\W\d_]|[\s,;:'’\-–—\"“”«»])+[.!?…]+")
#: languages whose prose has function words, which are words by themselves, in every sentence
SEPARATE = ("da", "de", "en", "es", "fr", "it", "nb", "nl", "pt", "sv")

#: scripts that are written without blanks between words, and the language that each is a sign of
UNDIVIDED = {"HAN": "zh", "KANA": "ja", "THAI": "th", "LAO": "lo", "KHMER": "km", "MYANMAR": "my", "TIBETAN": "bo"}
#: scripts that a language's list of function words has little or nothing of
ALSO = {"ja": ("HAN",), "sr": ("LATIN",)}
SCRIPTS = {"HAN": "Chinese characters", "KANA": "kana"}  #: what others are called: "of the Thai script"
CLASS = re.compile(r"^class (\w+)\(Language\):", re.MULTILINE)
LETTERS = re.compile(r"LETTER|SYLLABLE|SYLLABICS|IDEOGRAPH|THAI CHARACTER")
#: what parts words: blanks, digits, ASCII, Latin-1 and general punctuation, that of CJK, Indic, Arabic and others
APART = re.compile(
    r"[\s\d_!-/:-@\[-`{-\xbf\u2000-\u206f\u3000-\u3004\u3008-\u301f\uff00-\uff0f\uff1a-\uff20\u0964\u0965\u060c\u061b"
    r"\u061f\u06d4\u0589\u055c-\u055e\u05be\u05f3\u05f4\u1361-\u1368\u0f0b-\u0f0d]+"
)


@dataclass(frozen=True)
class Fit:
    """Whether a text is in the language it is read by.

    language  by code, as spaCy knows it
    why       what shows that it is in another one; "" where nothing does
    looks     the languages, by code, that it looks like, where that is clear
    """

    language: str
    why: str = ""
    looks: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return not self.why


def fit_of(texts: Iterable[str], language: str) -> Fit:
    """Whether a sample of a text is in a language, by name or code."""
    code = code_of(language)
    text = unicodedata.normalize("NFC", "\n".join(texts)).lower()
    letters, words = scripts_in(text), Counter(words_in(text))
    written, total = scripts_of(code), letters.total()
    if not written or total < LEAST_LETTERS:
        return Fit(code)
    script = max(letters, key=letters.__getitem__)
    if sum(letters[own] for own in written) <= (1 - FOREIGN) * total:
        foreign = max(letters.keys() - written, key=letters.__getitem__)
        named = SCRIPTS.get(foreign, f"of the {foreign.capitalize()} script")
        return Fit(
            code, f"{letters[foreign] / total:.0%} of its letters are {named}", of_script(foreign, letters, words)
        )
    if code in ("ja", "zh") and code not in (found := of_script(script, letters, words)) and script in ("HAN", "KANA"):
        return Fit(code, f"{letters['KANA'] / total:.0%} of its letters are kana", found)
    fit = by_function_words(code, words, script)
    return without_function_words(code, words, text) if fit else fit


def fit_of_list(words: Iterable[str], language: str) -> Fit:
    """As `fit_of`, of a list of words, in which each function word stands once: by how many of them there are."""
    listed_words = list(words)
    fit = fit_of(listed_words, language)
    there = frozenset(words_in("\n".join(listed_words).lower()))
    held = {code: len(known & there) / len(known) for code in languages_of("LATIN") if (known := function_words(code))}
    best = max(held, key=held.__getitem__, default="")
    if not fit or fit.language not in held or held[best] < HELD or held[fit.language] > HELD / 2:
        return fit
    why = f"{held[best]:.0%} of the function words of {name_of(best)} are in it, {held[fit.language]:.0%} of those of "
    return Fit(fit.language, why + name_of(fit.language), tuple(code for code in held if held[code] == held[best]))


def by_function_words(code: str, words: Mapping[str, int], script: str) -> Fit:
    """Whether a text has function words of its own language rather than of another."""
    words = {word: number for word, number in words.items() if len(word) > 1}  # one letter is a word in many languages
    own = function_words(code)
    mine = share_of(own, words)
    if sum(words.values()) < LEAST_WORDS or len(own) < LEAST_KNOWN or mine >= PLAIN:
        return Fit(code)
    others = {other: share_of(function_words(other), words) for other in languages_of(script) if other != code}
    if not others:
        return Fit(code)
    best = max(others, key=others.__getitem__)
    seen = [words[word] for word in (function_words(best) - own) & words.keys()]
    evidence = sum(seen) / sum(words.values())
    if len(seen) < KINDS or evidence < EVIDENCE or evidence < TIMES * share_of(own - function_words(best), words):
        return Fit(code)
    looks = [other for other in others if others[other] >= ALIKE * others[best]]
    next_best = max((others[other] for other in others if other not in looks), default=0.0)
    # a few frequent syllables that happen to be words elsewhere say what the language is not, not what it is
    if sum(seen) ** 2 >= EVEN * sum(n * n for n in seen) or others[best] >= AHEAD * next_best:
        why = f"{others[best]:.0%} of its words are function words of {listed(looks)}, {mine:.0%} of {name_of(code)}"
        return Fit(code, why, tuple(looks))
    return Fit(code, f"only {mine:.0%} of its words are function words of {name_of(code)}")


def without_function_words(code: str, words: Mapping[str, int], text: str) -> Fit:
    """Whether running text has next to no function words of its language, whatever other language it may be in.

    Lists, tables and code have few of them too, and are left alone: most words must stand in sentences.
    """
    own, longer = function_words(code), {word: number for word, number in words.items() if len(word) > 1}
    mine, total = share_of(own, longer), sum(longer.values())
    if code not in SEPARATE or total < LEAST_WORDS or mine > NEXT_TO_NONE:
        return Fit(code)
    sentences = [part.split() for part in SENTENCE_END.split(text) if SENTENCE.fullmatch(part)]
    prose = sum(len(one) for one in sentences if SHORTEST <= len(one) <= LONGEST)
    if len(sentences) < 2 or prose < RUNNING * len(text.split()):
        return Fit(code)
    return Fit(code, f"only {mine:.0%} of its words are function words of {name_of(code)}")


def of_script(script: str, letters: Mapping[str, int], words: Mapping[str, int]) -> tuple[str, ...]:
    """The languages that a text in a script looks like; none where that is not clear."""
    if script in ("HAN", "KANA"):
        return ("ja",) if letters.get("KANA", 0) * 10 >= letters.get("HAN", 0) else ("zh",)
    if script in UNDIVIDED:
        return (UNDIVIDED[script],)
    shares = {code: share_of(function_words(code), words) for code in languages_of(script)}
    if len(shares) < 2:
        return tuple(shares)
    first, second = sorted(shares.values(), reverse=True)[:2]
    return tuple(code for code in shares if shares[code] == first) if first >= max(0.05, 1.2 * second) else ()


def warning_of(fit: Fit, *, by_rules: bool) -> str:
    """What to tell of a text, in a line; `by_rules`: the language's rules divide it into words. "" where it fits."""
    if fit:
        return ""
    purpose = ", by whose rules it is divided into words" if by_rules else ", as --language says"
    return f"the text does not look like {name_of(fit.language)}{purpose}: {fit.why}: {remedy(fit.looks)}."


def remedy(looks: Iterable[str]) -> str:
    """What to give for a text that looks like these languages."""
    codes = set(looks)
    if not codes:
        return "give the --language that it is in, or xx for rules of none"
    if codes <= WITHOUT_BLANKS:
        return "give --units characters"
    choice = " or ".join(f"--language {code}" for code in sorted(codes - WITHOUT_BLANKS))
    return f"give {choice}{', or --units characters' if codes & set(UNDIVIDED.values()) else ''}"


def undivided(texts: Iterable[str]) -> str:
    """What to tell of a text that should be divided into words and never was, in a line; "" where it is."""
    words = " ".join(texts).split()
    letters = scripts_in("".join(words))
    script = max(letters, key=letters.__getitem__, default="")
    mean = letters.total() / max(1, len(words))
    if script not in UNDIVIDED or letters[script] < max(LEAST_LETTERS, FOREIGN * letters.total()) or mean < LONG_WORD:
        return ""
    choice = remedy(of_script(script, letters, {})).removeprefix("give ")
    return (
        f"the text should have blanks between words, its words have {mean:.0f} letters on average: give --format prose "
        f"and {choice}."
    )


def share_of(known: frozenset[str], words: Mapping[str, int]) -> float:
    """The share of words that are known."""
    return sum(words[word] for word in known & words.keys()) / max(1, sum(words.values()))


def words_in(text: str) -> Iterator[str]:
    """The words of a text in lower case, parted where any language parts them ("don", "t")."""
    return filter(None, APART.split(text))


def scripts_in(text: str) -> Counter[str]:
    """How many letters of each script a text has."""
    found: Counter[str] = Counter()
    for character, number in Counter(text).items():
        if script := script_of(character):
            found[script] += number
    return found


@cache
def script_of(character: str) -> str:
    """The script of a letter, as its name in Unicode begins; "" of what is no letter of a script."""
    name = unicodedata.name(character, "")
    if not character.isalpha() or not LETTERS.search(name) or name.startswith(("MODIFIER", "FULLWIDTH", "HALFWIDTH")):
        return ""
    first = re.split("[ -]", name, maxsplit=1)[0]
    return {"CJK": "HAN", "HIRAGANA": "KANA", "KATAKANA": "KANA"}.get(first, first)


@cache
def function_words(code: str) -> frozenset[str]:
    """spaCy's stop words of a language, each part of those of several ("l'" and so on); none where there is no list."""
    # the file by itself: importing the languages' packages takes seconds, for what is not needed here
    path = _folder() / code / "stop_words.py"
    spec = importlib.util.spec_from_file_location(f"limbeck_stop_words_{code}", path) if path.is_file() else None
    if spec is None or spec.loader is None:
        return frozenset()
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return frozenset(part for word in module.STOP_WORDS for part in words_in(word.lower()))


@cache
def scripts_of(code: str) -> frozenset[str]:
    """The scripts that a language is written in; none where that is not known."""
    found = scripts_in("".join(function_words(code)))
    return frozenset(script for script in found if found[script] >= 0.1 * found.total()) | frozenset(ALSO.get(code, ()))


@cache
def languages_of(script: str) -> tuple[str, ...]:
    """The languages with a list of function words that are written in a script."""
    codes = sorted(path.parent.name for path in _folder().glob("*/stop_words.py"))
    return tuple(code for code in codes if script in scripts_of(code))


def listed(codes: Iterable[str]) -> str:
    """Languages by name: "Indonesian (id) or Malay (ms)"."""
    return " or ".join(map(name_of, codes))


@cache
def name_of(code: str) -> str:
    """The name of a language and its code, as spaCy has them: "German (de)"."""
    path = _folder() / code / "__init__.py"
    found = CLASS.search(path.read_text(encoding="utf-8")) if path.is_file() else None
    return f"{re.sub('(?<=[a-z])(?=[A-Z])', ' ', found[1])} ({code})" if found else f"language {code!r}"


@cache
def _folder() -> Path:
    """Where spaCy keeps its languages; without spaCy a folder that holds none."""
    found = importlib.util.find_spec("spacy")
    places = found.submodule_search_locations if found else None
    return Path(places[0] if places else "no spaCy") / "lang"
