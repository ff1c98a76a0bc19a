"""Text to sentences to tokens: nothing lost, nothing moved."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("spacy")

from limbeck.corpus import Sentence
from recipes.sentences import line_of, read_paragraphs, text_of, words_of, write_sentences
from recipes.tokens import pieces_of, train_tokenizer, vocabulary_of, words_of_files

PROSE = """The bank wasn't steep. We tied the boat to a tree, and then (after lunch) we slept.
A second paragraph follows. It has two sentences.

Another article begins here. It is short.
"""


@pytest.fixture
def sentences(tmp_path: Path) -> Path:
    text = tmp_path / "text.txt"
    text.write_text(PROSE, encoding="utf-8")
    out = tmp_path / "text.sentences.xz"
    assert write_sentences(text, out)[0] == 6
    return out


def test_a_line_gives_back_words_and_text() -> None:
    sentence = Sentence(words=("It", "was", "n't", "far", "."), glued=frozenset({1, 3}))
    line = line_of(sentence)
    assert words_of(line) == ["It", "was", "n't", "far", "."]
    assert text_of(line) == "It wasn't far."


def test_paragraphs_survive(sentences: Path) -> None:
    paragraphs = list(read_paragraphs(sentences))
    assert [len(paragraph) for paragraph in paragraphs] == [2, 2, 2]
    assert [" ".join(map(text_of, paragraph)) for paragraph in paragraphs] == [
        line for line in PROSE.splitlines() if line
    ]


def test_pieces_are_the_text(sentences: Path) -> None:
    tokenizer = train_tokenizer([sentences])
    arrays = pieces_of([sentences], tokenizer, paragraphs_at_once=2)
    separator = tokenizer.token_to_id("[SEP]")
    ends = np.flatnonzero(arrays["stream"] == separator)
    assert len(ends) == 3
    assert ends[-1] == len(arrays["stream"]) - 1
    first = tokenizer.decode(arrays["stream"][: ends[0]].tolist())
    assert first.replace(" ", "") == PROSE.splitlines()[0].lower().replace(" ", "")
    firsts = [tokenizer.id_to_token(int(arrays["stream"][start])) for start in arrays["starts"]]
    assert [token[0] for token in firsts] == ["t", "w", "a", "i", "a", "i"]  # the first letters of the six sentences


def test_words_are_numbered_by_frequency(sentences: Path) -> None:
    arrays = words_of_files([sentences])
    vocabulary = vocabulary_of(arrays)
    assert vocabulary[:3] == ["<S>", "</S>", "<UNK>"]
    assert (np.diff(arrays["counts"][3:]) <= 0).all()
    assert (arrays["stream"][arrays["starts"]] == 0).all()
    end = arrays["starts"][1]
    assert [vocabulary[i] for i in arrays["stream"][:end]] == ["<S>", "the", "bank", "was", "n't", "steep", ".", "</S>"]
    assert np.array_equal(np.bincount(arrays["stream"], minlength=len(vocabulary)), arrays["counts"])
