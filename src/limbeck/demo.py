"""What the demonstration runs on: the text in the package, and a small model made for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import as_file, files
from typing import Any

from limbeck.corpus import Corpus
from limbeck.encoders import HuggingFaceEncoder

LAYERS, DIM, PIECES = 6, 128, 1000


@contextmanager
def demo_corpus() -> Iterator[Corpus]:
    """The prose in the package."""
    with as_file(files("limbeck").joinpath("data", "demo.txt")) as path:
        yield Corpus(path)


def random_bert(corpus: Corpus) -> HuggingFaceEncoder:
    """A small BERT with random weights, and a WordPiece tokeniser made from the text itself."""
    import torch
    from transformers import BertConfig, BertModel

    tokenizer = wordpiece(corpus)
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


def wordpiece(corpus: Corpus) -> Any:
    """A cased WordPiece tokeniser, as BERT's, of the text's frequent words and all its characters.

    Counted rather than trained: a trainer breaks ties at random, and the demo should print the same numbers again.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    split = pre_tokenizers.BertPreTokenizer()
    counts = Counter(word for sentence in corpus for word, _ in split.pre_tokenize_str(" ".join(sentence.words)))
    characters = sorted({character for word in counts for character in word})
    words = sorted(counts, key=lambda word: (-counts[word], word))
    pieces = dict.fromkeys([*special.values(), *characters, *(f"##{one}" for one in characters), *words])
    vocabulary = {piece: number for number, piece in enumerate(list(pieces)[:PIECES])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = split
    marks = [(mark, vocabulary[mark]) for mark in ("[CLS]", "[SEP]")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
