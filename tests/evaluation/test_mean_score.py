"""The mean over sets: its value, its interval, and the paired difference of two targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from refusals import raises
from scipy import stats

from limbeck.errors import UsageError
from limbeck.evaluation import FIVE, EvaluationSettings, Pairs, compare_means, evaluate, mean_score
from limbeck.evaluation.means import means_of_five


def scored(noise: float, *, sizes=(40, 300), seed: int = 0, drop: int = 0, name: str = "t"):
    """Scores on sets whose words have vectors at an angle that the gold scores tell, with noise."""
    found = []
    for number, size in enumerate(sizes):
        gold = np.random.default_rng(number).uniform(0, 1, size=size)
        rng = np.random.default_rng([seed, number])
        angles = gold * 2 + noise * rng.normal(size=size)
        vectors = {f"a{n}": [1.0, 0.0] for n in range(size)}
        vectors |= {f"b{n}": [np.sin(angle), np.cos(angle)] for n, angle in enumerate(angles)}
        for n in range(drop):
            del vectors[f"b{n}"]
        pairs = Pairs(f"set{number}", "wordsim", [f"a{n}" for n in range(size)], [f"b{n}" for n in range(size)], gold)
        found.append(evaluate(pairs, vectors, name=name, settings=EvaluationSettings(draws=50)))
    return found


def test_a_mean_of_sets_not_of_pairs():
    scores = scored(0.5)
    mean = mean_score(scores, draws=3000)
    values = [stats.spearmanr(score.similarity, score.gold).statistic for score in scores]
    assert mean.value == pytest.approx(np.mean(values))
    assert mean.value != pytest.approx(np.average(values, weights=(40, 300)), abs=1e-3)
    assert (mean.n, mean.total, mean.coverage) == (340, 340, 1.0)
    # resampling by hand, each set by itself
    rng = np.random.default_rng(9)
    drawn = []
    for _ in range(1500):
        rows = [rng.integers(len(s.gold), size=len(s.gold)) for s in scores]
        both = zip(scores, rows, strict=True)
        drawn.append(np.mean([stats.spearmanr(s.similarity[r], s.gold[r]).statistic for s, r in both]))
    low, high = np.quantile(drawn, (0.025, 0.975))
    assert (mean.low, mean.high) == (pytest.approx(low, abs=0.025), pytest.approx(high, abs=0.025))
    row = mean.table_rows()[0]
    assert (row["task"], row["metric"], row["value"]) == ("mean of five", "spearman", mean.value)


def test_two_means_are_paired():
    ours, theirs = scored(0.4, seed=1), scored(0.6, seed=2)
    found = compare_means(ours, theirs, draws=2000)
    assert found.difference == pytest.approx(mean_score(ours).value - mean_score(theirs).value)
    assert found.n == 340
    assert found.low < found.difference < found.high
    same = compare_means({score.task: score for score in ours}, reversed(ours), draws=200)
    assert (same.difference, same.low, same.high, same.p) == (0.0, 0.0, 0.0, 1.0)
    mean = compare_means(mean_score(ours), mean_score(theirs), draws=2000)
    assert mean == found
    # two targets with the same errors, one's a little larger, differ by less than either varies: that is the pairing
    near = scored(0.45, seed=1)
    close, alone = compare_means(ours, near, draws=500), mean_score(ours, draws=500)
    assert close.low > 0
    assert close.high - close.low < (alone.high - alone.low) / 2


def test_only_pairs_that_both_have():
    ours, theirs = scored(0.4, seed=1), scored(0.6, seed=2, drop=10)
    found = compare_means(ours, theirs, draws=100)
    assert found.n == 320
    wanted = []
    for one, other in zip(ours, theirs, strict=True):
        values = [stats.spearmanr(x, one.gold[10:]).statistic for x in (one.similarity[10:], other.similarity)]
        wanted.append(values[0] - values[1])
    assert found.difference == pytest.approx(np.mean(wanted))


def five(sizes, name="t", **options):
    return [
        replace(score, task=task)
        for score, task in zip(scored(0.4, sizes=sizes, name=name, **options), FIVE, strict=True)
    ]


def test_a_set_of_few_pairs_makes_no_mean():
    """Three pairs of one set would weigh as much as 300 of another."""
    enough, few = five((40, 30, 25, 20, 60)), five((40, 30, 25, 20, 60), name="small", drop=19)
    whole, undefined = means_of_five([*enough, *few], draws=50)
    assert np.isfinite(whole.value)
    assert np.isnan([undefined.value, undefined.low, undefined.high]).all()
    which, note = undefined.notes
    assert which == f"over {', '.join(FIVE)}"
    assert note == "undefined for small: fewer than 20 pairs are scored (ws-353 11, simlex-999 6, simverb-3500 1)"
    found = compare_means(whole, undefined, draws=50)
    assert np.isnan([found.difference, found.p]).all()


def test_refused():
    ours = scored(0.4)
    with raises(UsageError, code="not_comparable"):
        compare_means(ours, ours[:1])
    with raises(UsageError, code="not_comparable"):
        compare_means(ours, scored(0.4, sizes=(30, 300)))
    with raises(UsageError, code="not_comparable"):
        mean_score([*ours, *scored(0.4, name="other")])
    with raises(UsageError, code="not_comparable"):
        mean_score([])
