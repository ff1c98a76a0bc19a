"""Evaluation on what people said: word similarity and sentence similarity, with intervals and significance.

found = limbeck.evaluation.tasks("data")
score = limbeck.evaluation.evaluate(found["simlex-999"], vectors)

Names load on first use, so that the settings of an evaluation need neither numpy nor torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from limbeck.lazy import lazy

if TYPE_CHECKING:
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
    from limbeck.evaluation.correlations import correlation, cosines
    from limbeck.evaluation.enhanced import enhancement, enhancement_table
    from limbeck.evaluation.evaluation import compare, compare_all, evaluate
    from limbeck.evaluation.item_score import ItemScore, compare_items
    from limbeck.evaluation.means import FIVE, MeanScore, compare_means, mean_score
    from limbeck.evaluation.score import Estimate, Score, table
    from limbeck.evaluation.settings import EvaluationSettings, ScoreSettings, TuningSettings
    from limbeck.evaluation.significance import (
        Comparison,
        bootstrap_interval,
        fisher_interval,
        holm,
        paired_bootstrap,
        paired_permutation,
    )
    from limbeck.evaluation.sts import sentence_similarities
    from limbeck.evaluation.sweeping import sweep
    from limbeck.evaluation.targets import ModelTarget, TableTarget
    from limbeck.evaluation.task import File, Pairs, Task
    from limbeck.evaluation.tuning import Tuning, tune
    from limbeck.evaluation.word_suite import evaluate_words
    from limbeck.evaluation.word_task import Categories, Questions, Relation, Relations, WordTask, word_tasks
    from limbeck.evaluation.wordsim import word_similarities
else:
    __getattr__, __dir__ = lazy(
        __name__,
        {
            "catalogue": "tasks",
            "classifying": "Classified ClassifySet ClassifyTask Examples classify classify_table classify_tasks "
            "convolve epoch_table published_repairs",
            "correlations": "correlation cosines",
            "enhanced": "enhancement enhancement_table",
            "evaluation": "compare compare_all evaluate",
            "item_score": "ItemScore compare_items",
            "means": "FIVE MeanScore compare_means mean_score",
            "score": "Estimate Score table",
            "settings": "EvaluationSettings ScoreSettings TuningSettings",
            "significance": "Comparison bootstrap_interval fisher_interval holm paired_bootstrap paired_permutation",
            "sts": "sentence_similarities",
            "sweeping": "sweep",
            "targets": "ModelTarget TableTarget",
            "task": "File Pairs Task",
            "tuning": "Tuning tune",
            "word_suite": "evaluate_words",
            "word_task": "Categories Questions Relation Relations WordTask word_tasks",
            "wordsim": "word_similarities",
        },
    )

__all__ = [
    "FIVE",
    "Categories",
    "Classified",
    "ClassifySet",
    "ClassifyTask",
    "Comparison",
    "Estimate",
    "EvaluationSettings",
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
    "ScoreSettings",
    "TableTarget",
    "Task",
    "Tuning",
    "TuningSettings",
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
