"""Analogies: a is to b as c is to which word of the whole vocabulary?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose
from limbeck.evaluation.analogy_search import METHODS, answered
from limbeck.evaluation.item_score import Outcomes
from limbeck.evaluation.settings import AnalogyMethod
from limbeck.evaluation.word_task import Questions
from limbeck.evaluation.wordsim import Fallback, ask
from limbeck.vectors.finding import Case
from limbeck.vectors.nearest import unit_rows
from limbeck.vectors.sentences import spellings

Floats = NDArray[np.float32]
AnalogyOutOfVocabulary = Literal["wrong", "drop", "mean", "zero", "fallback"]
METRIC: dict[AnalogyMethod, str] = {"add": "3CosAdd", "mul": "3CosMul"}  #: what tables call accuracy by each
MISSING = "a word of the question has no vector"


def solve_analogies(
    questions: Questions,
    words: Sequence[str],
    matrix: Floats,
    *,
    method: AnalogyMethod = "add",
    oov: AnalogyOutOfVocabulary = "wrong",
    case: Case = "either",
    fallback: Fallback | None = None,
    vocabulary: int | None = None,
    spell: Callable[[str], str] | None = None,
    device: str | None = None,
) -> Outcomes:
    """Of each question whether the word of highest 3CosAdd, and of highest 3CosMul, is the answer: 1 or 0.

    words, matrix  the vocabulary (words, d), most frequent first; the whole of it is searched, a question's own three
                   words left out
    method         which of the two comes first, "add" or "mul"
    oov            what becomes of a question of which one of the four words has no vector:
                   "wrong"     its answer is wrong
                   "drop"      it is left out
                   "mean"      a, b and c get the mean of all unit vectors; an answer not in the vocabulary is wrong
                   "zero"      the same with zeros
                   "fallback"  words that `fallback` has are added to the vocabulary; wrong where it has none
    vocabulary     search the first so many words; questions with others are treated as `oov` says
    spell          what to make of a question's words before they are looked up

    A vector that is zero has no cosine: its word counts as missing.
    """
    choose(method, METHODS, what="method")
    choose(oov, get_args(AnalogyOutOfVocabulary), what="oov")
    if vocabulary is not None and vocabulary < 1:
        raise UsageError(
            f"vocabulary must be at least 1, got {vocabulary}: leave it out to search all words.",
            code="out_of_range",
            parameter="vocabulary",
        )
    matrix = matrix[:vocabulary]
    index = {word: row for row, word in enumerate(words[:vocabulary])}
    asked = list(dict.fromkeys(word for question in questions.words for word in question))
    spelt = {word: word if spell is None else spell(word) for word in asked}
    rows = np.array([_row(spelt[word], index, case) for word in asked], dtype=np.int64)
    there = np.flatnonzero(rows >= 0)
    rows[there[~matrix[rows[there]].any(axis=1)]] = -1
    own = rows >= 0
    if oov == "fallback" and fallback is not None:
        matrix, rows = _with_fallback(matrix, rows, [spelt[word] for word in asked], fallback)
    vectors = np.zeros((len(asked), matrix.shape[1]), dtype=np.float32)
    vectors[rows >= 0] = unit_rows(matrix[rows[rows >= 0]])
    if oov == "mean":
        vectors[rows < 0] = _mean(matrix)

    place = {word: number for number, word in enumerate(asked)}
    numbers = np.array([[place[word] for word in question] for question in questions.words], dtype=np.int64)
    numbers = numbers.reshape(-1, 4)
    whole = (rows[numbers] >= 0).all(axis=1)
    searched = np.flatnonzero(rows[numbers[:, 3]] >= 0 if oov in ("mean", "zero") else whole)
    asking, of_words = numbers[searched], rows[numbers[searched]]
    solved = answered(matrix, vectors, asking[:, :3], of_words[:, 3], of_words[:, :3], device=device)
    outcomes = {}
    for how in sorted(METHODS, key=lambda how: how != method):
        right = np.zeros(len(questions))
        right[searched] = solved[how]
        if oov == "drop":
            right[~whole] = np.nan
        outcomes[METRIC[how]] = right
    dropped = {MISSING: int((~whole).sum())} if oov == "drop" else {}
    told: dict[str, str | int] = {"oov": oov, "case": case, "vocabulary": len(index)}
    found: NDArray[np.float64] = np.asarray(own[numbers].all(axis=1), dtype=np.float64)
    return Outcomes(outcomes, found, dropped, told)


def _row(word: str, index: Mapping[str, int], case: Case) -> int:
    return next((index[form] for form in spellings(word, case) if form in index), -1)


def _with_fallback(
    matrix: Floats, rows: NDArray[np.int64], asked: Sequence[str], fallback: Fallback
) -> tuple[Floats, NDArray[np.int64]]:
    """The vocabulary with what the fallback has for words that are not in it, each spelling once."""
    added: dict[str, int] = {}
    vectors: list[Floats] = []
    rows = rows.copy()
    for at in np.flatnonzero(rows < 0).tolist():
        word = asked[at]
        if word not in added and (vector := ask(word, fallback, dim=matrix.shape[1])) is not None and np.any(vector):
            added[word] = len(matrix) + len(vectors)
            vectors.append(vector.astype(np.float32))
        rows[at] = added.get(word, -1)
    return (np.concatenate([matrix, np.stack(vectors)]) if vectors else matrix), rows


def _mean(matrix: Floats) -> Floats:
    """Mean of the unit vectors, not made of length 1 again: as published tools have it."""
    total = np.zeros(matrix.shape[1])
    for start in range(0, len(matrix), 4096):
        total += unit_rows(matrix[start : start + 4096]).sum(axis=0, dtype=np.float64)
    return np.asarray(total / max(len(matrix), 1), dtype=np.float32)
