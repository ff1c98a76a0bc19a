"""The planning pass: what the text holds, which texts are duplicates, which words to follow, how to divide the work."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.offsets import no_marks
from limbeck.corpus.vocabulary import Vocabulary, by_frequency, punctuation_only
from limbeck.encoded import Groups
from limbeck.errors import LimbeckError
from limbeck.seeds import hash_text
from limbeck.state import State
from limbeck.strings import Strings

Ints = NDArray[np.int64]
DUPLICATE = "words in duplicate texts"


@dataclass(frozen=True)
class Surveyed:
    """What a worker found in some documents: one string for each distinct unit, counted."""

    units: Strings
    hashes: NDArray[np.uint64]  # (distinct,) of the strings
    counts: Ints  # (distinct,) occurrences
    contexts: Ints  # (distinct,) texts it occurs in
    text_sizes: Ints  # (texts,) units in each text
    texts: Ints  # (texts,) identities
    contents: NDArray[np.uint64]  # (texts,) hash of what each text says
    documents: Ints  # (documents,) numbers
    document_units: Ints  # (documents,) units in each
    sentences: int
    marks: Ints = field(default_factory=no_marks)  # where some of the documents begin in their files
    repeats: NDArray[np.bool_] | None = None  # (texts,) which repeat an earlier one, where that is known already

    def without(self, texts: NDArray[np.bool_]) -> tuple[Ints, Ints]:
        """counts and contexts once some texts are left out."""
        rows = np.repeat(texts, self.text_sizes)
        text_of = np.repeat(np.flatnonzero(texts), self.text_sizes[texts])
        counts, contexts = _count(self.units.codes[rows], text_of, len(self.units.distinct))
        return self.counts - counts, self.contexts - contexts


def surveyed(
    strings: Sequence[str],
    texts: Ints,
    *,
    contents: Mapping[int, int],
    documents: Ints,
    document_units: Ints,
    sentences: int,
    marks: Ints | None = None,
) -> Surveyed:
    """Sum up units that stand text by text; `contents` is a hash of what each text says: equal ones are duplicates."""
    units = Strings.of(strings)
    groups = Groups.by(texts)
    counts, contexts = _count(units.codes, groups.of_row, len(units.distinct))
    return Surveyed(
        units=units,
        hashes=np.fromiter(map(hash_text, units.distinct), dtype=np.uint64, count=len(units.distinct)),
        counts=counts,
        contexts=contexts,
        text_sizes=groups.sizes,
        texts=groups.identities,
        contents=np.array([contents[text] for text in groups.identities.tolist()], dtype=np.uint64),
        documents=documents,
        document_units=document_units,
        sentences=sentences,
        marks=no_marks() if marks is None else marks,
    )


def _count(codes: NDArray[np.int32], text_of: Ints, size: int) -> tuple[Ints, Ints]:
    """Occurrences of each code, and texts it occurs in."""
    pairs = np.sort(text_of * np.int64(size) + codes)
    pairs = pairs[np.concatenate(([True], pairs[1:] != pairs[:-1]))] if len(pairs) else pairs
    return np.bincount(codes, minlength=size), np.bincount(pairs % max(size, 1), minlength=size)


@dataclass(frozen=True)
class Shard:
    """A range of documents: the unit of work that is done whole or done again."""

    number: int
    start: int  # first document
    stop: int  # one past the last
    units: int


@dataclass(frozen=True)
class Plan:
    """All that must be known before the first vector is made."""

    vocabulary: Vocabulary  # the words that are followed, by id
    shards: tuple[Shard, ...]
    duplicates: Ints  # sorted identities of texts that repeat an earlier one
    units: int  # to be encoded
    texts: int
    sentences: int
    documents: int
    types: int  # distinct units, followed or not
    dropped: dict[str, int]  # reason -> units
    marks: Ints = field(default_factory=no_marks)  # where some documents begin, see `limbeck.corpus.offsets`

    @property
    def fingerprint(self) -> str:
        """Of the vocabulary: what word ids refer to."""
        return hashlib.blake2b(
            "\x1f".join(self.vocabulary.words).encode("utf-8", "surrogatepass"), digest_size=8
        ).hexdigest()

    def describe(self) -> str:
        """What the text holds, in a line or two."""
        text = (
            f"{self.units:,} words in {self.texts:,} texts of {self.documents:,} documents; {self.types:,} distinct, "
            f"{len(self.vocabulary):,} tracked"
        )
        if self.dropped:
            text += "; left out: " + ", ".join(f"{reason} {number:,}" for reason, number in self.dropped.items())
        return text

    def to_arrays(self) -> State:
        shards = np.array([(s.start, s.stop, s.units) for s in self.shards], dtype=np.int64).reshape(-1, 3)
        totals = np.array([self.units, self.texts, self.sentences, self.documents, self.types])
        own = {"shards": shards, "duplicates": self.duplicates, "totals": totals, "marks": self.marks}
        return {**own, **self.vocabulary.to_arrays()}

    @classmethod
    def from_arrays(cls, arrays: State, dropped: dict[str, int]) -> Plan:
        rows = arrays["shards"].tolist()
        shards = tuple(Shard(number, *row) for number, row in enumerate(rows))
        units, texts, sentences, documents, types = arrays["totals"].tolist()
        vocabulary, duplicates, marks = Vocabulary.from_arrays(arrays), arrays["duplicates"], arrays["marks"]
        return cls(vocabulary, shards, duplicates, units, texts, sentences, documents, types, dropped, marks)


@dataclass(frozen=True)
class Choice:
    """Which words to follow.

    min_contexts      a word needs this many different texts
    by_occurrences    count occurrences in the place of texts (as the released code of Ethayarajh 2019)
    max_words         follow at most so many, chosen by hash
    drop_punctuation  leave out words of punctuation alone
    seed              another seed, another choice
    """

    min_contexts: int = 5
    by_occurrences: bool = False
    max_words: int = 20_000
    drop_punctuation: bool = False
    seed: int = 0


def make_plan(surveys: Iterable[Surveyed], *, choice: Choice, shard_units: int, deduplicate: bool = True) -> Plan:
    """Read through the surveys once, in order. Keeps 12 to 24 bytes a text, and 40 to 80 beside each distinct word."""
    seen = _HashSet()
    numbering = _HashNumbers()
    words: list[str] = []
    counts = _Tally()
    contexts = _Tally()
    duplicates: list[Ints] = []
    documents: list[Ints] = []
    document_units: list[Ints] = []
    marks: list[Ints] = [no_marks()]
    dropped: Counter[str] = Counter()
    sentences = texts = 0
    for survey in surveys:
        first = np.ones(len(survey.texts), dtype=bool)
        if deduplicate:
            first = seen.add(survey.contents) if survey.repeats is None else ~survey.repeats
        some_counts, some_contexts = survey.counts, survey.contexts
        if not first.all():
            duplicates.append(survey.texts[~first])
            dropped[DUPLICATE] += int(survey.text_sizes[~first].sum())
            some_counts, some_contexts = survey.without(~first)
        # words that occur in duplicates alone are not words of this corpus
        here = np.flatnonzero(some_counts)
        number, fresh = numbering.add(survey.hashes[here])
        words += [survey.units.distinct[i] for i in here[fresh].tolist()]
        counts.add(number, some_counts[here], len(words))
        contexts.add(number, some_contexts[here], len(words))
        documents.append(survey.documents)
        document_units.append(survey.document_units)
        marks.append(survey.marks)
        sentences += survey.sentences
        texts += int(first.sum())
    numbers = np.concatenate([np.empty(0, np.int64), *documents])
    units = np.concatenate([np.empty(0, np.int64), *document_units])
    total = int(counts.values.sum())
    if not total:
        raise LimbeckError(
            "the corpus must hold words to measure, it has none: check --corpus, --format, --targets.",
            code="no_words",
            parameter="corpus",
        )
    return Plan(
        vocabulary=choose_words(words, counts.values, contexts.values, choice),
        shards=_divide(numbers, units, shard_units),
        duplicates=np.sort(np.concatenate([np.empty(0, np.int64), *duplicates])),
        units=total,
        texts=texts,
        sentences=sentences,
        documents=len(numbers),
        types=len(words),
        dropped={reason: count for reason, count in dropped.items() if count},
        marks=np.concatenate(marks),
    )


def choose_words(words: Sequence[str], counts: Ints, contexts: Ints, choice: Choice) -> Vocabulary:
    """The words to follow, most frequent first (ties by spelling, so that ids do not depend on order)."""
    enough = np.flatnonzero((counts if choice.by_occurrences else contexts) >= choice.min_contexts).tolist()
    enough = [i for i in enough if words[i]]  # kept vectors name a token that is no word ""
    if choice.drop_punctuation:
        enough = [i for i in enough if not punctuation_only(words[i])]
    enough = chosen_by_hash(words, enough, choice.max_words, choice.seed)
    enough = by_frequency(words, counts, enough)
    return Vocabulary([words[i] for i in enough], counts[enough], contexts[enough])


def chosen_by_hash(words: Sequence[str], ids: Sequence[int], count: int, seed: int) -> list[int]:
    """At most `count` of the ids, in their order: those whose words have the smallest hashes."""
    if len(ids) <= count:
        return list(ids)
    kept = set(sorted(ids, key=lambda i: hash_text(f"{seed}\x1f{words[i]}"))[:count])
    return [i for i in ids if i in kept]


def _divide(documents: Ints, units: Ints, shard_units: int) -> tuple[Shard, ...]:
    """Runs of documents of about `shard_units` units each."""
    if not len(documents):
        return ()
    before = np.cumsum(units) - units
    number = before // max(shard_units, 1)
    starts = np.flatnonzero(np.concatenate(([True], number[1:] != number[:-1])))
    stops = np.append(starts[1:], len(documents))
    return tuple(
        Shard(i, int(documents[a]), int(documents[b - 1]) + 1, int(units[a:b].sum()))
        for i, (a, b) in enumerate(zip(starts, stops, strict=True))
    )


class _Tally:
    """Counts by number, growing as new numbers come."""

    def __init__(self) -> None:
        self._values = np.zeros(1024, dtype=np.int64)
        self._size = 0

    def add(self, ids: Ints, counts: Ints, size: int) -> None:
        """Add counts of distinct ids below size."""
        if size > len(self._values):
            self._values = np.concatenate([self._values, np.zeros(max(size, len(self._values)), dtype=np.int64)])
        self._size = size
        self._values[ids] += counts

    @property
    def values(self) -> Ints:
        return self._values[: self._size]


class _HashTable:
    """64-bit hashes in one array, each at the first free place from where it points.

    What is added costs the same however many there are; sorted arrays, which are smaller, do not.
    """

    def __init__(self) -> None:
        self._places = np.zeros(1 << 16, dtype=np.uint64)  # 0: free
        self._count = 0

    def _insert(self, hashes: NDArray[np.uint64]) -> tuple[Ints, NDArray[np.bool_]]:
        """Of distinct hashes, none of them 0, their places, and which were not there."""
        while 3 * (self._count + len(hashes)) > 2 * len(self._places):
            self._grow()
        last = np.uint64(len(self._places) - 1)
        fresh = np.zeros(len(hashes), dtype=bool)
        found = np.zeros(len(hashes), dtype=np.int64)
        left = np.arange(len(hashes))
        place = hashes & last
        while len(left):
            wanted = hashes[left]
            free = self._places[place] == 0
            self._places[place[free]] = wanted[free]  # where several want one place, one of them has it
            there = self._places[place] == wanted
            fresh[left[free & there]] = True
            found[left[there]] = place[there]
            left, place = left[~there], (place[~there] + np.uint64(1)) & last
        self._count += int(fresh.sum())
        return found, fresh

    def _grow(self) -> None:
        """Twice as many places."""
        held = self._places[self._places != 0]
        self._places = np.zeros(2 * len(self._places), dtype=np.uint64)
        self._count = 0
        self._insert(held)


class _HashSet(_HashTable):
    """A set of hashes: 12 to 24 bytes each."""

    def add(self, hashes: NDArray[np.uint64]) -> NDArray[np.bool_]:
        """Add hashes; return which of them were new (the first of equal ones)."""
        distinct, first = np.unique(np.maximum(hashes, np.uint64(1)), return_index=True)
        _, fresh = self._insert(distinct)
        new = np.zeros(len(hashes), dtype=bool)
        new[first[fresh]] = True
        return new


class _HashNumbers(_HashTable):
    """Hashes numbered from 0 as they come.

    A dict of words would do the same; its lookups were half of the planning. That two of ten million words have one
    hash is a matter of three in a million.
    """

    def __init__(self) -> None:
        super().__init__()
        self._numbers = np.zeros(len(self._places), dtype=np.int64)

    def add(self, hashes: NDArray[np.uint64]) -> tuple[Ints, NDArray[np.bool_]]:
        """The numbers of distinct hashes, and which of these are new; new ones have the next numbers, in order."""
        known = self._count
        places, fresh = self._insert(np.maximum(hashes, np.uint64(1)))
        self._numbers[places[fresh]] = np.arange(known, self._count)
        return self._numbers[places], fresh

    def _grow(self) -> None:
        held, numbers = self._places[self._places != 0], self._numbers[self._places != 0]
        self._places = np.zeros(2 * len(self._places), dtype=np.uint64)
        self._numbers = np.zeros(len(self._places), dtype=np.int64)
        self._count = 0
        places, _ = self._insert(held)
        self._numbers[places] = numbers
