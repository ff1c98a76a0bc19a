"""Runs of parts of a text, made anywhere, into one run of the whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.accumulators import Accumulator, Points
from limbeck.errors import InputError, UsageError
from limbeck.extras import need
from limbeck.parameters import takes
from limbeck.reporting.page.sections.words import CLOUDS
from limbeck.runs.execution.execute import write
from limbeck.runs.execution.folders import RunFolder
from limbeck.runs.execution.parts import TEXTS, TextPart, save_whole
from limbeck.runs.measure import MeasureResult, MeasureSettings
from limbeck.runs.measuring.compute import check_any
from limbeck.runs.measuring.results import compute
from limbeck.runs.measuring.sample import SIZE
from limbeck.runs.measuring.sums import accumulators_for
from limbeck.runs.merging.sides import Side, check_model, joined_plan, record_in, refuse
from limbeck.runs.merging.vectors import merge_vectors
from limbeck.state import load, save
from limbeck.stream import Passed, Plan
from limbeck.stream.checkpoint import PARTS, Part, gaps, merge_into, restored
from limbeck.stream.progress import Progress
from limbeck.vectors.arrays import read_json
from limbeck.vectors.damaged import told_as_damage
from limbeck.vectors.writer import DESCRIPTION

#: what to do with runs of commands that keep nothing that could be merged
INSTEAD = "encode the parts (`limbeck encode --part K/N`), merge those, and give the result as --vectors"


@takes()
def merge(
    *runs: str | Path,
    out: str | Path,
    existing: str = "fail",
    progress: bool = False,
    draw: Callable[[Path], object] | None = None,
) -> MeasureResult | Path:
    """One run out of runs of parts of a text: what a run over all of it would have written.

    runs  folders of `limbeck measure` or of `limbeck encode`, made with `part`, or with `vocabulary` and
          `first_document`; what does not belong together is refused
    draw  called with the folder before it is put in its place

    What was measured is given back; of kept vectors, the folder.
    """
    paths = [Path(run).expanduser() for run in runs]
    if len(paths) < 2:
        raise UsageError(f"at least two runs are merged; got {len(paths)}.")
    for path in paths:
        if not path.is_dir():
            raise InputError(f"{path}: the folder of a finished run is needed, nothing is there: check the path.")
    kept = [(path / DESCRIPTION).is_file() for path in paths]
    if any(kept) and not all(kept):
        a, b = paths[kept.index(True)], paths[kept.index(False)]
        refuse(a, b, "the one holds kept vectors, the other a run")
    with RunFolder(out, existing=existing) as folder:
        if folder.complete:
            raise InputError(f"{out}: it is complete already: --existing=replace, or another --out.")
        if kept[0]:
            return merge_vectors(paths, folder, progress=progress)
        return merge_measured(paths, folder, progress=progress, draw=draw)


def merge_measured(
    folders: Sequence[Path],
    folder: RunFolder,
    *,
    progress: bool = False,
    draw: Callable[[Path], object] | None = None,
) -> MeasureResult:
    """Runs of `limbeck measure` into one, in its folder; one state at a time is in memory beside the sum of them."""
    records = [record_in(path) for path in folders]
    with told_as_damage(" and ".join(map(str, folders)), "runs that can be merged", "make the runs again"):
        for path, told in zip(folders, records, strict=True):
            if told.get("command") != "measure":
                raise InputError(f"{path}: a run of limbeck {told.get('command')} keeps nothing to merge: {INSTEAD}.")
            if "vectors" in told["source"] and "part" not in told:
                raise InputError(f"{path}: measured on kept vectors: merge these, and measure what comes out.")
            check_model(folders[0], records[0], path, told)
        plan, identity, sides = joined_plan([Side.read(*pair) for pair in zip(folders, records, strict=True)])
        told = sides[0].told
        settings = MeasureSettings(**told["settings"])
        together(sides)  # what is made of the records is found out before the states are read
    if settings.two_pass:
        raise InputError(
            f"{sides[0].folder}: measured with --two-pass, whose I(W) is of the part's own directions: measure the "
            "parts without it."
        )
    shape = {"layers": len(told["layers"]), "dim": told["dim"]}
    made = accumulators_for(plan, **shape, settings=settings)
    dropped: Counter[str] = Counter()
    sentences: dict[int, str] = {}
    with Progress("merging", total=len(sides), unit="runs", show=progress) as bar:
        for side in sides:
            states, lost = state_of(side, accumulators_for(side.plan, **shape, settings=settings))
            sentences |= sentences_in(side, states)
            # a smaller part keeps fewer occurrences than the whole: the same state, in the whole's own room
            merge_into(made, [type(a).from_state(b.state(), **a.settings()) for a, b in zip(made, states, strict=True)])
            dropped.update(lost)
            bar.advance(1)
    passed = Passed(plan, made, dict(dropped), sum(float(side.told.get("seconds", 0)) for side in sides))
    source = MergedSource(told["name"], tuple(told["layers"]), told["dim"], together(sides))
    check_any(passed, source)
    measured = compute(source.name, source.layers, plan, made, settings)
    facts = {"merged": about_merge(sides)} | ({"part": identity["part"]} if "part" in identity else {})
    result = MeasureResult.of(measured, passed, source, settings, texts=sentences, options={}, facts=facts)
    write(result, folder.unfinished, figures=False)
    save_whole(folder.state, identity, plan, made, dict(dropped))
    save_texts(folder.state, sides, plan)
    if draw is not None:
        draw(folder.unfinished)
    folder.finish()
    return result


def state_of(side: Side, kinds: Sequence[Accumulator]) -> tuple[list[Accumulator], dict[str, int]]:
    """The filled accumulators of a run, and what had no vector in it. Nothing of the run is touched."""
    ranges = sorted(part for file in (side.state / PARTS).glob("*.npz") if (part := Part.named(file)) is not None)
    if gaps(ranges, len(side.plan.shards)):
        raise InputError(f"{side.folder}: its state does not cover its text: run it again, or copy the whole folder.")
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
    parquet = need("pyarrow.parquet", purpose="Reading Parquet")
    column: list[Any] = parquet.read_table(file, columns=[name]).to_pydict()[name]
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


def missing_of(folder: str | Path) -> list[int]:
    """Numbers of the parts that a merged run lacks; none of a run of the whole."""
    folder = Path(folder)
    kept = folder / DESCRIPTION
    told = read_json(kept).get("about", {}) if kept.is_file() else record_in(folder)
    have = [TextPart.parse(part) for part in str(told.get("part", "")).split(",") if part]
    return [number for number in range(1, have[0].count + 1) if number not in {p.number for p in have}] if have else []
