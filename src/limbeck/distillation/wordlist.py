"""Which words get a vector: those of the text, or those that a user names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.compression import open_bytes
from limbeck.corpus.vocabulary import Vocabulary, by_frequency
from limbeck.distillation.settings import DistillSettings
from limbeck.errors import InputError
from limbeck.stream.plan import Plan
from limbeck.strings import Strings

Ints = NDArray[np.int64]


class FoldedVocabulary(Vocabulary):
    """A vocabulary of lower-case words that knows a word in any case: the teacher reads Tea, it is counted as tea."""

    def ids(self, words: Sequence[str]) -> Ints:
        if isinstance(words, Strings):
            return super().ids(Strings([word.lower() for word in words.distinct], words.codes))
        return super().ids([word.lower() for word in words])


@dataclass(frozen=True)
class WordList:
    """The words that are to have a vector, and where the text's own vocabulary has them.

    words  all different, in the order of the result
    rows   (words,) number in the plan's vocabulary; −1 for a word that the text does not have
    shown  how many of them are in the result; the others, at the end, are there to be compared with
    """

    words: list[str]
    rows: Ints
    shown: int

    def within(self, vocabulary: Vocabulary) -> WordList:
        """The same words by their numbers in another vocabulary."""
        return replace(self, rows=vocabulary.ids(self.words))

    def first_of(self, vocabulary: Vocabulary) -> Ints:
        """(vocabulary,) the place in the list of each word of a vocabulary; of two spellings the first."""
        rows = vocabulary.ids(self.words)
        first = np.zeros(len(vocabulary), dtype=np.int64)
        first[rows[rows >= 0][::-1]] = np.flatnonzero(rows >= 0)[::-1]
        return first


def choose_words(
    plan: Plan,
    settings: DistillSettings,
    *,
    fold: bool,
    only: Iterable[str] | None = None,
    also: Iterable[str] = (),
    company: int = 0,
    to_fit_on: int = 0,
) -> tuple[Plan, WordList]:
    """The plan with the words to follow, of one that follows all; and the list of words that get a vector.

    The most frequent words of the text, or exactly those of `only`; and those of `also`. With `fold`, words that
    differ in case alone are one. A shorter list than `company` is filled up with the most frequent words, not shown;
    so is one of `only` that is shorter than `to_fit_on`, where the text lacks a word of it.
    Of a plan that this gave, it gives the same again.
    """
    whole = folded(plan.vocabulary) if fold else plan.vocabulary
    named = list(dict.fromkeys([*(only or ()), *also]))
    if only is None:
        enough = np.flatnonzero(whole.counts >= settings.min_count).tolist()
        own = [whole.words[row] for row in by_frequency(whole.words, whole.counts, enough)[: settings.max_words]]
        listed = list(dict.fromkeys([*own, *named]))
    else:
        listed = named
    shown = len(listed)
    if only is not None and (whole.ids(named) < 0).any():
        company = max(company, to_fit_on)
    if shown < company:
        others = by_frequency(whole.words, whole.counts, range(len(whole.words)))[: company + shown]
        listed = list(dict.fromkeys([*listed, *(whole.words[row] for row in others)]))[:company]
    chosen = following(replace(plan, vocabulary=whole), listed)
    return chosen, WordList(listed, chosen.vocabulary.ids(listed), shown)


def following(plan: Plan, words: Sequence[str]) -> Plan:
    """The plan with these words to follow, as far as it follows them already."""
    whole = plan.vocabulary
    known = np.unique(whole.ids(words))
    kept = by_frequency(whole.words, whole.counts, known[known >= 0].tolist())
    vocabulary = type(whole)([whole.words[row] for row in kept], whole.counts[kept], whole.contexts[kept])
    return replace(plan, vocabulary=vocabulary)


def folded(vocabulary: Vocabulary) -> FoldedVocabulary:
    """A vocabulary with words that differ in case alone put together.

    Contexts are added up too: nobody knows in how many texts both spellings stand.
    """
    if isinstance(vocabulary, FoldedVocabulary):
        return vocabulary
    ids: dict[str, int] = {}
    row = np.array([ids.setdefault(word.lower(), len(ids)) for word in vocabulary.words], dtype=np.int64)
    counts = np.bincount(row, weights=vocabulary.counts, minlength=len(ids)).astype(np.int64)
    contexts = np.bincount(row, weights=vocabulary.contexts, minlength=len(ids)).astype(np.int64)
    return FoldedVocabulary(list(ids), counts, contexts)


def unread(words: Iterable[str]) -> WordList:
    """Words without a text."""
    listed = list(dict.fromkeys(words))
    return WordList(listed, np.full(len(listed), -1, dtype=np.int64), len(listed))


def read_word_list(path: str | Path) -> list[str]:
    """Words from a text file, plain or compressed: one a line, several words ("New York") on one are one entry.

    Blanks around a word, empty lines and second mentions are left out.
    """
    path = Path(path).expanduser()
    if not path.exists() or path.is_dir():
        there = "a folder" if path.is_dir() else "nothing"
        raise InputError(
            f"{path}: a file of words is needed, one a line; {there} is there: check the path.",
            code="not_found",
            parameter="words",
        )
    try:
        with open_bytes(path) as stream:
            lines = stream.read().decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: words must be UTF-8 ({error.reason}): save the file as UTF-8.", code="not_utf8", parameter="words"
        ) from error
    words = list(dict.fromkeys(filter(None, (" ".join(line.split()) for line in lines))))
    if not words:
        raise InputError(
            f"{path}: a file of words is needed, one a line; the file has none.", code="empty", parameter="words"
        )
    return words
