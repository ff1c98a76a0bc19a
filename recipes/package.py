"""A trained miniature as the folder that limbeck ships: weights, tokeniser and, once measured, its card.

python -m recipes.package out/mini-bert --tokenizer tokenizer.json --out src/limbeck/data/miniatures/mini-bert
"""

from __future__ import annotations

import argparse
import shutil
from pathlib import Path

from tokenizers import Tokenizer, processors
from transformers import PreTrainedTokenizerFast

from recipes.miniatures import CLS, POSITIONS, SEP


def package(trained: Path, tokenizer: Path, out: Path) -> None:
    """Copy the model, and give a transformer its tokeniser: BERT's sets [CLS] and [SEP], GPT-2's sets nothing."""
    out.mkdir(parents=True, exist_ok=True)
    for file in (trained / "model").iterdir():
        shutil.copyfile(file, out / file.name)
    if (out / "config.json").exists():
        causal = "GPT2" in (out / "config.json").read_text()
        (causal_tokenizer if causal else masked_tokenizer)(tokenizer).save_pretrained(out)


def masked_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", CLS), ("[SEP]", SEP)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        model_max_length=POSITIONS,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        mask_token="[MASK]",
    )


def causal_tokenizer(path: Path) -> PreTrainedTokenizerFast:
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_file(str(path)),
        model_max_length=POSITIONS,
        pad_token="[PAD]",
        unk_token="[UNK]",
        bos_token="[SEP]",
        eos_token="[SEP]",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trained", type=Path, help="a folder of recipes.train")
    parser.add_argument("--tokenizer", type=Path, help="tokenizer.json of recipes.tokens, for the transformers")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if not (options.trained / "model").is_dir():
        parser.error(f"{options.trained} must be a folder of recipes.train; it has no model in it")
    if (options.trained / "model" / "config.json").exists() and (
        options.tokenizer is None or not options.tokenizer.is_file()
    ):
        parser.error("a transformer needs --tokenizer, the tokenizer.json of recipes.tokens")
    package(options.trained, options.tokenizer, options.out)


if __name__ == "__main__":
    main()
