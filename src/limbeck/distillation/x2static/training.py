"""A whole training: epochs over a source, checkpoints, contexts kept between epochs."""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.methods import Trained
from limbeck.distillation.x2static.cache import FOLDER, ContextCache, cache_bytes, check_room, size
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.group import Group
from limbeck.distillation.x2static.masked import MaskedTargets
from limbeck.distillation.x2static.sampling import keep_probabilities
from limbeck.distillation.x2static.settings import Sent2Vec, Training
from limbeck.distillation.x2static.static_context import NoTeacher
from limbeck.distillation.x2static.trainer import Trainer
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.errors import InputError, UsageError, choose
from limbeck.seeds import generator_for
from limbeck.state import State, load, save
from limbeck.stopping import PutOff
from limbeck.stream.context import RunContext
from limbeck.stream.plan import Plan
from limbeck.stream.progress import Progress
from limbeck.stream.run import identity_of, run_pass
from limbeck.stream.sources import Source, TextSource

STATE = "training.npz"


def train(
    source: Source,
    plan: Plan,
    settings: Training,
    context: RunContext | None = None,
    /,
    *,
    start: NDArray[np.floating] | None = None,
) -> Trained:
    """Train the vectors of the plan's words on a source.

    With a checkpoint, a folder, training is resumable: call it again with the same arguments and get the same vectors.
    With several epochs the contexts of the first are kept there (else in a temporary folder) and removed at the end.
    `start` are vectors (words, d) to begin with.

    Processes of a torch.distributed group, all of which call it with the same arguments, train together: each reads its
    share of the shards and keeps its share of the dimensions, and all are given the vectors that one would have made.
    """
    group = Group()
    context = context or RunContext()
    checkpoint, progress = context.checkpoint, context.progress and group.first
    context = replace(context, progress=progress)
    began = time.monotonic()
    source = _suited(source, plan, settings)
    layer = source.layers.index(choose(settings.layer or source.layers[-1], source.layers, what="layer"))
    dim = settings.dim if isinstance(settings, Sent2Vec) else source.dim
    trainer = Trainer(
        plan.vocabulary.counts,
        dim,
        settings,
        shard_units=np.array([shard.units for shard in plan.shards]),
        device=(source.encoder or source).device,
        layer=layer,
        paragraphs=source.text_unit != "sentence",
        start=start,
        group=group,
    )
    identity = _identity(source, plan, settings, start) | {"number of processes": group.size}
    saved = _Saved(context, identity, trainer)
    epoch, done = saved.load()
    with ExitStack() as stack:
        cache = None
        if settings.keeps_contexts:
            if checkpoint is None:
                folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="limbeck-contexts-")))
            else:
                folder = checkpoint / (FOLDER if group.size == 1 else f"{FOLDER}-{group.rank + 1}-of-{group.size}")
            if epoch < settings.epochs:
                if epoch == 0:
                    needed = cache_bytes(plan, settings, dim, processes=group.size)
                    check_room(folder, needed)
                    if progress:
                        told = size(needed)
                        print(f"contexts for later epochs take about {told} in {folder.parent}", file=sys.stderr)
                cache = ContextCache(folder)
        with saved.when_stopped():
            for number in range(epoch, settings.epochs):
                trainer.epoch = number
                if number == 0 or cache is None:
                    reading = _Reading(trainer, cache, saved, plan, done)
                    share, start_at = reading.share
                    run_pass(
                        source,
                        [],
                        context=context.without_checkpoint(),
                        plan=share,
                        consumers=[reading],
                        start=start_at,
                        dropped=reading.dropped,
                    )
                    reading.finish()
                else:
                    _later_epoch(trainer, cache, saved, plan, done, progress)
                done = 0
                if cache is not None or number + 1 < settings.epochs or saved.behind:
                    saved.save(number + 1, 0)
        if cache is not None:
            cache.remove()
    rows = trainer.losses.rows
    about = {
        "objective": type(settings).__name__.lower(),
        "settings": asdict(settings),
        "layer": source.layers[layer],
        "steps": trainer.step,
        "targets": int(sum(row["targets"] for row in rows)),
        "occurrences_seen": trainer.seen,
        "occurrences_without_vector": max(plan.units - trainer.seen, 0),
        "dropped": dict(saved.dropped),
        "processes": group.size,
        "started_from": "random" if start is None else "given vectors",
        "seconds": time.monotonic() - began,
    }
    return Trained(trainer.matrix(), list(rows), about)


def _suited(source: Source, plan: Plan, settings: Training) -> Source:
    """The source with a teacher that gives what the settings need, and no more."""
    if isinstance(settings, Sent2Vec) and isinstance(source, TextSource):
        return replace(source, encoder=NoTeacher(str(source.encoder.device)))
    context = getattr(settings, "context", "words")
    if context in ("words", "others"):
        return source
    if not isinstance(source, TextSource) or not isinstance(source.encoder, HuggingFaceEncoder):
        raise UsageError(
            f"context {context!r} needs a text and a model of transformers to read it with.",
            code="unsupported",
            parameter="context",
        )
    if context == "pieces":
        return replace(source, encoder=source.encoder.with_special())
    keep = keep_probabilities(plan.vocabulary.counts, settings.subsample)
    return replace(source, encoder=MaskedTargets(source.encoder, plan.vocabulary, keep, seed=settings.seed))


class _Reading:
    """An epoch in which the teacher reads: the trainer as a consumer that also keeps contexts and checkpoints.

    Of several processes each reads every so manieth shard. When all have read one, they exchange them and train on
    them together, one after the other as in the text.
    """

    def __init__(self, trainer: Trainer, cache: ContextCache | None, saved: _Saved, plan: Plan, done: int) -> None:
        self.trainer = trainer
        self.update = trainer.update
        self.cache = cache
        self.saved = saved
        self.plan = plan
        self.next = done  # the first shard that is not trained on
        self.done = done
        self.dropped: Counter[str] = Counter()  # of the shards that this process has read since the last exchange

    @property
    def share(self) -> tuple[Plan, int]:
        """A plan of the shards that are this process's to read, and how many of them are done."""
        rank, size = self.trainer.group.rank, self.trainer.group.size
        before, after = self.plan.shards[: self.done : size], self.plan.shards[self.done + rank :: size]
        shards = (*before, *after)
        if size == 1:
            return self.plan, self.done
        return replace(self.plan, shards=shards, units=sum(shard.units for shard in shards)), len(before)

    def end_shard(self, number: int) -> None:
        self._together(self.trainer.take())

    def finish(self) -> None:
        """Take part in the last exchange, where there was no shard left for this process to read."""
        if self.next < len(self.plan.shards):
            self._together(None)

    def _together(self, own: Gathered | None) -> None:
        trainer, group = self.trainer, self.trainer.group
        numbers = range(self.next, min(self.next + group.size, len(self.plan.shards)))
        shards = [trainer.share(own, source=rank) for rank in range(len(numbers))]
        for rank in range(len(numbers)):
            found = group.share(dict(self.dropped), source=rank)
            if trainer.epoch == 0:  # the same again in every epoch
                self.saved.dropped.update(found)
        self.dropped.clear()
        if self.cache is not None:
            for number, shard in zip(numbers, shards, strict=True):
                self.cache.write(number, shard)
        for number, shard in zip(numbers, shards, strict=True):
            with self.saved.shard(trainer.epoch, number + 1):
                trainer.train(number, shard)
        self.next = numbers.stop


def _later_epoch(trainer: Trainer, cache: ContextCache, saved: _Saved, plan: Plan, done: int, progress: bool) -> None:
    """An epoch over kept contexts, shards in another order each time."""
    order = generator_for(trainer.settings.seed, "shards", trainer.epoch).permutation(len(plan.shards)).tolist()
    device = next(iter(trainer.tables.values())).values.device
    before = sum(plan.shards[number].units for number in order[:done])
    task = f"epoch {trainer.epoch + 1} of {trainer.settings.epochs}"
    with Progress(task, total=plan.units, done=before, show=progress) as bar:
        for place in range(done, len(order)):
            # `place` decides how far the training has come, the shard what is trained on
            with saved.shard(trainer.epoch, place + 1):
                trainer.train(place, cache.read(order[place], device))
            bar.advance(plan.shards[order[place]].units)


class _Saved:
    """Matrix, moments, step and losses on disk, replaced atomically, tied to what they were made from."""

    def __init__(self, context: RunContext, identity: Mapping[str, Any], trainer: Trainer) -> None:
        self.path = None if context.checkpoint is None else context.checkpoint / STATE
        self.every = context.save_every
        self.identity = identity
        self.trainer = trainer
        self.dropped: Counter[str] = Counter()  # reason -> occurrences, of the first epoch
        self._last = time.monotonic()
        self._next = self._last + self.every
        self._unsaved: dict[str, Any] | None = None  # how far the training is, where the file is behind

    def load(self) -> tuple[int, int]:
        """Put the trainer where an earlier try stopped; the epoch it is in and the shards of it that are done."""
        group = self.trainer.group
        found = self._read() if group.first else None
        about = group.share(None if found is None else found[1])
        if about is None:
            return 0, 0
        self.trainer.restore({} if found is None else found[0])
        self.dropped.update(about["dropped"])
        return about["epoch"], about["shards"]

    def _read(self) -> tuple[State, dict[str, Any]] | None:
        """What an earlier try left, if there was one; it must have been of the same."""
        if self.path is None:
            return None
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            return None
        arrays, about = load(self.path)
        unlike = [name for name, value in self.identity.items() if about["made_of"].get(name) != value]
        if unlike:
            raise InputError(
                f"{self.path}: training is resumed with the same teacher, text and settings; another "
                f"{unlike[0].replace('_', ' ')} was used then: use that, or --existing=replace.",
                code="other_run",
                parameter="existing",
            )
        return arrays, about

    @contextmanager
    def shard(self, epoch: int, shards: int) -> Iterator[None]:
        """Around the training on a shard, after which so many of the epoch are done; saves now and then."""
        self._unsaved = None  # nobody could go on from the middle of a shard
        # several processes cannot stop at the same place when told to at any moment: the last checkpoint must do
        together = self.trainer.group.size > 1
        with nullcontext() if together else PutOff():
            yield
            self._unsaved = None if together else self._place(epoch, shards)
        if self.trainer.group.share(time.monotonic() > self._next):
            self.save(epoch, shards)

    @contextmanager
    def when_stopped(self) -> Iterator[None]:
        """Around the training: Ctrl-C saves what is done. Another one, for the impatient, does not wait for that."""
        try:
            yield
        except KeyboardInterrupt:
            if self._unsaved is not None:
                self._write(self._unsaved)
            raise

    @property
    def behind(self) -> bool:
        """Whether the file is so far behind that it would be a pity; at the end the vectors follow at once."""
        return bool(self.trainer.group.share(time.monotonic() > self._last + self.every))

    def save(self, epoch: int, shards: int) -> None:
        self._write(self._place(epoch, shards))

    def _place(self, epoch: int, shards: int) -> dict[str, Any]:
        return {"epoch": epoch, "shards": shards, "dropped": dict(self.dropped)}

    def _write(self, place: Mapping[str, Any]) -> None:
        if self.path is None:
            return
        began = time.monotonic()
        state = self.trainer.state()  # of all processes
        if self.trainer.group.first:
            save(self.path, state, about={"made_of": dict(self.identity), **place})
        self._unsaved = None
        # saving a large matrix should not take more than a twentieth of the time
        self._last = time.monotonic()
        self._next = self._last + max(self.every, 20 * (self._last - began))


def _identity(source: Source, plan: Plan, settings: Training, start: NDArray[np.floating] | None) -> dict[str, Any]:
    """All that training depends on, by names that can be told."""
    made = asdict(settings)
    shards = [[shard.start, shard.stop] for shard in plan.shards]
    sample = None if start is None else float(np.asarray(start, dtype=np.float64)[:: max(1, len(start) // 64)].sum())
    told = identity_of(source) | {"objective": type(settings).__name__, "vocabulary": plan.fingerprint}
    return told | made | {"shards": shards, "start": sample}
