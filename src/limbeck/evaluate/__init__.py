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
    epoch_table,
    published_repairs,
)
from limbeck.evaluate.correlation import correlation, cosines
from limbeck.evaluate.evaluation import compare, compare_all, evaluate
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
from limbeck.evaluate.wordsim import word_similarities

if TYPE_CHECKING:
    from limbeck.evaluate.enhanced import enhancement, enhancement_table
    from limbeck.evaluate.sweeping import sweep
    from limbeck.evaluate.targets import ModelTarget, TableTarget
    from limbeck.evaluate.tuning import Tuning, tune

#: public name -> module
_LATER = {
    "ModelTarget": "targets",
    "TableTarget": "targets",
    "Tuning": "tuning",
    "enhancement": "enhanced",
    "enhancement_table": "enhanced",
    "sweep": "sweeping",
    "tune": "tuning",
}

__all__ = [
    "Classified",
    "ClassifySet",
    "ClassifyTask",
    "Comparison",
    "Estimate",
    "Examples",
    "File",
    "ModelTarget",
    "Pairs",
    "Score",
    "TableTarget",
    "Task",
    "Tuning",
    "bootstrap_interval",
    "classify",
    "classify_table",
    "classify_tasks",
    "compare",
    "compare_all",
    "correlation",
    "cosines",
    "enhancement",
    "enhancement_table",
    "epoch_table",
    "evaluate",
    "fisher_interval",
    "holm",
    "paired_bootstrap",
    "paired_permutation",
    "published_repairs",
    "sentence_similarities",
    "sweep",
    "table",
    "tasks",
    "tune",
    "word_similarities",
]


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'limbeck.evaluate' has no attribute {name!r}")
    return getattr(importlib.import_module(f"limbeck.evaluate.{_LATER[name]}"), name)
