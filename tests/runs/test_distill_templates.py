"""Words of another language that are read in English sentences."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from limbeck.corpus import Corpus
from limbeck.corpus.language import function_words
from limbeck.distillation.settings import DistillSettings
from limbeck.encoders import TableEncoder
from limbeck.runs.distilling.subject import Subject, templates_warning
from limbeck.stream import TextSource
from limbeck.vectors import StaticVectors

GERMAN = "Er wusste nicht, ob sie schon bei ihm war oder noch nicht, und das war es, was er auch ihr sagte. " * 3
ENGLISH = "He did not know whether she had been there before him or not, and that was what he said to her too. " * 3
ENCODER = TableEncoder(StaticVectors(["a", "b"], np.eye(2, dtype=np.float32)))


def warned(text: str | None, *, language: str = "en", words: Any = None, **settings: Any) -> str:
    source = None if text is None else TextSource(Corpus.from_text(text, language=language), ENCODER)
    return templates_warning(Subject(source, ENCODER, words), DistillSettings(**settings))


@pytest.mark.parametrize("method", ["frame", "frames", "best"])
def test_english_sentences_are_for_english(method: str) -> None:
    assert "German" in warned(GERMAN, method=(method,))
    assert "German" in warned(GERMAN, language="de", method=(method,))
    assert not warned(ENGLISH, method=(method,))
    assert not warned(ENGLISH, language="de", method=(method,)), "the text is what it is, whatever it was called"
    assert not warned(GERMAN, language="xx", method=(method,)), "nobody knows"


def test_only_sentences_that_are_read_count() -> None:
    assert not warned(GERMAN, method=("average",))
    assert warned(GERMAN, method=("average",), words=("Haus",)), "a word that the text lacks is read in a frame"
    assert not warned(GERMAN, method=("average",), words=("Haus",), unseen="drop")
    assert not warned(GERMAN, method=("best",), set={"best": {"frames": 0.0}})


def test_sentences_that_are_given_are_looked_at() -> None:
    assert not warned(GERMAN, method=("frame",), template=("die Bedeutung von {}.",))
    assert warned(GERMAN, method=("frame",), template=("this is the {}.", "what is meant by {}?"))


def test_words_without_a_text_are_looked_at() -> None:
    assert "German" in warned(None, method=("frame",), words=tuple(function_words("de")))
    assert not warned(None, method=("frame",), words=tuple(function_words("en")))
    assert not warned(None, method=("frame",), words=("Haus", "Baum"))
