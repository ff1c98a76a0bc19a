"""What a user names becomes a source, or one line says why not."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import raises

from limbeck.corpus import Corpus
from limbeck.errors import UsageError
from limbeck.runs.execution.sources import open_corpus, open_source
from limbeck.vectors import StaticVectors

SENTENCES = [["a", "b"], ["b", "a"]]


def table() -> StaticVectors:
    return StaticVectors(["a", "b"], np.eye(2, dtype=np.float32))


def test_units_that_are_asked_for_are_had_or_refused() -> None:
    assert open_source("mini-bert", SENTENCES, units="pieces").encoder.units == "pieces"
    for model in ("mini-elmo", table()):
        with raises(UsageError, code="no_effect", parameter="units"):
            open_source(model, SENTENCES, units="pieces")


def test_units_of_a_preset_are_those_of_a_model_that_has_a_choice() -> None:
    assert open_source("mini-bert", SENTENCES, preset_units="pieces").encoder.units == "pieces"
    assert open_source("mini-bert", SENTENCES, preset_units="pieces", units="words").encoder.units == "words"
    assert open_source("mini-elmo", SENTENCES, preset_units="pieces").encoder.units == "words"


def test_a_text_in_another_language_is_warned_of_however_it_is_given() -> None:
    german = "Er wusste nicht, ob sie schon bei ihm war oder noch nicht, und das war es, was er auch ihr sagte. " * 3
    with pytest.warns(UserWarning, match="give language de") as told:
        open_corpus(Corpus.from_text(german))
    assert "--" not in str(told[0].message)
    with pytest.warns(UserWarning, match="language de"):
        source = open_source(table(), Corpus.from_text(german))
    assert "--language de" in source.describe()["corpus"]["language_warning"]
    assert open_corpus(Corpus.from_text(german, language="de")).describe().get("language_warning") is None
