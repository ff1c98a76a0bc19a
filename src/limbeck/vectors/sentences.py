"""Vectors of texts from vectors of words: the plain mean, and SIF (Arora, Liang & Ma 2017).

SIF is the mean of a word's vector times a / (a + p(w)), with p(w) the share of the word in a text that was counted;
then what all texts of the set have in common is taken out: their projection on its first singular vector.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.real import real_array
from limbeck.vectors.facts import summed
from limbeck.vectors.finding import Case
from limbeck.vectors.gather import Floats

if TYPE_CHECKING:
    from limbeck.vectors.static import StaticVectors

Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
Weighting = Literal["mean", "sif"]

BLOCK_WORDS = 1 << 15  #: words whose vectors are gathered at once
OF_THE_TABLE = (
    "SIF: how many words the counted text had is not known, so p(w) is a word's share of the table's words alone, and "
    "too large: give --counts, or vectors that `limbeck distill` made"
)


@dataclass(frozen=True)
class TextVectors:
    """One vector a text, and how many of its words it was made of.

    matrix  (texts, d); zeros for a text without a known word, which has no direction
    words   (texts,) how many words each text has
    found   (texts,) how many of them have a vector; the others are left out
    common  (d,) the direction that was taken out of all texts, None where none was
    notes   what a reader of SIF should know
    """

    matrix: Floats
    words: Ints
    found: Ints
    common: Doubles | None
    notes: tuple[str, ...] = ()

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
    total: int | None = None,
    case: Case = "either",
    language: str = "en",
) -> TextVectors:
    """A vector for each text; a text is a string, in which words are found as `limbeck.vectors.finding` says, or a
    sequence of words.

    weighting     "mean", or "sif" for weights a / (a + p(w))
    a             of SIF; 1e-3 to 1e-4 do well in the paper
    remove_first  take the first singular vector of the set of texts out of all of them; None: with "sif" only
    common        take this direction out instead, one that was found on another set (`TextVectors.common`)
    counts        occurrences of words in some text, for p(w); left out, the vectors' own counts. A word that was never
                  counted has p(w) = 0 and weight 1
    total         words of that text; left out, what the vectors know of it, or else the sum of the counts
    case          "either" looks a word up as it is, then in lower case; "keep" as it is; "lower" in lower case; a word
                  with blanks also with _ in their place, but for "keep"
    language      whose rules divide what stands between words of the table that have blanks or signs in them
    """
    choose(weighting, ("mean", "sif"), what="weighting")
    choose(case, ("either", "keep", "lower"), what="case")
    if isinstance(texts, str):
        raise UsageError(
            "A list of texts is needed, got one string: put it into a list.", code="wrong_type", parameter="texts"
        )
    if not a > 0:
        raise UsageError(f"a must be above 0, got {a}.", code="out_of_range", parameter="a")
    known = frequencies(vectors, counts, total) if weighting == "sif" else None
    weights = np.ones(len(vectors)) if known is None else known.weights(a)
    rows, owners, words = look_up(vectors, texts, case, language)
    found = np.bincount(owners, minlength=len(texts)).astype(np.int64)
    sums = np.zeros((len(texts), vectors.dim))  # float64
    for start in range(0, len(rows), BLOCK_WORDS):
        some = rows[start : start + BLOCK_WORDS]
        add_to_texts(sums, owners[start : start + BLOCK_WORDS], vectors.matrix[some], weights[some])
    means = means_of(sums, found)
    if common is not None:
        direction: Doubles | None = unit_direction(common, vectors.dim)
    elif weighting == "sif" if remove_first is None else remove_first:
        direction = first_direction(means)
    else:
        direction = None
    notes = () if known is None or known.of_text else (OF_THE_TABLE,)
    return TextVectors(without(means, direction).astype(np.float32), words, found, direction, notes)


@dataclass(frozen=True)
class Frequencies:
    """How often each word of a table occurs in some text.

    counts   (words,)
    total    how many words there are in all
    of_text  whether these are all words of the text; else, where nobody knows them, those that the table has
    """

    counts: Ints
    total: int
    of_text: bool

    def weights(self, a: float) -> Doubles:
        return sif_weights(self.counts, self.total, a)


def sif_weights(counts: Ints, total: int, a: float) -> Doubles:
    """a / (a + p) with p the word's share of the text (Arora et al. 2017); 1 for a word that is not in it."""
    weights: Doubles = a / (a + counts / total)
    return weights


def frequencies(
    vectors: StaticVectors, counts: Mapping[str, int] | None = None, total: int | None = None
) -> Frequencies:
    """What is known of the words of a table; `counts` of some text, and its words in all, go before its own."""
    if counts is not None:
        own = np.array([counts.get(word, 0) for word in vectors.words], dtype=np.int64)
        everything = np.array(list(counts.values()), dtype=np.int64)
        # words without a vector are part of the text too
        found = Frequencies(own, summed(list(counts), everything) if total is None else total, of_text=True)
        least = everything.min(initial=0)
    elif vectors.counts is not None:
        total = vectors.total if total is None else total
        own = vectors.counts
        found = Frequencies(own, summed(vectors.words, own) if total is None else total, of_text=total is not None)
        least = own.min(initial=0)
    else:
        raise InputError(
            "SIF needs to know how often each word occurs, and these vectors have no counts: give counts "
            "(--counts FILE), or load a folder that was made by `limbeck distill` (it has words.parquet), or choose "
            "the weighting mean.",
            code="no_counts",
            parameter="counts",
        )
    if not found.total > 0 or least < 0:
        raise InputError(
            "SIF needs counts of which none is negative and one is above 0: look at the counts.",
            code="out_of_range",
            parameter="counts",
        )
    return found


def look_up(
    vectors: StaticVectors, texts: Sequence[str] | Sequence[Sequence[str]], case: Case, language: str
) -> tuple[Ints, Ints, Ints]:
    """Rows of the known words of all texts one after the other, the text of each, and the words of each text."""
    finder = vectors.finder(case, language)
    split = [finder.split(text) if isinstance(text, str) else text for text in texts]
    words = np.array([len(text) for text in split], dtype=np.int64)
    places = find_words(vectors, (word for text in split for word in text), case)
    rows = np.array([places[word] for text in split for word in text], dtype=np.int64)
    owners = np.repeat(np.arange(len(split), dtype=np.int64), words)
    return rows[rows >= 0], owners[rows >= 0], words


def find_words(vectors: StaticVectors, words: Iterable[str], case: Case) -> dict[str, int]:
    """Of each different word its row in a table, −1 for none."""
    different = dict.fromkeys(words)
    return {word: next((vectors.index(w) for w in spellings(word, case) if w in vectors), -1) for word in different}


def spellings(word: str, case: Case) -> tuple[str, ...]:
    """Under which spellings a word is looked up, one after the other.

    Several words in one are looked up with _ between them too, as many files have them, unless the case is kept.

    >>> spellings("New York", "either")
    ('New York', 'New_York', 'new york', 'new_york')
    """
    if case == "keep":
        return (word,)
    cased = (word.lower(),) if case == "lower" else tuple(dict.fromkeys((word, word.lower())))
    return tuple(dict.fromkeys(form for one in cased for form in (one, one.replace(" ", "_"))))


def add_to_texts(sums: Doubles, owners: Ints, rows: NDArray[Any], weights: Doubles | None = None) -> None:
    """Add rows (n, d), each times its weight, to the sums (texts, d) of their texts; those of one stand together."""
    if not len(rows):
        return
    wide = rows.astype(np.float64)
    if weights is not None:
        wide *= weights[:, None]
    begins = np.flatnonzero(np.append(True, owners[1:] != owners[:-1]))  # where another text begins
    sums[owners[begins]] += np.add.reduceat(wide, begins, axis=0)


def means_of(sums: Doubles, found: Ints) -> Doubles:
    """By the number of known words, also with weights, as in the paper (1 / |s|); zeros for a text without any."""
    means: Doubles = sums / np.maximum(found, 1)[:, None]
    return means


def without(means: Doubles, direction: Doubles | None) -> Doubles:
    """Vectors (texts, d) less their projections on a direction; as they are where there is none."""
    return means if direction is None else means - np.outer(means @ direction, direction)


def first_direction(means: Doubles) -> Doubles | None:
    """The first right singular vector of the set, not centred, as in the paper; None where all texts are empty."""
    # d × d, so that a set of a million texts needs no decomposition of its own size
    values, vectors = np.linalg.eigh(means.T @ means)
    if not len(values) or not values[-1] > 0:
        return None
    direction: Doubles = vectors[:, -1]
    return direction


def unit_direction(common: NDArray[np.floating], dim: int) -> Doubles:
    direction = real_array(common, what="common").astype(np.float64)
    length = np.linalg.norm(direction)
    if direction.shape != (dim,) or not (np.isfinite(length) and length > 0):
        raise InputError(
            f"common must be a direction of {dim} dimensions, got an array of shape {direction.shape}.",
            code="wrong_shape",
            parameter="common",
        )
    scaled: Doubles = direction / length
    return scaled
