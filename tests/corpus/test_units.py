"""Sentences and texts: layout, grouping, and that they travel."""

from __future__ import annotations

import pickle

from limbeck.corpus import Sentence, Text
from limbeck.corpus.units import NO_LABELS, texts_of


def test_sentence_without_labels_travels() -> None:
    sentence = pickle.loads(pickle.dumps(Sentence(("a",), 3, 1, 2)))
    assert sentence == Sentence(("a",), 3, 1, 2)
    assert sentence.labels is NO_LABELS
    assert sentence.labels == {}
    assert sentence.labels.get(0) is None


def test_layout_says_where_words_are() -> None:
    text = Text((Sentence(("It", "'s", "😀", "."), glued=frozenset({0, 2, 3})), Sentence(("Next",), index=1)))
    running, starts, ends = text.layout()
    assert running == "It's 😀. Next"
    assert [running[a:b] for a, b in zip(starts, ends, strict=True)] == text.words


def test_texts_of() -> None:
    sentences = [Sentence(("a",)), Sentence((), index=1), Sentence(("b",), index=2), Sentence(("c",), 0, 1, 3)]
    assert [text.words for text in texts_of(sentences, "sentence")] == [["a"], ["b"], ["c"]]
    assert [text.words for text in texts_of(sentences, "paragraph")] == [["a", "b"], ["c"]]
    assert [text.words for text in texts_of(sentences, "document")] == [["a", "b", "c"]]
    assert texts_of([], "document") == []
