"""Anisotropy, self-similarity and intra-sentence similarity: closed forms, undefined values, baselines."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from limbeck.accumulators import Points, SentencePoints, Sentences, UnitSums, WordSums
from limbeck.encoded import Encoded
from limbeck.measures import (
    anisotropy,
    intra_sentence_similarity,
    intra_sentence_similarity_matched,
    self_similarity,
)
from limbeck.measures.arrays import observe
from limbeck.measures.contextuality import (
    anisotropy_of,
    dimension_shares_of,
    intra_sentence_similarity_of,
    matched_baseline_of,
    sampled_anisotropy_of,
    self_similarity_of,
)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def simplex(n: int) -> np.ndarray:
    """n + 1 unit vectors in n + 1 dimensions with pair cosine −1/n."""
    return unit(np.eye(n + 1) - 1 / (n + 1))


# --- anisotropy -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "value"),
    [
        pytest.param(np.eye(5), 0.0, id="orthonormal"),
        pytest.param(np.outer([1.0, 5.0, 0.2], [3.0, 4.0]), 1.0, id="one direction"),
        pytest.param(np.ones((4, 3)), 1.0, id="equal"),
        pytest.param(np.array([[1.0, 2.0], [-1.0, -2.0]]), -1.0, id="antipodal pair"),
        pytest.param(np.repeat([[1.0, 2.0], [-3.0, -6.0]], 3, axis=0), -0.2, id="antipodal halves"),
        pytest.param(simplex(4), -1 / 4, id="simplex"),
    ],
)
def test_closed_forms(x: np.ndarray, value: float):
    assert anisotropy(x).value == pytest.approx(value, abs=1e-14)
    assert self_similarity(x, words=["w"] * len(x))["w"] == pytest.approx(value, abs=1e-14)


def test_pairs_inside_a_context_do_not_count():
    # two contexts of two equal vectors each, orthogonal to each other: all pairs would give 1/3
    x = np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    assert anisotropy(x, contexts=[0, 0, 1, 1]).value == 0.0
    assert anisotropy(x).value == pytest.approx(1 / 3)


def test_contexts_of_unequal_size_weigh_by_their_pairs():
    x = np.random.default_rng(0).normal(size=(9, 3)) + 1
    contexts = np.array([0, 0, 0, 0, 0, 1, 1, 2, 3])
    pairs = [unit(x)[i] @ unit(x)[j] for i, j in itertools.combinations(range(9), 2) if contexts[i] != contexts[j]]
    assert anisotropy(x, contexts=contexts).value == pytest.approx(np.mean(pairs), rel=1e-12)
    assert len(pairs) == 25


def test_one_context_has_no_pair():
    result = anisotropy(np.random.default_rng(0).normal(size=(6, 3)), contexts=[4] * 6)
    assert np.isnan(result.value)
    assert result.note == "all occurrences stand in one context"
    assert np.isnan(anisotropy(np.ones((1, 3))).value)


def test_shifted_cloud():
    """Independent vectors of norm about √(d + m²) around a mean of length m: cosine about m² / (d + m²)."""
    d, m = 200, 20.0
    x = np.random.default_rng(0).normal(size=(4000, d))
    x[:, 0] += m
    assert anisotropy(x).value == pytest.approx(m**2 / (d + m**2), rel=0.01)


def test_sampled_anisotropy_meets_itself():
    """As the released code did: with replacement, so that orthogonal points do not give 0 but 1/n."""
    points = Points(layers=1, dim=10, capacity=10)
    points.update(observe(np.eye(10)).batch)
    result = sampled_anisotropy_of(points, pairs=20_000, seed=0)
    assert result.value[0] == pytest.approx(0.1, abs=0.01)
    assert result.n == 20_000
    assert result.low[0] < 0.1 < result.high[0]
    assert np.isnan(sampled_anisotropy_of(Points(layers=1, dim=3, capacity=5), pairs=10, seed=0).value).all()


# --- shares of dimensions ---------------------------------------------------------------------


def brute_shares(x: np.ndarray, contexts: np.ndarray) -> np.ndarray:
    u = unit(x)
    total = sum(u[i] * u[j] for i in range(len(x)) for j in range(len(x)) if contexts[i] != contexts[j])
    return total / total.sum()


def test_dimension_shares_by_brute_force():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(30, 4)) + np.array([5, 1, 0, 0])
    contexts = generator.integers(9, size=30)
    sums = UnitSums(layers=1, dim=4)
    sums.update(observe(x, contexts=contexts).batch)
    shares, low, high = dimension_shares_of(sums)
    np.testing.assert_allclose(shares[0], brute_shares(x, contexts), rtol=1e-11)
    assert shares.sum() == pytest.approx(1)
    # delete-a-group jackknife: with few texts each is a group of its own, unless hashes collide
    assert (sums.n > 0).sum() == 9
    rest = np.stack([brute_shares(x[contexts != c], contexts[contexts != c]) for c in range(9)])
    error = 1.959964 * np.sqrt(8 / 9 * ((rest - rest.mean(0)) ** 2).sum(0))
    np.testing.assert_allclose(high[0] - low[0], 2 * error, rtol=1e-9)


def test_a_rogue_dimension_has_the_largest_share():
    x = np.random.default_rng(1).normal(size=(50, 6))
    x[:, 3] += 30
    sums = UnitSums(layers=1, dim=6)
    sums.update(observe(x).batch)
    assert dimension_shares_of(sums)[0][0, 3] > 0.95


def test_dimension_shares_without_two_contexts_are_undefined():
    x = np.random.default_rng(1).normal(size=(5, 3))
    one, two = UnitSums(layers=1, dim=3), UnitSums(layers=1, dim=3)
    one.update(observe(x, contexts=[1] * 5).batch)
    two.update(observe(x, contexts=[1, 1, 1, 2, 2]).batch)
    assert all(np.isnan(part).all() for part in dimension_shares_of(one))
    share, low, high = dimension_shares_of(two)
    assert np.isfinite(share).all()
    assert np.isnan(low).all()
    assert np.isnan(high).all()


# --- self-similarity --------------------------------------------------------------------------


def test_two_mentions_in_one_context_are_not_two():
    x = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    result = self_similarity(x, words=["w"] * 3, contexts=["a", "a", "b"])
    assert result["w"] == 0.0


def test_released_code_counts_every_pair():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(12, 4)) + 1
    words = np.array(["a", "b"])[generator.integers(2, size=12)]
    seen = observe(x, words=words, contexts=generator.integers(4, size=12))
    sums = WordSums(layers=1, dim=4, words=2)
    sums.update(seen.batch)
    released = self_similarity_of(
        sums, seen.words, baseline=np.zeros(1), enough=np.array([True, True]), across_contexts=False
    )
    for place, word in enumerate("ab"):
        u = unit(x[words == word])
        pairs = [u[i] @ u[j] for i in range(len(u)) for j in range(len(u)) if i != j]
        assert released.values[0, place] == pytest.approx(np.mean(pairs), rel=1e-12)


def test_words_weigh_alike_whatever_their_counts():
    x = np.concatenate([np.tile([1.0, 0.0], (2, 1)), np.eye(2)[[0, 1, 0, 1]]])
    result = self_similarity(x, words=["same"] * 2 + ["mixed"] * 4)
    assert result["same"] == 1.0
    assert result["mixed"] == pytest.approx(1 / 3)
    assert result.value == pytest.approx((1 + 1 / 3) / 2)
    assert result.n == 2
    assert result.counts.tolist() == [4, 2]
    assert result.words == ["mixed", "same"]


def test_rare_words_are_left_out_but_have_a_value():
    x = np.random.default_rng(0).normal(size=(8, 3)) + 1
    words = ["often"] * 5 + ["twice"] * 2 + ["once"]
    result = self_similarity(x, words=words, min_contexts=3)
    assert result.n == 1
    assert result.value == result["often"]
    assert np.isfinite(result["twice"])
    assert np.isnan(result["once"])
    with pytest.raises(KeyError, match="never"):
        result["never"]


def test_a_minimum_of_contexts_is_not_of_occurrences():
    x = np.random.default_rng(0).normal(size=(4, 3))
    result = self_similarity(x, words=["w"] * 4, contexts=[0, 0, 1, 1], min_contexts=3)
    assert np.isnan(result.value)
    assert result.n == 0
    assert result.note == "no word has enough contexts"
    assert np.isnan(result.low)


def test_a_word_of_one_context_has_no_value():
    x = np.random.default_rng(0).normal(size=(4, 3))
    result = self_similarity(x, words=["w", "w", "v", "v"], contexts=[0, 0, 0, 1])
    assert np.isnan(result["w"])
    assert np.isfinite(result["v"])
    assert result.n == 1
    asked = self_similarity(x, words=["w", "w", "v", "v"], contexts=[0, 0, 0, 1], min_contexts=1)
    assert asked.value == result.value
    assert asked.note == "1 words left out: they stand in one context only"


def test_the_baseline_is_the_anisotropy():
    generator = np.random.default_rng(3)
    x, words, contexts = (
        generator.normal(size=(40, 4)) + 1,
        generator.integers(5, size=40),
        generator.integers(9, size=40),
    )
    result = self_similarity(x, words=words, contexts=contexts)
    assert result.baseline == pytest.approx(anisotropy(x, contexts=contexts).value, rel=1e-12)
    assert result.adjusted == result.value - result.baseline


# --- intra-sentence similarity ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "value"),
    [
        pytest.param(np.ones((3, 4)), 1.0, id="equal"),
        pytest.param(np.eye(4), 1 / 2, id="orthonormal: 1/√n"),
        pytest.param(np.array([[3.0, 0.0], [0.0, 4.0]]), 0.7, id="orthogonal, unequal lengths: (3 + 4) / (2·5)"),
        pytest.param(np.array([[10.0, 0.0], [-1.0, 0.0], [-1.0, 0.0]]), -1 / 3, id="one long vector against two"),
    ],
)
def test_one_sentence(x: np.ndarray, value: float):
    result = intra_sentence_similarity(x, sentences=[7] * len(x))
    assert result.value == pytest.approx(value)
    assert result.n == 1
    assert np.isnan(result.low), "one sentence has no interval"
    assert np.isnan(result.high)


def test_sentences_of_one_word_are_left_out():
    x = np.concatenate([np.eye(4), [[1.0, 1.0, 0.0, 0.0]]])
    result = intra_sentence_similarity(x, sentences=[0, 0, 0, 0, 1])
    assert result.value == pytest.approx(0.5)
    assert result.n == 1
    nothing = intra_sentence_similarity(x, sentences=[0, 1, 2, 3, 4])
    assert np.isnan(nothing.value)
    assert nothing.note == "no sentence has two words"
    assert np.isnan(nothing.low)
    matched = intra_sentence_similarity_matched(x, sentences=[0, 1, 2, 3, 4])
    assert np.isnan(matched.value)
    assert np.isnan(matched.baseline)
    assert matched.note == "no sentence has two words"


def test_sentences_weigh_alike_whatever_their_lengths():
    x = np.concatenate([np.ones((2, 4)), np.eye(4)])
    assert intra_sentence_similarity(x, sentences=[0, 0, 1, 1, 1, 1]).value == pytest.approx((1 + 0.5) / 2)


@pytest.mark.parametrize("limit", [0, 5])
def test_a_sentence_without_a_mean_direction_weighs_nothing(limit: int):
    x = np.array([[1.0, 2.0], [-1.0, -2.0], [1.0, 0.0], [0.0, 1.0]])
    values = Sentences(layers=1, dim=2, limit=limit)
    values.update(observe(x, sentences=[0, 0, 1, 1]).batch)
    result = intra_sentence_similarity_of(values, baseline=np.zeros(1))
    assert result.value[0] == pytest.approx(np.sqrt(1 / 2))
    assert result.n == 1


@pytest.mark.parametrize("seed", range(3))
def test_sentences_and_contexts_may_cross(seed: int):
    """As many contexts as sentences, but not the same rows."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(8, 3)) + 1
    sentences, contexts = np.array([0, 0, 1, 1, 2, 2, 3, 3]), np.array([0, 0, 0, 1, 1, 2, 3, 3])
    if seed:  # interleaved, and sorted another way round
        order = generator.permutation(8)
        x, sentences, contexts = x[order], sentences[order], -sentences[order]
    pairs = [np.mean(unit(x[sentences == s]) @ unit(x[sentences == s].mean(0))) for s in range(4)]
    result = intra_sentence_similarity(x, sentences=sentences, contexts=contexts)
    assert result.value == pytest.approx(np.mean(pairs), rel=1e-12)


def test_paper_s_baseline_is_the_pair_cosine():
    generator = np.random.default_rng(3)
    x, sentences = generator.normal(size=(40, 4)) + 1, np.arange(40) // 4
    result = intra_sentence_similarity(x, sentences=sentences)
    assert result.baseline == pytest.approx(anisotropy(x, contexts=sentences).value, rel=1e-12)


@pytest.mark.parametrize("length", [2, 5, 10, 20])
def test_matched_baseline_of_isotropic_vectors_is_one_over_root_n(length: int):
    """FIDELITY §1.15: 0.45, 0.32, 0.22 for 5, 10, 20 words, where the pair cosine says 0."""
    d = 400
    x = np.random.default_rng(length).normal(size=(60 * length, d)) / np.sqrt(d)
    sentences = np.arange(len(x)) // length
    result = intra_sentence_similarity_matched(x, sentences=sentences)
    assert result.baseline == pytest.approx(1 / np.sqrt(length), abs=0.01)
    assert abs(result.adjusted) < 0.02
    assert abs(intra_sentence_similarity(x, sentences=sentences).adjusted) > 0.2


def test_matched_baseline_weighs_lengths_as_the_corpus_does():
    d = 400
    x = np.random.default_rng(0).normal(size=(600, d))
    sentences = np.concatenate([np.arange(400) // 4, 1000 + np.arange(200) // 20])  # 100 of 4 words, 10 of 20
    wanted = (100 / np.sqrt(4) + 10 / np.sqrt(20)) / 110
    assert intra_sentence_similarity_matched(x, sentences=sentences).baseline == pytest.approx(wanted, abs=0.005)


def test_matched_baseline_of_unit_vectors_is_below_the_closed_form():
    """E‖mean û‖ ≤ √E‖mean û‖² = √((1 + (n − 1) c) / n), c the mean pair cosine (Jensen)."""
    generator = np.random.default_rng(0)
    x = unit(generator.normal(size=(400, 10)) + generator.normal(size=10))
    for length in (2, 4, 8):
        sentences = np.arange(400) // length
        c = anisotropy(x).value
        bound = np.sqrt((1 + (length - 1) * c) / length)
        baseline = intra_sentence_similarity_matched(x, sentences=sentences, contexts=np.arange(400)).baseline
        assert 0.95 * bound < baseline < bound + 0.002


def test_matched_baseline_needs_texts_enough():
    x = np.random.default_rng(0).normal(size=(12, 3)) + 1
    sentences = [0] * 2 + [1] * 3 + [2] * 7
    result = intra_sentence_similarity_matched(x, sentences=sentences)
    assert result.note == "1 sentences are longer than the sample has texts: left out of the baseline"
    assert np.isfinite(result.baseline)
    alone = intra_sentence_similarity_matched(x, sentences=[0] * 12)
    assert np.isnan(alone.baseline)
    assert alone.note == "too few texts for a matched baseline"


def test_matched_baseline_draws_from_different_texts_only():
    """Two texts of one repeated vector each: a made sentence of two words is always one of each."""
    x = np.repeat(np.eye(2), 5, axis=0)
    result = intra_sentence_similarity_matched(
        x, sentences=np.arange(10) // 5 * 10 + np.arange(10) % 5 // 2, contexts=np.arange(10) // 5
    )
    assert result.baseline == pytest.approx(np.sqrt(1 / 2))
    assert result.value == 1.0


def test_matched_baseline_of_opposite_vectors():
    points = Points(layers=1, dim=2, capacity=2)
    points.update(observe(np.array([[1.0, 0.0], [-1.0, 0.0]])).batch)
    baseline, _ = matched_baseline_of(points, np.array([0, 0, 3]), seed=0)
    assert np.isnan(baseline).all()


# --- streamed equals dense --------------------------------------------------------------------


def split(batch: Encoded, generator: np.random.Generator, shards: int) -> list[list[Encoded]]:
    """Shards of batches of whole texts, in random order."""
    texts = generator.permutation(np.unique(batch.texts))
    made: list[list[Encoded]] = []
    for shard in range(shards):
        mine, batches = texts[shard::shards], []
        while len(mine):
            take = int(generator.integers(1, 6))
            batches.append(batch.take(np.flatnonzero(np.isin(batch.texts, mine[:take]))))
            mine = mine[take:]
        made.append(batches)
    return made


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_streamed_equals_dense(shards: int):
    generator = np.random.default_rng(shards)
    n = 200
    x = generator.normal(size=(2, n, 5)) + 1
    words, sentences = generator.integers(12, size=n), generator.integers(60, size=n)
    contexts = sentences // 2
    seen = observe(x, words=words, contexts=contexts, sentences=sentences)
    made = []
    for batches in split(seen.batch, generator, shards):
        shape = {"layers": 2, "dim": 5}
        parts = (
            UnitSums(**shape),
            WordSums(**shape, words=12),
            Sentences(**shape),
            Points(**shape, capacity=n),
            SentencePoints(**shape, capacity=20),
        )
        for batch in batches:
            for part in parts:
                part.update(batch)
        made.append(parts)
    for other in made[1:]:
        for part, its in zip(made[0], other, strict=True):
            part.merge(its)
    sums, by_word, by_sentence, points, sentence_points = made[0]

    around = anisotropy_of(sums)
    enough = by_word.contexts >= 2
    matched, note = matched_baseline_of(points, by_sentence.lengths, seed=0)
    streamed = [
        around,
        self_similarity_of(by_word, seen.words, baseline=around.value, enough=enough),
        intra_sentence_similarity_of(by_sentence, baseline=around.value),
        intra_sentence_similarity_of(by_sentence, baseline=matched, matched=True, note=note),
    ]
    dense = [
        anisotropy(x, contexts=contexts),
        self_similarity(x, words=words, contexts=contexts),
        intra_sentence_similarity(x, sentences=sentences, contexts=contexts),
        intra_sentence_similarity_matched(x, sentences=sentences, contexts=contexts),
    ]
    for one, other in zip(streamed, dense, strict=True):
        assert (one.measure, one.n, one.note) == (other.measure, other.n, other.note)
        for name in ("value", "low", "high", *(["baseline"] if one.baseline is not None else [])):
            np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-10, err_msg=name)
    whole = SentencePoints(layers=2, dim=5, capacity=20)
    whole.update(seen.batch)
    np.testing.assert_allclose(
        sampled_anisotropy_of(sentence_points, pairs=50, seed=0).value,
        sampled_anisotropy_of(whole, pairs=50, seed=0).value,
        rtol=1e-12,
    )
