"""How much of a space is frequency: against scipy and scikit-learn, and where it was planted."""

from __future__ import annotations

import numpy as np
import planted
import pytest
from refusals import raises
from scipy import stats
from sklearn.linear_model import LinearRegression

from limbeck.analysis import AnalysisSettings, Method, fit_spaces, frequency, frequency_of
from limbeck.analysis.frequencies import UNCOUNTED, bands_of, frequency_claims, r_squared
from limbeck.analysis.neighbors import nearest
from limbeck.analysis.spaces import Space
from limbeck.corpus import Corpus
from limbeck.encoders import FunctionEncoder
from limbeck.errors import LimbeckError
from limbeck.stream import TextSource

BASELINE = [Space("baseline")]


def made(*, strength: float, words: int = 120, dim: int = 12, seed: int = 0):
    """Occurrences of words by Zipf's law, each with a vector of its own, log frequency along the first dimension."""
    generator = np.random.default_rng(seed)
    counts = np.ceil(300 / np.arange(1, words + 1)).astype(int)
    word = np.repeat(np.arange(words), counts)
    x = 0.3 * generator.standard_normal((len(word), dim)) + generator.standard_normal((words, dim))[word]
    x[:, 0] += strength * np.log10(counts)[word]
    return x, counts[word].astype(float), np.array([f"w{at:03}" for at in word])


@pytest.fixture(scope="module")
def found():
    x, counts, words = made(strength=3.0)
    spaces = fit_spaces(x, methods=[Method("all-but-the-top:n_components=1"), Method("center")])
    return x, counts, words, frequency(x, counts, words, spaces=spaces)


def test_components_by_scipy(found):
    x, counts, _, (before, *_) = found
    centered = x - x.mean(0)
    left, singular, _ = np.linalg.svd(centered, full_matrices=False)
    scores = left * singular
    log = np.log10(counts)
    for at in range(5):
        assert before.pearson[at][0] == pytest.approx(abs(stats.pearsonr(scores[:, at], log)[0]))
        assert before.spearman[at][0] == pytest.approx(abs(stats.spearmanr(scores[:, at], log)[0]))
    for count, (value, low, high) in before.r2.items():
        by_hand = LinearRegression().fit(scores[:, :count], log).score(scores[:, :count], log)
        assert value == pytest.approx(by_hand)
        assert low < value < high
    assert before.r2_of_all == pytest.approx(LinearRegression().fit(x, log).score(x, log))
    norms = np.linalg.norm(x, axis=1)
    assert before.norm_pearson[0] == pytest.approx(stats.pearsonr(norms, log)[0])
    assert before.norm_spearman[0] == pytest.approx(stats.spearmanr(norms, log)[0])
    np.testing.assert_allclose(np.abs(before.projection), np.abs(scores[:, :2]), atol=1e-9)
    # what a regression of each dimension on frequency explains, of all there is
    shares = [stats.pearsonr(x[:, at], log)[0] ** 2 * x[:, at].var() for at in range(x.shape[1])]
    assert before.variance_share == pytest.approx(sum(shares) / x.var(0).sum())


def test_neighbours_by_hand(found):
    x, counts, words, (before, *_) = found
    band = bands_of(np.log10(counts))
    near = nearest(x, neighbors=5, apart=words)
    assert before.neighbors[0] == pytest.approx((band[near] == band[:, None]).mean())
    others = words[:, None] != words[None, :]
    chance = ((band[:, None] == band[None, :]) & others).sum(1) / others.sum(1)
    assert before.chance == pytest.approx(chance.mean())


def test_a_planted_frequency_is_found_and_removed(found):
    _, _, _, (before, after, centered) = found
    assert before.pearson[0][0] > 0.8
    assert after.r2[2][0] < 0.2
    assert centered.r2[2][0] == pytest.approx(before.r2[2][0])
    verdicts = {claim.id: claim.verdict for claim in frequency_claims([before, after, centered])}
    assert verdicts == {"F5.shrinks.global": "held", "F5.shrinks.center": "too close to call"}


def test_without_frequency_there_is_none():
    """The twin: frequencies that belong to other words are not told by the space."""
    x, counts, words = made(strength=3.0)
    names, of_row = np.unique(words, return_inverse=True)
    other = np.random.default_rng(1).permutation(len(names))
    mixed = np.array([counts[words == name][0] for name in names])[other][of_row]
    (told,) = frequency(x, counts, words, spaces=BASELINE)
    (nothing,) = frequency(x, mixed, words, spaces=BASELINE)
    assert nothing.r2[2][0] < 0.5 * told.r2[2][0]
    assert nothing.pearson[0][1] < 0.2


def test_intervals_are_over_words():
    """Ten copies of every occurrence are no more evidence."""
    x, counts, words = made(strength=1.0)
    (once,) = frequency(x, counts, words, spaces=BASELINE)
    again = np.repeat(np.arange(len(x)), 10)
    value, draws = r_squared(
        once.projection[again],
        np.log10(counts)[again],
        np.unique(words, return_inverse=True)[1][again],
        np.ones((1, 120)),
    )
    assert value == pytest.approx(once.r2[2][0])
    assert draws == pytest.approx([value])  # every word once


def test_emptied_directions_tell_nothing():
    """Rounding of float32 in the directions that were removed is no trace of frequency."""
    x, counts, words = made(strength=3.0, dim=6)
    repair = Method("all-but-the-top:n_components=3").make().fit(x.astype(np.float32))
    found = frequency(x.astype(np.float32), counts, words, spaces=[Space("baseline"), Space("less", repair)])
    left = np.linalg.svd(repair.components_)[2][3:]  # what is left of the space
    log = np.log10(counts)
    by_hand = LinearRegression().fit(x @ left.T, log).score(x @ left.T, log)
    assert found[1].r2_of_all == pytest.approx(by_hand, abs=1e-4)
    assert list(found[1].r2) == [2, 3]
    assert found[1].r2[3][0] == pytest.approx(by_hand, abs=1e-4)


def test_bands_hold_whole_words():
    log = np.array([0.0] * 50 + [1.0] * 30 + [2.0] * 15 + [3.0] * 5)
    bands = bands_of(log, 4)
    assert len(np.unique(bands)) == 3
    for value in np.unique(log):
        assert len(set(bands[log == value].tolist())) == 1
    assert (np.diff(bands) >= 0).all()


@pytest.mark.parametrize("wrong", [0.0, -1.0, np.nan])
def test_wrong_frequencies(wrong):
    x, counts, words = made(strength=0.0)
    counts[4] = wrong
    with raises(LimbeckError, code="out_of_range", parameter="frequencies"):
        frequency(x, counts, words, spaces=BASELINE)
    with raises(LimbeckError, code="too_few"):
        frequency(x, np.ones(len(x)), words, spaces=BASELINE)


# --- on a text ---------------------------------------------------------------------------------


def sentences(seed: int = 0):
    generator = np.random.default_rng(seed)
    names = [*planted.NOUNS, *planted.VERBS, *planted.ADJECTIVES]
    odds = 1 / np.arange(1, len(names) + 1)
    return [generator.choice(names, 7, p=odds / odds.sum()).tolist() for _ in range(80)]


def test_counts_are_those_of_the_text():
    text = sentences()
    source = TextSource(Corpus.from_sentences(text), FunctionEncoder(planted.by_word_and_context(), name="made"))
    found = frequency_of(source, settings=AnalysisSettings(method="center"))
    words = [word for sentence in text for word in sentence]
    for row in found.rows("points")[:50]:
        assert row["per_million"] == pytest.approx(words.count(row["unit"]) * 1e6 / len(words))
    assert found.rows("frequency")[0]["occurrences"] == len(words)
    assert found.notes == ()


def test_counts_of_another_text():
    encoder = FunctionEncoder(planted.by_word_and_context(), name="made")
    source = TextSource(Corpus.from_sentences(sentences()), encoder)
    larger = [sentence for sentence in sentences(1) if planted.NOUNS[0] not in sentence]
    counted = TextSource(Corpus.from_sentences(larger), encoder)
    found = frequency_of(source, count_in=counted, settings=AnalysisSettings(method="center"))
    words = [word for sentence in larger for word in sentence]
    units = {row["unit"]: row["per_million"] for row in found.rows("points")}
    assert planted.NOUNS[0] not in units
    lost = sum(word not in words for sentence in sentences() for word in sentence)
    assert found.dropped[UNCOUNTED] == lost
    name = planted.NOUNS[2]
    assert units[name] == pytest.approx(words.count(name) * 1e6 / len(words))


def test_a_sample_is_told():
    source = TextSource(Corpus.from_sentences(sentences()), FunctionEncoder(planted.by_word_and_context(), name="m"))
    found = frequency_of(source, settings=AnalysisSettings(method="center", points=300))
    assert found.notes == ("300 of 560 occurrences, chosen by hash",)
    assert found.rows("frequency")[0]["occurrences"] == 300
