"""Scores item by item, as a table of a run folder: what makes runs of different days comparable on the same items."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from limbeck.evaluation.item_score import ItemScore
from limbeck.evaluation.score import Score

#: columns of items.parquet
COLUMNS = ("task", "target", "metric", "aggregation", "subset", "item", "total", "value", "gold")


def items_table(scores: Iterable[Any]) -> dict[str, Any]:
    """A row for each item that a score was made of: a pair's cosine and gold score, or how a question came out.

    Scores of other kinds, means and classifications, have no row: they are made of scores, or of trained networks.
    """
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    for score in scores:
        if isinstance(score, Score):
            values, gold, subsets = score.similarity, score.gold, [str(name) for name in score.subset_of]
        elif isinstance(score, ItemScore):
            values, gold, subsets = score.outcomes, np.full(len(score.rows), np.nan), [""] * len(score.rows)
        else:
            continue
        n = len(score.rows)
        same = (score.task, score.target, score.metric, score.aggregation)
        for name, value in zip(COLUMNS, same, strict=False):
            columns[name] += [value] * n
        columns["subset"] += subsets
        columns["item"] += score.rows.tolist()
        columns["total"] += [score.total] * n
        columns["value"] += values.tolist()
        columns["gold"] += gold.tolist()
    return columns
