"""Evaluation on what people said: word similarity and sentence similarity, with intervals and significance.

found = limbeck.evaluation.tasks("data")
score = limbeck.evaluation.evaluate(found["simlex-999"], vectors)

Names that need torch load on first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from limbeck.evaluation.catalogue import tasks
from limbeck.evaluation.classifying import (
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
from limbeck.evaluation.correlation import correlation, cosines
from limbeck.evaluation.evaluation import compare, compare_all, evaluate
from limbeck.evaluation.item_score import ItemScore, compare_items
from limbeck.evaluation.mean_score import FIVE, MeanScore, compare_means, mean_score
from limbeck.evaluation.score import Estimate, Score, table
from limbeck.evaluation.significance import (
    Comparison,
    bootstrap_interval,
    fisher_interval,
    holm,
    paired_bootstrap,
    paired_permutation,
)
from limbeck.evaluation.sts import sentence_similarities
from limbeck.evaluation.task import File, Pairs, Task
from limbeck.evaluation.word_task import Categories, Questions, Relation, Relations, WordTask, word_tasks
from limbeck.evaluation.wordsim import word_similarities

if TYPE_CHECKING:
    from limbeck.evaluation.enhanced import enhancement, enhancement_table
    from limbeck.evaluation.sweeping import sweep
    from limbeck.evaluation.targets import ModelTarget, TableTarget
    from limbeck.evaluation.tuning import Tuning, tune
    from limbeck.evaluation.word_suite import evaluate_words

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
        raise AttributeError(f"module 'limbeck.evaluation' has no attribute {name!r}")
    return getattr(importlib.import_module(f"limbeck.evaluation.{_LATER[name]}"), name)
