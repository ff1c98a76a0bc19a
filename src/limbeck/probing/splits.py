"""Training, development and test words: no word is on two sides, so that a probe cannot know it by heart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.compression import open_text
from limbeck.errors import InputError, UsageError
from limbeck.probing.labelled import UNLISTED, Labelled
from limbeck.probing.settings import LABELS, LabelSettings
from limbeck.seeds import hash_text

SIDES = ("train", "dev", "test")
TRAIN, DEV, TEST = range(3)
Sides = NDArray[np.int8]
DEV_OF_TRAIN = 0.2  #: of the training words, where the data say train and test alone (Zhao et al. 2020)


def split_words(words: Sequence[str], *, dev: float, test: float, seed: int = 0) -> Sides:
    """The side of each word, by its hash: the same whatever other words there are.

    >>> split_words(["tea", "night", "train"], dev=0.0, test=1.0).tolist()
    [2, 2, 2]
    """
    if not (dev >= 0 and test >= 0 and dev + test <= 1):  # so that NaN is refused too
        raise UsageError(
            f"--dev and --test are shares of the words, 0 or more and together at most 1; got {dev} and {test}.",
            code="out_of_range",
            parameter="dev",
        )
    share = np.array([hash_text(f"{seed}\x1fsplit\x1f{word}") for word in words], dtype=np.float64) / 2.0**64
    sides: Sides = np.where(share < test, TEST, np.where(share < test + dev, DEV, TRAIN)).astype(np.int8)
    return sides


def check_sides(words: Sequence[str], word: NDArray[np.int64], sides: Sides) -> None:
    """Refuse a split that has a word on two sides: `word` and `sides` are of occurrences, (n,)."""
    low = np.full(len(words), len(SIDES), dtype=np.int64)
    high = np.full(len(words), -1, dtype=np.int64)
    np.minimum.at(low, word, sides)
    np.maximum.at(high, word, sides)
    if len(leaking := np.flatnonzero(low < high)):
        first = leaking[0]
        raise InputError(
            f"no word may be on two sides of the split; {len(leaking)} are, {words[first]!r} in {SIDES[low[first]]} "
            f"and {SIDES[high[first]]}: split by word, or take these words out of one side.",
            code="twice",
        )


def sides_of(
    labelled: Labelled,
    settings: LabelSettings = LABELS,
    *,
    lists: Mapping[str, Sequence[str]] | None = None,
) -> Sides:
    """The side of each occurrence: by lists of words {"train": ..., "test": ...}, as the data say, or by hash.

    Lists are read in lower case, as words are. Occurrences of words that are in no list have the side -1.
    """
    if lists:
        found = _listed(labelled.words, lists)
        sides = found[labelled.word]
    elif labelled.given is not None:
        if unknown := set(labelled.given) - set(SIDES):
            raise InputError(
                f'"split" must be {", ".join(SIDES)} for every labelled word; got {sorted(unknown)[0]!r}.',
                code="malformed",
            )
        sides = np.array([SIDES.index(side) for side in labelled.given], dtype=np.int8)
    else:
        drawn = split_words(labelled.words, dev=settings.dev, test=settings.test, seed=settings.seed)
        return _complete(drawn[labelled.word])
    check_sides(labelled.words, labelled.word, sides)
    if not (sides == DEV).any():
        drawn = split_words(labelled.words, dev=DEV_OF_TRAIN, test=0.0, seed=settings.seed)[labelled.word]
        sides = np.where((sides == TRAIN) & (drawn == DEV), np.int8(DEV), sides)
    if lists:
        return _complete(sides, "lists must have words of the data, lemmas where these are known (see --words-by)")
    return _complete(sides)


def with_sides(
    labelled: Labelled,
    settings: LabelSettings = LABELS,
    *,
    lists: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Labelled, Sides]:
    """The occurrences that have a side (see `sides_of`), and their sides; refused where all are of one class."""
    sides = sides_of(labelled, settings, lists=lists)
    kept = np.flatnonzero(sides >= 0)
    if len(kept) < len(sides):
        labelled, sides = labelled.only(kept, {UNLISTED: len(sides) - len(kept)}), sides[kept]
    if len(labelled.classes) < 2:
        raise InputError(
            f"probes tell classes apart, two are needed; got {labelled.classes[0]} alone: give more data, name more by "
            "--classes, or lower --min-words.",
            code="too_few",
            parameter="classes",
        )
    return labelled, sides


def one_sided(labelled: Labelled, sides: Sides) -> list[str]:
    """What is to be known of classes that nobody can learn, or that no test asks for; nothing where all are fine."""
    lines = []
    why = {TRAIN: "a training word, which cannot be learnt", TEST: "a test word, of which F1 says nothing"}
    for side, told in why.items():
        there = set(labelled.kind[sides == side].tolist())
        names = [name for kind, name in enumerate(labelled.classes) if kind not in there]
        if names:
            lines.append(f"classes without {told}: {', '.join(names)}")
    return lines


def _complete(sides: Sides, remedy: str = "give more data or other shares") -> Sides:
    for number, side in enumerate(SIDES):
        if not (sides == number).any():
            raise InputError(f"every side of the split needs words; {side} has none: {remedy}.", code="too_few")
    return sides


def _listed(words: Sequence[str], lists: Mapping[str, Sequence[str]]) -> Sides:
    number = {word: at for at, word in enumerate(words)}
    found: Sides = np.full(len(words), -1, dtype=np.int8)
    for side, members in lists.items():
        code = SIDES.index(side)
        for word in members:
            at = number.get(word.lower())
            if at is not None and found[at] >= 0 and found[at] != code:
                raise InputError(
                    f"no word may be on two sides of the split; {word!r} is in the lists of {SIDES[found[at]]} and "
                    f"{side}: take it out of one.",
                    code="twice",
                )
            if at is not None:
                found[at] = code
    return found


def read_lists(train: str | Path | None, test: str | Path | None) -> dict[str, list[str]] | None:
    """The words of two lists, by side; None where there is neither. One needs the other."""
    if train is None and test is None:
        return None
    if train is None or test is None:
        raise UsageError(
            "words to train on and words to test on are needed together; got one list: give --train-words and "
            "--test-words.",
            code="required",
            parameter="test_words" if test is None else "train_words",
        )
    return {"train": read_words(train), "test": read_words(test)}


def read_words(path: str | Path) -> list[str]:
    """Words of a list, one a line; of WIKI-PSE's train.tsv ("@new_york@ TAB -location=12 ...") the first column."""
    with open_text(Path(path)) as file:
        first = [line.split("\t")[0].strip() for line in file]
    return [word[1:-1] if len(word) > 2 and word[0] == word[-1] == "@" else word for word in first if word]
