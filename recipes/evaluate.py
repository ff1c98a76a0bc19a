"""Held-out figures of the three miniatures, for their cards.

    python -m recipes.evaluate --text wikitext-2/valid.txt --pieces pieces.npz --words words.npz \\
        --models src/limbeck/data/miniatures --softmax out/mini-elmo --out figures.json

Perplexity on text in WikiText's form (a word between blanks, `<unk>` for words taken out, which are read and not
scored), beside unigrams and an interpolated Kneser-Ney trigram of the same training text and tokens; and minimal pairs:
how often the right sentence is found more probable than one that differs from it in one word.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch

from limbeck.corpus import splitter_for
from recipes.kneser_ney import KneserNey
from recipes.miniatures import CLS, MASK, MASKED, OUTPUT_WORDS, PIECES, SEP
from recipes.scorers import (
    UNKNOWN_WORD,
    BidirectionalScorer,
    CausalScorer,
    MaskedScorer,
    PieceGrams,
    Pieces,
    Scorer,
    WordGrams,
    windows,
)
from recipes.tokens import load

PAIRS = Path(__file__).parent / "pairs"
PSEUDO_PARAGRAPHS = 120  #: hiding pieces one at a time takes a pass a piece: so many paragraphs, evenly spread
JOINED = {"@-@": "-", "@,@": ",", "@.@": "."}

Figures = dict[str, object]


def read_held_out(path: Path) -> list[list[str]]:
    """The paragraphs and headings of a file in WikiText's form, as lower-cased words."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [[JOINED.get(word, word.lower()) for word in line.split()] for line in lines if line.strip()]


def perplexities(scorer: Scorer, texts: Sequence[Sequence[str]]) -> Figures:
    """Per word and per token, over the words that are scored."""
    total, words, tokens, seen = 0.0, 0, 0, 0
    for text in texts:
        found = scorer(text)
        scored = ~np.isnan(found)
        total -= found[scored].sum()
        words += int(scored.sum())
        tokens += int(scorer.tokens(text)[scored].sum())
        seen += len(text)
    return {
        "perplexity_per_word": math.exp(total / words),
        "perplexity_per_token": math.exp(total / tokens),
        "words_scored": words,
        "tokens_scored": tokens,
        "words": seen,
    }


def masked_figures(scorer: MaskedScorer, texts: Sequence[Sequence[str]], seed: int = 0) -> Figures:
    """Accuracy and perplexity where 15 % of the pieces are hidden together, all of them as [MASK]."""
    generator = np.random.default_rng(seed)
    right = total = 0.0
    count = 0
    for text in texts:
        ids, owners = scorer.pieces.of(text)
        removed = np.array([word == "<unk>" for word in text])[owners]
        for part, skip in zip(windows(ids), windows(removed), strict=True):
            places = np.flatnonzero((generator.random(len(part)) < MASKED) & ~skip)
            if not len(places):
                continue
            row = torch.from_numpy(np.concatenate([[CLS], part, [SEP]]))
            row[places + 1] = MASK
            found = scorer.at(row[None], torch.from_numpy(places + 1)[None])[0]
            truth = torch.from_numpy(part[places])
            right += float((found.argmax(-1) == truth).sum())
            total -= float(found.gather(1, truth[:, None]).sum())
            count += len(places)
    return {"masked_accuracy": right / count, "masked_perplexity": math.exp(total / count), "pieces_masked": count}


def pair_accuracy(scorer: Callable[[Sequence[str]], np.ndarray], path: Path) -> Figures:
    """How often the right sentence of a pair is the more probable one, with Wilson's interval, and by kind."""
    splitter = splitter_for("en")
    outcomes: dict[str, list[bool]] = defaultdict(list)
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t"):
            good, bad = (np.nansum(scorer(splitter.words(row[key].lower())[0])) for key in ("good", "bad"))
            outcomes[row["kind"]].append(bool(good > bad))
    every = [outcome for kind in outcomes.values() for outcome in kind]
    low, high = wilson(sum(every), len(every))
    kinds = {kind: round(float(np.mean(found)), 3) for kind, found in sorted(outcomes.items())}
    return {"accuracy": float(np.mean(every)), "low": low, "high": high, "pairs": len(every), "kinds": kinds}


def wilson(right: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share."""
    share = right / n
    middle = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def evaluate(text: Path, pieces: Path, words: Path, models: Path, softmax: Path) -> dict[str, Figures]:
    texts = read_held_out(text)
    spread = texts[:: max(1, len(texts) // PSEUDO_PARAGRAPHS)]
    causal, masked = CausalScorer(models / "mini-gpt2"), MaskedScorer(models / "mini-bert")
    both = BidirectionalScorer(models / "mini-elmo", softmax=softmax)
    of_pieces = Pieces(models / "mini-gpt2" / "tokenizer.json")
    figures: dict[str, Figures] = {}

    print("n-grams of pieces ...", flush=True)
    grams = KneserNey.fit(load(pieces)["stream"], PIECES)
    trigram = PieceGrams(grams, of_pieces)
    figures["unigrams of pieces"] = perplexities(PieceGrams(grams, of_pieces, unigrams=True), texts)
    figures["trigrams of pieces"] = perplexities(trigram, texts) | _pairs(trigram)
    del grams, trigram
    print("n-grams of words ...", flush=True)
    stream = load(words)["stream"]
    grams = KneserNey.fit(np.where(stream < OUTPUT_WORDS, stream, UNKNOWN_WORD), OUTPUT_WORDS)
    del stream
    figures["unigrams of words"] = perplexities(WordGrams(grams, both.numbers, unigrams=True), texts)
    figures["trigrams of words"] = perplexities(WordGrams(grams, both.numbers), texts)
    del grams
    print("mini-gpt2 ...", flush=True)
    figures["mini-gpt2"] = perplexities(causal, texts) | _pairs(causal)
    print("mini-elmo ...", flush=True)
    figures["mini-elmo"] = perplexities(both, texts) | _directions(both, texts) | _pairs(both)
    print("mini-bert ...", flush=True)
    pseudo = perplexities(masked, spread)
    figures["mini-bert"] = {
        "pseudo_perplexity_per_word": pseudo["perplexity_per_word"],
        "pseudo_perplexity_per_token": pseudo["perplexity_per_token"],
        "pseudo_words_scored": pseudo["words_scored"],
        **masked_figures(masked, texts),
        **_pairs(masked),
    }
    return figures


def _pairs(scorer: Scorer) -> Figures:
    return {kind: pair_accuracy(scorer, PAIRS / f"{kind}.tsv") for kind in ("agreement", "cloze")}


def _directions(scorer: BidirectionalScorer, texts: Sequence[Sequence[str]]) -> Figures:
    found = [scorer.directions(text) for text in texts]
    names = ("perplexity_forward", "perplexity_backward")
    return {
        name: math.exp(-np.nanmean(np.concatenate([pair[side] for pair in found]))) for side, name in enumerate(names)
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--pieces", type=Path, required=True, help="of recipes.tokens, for the n-grams")
    parser.add_argument("--words", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True, help="the folder of the three packaged miniatures")
    parser.add_argument("--softmax", type=Path, required=True, help="the folder where mini-elmo was trained")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    figures = evaluate(options.text, options.pieces, options.words, options.models, options.softmax)
    options.out.write_text(json.dumps(figures, indent=2) + "\n")
    print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
