"""Tables that are made of what probes decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.probing.batched import Bools
from limbeck.probing.features import Features
from limbeck.probing.labelled import Labelled
from limbeck.probing.names import MANY_PIECES
from limbeck.probing.scoring import Score, f1_interval, f1_of, mean_score, score
from limbeck.probing.spaces import Level
from limbeck.probing.splits import DEV, SIDES, TEST, Sides
from limbeck.seeds import hash_ids

Ints = NDArray[np.int64]
Row = dict[str, Any]
EXAMPLES = 200  #: listed of each step from one context to the next


@dataclass(frozen=True)
class Outcome:
    """What probes of one kind say about one space, from one start.

    rows       (n,) rows of the level that were decided on: the development and the test side
    decisions  (layers, n, classes)
    own        (layers, n) margin of the row's own class (context level), else of the first it has
    curves     name -> (layers, epochs)
    """

    space: str
    probe: str
    context: str
    seed: int
    layers: tuple[str, ...]
    level: Level
    rows: Ints
    decisions: Bools
    own: NDArray[np.float16]
    curves: Mapping[str, NDArray[np.float64]]
    known: NDArray[np.float64]  # (layers,) F1 on the training side itself; NaN where nobody asked

    def score(self, layer: int, side: int, chosen: NDArray[np.bool_] | None = None) -> Score:
        """Of the units of a side, or of those of its rows that are chosen, (n,)."""
        here = self.level.sides[self.rows] == side
        here = here if chosen is None else here & chosen
        rows = self.rows[here]
        return score(self.decisions[layer, here], self.level.unit[rows], self.level.gold, self.level.word)


def score_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """A row for each layer and side: means over the starts, their deviation, and an interval over words."""
    first = outcomes[0]
    rows = []
    for side in (DEV, TEST):
        for place, layer in enumerate(first.layers):
            scores = [one.score(place, side) for one in outcomes]
            mean = mean_score(scores)
            low, high = mean.interval()
            f1, recall = np.array([one.f1 for one in scores]), np.array([one.recall for one in scores])
            rows.append(
                names_of(first, layer)
                | {
                    "side": SIDES[side],
                    "f1": float(f1.mean()),
                    "f1_std": deviation(f1),
                    "low": low,
                    "high": high,
                    "precision": mean.precision,
                    "recall": float(recall.mean()),
                    "recall_std": deviation(recall),
                    "units": mean.units,
                    "starts": len(scores),
                }
            )
    return rows


def deviation(values: NDArray[np.float64]) -> float:
    """Standard deviation over starts; NaN for one start, which has none."""
    return float(values.std(ddof=1)) if len(values) > 1 else float("nan")


def names_of(outcome: Outcome, layer: str) -> Row:
    return {
        "space": outcome.space,
        "level": outcome.level.name,
        "probe": outcome.probe,
        "context": outcome.context,
        "layer": layer,
    }


def class_rows(outcomes: Sequence[Outcome], classes: Sequence[str]) -> list[Row]:
    """Precision, recall and F1 of each class on the test side."""
    rows = []
    for place, layer in enumerate(outcomes[0].layers):
        mean = mean_score([one.score(place, TEST) for one in outcomes])
        for at, name in enumerate(classes):
            tp, fp, fn = mean.tp[at], mean.fp[at], mean.fn[at]
            rows.append(
                names_of(outcomes[0], layer)
                | {
                    "class": name,
                    "units": float(tp + fn),
                    "precision": float(tp / (tp + fp)) if tp + fp else float("nan"),
                    "recall": float(tp / (tp + fn)) if tp + fn else float("nan"),
                    "f1": float(f1_of(tp, fp, fn)),
                }
            )
    return rows


def curve_rows(outcomes: Sequence[Outcome]) -> list[Row]:
    """Loss and F1 by epoch."""
    rows = []
    for one in outcomes:
        for place, layer in enumerate(one.layers):
            columns = {name: values[place] for name, values in one.curves.items()}
            for epoch, cells in enumerate(zip(*columns.values(), strict=True), 1):
                if np.isfinite(cells).all():
                    named = dict(zip(columns, map(float, cells), strict=True))
                    rows.append(names_of(one, layer) | {"seed": one.seed, "epoch": epoch} | named)
    return rows


def data_rows(labelled: Labelled, sides: Sides) -> list[Row]:
    """Words, combinations and contexts by class and side, and the share of contexts that a classifier should accept."""
    rows = []
    for side, name in enumerate(SIDES):
        here = sides == side
        for at, kind in enumerate([*labelled.classes, "total"]):
            own = here if kind == "total" else here & (labelled.kind == at)
            rows.append(
                {
                    "side": name,
                    "class": kind,
                    "words": len(np.unique(labelled.word[own])),
                    "combinations": len(np.unique(labelled.combination[own])),
                    "contexts": int(own.sum()),
                    "share": float(own.sum() / max(here.sum(), 1)),
                }
            )
    return rows


def piece_rows(outcomes: Sequence[Outcome], features: Features) -> list[Row]:
    """F1 on the test side by number of pieces; a combination is counted where most of its contexts are."""
    first = outcomes[0]
    of_unit = np.zeros(len(first.level.gold))
    count = np.bincount(first.level.unit, minlength=len(of_unit))
    np.add.at(of_unit, first.level.unit, features.pieces)
    group = np.minimum(np.rint(of_unit / np.maximum(count, 1)), MANY_PIECES).astype(np.int64)
    names = [f"{number}" if number < MANY_PIECES else f"{number} or more" for number in range(MANY_PIECES + 1)]
    chosen = {names[number]: group[first.level.unit[first.rows]] == number for number in range(1, MANY_PIECES + 1)}
    return grouped_rows(outcomes, "pieces", chosen)


def confidence_rows(outcomes: Sequence[Outcome], around: Sequence[Outcome]) -> list[Row]:
    """F1 on the test side by quarter of the contexts of each class, as surely as the words around tell it.

    Contexts that tell little are the paper's second kind of failure.
    """
    quarter = quarters(around)
    return grouped_rows(outcomes, "quarter", {str(number): quarter == number for number in range(1, 5)})


def quarters(around: Sequence[Outcome]) -> Ints:
    """(n,) the quarter of each row among the test rows of its class, by the margin of that class; 1 is the least sure.

    Within each class, since of a frequent one any probe is surer; 0 for classes that no test row has.
    """
    first = around[0]
    sure = np.mean([one.own[0].astype(np.float64) for one in around], axis=0)
    kind, test = first.level.targets[first.rows].argmax(1), first.level.sides[first.rows] == TEST
    found = np.zeros(len(kind), dtype=np.int64)
    for own in np.unique(kind[test]):
        here = kind == own
        found[here] = np.searchsorted(np.quantile(sure[here & test], [0.25, 0.5, 0.75]), sure[here]) + 1
    return found


def grouped_rows(outcomes: Sequence[Outcome], name: str, chosen: Mapping[str, NDArray[np.bool_]]) -> list[Row]:
    rows = []
    for place, layer in enumerate(outcomes[0].layers):
        for group, own in chosen.items():
            mean = mean_score([one.score(place, TEST, own) for one in outcomes])
            low, high = f1_interval(mean.by_word)
            cells = {name: group, "f1": mean.f1, "low": low, "high": high, "recall": mean.recall, "units": mean.units}
            rows.append(names_of(outcomes[0], layer) | cells)
    return rows


def flipped(less: Outcome, more: Outcome) -> tuple[Ints, Bools, Bools]:
    """Rows of the test side that have a vector in both contexts, and whether each is right (layers, n) in either."""
    rows, before, after = np.intersect1d(less.rows, more.rows, assume_unique=True, return_indices=True)
    test = less.level.sides[rows] == TEST
    return rows[test], less.own[:, before[test]] > 0, more.own[:, after[test]] > 0


def flip_rows(less: Outcome, more: Outcome) -> list[Row]:
    """How many test contexts more context puts right, and how many it puts wrong, by the classifier of their class."""
    rows, before, after = flipped(less, more)
    return [
        {
            "probe": less.probe,
            "layer": layer,
            "from": less.context,
            "to": more.context,
            "contexts": len(rows),
            "put_right": int((~before[place] & after[place]).sum()),
            "put_wrong": int((before[place] & ~after[place]).sum()),
        }
        for place, layer in enumerate(less.layers)
    ]


def flip_examples(less: Outcome, more: Outcome, labelled: Labelled) -> list[Row]:
    """Test contexts that flip at the highest layer, chosen by hash."""
    rows, before, after = flipped(less, more)
    changed = np.flatnonzero(before[-1] != after[-1])
    kept = changed[np.argsort(hash_ids(rows[changed]), kind="stable")[:EXAMPLES]]
    return [
        {
            "probe": less.probe,
            "layer": less.layers[-1],
            "from": less.context,
            "to": more.context,
            "word": labelled.words[int(labelled.word[rows[at]])],
            "class": labelled.classes[int(labelled.kind[rows[at]])],
            "now": "right" if after[-1, at] else "wrong",
            "text": labelled.text_of(int(rows[at])),
        }
        for at in kept.tolist()
    ]


def selectivity_rows(outcomes: Sequence[Outcome], control: Sequence[Outcome]) -> list[Row]:
    """F1 beside that of random labels, on words that were not trained on and on those that were."""
    rows = []
    for place, layer in enumerate(outcomes[0].layers):
        real = float(np.mean([one.score(place, TEST).f1 for one in outcomes]))
        random = float(np.mean([one.score(place, TEST).f1 for one in control]))
        rows.append(
            {
                "probe": outcomes[0].probe,
                "layer": layer,
                "f1": real,
                "control_f1": random,
                "selectivity": real - random,
                "control_f1_train": float(np.mean([one.known[place] for one in control])),
            }
        )
    return rows
