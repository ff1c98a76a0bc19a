"""Arrays that travel between processes arrive as they were."""

from __future__ import annotations

import pickle
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from tiny_models import FAMILIES, odd_texts, story, tokenizer

from limbeck.encoders.alignment import Aligner
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.travel import slim, wide
from limbeck.strings import Strings

INTEGERS = [np.int64, np.uint64, np.int32, np.int8, np.bool_]


@given(st.sampled_from(INTEGERS).flatmap(lambda kind: arrays.arrays(kind, st.integers(0, 12))), st.integers(1, 9))
def test_any_array_comes_back(array: np.ndarray, times: int) -> None:
    for given_array in (array, np.repeat(array, times)):
        again = wide(*pickle.loads(pickle.dumps(slim(given_array))))
        assert again.dtype == given_array.dtype
        np.testing.assert_array_equal(again, given_array)


@pytest.mark.parametrize("edge", [2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**63 - 1])
def test_what_is_too_large_stays_wide(edge: int) -> None:
    array = np.array([3, edge, -7, 5], dtype=np.int64)
    np.testing.assert_array_equal(wide(*slim(array)), array)


def test_small_and_repeated_numbers_take_little_room() -> None:
    values, times, _ = slim(np.repeat(np.array([5, 2**60, 7]), 1000))
    assert times is not None
    assert values.nbytes + times.nbytes < 100
    values, times, _ = slim(np.arange(3000))
    assert times is None
    assert values.nbytes == 12_000


@pytest.mark.parametrize("words", [[], [""], ["", ""], ["to", "be", "to"], ["a\0b", "c"], ["東京", "\udc80"]])
def test_strings_come_back(words: list[str]) -> None:
    again = pickle.loads(pickle.dumps(Strings.of(words)))
    assert again == words
    assert again.distinct == Strings.of(words).distinct


@pytest.mark.parametrize("settings", [{}, {"units": "pieces"}, {"context": 1}, {"capacity": 6}])
def test_prepared_texts_come_back(settings: dict) -> None:
    prepare = PiecePreparer(Aligner(tokenizer(FAMILIES["bert"])), **{"capacity": 100, **settings})
    for texts in (story(), odd_texts(), []):
        prepared = prepare(texts)
        again = pickle.loads(pickle.dumps(prepared))
        for each in fields(prepared):
            want, got = getattr(prepared, each.name), getattr(again, each.name)
            if isinstance(want, np.ndarray):
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)
            else:
                assert got == want
