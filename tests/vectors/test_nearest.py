"""Neighbours, similarities and analogies of words, against gensim and scikit-learn."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises
from sklearn.metrics.pairwise import cosine_similarity

from limbeck.errors import InputError, UsageError
from limbeck.vectors import StaticVectors, nearest


def made(count: int = 300, dim: int = 7, seed: int = 0) -> StaticVectors:
    return StaticVectors([f"w{i}" for i in range(count)], np.random.default_rng(seed).normal(size=(count, dim)))


@pytest.mark.parametrize("k", [1, 2, 5, 40, 300])
def test_nearest_against_all_cosines(monkeypatch: pytest.MonkeyPatch, k: int) -> None:
    monkeypatch.setattr(nearest, "BLOCK_NUMBERS", 1000)  # several blocks of queries
    vectors = made()
    queries = np.random.default_rng(1).normal(size=(25, 7)) * 9
    cosines = cosine_similarity(queries, vectors.matrix.astype(np.float64))
    rows, found = vectors.nearest(queries, k=k)
    assert rows.shape == found.shape == (25, k)
    expected = np.argsort(-cosines, axis=1)[:, :k]
    assert np.array_equal(rows, expected)
    assert np.allclose(found, np.take_along_axis(cosines, expected, axis=1), atol=1e-6)


def test_rows_that_are_not_to_be_found() -> None:
    vectors = made(200)
    cosines = cosine_similarity(vectors.matrix[:4], vectors.matrix)
    exclude = [[0], [1, 5, -1], [], list(range(199))]
    for row, names in enumerate(exclude):
        cosines[row, [name for name in names if name >= 0]] = -9
    rows, found = vectors.nearest(vectors.matrix[:4], k=3, exclude=exclude)
    assert np.array_equal(rows[:3], np.argsort(-cosines[:3], axis=1)[:, :3])
    assert rows[3].tolist() == [199, -1, -1]  # no others are left
    assert np.isnan(found[3, 1:]).all()


def test_equal_cosines_come_in_the_order_of_rows() -> None:
    vectors = StaticVectors(
        [f"w{i}" for i in range(1000)], np.tile([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]], (334, 1))[:1000]
    )
    rows, _ = vectors.nearest(np.array([[1.0, 0.0]]), k=6)
    assert rows[0].tolist() == [0, 1, 3, 4, 6, 7]


def test_zeros_are_near_nothing() -> None:
    vectors = StaticVectors(["a", "zero", "b"], [[1, 0], [0, 0], [-1, 0]])
    rows, cosines = vectors.nearest(np.array([[1.0, 0.0], [0.0, 0.0]]), k=3)
    assert rows.tolist() == [[0, 2, -1], [-1, -1, -1]]
    assert np.array_equal(cosines[0, :2], [1, -1])
    assert np.isnan(cosines[1]).all()
    assert np.isnan(vectors.similarity("a", "zero"))


@pytest.mark.parametrize(
    ("positive", "negative"),
    [(["w3"], []), (["w3", "w8"], []), (["w3", "w8"], ["w11"]), (["w3"], ["w4", "w5"]), ([], ["w7"])],
)
def test_most_similar_is_gensims(positive: list[str], negative: list[str]) -> None:
    vectors = made()
    expected = vectors.to_gensim().most_similar(positive=positive, negative=negative, topn=12)
    found = vectors.most_similar(positive, 12, negative=negative)
    assert [word for word, _ in found] == [word for word, _ in expected]
    assert np.allclose([value for _, value in found], [value for _, value in expected], atol=1e-5)


def test_most_similar_to_a_vector() -> None:
    vectors = made()
    query = np.random.default_rng(5).normal(size=7)
    expected = vectors.to_gensim().similar_by_vector(query.astype(np.float32), topn=4)
    assert [word for word, _ in vectors.most_similar(query, 4)] == [word for word, _ in expected]
    assert vectors.most_similar(vectors["w9"], 1)[0][0] == "w9"  # a vector leaves no word out
    together = vectors.most_similar(["w3", vectors["w8"]], 300)
    assert "w3" not in dict(together)
    assert "w8" in dict(together)
    assert len(vectors.most_similar("w1", 10_000)) == 299


def test_similarity_is_gensims() -> None:
    vectors = made()
    keyed = vectors.to_gensim()
    for one, other in (("w1", "w2"), ("w7", "w7"), ("w0", "w299")):
        assert vectors.similarity(one, other) == pytest.approx(float(keyed.similarity(one, other)), abs=1e-6)
    assert vectors.similarity("w1", vectors["w1"] * -3) == pytest.approx(-1)


def test_analogies_are_gensims() -> None:
    vectors = made()
    keyed = vectors.to_gensim()
    for x, y, z in np.random.default_rng(2).integers(0, 300, size=(30, 3)):
        expected = keyed.most_similar(positive=[f"w{y}", f"w{z}"], negative=[f"w{x}"], topn=2)
        if len({x, y, z}) == 3:
            found = vectors.analogy(f"w{x}", f"w{y}", f"w{z}", 2)
            assert [word for word, _ in found] == [word for word, _ in expected]
            assert np.allclose([value for _, value in found], [value for _, value in expected], atol=1e-5)


def test_unit_rows() -> None:
    vectors = StaticVectors(["a", "zero", "huge"], [[3, 4], [0, 0], [3e38, 0]])
    assert np.allclose(vectors.unit, [[0.6, 0.8], [0, 0], [1, 0]])
    assert vectors.unit is vectors.unit
    rows = np.random.default_rng(0).normal(size=(3000, 4))  # more than one block
    exact = nearest.unit_rows(rows, dtype=np.float64)
    np.testing.assert_allclose(exact, rows / np.sqrt((rows**2).sum(axis=1))[:, None], rtol=1e-15)
    assert nearest.unit_rows(rows).dtype == np.float32
    with pytest.raises(ValueError, match="read-only"):
        vectors.unit[0, 0] = 1


def test_get_and_subset() -> None:
    vectors = StaticVectors(["a", "b", "c"], [[1, 0], [0, 2], [3, 3]], counts=[5, 6, 7], origins=["x", "y", "z"])
    assert vectors.get("b").tolist() == [0, 2]
    assert vectors.get("d") is None
    assert vectors.get("d", 4) == 4
    part = vectors.subset(["c", "d", "a", "c"], missing="drop")
    assert part.words == ["c", "a"]
    assert part.matrix.tolist() == [[3, 3], [1, 0]]
    assert part.counts is not None
    assert (part.counts.tolist(), part.origins) == ([7, 5], ["z", "x"])
    with raises(InputError, code="incomplete", parameter="missing", says="'d'"):
        vectors.subset(["a", "d"])


def test_refused() -> None:
    vectors = made(5)
    for wrong in (0, -1, "x", 2.5, None):
        with raises(UsageError, code="out_of_range", parameter="topn", says=f"got {wrong!r}"):
            vectors.most_similar("w1", topn=wrong)
        with raises(UsageError, code="out_of_range", parameter="k"):
            vectors.nearest(np.ones((1, 7)), k=wrong)
    with raises(UsageError, code="out_of_range", parameter="topn"):
        vectors.analogy("w1", "w2", "w3", topn=0)
    assert len(vectors.most_similar("w1", topn=np.int64(2))) == 2
    with raises(UsageError, code="required"):
        vectors.most_similar([])
    with pytest.raises(KeyError):
        vectors.most_similar("unheard")
    with raises(InputError, code="other_dimensions"):
        vectors.most_similar(np.ones(3))
    with raises(InputError, code="wrong_shape", parameter="queries"):
        vectors.nearest(np.ones(7))
    with raises(InputError, code="unequal_lengths", parameter="exclude", says="got 2"):
        vectors.nearest(np.ones((1, 7)), exclude=[[0], [1]])
