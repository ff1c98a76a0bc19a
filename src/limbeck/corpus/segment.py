"""Prose to sentences and words: spaCy's rules for words, `boundaries` for sentences.

spaCy's rule-based tokenizer looks at one blank-separated piece of text at a time, and pieces repeat. So each
different piece is given to it once and its words are kept, which yields the same words several times faster than
whole documents do. What is kept is bounded, here and (by memory zones) inside spaCy.
"""

from __future__ import annotations

import importlib.util
import pkgutil
import threading
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from limbeck.corpus import boundaries
from limbeck.corpus.units import Sentence
from limbeck.errors import MissingExtra, UsageError, choose
from limbeck.extras import need

Tokens = tuple[str, ...]
#: pieces of text -> the words of each
Tokenize = Callable[[Sequence[str]], list[Tokens]]

KEPT_CHARACTERS = 1_500_000  #: in the pieces whose words are kept, twice: about 200,000 pieces
PIECE_CHARACTERS = 300  #: longer runs without a blank are cut: no word is so long, and spaCy needs time by the square
#: what spaCy needs beside itself for languages that its rules alone cannot divide
PACKAGES = {"ja": "sudachipy sudachidict-core", "th": "pythainlp", "vi": "pyvi", "zh": "jieba"}
WITHOUT_BLANKS = frozenset({"bo", "dz", "km", "lo", "my"})
NAMES = {
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it", "portuguese": "pt",
    "dutch": "nl", "russian": "ru", "polish": "pl", "turkish": "tr", "arabic": "ar", "hindi": "hi",
    "chinese": "zh", "japanese": "ja", "korean": "ko", "thai": "th", "finnish": "fi", "czech": "cs",
}  # fmt: skip


class Splitter:
    """Divides paragraphs into sentences of words, and remembers which words were written without a blank between.

    tokenize        words of each of several pieces of text
    abbreviations   pieces whose stop rarely ends a sentence, in lower case
    function_words  words that, capitalised, show that a sentence begins, in lower case
    ordinals        whether "3." can be a number word
    """

    def __init__(
        self,
        tokenize: Tokenize,
        *,
        abbreviations: frozenset[str] = frozenset(),
        function_words: frozenset[str] = frozenset(),
        ordinals: bool = False,
    ) -> None:
        self._tokenize = tokenize
        self._abbreviations = abbreviations
        self._function_words = function_words
        self._ordinals = ordinals
        self._known: dict[str, tuple[Tokens, int, int]] = {}  # piece -> its words, how it ends, how it begins
        self._older: dict[str, tuple[Tokens, int, int]] = {}  # those known before the last time there was no room
        self._room = KEPT_CHARACTERS
        self._turn = threading.Lock()  # neither what is kept nor spaCy's memory zones may be changed by two at a time

    def sentences(self, paragraph: str) -> list[tuple[Tokens, frozenset[int]]]:
        """The words of each sentence of a paragraph, and the indices of words that no blank follows."""
        with self._turn:
            if paragraph.isascii():
                return self._sentences(paragraph)
            parts = boundaries.STOPS_WITHOUT_BLANK.split(paragraph)  # text, stop, text, stop, ..., text
            found = []
            for text, stop in zip(parts[::2], [*parts[1::2], ""], strict=True):
                found += self._sentences(text + stop)
            return found

    def words(self, text: str) -> tuple[Tokens, frozenset[int]]:
        """The words of a text that is one sentence, whatever stops are in it."""
        words: list[str] = []
        glued: list[int] = []
        pieces = text.split()
        with self._turn:
            self._learn(pieces)
            known = [self._known[piece][0] for piece in pieces]
        for tokens in known:
            glued += range(len(words), len(words) + len(tokens) - 1)
            words += tokens
        return tuple(words), frozenset(glued)

    def _sentences(self, text: str) -> list[tuple[Tokens, frozenset[int]]]:
        pieces = text.split()
        self._learn(pieces)
        has_capitals = not text.islower()
        found: list[tuple[Tokens, frozenset[int]]] = []
        words: list[str] = []
        glued: list[int] = []
        before = boundaries.OPEN
        for tokens, end, start in map(self._known.__getitem__, pieces):
            if before:
                if start == boundaries.STRAIGHT_QUOTE:  # it closes if one is open, else it opens the next sentence
                    start = boundaries.CLOSING if words.count(tokens[0]) % 2 else boundaries.CAPITAL
                if start == boundaries.CLOSING:
                    end = before
                elif boundaries.divides(before, start, has_capitals=has_capitals):
                    found.append((tuple(words), frozenset(glued)))
                    words, glued = [], []
            if len(tokens) > 1:
                glued += range(len(words), len(words) + len(tokens) - 1)
            words += tokens
            before = end
        if words:
            found.append((tuple(words), frozenset(glued)))
        return found

    def _learn(self, pieces: list[str]) -> None:
        """See to it that all these pieces are known, and that not too many are kept."""
        if self._room < 0:
            self._older, self._known = self._known, {}  # what is met again soon is taken back from there
            self._room = KEPT_CHARACTERS
        known = self._known
        new = [piece for piece in pieces if piece not in known]
        if not new:
            return
        new = list(dict.fromkeys(new))
        self._room -= sum(map(len, new)) + 5 * len(new)
        older = self._older
        known.update((piece, older[piece]) for piece in new if piece in older)
        new = [piece for piece in new if piece not in known]
        if not new:
            return
        for piece, tokens in zip(new, self._tokenize(new), strict=True):
            end = boundaries.ending(piece, self._abbreviations, ordinals=self._ordinals)
            known[piece] = (tokens, end, boundaries.beginning(piece, self._function_words))


class SpacyTokenizer:
    """The words of pieces of text by a spaCy tokenizer whose memory does not grow."""

    def __init__(self, nlp: Any) -> None:
        self.nlp = nlp
        # the shape, stop-word flag and so on of each new word are half the work and are not used here
        nlp.vocab.lex_attr_getters = {}
        # spaCy's own tokenizer heeds blanks, those of Japanese, Thai and so on need not
        self._heeds_blanks = type(nlp.tokenizer).__module__ == "spacy.tokenizer"

    def __call__(self, pieces: Sequence[str]) -> list[Tokens]:
        with self.nlp.memory_zone():  # strings seen inside are forgotten at its end
            if self._heeds_blanks and max(map(len, pieces)) <= PIECE_CHARACTERS:
                found = self._together(" ".join(pieces))
                if len(found) == len(pieces):
                    return found
            return [tuple([t.text for part in _parts(piece) for t in self.nlp.tokenizer(part)]) for piece in pieces]

    def _together(self, text: str) -> list[Tokens]:
        """The words of blank-separated pieces: one call for all, since a call costs more than a word."""
        found: list[Tokens] = []
        words: list[str] = []
        for token in self.nlp.tokenizer(text):
            words.append(token.text)
            if token.whitespace_:
                found.append(tuple(words))
                words = []
        return [*found, tuple(words)]


def _parts(piece: str) -> list[str]:
    return [piece[at : at + PIECE_CHARACTERS] for at in range(0, len(piece), PIECE_CHARACTERS)]


def characters_of(word: str) -> Tokens:
    """The characters of a word as a reader counts them: marks, variation selectors and joiners stay with their base.

    >>> [len(character) for character in characters_of("e\\u0301a")]
    [2, 1]
    """
    if word.isascii():
        return tuple(word)
    found: list[str] = []
    for character in word:
        joined = found and found[-1].endswith("\u200d")
        if found and (joined or character == "\u200d" or unicodedata.category(character)[0] == "M"):
            found[-1] += character
        else:
            found.append(character)
    return tuple(found)


@cache
def splitter_for(language: str, *, characters: bool = False) -> Splitter:
    """The splitter of a language; with `characters` each character is a word (no spaCy needed).

    Threads share one: each block of a pass has a thread of its own, and would learn all words again.
    """
    return _character_splitter(language) if characters else _word_splitter(language)


def _character_splitter(language: str) -> Splitter:
    ordinals = language in boundaries.ORDINAL_LANGUAGES
    return Splitter(lambda pieces: [characters_of(piece) for piece in pieces], ordinals=ordinals)


def _word_splitter(language: str) -> Splitter:
    nlp = blank_pipeline(language)
    rules = getattr(nlp.tokenizer, "rules", None) or {}
    return Splitter(
        SpacyTokenizer(nlp),
        abbreviations=frozenset(rule.lower() for rule in rules if rule.endswith(".") and len(rule) > 2),
        function_words=frozenset(nlp.Defaults.stop_words),
        ordinals=nlp.lang in boundaries.ORDINAL_LANGUAGES,
    )


def blank_pipeline(language: str) -> Any:
    """spaCy's blank pipeline of a language, or one line that says what is missing."""
    spacy = need("spacy", purpose="dividing prose into words")
    code = check_language(language)
    config: dict[str, Any] = {}
    if code == "zh" and importlib.util.find_spec("jieba"):
        config = {"nlp": {"tokenizer": {"segmenter": "jieba"}}}
    elif code == "zh":  # spaCy would take characters for words without a word
        raise _missing(code)
    elif code == "ko":  # Korean is written with blanks: the plain rules do, without MeCab
        config = {"nlp": {"tokenizer": {"@tokenizers": "spacy.Tokenizer.v1"}}}
    try:
        return spacy.blank(code, config=config)
    except ImportError as error:
        raise _missing(code) from error


def code_of(language: str) -> str:
    """The code of a language, which need not be one that spaCy knows: "en-US" and "English" are "en"."""
    code = language.strip().lower().replace("_", "-").split("-")[0]
    return {"no": "nb", **NAMES}.get(code, code)


def check_language(language: str) -> str:
    """The code by which spaCy knows a language ("en-US" is "en"), or a UsageError with the nearest."""
    code = code_of(language)
    if code in WITHOUT_BLANKS:
        raise UsageError(
            f"Words of language {code!r} are not parted by blanks and spaCy cannot find them: give --units=characters.",
            code="unsupported",
            parameter="language",
        )
    lang = need("spacy.lang", purpose="dividing prose into words")
    known = sorted(module.name for module in pkgutil.iter_modules(lang.__path__) if module.ispkg)
    return choose(code, known, what="The language")


def _missing(code: str) -> MissingExtra:
    package = PACKAGES.get(code)
    install = f'pip install "limbeck[{code}]" ({package})' if package else "see spaCy's page on languages"
    return MissingExtra(
        f"Words of language {code!r} are not parted by blanks, and the package that divides them is not installed: "
        f"{install}, or give --units=characters.",
        code="not_installed",
    )


def split_paragraphs(paragraphs: Sequence[str], document: int, splitter: Splitter) -> list[Sentence]:
    """The sentences of a document's paragraphs. Paragraphs without words keep their number."""
    found: list[Sentence] = []
    for number, paragraph in enumerate(paragraphs):
        for words, glued in splitter.sentences(paragraph):
            found.append(Sentence(words, document, number, len(found), glued=glued))
    return found
