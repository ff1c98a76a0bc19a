"""What must hold for runs to be merged: one model, one way of measuring, parts that do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.formats import ReadingRules
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.errors import InputError
from limbeck.places import missing_run
from limbeck.record import read_record
from limbeck.runs.execution.parts import TEXTS, TextPart
from limbeck.seeds import hash_text
from limbeck.state import load
from limbeck.stream import Plan, Shard
from limbeck.stream.checkpoint import PLAN

#: what a text is read by; runs that read differently do not belong together
READING = ("lowercase", *(one.name for one in fields(ReadingRules)))
#: of an identity: told by what the run's record says of them, or compared apart
OF_THE_TEXT = ("text", "source", "part")
HOW = "make the parts with --part K/N of one text, or with one --vocabulary and --first-document"


@dataclass(frozen=True)
class Side:
    """One of the runs that are to be merged.

    folder    as it was named
    told      its run.json
    identity  all that its numbers depend on
    plan      of its pass; of a part of a text, with the shards that it has read
    """

    folder: Path
    told: dict[str, Any]
    identity: dict[str, Any]
    plan: Plan

    @classmethod
    def read(cls, folder: Path, told: dict[str, Any]) -> Side:
        """A finished run that has kept its state."""
        path = folder / "state" / PLAN
        if not path.is_file():
            raise InputError(
                f"{folder}: a run must have its state/ to be merged, this one has none: run it again.",
                code="incomplete",
            )
        arrays, about = load(path)
        return cls(folder, told, about["settings"], Plan.from_arrays(arrays, about["dropped"]))

    @property
    def state(self) -> Path:
        return self.folder / "state"

    @property
    def parts(self) -> list[TextPart]:
        """Which parts of its text it has read; none where that is not said, and the text was read whole."""
        return [TextPart.parse(part) for part in str(self.identity.get("part", "")).split(",") if part]

    @property
    def documents(self) -> tuple[int, int]:
        """Number of its first document, and one past the last."""
        return self.plan.shards[0].start, self.plan.shards[-1].stop

    @cached_property
    def texts(self) -> dict[str, NDArray[Any]]:
        """What its texts say, as hashes (`contents`), and the shards of the whole text (`shards`)."""
        path = self.state / TEXTS
        if not path.is_file():
            raise InputError(
                f"{path}: it says which texts a run has read, and is not there: run it again.", code="incomplete"
            )
        return load(path)[0]

    @property
    def whole_plan(self) -> Plan:
        """The plan of the text that it has read a part of."""
        return replace(self.plan, shards=shards_of(self.texts["shards"]))


def shards_of(rows: NDArray[np.int64]) -> tuple[Shard, ...]:
    return tuple(Shard(number, *row) for number, row in enumerate(rows.tolist()))


def record_in(folder: Path) -> dict[str, Any]:
    """What a finished run says of itself."""
    if not (folder / "run.json").is_file():
        raise missing_run(
            folder, "the folder of a finished run is needed", "this is none: check the path", parameter="runs"
        )
    return read_record(folder / "run.json")


def check_model(a: Path, one: dict[str, Any], b: Path, other: dict[str, Any]) -> None:
    """Refuse runs of other models, layers or ways to read a text; both sides are named."""
    for name in ("command", "name", "layers", "dim"):
        if one.get(name) != other.get(name):
            what = {"name": "the model", "dim": "the dimension", "command": "the command"}.get(name, name)
            refuse(a, b, f"{what} is {_shown(one.get(name))} here and {_shown(other.get(name))} there")
    mine, theirs = one["source"], other["source"]
    if mine.get("text_unit") != theirs.get("text_unit"):
        refuse(a, b, f"the text unit is {mine.get('text_unit')} here and {theirs.get('text_unit')} there")
    if mine.get("repairs") != theirs.get("repairs"):
        refuse(a, b, "their vectors are repaired in other ways")
    settings, others = mine.get("encoder_settings") or {}, theirs.get("encoder_settings") or {}
    unlike = [name for name in settings if name != "device" and settings[name] != others.get(name)]
    if unlike:
        name = unlike[0]
        refuse(a, b, f"{name} is {_shown(settings[name])} here and {_shown(others.get(name))} there")
    if mine.get("encoder_fingerprint") != theirs.get("encoder_fingerprint"):
        refuse(a, b, f"the weights of {one['name']} are others")
    text, texts = (first_of(side.get("corpus")) for side in (mine, theirs))
    unlike = [name for name in READING if text.get(name) != texts.get(name)]
    if unlike:
        name = unlike[0]
        refuse(a, b, f"{name} of the text is {_shown(text.get(name))} here and {_shown(texts.get(name))} there")


def first_of(corpus: Any) -> dict[str, Any]:
    """What a record says of a text; of a merged run's texts, which were all read alike, of the first."""
    found: dict[str, Any] = (corpus[0] if isinstance(corpus, list) else corpus) or {}
    return found


def check_settings(one: Side, other: Side) -> None:
    """Refuse runs with other settings."""
    # the choice of words repeats what single settings say better
    for name in sorted({**one.identity, **other.identity}, key=lambda name: (name == "choice", name)):
        mine, theirs = one.identity.get(name), other.identity.get(name)
        if name not in (*OF_THE_TEXT, "vocabulary") and mine != theirs:
            refuse(one.folder, other.folder, f"{name} is {_shown(mine)} here and {_shown(theirs)} there")


def refuse(a: Path, b: Path, what: str) -> None:
    raise InputError(f"{a} and {b} do not belong together: {what}.", code="not_mergeable", parameter="runs")


def joined_plan(sides: Sequence[Side]) -> tuple[Plan, dict[str, Any], list[Side]]:
    """The plan of all sides together, the identity of the run over it, and the sides in its order.

    Parts of one text have its plan already. Texts of their own must follow each other without overlap.
    """
    first = sides[0]
    for other in sides[1:]:
        check_settings(first, other)
        if bool(first.parts) != bool(other.parts):
            apart, whole = (first, other) if first.parts else (other, first)
            what = f"the one is part {_parts(apart.parts)} of its text, the other a whole one"
            refuse(apart.folder, whole.folder, what)
        if first.parts and first.identity["source"] != other.identity["source"]:
            refuse(first.folder, other.folder, "they are parts of different texts")
    return _of_one_text(sides) if first.parts else _of_several(sides)


def _of_one_text(sides: Sequence[Side]) -> tuple[Plan, dict[str, Any], list[Side]]:
    ordered = sorted(sides, key=lambda side: min(part.number for part in side.parts))
    first = ordered[0]
    count = first.parts[0].count
    for one, other in combinations(ordered, 2):
        if other.parts[0].count != count:
            what = f"the one divides the text into {count} parts, the other into {other.parts[0].count}"
            refuse(one.folder, other.folder, what)
        if both := set(one.parts) & set(other.parts):
            refuse(one.folder, other.folder, f"part {_parts(sorted(both, key=str))} of the text is in both")
        divided = np.array_equal(one.texts["shards"], other.texts["shards"])
        if one.plan.fingerprint != other.plan.fingerprint or not divided:
            what = "their plans of the text differ; it must be planned once, see --index-of"
            refuse(one.folder, other.folder, what)
    parts = sorted({part for side in ordered for part in side.parts}, key=lambda part: part.number)
    identity = {name: value for name, value in first.identity.items() if name != "part"}
    if len(parts) == count:
        return first.whole_plan, identity, ordered
    read = {(shard.start, shard.stop) for side in ordered for shard in side.plan.shards}
    some = [shard for shard in first.whole_plan.shards if (shard.start, shard.stop) in read]
    plan = replace(first.plan, shards=tuple(replace(shard, number=number) for number, shard in enumerate(some)))
    return plan, identity | {"part": _parts(parts)}, ordered


def _of_several(sides: Sequence[Side]) -> tuple[Plan, dict[str, Any], list[Side]]:
    ordered = sorted(sides, key=lambda side: (side.documents, str(side.folder)))
    first = ordered[0]
    words = first.plan.vocabulary.words
    for one, other in combinations(ordered, 2):
        if one.identity["source"] == other.identity["source"]:
            refuse(one.folder, other.folder, "they are of the same text")
        theirs = other.plan.vocabulary.words
        if theirs != words:
            both = len(set(words) & set(theirs))
            what = f"they follow {len(words):,} and {len(theirs):,} words, of which {both:,} are the same; {HOW}"
            refuse(one.folder, other.folder, what)
        (start, end), (begin, _) = one.documents, other.documents
        if begin < end:
            what = f"documents are numbered {start} to {end - 1} in the one and from {begin} in the other; give the "
            what += f"second --first-document {end}"
            refuse(one.folder, other.folder, what)
        shared = len(np.intersect1d(one.texts["contents"], other.texts["contents"], assume_unique=True))
        if shared and one.identity["deduplicate"]:
            sizes = f"{len(one.texts['contents']):,} and of {len(other.texts['contents']):,}"
            what = (
                f"{shared:,} texts of {sizes} are in both and would count twice; --part K/N of all the text finds them"
            )
            refuse(one.folder, other.folder, what)
    plans = [side.plan for side in ordered]
    shards = [shard for plan in plans for shard in plan.shards]
    dropped = {reason: 0 for plan in plans for reason in plan.dropped}
    vocabulary = Vocabulary(
        words, sum(plan.vocabulary.counts for plan in plans), sum(plan.vocabulary.contexts for plan in plans)
    )
    plan = Plan(
        vocabulary=vocabulary,
        shards=tuple(replace(shard, number=number) for number, shard in enumerate(shards)),
        duplicates=np.sort(np.concatenate([plan.duplicates for plan in plans])),
        units=sum(plan.units for plan in plans),
        texts=sum(plan.texts for plan in plans),
        sentences=sum(plan.sentences for plan in plans),
        documents=sum(plan.documents for plan in plans),
        types=max(plan.types for plan in plans),
        dropped={reason: sum(plan.dropped.get(reason, 0) for plan in plans) for reason in dropped},
    )
    together = {name: _together(str(side.identity[name]) for side in ordered) for name in ("text", "source")}
    return plan, {**first.identity, **together}, ordered


def _together(names: Any) -> str:
    return f"{hash_text('+'.join(names)):016x}"


def _parts(parts: Sequence[TextPart]) -> str:
    return ",".join(map(str, parts))


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return f"{value[0]} to {value[-1]}" if len(value) > 4 else ",".join(map(str, value))
    return "not told" if value is None else str(value)
