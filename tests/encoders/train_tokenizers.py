"""Train the small tokenisers of the tests and write them into `tokenizers/`: python tests/encoders/train_tokenizers.py

They are kept as files, because two trainings on one text do not give the same pieces: equal counts are put in the
order of a hash table that every process fills differently.
"""

from __future__ import annotations

import json

from tiny_models import STORY, stored
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def _wordpiece(*, lower: bool) -> Tokenizer:
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(lowercase=lower)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(
        [STORY], trainers.WordPieceTrainer(vocab_size=150, special_tokens=special, show_progress=False)
    )
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def _byte_level(*, prefix_space: bool, trim: bool, specials: bool) -> Tokenizer:
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=prefix_space, trim_offsets=trim)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=400, special_tokens=["<s>", "<pad>", "</s>", "<unk>"], initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator([STORY], trainer)
    if specials:
        made.post_processor = processors.RobertaProcessing(
            ("</s>", 2), ("<s>", 0), trim_offsets=trim, add_prefix_space=prefix_space
        )
    else:
        made.post_processor = processors.ByteLevel(trim_offsets=trim)
    return made


def _unigram(*, byte_fallback: bool, t5: bool) -> Tokenizer:
    made = Tokenizer(models.Unigram())
    made.normalizer = normalizers.NFKC()
    metaspace = pre_tokenizers.Metaspace(prepend_scheme="always" if t5 else "first")
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), metaspace]) if t5 else metaspace
    special = ["<pad>", "</s>", "<unk>", *(BYTES if byte_fallback else [])]
    trainer = trainers.UnigramTrainer(
        vocab_size=120 + len(special), special_tokens=special, unk_token="<unk>", show_progress=False
    )
    made.train_from_iterator([STORY], trainer)
    if byte_fallback:
        state = json.loads(made.to_str())
        state["model"]["byte_fallback"] = True
        state["added_tokens"] = [token for token in state["added_tokens"] if not token["content"].startswith("<0x")]
        made = Tokenizer.from_str(json.dumps(state))
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])
    if t5:
        made.post_processor = processors.TemplateProcessing(
            single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)]
        )
    return made


def _llama() -> Tokenizer:
    made = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    # A pre-tokeniser for the training only, so that pieces do not run over words as they do not in Llama's.
    made.pre_tokenizer = pre_tokenizers.Split("▁", "merged_with_next")
    special = ["<unk>", "<s>", "</s>", *BYTES]
    made.train_from_iterator(
        [STORY.replace("\n", " ")], trainers.BpeTrainer(vocab_size=450, special_tokens=special, show_progress=False)
    )
    state = json.loads(made.to_str())
    state["added_tokens"] = [token for token in state["added_tokens"] if not token["content"].startswith("<0x")]
    state["pre_tokenizer"] = None
    made = Tokenizer.from_str(json.dumps(state))
    made.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)]
    )
    return made


TRAINED = {
    "wordpiece cased": lambda: _wordpiece(lower=False),
    "wordpiece uncased": lambda: _wordpiece(lower=True),
    "byte-level": lambda: _byte_level(prefix_space=False, trim=True, specials=False),
    "byte-level untrimmed": lambda: _byte_level(prefix_space=False, trim=False, specials=False),
    "byte-level prefix": lambda: _byte_level(prefix_space=True, trim=True, specials=True),
    "byte-level roberta": lambda: _byte_level(prefix_space=False, trim=True, specials=True),
    "unigram": lambda: _unigram(byte_fallback=False, t5=False),
    "unigram bytes": lambda: _unigram(byte_fallback=True, t5=False),
    "t5": lambda: _unigram(byte_fallback=False, t5=True),
    "llama": _llama,
}

if __name__ == "__main__":
    for kind, train in TRAINED.items():
        stored(kind).write_text(train().to_str(pretty=True) + "\n", encoding="utf-8")
