"""What is probed: layers in context, bags of words around the word, and one vector a word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.probing.features import Features
from limbeck.probing.labelled import Labelled
from limbeck.probing.splits import Sides
from limbeck.seeds import generator_for
from limbeck.vectors import StaticVectors

Ints = NDArray[np.int64]
RANDOM_DIM = 300  #: as in Zhao et al. (2020)


@dataclass(frozen=True)
class Level:
    """Rows with their classes, and the units that decisions are counted by.

    name     "context": a row an occurrence, a unit a combination of word and class; "type": both a word
    targets  (n, classes) the classes of each row
    sides    (n,) the side of each row
    unit     (n,) the unit of each row
    gold     (units, classes) the classes of a unit
    word     (units,) the word of a unit
    """

    name: str
    targets: NDArray[np.bool_]
    sides: Sides
    unit: Ints
    gold: NDArray[np.bool_]
    word: Ints


@dataclass(frozen=True)
class Space:
    """Vectors of the rows of a level: `features` (rows, layers, d), of which each row has number `index`."""

    name: str
    level: Level
    layers: tuple[str, ...]
    features: NDArray[Any]
    index: Ints
    note: str = ""


def context_level(labelled: Labelled, sides: Sides) -> Level:
    targets = np.zeros((len(labelled), len(labelled.classes)), dtype=bool)
    targets[np.arange(len(labelled)), labelled.kind] = True
    units = int(labelled.combination.max()) + 1
    gold = np.zeros((units, len(labelled.classes)), dtype=bool)
    gold[labelled.combination, labelled.kind] = True
    word = np.zeros(units, dtype=np.int64)
    word[labelled.combination] = labelled.word
    return Level("context", targets, sides, labelled.combination, gold, word)


def type_level(labelled: Labelled, sides: Sides) -> Level:
    gold = np.zeros((len(labelled.words), len(labelled.classes)), dtype=bool)
    gold[labelled.word, labelled.kind] = True
    side = np.full(len(labelled.words), -1, dtype=np.int8)
    side[labelled.word] = sides  # one side a word: splits are checked
    number = np.arange(len(labelled.words), dtype=np.int64)
    return Level("type", gold, side, number, gold, number)


def in_context(features: Features, level: Level) -> Space:
    """The layers of the model, one vector an occurrence."""
    return Space("context", level, features.layers, features.vectors, features.index)


def averages(features: Features, labelled: Labelled, level: Level) -> Space:
    """One vector a word: the mean over its occurrences, of whatever class (AVG-BERT)."""
    count = np.bincount(labelled.word, minlength=len(labelled.words)).astype(np.float64)
    made = np.zeros((len(labelled.words), *features.vectors.shape[1:]), dtype=np.float32)
    order = np.argsort(labelled.word, kind="stable")  # a word's rows stand together: sums of runs
    for chunk in np.array_split(order, max(1, len(order) // 4096)):
        own = labelled.word[chunk]
        starts = np.flatnonzero(np.append(True, own[1:] != own[:-1]))
        made[own[starts]] += np.add.reduceat(np.asarray(features.vectors[features.index[chunk]]), starts, axis=0)
    made /= np.maximum(count, 1)[:, None, None].astype(np.float32)
    return Space("average", level, features.layers, made, level.unit)


def model_bag(features: Features, level: Level) -> Space | None:
    """P-model: the mean of the embedding table over all pieces of the text, the word's own among them."""
    if features.bag is None:
        return None
    return Space("P-model", level, (features.layers[0],), features.bag[:, None], features.texts.text)


def surroundings(features: Features, level: Level) -> Space | None:
    """P-around: P-model without the word's own pieces. Where nothing else is in the text, the empty bag is 0."""
    if features.bag is None:
        return None
    text, own = features.texts.target_text, features.weight
    others = features.in_bag[text] - own
    made = features.bag[text] * features.in_bag[text, None] - features.vectors[:, 0] * own[:, None]
    made = np.where(others[:, None] > 0, made / np.maximum(others, 1)[:, None], 0).astype(np.float32)
    return Space("P-around", level, (features.layers[0],), made[:, None], features.index)


def random_words(labelled: Labelled, level: Level, *, seed: int) -> Space:
    """A random vector a word."""
    made = np.stack([random_vector(word, RANDOM_DIM, seed=seed) for word in labelled.words])
    return Space("random", level, ("random",), made[:, None], level.unit)


def static_words(vectors: StaticVectors, labelled: Labelled, level: Level, *, seed: int) -> Space:
    """The vector of a static table; of several words ("took_place") the mean; a random one where it has none."""
    made = np.empty((len(labelled.words), vectors.dim), dtype=np.float32)
    unknown = 0
    for row, word in enumerate(labelled.words):
        found = looked_up(vectors, word)
        if found is None:
            parts = [one for part in word.split("_") if (one := looked_up(vectors, part)) is not None]
            found = np.mean(parts, axis=0) if parts else None
        unknown += found is None
        made[row] = random_vector(word, vectors.dim, seed=seed) if found is None else found
    note = f"{unknown:,} of {len(labelled.words):,} words are not in the table: random vectors"
    return Space("static", level, ("static",), made[:, None], level.unit, note)


def static_bag(vectors: StaticVectors | None, features: Features, level: Level, *, seed: int) -> Space:
    """P-static: the mean of static vectors over the words of the text; without a table P-random."""
    dim = RANDOM_DIM if vectors is None else vectors.dim
    known: dict[str, NDArray[np.float32] | None] = {}
    made = np.zeros((len(features.texts.texts), dim), dtype=np.float32)
    unknown = 0
    for row, text in enumerate(features.texts.texts):
        rows = []
        for word in text.words:
            if word not in known:
                known[word] = random_vector(word, dim, seed=seed) if vectors is None else looked_up(vectors, word)
            if (found := known[word]) is not None:
                rows.append(found)
        unknown += not rows
        made[row] = np.mean(rows, axis=0) if rows else random_vector(" ".join(text.words), dim, seed=seed)
    name = "P-random" if vectors is None else "P-static"
    note = f"{unknown:,} texts have no word of the table: random vectors" if unknown else ""
    return Space(name, level, ("random" if vectors is None else "static",), made[:, None], features.texts.text, note)


def looked_up(vectors: StaticVectors, word: str) -> NDArray[np.float32] | None:
    """A word's vector as it is written, else in lower case."""
    found = vectors.get(word)
    found = vectors.get(word.lower()) if found is None else found
    return None if found is None else np.asarray(found, dtype=np.float32)


def random_vector(word: str, dim: int, *, seed: int) -> NDArray[np.float32]:
    """Standard normal, the same for a word wherever it is met."""
    return generator_for(seed, "probe", "random vector", word).standard_normal(dim).astype(np.float32)
