"""The pass, written once: every batch of every shard goes to every consumer."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.corpus import Corpus
from limbeck.encoders.protocol import Encoder, EncoderLike, as_encoder
from limbeck.errors import choose
from limbeck.stream.checkpoint import Checkpoint, gaps
from limbeck.stream.context import RunContext
from limbeck.stream.filling import Consumer, Work
from limbeck.stream.local import run_local
from limbeck.stream.plan import Choice, Plan, make_plan
from limbeck.stream.progress import Progress
from limbeck.stream.sources import Source, TextSource, device_of
from limbeck.stream.workers import Workers

ENGINES = ("local", "ray")
#: units a shard: about a minute of a large model's work
SHARD_UNITS = {"cpu": 20_000, "cuda": 500_000}


@dataclass
class Passed:
    """What a pass leaves: filled accumulators, and an account of what had no vector."""

    plan: Plan
    accumulators: list[Accumulator]
    dropped: dict[str, int] = field(default_factory=dict)  # reason -> units
    seconds: float = 0.0


def stream(
    corpus: Corpus | str | Path | Sequence[Sequence[str]],
    encoder: EncoderLike | Callable[..., Any] | str,
    accumulators: Sequence[Accumulator] | Callable[[Plan], Sequence[Accumulator]],
    *,
    text_unit: str = "sentence",
    engine: str = "local",
    out: str | Path | None = None,
    batch_tokens: int | None = None,
    workers: int = 0,
    seed: int = 0,
    choice: Choice | None = None,
    deduplicate: bool = True,
    progress: bool = False,
) -> list[Accumulator]:
    """Read a corpus through an encoder once, and fill the accumulators.

    Accumulators that need the vocabulary are made by a function of the plan. With `out` the pass is resumable: call
    it again with the same arguments. An encoder may be a name or folder, an Encoder, or a function of texts.

    >>> import numpy as np
    >>> import limbeck as lb
    >>> sentences = [["a", "b"], ["b", "c", "a"]]
    >>> moments = lb.accumulators.Moments(layers=1, dim=3)
    >>> filled = lb.stream.stream(sentences, lambda texts: [np.eye(3)[: len(text.words)] for text in texts], [moments])
    >>> filled[0].n
    5
    """
    source = TextSource(_corpus(corpus), _encoder(encoder), choose_unit(text_unit), batch_tokens)
    with running(workers, engine=engine, progress=progress) as context:
        return run_pass(
            source,
            accumulators,
            context=replace(context, checkpoint=None if out is None else Path(out)),
            seed=seed,
            choice=choice or Choice(),
            deduplicate=deduplicate,
        ).accumulators


def run_pass(
    source: Source,
    accumulators: Sequence[Accumulator] | Callable[[Plan], Sequence[Accumulator]],
    *,
    context: RunContext | None = None,
    plan: Plan | None = None,
    consumers: Sequence[Consumer] = (),
    settings: dict[str, Any] | None = None,
    seed: int = 0,
    choice: Choice | None = None,
    deduplicate: bool = True,
    read_duplicates: bool = False,
    start: int = 0,
    dropped: Counter[str] | None = None,
    keep: bool = True,
) -> Passed:
    """See `stream`; the same for any source, with a plan or consumers of one's own.

    With `read_duplicates` texts that repeat an earlier one are found but read all the same. `start` is the first shard
    to be read, for consumers that keep their own state, and `dropped` what those before it had without a vector, by
    reason, to which shards add theirs before consumers are told of their end; a checkpoint's says more. With a
    checkpoint or on Ray accumulators must come empty, and the filled ones are those that are given back. Without `keep`
    the state of the whole is not saved at the end where little work would be lost.
    """
    began = time.monotonic()
    context = context or RunContext()
    saved = None
    if context.checkpoint is not None:
        identity = identity_of(source, settings, seed=seed, choice=choice, deduplicate=deduplicate)
        saved = Checkpoint(context.checkpoint, identity)
    if plan is None:
        plan = saved.load_plan() if saved else None
    if plan is None:
        plan = survey(source, choice=choice or Choice(), deduplicate=deduplicate, context=context)
        if saved:
            saved.save_plan(plan)
    made = list(accumulators(plan) if callable(accumulators) else accumulators)
    work = Work(
        source,
        replace(plan, duplicates=plan.duplicates[:0]) if read_duplicates else plan,
        made,
        consumers,
        saved,
        done=saved.open(plan, made) if saved else [],
        dropped=Counter() if dropped is None else dropped,
        seed=seed,
        keep=keep,
    )
    if saved:
        work.dropped.update(saved.dropped_in(work.done))
    work.missing = gaps(work.done, len(plan.shards), start=start)
    left = sum(shard.units for part in work.missing for shard in plan.shards[part.first : part.stop])
    with Progress(source.name, total=plan.units, done=max(plan.units - left, 0), show=context.progress) as bar:
        if context.workers.engine == "ray":
            from limbeck.stream.driver import run_on_ray
            from limbeck.stream.ray import RayWorkers

            assert isinstance(context.workers, RayWorkers)
            made = run_on_ray(work, bar, context.workers, every=context.save_every)
        else:
            made = run_local(work, bar, workers=context.workers, every=context.save_every)
    return Passed(plan, made, dict(work.dropped), time.monotonic() - began)


@contextmanager
def running(workers: int | Workers = 0, *, engine: str = "local", progress: bool = False) -> Iterator[RunContext]:
    """A context with workers that are there already, or with so many of an engine that end with it."""
    if isinstance(workers, Workers):
        yield RunContext(workers, progress)
        return
    with workers_of(engine, workers) as started:
        yield RunContext(started, progress)


def workers_of(engine: str, count: int | None = None, **options: Any) -> Workers:
    """Workers of an engine; the options are those of `limbeck.stream.ray.RayWorkers`, of which "local" has none."""
    if choose(engine, ENGINES, what="--engine") == "local":
        return Workers(count or 0)
    from limbeck.stream.ray import RayWorkers

    return RayWorkers(count, **options)


def identity_of(
    source: Source,
    settings: dict[str, Any] | None = None,
    *,
    seed: int = 0,
    choice: Choice | None = None,
    deduplicate: bool = True,
) -> dict[str, Any]:
    """All that a pass depends on, by the names under which a change is told to the user."""
    told = source.describe()
    parts = {"model": "encoder_fingerprint", "text": "corpus_fingerprint", "text unit": "text_unit"}
    made_of = {name: told[key] for name, key in parts.items() if key in told}
    made_of |= settings or {}
    return made_of | {
        "seed": seed,
        "choice": repr(choice),
        "deduplicate": deduplicate,
        "source": source.fingerprint,
    }


def survey(source: Source, *, choice: Choice, deduplicate: bool = True, context: RunContext | None = None) -> Plan:
    """The planning pass over a source."""
    context = context or RunContext()
    size = context.shard_units or SHARD_UNITS.get(device_of(source), SHARD_UNITS["cpu"])
    with Progress("planning", show=context.progress) as bar:

        def watched() -> Iterator[Any]:
            for found in source.survey(workers=context.workers):
                bar.advance(len(found.units))
                yield found

        return make_plan(watched(), choice=choice, shard_units=size, deduplicate=deduplicate)


def choose_unit(unit: str) -> Any:
    return choose(unit, ("sentence", "paragraph", "document"), what="text unit")


def _corpus(corpus: Any) -> Corpus:
    if isinstance(corpus, Corpus):
        return corpus
    if isinstance(corpus, str | Path):
        return Corpus(corpus)
    return Corpus.from_sentences(corpus)


def _encoder(encoder: Any) -> Encoder:
    if not isinstance(encoder, str | Path):
        return as_encoder(encoder)
    from limbeck.encoders import load_encoder

    return load_encoder(encoder)
