"""The n-gram baseline: a proper distribution, equal to the textbook formula, better than word frequencies."""

from __future__ import annotations

import doctest
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from limbeck.corpus import Corpus
from recipes import kneser_ney
from recipes.kneser_ney import FALLBACK, KneserNey, estimate_discounts

Gram = tuple[int, ...]


class Textbook:
    """Modified Kneser-Ney from dictionaries, word by word (Chen & Goodman 1999; Jurafsky & Martin, chapter 3)."""

    def __init__(self, text: list[int], size: int, order: int) -> None:
        self.size = size
        grams = {n: [tuple(text[i : i + n]) for i in range(len(text) - n + 1)] for n in range(1, order + 2)}
        self.counts: dict[int, Counter[Gram]] = {order: Counter(grams[order])}
        for n in range(1, order):
            self.counts[n] = Counter(gram[1:] for gram in set(grams[n + 1]))
        self.discounts = {n: self.discount(counts) for n, counts in self.counts.items()}
        self.after: dict[int, dict[Gram, dict[int, int]]] = {n: {} for n in self.counts}
        for n, counts in self.counts.items():
            for gram, count in counts.items():
                self.after[n].setdefault(gram[:-1], {})[gram[-1]] = count

    def discount(self, counts: Counter[Gram]) -> tuple[float, ...]:
        n1, n2, n3, n4 = (sum(count == k for count in counts.values()) for k in (1, 2, 3, 4))
        if not (n1 and n2 and n3):
            return FALLBACK
        y = n1 / (n1 + 2 * n2)
        found = (1 - 2 * y * n2 / n1, 2 - 3 * y * n3 / n2, 3 - 4 * y * n4 / n3)
        return found if min(found) > 0 else FALLBACK

    def p(self, word: int, context: Gram) -> float:
        n = len(context) + 1
        lower = self.p(word, context[1:]) if context else 1 / self.size
        following = self.after[n].get(context)
        if following is None:
            return lower
        total = sum(following.values())
        left = sum(self.discounts[n][min(count, 3) - 1] for count in following.values()) / total
        count = following.get(word, 0)
        own = (count - self.discounts[n][min(count, 3) - 1]) / total if count else 0.0
        return own + left * lower


def made_text(seed: int, *, length: int = 3000, size: int = 40) -> np.ndarray:
    """Words with few and many neighbours: each follows from the one before, or is drawn anew; 0 is a break."""
    rng = np.random.default_rng(seed)
    frequency = 1 / np.arange(1, size + 1)
    text = rng.choice(size, length, p=frequency / frequency.sum())
    kept = rng.random(length) < 0.6
    for i in range(1, length):
        if kept[i]:
            text[i] = (text[i - 1] * 7 + text[i - 1] % 3) % size
    return text.astype(np.uint16)


@pytest.mark.parametrize("order", [1, 2, 3, 4])
@pytest.mark.parametrize("seed", [0, 1])
def test_equals_the_textbook(order: int, seed: int) -> None:
    text, other = made_text(seed), made_text(seed + 10, length=400)
    size = 45  # five words never occur
    other[::37] = 44
    oracle = Textbook(text.tolist(), size, order)
    model = KneserNey.fit(text, size, order=order)
    assert model.order == order
    expected = [oracle.p(w, tuple(other[max(0, i - order + 1) : i].tolist())) for i, w in enumerate(other.tolist())]
    np.testing.assert_allclose(np.exp(model.log_probabilities(other)), expected, rtol=1e-12)


def test_the_made_text_takes_both_ways_to_a_discount() -> None:
    model = KneserNey.fit(made_text(0), 45)
    estimated = [not np.array_equal(level.discounts[1:], FALLBACK) for level in model.levels]
    assert estimated == [False, True, True]  # all words are frequent: no word has only one other before it


@pytest.mark.parametrize(
    ("context", "seen"), [((0, 1), True), ((44, 1), False), ((43, 44), False), ((1,), True), ((44,), False), ((), True)]
)
def test_sums_to_one(context: Gram, seen: bool) -> None:
    text = made_text(3)
    assert (tuple(context) in {(), *((int(a),) for a in text), *((int(a), int(b)) for a, b in pairwise(text))}) is seen
    model = KneserNey.fit(text, 45)
    p = [np.exp(model.log_probabilities(np.array([*context, w]))[-1]) for w in range(45)]
    assert min(p) > 0
    assert sum(p) == pytest.approx(1, abs=1e-12)


def test_unigrams_are_frequencies() -> None:
    text = made_text(4)
    model = KneserNey.fit(text, 45)
    p = np.exp(model.unigram_log_probabilities(np.arange(45)))
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert (p[40:] == p[44]).all()
    assert p[44] > 0
    counts = np.bincount(text, minlength=45)
    np.testing.assert_allclose(p, counts / len(text), atol=1.5 / len(text))  # no discount is greater


def test_a_long_text_is_looked_up_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    model = KneserNey.fit(made_text(5), 40)
    text = made_text(6, length=101)
    whole = model.log_probabilities(text)
    for size in (1, 2, 7, 100):
        monkeypatch.setattr(kneser_ney, "AT_ONCE", size)
        np.testing.assert_array_equal(model.log_probabilities(text), whole)


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.uint32, np.int64])
def test_any_kind_of_integer_and_the_text_is_left_alone(dtype: type) -> None:
    text = made_text(7)
    given = text.astype(dtype)
    found = KneserNey.fit(given, 40).log_probabilities(given)
    np.testing.assert_array_equal(given, text)
    np.testing.assert_array_equal(found, KneserNey.fit(text, 40).log_probabilities(text))


@pytest.mark.parametrize("length", [0, 1, 2])
def test_texts_shorter_than_the_order(length: int) -> None:
    text = np.arange(length)
    model = KneserNey.fit(text, 5)
    assert len(model.log_probabilities(text)) == length
    assert np.exp([model.log_probabilities(np.array([0, 1, w]))[-1] for w in range(5)]).sum() == pytest.approx(1)


def test_large_vocabularies_fit_or_are_refused() -> None:
    text = np.array([0, 2**21 - 1, 5, 0, 2**21 - 1, 6], dtype=np.uint32)
    p = np.exp(KneserNey.fit(text, 2**21).log_probabilities(text))
    assert p[4] > 0.1  # the highest id does not run over into its neighbour's bits
    with pytest.raises(ValueError, match="must fit into 64 bits, they take 66: give an order between 1 and 2"):
        KneserNey.fit(text, 2**22)
    with pytest.raises(ValueError, match="Ids must be 0 to 6, got 0 to 2097151"):
        KneserNey.fit(text, 7)
    with pytest.raises(ValueError, match="Ids must be"):
        KneserNey.fit(np.array([1, 2]), 7).log_probabilities(np.array([-1]))
    with pytest.raises(ValueError, match="flat array of ids"):
        KneserNey.fit(np.array([0.5, 1.0]), 7)


def test_the_example_in_the_docstring() -> None:
    done = doctest.testmod(kneser_ney, extraglobs={"np": np})
    assert done.attempted
    assert not done.failed


def test_discounts() -> None:
    counts = np.repeat([1, 2, 3, 4, 9], [40, 20, 10, 5, 3]).astype(np.uint32)  # Y = 40/80
    np.testing.assert_allclose(estimate_discounts(counts), [0, 0.5, 1.25, 2.0])
    np.testing.assert_array_equal(estimate_discounts(counts[counts != 2]), [0, *FALLBACK])
    rising = np.repeat([1, 2, 3, 4], [40, 5, 40, 40]).astype(np.uint32)  # 2 − 3·0.8·8 < 0
    np.testing.assert_array_equal(estimate_discounts(rising), [0, *FALLBACK])


def test_beats_frequencies_on_real_text() -> None:
    words = [word for sentence in Corpus("sample", lowercase=True) for word in (*sentence.words, "\n")]
    ids: dict[str, int] = {"\n": 0}
    tokens = np.array([ids.setdefault(word, len(ids)) for word in words])
    held_out = np.arange(len(tokens)) >= 0.9 * len(tokens)
    model = KneserNey.fit(tokens[~held_out], len(ids))
    scored = tokens[held_out] != 0  # breaks are context, their own prediction is not scored
    trigram = -model.log_probabilities(tokens[held_out])[scored].mean()
    unigram = -model.unigram_log_probabilities(tokens[held_out])[scored].mean()
    assert trigram < unigram - 0.2
    assert unigram < np.log(len(ids))
