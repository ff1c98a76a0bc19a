"""One pass for many: consumers that each have a command of their own share the reading of one text by one model.

The pass fills, for each consumer, the state that its own command would have had at the end of its own pass; then that
command goes on from there as if it had been stopped at that moment. So what it writes is what it always writes.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.corpus import Corpus
from limbeck.corpus.units import SENTENCE_BITS, TextUnit, texts_of
from limbeck.encoders.protocol import Encoder, as_encoder
from limbeck.errors import LimbeckError, UsageError
from limbeck.runs.execution.execute import complete
from limbeck.runs.execution.folders import RunFolder, check_target, room_in
from limbeck.runs.execution.input_guard import steady
from limbeck.runs.execution.parts import TEXTS, Watched
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.execution.views import View, ViewedConsumer, viewed
from limbeck.runs.repairing.frequencies import EVERY_WORD
from limbeck.seeds import hash_text
from limbeck.state import save, write_text
from limbeck.stream import Choice, Consumer, Plan, TextSource, run_pass, survey
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.context import RunContext, silent
from limbeck.stream.run import identity_of
from limbeck.stream.workers import Workers

EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=EVERY_WORD)
SHARED = "shared"  #: in the state of the first consumer: the pass, while it lasts
FILLED = "filled"  #: in the state of a consumer until it is done: the pass has given it all it needs


@dataclass(frozen=True)
class Reading:
    """What the consumers share: one text, read by one model in one way."""

    corpus: Corpus
    encoder: Encoder
    text_unit: TextUnit = "sentence"
    batch_tokens: int | None = None
    model: str = ""  # as it was named
    units_asked: bool = False  # whether words or pieces were asked for, or are the model's own choice

    def __post_init__(self) -> None:
        object.__setattr__(self, "encoder", as_encoder(self.encoder))

    def source(self, layers: str | Sequence[str] | None) -> TextSource:
        """The text read with these layers; a model that has no choice of layers has its own."""
        has_own = layers is None and not self.encoder.chooses_layers
        encoder = self.encoder if has_own else self.encoder.with_layers(layers)
        return TextSource(self.corpus, encoder, self.text_unit, self.batch_tokens)


def run_jobs(
    jobs: Sequence[SharedRun[Any]],
    open_reading: Callable[[], Reading],
    *,
    existing: str = "fail",
    workers: int | Workers = 0,
    progress: bool = False,
    tell: Callable[[str], None] = lambda line: None,
) -> list[RunResult]:
    """Read the text once for all jobs, and let each finish into its folder; the result of each.

    A run that was stopped goes on (`existing="resume"`): jobs that are done are looked at, others take what the pass
    has given them already.
    """
    if not jobs:
        raise UsageError("a pipeline must have at least one run, it has none: add one.", code="empty")
    places = [Path(job.out).resolve() for job in jobs]
    for job, place in zip(jobs, places, strict=True):
        if places.count(place) > 1:
            raise UsageError(
                f"{job.title}: every run needs a separate folder; two have {job.out}: name another.",
                code="twice",
                parameter="out",
            )
        check_target(job.out, existing=existing)
    with ExitStack() as stack:
        processes = workers if isinstance(workers, Workers) else stack.enter_context(Workers(workers))
        folders = [stack.enter_context(RunFolder(job.out, existing=existing)) for job in jobs]
        reading = open_reading()
        for job, folder in zip(jobs, folders, strict=True):
            job.join_pass(reading, folder)
        waiting = [job for job in jobs if not job.folder.complete and not (job.folder.state / FILLED).is_file()]
        context = RunContext(processes, progress, tell)
        if waiting:
            with steady(reading), room_in(waiting[0].folder.target):
                share_pass(waiting, reading, context)
        failed: list[LimbeckError] = []
        results: list[RunResult] = []
        for job in jobs:
            try:
                results.append(finish(job, context))
            except LimbeckError as error:  # the others have had their pass, and are not to lose it
                failed.append(error)
        if failed:
            raise failed[0]
        return results


def finish(job: SharedRun[Any], context: RunContext) -> RunResult:
    """What is left for a job after the pass; of one that was done before, a look at whether it is the same."""
    if job.folder.complete:
        job.check_complete(job.folder)
        found: RunResult = job.load(job.folder.target)
        context.notify(f"{job.title}: complete already: {job.out}")
        return found
    for line in job.beyond_pass():
        context.notify(f"{job.title}: {line}")
    job.folder.passing += [f"state/{FILLED}", f"state/{SHARED}"]
    result: RunResult = complete(job, job.folder, replace(context, notify=silent))
    context.notify(f"{job.title}: {job.out}")
    return result


def share_pass(jobs: Sequence[SharedRun[Any]], reading: Reading, context: RunContext) -> None:
    """The one pass, and what it gives put where each job will look for it."""
    names = dict.fromkeys(layer for job in jobs for layer in job.source.layers)
    source = reading.source(list(names) if reading.encoder.chooses_layers else None)
    state = jobs[0].folder.state / SHARED
    told = identities_of(jobs)
    identity = identity_of(source, told)
    plans = Plans(source, Checkpoint(state, identity), replace(context, shard_units=shard_units_of(jobs, context)))
    shared = plans.known(deduplicate=True)
    again = any(job.reads_duplicates for job in jobs)
    accumulators: list[Accumulator] = []
    consumers: list[Consumer] = []
    counts: list[int] = []
    for job in jobs:
        plan = job.choose(plans.known(deduplicate=job.deduplicate), state=state)
        places = [source.layers.index(layer) for layer in job.source.layers]
        view = View(shared, plan, layers=places, duplicates=job.reads_duplicates, seed=job.seed)
        own = viewed(job.accumulators(), view)
        counts.append(len(own))
        accumulators += own
        consumers += [ViewedConsumer(consumer, view) for consumer in job.consumers()]
    for_whom = "1 run" if len(jobs) == 1 else f"{len(jobs)} runs"
    context.notify(f"{shared.units:,} words in {shared.texts:,} texts, read once for {for_whom}")
    passed = run_pass(
        source,
        accumulators,
        context=replace(context, checkpoint=state),
        plan=shared,
        consumers=consumers,
        settings=told,
        read_duplicates=again,
    )
    lost = dropped_in_duplicates(source, shared) if again and passed.dropped else Counter()
    filled = iter(passed.accumulators)
    for job, count in zip(jobs, counts, strict=True):
        made = [next(filled).accumulator for _ in range(count)]  # type: ignore[attr-defined]
        dropped = Counter(passed.dropped) - (Counter() if job.reads_duplicates else lost)
        job.fill(made, dict(dropped))
    for job in jobs:
        job.folder.state.mkdir(parents=True, exist_ok=True)
        write_text(job.folder.state / FILLED, "")
    rmtree(state)


def identities_of(jobs: Sequence[SharedRun[Any]]) -> dict[str, Any]:
    """Who shares a pass, by command and folder, and what each wants of it, as a hash."""
    names = [f"{job.command} into {job.out}" for job in jobs]
    wanted = [json.dumps(job.identity(), sort_keys=True, default=str) for job in jobs]
    hashes = {name: f"{hash_text(text):016x}" for name, text in zip(names, wanted, strict=True)}
    return {"consumers": names, **hashes}


class Plans:
    """What the text holds, with texts that repeat an earlier one left out or not; surveyed when first asked for."""

    def __init__(self, source: TextSource, saved: Checkpoint, context: RunContext) -> None:
        self._source, self._saved, self._context = source, saved, context
        self._known: dict[bool, Plan] = {}

    def known(self, *, deduplicate: bool) -> Plan:
        if deduplicate not in self._known:
            self._known[deduplicate] = self._look(deduplicate)
        return self._known[deduplicate]

    def _look(self, deduplicate: bool) -> Plan:
        saved = self._saved if deduplicate else Checkpoint(self._saved.folder / "all", self._saved.settings)
        plan = saved.load_plan()
        if plan is None:
            watched = Watched(self._source)
            plan = survey(watched, choice=EVERYTHING, deduplicate=deduplicate, context=self._context)
            if deduplicate:
                saved.folder.mkdir(parents=True, exist_ok=True)
                save(saved.folder / TEXTS, {"contents": watched.contents, "shards": plan.to_arrays()["shards"]})
            saved.save_plan(plan)  # last: what has a plan has all that belongs to it
        return plan


def shard_units_of(jobs: Sequence[SharedRun[Any]], context: RunContext) -> int | None:
    """Words a shard: as few as one of the jobs needs; None where none minds."""
    asked = [context.shard_units, *(job.shard_units for job in jobs)]
    return min((units for units in asked if units is not None), default=None)


def dropped_in_duplicates(source: TextSource, plan: Plan) -> Counter[str]:
    """What has no vector in texts that repeat an earlier one, which not every consumer reads. Needs no device."""
    total: Counter[str] = Counter()
    repeated = set(plan.duplicates.tolist())
    documents = {identity >> SENTENCE_BITS for identity in repeated}
    if not documents:
        return total
    for raw in source.corpus.documents(min(documents), max(documents) + 1):
        if raw.number in documents:
            texts = texts_of(source.corpus.parse(raw), source.text_unit)
            total.update(source.encoder.prepare([text for text in texts if text.identity in repeated]).dropped)
    return total
