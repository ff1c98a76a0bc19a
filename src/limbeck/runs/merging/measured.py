"""Measuring runs of parts of a text into one: the sums of all parts, and what a run over the whole makes of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.accumulators import Accumulator, Points
from limbeck.errors import InputError
from limbeck.reporting.page.sections.words import CLOUDS
from limbeck.runs.execution.parts import TEXTS, save_whole
from limbeck.runs.measure import MeasureResult, MeasureSettings
from limbeck.runs.measuring.compute import check_any
from limbeck.runs.measuring.results import compute
from limbeck.runs.measuring.sample import SIZE
from limbeck.runs.measuring.sums import accumulators_for
from limbeck.runs.merging.sides import Side, check_model, joined_plan, record_in
from limbeck.state import load, save
from limbeck.stream import Passed, Plan, Source
from limbeck.stream.checkpoint import PARTS, Part, gaps, merge_into, restored
from limbeck.stream.context import RunContext
from limbeck.stream.progress import Progress
from limbeck.tables import read_parquet
from limbeck.vectors.damaged import told_as_damage

#: what to do with runs of commands that keep nothing that could be merged
INSTEAD = "encode the parts (`limbeck encode --part K/N`), merge those, and give the result as --vectors"


def merge_measured(folders: Sequence[Path], context: RunContext, *, options: Mapping[str, Any]) -> MeasureResult:
    """Runs of `limbeck measure` into one; one state at a time is in memory beside the sum of them."""
    records = [record_in(path) for path in folders]
    with told_as_damage(" and ".join(map(str, folders)), "runs that can be merged", "make the runs again"):
        for path, record in zip(folders, records, strict=True):
            if record.get("command") != "measure":
                raise InputError(
                    f"{path}: a run of limbeck {record.get('command')} keeps nothing to merge: {INSTEAD}.",
                    code="not_mergeable",
                )
            if "vectors" in record["source"] and "part" not in record:
                raise InputError(
                    f"{path}: measured on cached vectors: merge these, and measure what comes out.",
                    code="not_mergeable",
                )
            check_model(folders[0], records[0], path, record)
        index, identity, sides = joined_plan([Side.read(*pair) for pair in zip(folders, records, strict=True)])
        record = sides[0].told
        settings = MeasureSettings(**record["settings"])
        origin = together(sides)  # what is made of the records is found out before the states are read
    if settings.two_pass:
        raise InputError(
            f"{sides[0].folder}: measured with --two-pass, whose I(W) is of the part's own directions: measure the "
            "parts without it.",
            code="not_mergeable",
            parameter="two_pass",
        )
    shape = {"layers": len(record["layers"]), "dim": record["dim"]}
    made = accumulators_for(index, **shape, settings=settings)
    dropped: Counter[str] = Counter()
    sentences: dict[int, str] = {}
    with Progress("merging", total=len(sides), unit="runs", show=context.progress) as bar:
        for side in sides:
            states, lost = state_of(side, accumulators_for(side.plan, **shape, settings=settings))
            sentences |= sentences_in(side, states)
            # a smaller part keeps fewer occurrences than the whole: the same state, in the whole's own room
            merge_into(made, [type(a).from_state(b.state(), **a.settings()) for a, b in zip(made, states, strict=True)])
            dropped.update(lost)
            bar.advance(1)
    passed = Passed(index, made, dict(dropped), sum(float(side.told.get("seconds", 0)) for side in sides))
    source = MergedSource(record["name"], tuple(record["layers"]), record["dim"], origin)
    check_any(passed, Source.remedy)
    measured = compute(source.name, source.layers, index, made, settings)
    facts = {"merged": about_merge(sides)} | ({"part": identity["part"]} if "part" in identity else {})
    if context.checkpoint is not None:
        save_whole(context.checkpoint, identity, index, made, dict(dropped))
        save_texts(context.checkpoint, sides, index)
    return MeasureResult.of(measured, passed, source, settings, texts=sentences, options=options, facts=facts)


def state_of(side: Side, kinds: Sequence[Accumulator]) -> tuple[list[Accumulator], dict[str, int]]:
    """The filled accumulators of a run, and what had no vector in it. Nothing of the run is touched."""
    ranges = sorted(part for file in (side.state / PARTS).glob("*.npz") if (part := Part.named(file)) is not None)
    if gaps(ranges, len(side.plan.shards)):
        raise InputError(
            f"{side.folder}: its state does not cover its text: run it again, or copy the whole folder.",
            code="incomplete",
        )
    found: list[Accumulator] = []
    dropped: Counter[str] = Counter()
    for number, part in enumerate(ranges):
        arrays, about = load(side.state / PARTS / part.file)
        states = restored(kinds, arrays, [entry["settings"] for entry in about["accumulators"]])
        dropped.update(about["dropped"])
        if number:
            merge_into(found, states)
        else:
            found = states
    return found, dict(dropped)


def save_texts(state: Path, sides: Sequence[Side], plan: Plan) -> None:
    """What the texts say, so that what was merged can be merged again."""
    contents = np.unique(np.concatenate([side.texts["contents"] for side in sides]))
    shards = sides[0].texts["shards"] if sides[0].parts else plan.to_arrays()["shards"]
    save(state / TEXTS, {"contents": contents, "shards": shards})


def sentences_in(side: Side, states: Sequence[Accumulator]) -> dict[int, str]:
    """Sentences that a run has written down with its occurrences, by identity; none where it was asked not to."""
    points = next(a for a in states if type(a) is Points)
    order = points.order
    said = column_of(side.folder / "sample.parquet", "sentence")[:: points.layers]
    found = dict(zip(points.sentences[order[:SIZE]].tolist(), said, strict=True))
    if (side.folder / CLOUDS).is_file():
        slots: dict[str, list[int]] = {}
        for slot in order[points.words[order] >= 0].tolist():
            slots.setdefault(side.plan.vocabulary.words[int(points.words[slot])], []).append(slot)
        columns = (column_of(side.folder / CLOUDS, name) for name in ("word", "occurrence", "sentence"))
        for word, number, sentence in zip(*columns, strict=True):
            found[int(points.sentences[slots[word][number]])] = sentence
    return {identity: sentence for identity, sentence in found.items() if sentence}


def column_of(file: Path, name: str) -> list[Any]:
    column: list[Any] = read_parquet(file, [name]).to_pydict()[name]
    return column


@dataclass(frozen=True)
class MergedSource:
    """What the parts were read from, for the record."""

    name: str
    layers: tuple[str, ...]
    dim: int
    told: dict[str, Any]

    def describe(self) -> dict[str, Any]:
        return self.told


def together(sides: Sequence[Side]) -> dict[str, Any]:
    """What the sides say of their model and text; of texts of their own, all of them."""
    told = dict(sides[0].told["source"])
    if not sides[0].parts:
        for name in ("corpus", "corpus_fingerprint"):
            own = [side.told["source"].get(name) for side in sides]
            told[name] = [one for some in own for one in (some if isinstance(some, list) else [some])]
    return told


def about_merge(sides: Sequence[Side]) -> dict[str, Any]:
    """What a reader of the record should know of the merge."""
    told: dict[str, Any] = {"runs": [str(side.folder) for side in sides]}
    if sides[0].parts:
        told |= {"parts": [str(part) for side in sides for part in side.parts]}
    else:
        told["not_known"] = {"distinct_words": "at least those of the part with most: words not followed are not kept"}
    return told
