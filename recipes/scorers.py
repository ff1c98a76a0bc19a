"""How probable a model finds each word of a text: one way of asking for all three miniatures and for n-grams.

A scorer takes the words of a text and gives the natural logarithm of each word's probability, NaN where a word is not
scored. What it sees beside the word is its own affair: what stands before (causal), everything else (masked), both
in turn (the biLM).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

from limbeck.encoders import BiLM, spell
from recipes.kneser_ney import KneserNey
from recipes.miniatures import CLS, MASK, POSITIONS, SEP, UNK
from recipes.tokens import BEGIN, END

NOT_A_WORD = "<unk>"  #: stands in held-out text for a word that was taken out of it; read, never scored
UNKNOWN_WORD = 2  #: the number of all words that the biLM's softmax lacks
SENTENCE_ENDS = {".", "!", "?"}


class Scorer(Protocol):
    def __call__(self, words: Sequence[str]) -> np.ndarray: ...  # log probabilities (words,)

    def tokens(self, words: Sequence[str]) -> np.ndarray: ...  # how many tokens each word is (words,)


class Pieces:
    """Words as the transformers' pieces, each word by itself."""

    def __init__(self, tokenizer: Path) -> None:
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.post_processor = None
        self._known: dict[str, list[int]] = {NOT_A_WORD: [UNK]}

    def of(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Piece ids of all words in a row, and the number of the word each belongs to."""
        parts = [self._of_word(word) for word in words]
        owners = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        return np.array([piece for part in parts for piece in part], dtype=np.int64), owners

    def counts(self, words: Sequence[str]) -> np.ndarray:
        return np.array([len(self._of_word(word)) for word in words])

    def _of_word(self, word: str) -> list[int]:
        if word not in self._known:
            self._known[word] = self._tokenizer.encode(word).ids or [UNK]
        return self._known[word]


def by_word(log_probabilities: np.ndarray, owners: np.ndarray, words: Sequence[str]) -> np.ndarray:
    """Each word's log probability from its pieces'; none for a word that was taken out of the text."""
    sums = np.bincount(owners, weights=log_probabilities, minlength=len(words))
    sums[[word == NOT_A_WORD for word in words]] = np.nan
    return sums


class CausalScorer:
    """GPT-2: each piece from those before it, at least half a window of them where there are so many."""

    def __init__(self, folder: Path) -> None:
        from transformers import GPT2LMHeadModel

        self._model = GPT2LMHeadModel.from_pretrained(folder).eval()
        self._pieces = Pieces(folder / "tokenizer.json")

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        return self._pieces.counts(words)

    @torch.inference_mode()
    def __call__(self, words: Sequence[str]) -> np.ndarray:
        ids, owners = self._pieces.of(words)
        row = torch.from_numpy(np.concatenate([[SEP], ids]))  # a paragraph's end came before it in training
        found = np.empty(len(ids))
        done = 0
        while done < len(ids):
            begin = max(0, done - POSITIONS // 2)
            window = row[begin : begin + POSITIONS + 1]
            logits = self._model(input_ids=window[None, :-1]).logits[0]
            chosen = logits.log_softmax(-1).gather(1, window[1:, None])[:, 0].double().numpy()
            found[done : begin + len(chosen)] = chosen[done - begin :]
            done = begin + len(chosen)
        return by_word(found, owners, words)


class MaskedScorer:
    """BERT: each piece from all others, hidden one at a time: the pseudo-likelihood."""

    def __init__(self, folder: Path, *, rows_at_once: int = 64) -> None:
        from transformers import BertForMaskedLM

        self.model = BertForMaskedLM.from_pretrained(folder).eval()
        self.pieces = Pieces(folder / "tokenizer.json")
        self._rows = rows_at_once

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        return self.pieces.counts(words)

    @torch.inference_mode()
    def __call__(self, words: Sequence[str]) -> np.ndarray:
        ids, owners = self.pieces.of(words)
        found = np.concatenate([self._window(part) for part in windows(ids)])
        return by_word(found, owners, words)

    def _window(self, ids: np.ndarray) -> np.ndarray:
        row = torch.from_numpy(np.concatenate([[CLS], ids, [SEP]]))
        places = torch.arange(1, len(row) - 1)
        found = []
        for some in places.split(self._rows):
            rows = row.repeat(len(some), 1)
            rows[torch.arange(len(some)), some] = MASK
            found.append(self.at(rows, some[:, None])[:, 0].gather(1, row[some][:, None])[:, 0])
        return torch.cat(found).double().numpy()

    @torch.inference_mode()
    def at(self, rows: Tensor, places: Tensor) -> Tensor:
        """Log probabilities (rows, places, pieces) at some places of each row only."""
        hidden = self.model.bert(input_ids=rows).last_hidden_state
        hidden = hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))
        predicted: Tensor = self.model.cls(hidden).log_softmax(-1)
        return predicted


def windows(ids: np.ndarray) -> list[np.ndarray]:
    """Pieces in parts of equal length that fit between [CLS] and [SEP]."""
    return np.array_split(ids, -(-len(ids) // (POSITIONS - 2)))


class BidirectionalScorer:
    """ELMo: each word from the words before it and from those after it; words outside the softmax are not scored."""

    def __init__(self, folder: Path, *, softmax: Path) -> None:
        self._bilm = BiLM.from_folder(folder)
        weights = load_file(softmax / "softmax.safetensors")
        self._weight, self._bias = weights["weight"].float(), weights["bias"].float()
        lines = (softmax / "softmax.txt").read_text(encoding="utf-8").split("\n")[:-1]
        self._numbers = {word: number for number, word in enumerate(lines)}

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        return np.ones(len(words), dtype=int)

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        """The mean of both directions' log probabilities, as the published biLM's perplexity takes it."""
        forward, backward = self.directions(words)
        return (forward + backward) / 2

    def directions(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Forward and backward, a sentence at a time: rows longer than those of its training mislead the biLM."""
        found = [self._sentence(sentence) for sentence in sentences(words)]
        return np.concatenate([ahead for ahead, _ in found]), np.concatenate([back for _, back in found])

    @torch.inference_mode()
    def _sentence(self, words: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        row = [BEGIN, *words, END]
        numbers = self.numbers(row)
        reading = self._bilm.read(self._bilm.embed(torch.from_numpy(spell(row)).long()[None]))
        ahead = self._chosen(reading.forward[-1][0, :-2], numbers[1:-1])
        back = self._chosen(reading.backward[-1][0, 2:], numbers[1:-1])
        for found in (ahead, back):
            found[numbers[1:-1] == UNKNOWN_WORD] = np.nan
        return ahead, back

    def numbers(self, row: Sequence[str]) -> np.ndarray:
        return np.array([self._numbers.get(word, UNKNOWN_WORD) for word in row])

    def _chosen(self, hidden: Tensor, numbers: np.ndarray) -> np.ndarray:
        logits = torch.nn.functional.linear(hidden, self._weight, self._bias).log_softmax(-1)
        chosen: np.ndarray = logits.gather(1, torch.from_numpy(numbers)[:, None])[:, 0].double().numpy()
        return chosen


def sentences(words: Sequence[str]) -> list[Sequence[str]]:
    """A text's sentences, which end where a full stop, an exclamation or a question mark stands."""
    ends = [place + 1 for place, word in enumerate(words) if word in SENTENCE_ENDS]
    bounds = sorted({0, *ends, len(words)})
    return [words[low:high] for low, high in itertools.pairwise(bounds)]


class PieceGrams:
    """Kneser-Ney over the transformers' pieces, or its unigrams."""

    def __init__(self, model: KneserNey, pieces: Pieces, *, unigrams: bool = False) -> None:
        self._score = model.unigram_log_probabilities if unigrams else model.log_probabilities
        self._pieces = pieces

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        return self._pieces.counts(words)

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        ids, owners = self._pieces.of(words)
        return by_word(self._score(np.concatenate([[SEP], ids]))[1:], owners, words)


class WordGrams:
    """Kneser-Ney over the biLM's words, or its unigrams; the words that the biLM's softmax lacks are not scored."""

    def __init__(self, model: KneserNey, numbers: Callable[[Sequence[str]], np.ndarray], *, unigrams: bool = False):
        self._score = model.unigram_log_probabilities if unigrams else model.log_probabilities
        self._numbers = numbers

    def tokens(self, words: Sequence[str]) -> np.ndarray:
        return np.ones(len(words), dtype=int)

    def __call__(self, words: Sequence[str]) -> np.ndarray:
        row = [word for sentence in sentences(words) for word in (BEGIN, *sentence, END)]
        numbers = self._numbers(row)
        found = self._score(numbers)
        found[numbers == UNKNOWN_WORD] = np.nan
        return found[[word not in (BEGIN, END) for word in row]]
