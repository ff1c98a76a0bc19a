"""Vectors for my domain's words in gensim: distilled from a model and a text, saved, loaded, asked.

Run it with `python examples/domain_vectors.py`, or `python examples/domain_vectors.py MODEL TEXT WORD ...` for your
own. It needs gensim (`pip install "limbeck[export]"`) and writes into runs/domain.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import limbeck as lb

OUT = Path("runs/domain")


def main() -> None:
    if len(sys.argv) > 3:
        model, text, words = sys.argv[1], sys.argv[2], sys.argv[3:]
    else:
        model, words = "mini-bert", ["water", "house", "church", "turbine"]
        text = lb.Corpus.from_sentences(islice(lb.Corpus("sample"), 400))
    made = lb.distill(model, text, method="average", min_count=3)
    print(f"{len(made)} words of {made.dim} dimensions out of {model}")

    OUT.mkdir(parents=True, exist_ok=True)
    made.save(OUT / "domain.bin")  # word2vec's binary format, which gensim, too, reads from a file
    vectors = made.to_gensim()
    for word in words:
        if word in vectors:
            near = ", ".join(f"{other} {cosine:.2f}" for other, cosine in vectors.most_similar(word, topn=5))
            print(f"{word}: {near}")
        else:
            print(f"{word}: not often enough in this text")
    print(f"KeyedVectors.load_word2vec_format('{OUT / 'domain.bin'}', binary=True) reads the same from the file")


if __name__ == "__main__":
    main()
