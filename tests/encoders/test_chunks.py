"""Chunk by chunk or whole: the same pieces, and only for tokenisers that split at blanks."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest
from tiny_models import ODD, TOKENIZERS, VANISHING, backend, odd_texts, story, text, tokenizer
from tokenizers import AddedToken, Tokenizer, normalizers, pre_tokenizers

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders import chunks
from limbeck.encoders.alignment import Aligner, Alignment
from limbeck.encoders.chunks import ChunkMemory, by_chunks

FIELDS = ("pieces", "piece_starts", "word_starts", "first", "end", "lead")
STRANGE = [
    "\u0301", "\u200d", "\U0001f3fb", "¨", "a b", "\u00a0", "x\u00a0", "\u0085", "", "a\tb", "\u3000", "Σ", "ΟΔΟΣ",
    "İ", "ß", "´", "\u2028", "\ufeff", "1,000", "it's", "'s", "…!", "中a文", "e\u0301", "\u0e33", "한국", "__",
    "▁", "Ġ",
]  # fmt: skip


def same(a: Alignment, b: Alignment) -> None:
    for field in FIELDS:
        assert np.array_equal(getattr(a, field), getattr(b, field)), field


def strange_texts() -> list[Text]:
    rng = np.random.default_rng(0)
    words = [*STRANGE, *ODD, *VANISHING, *(word for one in story() for word in one.words)]
    made = []
    for index in range(400):
        own = tuple(rng.choice(np.array(words, dtype=object), size=rng.integers(1, 9)).tolist())
        glued = frozenset(np.flatnonzero(rng.random(len(own)) < 0.2).tolist())
        made.append(Text((Sentence(own, index=index, glued=glued), Sentence(own[:2], index=index + 1000))))
    return made


@pytest.mark.parametrize("kind", TOKENIZERS)
def test_the_same_pieces_either_way(kind: str) -> None:
    aligner = Aligner(tokenizer(kind))
    remembering = by_chunks(aligner)
    assert isinstance(remembering, ChunkMemory) == (kind != "llama")
    for texts in ([*story(), *odd_texts()], strange_texts(), list(story()), []):
        same(remembering(texts), aligner(texts))
        same(pickle.loads(pickle.dumps(remembering))(texts), aligner(texts))


def test_what_is_known_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    remembering = ChunkMemory(Aligner(tokenizer("wordpiece uncased")))
    want = remembering(story())
    monkeypatch.delattr(remembering, "_aligner")
    same(remembering(story()), want)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    aligner = Aligner(tokenizer("wordpiece uncased"))
    remembering = ChunkMemory(aligner)
    monkeypatch.setattr(chunks, "MOST_CHUNKS", 20)
    for one in story():
        same(remembering([one]), aligner([one]))
        assert len(remembering._known) <= max(20, len(one.words))


def test_tokenisers_that_look_over_blanks_are_taken_whole() -> None:
    def changed() -> Tokenizer:
        return Tokenizer.from_str(backend("wordpiece cased").to_str())

    joined = changed()
    joined.add_tokens([AddedToken("the river", normalized=False)])
    greedy = changed()
    greedy.add_tokens([AddedToken("river", lstrip=True)])
    replaced = changed()
    replaced.normalizer = normalizers.Sequence([normalizers.Replace("e r", "x"), normalizers.NFC()])
    patterned = changed()
    patterned.pre_tokenizer = pre_tokenizers.Split("x", "isolated")
    for odd in (joined, greedy, replaced, patterned):
        assert isinstance(by_chunks(Aligner(odd)), Aligner)
    assert Aligner(joined)([text("in the river")]).counts.tolist()[1:] == [1, 1]


def test_nothing_is_left_to_chance() -> None:
    state = json.loads(backend("byte-level").to_str())
    state["model"]["dropout"] = 0.5
    same(Aligner(Tokenizer.from_str(json.dumps(state)))(story()), Aligner(backend("byte-level"))(story()))


def test_a_plain_added_token_is_no_hindrance() -> None:
    more = Tokenizer.from_str(backend("wordpiece cased").to_str())
    more.add_tokens(["alembics"])
    aligner = Aligner(more)
    remembering = by_chunks(aligner)
    assert isinstance(remembering, ChunkMemory)
    texts = [text("the alembics , alembicsalembics"), *odd_texts()]
    same(remembering(texts), aligner(texts))
