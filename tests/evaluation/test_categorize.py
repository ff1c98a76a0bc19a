"""Purity beside scikit-learn's counts, clusters that are plain to see, and words that are in several classes."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics.cluster import contingency_matrix

from limbeck import StaticVectors
from limbeck.evaluation import Categories, EvaluationSettings, compare_items, evaluate_words
from limbeck.evaluation.categorize import BEST, HONEST, NOT_FOUND, SEVERAL, TWICE, in_majority, purity


def made(spread: float, seed: int = 0, classes: int = 4, each: int = 15) -> tuple[StaticVectors, Categories]:
    rng = np.random.default_rng(seed)
    middles = np.eye(10)[:classes]
    matrix = np.repeat(middles, each, axis=0) + spread * rng.normal(size=(classes * each, 10))
    words = [f"w{n}" for n in range(len(matrix))]
    vectors = StaticVectors(words, matrix * rng.uniform(0.1, 10, size=(len(matrix), 1)))
    return vectors, Categories(words, [f"c{n // each}" for n in range(len(matrix))])


def test_purity_is_that_of_the_counts():
    rng = np.random.default_rng(0)
    for _ in range(20):
        labels, clusters = rng.integers(5, size=60), rng.integers(7, size=60)
        wanted = contingency_matrix(labels, clusters).max(axis=0).sum() / 60
        assert purity(labels, clusters) == pytest.approx(wanted)
        assert in_majority(labels, clusters).mean() == pytest.approx(wanted)


def test_plain_clusters():
    vectors, categories = made(0.05)
    score = evaluate_words(categories, vectors)
    assert score.metric == HONEST
    assert score.value > 0.9, "single k-means may end badly, most do not"
    assert score.estimates[BEST, "mean", ""].value == 1.0
    wide = evaluate_words(categories, made(50.0)[0])
    assert wide.value < 0.6
    assert compare_items(score, wide).low > 0


def test_both_ways_of_counting_beside_scikit_learn():
    vectors, categories = made(0.45, seed=2)
    unit = vectors.matrix / np.linalg.norm(vectors.matrix, axis=1, keepdims=True)
    labels = np.array([int(name[1:]) for name in categories.classes])
    six = [AgglomerativeClustering(4, metric="euclidean", linkage="ward").fit_predict(unit)]
    for metric in ("cosine", "euclidean"):
        for linkage in ("average", "complete"):
            six.append(AgglomerativeClustering(4, metric=metric, linkage=linkage).fit_predict(unit))
    without_means = max(purity(labels, found) for found in six)
    score = evaluate_words(categories, vectors)
    best = score.estimates[BEST, "mean", ""].value
    assert best >= without_means > score.value - 0.2
    many = [purity(labels, KMeans(4, n_init=1, random_state=seed).fit_predict(unit)) for seed in range(200)]
    assert score.value == pytest.approx(np.mean(many), abs=4 * np.std(many) / np.sqrt(10) + 0.02)
    assert best > score.value, "the best of six by the labels is higher than what was settled beforehand"
    web = evaluate_words(categories, vectors, settings=EvaluationSettings(preset="web"))
    assert (web.metric, web.value) == (BEST, best)
    again = evaluate_words(categories, vectors)
    np.testing.assert_array_equal(score.outcomes, again.outcomes)
    assert evaluate_words(categories, vectors, settings=EvaluationSettings(seed=1)).value != score.value


def test_words_in_several_classes_and_without_a_vector():
    vectors, categories = made(0.05)
    words = [*categories.words, "w0", "w1", "gone"]
    classes = [*categories.classes, "c3", "c0", "c1"]  # w0 in two classes, w1 twice in one
    score = evaluate_words(Categories(words, classes), vectors)
    assert score.dropped == {SEVERAL: 1, TWICE: 1, NOT_FOUND: 1}
    assert (score.n, score.total) == (59, 63)
    assert score.coverage == pytest.approx(62 / 63)
    assert 0 not in score.rows
    web = evaluate_words(Categories(words, classes), vectors, settings=EvaluationSettings(preset="web"))
    assert (web.n, dict(web.dropped)) == (63, {})
    assert web.value < 1.0, "a word in two classes is wrong once"


def test_two_targets_are_compared_on_clusters_of_the_words_that_both_have():
    vectors, categories = made(0.45, seed=2)
    half = StaticVectors(vectors.words[::2], vectors.matrix[::2])
    whole, part = (evaluate_words(categories, one) for one in (vectors, half))
    assert whole.value != part.value
    found = compare_items(whole, part)
    assert (found.difference, found.n) == (0.0, 30), "the same words with the same vectors"


def test_nothing_to_cluster():
    vectors, _ = made(0.1)
    score = evaluate_words(Categories(["x", "y"], ["a", "b"]), vectors)
    assert np.isnan(score.value)
    assert score.n == 0
    assert "undefined" in score.notes[0]
    named = evaluate_words(Categories(["x", "y"], ["a", "b"]), vectors, name="v")
    assert named.notes[0].startswith("undefined for v: ")


def test_a_model_reads_each_word():
    import limbeck as lb

    encoder = lb.load_encoder("mini-bert", units="pieces", layers="-1", device="cpu")
    words = "dog cat horse king queen prince".split()
    score = evaluate_words(
        Categories(words, ["animal"] * 3 + ["royal"] * 3), encoder, settings=EvaluationSettings(draws=10)
    )
    assert (score.n, score.coverage) == (6, 1.0)
    assert 0.5 <= score.value <= 1.0
