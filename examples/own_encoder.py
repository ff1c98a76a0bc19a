"""Measure an encoder of your own: a function from texts to one array a text.

This one knows no model. A word is the sum of its letter triples' random vectors, and in the second layer it takes
in a part of its neighbours. Run it with `python examples/own_encoder.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import limbeck as lb
from limbeck.encoders import FunctionEncoder

DIM = 64
known: dict[str, np.ndarray] = {}


def vector_of(triple: str) -> np.ndarray:
    if triple not in known:
        known[triple] = np.random.default_rng(list(triple.encode())).normal(size=DIM)
    return known[triple]


def letters(texts: Sequence) -> list[np.ndarray]:
    """(2, words, 64) for each text."""
    found = []
    for text in texts:
        marked = [f"<{word}>" for word in text.words]
        rows = np.stack([sum(vector_of(word[i : i + 3]) for i in range(len(word) - 2)) for word in marked])
        around = np.pad(rows, ((1, 1), (0, 0)))
        found.append(np.stack([rows, rows + 0.4 * (around[:-2] + around[2:])]))
    return found


def main() -> None:
    encoder = FunctionEncoder(letters, name="letter triples", layers=["letters", "neighbours"])
    lb.testing.check_encoder(encoder)  # raises where a law is broken
    run = lb.measure(encoder, "sample", mev_words=100)
    for place, layer in enumerate(run.layers):
        similarity = run["self_similarity"]
        print(f"{layer:12} anisotropy {run['anisotropy'].value[place]:.3f}, ", end="")
        print(f"self-similarity {similarity.value[place]:.3f} ({similarity.adjusted[place]:+.3f} beside chance)")
    most, least = run.extremes(8)
    print("most contextual: ", " ".join(most))
    print("least contextual:", " ".join(least))


if __name__ == "__main__":
    main()
