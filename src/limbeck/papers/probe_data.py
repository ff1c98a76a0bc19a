"""The labelled words and the tasks that the claims of Zhao et al. (2020) need; of what is not there, which files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.corpus import Corpus
from limbeck.errors import InputError
from limbeck.papers.text import default_corpus
from limbeck.probing.finetuning.data import TaskData, read_task
from limbeck.probing.labelled import TOO_FEW, Labelled, read_labelled
from limbeck.probing.settings import LabelSettings
from limbeck.probing.splits import Sides, with_sides
from limbeck.runs.execution.sources import open_corpus
from limbeck.seeds import hash_text

#: parts of SemCor in which all content words have a sense; the third has verbs alone
SEMCOR_PARTS = ("brown1", "brown2")
SEMCOR_CLASSES = ("noun.*",)  #: the paper's classes are of nouns
SEMCOR_WORDS, FEW_WORDS = 150, 5  #: that a class must have, of SemCor's nouns and of other data
OVER_CAP = "of words beyond the combinations asked for"


@dataclass(frozen=True)
class Words:
    """Labelled words, read once for all models.

    corpus        files, folders or the sample
    text          options of `open_corpus`
    classes       names or patterns; none: all
    lists         {"train": words, "test": words}, where the split is by lists, as WIKI-PSE's is
    combinations  at most so many, whole words by hash; None: all
    """

    corpus: Sequence[str]
    text: Mapping[str, Any]
    name: str
    classes: tuple[str, ...] = ()
    lists: Mapping[str, Sequence[str]] | None = None
    combinations: int | None = None
    contexts: int = 100
    min_words: int = 10
    seed: int = 0

    @cached_property
    def described(self) -> dict[str, Any]:
        return self._text.describe()

    @cached_property
    def _text(self) -> Corpus:
        return open_corpus(list(self.corpus), **self.text)

    @property
    def labelled(self) -> Labelled:
        return self._both[0]

    @property
    def sides(self) -> Sides:
        return self._both[1]

    @cached_property
    def _both(self) -> tuple[Labelled, Sides]:
        asked = LabelSettings(
            classes=self.classes, max_contexts=self.contexts, min_words=self.min_words, seed=self.seed
        )
        found, sides = with_sides(read_labelled(self._text, asked), asked, lists=self.lists)
        if self.combinations is None:
            return found, sides
        found = fewer_words(found, self.combinations, min_words=self.min_words, seed=self.seed)
        return with_sides(found, asked, lists=self.lists)


def find_words(corpus: Sequence[str] | None, data: Path | None) -> tuple[list[str], str, tuple[str, ...], int]:
    """What is probed for: the labelled text that was named, else SemCor's nouns, else the sample.

    Paths, what pages call it, and unless others are asked for the classes to read and the words that each must have.
    """
    if corpus:
        return list(corpus), ", ".join(Path(path).name for path in corpus), (), FEW_WORDS
    if semcor := semcor_in(data):
        return [f"{semcor}/{part}" for part in SEMCOR_PARTS], "SemCor", SEMCOR_CLASSES, SEMCOR_WORDS
    return [str(default_corpus())], "the sample corpus", (), FEW_WORDS


def semcor_in(data: Path | None) -> str:
    """Where SemCor's archive lies under a folder; "" where it does not."""
    if data is None:
        return ""
    if not data.is_dir():
        raise InputError(
            f"{data}: --data must be a folder with the tasks' files, there is none: check the path.",
            code="not_found",
            parameter="data",
        )
    found = sorted(path for path in data.rglob("*.tar*") if path.name.lower().startswith("semcor"))
    return str(found[0]) if found else ""


def find_tasks(data: Path | None, names: Sequence[str], *, seed: int) -> tuple[dict[str, TaskData], dict[str, str]]:
    """The tasks whose files lie under a folder, without their test parts, and why the others are not there."""
    tasks, missing = {}, {}
    for name in names:
        if data is None:
            missing[name] = f"needs the files of {name}: give the folder to --data"
            continue
        try:
            task = read_task(name, data, seed=seed)
        except InputError as error:
            missing[name] = str(error).strip().rstrip(".")
            continue
        # the paper tells development scores; a test part would be scored in vain
        tasks[name] = replace(task, parts={part: task.parts[part] for part in ("train", "dev")})
    return tasks, missing


def fewer_words(labelled: Labelled, most: int, *, min_words: int, seed: int = 0) -> Labelled:
    """At most so many combinations, by whole words in the order of their hashes, so that all classes of a word stay.

    Classes that then have fewer than `min_words` words are left out.
    """
    pairs = np.unique(np.stack([labelled.word, labelled.kind]), axis=1)
    count = np.bincount(pairs[0], minlength=len(labelled.words))
    hashes = np.array([hash_text(f"{seed}\x1fcombinations\x1f{word}") for word in labelled.words], dtype=np.uint64)
    order = np.argsort(hashes, kind="stable")
    kept = np.zeros(len(labelled.words), dtype=bool)
    kept[order[np.cumsum(count[order]) <= most]] = True
    words_of = np.bincount(pairs[1][kept[pairs[0]]], minlength=len(labelled.classes))
    enough = words_of >= min_words
    if not enough.any():
        raise InputError(
            f"a class needs at least {min_words} words to be probed, none has as many among {most:,} combinations: "
            "raise --max-combinations or lower --min-words.",
            code="too_few",
            parameter="min_words",
        )
    inside = kept[labelled.word]
    rows = np.flatnonzero(inside & enough[labelled.kind])
    few = int((inside & ~enough[labelled.kind]).sum())
    return labelled.only(rows, {OVER_CAP: int((~inside).sum()), TOO_FEW: few})
