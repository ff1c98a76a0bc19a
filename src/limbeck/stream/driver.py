"""The engine of many machines: workers of Ray take ranges of shards, their states are merged tree-wise on Ray.

The driver plans, hands out blocks of shards and keeps the parts; a worker holds the source, fills accumulators of its
own with a block by the function that the local engine uses, and gives their state back. What a worker that is lost had
not given back is done again by another: a block counts whole, once, or not at all.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.errors import LimbeckError, UsageError
from limbeck.state import State
from limbeck.stream.assignment import TRIES, Assignment
from limbeck.stream.checkpoint import Part, arrays_of, merge_into, restored
from limbeck.stream.filler import BATCH, Failed, Filled, Parcel
from limbeck.stream.filling import Work
from limbeck.stream.progress import Progress
from limbeck.stream.ray import RayWorkers, put, ray, why

STARTING = 900.0  #: seconds in which a worker must have its model
BOUNDED = {"_generator_backpressure_num_objects": 32}  #: of what a worker says, so much waits to be heard
REST = 4  #: times as long as the driver needs for the states of all workers, they work on


def _merge(packed: bytes, settings: list[dict[str, Any]], one: State, other: State) -> State:
    """A node of the tree: the state of two blocks together."""
    kinds: list[Accumulator] = pickle.loads(packed)
    first, second = (restored(kinds, copied(arrays), settings) for arrays in (one, other))
    merge_into(first, second)
    return arrays_of(first)


def copied(arrays: State) -> State:
    """Arrays of one's own: those in Ray's memory cannot be written."""
    return {name: array.copy() for name, array in arrays.items()}


@dataclass
class Block:
    """A block under way."""

    part: Part
    worker: Any
    reports: Any  # generator of what the worker says
    began: float
    heard: float = 0.0  # 0: not yet
    units: int = 0  # of it that the bar shows
    batches: list[Any] = field(default_factory=list)


@dataclass(frozen=True)
class Ended:
    """A block that its worker has done."""

    part: Part
    filled: Filled
    state: Any
    batches: list[Any]


class Tree:
    """States of blocks in Ray's memory, merged two by two: neighbours of equal rank, or any two when all is done."""

    def __init__(self, empty: list[Accumulator]) -> None:
        self._kinds = put(empty)
        self._merge = ray.remote(num_cpus=0, max_retries=3)(_merge)
        self._waiting: dict[Part, tuple[int, Any]] = {}  # rank and state
        self._under_way: dict[Any, tuple[int, Part, Part]] = {}
        self.settings: list[dict[str, Any]] = []

    def add(self, part: Part, state: Any, rank: int = 0) -> None:
        self._waiting[part] = (rank, state)

    def pair(self, *, all_done: bool = False) -> None:
        """Begin to merge what can be merged, a few states at once."""
        if len(self._under_way) > 1:
            return
        for one, other in pairwise(sorted(self._waiting)):
            ranks = self._waiting[one][0], self._waiting[other][0]
            if one.stop == other.first and (all_done or ranks[0] == ranks[1]):
                states = self._waiting.pop(one)[1], self._waiting.pop(other)[1]
                self._under_way[self.merge_now(*states)] = (max(ranks), one, other)
                return

    def merge_now(self, one: Any, other: Any) -> Any:
        """Two states to one, which is there when the task is done."""
        return self._merge.remote(self._kinds, self.settings, one, other)

    @property
    def under_way(self) -> list[Any]:
        return list(self._under_way)

    @property
    def held(self) -> int:
        """States in Ray's memory, those among them that are being merged."""
        return len(self._waiting) + 2 * len(self._under_way)

    @property
    def whole(self) -> bool:
        """Whether no two neighbours are left."""
        touching = any(one.stop == other.first for one, other in pairwise(sorted(self._waiting)))
        return not self._under_way and not touching

    def ended(self, reference: Any) -> tuple[Part, Part, Part, int]:
        """A merge has come to its end: the two parts, the one they are now, and its rank."""
        rank, one, other = self._under_way.pop(reference)
        return one, other, Part(one.first, other.stop), rank + 1

    def states(self) -> Iterator[tuple[Part, Any]]:
        for part in sorted(self._waiting):
            yield part, self._waiting[part][1]


def run_on_ray(work: Work, bar: Progress, workers: RayWorkers, *, every: float) -> list[Accumulator]:
    """The accumulators filled with all shards by workers of Ray; see `limbeck.stream.local.run_local`."""
    if getattr(getattr(work.source, "encoder", None), "carries_state", False):
        raise UsageError("--engine ray divides the text, and this model carries its state through it: --engine local.")
    workers.start()
    driver = Driver(work, bar, workers, every)
    try:
        driver.run()
        return driver.finish()
    except ray.exceptions.RayError as error:
        raise LimbeckError(f"Ray must be there until the end; {why(error)}: --existing resume goes on.") from error
    finally:
        driver.stop()


class Driver:
    """Hands out blocks, hears of them, replaces workers that are lost, and keeps what is done."""

    def __init__(self, work: Work, bar: Progress, workers: RayWorkers, every: float) -> None:
        self.work, self.bar, self.workers, self.every = work, bar, workers, every
        self.many = min(workers.many, max(1, sum(map(len, work.missing))))
        self.waiting = Assignment(work.plan, work.missing, workers=self.many, one_by_one=bool(work.consumers))
        self.turns = deque(shard for part in sorted(work.missing) for shard in range(part.first, part.stop))
        self.empty = deepcopy(work.accumulators)
        device = "cuda" if workers.gpus_per_worker else None
        self.parcel = put(Parcel(work.source, work.plan, self.empty, work.seed, device, bool(work.consumers)))
        self.tree = Tree(self.empty)
        self.idle: list[Any] = []
        self.blocks: dict[Any, Block] = {}
        self.in_turn: dict[int, Ended] = {}  # blocks that wait for earlier ones, where consumers see shards in order
        self.taken = 0.0  # seconds that the driver needs for one state

    def run(self) -> None:
        if self.waiting:
            self.idle = [self.worker() for _ in range(self.many)]
        self.assign()
        while self.blocks or not self.tree.whole:
            self.tree.pair(all_done=not self.blocks)
            ready, _ = ray.wait([*self.blocks, *self.tree.under_way], num_returns=1, timeout=1.0)
            for reference in ready:
                if reference in self.blocks:
                    self.hear(self.blocks[reference])
                else:
                    self.keep_merged(reference)
            for block in list(self.blocks.values()):
                patience = self.workers.patience if block.heard else STARTING
                if time.monotonic() - (block.heard or block.began) > patience:
                    self.replace(block, f"said nothing for {patience:g} s")
            self.assign()

    def worker(self) -> Any:
        """A worker with all that it needs of this pass."""
        hand = self.workers.hand()
        hand.load.remote(self.parcel)
        return hand

    def assign(self) -> None:
        """Give every idle worker a block."""
        seconds = max(self.every, REST * self.many * self.taken)
        least = self.many * self.taken  # the driver could not take in states any faster
        while self.idle and self.waiting:
            # shards that consumers will see much later would only fill the memory
            if self.work.consumers and self.waiting.next > self.turns[0] + 2 * self.many:
                return
            part, worker = self.waiting.take(seconds, least=least), self.idle.pop()
            reports = worker.fill.options(num_returns="streaming", **BOUNDED).remote(part)
            self.blocks[reports] = Block(part, worker, reports, time.monotonic())

    def hear(self, block: Block) -> None:
        """Take what a worker says."""
        try:
            said = ray.get(next(block.reports))
            # what comes after an announcement stays in Ray's memory until it is needed
            follows = next(block.reports) if isinstance(said, Filled) or said == BATCH else None
            if isinstance(said, Filled) and self.work.saved:
                ray.get(follows)
        except (ray.exceptions.RayError, StopIteration) as error:
            self.replace(block, f"ended ({why(error)})")
            return
        block.heard = time.monotonic()
        if isinstance(said, Failed):
            raise said.error
        if isinstance(said, Filled):
            self.advance(block, said.units)
            del self.blocks[block.reports]
            self.waiting.done(block.part, block.heard - block.began)
            self.idle.append(block.worker)
            self.assign()  # it goes on while its state is kept
            self.end(Ended(block.part, said, follows, block.batches))
        elif said == BATCH:
            block.batches.append(follows)
        else:
            self.advance(block, said)

    def advance(self, block: Block, units: int) -> None:
        block.units += units
        self.bar.advance(units)

    def replace(self, block: Block, what: str) -> None:
        """A worker is lost: its block is given to others, and a new worker made."""
        del self.blocks[block.reports]
        self.bar.advance(-block.units)
        with suppress(Exception):
            ray.kill(block.worker)
        part = block.part
        shards = f"shard {part.first}" if len(part) == 1 else f"shards {part.first} to {part.stop - 1}"
        if not self.waiting.give_back(part):
            raise LimbeckError(
                f"a worker of Ray must do its shards; {TRIES} were lost with {shards}, the last {what}: look for what "
                "ends them (memory?), or use --engine local."
            )
        self.bar.tell(f"a worker of Ray {what}: another does {shards}.")
        self.idle.append(self.worker())

    def end(self, ended: Ended) -> None:
        """Keep what a block has given; where there are consumers, when its turn comes."""
        if not self.work.consumers:
            self.keep(ended)
            return
        self.in_turn[ended.part.first] = ended
        while self.turns and self.turns[0] in self.in_turn:
            own = self.in_turn.pop(self.turns.popleft())
            for reference in own.batches:
                batch = ray.get(reference)
                for consumer in self.work.consumers:
                    consumer.update(batch)
            self.keep(own)

    def keep(self, ended: Ended) -> None:
        """A block counts from here on."""
        work, began = self.work, time.monotonic()
        work.dropped.update(ended.filled.dropped)
        for consumer in work.consumers:
            consumer.end_shard(ended.part.first)
        self.tree.settings = ended.filled.settings
        if work.saved:
            self.save(ended.part, ended.state, ended.filled.dropped)
            self.taken = max(self.taken, time.monotonic() - began)
        if work.accumulators:
            self.tree.add(ended.part, ended.state)
        elif work.saved:  # such parts are marks, and merged in no time
            work.done = work.saved.compact(work.done, [])

    def save(self, part: Part, state: Any, dropped: dict[str, int]) -> None:
        assert self.work.saved is not None
        kinds = [{"kind": a.name, "settings": own} for a, own in zip(self.empty, self.tree.settings, strict=True)]
        self.work.saved.save_arrays(part, ray.get(state), kinds, dropped)
        self.work.done = [*self.work.done, part]

    def keep_merged(self, reference: Any) -> None:
        """Two parts are one, and so they are on disk."""
        began, work = time.monotonic(), self.work
        one, other, both, rank = self.tree.ended(reference)
        try:
            ray.wait([reference])
            if work.saved:
                self.save(both, reference, work.saved.dropped_in([one, other]))
                work.saved.remove([one, other])
                work.done = [part for part in work.done if part not in (one, other)]
                self.taken = max(self.taken, time.monotonic() - began)
        except ray.exceptions.RayError:  # a machine is gone with one of them; they are on disk
            return
        self.tree.add(both, reference, rank)

    def finish(self) -> list[Accumulator]:
        """All states together, in the accumulators that were given, and as one part."""
        work = self.work
        merged = []
        for part, state in self.tree.states():
            merge_into(work.accumulators, restored(self.empty, copied(ray.get(state)), self.tree.settings))
            merged.append(part)
        if work.saved:
            # of an earlier try
            others = [part for part in work.done if not any(a.first <= part.first < a.stop for a in merged)]
            work.saved.merge_all(others, work.accumulators)
            whole = Part(0, len(work.plan.shards))
            if work.done != [whole]:
                work.saved.save_part(whole, work.accumulators, dict(work.dropped))
                work.saved.remove(work.done)
        return work.accumulators

    def stop(self) -> None:
        """Nothing of this pass is left on the cluster but workers that are at rest."""
        for block in self.blocks.values():
            with suppress(Exception):
                ray.kill(block.worker)
        for worker in self.idle:
            with suppress(Exception):
                self.workers.rest(worker)
