"""Small tasks that a tiny model can learn, and tiny models."""

from __future__ import annotations

import copy

import numpy as np
import tiny_models

from limbeck.corpus.units import Sentence
from limbeck.encoders.loading import Parts
from limbeck.evaluation.classifying.task import Examples
from limbeck.probing.finetuning.data import Part, TaskData, tagged
from limbeck.probing.finetuning.tags import TAG

NOUNS, VERBS = ("river", "water", "boat", "bank"), ("rose", "fell", "ran", "went")


def parts(family: str = "bert") -> Parts:
    """A tiny model that a test may change."""
    kind = tiny_models.FAMILIES[family]
    return Parts(copy.deepcopy(tiny_models.model(family)), tiny_models.tokenizer(kind), f"tiny-{family}")


def sentence(words: str, tags: str, index: int = 0) -> Sentence:
    found = tags.split()
    return Sentence(tuple(words.split()), index=index, labels={at: {TAG: tag} for at, tag in enumerate(found)})


def tagging(count: int = 24, seed: int = 0) -> TaskData:
    """The river rose: what a word is can be told from the word."""
    draws = np.random.default_rng(seed)

    def some(number: int) -> list[Sentence]:
        return [
            sentence(f"the {draws.choice(NOUNS)} {draws.choice(VERBS)} .", "DET NOUN VERB PUNCT", index)
            for index in range(number)
        ]

    return tagged("pos", {"train": some(count), "dev": some(8), "test": some(8)})


def classes(count: int = 24, *, pair: bool = False, seed: int = 0) -> TaskData:
    """Whether a text has a noun or a verb in it; of pairs, whether both have the same."""
    draws = np.random.default_rng(seed)

    def some(number: int) -> Part:
        labels = draws.integers(2, size=number)
        first = [str(draws.choice(VERBS if label and not pair else NOUNS)) for label in labels]
        if not pair:
            return Part(examples=Examples(([f"the {word} in the" for word in first],), labels))
        second = [str(draws.choice(NOUNS if label else VERBS)) for label in labels]
        return Part(examples=Examples((first, [f"the {word}" for word in second]), labels))

    return TaskData("made", "sentence", ("0", "1"), {"train": some(count), "dev": some(10), "test": some(10)})
