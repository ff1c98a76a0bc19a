"""Which worker does which shards: ranges handed out in order, sized by how fast they are done."""

from __future__ import annotations

from collections.abc import Sequence

from limbeck.stream.checkpoint import Part, gaps
from limbeck.stream.plan import Plan

TRIES = 3  #: times that a shard may be lost, with its worker or with what was made of it, before the pass gives up


class Assignment:
    """The ranges of shards that are still to be done.

    Blocks begin with a single shard, from which the speed is known; later ones take as long as is asked for, and become
    smaller towards the end, so that no worker waits long for the last; one that is alone has nobody to wait for.
    """

    def __init__(self, plan: Plan, missing: Sequence[Part], *, workers: int, one_by_one: bool = False) -> None:
        self._units = [shard.units for shard in plan.shards]
        self._waiting = sorted(missing)
        self._workers = workers
        self._one_by_one = one_by_one
        self._tries: dict[int, int] = {}  # first shard of a block -> times that it was given back
        self._done = 0  # units
        self._spent = 0.0  # seconds of workers

    def __bool__(self) -> bool:
        return bool(self._waiting)

    @property
    def next(self) -> int:
        """The first shard that waits."""
        return self._waiting[0].first

    def take(self, seconds: float, *, least: float = 0.0) -> Part:
        """The next block, to be done in about so many seconds, and towards the end in at `least` so many."""
        first = self._waiting[0]
        stop = first.first + 1
        if not self._one_by_one and self._spent:
            speed = self._done / self._spent  # of one worker
            left = sum(map(self.units, self._waiting)) / (2 * self._workers if self._workers > 1 else 1)
            wanted = max(least * speed, min(seconds * speed, left)) - self._units[first.first]
            while stop < first.stop and wanted >= self._units[stop] / 2:
                wanted -= self._units[stop]
                stop += 1
        block = Part(first.first, stop)
        self._waiting[:1] = gaps([block], first.stop, start=first.first)
        return block

    def done(self, block: Part, seconds: float) -> None:
        self._done += self.units(block)
        self._spent += seconds

    def give_back(self, block: Part) -> bool:
        """The worker that had this block is lost, or what it made of it; whether it may be tried again."""
        self.put_back(block)
        self._tries[block.first] = self._tries.get(block.first, 0) + 1
        return self._tries[block.first] < TRIES

    def put_back(self, block: Part) -> None:
        """It was not begun after all."""
        self._waiting = sorted([*self._waiting, block])

    def units(self, block: Part) -> int:
        return sum(self._units[block.first : block.stop])
