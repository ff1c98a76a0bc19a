"""Vectors of labelled words: the right rows, the right context, and bags of what stands around them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limbeck.corpus import Corpus, Sentence
from limbeck.encoders import FunctionEncoder, load_encoder
from limbeck.probing import features as features_module
from limbeck.probing.features import extract
from limbeck.probing.labelled import read_labelled
from limbeck.probing.settings import LabelSettings
from limbeck.probing.spaces import (
    averages,
    context_level,
    model_bag,
    static_bag,
    static_words,
    surroundings,
    type_level,
)
from limbeck.stream import collect_texts
from limbeck.vectors import StaticVectors

WORDS = ("The", "finches", "of", "New", "York", "have", "deeper", "bills", "now")
LABELS = {1: {"class": "animal"}, 3: {"class": "place", "span": "2"}, 7: {"class": "body"}}
SENTENCES = [Sentence(WORDS, labels=LABELS), Sentence(("Old", "bills", "rot"), index=1, labels={1: {"class": "paper"}})]


def labelled():
    return read_labelled(Corpus.from_sentences(SENTENCES), LabelSettings(min_words=1))


def told(texts):
    """A word's place, and how many words the text has."""
    return [[[float(at + 1), float(len(text.words))] for at in range(len(text.words))] for text in texts]


def vectors_of(found, layer=0):
    return np.asarray(found.vectors)[found.index, layer]


def test_rows_are_the_labelled_words_and_several_words_are_their_mean():
    found = extract(FunctionEncoder(told, name="told"), labelled())
    assert vectors_of(found).tolist() == [[2.0, 9.0], [4.5, 9.0], [8.0, 9.0], [2.0, 3.0]]
    assert found.found.all()


@pytest.mark.parametrize(
    ("size", "expected"), [(0, [[1, 1], [1.5, 2], [1, 1], [1, 1]]), (1, [[2, 3], [2.5, 4], [2, 3], [2, 3]])]
)
def test_context_is_so_many_words_and_no_more(size: int, expected: list[list[float]]):
    data = labelled()
    found = extract(FunctionEncoder(told, name="told"), data, context=size)
    assert vectors_of(found).tolist() == expected
    if size == 0:  # "bills" and "bills" are one text
        assert len(found.texts.texts) == 3


def test_the_mean_is_over_all_pieces_of_all_words():
    """Against the model's own pieces; and a window against the encoder's own restricted context."""
    data = labelled()
    by_words = load_encoder("mini-bert", layers="table,3")
    by_pieces = load_encoder("mini-bert", layers="table,3", units="pieces")
    found = extract(by_words, data)
    pieces, words = collect_texts(by_pieces, [WORDS]), collect_texts(by_words, [WORDS])
    sizes = np.bincount(collect_texts(by_pieces, [[word] for word in WORDS]).texts).tolist()
    ends = np.cumsum(sizes)
    expected = pieces.vectors[:, ends[2] : ends[4]].mean(1).numpy()  # New York
    np.testing.assert_allclose(found.vectors[found.index[1]], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found.vectors[found.index[0]], words.vectors[:, 1].numpy(), rtol=1e-4, atol=1e-5)
    assert found.pieces[:2].tolist() == [sizes[1], sizes[3] + sizes[4]]
    assert found.bag is not None
    around = surroundings(found, context_level(data, np.zeros(len(data), dtype=np.int8)))
    assert around is not None
    others = np.delete(pieces.vectors[0].numpy(), np.arange(ends[2], ends[4]), axis=0).mean(0)  # all but New York
    np.testing.assert_allclose(around.features[around.index[1], 0], others, rtol=1e-4, atol=1e-5)
    alone = surroundings(extract(by_words, data, context=0), around.level)
    assert alone is not None
    assert not alone.features.any()  # nothing is around a word alone
    upper = found.at_layers(["3"])
    np.testing.assert_array_equal(upper.vectors, found.vectors[:, 1:])
    np.testing.assert_allclose(found.bag[found.texts.text[0]], pieces.vectors[0].mean(0).numpy(), rtol=1e-4, atol=1e-6)
    narrow = extract(load_encoder("mini-bert", layers="3"), data, context=2)
    own = collect_texts(load_encoder("mini-bert", layers="3", context=2, targets=["finches"]), [WORDS])
    np.testing.assert_allclose(vectors_of(narrow)[0], own.vectors[0, 0].numpy(), rtol=1e-4, atol=1e-5)
    assert narrow.bag is None  # layer 3 alone holds no bag of words


def test_vectors_are_kept_on_disk_where_memory_is_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    data, encoder = labelled(), FunctionEncoder(told, name="told")
    held = vectors_of(extract(encoder, data))
    monkeypatch.setattr(features_module, "IN_MEMORY", 0)
    kept = extract(encoder, data, file=tmp_path / "v.npy")
    assert isinstance(kept.vectors, np.memmap)
    np.testing.assert_array_equal(vectors_of(kept), held)


def test_spaces_of_words_and_of_bags():
    data = labelled()
    sides = np.zeros(len(data), dtype=np.int8)
    found = extract(FunctionEncoder(told, name="told"), data)
    mean = averages(found, data, type_level(data, sides))
    by_word = dict(zip(data.words, mean.features[:, 0].tolist(), strict=True))
    assert by_word["bills"] == [5.0, 6.0]  # of two contexts, of two classes
    assert by_word["new_york"] == [4.5, 9.0]
    assert mean.level.gold[data.words.index("bills")].sum() == 2
    level = context_level(data, sides)
    assert model_bag(found, level) is None  # a function's layer may be anything
    assert surroundings(found, level) is None
    table = StaticVectors(["old", "rot", "york", "new", "bills"], [[1.0, 0], [0, 1], [2, 2], [4, 4], [9, 9]])
    bag = static_bag(table, found, level, seed=0)
    assert bag.features[bag.index[3], 0].tolist() == pytest.approx([10 / 3, 10 / 3])  # Old is looked up as old
    words = static_words(table, data, type_level(data, sides), seed=0)
    assert words.features[data.words.index("new_york"), 0].tolist() == [3.0, 3.0]
    assert words.note.startswith("1 of 3 words")
    random = static_bag(None, found, level, seed=0)
    assert random.features.shape[2] == 300
    np.testing.assert_array_equal(random.features, static_bag(None, found, level, seed=0).features)


def test_words_of_a_bilm_weigh_alike_and_have_no_pieces():
    """Its pieces are characters; the mean over "New York" and over a sentence is one of words."""
    encoder = load_encoder("mini-elmo")
    found = extract(encoder, labelled())
    one, other = (collect_texts(encoder, [" ".join(sentence.words)]) for sentence in SENTENCES)
    rows = np.asarray(one.vectors[0])[[3, 4]].mean(0)
    assert vectors_of(found)[1] == pytest.approx(rows, abs=1e-5)
    assert found.bag[0] == pytest.approx(np.asarray(one.vectors[0]).mean(0), abs=1e-5)
    assert found.bag[1] == pytest.approx(np.asarray(other.vectors[0]).mean(0), abs=1e-5)
    assert not found.pieces.any()
