"""Static vectors and plain functions as encoders."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from tiny_models import odd_texts, story, text

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders import Encoder, FunctionEncoder, TableEncoder, batches, concatenate
from limbeck.encoders.function import texts_again
from limbeck.encoders.table import UNKNOWN, ZERO
from limbeck.errors import InputError


@dataclass
class Static:
    words: Sequence[str]
    matrix: Any


STATIC = Static(["the", "river", "The", "none", "the"], np.arange(15.0).reshape(5, 3) * [[1], [1], [1], [0], [1]] + 0.0)
STATIC.matrix[0] += 1


def test_words_are_looked_up() -> None:
    encoder = TableEncoder(STATIC, name="mine", device="cpu")
    assert isinstance(encoder, Encoder)
    assert (encoder.layers, encoder.dim, encoder.units, encoder.name) == (("table",), 3, "words", "mine")
    batch = encoder.prepare([text("The river the none RIVER"), text("nobody", index=1), text("the", index=2)])
    assert batch.strings == ["The", "river", "the", "the"]
    assert batch.positions.tolist() == [0, 1, 2, 0]
    assert batch.dropped == {UNKNOWN: 2, ZERO: 1}
    want = torch.from_numpy(STATIC.matrix[[2, 1, 0, 0]])
    assert torch.equal(encoder.forward(batch), want[None])
    again = pickle.loads(pickle.dumps(encoder.prepare))([text("the river")])
    assert again.strings == ["the", "river"]


def test_lower_case_only_where_asked_and_needed() -> None:
    encoder = TableEncoder(STATIC, lower=True, device="cpu")
    batch = encoder.prepare([text("The RIVER Nobody")])
    assert torch.equal(encoder.forward(batch)[0], torch.from_numpy(STATIC.matrix[[2, 1]]))
    assert batch.dropped == {UNKNOWN: 1}
    assert encoder.fingerprint != TableEncoder(STATIC, device="cpu").fingerprint


def test_batches_of_a_table() -> None:
    encoder = TableEncoder(STATIC, device="cpu")
    whole = encoder.prepare(story())
    want = sorted(
        zip(whole.sentences.tolist(), whole.positions.tolist(), encoder.forward(whole)[0].tolist(), strict=True)
    )
    got = []
    for batch in batches(whole, batch_tokens=5):
        vectors = encoder.forward(batch)[0].tolist()
        got += list(zip(batch.sentences.tolist(), batch.positions.tolist(), vectors, strict=True))
    assert sorted(got) == want
    assert encoder.forward(encoder.prepare([])).shape == (1, 0, 3)
    both = concatenate([encoder.prepare(story()[:2]), encoder.prepare(story()[2:])])
    assert torch.equal(encoder.forward(both), encoder.forward(whole))


def test_a_table_that_does_not_fit() -> None:
    with raises(InputError, code="wrong_shape"):
        TableEncoder(Static(["a", "b"], np.zeros((3, 4))))


def lengths(texts: Sequence[Text]) -> list[np.ndarray[Any, Any]]:
    """Two layers: the word's length and place; the same, negative."""
    made = []
    for one in texts:
        rows = np.array([[len(word), place] for place, word in enumerate(one.words)], dtype=np.float32)
        made.append(np.stack([rows, -rows]))
    return made


def test_a_function_is_an_encoder() -> None:
    encoder = FunctionEncoder(lengths, name="lengths")
    assert isinstance(encoder, Encoder)
    assert (encoder.layers, encoder.dim, encoder.units) == (("0", "1"), 2, "words")
    whole = encoder.prepare([*story(), *odd_texts()])
    want = torch.from_numpy(np.concatenate(lengths([*story(), *odd_texts()]), axis=1))
    assert torch.equal(encoder.forward(whole), want)
    for batch in batches(pickle.loads(pickle.dumps(whole)), batch_tokens=30):
        vectors = encoder.forward(batch)
        assert vectors[0, :, 0].tolist() == [len(word) for word in batch.strings]
    assert encoder.forward(encoder.prepare([])).shape == (2, 0, 2)
    assert FunctionEncoder(lengths, name="lengths", layers=["low", "high"]).layers == ("low", "high")
    assert encoder.fingerprint == FunctionEncoder(lengths, name="lengths").fingerprint
    assert encoder.fingerprint != FunctionEncoder(lengths, name="lengths", version="2").fingerprint


def test_the_texts_come_back() -> None:
    texts = [*story(), *odd_texts()]
    again = list(texts_again(FunctionEncoder(lengths, name="f").prepare(texts)))
    assert [one.layout() for one in again] == [one.layout() for one in texts]
    assert [one.identity for one in again] == [one.identity for one in texts]
    assert [[s.words for s in one.sentences] for one in again] == [[s.words for s in one.sentences] for one in texts]


@pytest.mark.parametrize(
    ("f", "code"),
    [
        (lambda texts: [np.ones((1, 2)) for _ in texts], "wrong_shape"),
        (lambda texts: [np.ones(2) for _ in texts], "wrong_shape"),
        (lambda texts: [], "unequal_lengths"),
        (lambda texts: [np.ones((len(t.words), 2 if t.words[0] == "a" else 3)) for t in texts], "wrong_shape"),
    ],
)
def test_functions_that_give_something_else(f: Any, code: str) -> None:
    encoder = FunctionEncoder(f, name="wrong")
    with raises(InputError, code=code):
        encoder.forward(encoder.prepare([text("the river")]))


def test_layers_are_counted() -> None:
    with raises(InputError, code="unequal_lengths", parameter="layers"):
        FunctionEncoder(lengths, name="f", layers=["one"]).layers


def test_texts_without_words_are_left_out() -> None:
    encoder = FunctionEncoder(lengths, name="f")
    assert len(encoder.prepare([Text((Sentence(()),)), Text(())])) == 0
