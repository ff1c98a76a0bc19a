"""No word is on two sides."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.corpus import Corpus, Sentence
from limbeck.errors import InputError, UsageError
from limbeck.probing.labelled import Labelled, read_labelled
from limbeck.probing.settings import LabelSettings
from limbeck.probing.splits import (
    DEV,
    SIDES,
    TEST,
    TRAIN,
    check_sides,
    one_sided,
    read_lists,
    read_words,
    sides_of,
    split_words,
    with_sides,
)


def labelled_of(words: list[str], given: list[str] | None = None, kinds: str = "x") -> Labelled:
    """Words of the classes that letters stand for, one after the other."""
    sentences = [
        Sentence(
            (word,),
            labels={0: {"class": kinds[at % len(kinds)]} | ({} if given is None else {"split": given[at]})},
        )
        for at, word in enumerate(words)
    ]
    return read_labelled(Corpus.from_sentences(sentences), LabelSettings(min_words=1))


def test_a_words_side_does_not_depend_on_others():
    words = [f"w{number}" for number in range(3000)]
    sides = split_words(words, dev=0.1, test=0.3)
    assert np.bincount(sides) / 3000 == pytest.approx([0.6, 0.1, 0.3], abs=0.03)
    some = split_words(words[5:50][::-1], dev=0.1, test=0.3)
    np.testing.assert_array_equal(some, sides[5:50][::-1])
    assert (split_words(words, dev=0.1, test=0.3, seed=1) != sides).any()


def test_a_leaking_split_is_refused():
    words = ["tea", "cup", "tea", "pot", "jug"]
    fine = labelled_of(words, ["train", "test", "train", "dev", "train"])
    assert [SIDES[side] for side in sides_of(fine)] == ["train", "test", "train", "dev", "train"]
    with raises(InputError, code="twice", says="'tea'"):
        sides_of(labelled_of(words, ["train", "test", "test", "dev", "train"]))
    with raises(InputError, code="twice"):
        check_sides(["a"], np.array([0, 0]), np.array([DEV, TEST], dtype=np.int8))
    with raises(InputError, code="malformed", says="'valid'"):
        sides_of(labelled_of(words, ["train", "test", "train", "valid", "train"]))


def test_all_occurrences_of_a_word_go_together():
    words = [f"w{number % 40}" for number in range(200)]
    labelled = labelled_of(words)
    sides = sides_of(labelled, LabelSettings(dev=0.2, test=0.3))
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
    with raises(InputError, code="twice", says="'w3'"):
        sides_of(labelled, lists={"train": lists["train"], "test": ["w3"]})


def test_lists_are_in_lower_case_as_words_are():
    labelled = labelled_of([f"w{n}" for n in range(40)])
    lists = {"train": [f"W{n}" for n in range(30)], "test": ["W30", "w31"]}
    sides = sides_of(labelled, lists=lists)
    assert np.flatnonzero(sides == TEST).tolist() == [30, 31]
    assert (sides == -1).sum() == 8
    with raises(InputError, code="twice", says="'w3'"):
        sides_of(labelled, lists={"train": ["W3"], "test": ["w3"]})


def test_words_on_no_list_are_left_out_and_counted():
    words = [f"w{n}" for n in range(40)]
    labelled = labelled_of(words, kinds="xyz")
    lists = {"train": [word for n, word in enumerate(words) if n % 3 < 2 and n < 30], "test": ["w30", "w31"]}
    kept, sides = with_sides(labelled, lists=lists)
    assert set(kept.words) == set(lists["train"]) | set(lists["test"])
    assert kept.classes == ("x", "y")  # no word of z is on a list
    assert kept.left_out == {"of words on no list": 18}
    assert len(kept) == len(sides) == 22
    for row in range(len(kept)):
        assert kept.text_of(row) == f"[{kept.words[kept.word[row]]}]"
        assert kept.classes[kept.kind[row]] == "xyz"[words.index(kept.words[kept.word[row]]) % 3]
    with raises(InputError, code="too_few", parameter="classes"):
        with_sides(labelled_of(words))


def test_classes_on_one_side_are_told():
    labelled = labelled_of(["a", "b", "c", "d", "e"], ["train", "dev", "test", "train", "test"], kinds="xyxyz")
    sides = sides_of(labelled)
    assert one_sided(labelled, sides) == [
        "classes without a training word, which cannot be learnt: z",
        "classes without a test word, of which F1 says nothing: y",
    ]
    assert one_sided(labelled.take(np.array([0, 2])), sides[[0, 2]])[0].endswith("learnt: y, z")
    fine = labelled_of(["a", "b", "c"], ["train", "dev", "test"])
    assert one_sided(fine, sides_of(fine)) == []


def test_lists_of_other_words_are_told():
    with raises(InputError, code="too_few"):
        sides_of(labelled_of(["a", "b"]), lists={"train": ["c"], "test": ["a"]})


def test_a_list_needs_the_other(tmp_path: Path):
    (tmp_path / "words.txt").write_text("tea\n")
    assert read_lists(None, None) is None
    assert read_lists(tmp_path / "words.txt", tmp_path / "words.txt") == {"train": ["tea"], "test": ["tea"]}
    for one in ((tmp_path / "words.txt", None), (None, tmp_path / "words.txt")):
        with raises(UsageError, code="required", parameter=None):
            read_lists(*one)


def test_shares_and_empty_sides_are_refused():
    for dev, test in ((0.6, 0.6), (-0.1, 0.3), (0.1, float("nan")), (float("nan"), 0.1)):
        with raises(UsageError, code="out_of_range", parameter="dev", says=f"{dev} and {test}"):
            split_words(["a"], dev=dev, test=test)
    with raises(InputError, code="too_few"):
        sides_of(labelled_of(["a", "b", "c"]), LabelSettings(dev=0.0, test=0.5))
