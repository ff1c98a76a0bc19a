"""Named entities: spans of words out of tags, and how many of them were found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from limbeck.probing.finetuning.tags import OUTSIDE

Span = tuple[str, int, int]  # type, first word, one past the last


def spans_of(tags: Sequence[str]) -> list[Span]:
    """Entities of one sentence, read as the CoNLL scorer reads them.

    B-X begins an entity; so does an I-X that follows another type or no entity. IOB1, IOB2 and what a model makes of
    them are thus read by one rule.

    >>> spans_of(["B-person", "I-person", "O", "I-group", "B-group"])
    [('person', 0, 2), ('group', 3, 4), ('group', 4, 5)]
    """
    found: list[Span] = []
    kind, begin = "", 0
    for at, tag in enumerate([*tags, OUTSIDE]):
        mark, _, now = tag.partition("-")
        if kind and (mark != "I" or now != kind):
            found.append((kind, begin, at))
            kind = ""
        if not kind and tag != OUTSIDE:
            kind, begin = now, at
    return found


@dataclass(frozen=True)
class Found:
    """How many entities there are, were said to be, and are both: type, first and last word all right."""

    true: int
    predicted: int
    right: int

    @property
    def precision(self) -> float:
        return self.right / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.right / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        return 2 * self.right / (self.true + self.predicted) if self.true + self.predicted else 0.0


def count_entities(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]) -> dict[str, Found]:
    """By type, in alphabetical order, and under "" all of them: what micro F1 is made of."""
    true: Counter[str] = Counter()
    said: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for ours, theirs in zip(gold, predicted, strict=True):
        there, told = set(spans_of(ours)), set(spans_of(theirs))
        for counter, spans in ((true, there), (said, told), (right, there & told)):
            for kind, _, _ in spans:
                counter.update((kind, ""))
    names = sorted({*true, *said} - {""})
    return {name: Found(true[name], said[name], right[name]) for name in ["", *names]}
