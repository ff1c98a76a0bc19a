"""Vectors of a set of texts in memory: every text's own, in its order, whatever the batches were."""

from __future__ import annotations

import numpy as np

from limbeck.encoders import FunctionEncoder
from limbeck.seeds import hash_occurrences
from limbeck.stream import collect_texts


def places(texts):
    """A word's vector: its length, its place and the length of its text."""
    return [
        np.array([[len(word), place, len(text.words)] for place, word in enumerate(text.words)], dtype=np.float32)
        for text in texts
    ]


def collected(texts, **options):
    return collect_texts(FunctionEncoder(places, name="places"), texts, **options)


def test_rows_are_in_the_order_of_the_texts_whatever_the_batches():
    texts = ["one two three four five", "six", "", "seven eight", "   ", "nine ten eleven", "six"]
    for batch_tokens in (1, 4, 8192):
        found = collected(texts, batch_tokens=batch_tokens)
        assert found.strings == [word for text in texts for word in text.split()]
        assert found.texts.tolist() == [number for number, text in enumerate(texts) for _ in text.split()]
        expected = np.concatenate(
            [[[len(w), i, len(t.split())] for i, w in enumerate(t.split())] for t in texts if t.strip()]
        )
        np.testing.assert_array_equal(found.vectors[0].numpy(), expected)


def test_more_texts_than_a_document_holds():
    texts = [f"w{number} x" if number % 7 else "" for number in range(2_345)]
    found = collected(texts)
    assert found.text_count == 2_345
    assert [found.strings[row] for row in range(0, len(found), 2)] == [f"w{n}" for n in found.texts[::2].tolist()]


def test_means_over_texts_are_zero_where_there_is_no_word():
    found = collected(["aa b", "", "ccc"])
    means = found.text_means(found.vectors[0])
    np.testing.assert_allclose(means.numpy(), [[1.5, 0.5, 2], [0, 0, 0], [3, 0, 1]])


def test_a_labelled_word_is_found_by_its_place():
    found = collected(["a b c", "d e"])
    wanted = hash_occurrences(np.array([1]), np.array([1]))  # second text's second word
    assert np.array(found.strings)[np.isin(found.occurrences, wanted)].tolist() == ["e"]


def test_no_text_at_all():
    for texts in ([], ["", " "]):
        found = collected(texts)
        assert len(found) == 0
        assert found.text_means(found.vectors[0]).shape == (len(texts), found.vectors.shape[2])
