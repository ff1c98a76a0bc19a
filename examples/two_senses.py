"""Is this word used in two senses here? Its vectors in two groups, beside what chance would make of as many vectors.

Any cloud can be cut in two. So the cut is compared with those of made clouds that have the same mean and covariance and
no groups: only if the word falls apart more cleanly than nearly all of them is there something to see. Run it with
`python examples/two_senses.py`, or `python examples/two_senses.py MODEL TEXT WORD` for your own.
"""

from __future__ import annotations

import sys

import numpy as np

import limbeck as lb
from limbeck.stream import collect_texts

WORD = "bank"
SENTENCES = """\
She put her money in the bank . / The bank gave him a loan for the house . / He works for a large bank in the city .
The bank will open an account for you . / Every bank lost money in that year . / They asked the bank for more credit .
The bank was closed on Monday . / A bank must keep some of its money . / The bank raised its interest rates again .
We sat on the bank of the river . / The boat lay on the river bank . / Trees grew along the bank of the stream .
The river broke its bank after the rain . / He swam to the other bank of the river . / A path runs along the bank .
The bank has offices in three countries . / I must go to the bank before it closes . / The bank bought another bank .
Her father owned a small bank . / The bank refused to lend the money . / You can pay it into any bank .
Grass covered the bank of the canal . / We tied the boat to the bank . / The water came over the bank .
A man was fishing from the bank . / They crossed the river to the east bank . / He fell down the steep bank .
The fish lay near the left bank of the river . / They walked down the muddy bank . / Cows stood on the far bank .
""".replace("\n", " / ").split(" / ")
CLOUDS = 200


def cut(x: np.ndarray) -> tuple[np.ndarray, float]:
    """Two groups by 2-means, begun along the widest direction, and their share of the spread along the line between."""
    x = x - x.mean(axis=0)
    groups = (x @ np.linalg.svd(x, full_matrices=False)[2][0] > 0).astype(int)
    for _ in range(20):
        centers = np.stack([x[groups == g].mean(axis=0) for g in (0, 1)])
        nearer = ((x[:, None] - centers) ** 2).sum(axis=2).argmin(axis=1)
        if (nearer == groups).all() or nearer.min() == nearer.max():
            break
        groups = nearer
    across = x @ (centers[1] - centers[0])  # of the spread along this line, how much does the cut explain?
    within = sum(((across[groups == g] - across[groups == g].mean()) ** 2).sum() for g in (0, 1))
    return groups, 1 - within / ((across - across.mean()) ** 2).sum()


def main() -> None:
    if len(sys.argv) == 4:
        model, word = sys.argv[1], sys.argv[3]
        texts = [" ".join(one.words) for one in lb.Corpus(sys.argv[2]) if word in one.words]
    else:
        model, word, texts = "mini-bert", WORD, [text for text in SENTENCES if text.strip()]
    encoder = lb.load_encoder(model, layers="-1")
    found = collect_texts(encoder, texts)
    rows = [row for row, string in enumerate(found.strings) if string == word]
    x = found.vectors[0, rows].double().numpy()
    if len(x) < 6:
        print(f"{word} stands in {len(x)} sentences, too few to tell")
        return
    groups, share = cut(x)
    rng = np.random.default_rng(0)
    centered = x - x.mean(axis=0)
    made = [cut(rng.normal(size=(len(x), len(x))) @ centered / np.sqrt(len(x)))[1] for _ in range(CLOUDS)]
    p = (1 + sum(other >= share for other in made)) / (1 + CLOUDS)
    print(
        f"{word}, {len(x)} times: two groups make {share:.0%} of the spread between them, {np.mean(made):.0%} by chance"
    )
    print(f"{'two uses, it seems' if p < 0.05 else 'no sign of two uses'} (p {p:.3f})")
    for group in (0, 1):
        print(f"group {group + 1}:")
        for row in np.flatnonzero(groups == group)[:6]:
            print("   ", texts[found.texts[rows[row]]])


if __name__ == "__main__":
    main()
