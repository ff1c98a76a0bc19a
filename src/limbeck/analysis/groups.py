"""Sentences of one structure and different words, made out of a treebank; and files of sentence pairs.

Almost no six sentences of a treebank have the same sequence of tags (in UD English EWT one such sequence has "the",
none "of"), so groups are made: in a sentence every content word is replaced by another of equal tag, features, case and
frequency band. What a verb asks for beside it is not looked after: sentences are grammatical by their tags, and mostly
senseless.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from limbeck.analysis.settings import GROUPS, StructureSettings
from limbeck.corpus import Sentence
from limbeck.errors import InputError, LimbeckError
from limbeck.seeds import generator_for

CONTENT = ("NOUN", "PROPN", "VERB", "ADJ", "ADV", "NUM")
LEAST_SWAPPED = 3  #: content words that a sentence must have
SHORTEST, LONGEST = 5, 40  #: words of a sentence

Kind = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Group:
    """Sentences of one structure, the treebank's own first. `places`: where each token stands first in all of them."""

    sentences: tuple[Sentence, ...]
    places: dict[str, int]


def make_groups(sentences: Iterable[Sentence], settings: StructureSettings = GROUPS, *, seed: int = 0) -> list[Group]:
    """So many groups that hold each of the tokens, as far as the treebank goes; one group may serve several tokens.

    The same sentences, seed and numbers give the same groups. Within a group no two sentences have the same word at a
    swapped place. Sentences of which some content word has too few others of its kind are passed over.
    """
    tokens, size = settings.tokens, settings.group_size
    held = [s for s in sentences if SHORTEST <= len(s.words) <= LONGEST]
    if not any(labels.get("upos") for sentence in held for labels in sentence.labels.values()):
        raise InputError(
            "The treebank must have words with tags (UPOS), none has: give a CoNLL-U file to --data.",
            code="no_labels",
            parameter="data",
        )
    swapper = Swapper(held)
    generator = generator_for(seed, "groups", size)
    lacking = dict.fromkeys(tokens, settings.groups)
    made: list[Group] = []
    seen: set[tuple[str, ...]] = set()
    for row in generator.permutation(len(held)).tolist():
        sentence = held[row]
        places = {token: sentence.words.index(token) for token in tokens if token in sentence.words}
        if sentence.words in seen or not any(lacking[token] for token in places):
            continue
        seen.add(sentence.words)
        swapped = swapper.swap(sentence, size, generator)
        if swapped is None:
            continue
        made.append(Group(swapped, places))
        for token in places:
            lacking[token] = max(0, lacking[token] - 1)
        if not any(lacking.values()):
            break
    if not made:
        raise LimbeckError(
            f"The treebank gives no group of {size} sentences with one of {' '.join(tokens)}: give a larger one.",
            code="too_few",
        )
    return made


def as_sentences(groups: Sequence[Group]) -> list[Sentence]:
    """All sentences of the groups in order, numbered: sentence i of group g is the i-th of document g."""
    return [
        replace(sentence, document=number, paragraph=0, index=index)
        for number, group in enumerate(groups)
        for index, sentence in enumerate(group.sentences)
    ]


class Swapper:
    """The words of a treebank by kind: tag, features, case and frequency band (powers of two)."""

    def __init__(self, sentences: Sequence[Sentence]) -> None:
        self.counts = Counter(word for sentence in sentences for word in sentence.words)
        found: dict[Kind, dict[str, None]] = {}  # in the order of the treebank
        for sentence in sentences:
            for place, labels in sentence.labels.items():
                kind = self.kind(sentence.words[place], labels)
                if kind is not None:
                    found.setdefault(kind, {})[sentence.words[place]] = None
        self.words = {kind: list(words) for kind, words in found.items()}

    def kind(self, word: str, labels: Mapping[str, str]) -> Kind | None:
        """What a word must share with another to take its place; None for a word that stays.

        Words of a closed class that are tagged as content ("when", "how") tell so by their features.
        """
        upos, feats = labels.get("upos", ""), labels.get("feats", "")
        if upos not in CONTENT or "PronType" in feats or not word[:1].isalnum():
            return None
        case = "upper" if word.isupper() and len(word) > 1 else "title" if word[:1].isupper() else "lower"
        return upos, labels.get("xpos", ""), feats, case, int(math.log2(self.counts[word]))

    def swap(self, sentence: Sentence, size: int, generator: np.random.Generator) -> tuple[Sentence, ...] | None:
        """The sentence and size − 1 others of its structure; None where a content word has too few of its kind."""
        columns: dict[int, list[str]] = {}
        for place, labels in sorted(sentence.labels.items()):
            word = sentence.words[place]
            kind = self.kind(word, labels)
            if kind is None:
                continue
            others = [other for other in self.words[kind] if other != word]
            if len(others) < size - 1:
                return None
            columns[place] = [others[at] for at in generator.permutation(len(others))[: size - 1].tolist()]
        if len(columns) < LEAST_SWAPPED:
            return None
        made = [sentence]
        for turn in range(size - 1):
            words = list(sentence.words)
            for place, others in columns.items():
                words[place] = others[turn]
            made.append(replace(sentence, words=tuple(words)))
        return tuple(made)


@dataclass(frozen=True)
class Pair:
    """Two sentences, the place of a word in both, and whether they have the same structure."""

    place: int
    first: tuple[str, ...]
    second: tuple[str, ...]
    same: bool


def read_pairs(paths: Sequence[str | Path]) -> list[Pair]:
    """Files of pairs: place of the word, two sentences with blanks between words, and 1 or 0, parted by tabs."""
    found = []
    for path in paths:
        try:
            lines = Path(path).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                f"{path}: pairs of sentences are needed, it cannot be read ({error}).", code="not_readable"
            ) from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                found.append(_pair(line.split("\t"), str(path), number))
    if not found:
        raise InputError(f"{', '.join(map(str, paths))}: must hold pairs of sentences, got none.", code="empty")
    return found


def _pair(cells: list[str], path: str, number: int) -> Pair:
    try:
        at, first, second, label = cells
        place, same = float(at), {"0": False, "1": True}[label.strip()]
    except (ValueError, KeyError) as error:
        got = f"the place {cells[0]!r} and {cells[3]!r}" if len(cells) == 4 else f"{len(cells)} columns"
        message = f"must be a place, two sentences and 1 or 0, parted by tabs; got {got}: mend the line."
        raise InputError.at(path, number, message, code="malformed") from error
    pair = Pair(int(place) if place.is_integer() else -1, tuple(first.split()), tuple(second.split()), same)
    if not 0 <= pair.place < min(len(pair.first), len(pair.second)):
        raise InputError.at(
            path,
            number,
            "the place must be that of a word in both sentences, a whole number from 0; "
            f"got {at.strip()} with {len(pair.first)} and {len(pair.second)} words: mend the line.",
            code="malformed",
        )
    return pair
