"""Words and sentences that a reader wants to see: neighbours, contexts of ambiguous words, and failures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.papers.parts import Row
from limbeck.probing.names import MANY_PIECES
from limbeck.probing.result import Outcome, quarters
from limbeck.probing.splits import TEST
from limbeck.runs.probing.work import Probing
from limbeck.seeds import hash_ids, hash_text

NEIGHBORS = 6  #: as in the paper's Table 1
LISTED, WORDS, EACH = 10, 3, 2  #: failures of a kind; ambiguous words and contexts of each of their classes


def nearest(matrix: Any, names: Sequence[str], at: int) -> list[Row]:
    """The nearest rows by cosine, without the row itself."""
    x = np.asarray(matrix, dtype=np.float64)
    lengths = np.linalg.norm(x, axis=1)
    cosine = x @ x[at] / np.maximum(lengths * lengths[at], 1e-12)
    cosine[at] = -np.inf
    best = np.argsort(-cosine, kind="stable")[: min(NEIGHBORS, len(x) - 1)]
    return [{"rank": rank, "neighbor": str(names[row]), "cosine": float(cosine[row])}
            for rank, row in enumerate(best.tolist(), 1)]  # fmt: skip


def examples(work: Probing) -> list[Row]:
    """Table 9: contexts of some words that have several classes, chosen by hash."""
    labelled = work.labelled
    pairs = np.unique(np.stack([labelled.word, labelled.kind]), axis=1)
    several = np.flatnonzero(np.bincount(pairs[0], minlength=len(labelled.words)) > 1)
    chosen = sorted(several.tolist(), key=lambda word: hash_text(labelled.words[word]))[:WORDS]
    rows = []
    for word in chosen:
        for kind in np.unique(labelled.kind[labelled.word == word]).tolist():
            own = np.flatnonzero((labelled.word == word) & (labelled.kind == kind))[:EACH]
            rows += [
                {"word": labelled.words[word], "class": labelled.classes[kind], "text": labelled.text_of(int(row))}
                for row in own.tolist()
            ]
    return rows


def failures(work: Probing, pieces: NDArray[np.int64], outcome: Outcome, around: Sequence[Outcome] | None) -> list[Row]:
    """The paper's two kinds of failure at the highest layer: words of many pieces, contexts that tell little."""
    labelled, rows = work.labelled, outcome.rows
    wrong = (outcome.own[-1] <= 0) & (outcome.level.sides[rows] == TEST)
    kinds = {"many pieces": wrong & (pieces[rows] >= MANY_PIECES)}
    if around:
        kinds["uninformative context"] = wrong & (pieces[rows] <= 1) & (quarters(around) == 1)
    found = []
    for kind, chosen in kinds.items():
        here = rows[chosen]
        for row in here[np.argsort(hash_ids(here), kind="stable")[:LISTED]].tolist():
            found.append({
                "kind": kind, "word": labelled.words[int(labelled.word[row])], "pieces": int(pieces[row]),
                "class": labelled.classes[int(labelled.kind[row])], "text": labelled.text_of(int(row)),
            })  # fmt: skip
    return found
