"""Classification by small networks on vectors of texts or words: tasks as data, training, scores with intervals."""

from limbeck.evaluation.classifying.catalogue import classify_tasks
from limbeck.evaluation.classifying.convolution import convolve
from limbeck.evaluation.classifying.result import Classified, classify_table, epoch_table
from limbeck.evaluation.classifying.run import classify, published_repairs
from limbeck.evaluation.classifying.task import ClassifyFile, ClassifySet, ClassifyTask, Examples

__all__ = [
    "Classified",
    "ClassifyFile",
    "ClassifySet",
    "ClassifyTask",
    "Examples",
    "classify",
    "classify_table",
    "classify_tasks",
    "convolve",
    "epoch_table",
    "published_repairs",
]
