"""Which layer should I take for similarity? Every layer of a model on pairs of texts, and whether the best is better.

Run it with `python examples/which_layer.py`, or with your own model and pairs:
`python examples/which_layer.py MODEL PAIRS.tsv`, a line being a text, another, and how alike they are. The pairs below
are made up, and too few to choose by; the interval beside each score says so.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import limbeck as lb

PAIRS = """\
A man is playing the guitar.|A man plays a guitar.|4.8
The child is reading a book.|A girl reads a story.|3.4
Two dogs run through the snow.|A cat sleeps on the sofa.|0.6
The train to the city was late.|The bus into town came too late.|3.0
She bought bread and milk.|She bought some food at the shop.|3.4
The river rose after the rain.|It rained and the river was high.|4.2
The president gave a speech.|The leader spoke to the people.|3.8
He is cooking dinner.|He makes a meal in the kitchen.|4.0
The company lost a lot of money.|The firm made great losses.|4.6
The company lost a lot of money.|The children lost their ball.|0.8
A woman is cutting an onion.|A woman is riding a horse.|1.0
The old house was sold.|Somebody bought the old house.|4.2
The old house was sold.|The old man was cold.|0.6
Snow fell during the night.|It snowed last night.|4.8
Snow fell during the night.|The price of oil fell.|0.4
They signed the contract on Monday.|The contract was signed.|4.0
The teacher asked a question.|The pupils answered the teacher.|2.2
The king of the country died.|The queen of the land is dead.|2.8
A plane landed at the airport.|An aircraft is on the ground.|3.0
A plane landed at the airport.|A ship left the harbour.|1.2
"""


def read_pairs(lines: list[list[str]]) -> lb.tasks.Pairs:
    first, second, gold = zip(*lines, strict=True)
    return lb.tasks.Pairs(
        name="pairs", kind="sts", first=first, second=second, gold=np.array(gold, dtype=float), metric="spearman"
    )


def main() -> None:
    own = len(sys.argv) == 3 and Path(sys.argv[2]).is_file()
    text, mark = (Path(sys.argv[2]).read_text(encoding="utf-8"), "\t") if own else (PAIRS, "|")
    pairs = read_pairs([line.split(mark)[:3] for line in text.splitlines() if line.strip()])
    encoder = lb.load_encoder(sys.argv[1] if own else "mini-bert", units="pieces")
    scores = lb.tasks.sweep(pairs, lb.tasks.ModelTarget(encoder))
    for layer, score in zip(encoder.layers, scores, strict=True):
        print(f"layer {layer:>3}: {score.value:.3f}  [{score.low:.3f}, {score.high:.3f}]")
    best, last = max(scores, key=lambda score: score.value), scores[-1]
    if best is last:
        print("the last layer is best")
        return
    found = lb.tasks.compare(best, last)
    layer = encoder.layers[scores.index(best)]
    real = "a real difference" if found.p < 0.05 else "no difference that these pairs can show"
    print(f"layer {layer} is best, by {found.difference:+.3f} over the last: {real} (p {found.p:.3f}, n {found.n})")


if __name__ == "__main__":
    main()
