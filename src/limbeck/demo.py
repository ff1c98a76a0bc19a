"""What the demonstration runs on: the text in the package, and a small model made for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any

from limbeck.corpus import Corpus
from limbeck.encoders import HuggingFaceEncoder

LAYERS, DIM, PIECES = 6, 128, 4000


@contextmanager
def demo_corpus() -> Iterator[Corpus]:
    """The prose in the package."""
    with as_file(files("limbeck").joinpath("data", "demo.txt")) as path:
        yield Corpus(path)


def random_bert(corpus: Corpus) -> HuggingFaceEncoder:
    """A small BERT with random weights, and a WordPiece tokeniser trained on the text itself."""
    import torch
    from transformers import BertConfig, BertModel

    tokenizer = train_wordpiece(corpus)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        config = BertConfig(
            vocab_size=len(tokenizer),
            num_hidden_layers=LAYERS,
            hidden_size=DIM,
            num_attention_heads=4,
            intermediate_size=4 * DIM,
            initializer_range=0.1,  # wide enough for the layers to differ
        )
        model = BertModel(config, add_pooling_layer=False)
    return HuggingFaceEncoder(model, tokenizer, name="random BERT", device="cpu")


def train_wordpiece(corpus: Corpus) -> Any:
    """A cased WordPiece tokeniser, as BERT's."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=PIECES, special_tokens=list(special.values()), show_progress=False)
    tokenizer.train_from_iterator((" ".join(sentence.words) for sentence in corpus), trainer)
    marks = [(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
