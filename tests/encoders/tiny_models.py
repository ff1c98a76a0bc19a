"""Tokenisers that were trained on a little text and tiny random models, one of each family."""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer
from transformers import (
    BartConfig,
    BartModel,
    BertConfig,
    BertModel,
    GPT2Config,
    GPT2Model,
    LlamaConfig,
    LlamaModel,
    PreTrainedTokenizerFast,
    RobertaConfig,
    RobertaModel,
    T5Config,
    T5Model,
)

from limbeck.corpus.units import Sentence, Text

STORY = """
An old alembic stood in the cellar of the house by the river. Nobody knew who had brought it there.
The children said it was haunted; their mother said it was copper and worth money. One winter the
river rose, and the cellar filled with brown water. When it fell again, the alembic was gone.
“Unbelievable!” cried the youngest. They didn't find it for years, and when they did, it lay
downstream, polished by sand, shining like a lamp. Café owners wanted it; museums wanted it. The
family kept it, distilled lavender in it, and told everybody the story of the river that borrowed
their kettle. Something in the telling changed each time, which is how stories are kept alive.
"""
ODD = ["😀", "👩‍🚀", "e\u0301te\u0301", "naïve", "ﬁne", "…", "中文", "№5", "a\u00adb", "don't", "[SEP]", "<s>", "½"]
VANISHING = ["\u200b", "\x01"]
STORED = Path(__file__).parent / "tokenizers"  #: written by train_tokenizers.py
TOKENIZERS = sorted(file.stem.replace("_", " ") for file in STORED.glob("*.json"))


def split(line: str) -> Sentence:
    """Words and punctuation; a word that no blank follows is glued to the next."""
    found = list(re.finditer(r"\w+(?=n't)|n't|\w+|[^\w\s]", line))
    glued = {i for i, (a, b) in enumerate(itertools.pairwise(found)) if a.end() == b.start()}
    return Sentence(tuple(m.group() for m in found), glued=frozenset(glued))


@cache
def story() -> tuple[Text, ...]:
    sentences = [split(line) for line in re.split(r"(?<=[.!;])\s+", STORY.strip())]
    return tuple(
        Text((Sentence(s.words, document=1, index=i, glued=s.glued),)) for i, s in enumerate(sentences) if s.words
    )


def text(words: str | list[str], *, index: int = 0, glued: Collection[int] = ()) -> Text:
    split_words = words.split() if isinstance(words, str) else words
    return Text((Sentence(tuple(split_words), index=index, glued=frozenset(glued)),))


def odd_texts() -> list[Text]:
    texts = [text(["the", word, "river", word, word, "in"], index=i) for i, word in enumerate(ODD + VANISHING)]
    texts += [text([word], index=100 + i) for i, word in enumerate(ODD + VANISHING)]
    texts += [text(["They", "did", "n't", "go", ".", "”"], index=200, glued={1, 3, 4})]
    texts += [text(["a", "b", "c"], index=201, glued={0, 1}), text([*VANISHING, "river", *VANISHING], index=202)]
    two = (split("The river rose. "), split("It didn't fall."))
    return [*texts, Text(tuple(Sentence(s.words, document=3, index=i, glued=s.glued) for i, s in enumerate(two)))]


def stored(kind: str) -> Path:
    return STORED / f"{kind.replace(' ', '_')}.json"


@cache
def backend(kind: str) -> Tokenizer:
    return Tokenizer.from_file(str(stored(kind)))


def tokenizer(kind: str) -> PreTrainedTokenizerFast:
    names = {
        "wordpiece": {"pad_token": "[PAD]", "cls_token": "[CLS]", "sep_token": "[SEP]", "unk_token": "[UNK]"},
        "byte-level": {"pad_token": "<pad>", "unk_token": "<unk>"},
        "unigram": {"pad_token": "<pad>", "unk_token": "<unk>"},
        "t5": {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>"},
        "llama": {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>"},
    }[kind.split()[0]]
    copy = Tokenizer.from_str(backend(kind).to_str())
    return PreTrainedTokenizerFast(tokenizer_object=copy, **names)


FAMILIES = {
    "bert": "wordpiece uncased",
    "roberta": "byte-level roberta",
    "gpt2": "byte-level",
    "llama": "llama",
    "t5": "t5",
    "bart": "byte-level roberta",
}
POSITIONS = 64


@cache
def model(family: str) -> Any:
    """A tiny model with random weights large enough that layers and contexts differ visibly."""
    size = backend(FAMILIES[family]).get_vocab_size()
    common = {"vocab_size": size}
    heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
    torch.manual_seed(7)
    if family == "bert":
        made: Any = BertModel(BertConfig(**common, **heads, max_position_embeddings=POSITIONS, pad_token_id=0))
    elif family == "roberta":
        config = RobertaConfig(**common, **heads, max_position_embeddings=POSITIONS + 2, pad_token_id=1)
        made = RobertaModel(config)
    elif family == "gpt2":
        config = GPT2Config(
            **common, n_positions=POSITIONS, n_embd=16, n_layer=3, n_head=2, bos_token_id=None, eos_token_id=None
        )
        made = GPT2Model(config)
    elif family == "llama":
        made = LlamaModel(LlamaConfig(**common, **heads, max_position_embeddings=POSITIONS))
    elif family == "t5":
        made = T5Model(T5Config(**common, d_model=16, d_kv=8, d_ff=32, num_layers=2, num_heads=2, pad_token_id=0))
    else:
        layers = {f"{half}_{what}": n for half in ("encoder", "decoder") for what, n in
                  (("layers", 2), ("attention_heads", 2), ("ffn_dim", 32))}  # fmt: skip
        made = BartModel(BartConfig(**common, **layers, d_model=16, max_position_embeddings=POSITIONS, pad_token_id=1))
    with torch.no_grad():
        for name, weight in made.named_parameters():
            if weight.ndim == 2:
                weight.normal_(0, 0.15 if family == "t5" else 0.3)  # T5 does not scale its attention down
            elif "bias" in name:
                weight.normal_(0, 0.1)
    return made.eval()


def save_bert(folder: Path) -> Path:
    """A tiny BERT and its tokeniser as a folder, without the library's bars."""
    from transformers.utils import logging

    logging.disable_progress_bar()
    model("bert").save_pretrained(folder)
    tokenizer("wordpiece uncased").save_pretrained(folder)
    logging.enable_progress_bar()
    return folder
