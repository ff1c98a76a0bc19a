"""Controls: what a guess, random labels and random weights reach, and how long a code is."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises

from limbeck.encoders import load_encoder
from limbeck.errors import UsageError
from limbeck.probing.batched import Rows, train
from limbeck.probing.controls import (
    description_length,
    majority_decisions,
    portions,
    random_labels,
    with_random_weights,
)
from limbeck.probing.scoring import score
from limbeck.probing.settings import Training
from limbeck.probing.spaces import Level
from limbeck.probing.splits import DEV, TEST, TRAIN
from limbeck.stream import collect_texts

CLASSES = ("a", "b", "c")


@pytest.fixture
def made() -> tuple[Level, np.ndarray]:
    """400 words of three contexts each; the class is a direction of the vector, and so is the word, in others."""
    generator = np.random.default_rng(0)
    word = np.repeat(np.arange(400), 3)
    kind = generator.choice(3, 400, p=[0.6, 0.25, 0.15])
    x = generator.standard_normal((400, 12))[word] + 0.1 * generator.standard_normal((1200, 12))
    x[np.arange(1200), kind[word]] += 4
    gold = np.eye(3, dtype=bool)[kind]
    side = np.array([TRAIN, TRAIN, TRAIN, DEV, TEST], dtype=np.int8)[np.arange(400) % 5]
    level = Level("context", gold[word], side[word], word, gold, np.arange(400))
    return level, x[:, None].astype(np.float32)


def scored(level: Level, x: np.ndarray, side: int) -> float:
    def rows(of: int) -> Rows:
        here = np.flatnonzero(level.sides == of)
        return Rows(x, here, level.targets[here])

    probes = train(rows(TRAIN), rows(DEV), names=CLASSES, settings=Training(hidden=64, epochs=60)).probes
    tried = rows(side)
    return score(probes.decisions(x, tried.index)[0], level.unit[tried.index], level.gold, level.word).f1


def test_majority_is_the_largest_class(made):
    level, _ = made
    rows = np.flatnonzero(level.sides == TEST)
    said = majority_decisions(level, rows)
    assert said[:, 0].all()
    assert not said[:, 1:].any()
    found = score(said, level.unit[rows], level.gold, level.word)
    share = level.gold[np.unique(level.unit[rows]), 0].mean()
    assert found.recall == found.precision == pytest.approx(share)


def test_random_labels_are_learnt_by_heart_and_tell_nothing_of_other_words(made):
    level, x = made
    mixed = random_labels(level, seed=1)
    assert (mixed.gold.sum(1) == 1).all()
    assert mixed.gold.mean(0) == pytest.approx(level.gold.mean(0), abs=0.07)
    for word in range(0, 400, 37):  # one label a word
        assert len(np.unique(mixed.targets[level.unit == word], axis=0)) == 1
    assert scored(level, x, TEST) > 0.9
    assert scored(mixed, x, TEST) < 0.62  # the largest class alone would be 0.6
    assert scored(mixed, x, TRAIN) > scored(mixed, x, TEST) + 0.1


def test_a_code_is_short_where_labels_can_be_read_off(made):
    level, x = made
    noise = np.random.default_rng(5).standard_normal((1200, 1, 12)).astype(np.float32)
    both = np.concatenate([x, noise], axis=1)

    def rows(of: int) -> Rows:
        here = np.flatnonzero(level.sides == of)
        return Rows(both, here, level.targets[here])

    settings = Training(hidden=0, epochs=60, patience=5, learning_rate=0.02)
    words = level.word[level.unit[level.sides == TRAIN]]
    found = description_length(
        rows(TRAIN), rows(DEV), words=words, names=CLASSES, settings=settings, seed=0, device="cpu"
    )
    assert found.uniform == 720
    assert found.bits.shape == (2, 3)
    entropy = -sum(p * np.log2(p) + (1 - p) * np.log2(1 - p) for p in level.targets[level.sides == TRAIN].mean(0))
    assert found.bits[0].sum() < 0.6 * found.bits[1].sum()
    assert found.bits[1].sum() > 0.95 * 720 * entropy  # noise cannot be told in less than its entropy
    np.testing.assert_allclose(found.compression, 720 * 3 / found.bits.sum(1))


def test_a_code_cannot_know_words_by_heart():
    """Nothing but the word decides the label: told of a word that was not met, it costs what a coin costs."""
    generator = np.random.default_rng(2)
    words = np.repeat(np.arange(40), 20)
    x = np.eye(40, dtype=np.float32)[words, None] * 3
    rows = Rows(x, np.arange(800), (generator.permutation(40) < 20)[words, None])
    how = {"names": ("a",), "settings": Training(hidden=0, epochs=40, learning_rate=0.05), "seed": 0, "device": "cpu"}
    by_words = description_length(rows, rows, words=words, **how)
    assert by_words.bits.sum() > 0.9 * 800
    by_rows = description_length(rows, rows, words=np.arange(800), **how)  # every row a word of its own: it leaks
    assert by_rows.bits.sum() < 0.6 * 800


def test_portions_are_of_whole_words():
    words = np.random.default_rng(1).integers(0, 90, 2000) * 7
    order, ends = portions(words, seed=0)
    assert sorted(order.tolist()) == list(range(2000))
    assert ends[-1] == 2000
    parts = np.split(words[order], ends[:-1])
    assert len(parts) > 4
    assert sum(len(set(part.tolist())) for part in parts) == len(set(words.tolist()))  # none in two
    for end, share in zip(reversed(ends), (1, 0.5, 0.25, 0.125), strict=False):  # filled, by less than a word more
        assert 0 <= end - share * 2000 < np.bincount(words).max()
    assert (portions(words, seed=1)[0] != order).any()


def test_random_weights_are_another_models_and_the_same_each_time():
    encoder = load_encoder("mini-bert", layers="table,12")
    one, again, other = (with_random_weights(encoder, seed=seed) for seed in (1, 1, 2))
    said = [collect_texts(each, ["the old cat sat"]).vectors.numpy() for each in (encoder, one, again, other)]
    np.testing.assert_array_equal(said[1], said[2])
    for a, b in ((0, 1), (1, 3)):
        assert np.abs(said[a] - said[b]).max() > 0.01
    assert len({each.fingerprint for each in (encoder, one, other)}) == 3
    assert one.fingerprint == again.fingerprint
    with raises(UsageError, code="unsupported", parameter="control"):
        with_random_weights(object(), seed=0)
