"""Words of a table in texts: found as model2vec finds them in the folder that the table is saved as."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from limbeck.evaluation import EvaluationSettings, Pairs, evaluate, tasks
from limbeck.evaluation.targets import TableTarget
from limbeck.vectors import StaticVectors
from limbeck.vectors.finding import Case, Finder
from limbeck.vectors.sentences import text_vectors

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"
#: one row each, though a text would be divided there
WHOLE = (
    "K-pop|Saint-Jean-sur-Richelieu|machine learning|don't|rock 'n' roll|U.S.|3.14|1,000|C++|e-mail|at&t|cannot|"
    "24/7|a.m.|New York|New York City| leading|[CLS]|!?|co₂|हिन्दी भाषा"
).split("|")
PLAIN = (
    "the a of in is i it to and do can not n't 's new york city machine learning pop k saint jean mail e u s . , - ' !"
).split()
TEXTS = (
    "It isn't the machine learning of K-pop in New York City, is it?",
    "I can't do it; DON'T e-mail the U.S. at 9 a.m. or 24/7!",
    "Saint-Jean-sur-Richelieu is a city, and Saint Jean is not.",
    "the-mailer, re-e-mail, K-pops and machine learnings cannot be found whole",
    "rock 'n' roll!? C++11 is not C++, nor is 3.145 or 1,0000 ...",
    "machine  learning in New\tYork",
    "हिन्दी भाषा is in co₂",
    "nothing known here",
    "",
)


def table(words: Sequence[str]) -> StaticVectors:
    return StaticVectors(words, np.random.default_rng(len(words)).normal(size=(len(words), 16)))


def cosines(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """1 too where both are zero."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    both = ~(one.any(axis=1) | other.any(axis=1))
    return np.where(both, 1.0, (one * other).sum(axis=1) / np.maximum(lengths, 1e-12))


def check_as_model2vec(vectors: StaticVectors, folder: Path, texts: Sequence[str], case: Case) -> None:
    from model2vec import StaticModel

    vectors.save(folder)
    theirs = StaticModel.from_pretrained(folder).encode(list(texts))
    found = cosines(theirs, vectors.sentences(texts, case=case))
    assert [text for text, cosine in zip(texts, found, strict=True) if cosine < 0.999] == []


@pytest.mark.parametrize("case", ["either", "keep"])
def test_every_word_of_a_table_has_its_own_vector(case: Case) -> None:
    vectors = table([*WHOLE, *PLAIN])
    np.testing.assert_allclose(vectors.sentences(vectors.words, case=case), vectors.matrix, atol=1e-6)


@pytest.mark.parametrize("lower", [True, False], ids=["lower", "cased"])
def test_texts_are_as_model2vec_has_them(tmp_path: Path, lower: bool) -> None:
    whole = [word for word in WHOLE if word == word.lower()] if lower else WHOLE
    check_as_model2vec(table([*whole, *PLAIN]), tmp_path / "v", TEXTS, "either" if lower else "keep")


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
@pytest.mark.parametrize("lower", [True, False], ids=["lower", "cased"])
def test_sentences_of_the_sts_benchmark_are_as_model2vec_has_them(tmp_path: Path, lower: bool) -> None:
    pairs = tasks(SHARED)["sts-b"].read()
    texts = list(dict.fromkeys([*pairs.first, *pairs.second]))
    rng = np.random.default_rng(0)
    words: set[str] = set()
    for text in texts:
        pieces = text.lower().split() if lower else text.split()
        words.update(piece for piece in pieces if rng.random() < 0.5)  # with the signs that stand at them
        words.update(piece for piece in re.findall(r"\w+|[^\w\s]", " ".join(pieces)) if rng.random() < 0.5)
        words.update(f"{one} {two}" for one, two in pairwise(pieces) if rng.random() < 0.1)
    check_as_model2vec(table(sorted(words)), tmp_path / "v", texts, "either" if lower else "keep")


def test_the_longest_that_stands_alone() -> None:
    split = Finder(["New York", "New York City", "e-mail", "C++", "..", "well"]).split
    assert split("New York City and New York.") == ["New York City", "and", "New York", "."]
    assert split("the-mailer e-mails e-mail, C++!") == [*"the - mailer e - mails".split(), "e-mail", ",", "C++", "!"]
    assert split("New Yorker") == ["New", "Yorker"]
    assert split("can't cannot CANNOT well-known") == [*"ca n't can not CAN NOT well - known".split()]


def test_case() -> None:
    words = ["K-pop", "machine learning", "machine"]

    def split(case: Case) -> list[str]:
        return Finder(words, case=case).split("K-pop k-pop Machine Learning")

    assert split("either") == ["K-pop", "k", "-", "pop", "Machine Learning"]
    assert split("keep") == ["K-pop", "k", "-", "pop", "Machine", "Learning"]
    assert split("lower") == ["K", "-", "pop", "k", "-", "pop", "Machine Learning"]
    vectors = table(words)
    found = text_vectors(vectors, ["The Machine learning of k-pop"])
    np.testing.assert_allclose(found.matrix[0], vectors["machine learning"], atol=1e-6)
    assert (found.words.tolist(), found.found.tolist()) == ([6], [1])


def test_other_languages_are_divided_by_their_own_rules() -> None:
    vectors = table(["l'", "homme", "arc-en-ciel", "d'abord", "chemin de fer"])
    found = text_vectors(vectors, ["L'homme, l'arc-en-ciel et le chemin de fer"], language="fr")
    assert found.found.tolist() == [5]
    np.testing.assert_allclose(vectors.sentences(vectors.words, language="fr"), vectors.matrix, atol=1e-6)


def test_similarity_of_sentences_finds_the_same_words() -> None:
    vectors = table([*WHOLE, *PLAIN])
    texts = [text for text in TEXTS if vectors.sentences([text]).any()]
    pairs = Pairs("made", "sts", texts[:-1], texts[1:], np.arange(len(texts) - 1.0))
    own = vectors.sentences(texts)
    score = evaluate(pairs, vectors, settings=EvaluationSettings(draws=10))
    np.testing.assert_allclose(score.similarity, cosines(own[:-1], own[1:]), atol=1e-6)


def test_what_stands_in_for_unknown_words_leaves_phrases_whole() -> None:
    vectors = table(["machine learning", "the"])
    target = TableTarget(vectors, oov="fallback", fallback={"machine": np.ones(16), "unheard": np.ones(16)})
    rows = target.rows(["the machine learning", "unheard machine"])
    expected = [vectors["the"], vectors["machine learning"], np.ones(16), np.ones(16)]
    np.testing.assert_allclose(rows.vectors[0].numpy(), expected, atol=1e-6)
    counted = StaticVectors(vectors.words, vectors.matrix, counts=[1, 3])
    sif = counted.sentences(["machine learning"], weighting="sif", a=0.25, remove_first=False)
    np.testing.assert_allclose(sif[0], vectors["machine learning"] / 2, atol=1e-6)  # p = 1/4
