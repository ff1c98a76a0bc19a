"""Vectors of texts from vectors of words: the plain mean, and SIF (Arora, Liang & Ma 2017).

SIF is the mean of a word's vector times a / (a + p(w)), with p(w) the share of the word in a text that was counted;
then what all texts of the set have in common is taken out: their projection on its first singular vector.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.segment import splitter_for
from limbeck.errors import InputError, UsageError, choose
from limbeck.vectors.gather import Floats

if TYPE_CHECKING:
    from limbeck.vectors.static import StaticVectors

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
Weighting = Literal["mean", "sif"]
Case = Literal["either", "keep", "lower"]

BLOCK_WORDS = 1 << 15  #: words whose vectors are gathered at once


@dataclass(frozen=True)
class TextVectors:
    """One vector a text, and how many of its words it was made of.

    matrix  (texts, d); zeros for a text without a known word, which has no direction
    words   (texts,) how many words each text has
    found   (texts,) how many of them have a vector; the others are left out
    common  (d,) the direction that was taken out of all texts, None where none was
    """

    matrix: Floats
    words: Ints
    found: Ints
    common: Doubles | None

    @property
    def empty(self) -> Ints:
        """The numbers of the texts that have no known word."""
        return np.flatnonzero(self.found == 0)


def text_vectors(
    vectors: StaticVectors,
    texts: Sequence[str] | Sequence[Sequence[str]],
    *,
    weighting: Weighting = "mean",
    a: float = 1e-3,
    remove_first: bool | None = None,
    common: NDArray[np.floating] | None = None,
    counts: Mapping[str, int] | None = None,
    case: Case = "either",
    language: str = "en",
) -> TextVectors:
    """A vector for each text; a text is a string, split as a corpus is, or a sequence of words.

    weighting     "mean", or "sif" for weights a / (a + p(w))
    a             of SIF; 1e-3 to 1e-4 do well in the paper
    remove_first  take the first singular vector of the set of texts out of all of them; None: with "sif" only
    common        take this direction out instead, one that was found on another set (`TextVectors.common`)
    counts        occurrences of words in some text, for p(w); left out, the vectors' own counts. A word that was never
                  counted has p(w) = 0 and weight 1
    case          "either" looks a word up as it is, then in lower case; "keep" as it is; "lower" in lower case
    language      how strings are split into words, see `limbeck.corpus.segment`
    """
    choose(weighting, ("mean", "sif"), what="weighting")
    choose(case, ("either", "keep", "lower"), what="case")
    if isinstance(texts, str):
        raise UsageError("A list of texts is needed, got one string: put it into a list.")
    if not a > 0:
        raise UsageError(f"a must be above 0, got {a}.")
    weights = word_weights(vectors, a, counts) if weighting == "sif" else np.ones(len(vectors))
    rows, owners, words = look_up(vectors, texts, case, language)
    found = np.bincount(owners, minlength=len(texts)).astype(np.int64)
    sums = np.zeros((len(texts), vectors.dim))  # float64
    for start in range(0, len(rows), BLOCK_WORDS):
        some, of = rows[start : start + BLOCK_WORDS], owners[start : start + BLOCK_WORDS]
        block = vectors.matrix[some].astype(np.float64) * weights[some, None]
        begins = np.flatnonzero(np.append(True, of[1:] != of[:-1]))  # where another text begins
        sums[of[begins]] += np.add.reduceat(block, begins, axis=0)
    # by the number of known words, also with weights, as in the paper (1 / |s|)
    means = sums / np.maximum(found, 1)[:, None]
    if common is not None:
        direction: Doubles | None = unit_direction(common, vectors.dim)
    elif weighting == "sif" if remove_first is None else remove_first:
        direction = first_direction(means)
    else:
        direction = None
    if direction is not None:
        means -= np.outer(means @ direction, direction)
    return TextVectors(means.astype(np.float32), words, found, direction)


def word_weights(vectors: StaticVectors, a: float, counts: Mapping[str, int] | None) -> Doubles:
    """a / (a + p(w)) of every word of the table."""
    if counts is not None:
        own = np.array([counts.get(word, 0) for word in vectors.words], dtype=np.float64)
        total = float(sum(counts.values()))  # words without a vector are part of the text too
    elif vectors.counts is not None:
        own = vectors.counts.astype(np.float64)
        total = float(own.sum())
    else:
        raise InputError(
            "SIF needs to know how often each word occurs, and these vectors have no counts: give counts "
            "(--counts FILE), or load a folder that was made by `limbeck distill` (it has words.parquet), or choose "
            "the weighting mean."
        )
    if not total > 0 or own.min(initial=0) < 0:
        raise InputError("SIF needs counts of which none is negative and one is above 0: look at the counts.")
    weights: Doubles = a / (a + own / total)
    return weights


def look_up(
    vectors: StaticVectors, texts: Sequence[str] | Sequence[Sequence[str]], case: Case, language: str
) -> tuple[Ints, Ints, Ints]:
    """Rows of the known words of all texts one after the other, the text of each, and the words of each text."""
    places: dict[str, int] = {}
    rows: list[int] = []
    owners: list[int] = []
    words = np.zeros(len(texts), dtype=np.int64)
    for number, text in enumerate(texts):
        split = splitter_for(language).words(text)[0] if isinstance(text, str) else text
        words[number] = len(split)
        for word in split:
            if word not in places:
                spellings = {"either": (word, word.lower()), "keep": (word,), "lower": (word.lower(),)}[case]
                places[word] = next((vectors.index(one) for one in spellings if one in vectors), -1)
            if places[word] >= 0:
                rows.append(places[word])
                owners.append(number)
    return np.array(rows, dtype=np.int64), np.array(owners, dtype=np.int64), words


def first_direction(means: Doubles) -> Doubles | None:
    """The first right singular vector of the set, not centred, as in the paper; None where all texts are empty."""
    # d × d, so that a set of a million texts needs no decomposition of its own size
    values, vectors = np.linalg.eigh(means.T @ means)
    if not len(values) or not values[-1] > 0:
        return None
    direction: Doubles = vectors[:, -1]
    return direction


def unit_direction(common: NDArray[np.floating], dim: int) -> Doubles:
    direction = np.asarray(common, dtype=np.float64)
    length = np.linalg.norm(direction)
    if direction.shape != (dim,) or not (np.isfinite(length) and length > 0):
        raise InputError(f"common must be a direction of {dim} dimensions, got an array of shape {direction.shape}.")
    scaled: Doubles = direction / length
    return scaled
