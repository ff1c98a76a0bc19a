"""Scores against the libraries' own numbers, and what is and is not counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.stats import binomtest

import limbeck
from recipes.evaluate import read_held_out, wilson
from recipes.miniatures import POSITIONS, SEP
from recipes.scorers import CausalScorer, MaskedScorer, by_word, sentences, windows

MODELS = Path(limbeck.__file__).parent / "data" / "miniatures"
WORDS = "the river flows through the city and into the sea .".split()


def test_wilson_is_scipy_s() -> None:
    for right, n in ((0, 10), (7, 10), (321, 338)):
        want = binomtest(right, n).proportion_ci(method="wilson")
        assert wilson(right, n) == pytest.approx((want.low, want.high), abs=1e-4)


def test_held_out_text_is_read_as_words(tmp_path: Path) -> None:
    file = tmp_path / "valid.txt"
    file.write_text(" \n = Title = \n \n A well @-@ known <unk> of 3 @,@ 000 . \n", encoding="utf-8")
    assert read_held_out(file) == ["= title =".split(), "a well - known <unk> of 3 , 000 .".split()]


def test_a_word_is_the_sum_of_its_pieces_and_a_missing_one_is_not_scored() -> None:
    found = by_word(np.array([-1.0, -2.0, -4.0, -8.0]), np.array([0, 1, 1, 2]), ["a", "bc", "<unk>"])
    assert found[:2].tolist() == [-1.0, -6.0]
    assert np.isnan(found[2])


def test_sentences_end_with_their_stops() -> None:
    assert sentences(["a", ".", "b", "!", "c"]) == [["a", "."], ["b", "!"], ["c"]]
    assert sentences(["a", "."]) == [["a", "."]]


def test_windows_fit_between_the_marks() -> None:
    parts = windows(np.arange(300))
    assert max(map(len, parts)) <= POSITIONS - 2
    assert np.array_equal(np.concatenate(parts), np.arange(300))


def test_causal_scores_are_the_model_s(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer = CausalScorer(MODELS / "mini-gpt2")
    found = scorer(WORDS)
    ids, owners = scorer._pieces.of(WORDS)
    row = torch.tensor([[SEP, *ids]])
    with torch.no_grad():
        want = -scorer._model(input_ids=row, labels=row).loss.item() * len(ids)
    assert len(owners) == len(ids)
    assert found.sum() == pytest.approx(want, rel=1e-4)
    long = scorer(WORDS * 40)  # several windows
    assert len(long) == 40 * len(WORDS)
    assert np.isfinite(long).all()
    assert long[: len(WORDS)] == pytest.approx(found, abs=1e-3)  # what comes later changes nothing before it
    assert long[-len(WORDS) :].mean() > found.mean()  # a text that repeats itself is foretold


def test_masked_scores_hide_one_piece_at_a_time() -> None:
    scorer = MaskedScorer(MODELS / "mini-bert", rows_at_once=3)
    found = scorer(WORDS)
    assert found == pytest.approx(MaskedScorer(MODELS / "mini-bert")(WORDS), abs=1e-4)
    shuffled = WORDS[::-1]
    assert found.sum() > scorer(shuffled).sum()
