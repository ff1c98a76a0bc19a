"""Means over the tasks of a kind, and which tasks are no part of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from limbeck.evaluation.catalogue import load_table
from limbeck.evaluation.means import FEWEST
from limbeck.evaluation.word_task import load_word_table

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scored, Suite

    Columns = Sequence[tuple[Suite, Sequence[Scored]]]

Key = tuple[str, str, str]  # kind, metric, target


def averages(scores: Columns) -> dict[Key, tuple[float, int]]:
    """The mean over a kind's tasks of one metric, where there are several: {(kind, metric, target): (mean, tasks)}."""
    left_out = {task for task, _ in out_of_means(scores)}
    values: dict[Key, list[float]] = {}
    for suite, columns in scores:
        for score in columns:
            if score.task not in left_out:
                values.setdefault((suite.group, score.metric, score.target), []).append(score.value)
    return {key: (sum(found) / len(found), len(found)) for key, found in values.items() if len(found) > 1}


def out_of_means(scores: Columns) -> list[tuple[str, str]]:
    """Tasks that no mean over several is made of, and why: (task, reason).

    Those of which a target has too little, for all targets, so that their means are over the same tasks; and those
    whose pairs another task has that is there too, which would count twice.
    """
    several = {score.task for _, columns in scores for score in columns}
    wholes = {name: layouts[0].part_of for name, layouts in load_table().items()}
    wholes |= {name: layouts[0].part_of for name, layouts in load_word_table().items()}
    found = []
    for suite, columns in scores:
        alone = {score.task for other, others in scores if other.group == suite.group for score in others}
        if not columns or len(alone) < 2:
            continue
        task = columns[0].task
        few = [f"{score.target} {score.n}" for score in columns if score.n < FEWEST]
        if few:
            found.append((task, f"fewer than {FEWEST} of its items are scored ({', '.join(few)})"))
        elif wholes.get(task) in several:
            found.append((task, f"its pairs are those of {wholes[task]}, which counts once"))
    return found
