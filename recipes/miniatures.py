"""The three miniatures: their shapes, what each is taught, and the folders they become.

All three are about 3.5 million parameters, read the same text and see the same number of tokens. A `Task` turns token
numbers into a loss; the trainer knows nothing else about a model.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import torch
import torch.nn.functional as F
from safetensors.torch import save
from torch import Tensor, nn

from limbeck.encoders import BiLM, spell
from recipes.tokens import PIECES, SPECIALS, vocabulary_of

WIDTH = 128
LAYERS = 12
HEADS = 4
POSITIONS = 128  #: the transformers' window, and the length of their rows
PAD, UNK, CLS, SEP, MASK = range(len(SPECIALS))
MASKED = 0.15  #: share of the pieces that BERT must restore
OUTPUT_WORDS = 16_384  #: the biLM predicts these; the rest of the words are one class

ELMO_OPTIONS = {
    "char_cnn": {
        "activation": "relu",
        "embedding": {"dim": 16},
        "filters": [[1, 32], [2, 32], [3, 64], [4, 128], [5, 256]],
        "max_characters_per_token": 50,
        "n_characters": 262,
        "n_highway": 2,
    },
    "lstm": {
        "cell_clip": None,
        "proj_clip": None,
        "dim": 512,
        "n_layers": 2,
        "projection_dim": WIDTH,
        "use_skip_connections": True,
    },
    "lowercase": True,
}


class Task(Protocol):
    """A model and what it is taught."""

    model: nn.Module
    row_length: int
    epsilon: float  # Adam's: gradients much smaller than it teach nothing

    def draw(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]: ...  # what `loss` takes

    def loss(self, *drawn: Tensor) -> Tensor: ...  # no wait for the device in it, so that it can be recorded

    def compile(self) -> None: ...

    def table(self) -> Tensor: ...

    def save(self, folder: Path) -> None: ...


def cross_entropy(hidden: Tensor, table: Tensor, bias: Tensor | None, targets: Tensor) -> Tensor:
    logits = F.linear(hidden, table, bias)
    return F.cross_entropy(logits.flatten(0, -2).float(), targets.flatten())


class Causal:
    """GPT-2: the next piece from those before it. No token marks the beginning, as in GPT-2."""

    row_length = POSITIONS
    epsilon = 1e-6

    def __init__(self, words: dict[str, np.ndarray] | None = None) -> None:
        from transformers import GPT2Config, GPT2LMHeadModel

        self.model = GPT2LMHeadModel(
            GPT2Config(
                vocab_size=PIECES,
                n_positions=POSITIONS,
                n_embd=WIDTH,
                n_layer=LAYERS,
                n_head=HEADS,
                resid_pdrop=0.0,
                embd_pdrop=0.0,
                attn_pdrop=0.0,
                bos_token_id=SEP,
                eos_token_id=SEP,
                pad_token_id=PAD,
            )
        )

    def draw(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        return (rows,)

    def loss(self, rows: Tensor) -> Tensor:
        hidden = self.model.transformer(input_ids=rows, use_cache=False).last_hidden_state
        return cross_entropy(hidden[:, :-1], self.table(), None, rows[:, 1:])

    def compile(self) -> None:
        self.loss = torch.compile(self.loss)  # type: ignore[method-assign]

    def table(self) -> Tensor:
        return self.model.transformer.wte.weight

    def save(self, folder: Path) -> None:
        save_transformer(self.model, folder)


class Masked:
    """BERT: masked pieces from both sides, new masks each time a row is drawn, no second task."""

    row_length = POSITIONS
    epsilon = 1e-6

    def __init__(self, words: dict[str, np.ndarray] | None = None) -> None:
        from transformers import BertConfig, BertForMaskedLM

        self.model = BertForMaskedLM(
            BertConfig(
                vocab_size=PIECES,
                hidden_size=WIDTH,
                num_hidden_layers=LAYERS,
                num_attention_heads=HEADS,
                intermediate_size=4 * WIDTH,
                max_position_embeddings=POSITIONS,
                hidden_dropout_prob=0.0,
                attention_probs_dropout_prob=0.0,
                pad_token_id=PAD,
            )
        )

    def draw(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        rows[:, 0], rows[:, -1] = CLS, SEP
        return mask(rows, generator)

    def loss(self, masked: Tensor, places: Tensor, targets: Tensor) -> Tensor:
        hidden = self.model.bert(input_ids=masked).last_hidden_state
        hidden = hidden.gather(1, places[..., None].expand(-1, -1, hidden.shape[-1]))
        predictions = self.model.cls.predictions
        return cross_entropy(predictions.transform(hidden), self.table(), predictions.bias, targets)

    def compile(self) -> None:
        self.loss = torch.compile(self.loss)  # type: ignore[method-assign]

    def table(self) -> Tensor:
        return self.model.bert.embeddings.word_embeddings.weight

    def save(self, folder: Path) -> None:
        save_transformer(self.model, folder)


def mask(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    """Rows with as many pieces hidden in each, where they are, and what was there.

    Of those hidden 80 % become [MASK], 10 % another piece, and 10 % stay as they are.
    """
    count = round(MASKED * (rows.shape[1] - 2))
    chance = torch.rand(rows.shape, generator=generator, device=rows.device)
    places = chance.masked_fill(rows < len(SPECIALS), -1.0).topk(count, dim=1).indices
    targets = rows.gather(1, places)
    kind = torch.rand(places.shape, generator=generator, device=rows.device)
    other = torch.randint(len(SPECIALS), PIECES, places.shape, generator=generator, device=rows.device)
    shown = torch.where(kind < 0.8, MASK, torch.where(kind < 0.9, other, targets))
    return rows.scatter(1, places, shown), places, targets


class Bidirectional:
    """ELMo: the next word from those before it, and the word before from those after it, spelt by characters."""

    row_length = 64
    epsilon = 1e-8  # a rare word's row of the softmax has tiny gradients

    def __init__(self, words: dict[str, np.ndarray] | None = None) -> None:
        if words is None:
            raise ValueError("the biLM is trained on words")
        self.model = nn.ModuleDict({"bilm": BiLM(ELMO_OPTIONS), "softmax": nn.Linear(WIDTH, OUTPUT_WORDS)})
        nn.init.normal_(self.model["softmax"].weight, std=WIDTH**-0.5)
        nn.init.zeros_(self.model["softmax"].bias)
        self._words = vocabulary_of(words)
        self._spelling = torch.from_numpy(spell(self._words))  # (words, characters)
        self._cross_entropy: Callable[..., Tensor] = cross_entropy

    def draw(self, rows: Tensor, generator: torch.Generator) -> tuple[Tensor, ...]:
        """The rows, and since a batch repeats most of its words: each distinct word's spelling, and which is where."""
        self._spelling = self._spelling.to(rows.device)
        distinct, inverse = rows.unique(return_inverse=True)
        room = -len(distinct) % max(1, rows.numel() // 8)  # few sizes, so that few shapes are recorded
        return rows, F.pad(self._spelling[distinct], (0, 0, 0, room)), inverse

    def loss(self, rows: Tensor, spelling: Tensor, inverse: Tensor) -> Tensor:
        bilm, softmax = self.model["bilm"], self.model["softmax"]
        with torch.autocast(rows.device.type, enabled=False):  # a cell's sum over steps needs more than 8 bits
            reading = bilm.read(bilm.embed(spelling.long())[inverse])
        forward, backward = reading.forward[-1], reading.backward[-1]
        targets = torch.where(rows < OUTPUT_WORDS, rows, 2)
        ahead = self._cross_entropy(forward[:, :-1], softmax.weight, softmax.bias, targets[:, 1:])
        back = self._cross_entropy(backward[:, 1:], softmax.weight, softmax.bias, targets[:, :-1])
        return (ahead + back) / 2

    def compile(self) -> None:
        self._cross_entropy = torch.compile(cross_entropy)  # the LSTMs are one kernel of the library already

    def table(self) -> Tensor:
        """The vectors that its characters give to the most frequent words: what stands in the place of a table."""
        return self.model["bilm"].embed(self._spelling[:PIECES].to(self.model["softmax"].weight.device).long())

    def save(self, folder: Path) -> None:
        """The model, and beside it the softmax: perplexity needs it, vectors do not."""
        self.model["bilm"].save(folder)
        softmax = {name: tensor.half().cpu() for name, tensor in self.model["softmax"].state_dict().items()}
        write_tensors(folder.parent / "softmax.safetensors", softmax)
        (folder.parent / "softmax.txt").write_text("\n".join(self._words[:OUTPUT_WORDS]) + "\n", encoding="utf-8")


TASKS: dict[str, Callable[..., Task]] = {"mini-bert": Masked, "mini-gpt2": Causal, "mini-elmo": Bidirectional}


def save_transformer(model: nn.Module, folder: Path) -> None:
    """In half precision on disk, single in memory: `config.json` says what a loader shall make of it."""
    folder.mkdir(parents=True, exist_ok=True)
    half: dict[int, tuple[str, Tensor]] = {}  # by address: a tied matrix is written once, under its first name
    for name, tensor in model.state_dict().items():
        half.setdefault(tensor.data_ptr(), (name, tensor.half()))
    write_tensors(folder / "model.safetensors", dict(half.values()))
    config = model.config.to_dict() | {"architectures": [type(model).__name__], "dtype": "float32"}
    model.config.__class__.from_dict(config).save_pretrained(folder)


def write_tensors(path: Path, tensors: dict[str, Tensor]) -> None:
    """A safetensors file that all may read: the library's own function lets nobody but the owner."""
    path.write_bytes(save(tensors, metadata={"format": "pt"}))
