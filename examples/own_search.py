"""How anisotropic is my own model, and does whitening help my search?

Searched is a set of sentences; a question is every third word of one of them, and the answer should be that
sentence. Vectors are means over a sentence's words, as they are and after repairs that were fitted on other sentences.
Run it with `python examples/own_search.py`, or `python examples/own_search.py MODEL TEXT` for your own. It needs
scikit-learn (`pip install "limbeck[repair]"`).
"""

from __future__ import annotations

import sys
from itertools import islice

import numpy as np

import limbeck as lb
from limbeck.stream import collect_texts

REPAIRS = {
    "as they are": None,
    "centered": lb.repairs.Center(),
    "without 2 directions": lb.repairs.AllButTheTop(2),
    "whitened": lb.repairs.Whitening(),
}


def ranks(questions: np.ndarray, texts: np.ndarray) -> np.ndarray:
    """Where the right text stands for each question, 1 being first."""
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (questions, texts)]
    cosines = unit[0] @ unit[1].T
    return 1 + (cosines > np.diag(cosines)[:, None]).sum(axis=1)


def main() -> None:
    model, text = (sys.argv[1], sys.argv[2]) if len(sys.argv) == 3 else ("mini-bert", "sample")
    encoder = lb.load_encoder(model, layers="-1", units="pieces")
    found = list(dict.fromkeys(" ".join(one.words) for one in islice(lb.Corpus(text), 400) if len(one.words) > 5))
    fitted_on, searched = found[: len(found) // 2], found[len(found) // 2 :]
    questions = [" ".join(w for i, w in enumerate(text.split()) if i % 3 == 0) for text in searched]

    before, texts, asked = (collect_texts(encoder, some) for some in (fitted_on, searched, questions))
    x = before.vectors[0]
    print(f"{model}: mean cosine of two words {lb.measures.anisotropy(x, contexts=before.texts).value:.3f}, ", end="")
    print(f"IsoScore {lb.measures.isoscore(x).value:.3f}, {len(searched)} texts to find")
    for name, repair in REPAIRS.items():
        fitted = None if repair is None else repair.fit(x.numpy())
        sides = []
        for one in (asked, texts):
            rows = one.vectors[0] if fitted is None else fitted.transform(one.vectors[0])
            sides.append(one.text_means(rows).numpy())
        place = ranks(*sides)
        print(f"{name:22} mean reciprocal rank {np.mean(1 / place):.3f}, first {np.mean(place == 1):.1%}")


if __name__ == "__main__":
    main()
