"""Words in context with a class each: SemCor's supersenses, columns of CoNLL-U, WIKI-PSE's classes, labels of JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from sys import intern

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Sentence
from limbeck.errors import InputError
from limbeck.probing.settings import LABELS, LabelSettings
from limbeck.seeds import hash_ids, hash_occurrences

Ints = NDArray[np.int64]

SUPERSENSE = "supersense"  #: the label that SemCor's numbers of lexicographer files are read as
#: format -> the label that is probed for, unless another is asked for
LABEL_OF = {"semcor": SUPERSENSE, "conllu": "upos", "wikipse": "class", "jsonl": "class"}
TOO_FEW = "of a class with too few words"
OTHER_CLASS = "of a class that is not asked for"
OVER_CAP = "beyond the contexts of a combination"
UNLISTED = "of words on no list"
SPLIT = "split"  #: the label that says on which side an occurrence is, where the data say so

#: WordNet's lexicographer files by number
LEXICOGRAPHER_FILES = (
    "adj.all", "adj.pert", "adv.all",
    *("noun." + name for name in (
        "Tops act animal artifact attribute body cognition communication event feeling food group location motive "
        "object person phenomenon plant possession process quantity relation shape state substance time"
    ).split()),
    *("verb." + name for name in (
        "body change cognition communication competition consumption contact creation emotion motion perception "
        "possession social stative weather"
    ).split()),
    "adj.ppl",
)  # fmt: skip


@dataclass(frozen=True)
class Labelled:
    """Occurrences of words, each with its class. A word and a class are a combination.

    sentences  those that hold an occurrence
    sentence   (n,) which of them
    position   (n,) index of its first word
    span       (n,) of how many words it is: "took place" is 2
    words      the distinct words, by lemma or by form
    word       (n,) which of them
    classes    the distinct classes
    kind       (n,) which of them
    given      (n,) the side that the data give it ("train", "dev", "test"); None where they give none
    words_by   what made one word, in a line: lemma, form, or lemma and of how many words without one the form
    left_out   reason -> occurrences
    """

    sentences: Sequence[Sentence]
    sentence: Ints
    position: Ints
    span: Ints
    words: Sequence[str]
    word: Ints
    classes: tuple[str, ...]
    kind: Ints
    given: Sequence[str] | None = None
    left_out: Mapping[str, int] = field(default_factory=dict)
    words_by: str = "lemma"

    def __len__(self) -> int:
        return len(self.word)

    @cached_property
    def combination(self) -> Ints:
        """(n,) which combination of word and class, numbered from 0."""
        number = self.word * len(self.classes) + self.kind
        found: Ints = np.unique(number, return_inverse=True)[1].astype(np.int64)
        return found

    def take(self, rows: Ints) -> Labelled:
        """Some of the occurrences; sentences and names stay as they are."""
        parts = {name: getattr(self, name)[rows] for name in ("sentence", "position", "span", "word", "kind")}
        given = None if self.given is None else [self.given[row] for row in rows.tolist()]
        return replace(self, given=given, **parts)

    def only(self, rows: Ints, left_out: Mapping[str, int]) -> Labelled:
        """Some of the occurrences, and no more sentences, words and classes than they have; why others are left out."""
        some = self.take(rows)
        sentences, sentence = np.unique(some.sentence, return_inverse=True)
        words, word = np.unique(some.word, return_inverse=True)
        kinds, kind = np.unique(some.kind, return_inverse=True)
        counts = Counter(self.left_out) + Counter(left_out)
        return replace(
            some,
            sentences=[self.sentences[at] for at in sentences.tolist()],
            sentence=sentence.astype(np.int64),
            words=[self.words[at] for at in words.tolist()],
            word=word.astype(np.int64),
            classes=tuple(self.classes[at] for at in kinds.tolist()),
            kind=kind.astype(np.int64),
            left_out=dict(counts),
        )

    def text_of(self, row: int, *, size: int = 12) -> str:
        """An occurrence in its sentence, marked, with some words around it."""
        words = self.sentences[int(self.sentence[row])].words
        start, end = int(self.position[row]), int(self.position[row] + self.span[row])
        before, after = words[max(0, start - size) : start], words[end : end + size]
        return " ".join([*before, f"[{' '.join(words[start:end])}]", *after])


def read_labelled(corpus: Corpus, settings: LabelSettings = LABELS) -> Labelled:
    """The labelled occurrences of a corpus, at most `max_contexts` of a combination, chosen by hash.

    label      name of the label; None: what the corpus' format has
    words_by   "lemma" or "form" (in lower case); None: lemmas, where any occurrence has one. One without takes its
               form: were all taken by form for its sake, lemmas would stand on two sides of a split
    classes    names or patterns ("noun.*") of those to be read; none: all
    min_words  classes of fewer words are left out

    The corpus is read twice, so that only sentences with a chosen occurrence are held.
    """
    label, words = settings.label or LABEL_OF.get(corpus.format, "class"), str(settings.words_by or "")
    classes, min_words = settings.classes, settings.min_words
    found = _Occurrences()
    for one in corpus:
        found.add(one, label)
    if not found.kinds:
        instead = f"they have {', '.join(sorted(found.labels))}: name one by --label."
        if not found.labels:
            instead = (
                f"read as {corpus.format} they have no labels at all: give JSON lines, CoNLL-U, SemCor or WIKI-PSE, "
                "and where that is not seen, --format."
            )
        raise InputError(
            f"the data must have words labelled with {label!r}, {instead}", code="no_labels", parameter="label"
        )
    if not words:
        words = "lemma" if any(found.lemmas) else "form"
    if words == "lemma" and not any(found.lemmas):
        raise InputError(
            "labelled words must have lemmas to be known by them, none has one: --words-by=form.",
            code="no_labels",
            parameter="words_by",
        )
    keys, words_by = found.forms, words
    if words == "lemma":
        keys = [lemma or form for lemma, form in zip(found.lemmas, found.forms, strict=True)]
        if lacking := found.lemmas.count(""):
            words_by = f"lemma; {lacking:,} of {len(keys):,} labelled words have none, and count by form"
    names, word = np.unique(np.array(keys, dtype=object), return_inverse=True)
    kinds, kind = np.unique(np.array(found.kinds, dtype=object), return_inverse=True)

    left_out: Counter[str] = Counter()
    asked = np.array([not classes or any(fnmatchcase(name, pattern) for pattern in classes) for name in kinds])
    if not asked.any():
        raise InputError(
            f"--classes must name classes of the data; got {', '.join(classes)}, and they have "
            f"{', '.join(kinds[:12].tolist())}{', ...' if len(kinds) > 12 else '.'}",
            code="unknown_choice",
            parameter="classes",
        )
    pairs = np.unique(np.stack([word, kind]), axis=1)  # a column a combination
    enough = np.bincount(pairs[1], minlength=len(kinds)) >= min_words
    left_out[OTHER_CLASS] = int((~asked[kind]).sum())
    left_out[TOO_FEW] = int((asked & ~enough)[kind].sum())
    if not (asked & enough).any():
        raise InputError(
            f"a class needs at least {min_words} words to be probed, none has as many: lower --min-words or give "
            "more data.",
            code="too_few",
            parameter="min_words",
        )
    rows = np.flatnonzero((asked & enough)[kind])
    hashes = hash_occurrences(np.array(found.sentences)[rows], np.array(found.positions)[rows])
    kept = first_of_each(
        word[rows] * len(kinds) + kind[rows], hash_ids(hashes, salt=settings.seed), settings.max_contexts
    )
    left_out[OVER_CAP] = len(rows) - len(kept)
    rows = rows[kept]

    wanted = np.array(found.sentences, dtype=np.int64)[rows]
    identities, sentence = np.unique(wanted, return_inverse=True)
    held = set(identities.tolist())
    sentences = {
        one.identity: replace(one, words=tuple(map(intern, one.words)), labels={})
        for one in corpus
        if one.identity in held
    }
    class_ids, kind = np.unique(kind[rows], return_inverse=True)
    word_ids, word = np.unique(word[rows], return_inverse=True)
    given = None
    if any(found.given):
        given = [found.given[row] for row in rows.tolist()]
    return Labelled(
        sentences=[sentences[identity] for identity in identities.tolist()],
        sentence=sentence.astype(np.int64),
        position=np.array(found.positions, dtype=np.int64)[rows],
        span=np.array(found.spans, dtype=np.int64)[rows],
        words=names[word_ids].tolist(),
        word=word.astype(np.int64),
        classes=tuple(kinds[class_ids].tolist()),
        kind=kind.astype(np.int64),
        given=given,
        left_out={reason: number for reason, number in left_out.items() if number},
        words_by=words_by,
    )


class _Occurrences:
    """Labelled words as they are met, column by column."""

    def __init__(self) -> None:
        self.sentences: list[int] = []
        self.positions: list[int] = []
        self.spans: list[int] = []
        self.forms: list[str] = []
        self.lemmas: list[str] = []
        self.kinds: list[str] = []
        self.given: list[str] = []
        self.labels: set[str] = set()  # all that occur, for messages

    def add(self, sentence: Sentence, label: str) -> None:
        for position, layers in sentence.labels.items():
            value = value_of(layers, label)
            if value is None:
                self.labels.update(layers)
                continue
            span = min(int(layers.get("span", "1")), len(sentence.words) - position)
            self.sentences.append(sentence.identity)
            self.positions.append(position)
            self.spans.append(span)
            self.forms.append("_".join(sentence.words[position : position + span]).lower())
            self.lemmas.append(layers.get("lemma", "").lower())
            self.kinds.append(value)
            self.given.append(layers.get(SPLIT, ""))


def value_of(layers: Mapping[str, str], label: str) -> str | None:
    """A word's label; the supersense is the name of its lexicographer file.

    >>> value_of({"lexfile": "28"}, "supersense"), value_of({"upos": "NOUN"}, "class")
    ('noun.time', None)
    """
    if label == SUPERSENSE and "lexfile" in layers:
        try:
            number = int(layers["lexfile"])
        except ValueError:
            number = -1
        if not 0 <= number < len(LEXICOGRAPHER_FILES):
            raise InputError(
                f'"lexfile" must be the number of a lexicographer file, 0 to {len(LEXICOGRAPHER_FILES) - 1}; got '
                f"{layers['lexfile']!r}: mend the data, or probe for another --label.",
                code="malformed",
            )
        return LEXICOGRAPHER_FILES[number]
    return layers.get(label)


def first_of_each(groups: Ints, hashes: NDArray[np.uint64], most: int) -> Ints:
    """Rows of the `most` smallest hashes of each group, in the order of the rows.

    >>> first_of_each(np.array([0, 0, 1, 0]), np.array([5, 3, 9, 4], dtype=np.uint64), 2).tolist()
    [1, 2, 3]
    """
    order = np.lexsort((hashes, groups))
    ordered = groups[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(order) else np.zeros(0, dtype=np.int64)
    place = np.arange(len(order)) - np.repeat(starts, np.diff(np.append(starts, len(order))))
    return np.sort(order[place < most]).astype(np.int64)


def clipped(sentence: Sentence, start: int, span: int, context: int) -> tuple[Sentence, int]:
    """The sentence with `context` words to each side of an occurrence, and where that begins now."""
    low, high = max(0, start - context), min(len(sentence.words), start + span + context)
    glued = frozenset(index - low for index in sentence.glued if low <= index < high)
    return Sentence(sentence.words[low:high], glued=glued), start - low
