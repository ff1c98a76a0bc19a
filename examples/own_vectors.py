"""Measure vectors of your own: arrays with a word and a sentence for each row.

Run it with `python examples/own_vectors.py`, or `python examples/own_vectors.py FILE.npz` for a file that holds
`vectors` (n, d), `words` (n,) and `sentences` (n,).
"""

from __future__ import annotations

import sys

import numpy as np

import limbeck as lb


def made_vectors() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vectors with a common mean, a part for the word, a part for the sentence, and noise."""
    rng = np.random.default_rng(0)
    sentences = np.repeat(np.arange(300), 8)
    words = rng.integers(40, size=len(sentences))
    mean, by_word, by_sentence = rng.normal(size=100), rng.normal(size=(40, 100)), rng.normal(size=(300, 100))
    x = mean + by_word[words] + 0.5 * by_sentence[sentences] + 0.5 * rng.normal(size=(len(sentences), 100))
    return x, np.array([f"word{word}" for word in words]), sentences


def main() -> None:
    if len(sys.argv) > 1 and sys.argv[1].endswith(".npz"):
        with np.load(sys.argv[1]) as file:
            x, words, sentences = file["vectors"], file["words"], file["sentences"]
    else:
        x, words, sentences = made_vectors()
    both = np.stack([x, x - x.mean(axis=0)])  # as two layers: as they are, and centered

    results = [
        lb.measures.anisotropy(both, contexts=sentences),
        lb.measures.self_similarity(both, words=words, contexts=sentences, min_contexts=5),
        lb.measures.intra_sentence_similarity_matched(both, sentences=sentences),
        lb.measures.mev(both, words=words, contexts=sentences, min_contexts=5),
        lb.measures.log10_isotropy(both),
        lb.measures.isoscore(both),
    ]
    print(f"{'measure':36}{'as they are':>14}{'centered':>12}")
    for result in results:
        print(f"{result.measure:36}{result.value[0]:14.3f}{result.value[1]:12.3f}")
        if result.adjusted is not None:
            print(f"{'    less its baseline':36}{result.adjusted[0]:14.3f}{result.adjusted[1]:12.3f}")


if __name__ == "__main__":
    main()
