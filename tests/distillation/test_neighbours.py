"""Vectors drawn towards those of the nearest words."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.distillation.neighbours import SHARPNESS, draw_to_neighbours

WORDS, DIM = 2500, 8  # more than are compared at once


@pytest.fixture(scope="module")
def matrix() -> np.ndarray:
    draw = np.random.default_rng(0)
    made = draw.normal(size=(WORDS, DIM)) * draw.uniform(0.5, 2.0, size=(WORDS, 1))
    made[7] = 0.0
    return made.astype(np.float32)


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    return np.random.default_rng(1).integers(1, 10**6, size=WORDS)


def drawn_plainly(
    matrix: np.ndarray, counts: np.ndarray, weight: float, nearest: int, among: int, some: np.ndarray
) -> np.ndarray:
    """Some words, one after the other."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    units = matrix / np.where(lengths, lengths, 1.0)[:, None]
    most_frequent = sorted((i for i in range(len(matrix)) if lengths[i]), key=lambda i: (-counts[i], i))[:among]
    made = np.zeros(matrix.shape)
    for i in some.tolist():
        if not lengths[i]:
            continue
        others = [j for j in most_frequent if j != i]
        cosines = {j: float(units[i] @ units[j]) for j in others}
        near = sorted(others, key=lambda j: -cosines[j])[:nearest]
        mean = sum(np.exp(SHARPNESS * cosines[j]) * units[j] for j in near)
        turned = units[i] + weight * mean / np.linalg.norm(mean)
        made[i] = lengths[i] * turned / np.linalg.norm(turned)
    return made


def test_it_is_what_a_plain_loop_gives(matrix, counts):
    some = np.r_[0:30, 500:530, 2480:2500]  # of the first, second and last block, when all are given
    made = draw_to_neighbours(matrix, counts, 0.5, nearest=20, among=600, enough=WORDS // 2)
    wanted = drawn_plainly(matrix, counts, 0.5, nearest=20, among=600, some=some)
    np.testing.assert_allclose(made[some], wanted[some], atol=1e-5)
    assert not made[7].any()


def test_with_few_words_the_pull_is_less(matrix, counts):
    half = draw_to_neighbours(matrix, counts, 0.5, nearest=20, enough=2 * (WORDS - 1))
    np.testing.assert_allclose(half, draw_to_neighbours(matrix, counts, 0.25, nearest=20, enough=1), atol=1e-5)


@pytest.mark.parametrize("words", [0, 1])
def test_a_word_without_others_stays(matrix, counts, words):
    np.testing.assert_array_equal(draw_to_neighbours(matrix[:words], counts[:words], 0.5, enough=1), matrix[:words])


def test_noise_about_common_meanings_becomes_less():
    """Words of a class lie about its centre; drawn, they lie nearer to it, and lengths stay."""
    draw = np.random.default_rng(2)
    centres = draw.normal(size=(30, 50))
    of = np.repeat(np.arange(30), 120)
    matrix = (centres[of] + draw.normal(size=(len(of), 50))).astype(np.float32)
    made = draw_to_neighbours(matrix, np.ones(len(of)), 0.5, enough=len(of))

    def nearness(x: np.ndarray) -> float:
        cosines = (x * centres[of]).sum(axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(centres[of], axis=1)
        return float(cosines.mean())

    assert nearness(made) > nearness(matrix) + 0.05
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), np.linalg.norm(matrix, axis=1), rtol=1e-5)


def test_twins_do_not_draw_each_other(matrix, counts):
    """Every word twice, as Tea and tea: all are drawn as if they were there once."""
    once = draw_to_neighbours(matrix, counts, 0.5, nearest=20, enough=1)
    # 40 of the nearest are 20 words twice
    twice = draw_to_neighbours(np.repeat(matrix, 2, axis=0), np.repeat(counts, 2), 0.5, nearest=40, enough=1)
    np.testing.assert_allclose(twice[::2], once, atol=1e-5)
    np.testing.assert_allclose(twice[1::2], once, atol=1e-5)


def test_words_that_are_all_the_same_stay():
    same = np.ones((5, DIM), dtype=np.float32)
    np.testing.assert_allclose(draw_to_neighbours(same, np.ones(5), 0.5, enough=1), same, rtol=1e-6)
