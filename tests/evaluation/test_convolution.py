"""Classifying with word vectors by a convolution: what is learnt, chosen, trained anew, looked up and compared."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, UsageError
from limbeck.evaluation import EvaluationSettings
from limbeck.evaluation.classifying import ClassifySet, Examples, classify_table, convolve, epoch_table
from limbeck.evaluation.classifying.looked_up import look_up
from limbeck.evaluation.targets import TableTarget
from limbeck.repairs import Center
from limbeck.vectors import StaticVectors

WORDS = [f"w{number}" for number in range(50)]
VECTORS = StaticVectors(
    ["not", "good", *WORDS], np.random.default_rng(0).normal(size=(52, 10)) + [[3.0], [3.0], *[[0.5]] * 50] + 0.0
)
QUICK = {"starts": 2, "epochs": 4, "learning_rate": (1e-3, 2e-2), "draws": 200}


def run(data, vectors, repairs=None, **options):
    return convolve(data, vectors, repairs, EvaluationSettings(**{**QUICK, **options}))


def made_set(n=300, *, chance=False, seed=0, dev=None):
    """Texts with "not good" or "good not" among other words, which have the same mean; or labels by a coin."""
    rng = np.random.default_rng(seed)

    def examples(count):
        labels = rng.integers(2, size=count)
        texts = []
        for label in labels:
            words = rng.choice(WORDS, size=rng.integers(2, 9)).tolist()
            at = int(rng.integers(len(words)))
            texts.append(" ".join([*words[:at], *(("not", "good") if label else ("good", "not")), *words[at:]]))
        return Examples((texts,), rng.integers(2, size=count) if chance else labels)

    return ClassifySet("made", "single", ("no", "yes"), examples(n), examples(150), dev=dev and examples(dev))


def test_what_only_the_order_of_words_tells_is_learnt():
    """A mean of vectors cannot tell these classes apart; a convolution can, wholly."""
    result = run(made_set(), VECTORS, starts=1, epochs=10)
    assert result.summary("baseline").value == 1.0
    assert (result.trained, result.held) == (300, 75)  # trained anew on all; a quarter chose
    assert result.covered == 1.0
    assert result.predictions.shape == (1, 1, 10, 150)


def test_what_cannot_be_learnt_is_not():
    """Every text stands there under both labels, so whatever is learnt is right half of the time."""
    data = made_set(120, chance=True)
    both = Examples((data.test.texts[0] * 2,), np.concatenate([data.test.labels, 1 - data.test.labels]))
    summary = run(replace(data, test=both), VECTORS, starts=4).summary("baseline")
    assert summary.value == 0.5
    assert summary.low < 0.5 < summary.high


def test_labels_that_are_reported_have_no_say():
    data = made_set(60, chance=True, dev=60)
    other = replace(data, test=replace(data.test, labels=1 - data.test.labels))
    one, two = (run(some, VECTORS) for some in (data, other))
    assert np.array_equal(one.predictions, two.predictions)
    assert np.array_equal(one.chosen, two.chosen)
    assert np.array_equal(one.learning_rates, two.learning_rates)
    np.testing.assert_allclose(one.chosen_scores, 1 - two.chosen_scores)


def test_rate_and_epochs_are_those_that_do_best_on_dev():
    """At a rate of next to nothing a network learns nothing: the other is chosen, and an epoch of the later half."""
    data = made_set(dev=80)
    result = run(data, VECTORS, learning_rate=(1e-7, 2e-2))
    assert result.learning_rates.tolist() == [[2e-2, 2e-2]]
    assert result.chosen.min() >= 1  # the second of four
    assert result.from_epoch == 1
    best = result.held_out[:, :, 1:].max(-1)
    np.testing.assert_array_equal(np.take_along_axis(result.held_out, result.chosen[..., None], -1)[..., 0], best)
    none = run(data, VECTORS, learning_rate=1e-7, epochs=1)
    assert none.summary("baseline").value < 0.7


def test_it_is_trained_anew_on_dev_too():
    """What only dev has to teach is known in the end: its words have another class than chance would give."""
    rng = np.random.default_rng(0)

    def examples(words, count):
        chosen = rng.choice(words, size=count)
        return Examples(([f"{word} {word}" for word in chosen],), np.array([word in WORDS[1::2] for word in chosen]))

    learnt, kept = WORDS[:10], WORDS[10:30]
    # one hot, so that nothing is learnt of one word from another
    table = StaticVectors(WORDS, np.eye(50))
    data = ClassifySet(
        "made", "single", ("a", "b"), examples(learnt, 200), examples(kept, 100), dev=examples(kept, 200)
    )
    result = run(data, table, learning_rate=3e-2, epochs=10)
    assert result.held_out.max() < 0.8  # when choosing, nobody had seen those words
    assert result.summary("baseline").value > 0.95


def test_equal_starts_for_all_vectors():
    """Vectors and twice the same vectors under other names: all runs alike, and no difference between them."""
    other = StaticVectors(VECTORS.words, VECTORS.matrix)
    data = made_set(60, chance=True)
    one, two = run(data, VECTORS), run(data, TableTarget(other, name="other"))
    assert np.array_equal(one.predictions, two.predictions)
    found = one.compare("baseline", "baseline", than=two)
    assert (found.difference, found.low, found.high) == (0, 0, 0)
    better = run(made_set(300), VECTORS)
    worse = run(made_set(300), StaticVectors(VECTORS.words, np.ones((52, 10))), epochs=1)
    found = better.compare("baseline", "baseline", than=worse)
    assert found.low > 0.2
    assert found.p < 0.02


def test_vectors_that_are_trained_too():
    """All words begin alike: nothing is learnt from frozen ones, everything where they may move apart."""
    alike = StaticVectors(VECTORS.words, np.ones((52, 4)))
    options = {**QUICK, "starts": 1, "learning_rate": 5e-2, "epochs": 16}
    rng = np.random.default_rng(0)
    labels = rng.integers(2, size=300)
    texts = [" ".join(rng.choice(WORDS[label * 25 : label * 25 + 25], size=5)) for label in labels]
    whole = Examples((texts,), labels)
    data = ClassifySet("made", "single", ("a", "b"), whole[np.arange(200)], whole[np.arange(200, 300)])
    frozen = run(data, alike, **options)
    tuned = run(data, alike, embeddings="tuned", **options)
    assert (frozen.predictions == frozen.predictions[..., :1]).all()  # texts that are alike get one class
    assert np.array_equal(tuned.predictions[0, 0, -1], labels[200:])
    assert np.array_equal(alike.matrix, np.ones((52, 4)))
    assert tuned.used["embeddings"] == "tuned"


def test_repairs_are_those_of_the_table():
    shifted = StaticVectors(VECTORS.words, VECTORS.matrix + 3)
    data = made_set(60)
    result = run(data, shifted, repairs={"as they are": None, "centred": Center()})
    centred = StaticVectors(shifted.words, shifted.matrix - shifted.matrix.mean(0, dtype=np.float64))
    own = run(data, centred)
    np.testing.assert_allclose(result.losses[1], own.losses[0], rtol=1e-4)
    assert not np.allclose(result.losses[0], own.losses[0], rtol=1e-3)
    fitted = run(data, shifted, repairs={"centred": Center().fit(shifted.matrix)})
    np.testing.assert_allclose(fitted.losses[0], own.losses[0], rtol=1e-4)


def test_one_size_for_all():
    small = StaticVectors(VECTORS.words, VECTORS.matrix / 1000)
    options = {**QUICK, "starts": 1, "epochs": 2}
    one, two = (run(made_set(100), table, scale="rms", **options) for table in (VECTORS, small))
    np.testing.assert_allclose(one.losses, two.losses, rtol=1e-3)
    assert not np.allclose(run(made_set(100), small, **options).losses, two.losses, rtol=1e-2)


# --- looking words up ----------------------------------------------------------------------------


def looked_up(**options):
    table = StaticVectors(["a", "b", "c"], [[1.0, 2.0], [3.0, 4.0], [5.0, 9.0]])
    found = look_up(["A x b", "x", "", "c c"], TableTarget(table, **options))
    starts = found.texts.starts.tolist()
    texts = [found.matrix[found.texts.ids[a:b]].tolist() for a, b in pairwise(starts)]
    return found, texts


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({}, [[1, 2], [3, 4]], []),
        ({"oov": "zero"}, [[1, 2], [0, 0], [3, 4]], [[0, 0]]),
        ({"oov": "mean"}, [[1, 2], [3, 5], [3, 4]], [[3, 5]]),
        ({"oov": "fallback", "fallback": {"x": [7.0, 8.0]}}, [[1, 2], [7, 8], [3, 4]], [[7, 8]]),
        ({"case": "keep"}, [[3, 4]], []),
    ],
)
def test_words_that_are_not_in_the_table(options, first, second):
    found, texts = looked_up(**options)
    assert texts == [first, second, [], [[5, 9], [5, 9]]]
    assert found.matrix[0].tolist() == [0, 0]
    known = 3 if options.get("case") == "keep" else 4
    assert (found.words, found.found) == (6, known)
    assert (found.different, found.known) == (4, known - 1)
    assert found.texts.lengths.tolist() == [3, 1, 0, 2]
    empty = 1 if options.get("oov") in ("mean", "fallback") else 2
    assert found.dropped == {"text without any vector (features are zero)": empty}


def test_coverage_is_of_words():
    data = made_set(60)
    fewer = StaticVectors(VECTORS.words[:30], VECTORS.matrix[:30])
    result = run(data, fewer, starts=1, epochs=1)
    words = [word for part in (data.train, data.test) for text in part.texts[0] for word in text.split()]
    assert result.covered == pytest.approx(np.mean([word in fewer for word in words]))


# --- tables and refusals -------------------------------------------------------------------------


def test_tables():
    result = run(made_set(60, chance=True), VECTORS)
    rows = classify_table([result])
    for metric, column in (("accuracy", "accuracy"), ("macro-f1", "macro_f1")):
        runs = result.run_scores("baseline", metric=metric)
        assert rows[column] == [pytest.approx(runs.mean())]
        assert rows[f"{column}_spread"] == [pytest.approx(runs.std(ddof=1))]
    assert "classifier=cnn embeddings=frozen filters=100 width=3" in rows["settings"][0]
    by_epoch = epoch_table([result])
    assert set(by_epoch["learning_rate"]) <= {1e-3, 2e-2}
    assert sum(by_epoch["chosen"]) == 2
    assert min(epoch for epoch, chosen in zip(by_epoch["epoch"], by_epoch["chosen"], strict=True) if chosen) >= 2


def test_fewer_examples():
    result = run(made_set(dev=100), VECTORS, max_train=80, starts=1, epochs=1)
    assert (result.trained, result.available) == (80, 400)
    assert 10 < result.held < 30
    assert "80 of 400 training examples, drawn at random" in result.notes


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"embeddings": "warm"}, "unknown_choice"),
        ({"starts": 0}, "out_of_range"),
    ],
)
def test_wrong_settings(options, code):
    with raises(UsageError, code=code, parameter=None):
        run(made_set(40), VECTORS, **options)


def test_what_cannot_be_read():
    pair = Examples((["a"], ["b"]), [0])
    with raises(UsageError, code="unsupported"):
        run(ClassifySet("both", "pair", ("a", "b"), pair, pair), VECTORS)
    with raises(InputError, code="no_vectors"):
        run(made_set(40), StaticVectors(["none"], [[1.0]]))
    one = Examples((["w1"] * 8,), [0] * 8)
    with raises(InputError, code="too_few"):
        run(ClassifySet("one", "single", ("a", "b"), one, one), VECTORS)
