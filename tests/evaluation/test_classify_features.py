"""What a classifier sees: means, pairs side by side, cut and filled up, and the vectors of one word."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises
from transformers import AutoModel, AutoTokenizer

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders import FunctionEncoder, load_encoder
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import InputError, UsageError
from limbeck.evaluation.classifying.features import NO_VECTOR, NO_WORD, encode_examples
from limbeck.evaluation.classifying.joined import JoinedPreparer, cut_longest
from limbeck.evaluation.classifying.task import Examples

LONG = " ".join(f"the old river number {n} rose, didn't it?" for n in range(30))
PAIRS = (
    ["A dog barks.", LONG, LONG, "unbelievable [SEP] kettles", "x"],
    ["The dog barked loudly!", "It rose.", LONG + " so", LONG, "y"],
)


def places(texts):
    """Two layers; a word's vector: its length, its place, the length of its text; nine times as much above."""
    below = [np.array([[len(w), i, len(t.words)] for i, w in enumerate(t.words)], dtype=np.float32) for t in texts]
    return [np.stack([one, 9 * one]) for one in below]


PLACES = FunctionEncoder(places, name="places")


def features_of(examples, kind, features, encoder=PLACES, layer="0", **options):
    found = encode_examples(examples, encoder, kind=kind, features=features, layer=layer, **{"length": 64, **options})
    made = found.make(found.rows)(torch.arange(len(examples)))
    assert made.shape == (len(examples), found.width)
    return made.numpy(), found


def test_means_of_single_texts_and_of_pairs():
    texts = ["aa b", "ccc d e f"]
    u = np.array([[1.5, 0.5, 2], [1.5, 1.5, 4]])
    single, _ = features_of(Examples((texts,), [0, 1]), "single", "mean")
    np.testing.assert_allclose(single, u)
    above, _ = features_of(Examples((texts,), [0, 1]), "single", "mean", layer="1")
    np.testing.assert_allclose(above, 9 * u)
    v = np.array([[1, 0, 1], [2, 0.5, 2]])
    pairs, found = features_of(Examples((texts, ["x", "yyy z"]), [0, 1]), "pair", "mean")
    np.testing.assert_allclose(pairs, np.hstack([u, v, np.abs(u - v), u * v]))
    assert found.examples.tolist() == [0, 0, 1, 1, 1, 1, 0, 1, 1]  # first sides, then second sides
    assert found.dropped == {}


def test_features_are_made_of_whatever_the_rows_became():
    examples = Examples((["aa b", "c"], ["d", "ee ff"]), [0, 1])
    for features in ("mean", "flattened"):
        found = encode_examples(examples, PLACES, kind="pair", features=features, layer="0", length=4)
        changed = found.make(found.rows * 0 + 2.0)(torch.arange(2)).numpy()
        if features == "mean":
            np.testing.assert_allclose(changed, [[2.0] * 6 + [0] * 3 + [4.0] * 3] * 2)
        else:
            np.testing.assert_allclose(changed, [[2.0] * 9 + [0] * 3] * 2)  # three words, and zeros in the fourth place


def test_a_text_without_words_is_zero_and_counted():
    single, found = features_of(Examples((["aa", " "],), [0, 1]), "single", "mean")
    assert single[1].tolist() == [0, 0, 0]
    assert found.dropped == {NO_VECTOR: 1}
    flat, found = features_of(Examples((["aa", " "],), [0, 1]), "single", "flattened", length=2)
    np.testing.assert_allclose(flat, [[2, 0, 1, 0, 0, 0], [0] * 6])
    assert found.dropped == {NO_VECTOR: 1}
    with raises(InputError, code="no_vectors"):
        encode_examples(Examples(([""],), [0]), PLACES, kind="single", features="mean", layer="0", length=64)


def test_words_flattened_one_text_after_the_other():
    """An encoder without pieces reads both as one text, cut to the length before it is read."""
    flat, _ = features_of(Examples((["aaa b", "c c c c c"], ["dd", "e e"]), [0, 1]), "pair", "flattened", length=4)
    np.testing.assert_allclose(flat[0].reshape(4, 3), [[3, 0, 3], [1, 1, 3], [2, 2, 3], [0, 0, 0]])
    np.testing.assert_allclose(flat[1].reshape(4, 3), [[1, place, 4] for place in range(4)])


def test_more_examples_than_a_document_of_the_pass_holds():
    n = 1_203
    texts = [f"w{'x' * (number % 5)} y" for number in range(n)]
    flat, found = features_of(Examples((texts, ["z"] * n), [0] * n), "pair", "flattened", length=4)
    assert [row[0] for row in flat] == [2 + number % 5 - 1 for number in range(n)]
    assert np.bincount(found.examples).tolist() == [3] * n
    words, _ = features_of(Examples((texts, ["z z"] * n), [0] * n, [[0, 1]] * n), "word", "flattened")
    assert [row[0] for row in words] == [1 + number % 5 for number in range(n)]
    assert (words[:, 3:] == [1, 1, 2]).all()


def test_the_word_is_found_in_both_texts():
    examples = Examples((["a bb a", "ccc d"], ["x y zzzz", "e"]), [0, 1], [[1, 2], [0, 0]])
    flat, found = features_of(examples, "word", "flattened")
    u, v = np.array([[2, 1, 3], [3, 0, 2]]), np.array([[4, 2, 3], [1, 0, 1]])
    np.testing.assert_allclose(flat, np.hstack([u, v]))
    mean, _ = features_of(examples, "word", "mean")
    np.testing.assert_allclose(mean, np.hstack([u, v, np.abs(u - v), u * v]))
    assert len(found.rows) == 9  # repairs see all words of the texts, not those alone
    assert found.examples.tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1]


def test_a_word_that_has_no_vector():
    """The first position of a causal model's window says nothing of the word: zeros, and counted."""
    encoder = load_encoder("mini-gpt2", layers="-1")
    examples = Examples((["board games", "a board"], ["the board", "his board"]), [0, 1], [[0, 1], [1, 1]])
    flat, found = features_of(examples, "word", "flattened", encoder=encoder, layer=encoder.layers[-1])
    assert found.dropped == {NO_WORD: 1}
    assert (flat[0, : encoder.dim] == 0).all()
    assert (flat[0, encoder.dim :] != 0).any()
    assert (flat[1, : encoder.dim] != 0).any()


def test_an_encoder_of_pieces_gives_the_words_too():
    examples = Examples((["an unbelievable kettle"], ["two kettles"]), [0], [[1, 1]])
    pieces, words = (
        features_of(examples, "word", "flattened", encoder=load_encoder("mini-bert", units=units), layer="12")[0]
        for units in ("pieces", "words")
    )
    np.testing.assert_allclose(pieces, words, atol=1e-6)

    class Odd:
        name, units, prepare, layers = "odd", "pieces", None, ("0",)

    with raises(UsageError, code="unsupported", parameter="units"):
        features_of(examples, "word", "mean", encoder=Odd())


def test_how_much_is_kept():
    assert cut_longest([5], 3) == [3]
    tokenizer = AutoTokenizer.from_pretrained(miniature_folder("mini-bert"))
    for first in (1, 2, 5, 8):
        for second in (1, 4, 5, 6, 9):
            for room in range(4, 13):
                pair = tokenizer(
                    "a " * first, "a " * second, add_special_tokens=False, truncation="longest_first", max_length=room
                )
                sides = pair.sequence_ids()
                assert cut_longest([first, second], room) == [sides.count(0), sides.count(1)]


@pytest.mark.parametrize("length", [64, 17])
def test_pairs_are_read_as_transformers_reads_them(length):
    """[CLS] a [SEP] b [SEP], cut where it is too long; the vectors are the model's own, and zeros follow."""
    folder = miniature_folder("mini-bert")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder).eval()
    pairs = [(a, b) for a, b in zip(*PAIRS, strict=True) if "[SEP]" not in a]  # limbeck reads that as plain text
    encoder = load_encoder("mini-bert")
    examples = Examples(tuple(zip(*pairs, strict=True)), [0] * len(pairs))
    flat, found = features_of(examples, "pair", "flattened", encoder=encoder, layer="12", length=length)
    for number, (a, b) in enumerate(pairs):
        ids = tokenizer(a, b, truncation="longest_first", max_length=length)["input_ids"]
        with torch.no_grad():
            expected = model(input_ids=torch.tensor([ids])).last_hidden_state[0].numpy()
        rows = flat[number].reshape(length, -1)
        np.testing.assert_allclose(rows[: len(ids)], expected, atol=2e-4)
        assert (rows[len(ids) :] == 0).all()
        assert (found.examples == number).sum() == len(ids) <= length


def test_the_pieces_of_a_cut_pair():
    encoder = load_encoder("mini-bert", layers="-1")
    words = [tuple(side.split()) for side in (PAIRS[0][1], PAIRS[1][1])]
    text = Text(tuple(Sentence(one, index=index) for index, one in enumerate(words)))
    prepared = JoinedPreparer(encoder.prepare, length=16)([text])
    tokens = list(prepared.strings)
    assert (len(tokens), tokens[0], tokens[-1], tokens.count("[SEP]")) == (16, "[CLS]", "[SEP]", 2)
    assert "".join(tokens[-4:-1]).replace("##", "").lower() == "itrose."
    with raises(UsageError, code="out_of_range", parameter="length", says="got 4"):
        JoinedPreparer(encoder.prepare, length=4)


def test_a_causal_model_has_no_vector_at_its_first_position():
    encoder = load_encoder("mini-gpt2", layers="-1")
    assert encoder.causal
    kept = load_encoder("mini-gpt2", layers="-1", keep_first=True)
    examples = Examples((["the old river"], ["it rose"]), [0])
    without, with_first = (
        features_of(examples, "pair", "flattened", encoder=one, layer=one.layers[-1], length=12)[0].reshape(12, -1)
        for one in (encoder, kept)
    )
    np.testing.assert_allclose(without[:11], with_first[1:], atol=1e-5)
    assert (without != 0).any(1).sum() == (with_first != 0).any(1).sum() - 1
