"""Scores of pairs that are equal in exact arithmetic are ties, however sums round: beside a loop over fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from limbeck import StaticVectors
from limbeck.evaluation import EvaluationSettings, Relation, Relations, evaluate_words, word_tasks
from limbeck.evaluation.correlations import level
from limbeck.evaluation.semeval2012 import rate_relations
from limbeck.evaluation.web import as_loaded
from limbeck.evaluation.word_vectors import WordTable

QUICK = EvaluationSettings(draws=2)
WEB = EvaluationSettings(preset="web", draws=2)

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "words"


def exactly(vectors: StaticVectors, relations: Relations) -> float:
    """The score of the preset "web" in whole numbers: the mean vector for unknown words, the product, 0 if undefined.

    Every number of float32 is a whole one times 2⁻¹⁴⁹, and all vectors times their number have a whole mean.
    """
    loaded = as_loaded(vectors)
    whole = [[int(Fraction(float(x)) * 2**149) for x in row] for row in loaded.matrix]
    known = {word: [x * len(whole) for x in row] for word, row in zip(loaded.words, whole, strict=True)}
    mean = [sum(column) for column in zip(*whole, strict=True)]
    values = []
    for one in relations.relations:
        left, right = ([known.get(pair[side], mean) for pair in one.prototypes] for side in (0, 1))
        offset = [sum(a) - sum(b) for a, b in zip(zip(*left, strict=True), zip(*right, strict=True), strict=True)]
        scores = [
            sum((x - y) * o for x, y, o in zip(known.get(a, mean), known.get(b, mean), offset, strict=True))
            for a, b in one.pairs
        ]
        values.append(spearman(scores, one.gold.tolist()))
    return sum(values) / len(values)


def spearman(scores: list[int], gold: list[float]) -> float:
    """Ranks are twice how many are smaller and once how many are equal, whole numbers about their mean."""
    first, second = (
        [2 * sum(y < x for y in side) + sum(y == x for y in side) - len(side) for x in side] for side in (scores, gold)
    )
    xy, xx, yy = (
        sum(x * y for x, y in zip(a, b, strict=True)) for a, b in ((first, second), (first, first), (second, second))
    )
    return xy / math.sqrt(xx * yy) if xx and yy else 0.0


def made(seed: int) -> tuple[StaticVectors, Relations]:
    """Half of the words of most pairs are unknown; the typical pairs of every third relation cancel out."""
    rng = np.random.default_rng(seed)
    vectors = StaticVectors([f"w{n}" for n in range(20)], rng.normal(size=(20, 37)))
    unknown = [f"?{n}" for n in range(20)]
    relations = []
    for number in range(9):
        pairs = [(str(a), str(b)) for a, b in rng.choice([*vectors.words, *unknown], size=(30, 2))]
        a, b, c = rng.choice(vectors.words, size=3, replace=False).tolist()
        typical = [(a, "?1"), ("?2", b), (c, "?3")]
        if number % 3 == 0:
            typical = [(a, b), (b, c), (c, "?1"), ("?2", a)]  # both sides have the same words in another order
        relations.append(Relation(f"{number}a", "A", typical, pairs, rng.integers(0, 9, size=30).astype(float)))
    return vectors, Relations(relations)


def in_other_order(relations: Relations, rng: np.random.Generator) -> Relations:
    found = []
    for one in relations.relations:
        pairs, typical = rng.permutation(len(one.pairs)), rng.permutation(len(one.prototypes))
        found.append(
            Relation(
                one.name,
                one.group,
                [one.prototypes[at] for at in typical],
                [one.pairs[at] for at in pairs],
                one.gold[pairs],
            )
        )
    return Relations(found)


@pytest.mark.parametrize("seed", range(3))
def test_ties_are_those_of_exact_arithmetic(seed: int) -> None:
    vectors, relations = made(seed)
    wanted = exactly(vectors, relations)
    assert evaluate_words(relations, vectors, settings=WEB).value == pytest.approx(wanted, abs=1e-12)
    rng = np.random.default_rng(seed)
    for _ in range(3):
        score = evaluate_words(in_other_order(relations, rng), vectors, settings=WEB)
        assert score.value == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("noise", [0.0, 1e-16, 1e-12])
@pytest.mark.parametrize("size", [1.0, 1e-6, 1e6])
def test_noise_of_rounding_decides_nothing(noise: float, size: float) -> None:
    vectors, relations = made(5)
    wanted = exactly(vectors, relations)
    rng = np.random.default_rng(0)
    loaded = as_loaded(vectors)
    near = {
        word: size * (row.astype(np.float64) + noise * rng.normal(size=len(row)))
        for word, row in zip(loaded.words, loaded.matrix, strict=True)
    }
    found = rate_relations(
        relations, WordTable(near, "mean", "keep"), likeness="dot", undefined_is_zero=True, normalize=False
    )
    assert found.outcomes["spearman, dot"].mean() == pytest.approx(wanted, abs=1e-12)


def test_no_direction_is_undefined_for_the_cosine_too() -> None:
    """Words on both sides alike: what sums leave of x̄ − ȳ is rounding, of which a cosine would make a score."""
    vectors, relations = made(1)
    for cancelled in relations.relations[::3]:
        lost = Relation("0a", "A", cancelled.prototypes[:2], cancelled.pairs, cancelled.gold)
        cycle = [*lost.prototypes, (lost.prototypes[1][1], lost.prototypes[0][0])]
        score = evaluate_words(
            Relations([Relation("0a", "A", cycle, lost.pairs, lost.gold)]),
            vectors,
            settings=EvaluationSettings(draws=2),
        )
        assert math.isnan(score.value)


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
def test_ties_of_the_released_relations() -> None:
    relations, _ = word_tasks(SHARED, "semeval-2012-2-all")["semeval-2012-2-all"].read()
    assert isinstance(relations, Relations)
    words = sorted({word for one in relations.relations for pair in one.pairs for word in pair})
    vectors = StaticVectors(words[::7], np.random.default_rng(2).normal(size=(len(words[::7]), 50)))
    score = evaluate_words(relations, vectors, settings=WEB)
    assert score.value == pytest.approx(exactly(vectors, relations), abs=1e-12)


def test_level_knows_no_cells() -> None:
    """Equal numbers stay equal wherever on the line they lie, and numbers further apart stay different."""
    rng = np.random.default_rng(0)
    exact = rng.integers(-500, 500, size=2000) * 5e-10  # every second lies on the edge between cells of 1e-9
    exact = exact[(exact / 5e-10).round() % 8 == 1]
    made = level(exact + rng.uniform(-1e-16, 1e-16, size=len(exact)))
    for number in np.unique(exact):
        assert len(np.unique(made[exact == number])) == 1
    assert len(np.unique(made)) == len(np.unique(exact))
    assert level(np.empty(0)).tolist() == []
    np.testing.assert_array_equal(level(np.array([np.nan, 0.1, 0.5])), [np.nan, 0.1, 0.5])
