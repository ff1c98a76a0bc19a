"""Tuning: one clustering serves all numbers of components, every setting is kept, the best is the best."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises
from scipy import stats

import limbeck as lb
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import (
    EvaluationSettings,
    Pairs,
    ScoreSettings,
    TableTarget,
    Tuning,
    TuningSettings,
    enhancement,
    enhancement_table,
    sweep,
    tune,
)
from limbeck.evaluation.rows import TextRows, fitted_on
from limbeck.evaluation.tuning import nested_means
from limbeck.measures import log10_isotropy, log10_isotropy_one_sign

RNG = np.random.default_rng(5)
WORDS = [f"w{number}" for number in range(60)]
VECTORS = lb.StaticVectors(WORDS, RNG.normal(size=(60, 12)) * np.linspace(2, 0.3, 12) + 1.5 * RNG.normal(size=12))


def texts(count: int) -> list[str]:
    return [" ".join(RNG.choice(WORDS, size=RNG.integers(2, 9))) for _ in range(count)]


FIRST, SECOND = texts(40), texts(40)
FIRST[7] = SECOND[3] = FIRST[0]  # a text that occurs three times
PAIRS = Pairs("made", "sts", FIRST, SECOND, RNG.random(40) * 5, subsets=["a"] * 15 + ["b"] * 25)
TARGET = TableTarget(VECTORS)


def test_nested_components_are_those_of_separate_fits():
    rows = TARGET.rows(list(dict.fromkeys([*FIRST, *SECOND])))
    x = rows.vectors[0].double()
    weights = np.arange(1, len(x) + 1) % 3 + 1.0
    counts = (0, 1, 4, 11, 12)
    fitted = fitted_on(lb.repairs.ClusterRemoval(4, 12, random_state=2), x, weights)
    for count, means in zip(counts, nested_means(fitted, rows, x, counts), strict=True):
        alone = fitted_on(lb.repairs.ClusterRemoval(4, count, random_state=2), x, weights)
        np.testing.assert_allclose(means, rows.means(alone.transform(x)).numpy(), atol=1e-9)
    assert not means.any(), "of twelve dimensions without twelve components nothing is left"


def test_every_score_is_that_of_a_sweep():
    """One pass and one clustering a k, against each setting by itself."""
    tuned = tune(PAIRS, TARGET, settings=TuningSettings(clusters=[2, 5], components=[1, 3], seeds=2))
    assert tuned.clusters == (1, 2, 5)
    assert tuned.baseline == pytest.approx(sweep(PAIRS, TARGET, settings=EvaluationSettings(draws=5))[0].value)
    for row, k in enumerate(tuned.clusters):
        for column, count in enumerate(tuned.components):
            for place, seed in enumerate(tuned.seeds):
                repair = (
                    lb.repairs.AllButTheTop(count) if k == 1 else lb.repairs.ClusterRemoval(k, count, random_state=seed)
                )
                (score,) = sweep(PAIRS, TARGET, repairs={"": repair}, settings=EvaluationSettings(draws=5))
                assert tuned.scores[row, column, place] == pytest.approx(score.value, abs=2e-3)


def test_aggregation_and_metric_are_those_asked_for():
    tuned = tune(
        PAIRS,
        TARGET,
        settings=TuningSettings(clusters=[2], components=[2], seeds=1),
        scores=ScoreSettings(metric="pearson", aggregation="weighted"),
    )
    (score,) = sweep(
        PAIRS,
        TARGET,
        repairs={"": lb.repairs.ClusterRemoval(2, 2)},
        settings=EvaluationSettings(metric="pearson", draws=5),
    )
    x, gold = score.similarity, score.gold
    expected = (15 * stats.pearsonr(x[:15], gold[:15])[0] + 25 * stats.pearsonr(x[15:], gold[15:])[0]) / 40
    assert tuned.scores[1, 0, 0] == pytest.approx(expected, abs=1e-5)
    assert (tuned.metric, tuned.aggregation) == ("pearson", "weighted")


def test_the_best_and_the_table():
    scores = np.zeros((3, 2, 2))
    scores[0, 1] = 0.5  # global
    scores[2, 0] = [0.4, 0.8]
    scores[1, 1] = [0.6, 0.5]
    tuned = Tuning("t", "x", "12", "spearman", "pooled", (1, 5, 9), (2, 3), (0, 1), scores, 0.1)
    assert tuned.best(clustered=True) == (9, 2)
    assert tuned.best(clustered=False) == (1, 3)
    assert list(tuned.best_repairs()) == ["global 3", "cluster 9/2"]
    assert tuned.best_repairs(seed=7)["cluster 9/2"].get_params()["random_state"] == 7
    table = tuned.table()
    assert len(table["value"]) == 6
    at = table["clusters"].index(9)
    assert (table["value"][at], table["lowest"][at], table["highest"][at]) == (pytest.approx(0.6), 0.4, 0.8)
    assert table["sd"][at] == pytest.approx(np.std([0.4, 0.8], ddof=1))
    assert table["seeds"][0] == 1
    assert np.isnan(table["sd"][0]), "chance has no part in the global method"
    scores[1:] = np.nan
    with raises(UsageError, code="empty"):
        tuned.best(clustered=True)
    scores[:] = 0.3
    assert tuned.best(clustered=True) == (5, 2), "of equal ones the smallest"


def test_refused():
    words = Pairs("words", "wordsim", ["a"], ["b"], [1.0])
    with raises(UsageError, code="unsupported"):
        tune(words, TARGET)
    for name, given in (("clusters", [0]), ("components", [])):
        with raises(UsageError, code="malformed", parameter=name):
            TuningSettings(**{name: given})
    with raises(InputError, code="no_vectors"):
        tune(Pairs("none", "sts", ["x", "y"], ["z", "z"], [1, 2]), TARGET)


# --- the tables of Rajaee & Pilehvar -----------------------------------------------------------


def test_enhancement():
    inductive = lb.repairs.AllButTheTop(2).fit(RNG.normal(size=(100, 12)))
    repairs = {
        "baseline": None,
        "global": lb.repairs.AllButTheTop(2),
        "cluster": lb.repairs.ClusterRemoval(3, 2),
        "other text": inductive,
    }
    found = list(enhancement([PAIRS], TARGET, repairs=repairs, settings=EvaluationSettings(draws=20), seeds=3))
    assert [one.setting for one in found] == list(repairs)
    assert [one.runs for one in found] == [1, 1, 3, 1]
    # the rows of all sentences one after the other, by plain lookups
    listed = [*FIRST, *SECOND]
    x = np.concatenate([np.stack([VECTORS[word] for word in text.split()]) for text in listed]).astype(np.float64)
    owner = np.repeat(np.arange(80), [len(text.split()) for text in listed])
    for one, repair in zip(found, repairs.values(), strict=True):
        scores, isotropies = [], []
        for seed in (0, 1, 2):
            if isinstance(repair, lb.repairs.ClusterRemoval):
                y = lb.repairs.ClusterRemoval(3, 2, random_state=seed).fit_transform(x)
            elif repair is inductive:
                y = inductive.transform(x)
            else:
                y = x if repair is None else lb.repairs.AllButTheTop(2).fit_transform(x)
            means = np.stack([y[owner == text].mean(axis=0) for text in range(80)])
            cosines = [
                a @ b / np.linalg.norm(a) / np.linalg.norm(b) for a, b in zip(means[:40], means[40:], strict=True)
            ]
            scores.append(stats.spearmanr(cosines, PAIRS.gold).statistic)
            isotropies.append((log10_isotropy(y).value, log10_isotropy_one_sign(y).value))
        assert one.value == pytest.approx(np.mean(scores[: one.runs]), abs=1e-3)
        both, one_sign = np.mean(isotropies[: one.runs], axis=0)
        assert one.log10_isotropy == pytest.approx(both, abs=1e-3)
        assert one.log10_isotropy_one_sign == pytest.approx(one_sign, abs=1e-3)
        assert one.rows == len(x), "a text that occurs three times counts three times"
        assert one.coverage == 1.0
    assert found[2].sd == pytest.approx(np.std([score.value for score in found[2].scores], ddof=1))
    table = enhancement_table(found)
    assert table["setting"] == list(repairs)
    assert "scores" not in table
    assert enhancement_table([]) == {}


def test_rows_are_repeated_as_often_as_told():
    rows = TextRows(("0",), torch.zeros(1, 3, 2), np.array([0, 1, 1]), 3)
    assert rows.repeated(np.array([2, 1, 5])).tolist() == [0, 0, 1, 2]
