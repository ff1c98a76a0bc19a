"""Model cards from what was measured.

    python -m recipes.card --figures figures.json --trained out --about about.json --models src/limbeck/data/miniatures

Writes README.md into each packaged miniature, and figures.json beside them for `limbeck models`.
"""

from __future__ import annotations

import argparse
import csv
import json
from pathlib import Path
from typing import Any

from safetensors import safe_open

from recipes.miniatures import HEADS, LAYERS, OUTPUT_WORDS, PIECES, POSITIONS, WIDTH

Figures = dict[str, Any]

KINDS = {
    "mini-bert": "Masked language model of BERT's kind (`BertForMaskedLM`)",
    "mini-gpt2": "Causal language model of GPT-2's kind (`GPT2LMHeadModel`)",
    "mini-elmo": "Bidirectional language model of ELMo's kind (two LSTM stacks over a character CNN)",
}
TRANSFORMER = (
    f"{LAYERS} layers of {WIDTH} dimensions, {HEADS} heads, {PIECES:,} lower-cased word pieces, "
    f"a window of {POSITIONS}."
)
SHAPES = {
    "mini-bert": TRANSFORMER + " The masked head is tied to the table; there is no second task and no pooler.",
    "mini-gpt2": TRANSFORMER + " The head is tied to the table. No token marks a text's beginning, as in GPT-2.",
    "mini-elmo": (
        f"Two layers of {WIDTH} dimensions in each direction, LSTMs of 512 cells, a character CNN of 512 filters, two "
        f"highway layers; words are lower-cased. Its softmax over {OUTPUT_WORDS:,} words is not part of the package."
    ),
}
TASKS = {
    "mini-bert": "Rows of 128 pieces that begin with a sentence, 15 % of them hidden, new each time; bf16.",
    "mini-gpt2": "Rows of 128 pieces that begin with a sentence; bf16.",
    "mini-elmo": "Rows of 64 words that begin with a sentence; the LSTMs in float32, since in bf16 they learn nothing.",
}
INTRODUCTION = (
    "One of three miniatures that limbeck trains on the same text at the same size, so that architectures can be "
    "compared and everything can be tried without a network."
)
PURPOSE = (
    "For demonstrations, tests, teaching and comparisons of geometry. Not for any product, not for facts, not for "
    "judgements about people: it is tiny, knows one kind of text, and repeats its biases. Its figures say nothing "
    "about BERT, GPT-2 or ELMo themselves, which are some thirty times as large and saw far more text."
)


def card(name: str, figures: dict[str, Figures], about: dict[str, str], log: list[dict[str, str]], folder: Path) -> str:
    """The card of one model: what it is, what `about` says of text, machine and licence, what log and figures say."""
    library = "limbeck" if name == "mini-elmo" else "transformers"
    parts = [
        f"---\nlicense: {about['licence']}\nlanguage: en\nlibrary_name: {library}\n---",
        f"# {name}",
        f"{KINDS[name]}, {parameters(folder) / 1e6:.2f} million parameters. {INTRODUCTION}",
        f"**Shape.** {SHAPES[name]}",
        f"**Text.** {about['text']}",
        f"**Training.** {TASKS[name]} {course(name, log)} {about['machine']} Recipe: `recipes/`.",
        about.get(name, ""),
        "## Held out\n\n" + held_out(name, figures[name], figures),
        "## Minimal pairs\n\n" + pairs(figures[name], figures["trigrams of pieces"]),
        f"## For what, and what not\n\n{PURPOSE}",
        f"## Licence\n\n{about['rights']}",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def course(name: str, log: list[dict[str, str]]) -> str:
    """How a training went, by its log."""
    last = log[-1]
    tokens = "words" if name == "mini-elmo" else "pieces"
    batch = round(float(last["tokens"]) / float(last["step"]))
    rate = max(float(row["rate"]) for row in log)
    return (
        f"AdamW, greatest rate {rate:.4g}, half a cosine to zero, batches of {batch:,} {tokens}; "
        f"{float(last['tokens']) / 1e6:,.0f} million {tokens} seen in {float(last['seconds']) / 60:.0f} minutes, last "
        f"training loss {float(last['loss']):.3f}."
    )


def parameters(folder: Path) -> int:
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        total = 0
        for name in file.keys():  # noqa: SIM118 - not a mapping
            shape = file.get_slice(name).get_shape()
            size = 1
            for side in shape:
                size *= side
            total += size
        return total


def held_out(name: str, own: Figures, figures: dict[str, Figures]) -> str:
    """WikiText-2's validation text, lower-cased, headings included, `<unk>` read and not scored."""
    intro = f"{held_out.__doc__}\n\n"
    if name == "mini-bert":
        return intro + (
            f"| | |\n|---|---|\n| accuracy, 15 % of the pieces hidden together | {own['masked_accuracy']:.1%} "
            f"of {own['pieces_masked']:,} |\n"
            f"| perplexity of those | {own['masked_perplexity']:.1f} |\n"
            f"| pseudo-perplexity a piece, hidden one at a time | {own['pseudo_perplexity_per_token']:.1f} |\n"
            f"| pseudo-perplexity a word ({own['pseudo_words_scored']:,} words) | "
            f"{own['pseudo_perplexity_per_word']:.1f} |"
        )
    tokens = "pieces" if name == "mini-gpt2" else "words"
    rows = [("unigrams", figures[f"unigrams of {tokens}"]), ("Kneser-Ney trigrams", figures[f"trigrams of {tokens}"])]
    rows.append((f"**{name}**", own))
    table = "| | perplexity a word | perplexity a token |\n|---|---|---|\n" + "\n".join(
        f"| {title} | {row['perplexity_per_word']:.1f} | {row['perplexity_per_token']:.1f} |" for title, row in rows
    )
    text = (
        intro
        + table
        + f"\n\n{own['words_scored']:,} of {own['words']:,} words scored. N-grams: same text, same {tokens}."
    )
    if name == "mini-elmo":
        text += (
            f" A token is a word; words outside the softmax are not scored. A sentence at a time: in rows much longer "
            "than the 64 words of its training the backward direction goes astray. The mean of both directions, "
            "forward "
            f"{own['perplexity_forward']:.1f} and backward {own['perplexity_backward']:.1f}."
        )
    return text


def pairs(own: Figures, trigrams: Figures) -> str:
    """How often the right sentence of two that differ in one word is the more probable; 95 % intervals."""
    lines = [f"{pairs.__doc__}\n", "| pairs | accuracy | interval | trigrams |", "|---|---|---|---|"]
    for kind in ("agreement", "cloze"):
        found = own[kind]
        lines.append(
            f"| {kind}, {found['pairs']} | {found['accuracy']:.3f} | {found['low']:.3f} to {found['high']:.3f} "
            f"| {trigrams[kind]['accuracy']:.3f} |"
        )
    for kind in ("agreement", "cloze"):
        by_kind = ", ".join(f"{k} {v:.2f} ({trigrams[kind]['kinds'][k]:.2f})" for k, v in own[kind]["kinds"].items())
        lines.append(f"\nBy kind, {kind} (trigrams): {by_kind}.")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--figures", type=Path, required=True, help="of recipes.evaluate")
    parser.add_argument("--trained", type=Path, required=True, help="holds the folders of recipes.train")
    parser.add_argument("--models", type=Path, required=True, help="the folder of the three packaged miniatures")
    parser.add_argument(
        "--about", type=Path, required=True, help="JSON: text, machine, licence, rights; remarks by model"
    )
    options = parser.parse_args()
    figures = json.loads(options.figures.read_text())
    about = json.loads(options.about.read_text())
    for name in KINDS:
        with (options.trained / name / "log.csv").open(newline="") as file:
            log = list(csv.DictReader(file))
        text = card(name, figures, about, log, options.models / name)
        (options.models / name / "README.md").write_text(text, encoding="utf-8")
    (options.models / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
