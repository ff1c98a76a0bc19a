"""Texts longer than the model's window: each word against a plain call of transformers on the window it is read in."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import AutoModel, AutoTokenizer

from limbeck.corpus.units import Sentence, Text
from limbeck.encoders import load_encoder
from limbeck.encoders.miniatures import miniature_folder

SPECIAL = {"mini-bert": 2, "mini-gpt2": 0}


def long_text(model: str, words: int) -> list[str]:
    """Words of one piece each, so that places of words are places of pieces."""
    tokenizer = AutoTokenizer.from_pretrained(miniature_folder(model))
    candidates = "the river of a house and in to old man was it on that water light story hand with for".split()
    single = [word for word in candidates if len(tokenizer.encode(f" {word}", add_special_tokens=False)) == 1]
    assert len(single) > 8
    return np.random.default_rng(words).choice(single, size=words).tolist()


def by_hand(model: str, words: list[str], window: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
    """Of each word: the first word of the window where it has most context, and its vectors (words, layers, d) there.

    Windows as docs/measure.md and docs/fidelity.md §0.8 say: they overlap by half, a word is read where it has most
    context on both sides, in causal models on the left.
    """
    tokenizer = AutoTokenizer.from_pretrained(miniature_folder(model))
    network = AutoModel.from_pretrained(miniature_folder(model)).eval()
    causal = model == "mini-gpt2"
    room = window - SPECIAL[model]
    starts = [*range(0, max(len(words) - room, 0), room // 2), max(len(words) - room, 0)]
    read = {}
    for start in starts:
        some = " ".join(words[start : start + room])
        pieces = tokenizer(f" {some}" if causal and start else some, return_tensors="pt")
        with torch.no_grad():
            states = network(**pieces, output_hidden_states=True).hidden_states
        whole = torch.stack(states)[:, 0].transpose(0, 1)
        read[start] = whole if causal else whole[1:-1]  # without special tokens
        assert len(read[start]) == min(room, len(words))

    def context(word: int, start: int) -> int:
        left, right = word - start, start + len(read[start]) - 1 - word
        return left if causal else min(left, right)

    chosen = []
    for word in range(len(words)):
        holding = [start for start in read if 0 <= word - start < len(read[start])]
        chosen.append(max(holding, key=lambda start: (context(word, start), -start)))
    return np.array(chosen), torch.stack([read[s][w - s] for w, s in enumerate(chosen)]).numpy()


@pytest.mark.parametrize("model", list(SPECIAL))
@pytest.mark.parametrize(("window", "length"), [(16, 100), (21, 57), (None, 700)])
def test_each_word_is_as_in_its_window(model: str, window: int | None, length: int) -> None:
    config = AutoModel.from_pretrained(miniature_folder(model)).config
    size = window or config.max_position_embeddings
    words = long_text(model, max(length, size + size // 3))
    encoder = load_encoder(model, window=window, layers="all")
    prepared = encoder.prepare([Text((Sentence(tuple(words), document=0, paragraph=0, index=0),))])
    vectors = encoder.forward(prepared).numpy().transpose(1, 0, 2)
    starts, expected = by_hand(model, words, size)
    assert len(set(starts.tolist())) > 1  # a longer text than the window
    if model == "mini-gpt2":  # the first position of a causal model is left out
        assert sum(prepared.dropped.values()) == 1
        expected = expected[1:]
    assert vectors.shape == expected.shape
    np.testing.assert_allclose(vectors, expected, atol=2e-5 * np.abs(expected).max())
    # the twin: read in another window a word is another vector
    other = by_hand(model, words[1:], size)[1][-len(expected) + 1 :]
    assert np.abs(other - expected[1:]).max() > 1e-3
