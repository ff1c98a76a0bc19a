"""Evaluation on what people said: word similarity and sentence similarity, with intervals and significance.

found = limbeck.evaluate.tasks("data")
score = limbeck.evaluate.evaluate(found["simlex-999"], vectors)
"""

from limbeck.evaluate.catalogue import tasks
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

__all__ = [
    "Comparison",
    "Estimate",
    "File",
    "Pairs",
    "Score",
    "Task",
    "bootstrap_interval",
    "compare",
    "compare_all",
    "correlation",
    "cosines",
    "evaluate",
    "fisher_interval",
    "holm",
    "paired_bootstrap",
    "paired_permutation",
    "sentence_similarities",
    "table",
    "tasks",
    "word_similarities",
]
