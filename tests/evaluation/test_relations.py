"""Degrees of relations beside a plain loop with scipy, and what becomes of words that are missing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from limbeck import StaticVectors
from limbeck.evaluation import EvaluationSettings, Relation, Relations, TableTarget, compare_items, evaluate_words
from limbeck.evaluation.semeval2012 import UNDEFINED, UNKNOWN


def made(seed: int = 0) -> tuple[dict[str, np.ndarray], Relations]:
    rng = np.random.default_rng(seed)
    vectors = {f"w{n}": rng.normal(size=8) * rng.uniform(0.2, 5) for n in range(200)}
    relations = []
    for number, drawn in enumerate(rng.permutation(list(vectors))[:168].reshape(6, 14, 2)):  # no word in two relations
        pairs = [(str(a), str(b)) for a, b in drawn]
        relations.append(Relation(f"{number}a", "AB"[number % 2], pairs[:3], pairs[3:], rng.normal(size=11)))
    return vectors, Relations(relations)


def by_loop(vectors, relation, way: str) -> float:
    unit = {word: vector / np.linalg.norm(vector) for word, vector in vectors.items()}
    left = np.mean([unit[a] for a, _ in relation.prototypes], axis=0)
    right = np.mean([unit[b] for _, b in relation.prototypes], axis=0)
    scores = []
    for a, b in relation.pairs:
        product = (left - right) @ (unit[a] - unit[b])
        lengths = np.linalg.norm(left - right) * np.linalg.norm(unit[a] - unit[b])
        scores.append(product / lengths if way == "cosine" else product)
    return float(stats.spearmanr(scores, relation.gold).statistic)


def test_as_a_plain_loop():
    vectors, relations = made()
    score = evaluate_words(relations, vectors)
    wanted = {way: [by_loop(vectors, one, way) for one in relations.relations] for way in ("cosine", "dot")}
    np.testing.assert_allclose(score.outcomes, wanted["cosine"], atol=1e-6)
    assert score.value == pytest.approx(np.mean(wanted["cosine"]), abs=1e-6)
    assert score.estimates["spearman, dot", "mean", ""].value == pytest.approx(np.mean(wanted["dot"]), abs=1e-6)
    assert wanted["dot"] != pytest.approx(wanted["cosine"], abs=1e-3), "the two must differ for a test"
    assert score.parts["B"].value == pytest.approx(np.mean(wanted["cosine"][1::2]), abs=1e-6)
    assert (score.n, score.total, score.coverage) == (6, 6, 1.0)
    web = evaluate_words(relations, vectors, settings=EvaluationSettings(preset="web"))
    np.testing.assert_allclose(web.outcomes, wanted["dot"], atol=1e-6)
    assert web.metric == "spearman, dot"


def test_missing_words():
    vectors, relations = made(1)
    first, second = relations.relations[:2]
    gone = {first.pairs[0][0], first.pairs[1][1], *(word for pair in second.prototypes for word in pair)}
    left = {word: vector for word, vector in vectors.items() if word not in gone}
    score = evaluate_words(relations, left)
    kept = Relation(first.name, first.group, first.prototypes, first.pairs[2:], first.gold[2:])
    assert score.outcomes[0] == pytest.approx(by_loop(vectors, kept, "cosine"), abs=1e-6)
    assert (score.n, score.total) == (5, 6), "a relation without a typical pair is left out"
    assert score.dropped == {UNKNOWN: 2, UNDEFINED: 1}
    assert score.coverage == pytest.approx((9 / 11 + 5) / 6)
    # the peer: the mean of all unit vectors, and 0 where there is nothing to correlate
    unit = {word: vector / np.linalg.norm(vector) for word, vector in left.items()}
    mean = np.mean(list(unit.values()), axis=0)
    filled = {word: unit.get(word, mean) for word in vectors}
    offset = np.mean([filled[a] - filled[b] for a, b in first.prototypes], axis=0)
    scores = [offset @ (filled[a] - filled[b]) for a, b in first.pairs]
    web = evaluate_words(relations, left, settings=EvaluationSettings(preset="web"))
    assert web.outcomes[0] == pytest.approx(stats.spearmanr(scores, first.gold).statistic, abs=1e-6)
    assert web.outcomes[1] == 0.0, "all typical words are the same mean: no direction at all"
    assert (web.n, dict(web.dropped)) == (6, {})


def test_comparisons_are_on_pairs_that_both_know():
    """Each file lacks other pairs, typical ones too: both are rated anew by what both have."""
    vectors, _ = made(2)
    rng = np.random.default_rng(5)
    relations = []
    for number in range(12):
        drawn = [(str(a), str(b)) for a, b in rng.permutation(list(vectors))[:28].reshape(14, 2)]
        relations.append(Relation(f"{number}a", "A", drawn[:3], drawn[3:], rng.normal(size=11)))
    others = {word: vector + rng.normal(size=8) for word, vector in vectors.items()}
    left = {word: vector for n, (word, vector) in enumerate(vectors.items()) if n % 9}
    right = {word: vector for n, (word, vector) in enumerate(others.items()) if n % 11}
    both = set(left) & set(right)
    values = []
    for side in (left, right):
        rated = []
        for one in relations:
            kept = [all(word in both for word in pair) for pair in one.pairs]
            typical = [pair for pair in one.prototypes if all(word in both for word in pair)]
            pairs = [pair for pair, keep in zip(one.pairs, kept, strict=True) if keep]
            rated.append(by_loop(side, Relation("", "", typical, pairs, one.gold[kept]), "cosine"))
        values.append(np.mean(rated))
    a, b = (evaluate_words(Relations(relations), side) for side in (left, right))
    found = compare_items(a, b, draws=200)
    assert (found.n, a.n, b.n) == (12, 12, 12)
    assert found.difference == pytest.approx(values[0] - values[1], abs=1e-6)
    assert found.difference != pytest.approx(a.value - b.value, abs=1e-3), "the files' own pairs tell something else"
    assert 0 < found.p <= 1
    # the same file with fewer words is no other file
    some = {word: vector for n, (word, vector) in enumerate(vectors.items()) if n % 13}
    same = compare_items(evaluate_words(Relations(relations), some), evaluate_words(Relations(relations), vectors))
    assert same.difference == pytest.approx(0, abs=1e-9)


def test_of_few_relations_no_p_is_made():
    vectors, relations = made(3)
    others = {word: vector + 1 for word, vector in vectors.items()}
    found = compare_items(evaluate_words(relations, vectors), evaluate_words(relations, others), draws=100)
    assert found.n == 6
    assert np.isfinite(found.difference)
    assert np.isnan(found.p)


def test_a_relation_of_which_both_know_too_little_is_left_out():
    vectors, relations = made(4)
    first = relations.relations[0]
    lacking = {pair[0] for pair in first.prototypes[:2]}, {first.prototypes[2][1]}
    sides = [{word: vector for word, vector in vectors.items() if word not in gone} for gone in lacking]
    scores = [evaluate_words(relations, side) for side in sides]
    assert [score.n for score in scores] == [6, 6]
    assert compare_items(*scores, draws=100).n == 5, "no typical pair is left that both know"


def test_several_words_in_one_are_met_with_lines_between():
    relation = Relation(
        "1a", "A", [("New York", "city")], [("New York", "city"), ("x", "y"), ("y", "x")], np.arange(3.0)
    )
    words = ["new_york", "city", "x", "y"]
    vectors = StaticVectors(words, [[1, 0], [0, 1], [1, 1], [-1, 1]])
    assert evaluate_words(Relations([relation]), vectors).coverage == 1.0
    assert evaluate_words(Relations([relation]), TableTarget(vectors, case="keep")).coverage == pytest.approx(2 / 3)
