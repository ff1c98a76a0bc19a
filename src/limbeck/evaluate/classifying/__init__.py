"""Classification by a small network on frozen vectors: tasks as data, features, training, scores with intervals."""

from limbeck.evaluate.classifying.catalogue import classify_tasks
from limbeck.evaluate.classifying.result import Classified, classify_table, epoch_table
from limbeck.evaluate.classifying.run import classify, published_repairs
from limbeck.evaluate.classifying.task import ClassifyFile, ClassifySet, ClassifyTask, Examples

__all__ = [
    "Classified",
    "ClassifyFile",
    "ClassifySet",
    "ClassifyTask",
    "Examples",
    "classify",
    "classify_table",
    "classify_tasks",
    "epoch_table",
    "published_repairs",
]
