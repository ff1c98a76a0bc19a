"""Vectors of words by their letters."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter

import numpy as np
import pytest

from limbeck.distillation import spelling
from limbeck.distillation.spelling import PENALTY, ngrams, spelled

STEMS = ("water", "stone", "light", "thing", "maker", "house", "garden", "silver")
ENDINGS = ("", "s", "ing", "less", "like", "ed")
WORDS = [f"{stem}{ending}" for stem in STEMS for ending in ENDINGS] + ["Waters", "silverware", "qqq", "水"]


@pytest.fixture(scope="module")
def known() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(len(WORDS), 200)).astype(np.float32)


def dense(words: list[str], numbers: dict[str, int]) -> np.ndarray:
    made = np.zeros((len(words), len(numbers)))
    for row, word in enumerate(words):
        grams = ngrams(word)
        for gram in grams:
            if gram in numbers:
                made[row, numbers[gram]] += 1 / np.sqrt(len(grams))
    return made


def test_vectors_are_those_of_a_ridge_regression(known, monkeypatch):
    """Against the equations solved at once, all columns, which are more than one block of them."""
    monkeypatch.setattr(spelling, "CLOSE", 1e-12)
    weights = np.random.default_rng(1).uniform(0.2, 1.0, size=len(WORDS))
    weights[::5] = 0.0
    wanted = weights == 0
    learned = [word for word, weight in zip(WORDS, weights, strict=True) if weight]
    often = Counter(gram for word in learned for gram in set(ngrams(word)))
    numbers = {gram: number for number, gram in enumerate(gram for gram, n in often.items() if n > 1)}
    x, share = dense(learned, numbers), weights[weights > 0][:, None]
    vectors = np.linalg.solve(x.T @ (share * x) + PENALTY * np.eye(len(numbers)), x.T @ (share * known[weights > 0]))
    made = spelled(WORDS, known, weights, wanted)
    np.testing.assert_allclose(made[wanted], dense(WORDS, numbers)[wanted] @ vectors, atol=1e-4)
    assert not made[~wanted].any()


def test_a_word_whose_letters_nobody_shares_is_not_spelled(known):
    weights = np.ones(len(WORDS))
    weights[-2:] = 0.0
    made = spelled(WORDS, known, weights, weights == 0)
    assert not made.any()


def test_the_most_frequent_words_teach(known, monkeypatch):
    monkeypatch.setattr(spelling, "LEARNED", 10)
    weights = np.linspace(1.0, 0.1, len(WORDS))
    wanted = np.arange(len(WORDS)) >= 10
    made = spelled(WORDS, known, weights, wanted)
    np.testing.assert_array_equal(made, spelled(WORDS, known, np.where(wanted, 0.0, weights), wanted))
    assert made.any()


@pytest.mark.parametrize("weights", [np.zeros(3), np.array([1.0, 0.0, 0.0])])
def test_nothing_to_learn_from_is_nothing_said(weights):
    rows = np.ones((3, 4), dtype=np.float32)
    assert not spelled(["tea", "teas", "teapot"], rows, weights, np.ones(3, dtype=bool)).any()


def test_a_word_without_ngrams_is_not_spelled():
    rows = np.eye(4, dtype=np.float32)
    made = spelled(["tea", "teas", "", "teapot"], rows, np.ones(4), np.ones(4, dtype=bool))
    assert made[0].any()
    assert not made[2].any()


def test_vectors_are_the_same_in_every_process():
    """Python's sets of strings have another order in each."""
    code = (
        "import hashlib, numpy as np; from limbeck.distillation.spelling import spelled\n"
        "words = [f'{a}{b}' for a in ('water', 'stone', 'light') for b in ('', 's', 'ing', 'less', 'like')]\n"
        "rows = np.random.default_rng(0).normal(size=(len(words), 9)).astype(np.float32)\n"
        "made = spelled(words, rows, np.ones(len(words)), np.ones(len(words), dtype=bool))\n"
        "print(hashlib.sha256(made.tobytes()).hexdigest())"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", code],
            env=os.environ | {"PYTHONHASHSEED": seed, "OMP_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    ]
    assert len(set(found)) == 1


def test_case_does_not_count():
    assert ngrams("TEA") == ngrams("tea")
    assert ngrams("") == []
