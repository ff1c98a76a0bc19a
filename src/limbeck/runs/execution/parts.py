"""Parts of a text that are read apart from each other, so that their runs can be merged into one of the whole.

Two ways. `--part 2/3` plans the whole text, wherever it is run, and reads a third of its shards. Or each part is a
text of its own, with the words to follow named for all (`--vocabulary`) and its documents numbered behind those of the
parts before it (`--first-document`): identities, and all that is chosen by their hashes, are then those of the whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator
from limbeck.corpus import Corpus
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.offsets import Marks
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.distillation.wordlist import read_word_list
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.runs.repairing.frequencies import EVERY_WORD
from limbeck.state import State, load, save
from limbeck.stream import Choice, Plan, Source, survey
from limbeck.stream.checkpoint import PLAN, Checkpoint, Part
from limbeck.stream.context import RunContext
from limbeck.stream.plan import Surveyed, choose_words
from limbeck.stream.sources import DerivedSource
from limbeck.stream.workers import Workers

TEXTS = "texts.npz"  #: beside a plan: what each of its texts says, as hashes
SHARDS_A_PART = 4  #: at least, where the text has as many documents: parts should be of a size


@dataclass(frozen=True)
class TextPart:
    """One of `count` parts, numbered from 1."""

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> TextPart:
        """ "2/3" as the second of three."""
        found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
        if not found or not 1 <= int(found[1]) <= int(found[2]):
            raise UsageError(
                f"--part must be K/N, such as 2/3 for the second of three parts; got {text!r}.",
                code="malformed",
                parameter="part",
            )
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class Division:
    """What makes a run one of a part.

    part        which part of the text is read; the plan is the whole text's all the same
    index_of     the folder of another part's run, whose plan is taken instead of making it again
    vocabulary  the words to follow, in the place of those that the text would choose
    """

    part: TextPart | None = None
    index_of: Path | None = None
    vocabulary: tuple[str, ...] | None = None

    def told(self) -> dict[str, Any]:
        """Beside a run's settings: what its numbers depend on."""
        told: dict[str, Any] = {} if self.part is None else {"part": str(self.part)}
        return told if self.vocabulary is None else told | {"vocabulary": vocabulary_named(self.vocabulary)}


def division_of(
    part: str | TextPart | None = None,
    *,
    index_of: str | Path | None = None,
    vocabulary: str | Path | Sequence[str] | None = None,
) -> Division:
    """A division as a user names it; a vocabulary may be a file, a run folder or words."""
    if isinstance(part, str):
        part = TextPart.parse(part)
    if index_of is not None and part is None:
        raise UsageError(
            "--index-of is of another part of the same text: it needs --part.", code="required", parameter="part"
        )
    words = read_vocabulary(vocabulary) if isinstance(vocabulary, str | Path) else vocabulary
    return Division(
        part, None if index_of is None else Path(index_of).expanduser(), None if words is None else tuple(words)
    )


def read_vocabulary(path: str | Path) -> list[str]:
    """The words that a run followed, by its folder, or those of a file, one a line."""
    path = Path(path).expanduser()
    known = path / "state" / PLAN
    return Plan.from_arrays(load(known)[0], {}).vocabulary.words if known.is_file() else list(read_word_list(path))


def vocabulary_named(words: Sequence[str]) -> str:
    """Words by number and fingerprint, for records and messages."""
    return f"{len(words)} words, {_empty_plan(words).fingerprint}"


def _empty_plan(words: Sequence[str]) -> Plan:
    zeros = np.zeros(len(words), dtype=np.int64)
    return Plan(Vocabulary(words, zeros, zeros), (), zeros[:0], 0, 0, 0, 0, 0, {})


class LaterDocuments(Corpus):
    """A corpus whose documents are numbered from `first_document` on: the rest of a text that begins elsewhere."""

    def __init__(self, corpus: Corpus, first_document: int) -> None:
        self.__dict__.update(corpus.__dict__)
        self.first_document = first_document

    def documents(
        self, start: int = 0, stop: int | None = None, *, marks: Marks | None = None
    ) -> Iterator[RawDocument]:
        """See `Corpus.documents`. Marks, which tell the files' own numbers, are neither used nor given."""
        first = self.first_document
        for document in super().documents(max(0, start - first), None if stop is None else max(0, stop - first)):
            yield replace(document, number=document.number + first, mark=None)

    @property
    def fingerprint(self) -> str:
        return f"{super().fingerprint}+{self.first_document}"

    def describe(self) -> dict[str, Any]:
        return {**super().describe(), "first_document": self.first_document}


class Watched(DerivedSource):
    """A source that remembers, when it is surveyed, what its texts say."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self._contents: list[NDArray[np.uint64]] = []

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        for found in self.source.survey(workers=workers):
            self._contents.append(found.contents)
            yield found

    @property
    def contents(self) -> NDArray[np.uint64]:
        """Hashes of the distinct texts, sorted."""
        distinct: NDArray[np.uint64] = np.unique(np.concatenate([np.empty(0, np.uint64), *self._contents]))
        return distinct


def planned(
    source: Source,
    division: Division,
    identity: dict[str, Any],
    *,
    choice: Choice,
    deduplicate: bool,
    context: RunContext,
    check: Callable[[Plan], None] = lambda plan: None,
) -> Plan:
    """The plan of a run: of an earlier try that its checkpoint holds, of another part, or a new one, kept there.

    One that `check` refuses is not kept: with the settings that it needs it would be another.
    """
    saved = None if context.checkpoint is None else Checkpoint(context.checkpoint, identity)
    plan = saved.load_plan() if saved else None
    if plan is not None:
        check(plan)
        return plan
    whole = borrow_plan(division, identity)
    whole = whole or make_plan(source, division, choice=choice, deduplicate=deduplicate, context=context)
    plan = whole.plan if division.part is None else part_of(whole.plan, division.part)
    check(plan)
    if saved:
        saved.folder.mkdir(parents=True, exist_ok=True)
        save(saved.folder / TEXTS, whole.texts)
        saved.save_plan(plan)  # last: what has a plan has all that belongs to it
    return plan


@dataclass(frozen=True)
class Whole:
    """The plan of a text that is not divided yet, and what its texts say."""

    plan: Plan
    texts: State


def make_plan(source: Source, division: Division, *, choice: Choice, deduplicate: bool, context: RunContext) -> Whole:
    """The plan of a text that can be divided as asked."""
    watched = Watched(source)
    if division.vocabulary is not None:
        choice = Choice(min_contexts=1, max_words=EVERY_WORD)

    def surveyed(size: int | None) -> Plan:
        return survey(watched, choice=choice, deduplicate=deduplicate, context=replace(context, shard_units=size))

    plan = surveyed(context.shard_units)
    if division.part is not None and len(plan.shards) < SHARDS_A_PART * division.part.count:
        # a small text: reading it again costs little
        plan = surveyed(max(1, plan.units // (SHARDS_A_PART * division.part.count)))
    if division.vocabulary is not None:
        plan = replace(plan, vocabulary=followed(plan.vocabulary, division.vocabulary))
    return Whole(plan, {"contents": watched.contents, "shards": plan.to_arrays()["shards"]})


def borrow_plan(division: Division, identity: dict[str, Any]) -> Whole | None:
    """The plan that another part was made by; it must be of the same model, text and settings."""
    if division.index_of is None or division.part is None:
        return None
    theirs = division.index_of / "state"
    if not ((theirs / PLAN).is_file() and (theirs / TEXTS).is_file()):
        raise InputError(
            f"{division.index_of}: --index-of needs the run of another part, with its state/: check the path.",
            code="not_found",
            parameter="index_of",
        )
    arrays, about = load(theirs / PLAN)
    unlike = [name for name, value in identity.items() if name != "part" and about["settings"].get(name) != value]
    if unlike:
        raise InputError(
            f"{division.index_of}: parts of one text share model, text and settings; {unlike[0]} is another: make the "
            "plan anew without --index-of.",
            code="other_run",
            parameter="index_of",
        )
    texts, _ = load(theirs / TEXTS)
    return Whole(Plan.from_arrays({**arrays, "shards": texts["shards"]}, about["dropped"]), texts)


def followed(found: Vocabulary, words: Sequence[str]) -> Vocabulary:
    """The named words with their counts in the text, in the order in which they are named."""
    ids = found.ids(words)
    counts, contexts = (np.where(ids >= 0, column[ids], 0) for column in (found.counts, found.contexts))
    return Vocabulary(words, counts, contexts)


def part_of(plan: Plan, part: TextPart) -> Plan:
    """The plan with the shards of one part, numbered anew; all else is the whole text's."""
    if len(plan.shards) < part.count:
        raise LimbeckError(
            f"--part {part} needs a text of at least {part.count} documents that can be read apart; this one has "
            f"{len(plan.shards)}: ask for fewer parts.",
            code="too_few",
            parameter="part",
        )
    ends = np.cumsum([shard.units for shard in plan.shards])
    middles = ends - np.array([shard.units for shard in plan.shards]) / 2
    belongs = np.minimum((middles * part.count / max(int(ends[-1]), 1)).astype(int), part.count - 1)
    if len(np.unique(belongs)) < part.count:  # a document as large as a part: by number then
        belongs = np.arange(len(plan.shards)) * part.count // len(plan.shards)
    own = [plan.shards[place] for place in np.flatnonzero(belongs == part.number - 1)]
    return replace(plan, shards=tuple(replace(shard, number=number) for number, shard in enumerate(own)))


def save_whole(
    state: Path, identity: dict[str, Any], plan: Plan, made: Sequence[Accumulator], dropped: dict[str, int]
) -> None:
    """The state of a complete pass, as if it had been made in one."""
    saved = Checkpoint(state, identity)
    saved.save_plan(plan)
    saved.open(plan, made)
    saved.save_part(Part(0, len(plan.shards)), made, dropped)


def with_choice(everything: Plan, choice: Choice) -> Plan:
    """The plan that a survey with this choice would have made, out of one that follows every word."""
    found = everything.vocabulary
    words = choose_words(found.words, found.counts, found.contexts, choice)
    return replace(everything, vocabulary=words)


def texts_beside(state: Path, target: Path) -> None:
    """Put what the survey knows of the texts into a run's own state."""
    arrays, _ = load(state / TEXTS)
    target.mkdir(parents=True, exist_ok=True)
    save(target / TEXTS, arrays)
