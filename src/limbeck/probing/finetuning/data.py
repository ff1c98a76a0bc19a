"""Tasks to fine-tune on, as sentences with tagged words or as texts with a class, in three parts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Sentence
from limbeck.errors import InputError, UsageError, choose
from limbeck.evaluation.classifying.catalogue import classify_tasks
from limbeck.evaluation.classifying.task import Examples
from limbeck.probing.finetuning import tags
from limbeck.probing.finetuning.settings import Column, known_tasks
from limbeck.seeds import generator_for
from limbeck.state import digest_of

Level = Literal["word", "sentence"]
HELD_OUT = 0.1  #: of the training set, where a task has no development set
NO_CLASS = -1  #: of a word without a tag
COLUMNS = get_args(Column)


@dataclass(frozen=True)
class Part:
    """Sentences with tagged words, or texts with a class each: the other one is empty.

    tags  for each sentence the class number of each word, NO_CLASS where it has none
    """

    sentences: Sequence[Sentence] = ()
    tags: Sequence[NDArray[np.int64]] = ()
    examples: Examples | None = None

    def __len__(self) -> int:
        return len(self.sentences) if self.examples is None else len(self.examples)

    def some(self, rows: NDArray[np.int64]) -> Part:
        if self.examples is not None:
            return Part(examples=self.examples[rows])
        chosen = rows.tolist()
        return Part([self.sentences[row] for row in chosen], [self.tags[row] for row in chosen])

    def texts(self, most: int) -> list[str]:
        """The first texts as strings; of pairs the first sides."""
        if self.examples is not None:
            return list(self.examples.texts[0][:most])
        from limbeck.corpus.units import Text

        return [Text((sentence,)).layout()[0] for sentence in self.sentences[:most]]


@dataclass(frozen=True)
class TaskData:
    """A task: its classes, and examples to train on, to choose the best step by ("dev") and to report ("test").

    unknown  classes that the training part has not, numbered after the others: never predicted, so counted as wrong
    """

    name: str
    level: Level
    classes: tuple[str, ...]
    parts: Mapping[str, Part]
    unknown: tuple[str, ...] = ()
    metric: str = "accuracy"
    notes: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Changes with the examples, their order, their labels and the classes."""
        arrays: dict[str, NDArray[Any]] = {}
        told: list[Any] = [self.level, self.classes, self.unknown, self.metric]
        for name, part in self.parts.items():
            told.append([name, [[one.words, sorted(one.glued)] for one in part.sentences]])
            arrays |= {f"{name} {row}": tags for row, tags in enumerate(part.tags)}
            if part.examples is not None:
                told.append([list(side) for side in part.examples.texts])
                arrays[f"{name} labels"] = part.examples.labels
                if part.examples.places is not None:
                    arrays[f"{name} places"] = part.examples.places
        return digest_of(arrays, json.dumps(told))

    def limited(self, *, most: int | None, most_dev: int | None, seed: int) -> TaskData:
        """The same with at most so many training and development examples, drawn by seed."""
        parts = dict(self.parts)
        for name, limit in (("train", most), ("dev", most_dev)):
            if limit is not None and limit < len(parts[name]):
                rows = generator_for(seed, "finetune", "limit", name).choice(len(parts[name]), limit, replace=False)
                parts[name] = parts[name].some(np.sort(rows))
        return replace(self, parts=parts)


def name_of(task: str) -> str:
    """The name as limbeck writes it: sst2 is sst-2."""
    same = {name.replace("-", ""): name for name in known_tasks()}
    return same.get(task.lower().replace("-", ""), "") or choose(task, known_tasks(), what="a task")


def read_task(task: str, data: str | Path, *, column: str = "upos", seed: int = 0) -> TaskData:
    """Read a task whose files lie anywhere under the folder `data`.

    task    "pos": a column of CoNLL-U files (see `COLUMNS`); "ner": a word and its IOB tag a line; else the name of a
            classification task that limbeck knows
    column  what "pos" learns: "upos" (universal tags), "xpos" (the treebank's own) or "deprel"

    A task without development examples lends a tenth of its training examples, drawn by seed.
    """
    task = name_of(task)
    choose(column, COLUMNS, what="--column")
    if task == "pos":
        files = tags.find_files(data, tags.CONLLU, task=task, example="en_ewt-ud-train.conllu")
        return tagged("pos", {split: tags.read_columns(path, column) for split, path in files.items()}, files=files)
    if column != COLUMNS[0]:
        raise UsageError(
            f"--column applies only to --task=pos, got {column} for {task}: omit it.",
            code="no_effect",
            parameter="column",
        )
    if task == "ner":
        files = tags.find_files(data, tags.CONLL, task=task, example="wnut17train.conll")
        read = {split: tags.read_tagged(path) for split, path in files.items()}
        return tagged("ner", read, files=files, metric="f1")
    return _classified(task, data, seed=seed)


def tagged(
    name: str,
    sentences: Mapping[str, Sequence[Sentence]],
    *,
    files: Mapping[str, Path] | None = None,
    metric: str = "accuracy",
) -> TaskData:
    """A task of tagged words; the classes are the tags of the training part."""
    seen = {split: {tag for sentence in part for tag in _tags_of(sentence)} for split, part in sentences.items()}
    classes = tuple(sorted(seen["train"]))
    if len(classes) < 2:
        raise InputError(
            f"{name}: tags of at least two kinds are needed to learn from, got {len(classes)}: give more.",
            code="too_few",
        )
    unknown = tuple(sorted(set().union(*seen.values()) - seen["train"]))
    notes = [
        f"{split} has tags that the training set has not, which count as wrong: {', '.join(sorted(some))}"
        for split, own in seen.items()
        if (some := own - seen["train"])
    ]
    numbers = {label: number for number, label in enumerate((*classes, *unknown))}
    parts = {}
    for split, part in sentences.items():
        gold = [np.full(len(sentence.words), NO_CLASS, dtype=np.int64) for sentence in part]
        for sentence, numbered in zip(part, gold, strict=True):
            for at, label in sentence.labels.items():
                numbered[at] = numbers[label[tags.TAG]]
        parts[split] = Part(part, gold)
    names = {split: path.name for split, path in (files or {}).items()}
    return TaskData(name, "word", classes, parts, unknown, metric=metric, notes=tuple(notes), files=names)


def _tags_of(sentence: Sentence) -> list[str]:
    return [label[tags.TAG] for label in sentence.labels.values()]


def _classified(task: str, data: str | Path, *, seed: int) -> TaskData:
    known = classify_tasks(data, task)[task]
    found = known.read("test" if "test" in known.splits else None, seed=seed)
    train, dev, notes = found.train, found.dev, list(found.notes)
    if dev is None:
        order = generator_for(seed, "finetune", "held out").permutation(len(train))
        count = max(1, round(HELD_OUT * len(train)))
        train, dev = train[np.sort(order[count:])], train[np.sort(order[:count])]
        notes.append(f"it has no development set beside the reported one: {count} training examples are held out")
    if found.reported != "test":
        notes.append(f"what is reported as test is its {found.reported} set")
    parts = {"train": Part(examples=train), "dev": Part(examples=dev), "test": Part(examples=found.test)}
    files = {
        f"{file.split}{f' {file.label}' if file.label else ''}": file.path.name
        for file in known.files
    }  # fmt: skip
    return TaskData(task, "sentence", found.classes, parts, notes=tuple(notes), files=files)
