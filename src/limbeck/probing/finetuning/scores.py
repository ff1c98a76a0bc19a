"""Scores of a fine-tuned network's predictions: accuracy, macro-F1, and F1 of entities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.probing.finetuning.data import NO_CLASS, Part, TaskData
from limbeck.probing.finetuning.entities import count_entities
from limbeck.probing.finetuning.pieces import Places
from limbeck.probing.finetuning.tags import OUTSIDE

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Scores:
    """What a part of a task was predicted to be.

    values   name -> score: accuracy; macro_f1, over the classes that occur as true or predicted ones; of entities
             precision, recall and f1 besides
    classes  columns of a table by class, or by type of entity: class, n, predicted, precision, recall, f1
    """

    values: dict[str, float]
    classes: dict[str, list[Any]]


def score_part(data: TaskData, part: Part, places: Places, predicted: Ints) -> Scores:
    """Scores of a part from the class predicted at each place; a word that has no place is predicted wrongly."""
    names = (*data.classes, *data.unknown)
    gold, said = paired(part, places, predicted, classes=len(names))
    by_class = _by_class(gold, said, names)
    met = [f1 for f1, n, told in zip(by_class["f1"], by_class["n"], by_class["predicted"], strict=True) if n + told]
    values = {"accuracy": float((gold == said).mean()), "macro_f1": float(np.mean(met))}
    if data.metric != "f1":
        return Scores(values, by_class)
    told = [np.full(len(own), NO_CLASS) for own in part.tags]  # what has no place is no entity
    for example, position, number in zip(places.example, places.position, predicted, strict=True):
        told[example][position] = number
    found = count_entities(_tags(part.tags, names), _tags(told, names))
    all_of_them = found.pop("")
    values |= {"precision": all_of_them.precision, "recall": all_of_them.recall, "f1": all_of_them.f1}
    return Scores(
        values,
        {
            "class": list(found),
            "n": [one.true for one in found.values()],
            "predicted": [one.predicted for one in found.values()],
            "precision": [one.precision for one in found.values()],
            "recall": [one.recall for one in found.values()],
            "f1": [one.f1 for one in found.values()],
        },
    )


def paired(part: Part, places: Places, predicted: Ints, *, classes: int) -> tuple[Ints, Ints]:
    """True and predicted classes of all that has a class; `classes`, a number of none, where nothing was predicted."""
    if part.examples is not None:
        return places.label, predicted
    lengths = np.array([len(own) for own in part.tags])
    gold = np.concatenate([np.asarray(own) for own in part.tags])
    said = np.full(len(gold), classes, dtype=np.int64)
    said[(np.cumsum(lengths) - lengths)[places.example] + places.position] = predicted
    there = gold != NO_CLASS
    return gold[there], said[there]


def majority(data: TaskData, part: str = "dev") -> float:
    """Accuracy of the class that is most frequent in training."""
    labels = {name: _labels(own) for name, own in data.parts.items()}
    return float((labels[part] == np.bincount(labels["train"]).argmax()).mean())


def _labels(part: Part) -> Ints:
    if part.examples is not None:
        return part.examples.labels
    gold = np.concatenate([np.asarray(own) for own in part.tags])
    return np.asarray(gold[gold != NO_CLASS])


def _tags(numbers: Sequence[Ints], names: Sequence[str]) -> list[list[str]]:
    return [[OUTSIDE if number == NO_CLASS else names[number] for number in own] for own in numbers]


def _by_class(gold: Ints, said: Ints, names: tuple[str, ...]) -> dict[str, list[Any]]:
    n, predicted, right = (
        np.bincount(some, minlength=len(names))[: len(names)] for some in (gold, said, gold[gold == said])
    )
    return {
        "class": list(names),
        "n": n.tolist(),
        "predicted": predicted.tolist(),
        "precision": (right / np.maximum(predicted, 1)).tolist(),
        "recall": (right / np.maximum(n, 1)).tolist(),
        "f1": (2 * right / np.maximum(n + predicted, 1)).tolist(),
    }
