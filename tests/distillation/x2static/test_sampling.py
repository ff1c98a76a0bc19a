"""Targets and negatives are drawn as the paper's code drew them, and by identity alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import stats

from limbeck.distillation.x2static.objectives import Targets, draw_negatives
from limbeck.distillation.x2static.sampling import Negatives, keep_probabilities, kept, mixed
from limbeck.distillation.x2static.settings import X2Static
from limbeck.seeds import hash_ids

CPU = torch.device("cpu")
COUNTS = np.array([100_000, 20_000, 9_000, 4_000, 900, 400, 100, 25, 9, 1])


def keys(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64)


def test_keep_probabilities_are_those_of_the_published_code() -> None:
    # the figures of docs/fidelity.md §4.8, t = 5e-6
    shares = {0.05: 0.010, 0.01: 0.023, 1e-3: 0.076, 1e-4: 0.27, 1.3e-5: 1.0}
    counts = np.array([*(round(share * 1e9) for share in shares), 0])
    counts[-1] = 10**9 - counts.sum()
    found = keep_probabilities(counts, 5e-6)[:-1]
    np.testing.assert_allclose(found, list(shares.values()), rtol=0.03)
    assert (keep_probabilities(counts, 0.0) == 1).all()


def test_as_many_are_kept_as_their_probability_says() -> None:
    words = np.repeat([0, 1], 40_000)
    chosen = kept(words, keys(80_000), np.array([0.1, 0.7]), seed=3, epoch=0)
    for word, share in ((0, 0.1), (1, 0.7)):
        assert stats.binomtest(int(chosen[words == word].sum()), 40_000, share).pvalue > 1e-3
    again = kept(words, keys(80_000), np.array([0.1, 0.7]), seed=3, epoch=1)
    assert 0 < (chosen != again).mean() < 0.5  # another epoch, other targets


def test_hash_on_the_device_is_the_hash_of_the_host() -> None:
    ids = np.concatenate([keys(1000), np.array([0, 2**63, 2**64 - 1], dtype=np.uint64)])
    for salt in (0, 7, 2**64 - 3):
        np.testing.assert_array_equal(
            mixed(torch.from_numpy(ids.view(np.int64)), salt).numpy().view(np.uint64), hash_ids(ids, salt=salt)
        )


@pytest.mark.parametrize("exponent", [0.5, 0.75, 0.0])
def test_negatives_follow_a_power_of_the_counts(exponent: float) -> None:
    drawn = Negatives(COUNTS, exponent, device=CPU).draw(
        torch.from_numpy(keys(20_000).view(np.int64)), 10, seed=1, epoch=0
    )
    expected = COUNTS**exponent / (COUNTS**exponent).sum() * drawn.numel()
    found = np.bincount(drawn.reshape(-1).numpy(), minlength=len(COUNTS))
    assert stats.chisquare(found, expected).pvalue > 1e-3
    other = COUNTS ** (exponent + 0.02) / (COUNTS ** (exponent + 0.02)).sum() * drawn.numel()
    assert stats.chisquare(found, other).pvalue < 1e-6  # another exponent would be noticed


def test_the_ten_of_a_target_are_drawn_apart() -> None:
    drawn = Negatives(np.ones(50, dtype=int), 0.5, device=CPU).draw(
        torch.from_numpy(keys(20_000).view(np.int64)), 2, seed=1, epoch=0
    )
    table = np.zeros((50, 50))
    np.add.at(table, (drawn[:, 0].numpy(), drawn[:, 1].numpy()), 1)
    assert stats.chi2_contingency(table).pvalue > 1e-3


def test_negatives_depend_on_the_occurrence_alone() -> None:
    negatives = Negatives(COUNTS, 0.5, device=CPU)
    ids = torch.from_numpy(keys(500).view(np.int64))
    whole = negatives.draw(ids, 5, seed=2, epoch=1)
    backwards = negatives.draw(ids.flip(0), 5, seed=2, epoch=1)
    assert torch.equal(whole, backwards.flip(0))
    assert not torch.equal(whole, negatives.draw(ids, 5, seed=2, epoch=2))
    assert not torch.equal(whole, negatives.draw(ids, 5, seed=3, epoch=1))


def test_released_negatives_come_round_again() -> None:
    settings = X2Static(negatives=3, reuse=True)
    n, texts = 50, 4
    none = np.zeros(n, dtype=np.int64)
    targets = Targets(none, none, keys(n), np.array([0, n]), texts=texts, number=0, epoch=0, places=none)
    drawn = draw_negatives(Negatives(COUNTS, 0.5, device=CPU), targets, settings, CPU)
    period = texts  # 3 × 4 draws serve 4 targets
    assert torch.equal(drawn[period : 2 * period], drawn[:period])
    assert torch.equal(drawn[12 * period :], drawn[: n - 12 * period])
    fresh = draw_negatives(Negatives(COUNTS, 0.5, device=CPU), targets, settings.with_changes(reuse=False), CPU)
    assert not torch.equal(fresh[period : 2 * period], fresh[:period])
