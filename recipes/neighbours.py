"""The nearest neighbours of fifty words by a miniature's own vectors, to be looked at.

    python -m recipes.neighbours --models src/limbeck/data/miniatures --softmax out/mini-elmo > neighbours.md

For the transformers the rows of the embedding table, those of pieces that are words; for the biLM the rows of its
softmax: its input vectors come from letters and know spelling, not meaning. What is a word the softmax knows too.
"""

from __future__ import annotations

import argparse
from collections.abc import Collection
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor

WORDS = (
    "france london river mountain island king queen president army war battle ship church school university student "
    "book poem film album band song football team player goal car train bridge house water fire gold blood heart "
    "doctor disease cell acid energy computer law court money monday january two large quickly"
).split()
SHOWN = 6


def table_of(folder: Path, known: Collection[str]) -> tuple[list[str], Tensor]:
    """The known words of a transformer's table, and their rows; the other pieces are beginnings of words."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tensors = load_file(folder / "model.safetensors")
    name = next(key for key in tensors if key.endswith(("word_embeddings.weight", "wte.weight")))
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda entry: entry[1])
    kept = [(word, row) for word, row in vocabulary if word in known]
    return [word for word, _ in kept], tensors[name].float()[[row for _, row in kept]]


def softmax_of(folder: Path) -> tuple[list[str], Tensor]:
    words = (folder / "softmax.txt").read_text(encoding="utf-8").split("\n")[:-1]
    kept = [row for row, word in enumerate(words) if word.isalpha() and len(word) > 2]
    return [words[row] for row in kept], load_file(folder / "softmax.safetensors")["weight"].float()[kept]


def neighbours(words: list[str], vectors: Tensor) -> dict[str, list[str]]:
    """By cosine, the mean taken out: all rows share a direction that says how frequent a word is."""
    unit = torch.nn.functional.normalize(vectors - vectors.mean(0), dim=1)
    rows = {word: row for row, word in enumerate(words)}
    found = {}
    for word in WORDS:
        if word in rows:
            nearest = (unit @ unit[rows[word]]).topk(SHOWN + 1).indices.tolist()
            found[word] = [words[row] for row in nearest if row != rows[word]][:SHOWN]
    return found


def markdown(tables: dict[str, dict[str, list[str]]]) -> str:
    """A row a word, a column a miniature; a dash where it has no vector of the word."""
    rows = [["word", *tables], ["---"] * (len(tables) + 1)]
    rows += [[word, *(", ".join(table.get(word, ["-"])) for table in tables.values())] for word in WORDS]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, required=True, help="the folder of the three packaged miniatures")
    parser.add_argument("--softmax", type=Path, required=True, help="the folder where mini-elmo was trained")
    options = parser.parse_args()
    words, rows = softmax_of(options.softmax)
    known = set(words)
    tables = {name: neighbours(*table_of(options.models / name, known)) for name in ("mini-bert", "mini-gpt2")}
    tables["mini-elmo"] = neighbours(words, rows)
    print("# Nearest neighbours\n\nWritten by `python -m recipes.neighbours`.\n")
    print(markdown(tables))


if __name__ == "__main__":
    main()
