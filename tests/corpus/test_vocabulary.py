"""Words and their numbers."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from limbeck.corpus.vocabulary import Vocabulary, punctuation_only


@pytest.mark.parametrize("words", [[], [""], ["the"], ["the", "a"], ["the", "東京", "", "e\u0301", "a\x00b", "\udc80"]])
def test_arrays_and_back(words: list[str]) -> None:
    counts = np.arange(len(words)) + 5
    vocabulary = Vocabulary(words, counts, counts - 4)
    arrays = vocabulary.to_arrays()
    assert all(array.dtype.kind in "iu" for array in arrays.values())
    for back in (Vocabulary.from_arrays(arrays), pickle.loads(pickle.dumps(vocabulary))):
        assert back.words == words
        np.testing.assert_array_equal(back.counts, counts)
        np.testing.assert_array_equal(back.contexts, counts - 4)


def test_ids() -> None:
    vocabulary = Vocabulary(["b", "a"], [1, 1], [1, 1])
    ids = vocabulary.ids(["a", "x", "b", "a"])
    assert ids.dtype == np.int64
    assert ids.tolist() == [1, -1, 0, 1]
    assert vocabulary.ids([]).shape == (0,)
    assert "a" in vocabulary
    assert "x" not in vocabulary
    assert len(vocabulary) == 2


def test_refused() -> None:
    with pytest.raises(ValueError, match="as many counts"):
        Vocabulary(["a"], [1, 2], [1])
    with pytest.raises(ValueError, match="must differ"):
        Vocabulary(["a", "a"], [1, 2], [1, 2])


@pytest.mark.parametrize(
    ("word", "expected"),
    [("--", True), ("$", True), ("😀", True), ("“", True), ("n't", False), ("3", False), ("", False), ("a.", False)],
)
def test_punctuation_only(word: str, expected: bool) -> None:
    assert punctuation_only(word) is expected
