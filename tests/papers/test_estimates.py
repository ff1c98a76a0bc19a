"""Numbers with intervals: what can be said of them, and the statistics over words, beside scipy's."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from limbeck.papers.estimates import CannotShow, Curve, Estimate, Verdict, at_least, every, mean_of, opposite
from limbeck.papers.statistics import over_words, partial_spearman, ranks, spearman, superiority

HELD, NOT_HELD, CLOSE, UNSHOWN = Verdict.HELD, Verdict.NOT_HELD, Verdict.CLOSE, Verdict.UNSHOWN


@pytest.mark.parametrize(
    ("value", "error", "above", "below"),
    [
        (0.3, 0.05, HELD, NOT_HELD),
        (0.1, 0.05, NOT_HELD, HELD),
        (0.22, 0.05, CLOSE, CLOSE),
        (0.18, 0.05, CLOSE, CLOSE),
        (0.2, 0.0, NOT_HELD, NOT_HELD),  # on the threshold is neither above nor below, and without doubt
        (0.21, 0.0, HELD, NOT_HELD),
    ],
)
def test_a_threshold_within_the_interval_is_too_close(
    value: float, error: float, above: Verdict, below: Verdict
) -> None:
    assert Estimate(value, error).above(0.2) is above
    assert Estimate(value, error).below(0.2) is below


def test_errors_of_differences_and_means() -> None:
    assert (Estimate(0.5, 0.3) - Estimate(0.1, 0.4)).error == pytest.approx(0.5)
    both = mean_of([Estimate(0.5, 0.1), Estimate(0.1, 0.3)])
    assert (both.value, both.error) == pytest.approx((0.3, 0.2))  # as if they erred together: nothing cancels
    assert str(Estimate(-0.25, 0.125)) == "−0.250 ± 0.125"


def test_verdicts_together() -> None:
    assert every([HELD, CLOSE, NOT_HELD]) is NOT_HELD
    assert every([HELD, CLOSE, UNSHOWN]) is CLOSE
    assert every([HELD, UNSHOWN]) is HELD
    assert every([UNSHOWN]) is every([]) is UNSHOWN
    assert at_least(2, [HELD, HELD, NOT_HELD]) is HELD
    assert at_least(2, [HELD, CLOSE, NOT_HELD]) is CLOSE
    assert at_least(3, [HELD, CLOSE, NOT_HELD]) is NOT_HELD
    assert [opposite(verdict) for verdict in (HELD, NOT_HELD, CLOSE)] == [NOT_HELD, HELD, CLOSE]


def test_halves_leave_out_the_middle() -> None:
    layers, errors = tuple("01234"), np.zeros(5)
    lower, upper = Curve(layers, np.array([1.0, 2.0, 99.0, 4.0, 6.0]), errors).halves()
    assert (lower.value, upper.value) == (1.5, 5.0)
    with pytest.raises(CannotShow, match="layer 2 has no value"):
        Curve(layers, np.array([1.0, 2.0, np.nan, 4.0, 6.0]), errors).lowest()
    with pytest.raises(CannotShow, match="two layers"):
        Curve(("0",), np.array([1.0]), np.zeros(1)).halves()


@pytest.fixture
def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    generator = np.random.default_rng(1)
    x = generator.normal(size=200).round(1)  # with ties
    z = (x + generator.normal(size=200)).round(1)
    return x, (z - 0.5 * x + generator.normal(size=200)).round(1), z


def test_statistics_are_scipys(columns: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, z = columns
    np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    assert np.isnan(spearman(x, np.ones(200)))
    assert superiority(x, y) == pytest.approx(1 - stats.mannwhitneyu(x, y).statistic / 200**2)
    left = [stats.rankdata(side) - np.polyval(np.polyfit(stats.rankdata(z), stats.rankdata(side), 1), stats.rankdata(z))
            for side in (x, y)]  # fmt: skip
    assert partial_spearman(x, y, z) == pytest.approx(np.corrcoef(*left)[0, 1])


def test_intervals_over_words(columns: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, _ = columns
    mean = over_words(lambda values: float(values.mean()), x, name="mean")
    assert mean.value == x.mean()
    assert mean.error == pytest.approx(1.96 * x.std() / np.sqrt(200), rel=0.15)
    assert over_words(spearman, x, y, name="a") == over_words(spearman, x, y, name="a")
    undefined = over_words(lambda values: float("nan"), x, name="nothing")
    assert undefined.error == 0
