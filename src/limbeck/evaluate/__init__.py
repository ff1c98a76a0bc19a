"""Evaluation on what people said: word similarity and sentence similarity, with intervals and significance.

found = limbeck.evaluate.tasks("data")
score = limbeck.evaluate.evaluate(found["simlex-999"], vectors)

Names that need torch load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limbeck.evaluate.catalogue import tasks
from limbeck.evaluate.classifying import (
    Classified,
    ClassifySet,
    ClassifyTask,
    Examples,
    classify,
    classify_table,
    classify_tasks,
    convolve,
    epoch_table,
    published_repairs,
)
from limbeck.evaluate.correlation import correlation, cosines
from limbeck.evaluate.evaluation import compare, compare_all, evaluate
from limbeck.evaluate.item_score import ItemScore, compare_items
from limbeck.evaluate.mean_score import FIVE, MeanScore, compare_means, mean_score
from limbeck.evaluate.score import Estimate, Score, table
from limbeck.evaluate.significance import (
    Comparison,
    bootstrap_interval,
    fisher_interval,
    holm,
    paired_bootstrap,
    paired_permutation,
)
from limbeck.evaluate.sts import sentence_similarities
from limbeck.evaluate.task import File, Pairs, Task
from limbeck.evaluate.word_task import Categories, Questions, Relation, Relations, WordTask, word_tasks
from limbeck.evaluate.wordsim import word_similarities

if TYPE_CHECKING:
    from limbeck.evaluate.enhanced import enhancement, enhancement_table
    from limbeck.evaluate.sweeping import sweep
    from limbeck.evaluate.targets import ModelTarget, TableTarget
    from limbeck.evaluate.tuning import Tuning, tune
    from limbeck.evaluate.word_suite import evaluate_words

#: public name -> module
_LATER = {
    "ModelTarget": "targets",
    "TableTarget": "targets",
    "Tuning": "tuning",
    "enhancement": "enhanced",
    "enhancement_table": "enhanced",
    "evaluate_words": "word_suite",
    "sweep": "sweeping",
    "tune": "tuning",
}

__all__ = [
    "FIVE",
    "Categories",
    "Classified",
    "ClassifySet",
    "ClassifyTask",
    "Comparison",
    "Estimate",
    "Examples",
    "File",
    "ItemScore",
    "MeanScore",
    "ModelTarget",
    "Pairs",
    "Questions",
    "Relation",
    "Relations",
    "Score",
    "TableTarget",
    "Task",
    "Tuning",
    "WordTask",
    "bootstrap_interval",
    "classify",
    "classify_table",
    "classify_tasks",
    "compare",
    "compare_all",
    "compare_items",
    "compare_means",
    "convolve",
    "correlation",
    "cosines",
    "enhancement",
    "enhancement_table",
    "epoch_table",
    "evaluate",
    "evaluate_words",
    "fisher_interval",
    "holm",
    "mean_score",
    "paired_bootstrap",
    "paired_permutation",
    "published_repairs",
    "sentence_similarities",
    "sweep",
    "table",
    "tasks",
    "tune",
    "word_similarities",
    "word_tasks",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'limbeck.evaluate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"limbeck.evaluate.{_LATER[name]}"), name)
