"""What the summing accumulators hold, against numpy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises
from scipy import stats
from scipy.special import logsumexp

from limbeck.accumulators import Moments, Norms, Partition, Sentences, UnitSums, WordSums
from limbeck.accumulators.sentences import LONGEST, REPLICATES, poisson_weights
from limbeck.accumulators.unit_sums import group_of
from limbeck.encoded import Encoded, Groups
from limbeck.errors import LimbeckError
from limbeck.seeds import hash_ids
from limbeck.testing import join, made_texts

SHAPE = {"layers": 2, "dim": 5}


@pytest.fixture(scope="module")
def batch() -> Encoded:
    return join(made_texts(**SHAPE, words=7, seed=3))


def as_batch(x: np.ndarray) -> Encoded:
    n = x.shape[1]
    rows = np.arange(n)
    return Encoded(torch.from_numpy(x), np.full(n, -1), rows, rows, hash_ids(rows))


# --- moments ----------------------------------------------------------------------------------


def test_moments_against_numpy(batch: Encoded):
    moments = Moments(**SHAPE)
    for rows in np.array_split(np.arange(len(batch)), 7):
        moments.update(batch.take(rows))
    x = batch.vectors.numpy()
    assert moments.n == x.shape[1]
    for layer in range(2):
        np.testing.assert_allclose(moments.mean[layer], x[layer].mean(0), rtol=1e-12)
        np.testing.assert_allclose(moments.covariance[layer], np.cov(x[layer], rowvar=False, bias=True), rtol=1e-11)
        np.testing.assert_allclose(moments.second_moment[layer], x[layer].T @ x[layer] / x.shape[1], rtol=1e-11)


@pytest.mark.parametrize("batches", [1, 10])
def test_a_rogue_dimension_in_float32(batches: int):
    """Mean 1000, deviation 1: sums of squares in float32 would keep no digit of the variance."""
    x = np.random.default_rng(0).normal(size=(1, 20_000, 8))
    x[..., 3] += 1000
    x[..., 5] += 1000 + 0.5 * x[..., 3]
    x = x.astype(np.float32)
    moments = Moments(layers=1, dim=8)
    for rows in np.array_split(x, batches, axis=1):
        moments.update(as_batch(rows))
    exact = np.cov(x[0].astype(np.float64), rowvar=False, bias=True)
    scale = np.sqrt(np.outer(np.diag(exact), np.diag(exact)))
    assert np.abs(moments.covariance[0].numpy() - exact).max() < 1e-4 * scale.min()
    np.testing.assert_allclose(np.diag(moments.covariance[0]), np.diag(exact), rtol=1e-4)
    np.testing.assert_allclose(moments.mean[0], x[0].astype(np.float64).mean(0), rtol=1e-6, atol=1e-6)


def test_many_rows_at_once():
    """Longer than one portion of rows: the last portion counts too."""
    x = np.random.default_rng(0).normal(size=(1, 4096 + 5, 3))
    x[:, -5:] += 100
    moments = Moments(layers=1, dim=3)
    moments.update(as_batch(x))
    assert moments.n == 4101
    np.testing.assert_allclose(moments.covariance[0], np.cov(x[0], rowvar=False, bias=True), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_widened(dtype: torch.dtype):
    x = torch.randn(1, 3000, 4, generator=torch.Generator().manual_seed(0)).to(dtype)
    x[..., 1] += 8
    batch = Encoded(x, np.full(3000, -1), np.arange(3000), np.arange(3000), hash_ids(np.arange(3000)))
    exact = x.to(torch.float64).numpy()
    moments, sums, norms = Moments(layers=1, dim=4), UnitSums(layers=1, dim=4), Norms(layers=1, dim=4)
    for accumulator in (moments, sums, norms):
        accumulator.update(batch)
    np.testing.assert_allclose(moments.covariance[0], np.cov(exact[0], rowvar=False, bias=True), rtol=1e-4, atol=1e-5)
    units = exact / np.linalg.norm(exact, axis=2, keepdims=True)
    np.testing.assert_allclose(sums.sums.sum(1)[0], units[0].sum(0), rtol=1e-12)
    np.testing.assert_allclose(norms.sums.sum(), np.linalg.norm(exact, axis=2).sum(), rtol=1e-12)


# --- sums of unit vectors ---------------------------------------------------------------------


def test_unit_sums_by_loops(batch: Encoded):
    sums = UnitSums(**SHAPE)
    sums.update(batch)
    n, pairs = np.zeros(100), np.zeros(100)
    totals, squares = np.zeros((2, 100, 5)), np.zeros((2, 100, 5))
    units = batch.vectors.numpy() / np.linalg.norm(batch.vectors.numpy(), axis=2, keepdims=True)
    for text in np.unique(batch.texts):
        group = int(group_of(np.array([text]))[0])
        mine = units[:, batch.texts == text]
        n[group] += mine.shape[1]
        pairs[group] += mine.shape[1] ** 2
        totals[:, group] += mine.sum(1)
        squares[:, group] += mine.sum(1) ** 2
    assert sums.n.tolist() == n.tolist()
    assert sums.pairs.tolist() == pairs.tolist()
    np.testing.assert_allclose(sums.sums, totals, atol=1e-12)
    np.testing.assert_allclose(sums.squares, squares, atol=1e-12)


def test_word_sums_by_loops(batch: Encoded):
    sums = WordSums(**SHAPE, words=7)
    sums.update(batch)
    units = batch.vectors.numpy() / np.linalg.norm(batch.vectors.numpy(), axis=2, keepdims=True)
    repeated = 0
    for word in range(7):
        mine = batch.words == word
        contexts = [mine & (batch.texts == text) for text in np.unique(batch.texts[mine])]
        repeated += sum(int(c.sum() > 1) for c in contexts)
        assert sums.n[word] == mine.sum()
        assert sums.contexts[word] == len(contexts)
        assert sums.pairs[word] == sum(int(c.sum()) ** 2 for c in contexts)
        np.testing.assert_allclose(sums.sums[:, word], units[:, mine].sum(1), atol=1e-12)
        within = sum((units[:, c].sum(1) ** 2).sum(-1) for c in contexts)
        np.testing.assert_allclose(sums.squares[:, word], within, atol=1e-12)
    assert repeated > 5, "words must repeat inside texts for this test to mean anything"
    assert sums.n.sum() < len(batch), "some words are not followed"


def test_word_sums_state_holds_only_words_that_were_seen(batch: Encoded):
    sums = WordSums(**SHAPE, words=1000)
    sums.update(batch)
    assert sums.state()["sums"].shape == (2, 7, 5)
    again = WordSums.from_state(sums.state(), **sums.settings())
    np.testing.assert_array_equal(again.sums, sums.sums)
    np.testing.assert_array_equal(again.squares, sums.squares)


def test_groups_need_not_stand_together():
    together, apart = Groups.by(np.array([5, 5, 2, 9, 9])), Groups.by(np.array([5, 2, 5, 9, 5]))
    assert together.sizes[together.of_row].tolist() == [2, 2, 1, 2, 2]
    assert together.identities[together.of_row].tolist() == [5, 5, 2, 9, 9]
    assert apart.sizes[apart.of_row].tolist() == [3, 1, 3, 1, 3]
    assert apart.identities[apart.of_row].tolist() == [5, 2, 5, 9, 5]


# --- sentences --------------------------------------------------------------------------------


def sentence_values(batch: Encoded) -> dict[int, np.ndarray]:
    x = batch.vectors.numpy()
    values = {}
    for sentence in np.unique(batch.sentences):
        mine = x[:, batch.sentences == sentence]
        mean = mine.mean(1, keepdims=True)
        cosines = (mine * mean).sum(-1) / np.linalg.norm(mine, axis=2) / np.linalg.norm(mean, axis=2)
        if mine.shape[1] > 1:
            values[int(sentence)] = cosines.mean(1)
    return values


def test_sentences_by_loops(batch: Encoded):
    sentences = Sentences(**SHAPE)
    sentences.update(batch)
    values = sentence_values(batch)
    _, sizes = np.unique(batch.sentences, return_counts=True)
    assert sentences.n == len(values)
    assert sentences.single == (sizes == 1).sum() > 0
    np.testing.assert_allclose(sentences.totals[:2, 0], sum(values.values()), rtol=1e-12)
    assert sentences.lengths[2:7].tolist() == [int((sizes == k).sum()) for k in range(2, 7)]
    assert sentences.lengths[:2].sum() == 0
    weights = poisson_weights(hash_ids(np.array(list(values))))
    np.testing.assert_allclose(sentences.totals[:2, 1:], np.array(list(values.values())).T @ weights, rtol=1e-11)
    np.testing.assert_allclose(sentences.totals[2, 1:], weights.sum(0))


def test_a_limit_keeps_the_sentences_of_smallest_hash(batch: Encoded):
    limited = Sentences(**SHAPE, limit=9)
    limited.update(batch)
    values = sentence_values(batch)
    smallest = sorted(values, key=lambda s: int(hash_ids(np.array([s]))[0]))[:9]
    assert limited.n == 9 < len(values)
    np.testing.assert_allclose(limited.totals[:2, 0], sum(values[s] for s in smallest), rtol=1e-12)
    assert limited.lengths.sum() == 9


def test_very_long_sentences_count_as_the_longest():
    n = LONGEST + 10
    x = torch.ones(1, n, 2, dtype=torch.float64)
    sentences = Sentences(layers=1, dim=2)
    sentences.update(Encoded(x, np.full(n, -1), np.zeros(n, np.int64), np.zeros(n, np.int64), hash_ids(np.arange(n))))
    assert np.flatnonzero(sentences.lengths).tolist() == [LONGEST]
    assert sentences.totals[0, 0] == pytest.approx(1)


def test_poisson_weights_have_mean_one_and_variance_one():
    weights = poisson_weights(hash_ids(np.arange(5000)))
    assert weights.shape == (5000, REPLICATES)
    assert weights.mean() == pytest.approx(1, abs=0.005)
    assert weights.var() == pytest.approx(1, abs=0.01)
    counts = np.bincount(weights.astype(int).ravel(), minlength=8)[:8] / weights.size
    np.testing.assert_allclose(counts, stats.poisson(1).pmf(np.arange(8)), atol=0.002)
    # replicates are independent of each other, and sentences too
    assert np.abs(np.corrcoef(weights[:, :40].T) - np.eye(40)).max() < 0.08
    assert np.abs(np.corrcoef(weights[:40]) - np.eye(40)).max() < 0.35
    # a function of the hash alone
    some = hash_ids(np.array([17, 3]))
    np.testing.assert_array_equal(poisson_weights(some), weights[[17, 3]])


# --- norms, partition -------------------------------------------------------------------------


def test_norms_against_numpy(batch: Encoded):
    norms = Norms(**SHAPE)
    norms.update(batch)
    lengths = np.linalg.norm(batch.vectors.numpy(), axis=2)
    np.testing.assert_allclose(norms.sums.sum(1), lengths.sum(1), rtol=1e-12)
    np.testing.assert_allclose(norms.squares.sum(1), (lengths**2).sum(1), rtol=1e-12)
    np.testing.assert_allclose(norms.least, lengths.min(1), rtol=1e-14)
    np.testing.assert_allclose(norms.greatest, lengths.max(1), rtol=1e-14)
    group = group_of(batch.texts)
    assert norms.n.tolist() == np.bincount(group, minlength=100).tolist()
    np.testing.assert_allclose(norms.sums[1], np.bincount(group, weights=lengths[1], minlength=100), rtol=1e-12)


def test_partition_against_scipy(batch: Encoded):
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 5, 5)))[0]
    partition = Partition(**SHAPE, basis=torch.from_numpy(basis))
    for rows in np.array_split(np.arange(len(batch)), 3):
        partition.update(batch.take(rows))
    for layer in range(2):
        along = batch.vectors[layer].numpy() @ basis[layer]
        np.testing.assert_allclose(partition.sums[layer, 0], logsumexp(along, axis=0), rtol=1e-12)
        np.testing.assert_allclose(partition.sums[layer, 1], logsumexp(-along, axis=0), rtol=1e-12)
        np.testing.assert_allclose(
            partition.moments[layer], [along.sum(0), (along**2).sum(0), (along**3).sum(0)], rtol=1e-10
        )


def test_partitions_on_other_bases_do_not_merge(batch: Encoded):
    one, other = (Partition(**SHAPE, basis=torch.eye(5).repeat(2, 1, 1) * scale) for scale in (1, -1))
    with raises(LimbeckError, code="other_settings"):
        one.merge(other)


def test_other_kinds_do_not_merge():
    with raises(LimbeckError, code="other_kind"):
        Norms(**SHAPE).merge(UnitSums(**SHAPE))
