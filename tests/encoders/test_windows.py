"""Windows over long texts and around targets, against a search through all of them."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.encoders.alignment import Alignment
from limbeck.encoders.windows import Windows, around, choose_window, cover, overlapping


def made(sizes: list[list[int]], *, blanks: bool = False) -> Alignment:
    """Texts whose words have these numbers of pieces; with `blanks`, a blank piece stands before each word."""
    first, end, lead, piece_starts, at = [], [], [], [0], 0
    for text in sizes:
        for size in text:
            lead.append(at)
            at += blanks
            first.append(at)
            at += size
            end.append(at)
        piece_starts.append(at)
    word_starts = np.cumsum([0, *map(len, sizes)])
    pieces = np.arange(at, dtype=np.int32)
    return Alignment(pieces, np.array(piece_starts), word_starts, np.array(first), np.array(end), np.array(lead))


def random_sizes(rng: np.random.Generator, capacity: int) -> list[list[int]]:
    kinds = [1, 1, 1, 2, 3, 0, capacity // 2, capacity, capacity + 1]
    return [rng.choice(kinds, size=rng.integers(1, 60)).tolist() for _ in range(rng.integers(1, 5))]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("blanks", [False, True])
@pytest.mark.parametrize("capacity", [1, 2, 7, 16])
def test_each_word_once_where_it_sees_most(causal: bool, blanks: bool, capacity: int) -> None:
    rng = np.random.default_rng(capacity)
    for _ in range(60):
        a = made(random_sizes(rng, capacity), blanks=blanks)
        found = overlapping(a, capacity=capacity, causal=causal)
        assert (found.end - found.start <= capacity).all()
        text_of = np.searchsorted(a.word_starts, np.arange(len(a.first)), side="right") - 1
        window_text = np.searchsorted(a.piece_starts, found.start, side="right") - 1
        heads = set(a.lead.tolist()) | set(a.piece_starts.tolist())
        assert set(found.start.tolist()) <= heads
        for word, (f, e) in enumerate(zip(a.first, a.end, strict=True)):
            if e == f:
                continue
            p, q = a.piece_starts[text_of[word] : text_of[word] + 2]
            assert ((found.end <= q) | (window_text != text_of[word])).all()
            holding = [w for w, (s, t) in enumerate(zip(found.start, found.end, strict=True)) if s <= f and e <= t]
            if not holding:
                assert e - a.lead[word] > capacity  # only what cannot fit is left out
                assert found.of_word[word] == -1
                continue

            def context(w: int, f: int = f, e: int = e, found: Windows = found) -> int:
                left, right = f - found.start[w], found.end[w] - e
                return int(left if causal else min(left, right))

            assert found.of_word[word] == max(holding, key=lambda w: (context(w), -w))
            assert p <= found.start[found.of_word[word]] < q


def test_texts_that_fit_are_one_window_each() -> None:
    a = made([[1, 2], [3], [1, 1, 1]])
    found = overlapping(a, capacity=3, causal=False)
    assert found.start.tolist() == [0, 3, 6]
    assert found.of_word.tolist() == [0, 0, 1, 2, 2, 2]


def test_windows_overlap_by_half_and_the_last_is_full() -> None:
    ones = np.arange(25)
    start, stop = cover(ones, ones + 1, ones, 0, 25, 10)
    assert start.tolist() == [0, 5, 10, 15]
    assert stop.tolist() == [10, 15, 20, 25]
    start, stop = cover(np.arange(23), np.arange(23) + 1, np.arange(23), 0, 23, 10)
    assert (int(start[-1]), int(stop[-1])) == (13, 23)
    assert choose_window(ones, ones + 1, np.array([0, 5]), np.array([10, 15]), causal=True)[9] == 0
    assert choose_window(ones, ones + 1, np.array([0, 5]), np.array([10, 15]), causal=False)[6:9].tolist() == [0, 0, 1]


@pytest.mark.parametrize("k", [0, 1, 3, 100])
def test_context_is_counted_in_words(k: int) -> None:
    rng = np.random.default_rng(k)
    for _ in range(40):
        a = made([rng.choice([0, 1, 2], size=12).tolist() for _ in range(3)], blanks=bool(rng.integers(2)))
        wanted = rng.random(len(a.first)) < 0.7
        found = around(a, capacity=1000, words=k, wanted=wanted)
        for word in range(len(a.first)):
            text = word // 12
            if not wanted[word] or a.end[word] == a.first[word]:
                assert found.of_word[word] == -1
                continue
            low, high = max(word - k, text * 12), min(word + k, text * 12 + 11)
            window = found.of_word[word]
            assert found.start[window] == a.lead[low]
            assert found.end[window] == a.end[high]


def test_context_wider_than_the_window_is_narrowed() -> None:
    a = made([[1] * 9])
    found = around(a, capacity=5, words=4, wanted=np.arange(9) == 4)
    assert (found.start.tolist(), found.end.tolist()) == ([2], [7])
    a = made([[1, 9, 1]])
    assert around(a, capacity=5, words=1, wanted=np.ones(3, dtype=bool)).of_word[1] == -1
    a = made([[5, 5, 5]], blanks=True)
    found = around(a, capacity=5, words=1, wanted=np.ones(3, dtype=bool))
    assert (found.end - found.start == 5).all()


def test_equal_windows_are_read_once() -> None:
    a = made([[1, 1, 1]])
    assert len(around(a, capacity=10, words=5, wanted=np.ones(3, dtype=bool)).start) == 1
