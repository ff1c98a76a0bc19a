"""The words of a corpus with their numbers, and how often and in how many contexts each occurs."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limbeck.strings import Strings, join_words, pack, part_words, unpack

Int64 = NDArray[np.int64]


class Vocabulary:
    """Words numbered from 0 in the order given.

    counts    occurrences of each word
    contexts  number of different texts in which each word occurs

    >>> vocabulary = Vocabulary(["the", "limbeck"], counts=[7, 2], contexts=[3, 2])
    >>> vocabulary.ids(["limbeck", "boils", "the"])
    array([ 1, -1,  0])
    """

    def __init__(self, words: Sequence[str], counts: ArrayLike, contexts: ArrayLike) -> None:
        self.words: list[str] = list(words)
        self.counts: Int64 = np.asarray(counts, dtype=np.int64)  # (words,)
        self.contexts: Int64 = np.asarray(contexts, dtype=np.int64)  # (words,)
        self._ids = {word: number for number, word in enumerate(self.words)}
        size = len(self.words)
        if self.counts.shape != (size,) or self.contexts.shape != (size,):
            raise ValueError(
                f"a vocabulary of {size} words needs as many counts and contexts, "
                f"got shapes {self.counts.shape} and {self.contexts.shape}"
            )
        if len(self._ids) != size:
            raise ValueError(f"the words of a vocabulary must differ, got {size - len(self._ids)} twice")

    def __len__(self) -> int:
        return len(self.words)

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __contains__(self, word: object) -> bool:
        return word in self._ids

    def ids(self, words: Sequence[str]) -> Int64:
        """The number of each word, -1 for those that are not in the vocabulary."""
        get = self._ids.get
        if isinstance(words, Strings) and len(words.distinct) < len(words):
            of_distinct = np.array([get(word, -1) for word in words.distinct], dtype=np.int64)
            return of_distinct[words.codes]
        return np.fromiter((get(word, -1) for word in words), dtype=np.int64, count=len(words))

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (type(self), join_words(self.words), self.counts, self.contexts)

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Plain arrays for saving: the words as UTF-8 bytes, one behind the other, and where each begins and ends."""
        data, offsets = pack(self.words)
        return {"word_bytes": data, "word_offsets": offsets, "counts": self.counts, "contexts": self.contexts}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> Vocabulary:
        """The vocabulary that `to_arrays` wrote."""
        words = unpack(arrays["word_bytes"], arrays["word_offsets"], "vocabulary")
        return cls(words, arrays["counts"], arrays["contexts"])


def _arrived(kind: type[Vocabulary], words: str | list[str], counts: Int64, contexts: Int64) -> Vocabulary:
    return kind(part_words(words), counts, contexts)


def by_frequency(words: Sequence[str], counts: Int64, rows: Sequence[int]) -> list[int]:
    """Rows with the most frequent words first, ties by spelling, whatever the order they came in.

    >>> by_frequency(["tea", "the", "a"], np.array([2, 9, 2]), [0, 1, 2])
    [1, 2, 0]
    """
    spelled = np.array(sorted(rows, key=words.__getitem__), dtype=np.int64)
    ordered: list[int] = spelled[np.argsort(-counts[spelled], kind="stable")].tolist()
    return ordered


def punctuation_only(word: str) -> bool:
    """Whether a word is made of punctuation and symbols alone (Unicode categories P and S): "--", "$", "😀".

    False for the empty word.
    """
    return bool(word) and all(unicodedata.category(character)[0] in "PS" for character in word)
