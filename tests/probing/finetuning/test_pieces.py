"""What the model reads: the same pieces as the tokenizer's own, every tagged word at its place."""

from __future__ import annotations

import made_tasks
import numpy as np
import pytest
import torch
from refusals import raises

from limbeck.encoders.alignment import Aligner
from limbeck.errors import UsageError
from limbeck.evaluation.classifying.task import Examples
from limbeck.probing.finetuning.data import Part, tagged
from limbeck.probing.finetuning.pieces import Reader, collate

WORDS = "the unbelievable riverbank rose over yesterday's waterways ."


def reader(family: str = "bert", **settings):
    parts = made_tasks.parts(family)
    return parts.tokenizer, Reader(Aligner(parts.tokenizer), **{"length": 64, **settings})


def one_sentence(words: str = WORDS):
    count = len(words.split())
    kinds = " ".join(f"T{at % 3}" for at in range(count))
    return tagged("pos", {"train": [made_tasks.sentence(words, kinds)]}).parts["train"]


@pytest.mark.parametrize("kind", ["last", "first", "mean"])
def test_a_word_is_read_where_its_pieces_stand(kind):
    tokenizer, read = reader(word=kind)
    part = one_sentence()
    windows = read(part)
    assert windows.pieces[0].tolist() == tokenizer(WORDS)["input_ids"]
    owners = tokenizer(WORDS.split(), is_split_into_words=True).word_ids()  # transformers' own count
    for row, position in enumerate(windows.places.position.tolist()):
        mine = [at for at, owner in enumerate(owners) if owner == position]
        first, count = int(windows.places.first[row]), int(windows.places.count[row])
        wanted = {"last": mine[-1:], "first": mine[:1], "mean": mine}[kind]
        assert list(range(first, first + count)) == wanted
        assert windows.places.label[row] == part.tags[0][position]
    assert max(windows.places.count) > 1 or kind != "mean"


def test_words_of_pieces_count_up_and_special_tokens_stand_outside():
    tokenizer, read = reader()
    owners = tokenizer(WORDS.split(), is_split_into_words=True).word_ids()
    assert read(one_sentence()).words[0].tolist() == [-1, *owners[1:-1], len(WORDS.split())]


def test_a_long_sentence_goes_on_in_the_next_window():
    _, read = reader(length=12)
    part = one_sentence(" ".join([WORDS] * 3))
    windows = read(part)
    assert len(windows) > 2
    assert windows.lengths.max() <= 12
    assert windows.places.position.tolist() == list(range(len(part.tags[0])))  # every word once
    for window, words in zip(windows.pieces, windows.words, strict=True):
        assert len(words) == len(window)
        assert np.all(np.diff(words) >= 0)
    inner = np.concatenate([window[1:-1] for window in windows.pieces])
    assert inner.tolist() == reader(length=500)[1](part).pieces[0][1:-1].tolist()


def test_a_word_longer_than_a_window_is_cut_and_one_of_nothing_is_counted():
    _, read = reader(length=8)
    windows = read(one_sentence("a " + "river" * 20 + " \u200b b"))
    assert windows.lengths.max() <= 8
    assert windows.places.position.tolist() == [0, 1, 3]
    assert windows.left_out == 1


@pytest.mark.parametrize("kind", ["first", "last", "mean"])
def test_pairs_as_the_tokenizer_makes_them(kind):
    tokenizer, read = reader(sentence=kind)
    a, b = "the river rose .", "water over the bank fell"
    windows = read(Part(examples=Examples(([a], [b]), np.array([1]))))
    theirs = tokenizer(a, b)
    assert windows.pieces[0].tolist() == theirs["input_ids"]
    first = len(tokenizer(a)["input_ids"])  # [CLS] a [SEP]
    assert windows.segments[0].tolist() == [0] * first + [1] * (len(theirs["input_ids"]) - first)
    length = len(windows.pieces[0])
    wanted = {"first": (0, 1), "last": (length - 1, 1), "mean": (1, length - 2)}[kind]
    assert (windows.places.first[0], windows.places.count[0]) == wanted


def test_a_pair_that_is_too_long_is_cut_as_transformers_does():
    tokenizer, read = reader(length=16)
    a, b = "the river rose " * 6, "water fell"
    windows = read(Part(examples=Examples(([a], [b]), np.array([0]))))
    cut = tokenizer(a, b, truncation="longest_first", max_length=16)["input_ids"]
    assert windows.pieces[0].tolist() == cut


def test_a_decoder_has_something_between_two_texts():
    tokenizer, read = reader("gpt2", separator=5)
    windows = read(Part(examples=Examples((["the river"], ["rose"]), np.array([0]))))
    assert windows.pieces[0].tolist() == [*tokenizer(" the river")["input_ids"], 5, *tokenizer(" rose")["input_ids"]]


def test_a_batch_holds_what_its_windows_hold():
    _, read = reader(word="mean")
    windows = read(made_tasks.tagging(10).parts["train"])
    chosen = np.array([7, 2, 5])
    batch = collate(windows, chosen, pad=9, device=torch.device("cpu"))
    flat = batch.ids.reshape(-1)
    for row, window in enumerate(chosen):
        size = len(windows.pieces[window])
        assert batch.ids[row, :size].tolist() == windows.pieces[window].tolist()
        assert batch.ids[row, size:].tolist() == [9] * (batch.ids.shape[1] - size)
        assert batch.real[row].sum() == size
    for place, row in enumerate(batch.rows):
        own = flat[batch.flat[batch.row == place]].tolist()
        first, window = windows.places.first[row], windows.places.window[row]
        assert own == windows.pieces[window][first : first + windows.places.count[row]].tolist()
        assert batch.labels[place] == windows.places.label[row]
    assert sorted(set(windows.places.window[batch.rows])) == sorted(chosen)


def test_no_room():
    with raises(UsageError, code="out_of_range", parameter="max_length"):
        reader(length=4)
