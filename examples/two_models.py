"""Compare two models: run folders for both, and figures that hold them side by side.

The models are tiny and randomly initialised, so that nothing is downloaded; put ids or folders of your own in their
place. Run it with `python examples/two_models.py`; it writes into runs/two-models.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

import limbeck as lb
from limbeck.demo import demo_corpus, wordpiece
from limbeck.encoders import HuggingFaceEncoder
from limbeck.report import draw

OUT = Path("runs/two-models")


def random_models(pieces: int) -> dict[str, Any]:
    """An encoder and a decoder of three layers."""
    torch.manual_seed(0)
    wide = {"vocab_size": pieces, "initializer_range": 0.1}
    bert = BertConfig(hidden_size=32, num_hidden_layers=3, num_attention_heads=2, intermediate_size=64, **wide)
    gpt2 = GPT2Config(n_embd=32, n_layer=3, n_head=2, n_positions=256, bos_token_id=None, eos_token_id=None, **wide)
    return {"bert": BertModel(bert, add_pooling_layer=False), "gpt2": GPT2Model(gpt2)}


def main() -> None:
    with demo_corpus() as corpus:
        tokenizer = wordpiece(corpus)
        text = lb.Corpus.from_sentences(list(corpus)[:150])
    settings = lb.MeasureSettings(min_contexts=3, mev_words=50)
    for name, model in random_models(len(tokenizer)).items():
        encoder = HuggingFaceEncoder(model, tokenizer, name=f"random {name}", device="cpu")
        run = lb.measure(encoder, text, settings=settings, out=OUT / name, existing="replace")
        values = " ".join(f"{value:.3f}" for value in run["self_similarity"].adjusted)
        print(f"{run.name:12} self-similarity less anisotropy, layers {run.layers[0]} to {run.layers[-1]}: {values}")
    draw([OUT / "bert", OUT / "gpt2"], OUT / "figures")
    print(f"figures with both: {OUT / 'figures'}")


if __name__ == "__main__":
    main()
