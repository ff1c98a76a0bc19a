"""Compare two models: run folders for both, and figures that hold them side by side.

The models are two miniatures and the text is a part of the sample corpus, all of which come with limbeck; put names or
folders of your own in their place. Run it with `python examples/two_models.py`; it writes into runs/two-models.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path

import limbeck as lb
from limbeck.reporting import draw, run_figures

OUT = Path("runs/two-models")
MODELS = ("mini-bert", "mini-gpt2")


def main() -> None:
    text = lb.Corpus.from_sentences(islice(lb.Corpus("sample"), 200))
    settings = {"min_contexts": 3, "mev_words": 50}
    for name in MODELS:
        run = lb.measure(name, text, layers="0,4,8,12", **settings, out=OUT / name, existing="replace")
        values = " ".join(f"{value:.3f}" for value in run["self_similarity"].adjusted)
        print(f"{run.name}: self-similarity less anisotropy, layers {', '.join(run.layers)}: {values}")
    draw(run_figures([OUT / name for name in MODELS]), OUT / "figures")
    print(f"figures with both: {OUT / 'figures'}")


if __name__ == "__main__":
    main()
