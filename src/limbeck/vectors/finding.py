"""Words of a table in texts, in one way for `StaticVectors.sentences`, evaluation, and the folders that others load.

Words that the rules below would divide ("new york", "K-pop", "U.S.") are found in a text before it is divided, the
longest first; what stands between them is divided, and each piece is a word, whether the table has it or not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any, Literal, get_args

from limbeck.corpus.segment import check_language, splitter_for
from limbeck.errors import choose
from limbeck.extras import need

Case = Literal["either", "keep", "lower"]
Divide = Callable[[str], Sequence[str]]

#: Words as the corpus splitter finds them in English, as near as a pattern comes: n't and 's are words, cannot is two,
#: and so is each sign of punctuation, but for dots in a row.
WORDS = (
    r"\w+(?=(?i:n['’]t)(?!\w))|(?i:n['’]t)(?!\w)|['’](?i:s|re|ve|ll|d|m)(?!\w)|(?i:can(?=not(?!\w)))|\w+|\.\.+|[^\w\s]"
)
CANNOT = "cannot"  #: of all words of letters alone the one that the pattern divides


class Finder:
    """Divides texts into words of a table and words that it has not, as they are written in the text.

    words     of the table
    case      as `limbeck.vectors.sentences.spellings` has it: under which spellings a word may be found
    language  "en" divides by `WORDS`, others by spaCy's rules as a corpus is
    """

    def __init__(self, words: Iterable[str], *, case: Case = "either", language: str = "en") -> None:
        choose(case, get_args(Case), what="case")
        self._divide = divider_for(language)
        found = divided(words, self._divide)
        if case == "lower":  # nothing else is looked up
            found = [word for word in found if word == word.lower()]
        self._whole = whole_words(found, lower=case != "keep") if found else None

    def split(self, text: str) -> list[str]:
        """The words of a text."""
        if self._whole is None:
            return list(self._divide(text))
        found: list[str] = []
        encoded = self._whole.encode(text)
        for number, (start, end) in zip(encoded.ids, encoded.offsets, strict=True):
            found += [text[start:end]] if number else self._divide(text[start:end])
        return found


def whole_words(words: Sequence[str], *, lower: bool) -> Any:
    """A tokenizer that parts a text into these words, with ids above 0, and what stands between them, which is 0."""
    tokenizers = need("tokenizers", purpose="finding words in texts")
    made = tokenizers.Tokenizer(tokenizers.models.WordLevel({"": 0}, unk_token=""))
    if lower:
        made.normalizer = tokenizers.normalizers.Lowercase()
    made.add_tokens([tokenizers.AddedToken(word, **how_found(word, lower=lower)) for word in words])
    return made


def how_found(word: str, *, lower: bool) -> dict[str, bool]:
    """How a word is looked for before a text is divided; `lower`: one without capitals in the lower-cased text."""
    return {
        # a word inside another is none ("e-mail" in "the-mailer"), but signs may stand beside letters
        "single_word": any(letter.isalnum() for letter in word),
        "normalized": lower and word == word.lower(),
    }


def divided(words: Iterable[str], divide: Divide) -> list[str]:
    """The words that are not found as they are when a text is divided."""
    return [
        word
        for word in words
        # letters alone, by far the most words, are found as they are
        if word and (not word.isalpha() or word.lower() == CANNOT) and list(divide(word)) != [word]
    ]


@cache
def divider_for(language: str) -> Divide:
    """How a text of a language is divided into words."""
    if check_language(language) == "en":
        return by_pattern
    splitter = splitter_for(language)
    return lambda text: splitter.words(text)[0]


def by_pattern(text: str) -> list[str]:
    """Words by `WORDS`, as the tokenizer of a folder finds them."""
    if text.isascii() and text.replace("_", "x").isalnum() and text.lower() != CANNOT:
        return [text]  # of a word alone, as most of a table's are, known without the pattern
    return [piece for piece, _ in _pattern().pre_tokenize_str(text)]


@cache
def _pattern() -> Any:
    tokenizers = need("tokenizers", purpose="finding words in texts")
    return tokenizers.pre_tokenizers.Split(tokenizers.Regex(WORDS), behavior="removed", invert=True)
