"""Vectors of texts: the mean by hand, SIF against scikit-learn and by hand, words that are missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import raises
from sklearn.decomposition import TruncatedSVD

from limbeck.errors import InputError, UsageError
from limbeck.vectors import StaticVectors
from limbeck.vectors import sentences as module
from limbeck.vectors.sentences import sif_weights, text_vectors

WORDS = ["the", "cat", "sat", "on", "mat", ".", "do", "n't"]
COUNTS = np.array([50, 5, 4, 30, 1, 0, 8, 2])
TEXTS = ["The cat sat on the mat.", "Cat!", "the mat", "don't", "sat on the cat", "mat mat cat"]
#: the words of TEXTS as spaCy divides them, those of the table alone
DIVIDED = [
    ["the", "cat", "sat", "on", "the", "mat", "."],
    ["cat"],
    ["the", "mat"],
    ["do", "n't"],
    ["sat", "on", "the", "cat"],
    ["mat", "mat", "cat"],
]


@pytest.fixture
def vectors() -> StaticVectors:
    matrix = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    matrix[:, 0] += 2  # what all texts have in common
    return StaticVectors(WORDS, matrix, counts=COUNTS)


def test_the_mean(vectors: StaticVectors) -> None:
    expected = [np.mean([vectors[word] for word in words], axis=0) for words in DIVIDED]
    assert np.allclose(vectors.sentences(TEXTS), expected, atol=1e-6)
    assert vectors.sentences(TEXTS).dtype == np.float32


def test_sif_by_scikit_learn(vectors: StaticVectors) -> None:
    """As in the authors' code: weighted means, then the first singular vector, not centred, is projected out."""
    weight = {word: 1e-3 / (1e-3 + count / 100) for word, count in zip(WORDS, COUNTS, strict=True)}
    weighted = {word: weight[word] * vectors[word].astype(float) for word in WORDS}
    means = np.array([np.mean([weighted[word] for word in words], axis=0) for words in DIVIDED])
    svd = TruncatedSVD(n_components=1, algorithm="arpack").fit(means)
    component = svd.components_
    expected = means - means @ component.T @ component
    assert np.allclose(vectors.sentences(TEXTS, weighting="sif"), expected, atol=1e-5)
    whole = vectors.sentences(TEXTS, weighting="sif", remove_first=False)
    assert np.allclose(whole, means, atol=1e-6)


def test_sif_by_hand() -> None:
    """p = 0.75 and 0.25, a = 0.25: weights 1/4 and 1/2. Texts (1/4, 0) and (1/4, 0)/2 + (0, 1/2)/2 = (1/8, 1/4)."""
    vectors = StaticVectors(["a", "b"], [[1, 0], [0, 1]], counts=[3, 1])
    found = vectors.sentences(["a", "a b"], weighting="sif", a=0.25, remove_first=False)
    assert np.allclose(found, [[0.25, 0], [0.125, 0.25]])
    mean = vectors.sentences(["a", "a b"], a=0.25)
    assert np.allclose(mean, [[1, 0], [0.5, 0.5]])


def test_words_that_were_never_counted_weigh_most(vectors: StaticVectors) -> None:
    assert np.allclose(vectors.sentences(["."], weighting="sif", remove_first=False)[0], vectors["."])


def test_counts_from_elsewhere(vectors: StaticVectors) -> None:
    # words without a vector are part of the text too: p(cat) is 1/4
    found = vectors.sentences(["cat"], weighting="sif", counts={"cat": 1, "unheard": 3}, a=0.25, remove_first=False)
    assert np.allclose(found[0], vectors["cat"] / 2)
    without = StaticVectors(WORDS, vectors.matrix)
    with raises(InputError, code="no_counts", parameter="counts"):
        without.sentences(TEXTS, weighting="sif")
    with raises(InputError, code="out_of_range", parameter="counts"):
        without.sentences(TEXTS, weighting="sif", counts={"cat": 0})


def test_the_words_of_the_text_are_more_than_those_of_the_table(tmp_path: Path) -> None:
    """p("-") is 0.00825 of the text and 0.99 of this table: a weight of 0.108, not 0.001."""
    vectors = StaticVectors(["-", "limbeck"], [[1, 0], [0, 1]], counts=[825, 8], total=100_000)
    found = text_vectors(vectors, ["-"], weighting="sif", remove_first=False)
    assert found.matrix[0, 0] == pytest.approx(0.001 / (0.001 + 0.00825))
    assert found.notes == ()
    alone = text_vectors(StaticVectors(["-"], [[1, 0]], counts=[825]), ["-"], weighting="sif", remove_first=False)
    assert alone.matrix[0, 0] == pytest.approx(0.001 / 1.001)
    assert "too large" in alone.notes[0]
    assert sif_weights(np.array([825, 0]), 100_000, 1e-3) == pytest.approx([0.001 / 0.00925, 1])
    vectors.save(tmp_path / "v")
    again = StaticVectors.load(tmp_path / "v").sentences(["-"], weighting="sif", remove_first=False)
    assert again[0, 0] == found.matrix[0, 0]


def test_spellings_that_share_a_count_count_once() -> None:
    """Rome and rome, both counted as rome, 6 times; the other 4 words are cat: p(rome) is 0.6, not 6 / 16."""
    matrix = [[1.0, 0], [1, 0], [0, 1]]
    shared = StaticVectors(["Rome", "rome", "cat"], matrix, counts=[6, 6, 4])
    found = shared.sentences(["Rome"], weighting="sif", a=0.2, remove_first=False)
    assert found[0, 0] == pytest.approx(0.2 / 0.8)
    apart = StaticVectors(["Rome", "rome", "Cat", "cat"], [*matrix, [0, 1]], counts=[6, 6, 1, 3])
    found = apart.sentences(["Rome"], weighting="sif", a=0.2, remove_first=False)
    assert found[0, 0] == pytest.approx(0.2 / (0.2 + 6 / 16)), "counts of their own are summed"


def test_a_direction_found_on_another_set(vectors: StaticVectors) -> None:
    first = text_vectors(vectors, TEXTS[:4], weighting="sif")
    assert first.common is not None
    rest = vectors.sentences(TEXTS[4:], weighting="sif", common=first.common * 7)
    means = vectors.sentences(TEXTS[4:], weighting="sif", remove_first=False).astype(float)
    assert np.allclose(rest, means - np.outer(means @ first.common, first.common), atol=1e-6)
    assert np.allclose(rest @ first.common, 0, atol=1e-6)
    with raises(InputError, code="wrong_shape", parameter="common"):
        vectors.sentences(TEXTS, common=np.zeros(5))


def test_texts_without_a_known_word_are_zeros_and_told(vectors: StaticVectors) -> None:
    texts = ["", "unheard of things", "the cat", "  "]
    for weighting in ("mean", "sif"):
        found = text_vectors(vectors, texts, weighting=weighting)  # type: ignore[arg-type]
        assert not found.matrix[[0, 1, 3]].any()
        assert found.empty.tolist() == [0, 1, 3]
        assert found.words.tolist() == [0, 3, 2, 0]
        assert found.found.tolist() == [0, 0, 2, 0]
    assert vectors.sentences(["", "unheard"], weighting="sif").tolist() == [[0] * 5] * 2
    assert vectors.sentences([]).shape == (0, 5)


def test_case() -> None:
    vectors = StaticVectors(["Cat", "cat", "dog"], [[1, 0], [0, 1], [2, 2]])

    def found(case: str) -> list[list[float]]:
        return vectors.sentences(["Cat", "Dog", "cat"], case=case).tolist()  # type: ignore[arg-type]

    assert found("either") == [[1, 0], [2, 2], [0, 1]]
    assert found("keep") == [[1, 0], [0, 0], [0, 1]]
    assert found("lower") == [[0, 1], [2, 2], [0, 1]]


def test_texts_that_are_divided_already() -> None:
    vectors = StaticVectors(["new york", "cat"], [[1, 0], [0, 1]])
    assert vectors.sentences([["new york", "cat"], ["cat"]]).tolist() == [[0.5, 0.5], [0, 1]]


def test_blocks_change_nothing(vectors: StaticVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = vectors.sentences(TEXTS * 3, weighting="sif")
    monkeypatch.setattr(module, "BLOCK_WORDS", 4)  # blocks that end inside a text
    assert np.allclose(vectors.sentences(TEXTS * 3, weighting="sif"), whole, atol=1e-7)


def test_refused(vectors: StaticVectors) -> None:
    with raises(UsageError, code="wrong_type", parameter="texts"):
        vectors.sentences("the cat")
    with raises(UsageError, code="unknown_choice", parameter="weighting", says="'sif'"):
        vectors.sentences(TEXTS, weighting="siff")  # type: ignore[arg-type]
    with raises(UsageError, code="out_of_range", parameter="a"):
        vectors.sentences(TEXTS, weighting="sif", a=0)
