"""A user's object with the least that an encoder needs is one: what it does not say has a default."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.corpus import Corpus
from limbeck.encoders import Encoder, EncoderLike, FunctionEncoder, as_encoder, load_encoder
from limbeck.encoders.function import TextPreparer
from limbeck.encoders.protocol import DEFAULT_BATCH_TOKENS, Prepared
from limbeck.errors import UsageError
from limbeck.stream import TextSource


class Least:
    """The members of `EncoderLike`, and no more."""

    name, fingerprint, layers, dim, units = "least", "least-1", ("0",), 3, "words"
    prepare = TextPreparer()

    def forward(self, batch: Prepared) -> torch.Tensor:
        return torch.ones(1, len(batch), 3)


class Most(Least):
    """One that says something of everything."""

    device, batch_tokens, window, model_fingerprint = torch.device("meta"), 7, 5, "weights"
    selective, tells_case, carries_state = True, False, True

    def describe(self) -> dict[str, Any]:
        return {"depth": 2}

    def with_layers(self, layers: Any) -> Most:
        made = Most()
        made.layers = (str(layers),)
        return made

    def on(self, device: str) -> Most:
        made = Most()
        made.device = torch.device(device)
        return made


def test_what_an_object_does_not_say_is_as_the_base_class_has_it():
    encoder = as_encoder(Least())
    assert isinstance(encoder, Encoder)
    assert (encoder.name, encoder.fingerprint, encoder.layers, encoder.dim) == ("least", "least-1", ("0",), 3)
    assert (encoder.device, encoder.batch_tokens, encoder.window) == ("cpu", DEFAULT_BATCH_TOKENS, None)
    assert (encoder.model_fingerprint, encoder.describe(), encoder.tells_case) == (None, {}, True)
    assert (encoder.selective, encoder.carries_state, encoder.chooses_layers) == (False, False, False)
    assert encoder.on("meta") is encoder
    with pytest.raises(UsageError) as refused:
        encoder.with_layers("1")
    assert (refused.value.code, refused.value.parameter) == ("no_effect", "layers")


def test_what_it_says_is_taken():
    encoder = as_encoder(Most())
    assert (str(encoder.device), encoder.batch_tokens, encoder.window) == ("meta", 7, 5)
    assert (encoder.model_fingerprint, encoder.describe(), encoder.tells_case) == ("weights", {"depth": 2}, False)
    assert encoder.selective
    assert encoder.carries_state
    assert encoder.chooses_layers
    assert encoder.with_layers("4").layers == ("4",)
    assert str(encoder.on("cpu").device) == "cpu"


def test_no_budget_is_the_default():
    own = Most()
    own.batch_tokens = None  # type: ignore[assignment]
    assert as_encoder(own).batch_tokens == DEFAULT_BATCH_TOKENS


def test_functions_and_encoders_are_taken_too():
    def ones(texts: Any) -> list[Any]:
        return [np.ones((len(text.words), 3)) for text in texts]

    encoder = as_encoder(ones)
    assert isinstance(encoder, FunctionEncoder)
    assert encoder.name == "ones"
    assert as_encoder(encoder) is encoder


def test_what_is_none_is_refused():
    class Half:
        name, layers = "half", ("0",)

    with pytest.raises(UsageError) as refused:
        as_encoder(Half())  # type: ignore[arg-type]
    assert refused.value.code == "wrong_type"


def test_it_travels():
    encoder = pickle.loads(pickle.dumps(as_encoder(Least())))
    assert encoder.name == "least"
    assert encoder.forward(encoder.prepare([])).shape == (1, 0, 3)


def test_a_source_takes_it_as_it_is():
    corpus = Corpus.from_sentences([])
    assert isinstance(Least(), EncoderLike)
    assert isinstance(TextSource(corpus, Least()).encoder, Encoder)  # type: ignore[arg-type]
    assert TextSource(corpus, Most()).feed(plan=None).batch_tokens == 7  # type: ignore[arg-type]
    assert TextSource(corpus, Most(), batch_tokens=9).feed(plan=None).batch_tokens == 9  # type: ignore[arg-type]


def test_an_encoder_says_what_it_is() -> None:
    assert repr(load_encoder("mini-bert")) == "HuggingFaceEncoder(mini-bert, layers 0 to 12, 128 dimensions)"
    assert repr(load_encoder("mini-bert", layers="3")) == "HuggingFaceEncoder(mini-bert, layer 3, 128 dimensions)"

    def never(texts: object) -> list[np.ndarray[Any, Any]]:
        raise AssertionError

    assert repr(FunctionEncoder(never, name="own")) == "FunctionEncoder(own)"
