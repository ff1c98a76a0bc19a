"""What tokenizers make of single words."""

from __future__ import annotations

import numpy as np
import pytest
import tiny_models

from limbeck.distillation.pieces import split_words, unknown_words
from limbeck.encoders import FunctionEncoder, HuggingFaceEncoder

WORDS = sorted(
    {word.lower() for text in tiny_models.story() for word in text.words if word.isalpha() and word.isascii()}
)


def encoder(family: str) -> HuggingFaceEncoder:
    tokenizer = tiny_models.tokenizer(tiny_models.FAMILIES[family])
    return HuggingFaceEncoder(tiny_models.model(family), tokenizer, name=family, layers="-1")


@pytest.mark.parametrize("family", tiny_models.FAMILIES)
def test_a_word_is_cut_up_if_its_tokens_are_several(family: str):
    """By the tokenizer's own word; a mark that stands for the blank before a word is no part of it."""
    tokenizer = tiny_models.tokenizer(tiny_models.FAMILIES[family])
    words = [*WORDS, "unfathomableness"]
    tokens = [[token for token in tokenizer.tokenize(f" {word}") if token.strip("Ġ▁")] for word in words]
    found = split_words(encoder(family), words)
    assert found.tolist() == [len(some) > 1 for some in tokens]
    assert 0 < found.sum() < len(words)


def test_an_expression_is_cut_up_if_one_of_its_words_is():
    teacher = encoder("bert")
    split = split_words(teacher, WORDS)
    whole, cut = ([word for word, is_cut in zip(WORDS, split, strict=True) if is_cut == kind] for kind in (False, True))
    expressions = [f"{whole[0]} {whole[1]}", f"{whole[0]} {cut[0]}", f"{whole[0]}  {whole[1]} "]
    assert split_words(teacher, expressions).tolist() == [False, True, False]


def test_signs_are_no_sign_of_ignorance():
    teacher = encoder("bert")
    split = split_words(teacher, WORDS)
    whole, cut = ([word for word, is_cut in zip(WORDS, split, strict=True) if is_cut == kind] for kind in (False, True))
    found = split_words(teacher, [f"{whole[0]}-{whole[1]}", f"{whole[0]}.", f"{whole[0]}-{cut[0]}"])
    assert found.tolist() == [False, False, True]


def test_a_word_that_is_unknown_counts_as_cut_up():
    assert split_words(encoder("bert"), ["😀"]).all()


def test_nobody_cuts_up_words_that_are_looked_up_whole():
    whole = FunctionEncoder(lambda texts: [np.ones((len(text.words), 2)) for text in texts], name="whole")
    for teacher in (whole, None):
        assert not split_words(teacher, ["unfathomableness"]).any()
        assert not unknown_words(teacher, ["😀"]).any()


def test_what_is_unknown_is_nothing_but_the_unknown_piece():
    assert unknown_words(encoder("bert"), ["😀", WORDS[0], f"{WORDS[0]} 😀"]).tolist() == [True, False, False]
    assert not unknown_words(encoder("gpt2"), ["😀"]).any()  # spelled in bytes
