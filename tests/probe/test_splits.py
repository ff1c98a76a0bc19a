"""No word is on two sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limbeck.corpus import Corpus, Sentence
from limbeck.errors import InputError, UsageError
from limbeck.probe.labelled import Labelled, read_labelled
from limbeck.probe.splits import DEV, SIDES, TEST, TRAIN, check_sides, read_words, sides_of, split_words


def labelled_of(words: list[str], given: list[str] | None = None) -> Labelled:
    sentences = [
        Sentence((word,), labels={0: {"class": "x"} | ({} if given is None else {"split": given[at]})})
        for at, word in enumerate(words)
    ]
    return read_labelled(Corpus.from_sentences(sentences), min_words=1)


def test_a_words_side_does_not_depend_on_others():
    words = [f"w{number}" for number in range(3000)]
    sides = split_words(words, dev=0.1, test=0.3)
    assert np.bincount(sides) / 3000 == pytest.approx([0.6, 0.1, 0.3], abs=0.03)
    some = split_words(words[5:50][::-1], dev=0.1, test=0.3)
    np.testing.assert_array_equal(some, sides[5:50][::-1])
    assert (split_words(words, seed=1) != sides).any()


def test_a_leaking_split_is_refused():
    words = ["tea", "cup", "tea", "pot", "jug"]
    fine = labelled_of(words, ["train", "test", "train", "dev", "train"])
    assert [SIDES[side] for side in sides_of(fine)] == ["train", "test", "train", "dev", "train"]
    with pytest.raises(InputError, match=r"1 are, 'tea' in train and test"):
        sides_of(labelled_of(words, ["train", "test", "test", "dev", "train"]))
    with pytest.raises(InputError, match="two sides"):
        check_sides(["a"], np.array([0, 0]), np.array([DEV, TEST], dtype=np.int8))
    with pytest.raises(InputError, match="'valid'"):
        sides_of(labelled_of(words, ["train", "test", "train", "valid", "train"]))


def test_all_occurrences_of_a_word_go_together():
    words = [f"w{number % 40}" for number in range(200)]
    labelled = labelled_of(words)
    sides = sides_of(labelled, dev=0.2, test=0.3)
    check_sides(labelled.words, labelled.word, sides)
    assert set(sides.tolist()) == {TRAIN, DEV, TEST}


def test_lists_as_wiki_pse_has_them(tmp_path: Path):
    (tmp_path / "train.tsv").write_text("".join(f"@w{n}@\t-food=3 -living_thing=1\n" for n in range(30)))
    (tmp_path / "test.tsv").write_text("@new_york@\t-location=8\nplain\n")
    lists = {"train": read_words(tmp_path / "train.tsv"), "test": read_words(tmp_path / "test.tsv")}
    assert lists["test"] == ["new_york", "plain"]
    labelled = labelled_of([*(f"w{n}" for n in range(30)), "new_york", "unlisted"])
    sides = dict(
        zip((labelled.words[at] for at in labelled.word), sides_of(labelled, lists=lists).tolist(), strict=True)
    )
    assert sides["new_york"] == TEST
    assert sides["unlisted"] == -1
    assert {sides[f"w{n}"] for n in range(30)} == {TRAIN, DEV}  # a fifth of the training words, as in the paper
    with pytest.raises(InputError, match="'w3' is in the lists of train and test"):
        sides_of(labelled, lists={"train": lists["train"], "test": ["w3"]})


def test_shares_and_empty_sides_are_refused():
    with pytest.raises(UsageError, match="together at most 1"):
        split_words(["a"], dev=0.6, test=0.6)
    with pytest.raises(InputError, match="dev has none"):
        sides_of(labelled_of(["a", "b", "c"]), dev=0.0, test=0.5)
