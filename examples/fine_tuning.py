"""What did fine-tuning change? A model before and after, measured on the same text and compared word by word.

Here a miniature learns for a moment which words of the sample corpus stand in which tense. Run it with
`python examples/fine_tuning.py`, or `python examples/fine_tuning.py BEFORE AFTER TEXT` for two checkpoints of your own.
It writes into runs/fine-tuning.
"""

from __future__ import annotations

import sys
from itertools import islice
from pathlib import Path

import limbeck as lb
from limbeck.corpus import Sentence

OUT = Path("runs/fine-tuning")


def trained() -> Path:
    """A miniature after a few steps."""
    found = [
        Sentence(one.words, labels={i: {"tag": one.labels.get(i, {}).get("tense", "-")} for i in range(len(one.words))})
        for one in islice(lb.Corpus("sample"), 400)
        if any("tense" in labels for labels in one.labels.values())
    ]
    task = lb.probing.tagged("tense", {"train": found[8:], "dev": found[:8]})
    settings = {"steps": 6, "batch": 4, "learning_rate": 1e-3, "attention_texts": 0}
    made = lb.finetune("mini-bert", task, **settings, out=OUT / "model", existing="replace")
    print(f"trained on {len(found) - 8} sentences, best after {made.best_step} steps")
    return OUT / "model"


def main() -> None:
    if len(sys.argv) == 4:
        before, after, text = sys.argv[1], sys.argv[2], lb.Corpus(sys.argv[3])
    else:
        before, after = "mini-bert", str(trained())
        text = lb.Corpus.from_sentences(islice(lb.Corpus("sample"), 400, 500))
    settings = {"min_contexts": 3, "mev_words": 50}
    for model, name in ((before, "before"), (after, "after")):
        lb.measure(model, text, layers="0,12", **settings, out=OUT / name, existing="replace")
    found = lb.compare(OUT / "before", OUT / "after")
    for sentence in found.sentences()[:3]:
        print(sentence)
    for way, words in found.movers.items():
        told = ", ".join(f"{word} ({change:+.2f})" for word, change in words[:6])
        print(f"words that go {way}: {told or 'none'}")


if __name__ == "__main__":
    main()
