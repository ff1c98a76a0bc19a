"""A BERT-base-sized random model and a WordPiece tokeniser trained on the benchmark's own text."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.corpus import Corpus

if TYPE_CHECKING:  # worker processes import this module again: nothing heavy at the top
    from limbeck.encoders import HuggingFaceEncoder


def train_tokenizer(corpus: Corpus, *, size: int = 30_000, sentences: int = 20_000) -> Any:
    """A lower-casing WordPiece tokeniser, as BERT's."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    texts = (" ".join(sentence.words) for sentence in itertools.islice(corpus, sentences))
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=special))
    ids = {name: tokenizer.token_to_id(name) for name in special}
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(name, ids[name]) for name in ("[CLS]", "[SEP]")]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]"
    )


def bert(
    tokenizer: Any,
    *,
    device: str,
    dtype: str,
    layers: int = 12,
    dim: int = 768,
    seed: int = 0,
    chosen: str | None = None,
    **options: Any,
) -> HuggingFaceEncoder:
    """A random BERT of the given size (the default is BERT-base's) as an encoder; `chosen` layers, or all."""
    import torch
    from transformers import BertConfig, BertModel

    from limbeck.encoders import HuggingFaceEncoder

    torch.manual_seed(seed)
    config = BertConfig(
        vocab_size=len(tokenizer),
        num_hidden_layers=layers,
        hidden_size=dim,
        num_attention_heads=max(1, dim // 64),
        intermediate_size=4 * dim,
    )
    model = BertModel(config, add_pooling_layer=False)
    return HuggingFaceEncoder(
        model, tokenizer, name="bert-base-random", layers=chosen, device=device, dtype=dtype, **options
    )


def corpus_of(path: str | Path, **options: Any) -> Corpus:
    return Corpus(str(path), **options)
