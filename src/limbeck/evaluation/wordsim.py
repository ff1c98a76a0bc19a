"""Word similarity: cosines of word pairs from one vector a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.evaluation.correlations import cosines
from limbeck.evaluation.settings import OutOfVocabulary
from limbeck.evaluation.similarities import Similarities
from limbeck.real import real_array
from limbeck.vectors.finding import Case
from limbeck.vectors.sentences import spellings
from limbeck.vectors.static import StaticVectors

POLICIES: tuple[OutOfVocabulary, ...] = get_args(OutOfVocabulary)
CASES: tuple[Case, ...] = get_args(Case)
Vector = NDArray[np.float64]
NOT_FOUND = "a word has no vector"
ZERO = "a word's vector is zero"
ROUNDING = 1e-6  #: a mean below this part of the vectors' root mean square norm is what rounding left of a zero


class WordVectors(Protocol):
    """Whatever has a vector for some words: StaticVectors, a dict, gensim's KeyedVectors."""

    def __contains__(self, word: object, /) -> bool: ...
    def __getitem__(self, word: str, /) -> Any: ...


Fallback = Callable[[str], ArrayLike | None] | WordVectors


def word_similarities(
    first: Sequence[str],
    second: Sequence[str],
    vectors: WordVectors,
    *,
    oov: OutOfVocabulary = "drop",
    case: Case = "either",
    fallback: Fallback | None = None,
) -> Similarities:
    """Cosine of the vectors of first[i] and second[i].

    oov   what becomes of a word without a vector:
          "drop"      its pairs are left out
          "mean"      it gets the mean of all vectors (two such words: cosine 1), as some published tools do
          "zero"      the cosine of its pairs is 0, and so is that of a vector that is zero
          "fallback"  it gets `fallback(word)`, or `fallback[word]`; pairs of words that have none there are left out
    case  "either": a word as it is spelt, else in lower case; "keep": as it is spelt; "lower": in lower case

    >>> vectors = StaticVectors(["cup", "mug"], [[1.0, 0.0], [0.6, 0.8]])
    >>> found = word_similarities(["Cup", "cup"], ["mug", "saucer"], vectors)
    >>> found.values.round(3), found.coverage, dict(found.dropped)
    (array([0.6, nan]), 0.5, {'a word has no vector': 1})
    """
    words = list(dict.fromkeys([*first, *second]))
    place = {word: row for row, word in enumerate(words)}
    rows = np.array([[place[a], place[b]] for a, b in zip(first, second, strict=True)], dtype=np.int64).reshape(-1, 2)

    seen = look_up(words, vectors, oov=oov, case=case, fallback=fallback)
    found, there = seen.found, seen.there
    values = cosines(seen.matrix[rows[:, 0]], seen.matrix[rows[:, 1]])  # NaN where a side is zero or missing
    both: NDArray[np.bool_] = np.logical_and(found[rows[:, 0]], found[rows[:, 1]])
    missing: NDArray[np.bool_] = ~np.logical_and(there[rows[:, 0]], there[rows[:, 1]])
    zero = np.isnan(values) & ~missing
    if oov == "zero":
        values[missing | zero] = 0.0
        missing[:], zero[:] = False, False
    dropped = {NOT_FOUND: int(missing.sum()), ZERO: int(zero.sum())}
    return Similarities(
        values=values,
        found=both,
        dropped={reason: count for reason, count in dropped.items() if count},
        settings={"oov": oov, "case": case, "words": len(words), "words_found": int(found.sum())},
    )


@dataclass(frozen=True)
class Seen:
    """Vectors of some words under a policy.

    matrix  (words, d) zeros for a word without any
    found   (words,) whether the target itself had a vector other than zero, which has no cosine
    there   (words,) whether there is one, its own or what stands in for it
    """

    matrix: Vector
    found: NDArray[np.bool_]
    there: NDArray[np.bool_]


def look_up(
    words: Sequence[str],
    vectors: WordVectors,
    *,
    oov: OutOfVocabulary = "drop",
    case: Case = "either",
    fallback: Fallback | None = None,
) -> Seen:
    """Vectors of different words; see `word_similarities` for what becomes of those that have none."""
    check_policy(oov, case, fallback)
    if not (hasattr(vectors, "__contains__") and hasattr(vectors, "__getitem__")):
        raise UsageError(
            f"A target for tasks of words must map words to vectors, got {type(vectors).__name__}: give StaticVectors "
            "or a dict.",
            code="wrong_type",
            parameter="target",
        )
    own = [_look_up(word, vectors, case) for word in words]
    used = list(own)
    if oov == "mean" and any(vector is None for vector in own):
        mean = mean_of(vectors)
        used = [mean if vector is None else vector for vector in own]
    elif fallback is not None:
        used = [ask(word, fallback) if vector is None else vector for word, vector in zip(words, own, strict=True)]
    found = np.array([vector is not None and bool(vector.any()) for vector in own], dtype=bool)
    there = np.array([vector is not None for vector in used], dtype=bool)
    return Seen(_matrix(words, used), found, there)


def check_policy(oov: str, case: str, fallback: Fallback | None) -> None:
    """Refuse policies that are not there, or that do not go together."""
    choose(oov, POLICIES, what="oov")
    choose(case, CASES, what="case")
    if (oov == "fallback") != (fallback is not None):
        raise UsageError(
            "oov='fallback' and a fallback go together, got one without the other: give both or neither.",
            code="required",
            parameter="fallback",
        )


def _look_up(word: str, vectors: WordVectors, case: Case) -> Vector | None:
    for spelling in spellings(word, case):
        if spelling in vectors:
            return _vector(vectors[spelling], spelling)
    return None


def ask(word: str, fallback: Fallback, *, dim: int | None = None) -> Vector | None:
    """What a function or a mapping has for a word, of `dim` dimensions where they are known; None for nothing."""
    if callable(fallback):
        given = fallback(word)
    else:
        given = fallback[word] if word in fallback else None  # noqa: SIM401 (gensim's vectors have no get)
    if given is None:
        return None
    vector = _vector(given, word)
    if dim not in (None, len(vector)):
        raise InputError(
            f"A fallback must have the {dim} dimensions of the vectors that it stands in for, got {len(vector)} for "
            f"{word!r}: give another, or choose another policy (oov).",
            code="other_dimensions",
            parameter="fallback",
        )
    return vector


def _vector(vector: ArrayLike, word: str) -> Vector:
    array = real_array(vector, what=f"The vector of {word!r}").astype(np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise InputError(
            f"A word's vector must be one row of finite numbers, got {array.shape} for {word!r}: mend it.",
            code="wrong_shape",
        )
    return array


def mean_of(vectors: WordVectors) -> Vector:
    """The mean of all vectors; zero where it is no more than rounding, as of vectors that were centered."""
    total: Any = 0.0
    squares, count = 0.0, 0
    if isinstance(vectors, StaticVectors):
        parts: Iterable[Any] = (vectors.matrix[at : at + 4096] for at in range(0, len(vectors), 4096))
    elif hasattr(vectors, "values"):
        parts = (np.asarray(row)[None] for row in vectors.values())
    else:
        raise UsageError(
            "A mean of all vectors needs all of them: give StaticVectors or a dict, or another policy (oov).",
            code="unsupported",
            parameter="oov",
        )
    for part in parts:
        rows = part.astype(np.float64)
        total, squares, count = total + rows.sum(axis=0), squares + float((rows * rows).sum()), count + len(rows)
    if not count:
        raise InputError(
            "A mean of all vectors needs at least one vector, got none: give some, or another policy (oov).",
            code="empty",
            parameter="oov",
        )
    mean = np.asarray(total / count)
    return mean if mean @ mean > ROUNDING**2 * squares / count else np.zeros_like(mean)


def _matrix(words: Sequence[str], vectors: Sequence[Vector | None]) -> Vector:
    """(words, d) zeros where there is no vector."""
    sizes = {len(vector): word for word, vector in zip(words, vectors, strict=True) if vector is not None}
    if len(sizes) > 1:
        (a, one), (b, other) = list(sizes.items())[:2]
        raise InputError(
            f"All vectors must have the same dimensions, got {a} for {one!r} and {b} for {other!r}: give vectors, and "
            "a fallback, of one space.",
            code="other_dimensions",
        )
    matrix = np.zeros((len(words), next(iter(sizes), 1)))
    for row, vector in enumerate(vectors):
        if vector is not None:
            matrix[row] = vector
    return matrix
