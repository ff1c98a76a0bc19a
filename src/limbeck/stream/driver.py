"""The engine of many machines: workers of Ray take ranges of shards, their states are merged tree-wise on Ray.

The driver plans, hands out blocks of shards and keeps the parts; a worker holds the source, fills accumulators of its
own with a block by the function that the local engine uses, and gives their state back. What a worker that is lost had
not given back is done again by another: a block counts whole, once, or not at all.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.errors import LimbeckError, UsageError
from limbeck.stream.assignment import TRIES, Assignment
from limbeck.stream.checkpoint import Part, gaps, merge_into, restored
from limbeck.stream.crew import STARTING, Crew
from limbeck.stream.filler import BATCH, STATE, Failed, Filled, Parcel, Said, copied
from limbeck.stream.filling import Work
from limbeck.stream.progress import Progress
from limbeck.stream.ray import RayWorkers, put, ray, why
from limbeck.stream.tree import Merge, Node, Tree

BOUNDED = {"_generator_backpressure_num_objects": 32}  #: of what a worker says, so much waits to be heard
REST = 4  #: times as long as the driver needs for the states of all workers, they work on


@dataclass(eq=False)
class Hand:
    """A worker, and the block that it makes ready while it does another."""

    actor: Any
    then: Part | None = None


@dataclass
class Block:
    """A block under way."""

    part: Part
    worker: Hand
    reports: Any  # generator of what the worker says
    asked: float
    began: float = 0.0  # 0: not yet
    heard: float = 0.0
    units: int = 0  # of it that the bar shows
    announced: str = ""  # what comes next: a batch or the state
    state: Any = None
    batches: list[Any] = field(default_factory=list)

    def take(self, reference: Any) -> bool:
        """Whether it is what was announced, which stays in Ray's memory until it is needed."""
        what, self.announced = self.announced, ""
        if what == BATCH:
            self.batches.append(reference)
        elif what == STATE:
            self.state = reference
        return bool(what)


@dataclass(frozen=True)
class Ended:
    """A block that its worker has done."""

    part: Part
    filled: Filled
    state: Any
    batches: list[Any]


def run_on_ray(work: Work, bar: Progress, workers: RayWorkers, *, every: float) -> list[Accumulator]:
    """The accumulators filled with all shards by workers of Ray; see `limbeck.stream.local.run_local`."""
    if work.source.encoder is not None and work.source.encoder.carries_state:
        raise UsageError(
            "--engine=ray divides the text, and this model carries its state through it: --engine=local.",
            code="unsupported",
            parameter="engine",
        )
    workers.start()
    driver = Driver(work, bar, workers, every)
    try:
        driver.run()
        return driver.finish()
    except BaseException as error:
        if work.saved:
            with suppress(Exception):  # whatever ends the run, what is done is kept
                driver.save_all()
        if isinstance(error, ray.exceptions.RayError):
            raise LimbeckError(
                f"Ray must be there until the end; {why(error)}: --existing=resume goes on.",
                code="worker_lost",
                parameter="engine",
            ) from error
        raise
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
        self.crew = Crew(workers, lambda actor: actor.load.remote(self.parcel), bar.tell)
        self.idle: list[Hand] = []
        self.blocks: dict[Any, Block] = {}
        self.in_turn: dict[int, Ended] = {}  # blocks that wait for earlier ones, where consumers see shards in order
        self.failures: Counter[Part] = Counter()  # of merges
        self.taken = 0.0  # seconds that the driver needs for one state
        self.told = False  # what workers want to be said once
        self.next_save = time.monotonic() + every

    def run(self) -> None:
        for _ in range(self.many if self.waiting else 0):
            self.crew.ask()
        while self.waiting or self.blocks or not self.tree.whole:
            for worker in self.idle:
                if not self.tree.busy(worker.actor):
                    self.tree.pair(worker.actor, all_done=not self.blocks and not self.waiting)
            self.hear_any()
            for block in list(self.blocks.values()):
                patience = self.workers.patience if block.began else STARTING
                if time.monotonic() - (block.heard or block.asked) > patience:
                    self.replace(block, f"said nothing for {patience:g} s")
            for actor in self.tree.late(STARTING):
                with suppress(Exception):
                    ray.kill(actor)
            self.crew.watch(anybody=bool(self.blocks or self.idle))
            self.save_some()
            self.assign()

    def hear_any(self) -> None:
        """Wait for somebody to say something, or a second."""
        said = [*self.crew.coming, *self.blocks, *self.tree.under_way]
        # what is said is small; the state that one says is there should stay where it is
        ready, _ = ray.wait(said, num_returns=1, timeout=1.0, fetch_local=False)
        for reference in ready:
            if reference in self.blocks:
                self.hear(self.blocks[reference])
            elif reference in self.crew.coming:
                actor = self.crew.come(reference)
                self.idle += [] if actor is None else [Hand(actor)]
            else:
                self.take_merged(reference)

    def assign(self) -> None:
        """Give every idle worker a block, and another one that it makes ready meanwhile."""
        given = []
        while self.idle and (part := self.idle[-1].then or self.take() or self.take_over()) is not None:
            given.append((self.idle.pop(), part))
        for worker, part in given:
            worker.then = self.take()
            reports = worker.actor.fill.options(num_returns="streaming", **BOUNDED).remote(part, worker.then)
            self.blocks[reports] = Block(part, worker, reports, time.monotonic())

    def take(self) -> Part | None:
        """The next block, if there is one."""
        # shards that consumers will see much later would only fill the memory
        if not self.waiting or (self.work.consumers and self.waiting.next > self.turns[0] + 2 * self.many):
            return None
        # in less time the driver could not take in the states of all workers
        return self.waiting.take(max(self.every, REST * self.many * self.taken), least=self.many * self.taken)

    def take_over(self) -> Part | None:
        """A block that a busy worker has not come to."""
        others = [block.worker for block in self.blocks.values() if block.worker.then is not None]
        if not others:
            return None
        worker = min(others, key=lambda other: other.then or Part(0, 0))
        part, worker.then = worker.then, None
        return part

    def hear(self, block: Block) -> None:
        """Take what a worker says."""
        try:
            reference = next(block.reports)
            said = 0 if block.take(reference) else ray.get(reference)
        except (ray.exceptions.RayError, StopIteration) as error:
            self.replace(block, f"ended ({why(error)})")
            return
        block.heard = time.monotonic()
        block.began = block.began or block.heard
        if isinstance(said, Failed):
            raise said.error
        if isinstance(said, Filled):
            self.advance(block, said.units)
            del self.blocks[block.reports]
            self.waiting.done(block.part, block.heard - block.began)
            while self.tree.pair(block.worker.actor):
                pass
            self.idle.append(block.worker)
            self.assign()  # it goes on while its state is kept
            self.end(Ended(block.part, said, block.state, block.batches))
        elif isinstance(said, Said):
            if not self.told:
                self.told = True
                self.bar.tell(said.line)
        elif said in (BATCH, STATE):
            block.announced = said
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
            ray.kill(block.worker.actor)
        if block.worker.then is not None:
            self.waiting.put_back(block.worker.then)
        shards = told(block.part)
        if not self.waiting.give_back(block.part):
            raise LimbeckError(
                f"a worker of Ray must do its shards; {TRIES} were lost with {shards}, the last {what}: look for what "
                "ends them (memory?), or use --engine=local.",
                code="worker_lost",
                parameter="engine",
            )
        self.bar.tell(f"a worker of Ray {what}: another does {shards}.")
        self.crew.ask()

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
        work, dropped = self.work, ended.filled.dropped
        work.dropped.update(dropped)
        for consumer in work.consumers:
            consumer.end_shard(ended.part.first)
        self.tree.settings = ended.filled.settings
        if work.accumulators:
            self.tree.add(ended.part, Node(ended.state, dropped))
        if work.consumers and work.saved:  # what consumers keep and what is kept here must be of the same shards
            self.save(ended.part, ended.state, dropped)
            if not work.accumulators:  # such parts are marks, and merged in no time
                work.done = work.saved.compact(work.done, [])

    def save_some(self) -> None:
        """Now and then write what is not on disk, so that a run that is killed has not done it for nothing."""
        began = time.monotonic()
        if not self.work.saved or began < self.next_save:
            return
        for part, node in self.save_all():
            if self.tree.remove(part):
                self.lose(part, node)
        now = time.monotonic()
        self.next_save = now + max(self.every, REST * (now - began))

    def save_all(self) -> list[tuple[Part, Node]]:
        """Write what is not on disk; which states are not there any more."""
        gone = []
        for part, node in self.tree.nodes():
            if part in self.work.done:
                continue
            began = time.monotonic()
            try:
                self.save(part, node.state, node.dropped)
            except ray.exceptions.RayError:
                gone.append((part, node))
            self.taken = max(self.taken, time.monotonic() - began)
        return gone

    def save(self, part: Part, state: Any, dropped: dict[str, int]) -> None:
        """Write a state, in the place of those that it was merged from."""
        saved, work = self.work.saved, self.work
        assert saved is not None
        kinds = [{"kind": a.name, "settings": own} for a, own in zip(self.empty, self.tree.settings, strict=True)]
        saved.save_arrays(part, ray.get(state, timeout=self.workers.patience), kinds, dropped)
        held = [other for other in work.done if part.first <= other.first and other.stop <= part.stop]
        saved.remove(held)
        work.done = [other for other in work.done if other not in held] + [part]

    def take_merged(self, reference: Any) -> None:
        """Two states are one; or a worker is gone with the merge, or a machine with one of the states."""
        try:
            failed = ray.get(reference)
        except ray.exceptions.RayError as error:
            self.merge_again(self.tree.failed(reference), error)
            return
        if failed is not None:
            raise failed.error
        self.tree.merged(reference)

    def merge_again(self, merge: Merge, error: BaseException) -> None:
        """A merge has come to nothing: a state that is gone is done again, else another worker tries."""
        if isinstance(error, ray.exceptions.ActorDiedError):
            for hand in [hand for hand in self.idle if hand.actor is merge.worker]:
                self.idle.remove(hand)  # one that is at work will be missed there
                self.crew.ask()
        gone = [(part, node) for part, node in merge.parts if not self.has(node)]
        for part, node in gone:
            self.tree.remove(part)
            self.lose(part, node)
        self.failures[merge.both] += not gone
        if self.failures[merge.both] == TRIES:
            raise LimbeckError(
                f"a worker of Ray must merge what is done; {TRIES} were lost with {told(merge.both)}, the last so: "
                f"{why(error)}: look for what ends them (memory?), or use --engine=local.",
                code="worker_lost",
                parameter="engine",
            )

    def has(self, node: Node) -> bool:
        """Whether Ray still has a state."""
        try:
            ray.get(node.state, timeout=self.workers.patience)
        except ray.exceptions.RayError:
            return False
        return True

    def lose(self, part: Part, node: Node) -> None:
        """A state is gone: what of it is not on disk is done again."""
        work = self.work
        held = [other for other in work.done if part.first <= other.first and other.stop <= part.stop]
        missing = gaps(held, part.stop, start=part.first)
        if missing and work.consumers:
            raise LimbeckError(
                f"Ray must keep what is done until the end; the state of {told(part)} is gone.",
                code="worker_lost",
                parameter="engine",
            )
        kept = work.saved.dropped_in(held) if work.saved else {}
        for reason, count in node.dropped.items():
            work.dropped[reason] -= count - kept.get(reason, 0)
        for one in missing:
            if not self.waiting.give_back(one):
                raise LimbeckError(
                    f"Ray must keep what is done until it is merged; that of {told(one)} was lost {TRIES} times: look "
                    "for what loses it (machines that go?), then --existing=resume.",
                    code="worker_lost",
                    parameter="engine",
                )
            self.bar.advance(-self.waiting.units(one))
            self.bar.tell(f"what a machine of Ray had done is gone with it: {told(one)} done again.")

    def finish(self) -> list[Accumulator]:
        """All states together, in the accumulators that were given and, if it is to be kept, as one part."""
        work = self.work
        merged = []
        for part, node in self.tree.nodes():
            merge_into(work.accumulators, restored(self.empty, copied(ray.get(node.state)), self.tree.settings))
            merged.append(part)
        if work.saved:
            # of an earlier try
            others = [part for part in work.done if not any(a.first <= part.first < a.stop for a in merged)]
            work.saved.merge_all(others, work.accumulators)
            whole = Part(0, len(work.plan.shards))
            if work.done != [whole] and work.keep:
                work.saved.save_part(whole, work.accumulators, dict(work.dropped))
                work.saved.remove(work.done)
        return work.accumulators

    def stop(self) -> None:
        """Nothing of this pass is left on the cluster but workers that are at rest."""
        self.crew.stop()
        for block in self.blocks.values():
            with suppress(Exception):
                ray.kill(block.worker.actor)
        for worker in self.idle:
            with suppress(Exception):
                self.workers.rest(worker.actor)


def told(part: Part) -> str:
    return f"shard {part.first}" if len(part) == 1 else f"shards {part.first} to {part.stop - 1}"
