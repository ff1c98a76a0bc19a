"""The engine of one machine: shards in order, their state kept in parts now and then."""

from __future__ import annotations

import copy
import time
from collections import Counter

from limbeck.accumulators import Accumulator
from limbeck.encoded import Encoded
from limbeck.stopping import PutOff
from limbeck.stream.checkpoint import Part
from limbeck.stream.filling import Work, fill
from limbeck.stream.progress import Progress
from limbeck.stream.workers import Workers

REST = 20  #: saving a large state should not take more than a twentieth of the time


def run_local(work: Work, bar: Progress, *, workers: Workers, every: float) -> list[Accumulator]:
    """The accumulators filled with all shards; `every` so many seconds a part is saved.

    Where shards are done that are not saved, a stop waits for the end of the one under way, if that does not take long,
    and saves them all.
    """
    parts = Parts(work, every)
    with PutOff(lambda: parts.unsaved) as stop:
        for missing in work.missing:
            parts.begin(missing.first)
            for item in fill(work.source, work.plan, missing, parts.current, workers=workers, seed=work.seed):
                if isinstance(item, Encoded):
                    for consumer in work.consumers:
                        consumer.update(item)
                    bar.advance(len(item))
                else:
                    work.dropped.update(item.dropped)
                    for consumer in work.consumers:
                        consumer.end_shard(item.shard.number)
                    parts.end_shard(item.shard.number, item.dropped, stopping=stop.asked)
                stop.check(bar.tell if bar.show else None)
            parts.end(missing.stop)
        return parts.finish(stop)


class Parts:
    """The accumulators that are being filled, and the parts that are saved of them, if any are.

    What is saved is put out of memory: the accumulators begin anew after each part, in place, so that who fills them
    need not know.
    """

    def __init__(self, work: Work, every: float) -> None:
        self.current = work.accumulators
        self._work, self._every = work, every
        self._empty = copy.deepcopy(work.accumulators) if work.saved else []
        self._last_save = time.monotonic()
        self._next_save = self._last_save + every
        self._first = self._stop = 0  # shards that are done since
        self._dropped: Counter[str] = Counter()

    @property
    def unsaved(self) -> bool:
        """Whether there are shards that are done and would be lost."""
        return self._work.saved is not None and self._first < self._stop

    def begin(self, first: int) -> None:
        """A range of shards follows."""
        self._first = self._stop = first
        self._dropped = Counter()

    def end_shard(self, number: int, dropped: dict[str, int], *, stopping: bool = False) -> None:
        self._stop = number + 1
        self._dropped.update(dropped)
        if self._work.saved and (stopping or time.monotonic() > self._next_save):
            self._save(number + 1, compact=not stopping)

    def end(self, stop: int) -> None:
        """The range is complete; the last part that is missing need not be saved by itself."""
        if self._work.saved and self._first < stop and stop != self._work.missing[-1].stop:
            self._save(stop)

    def _save(self, stop: int, *, compact: bool = True) -> None:
        work = self._work
        assert work.saved is not None
        asked = time.monotonic()
        part = Part(self._first, stop)
        work.saved.save_part(part, self.current, dict(self._dropped))
        self.begin(stop)
        self.current[:] = copy.deepcopy(self._empty)
        work.done = [*work.done, part]
        if compact:
            work.done = work.saved.compact(work.done, self.current)
        self._last_save = time.monotonic()
        self._next_save = self._last_save + max(self._every, REST * (self._last_save - asked))

    def finish(self, stop: PutOff) -> list[Accumulator]:
        """All parts together, in memory and as one file, unless nobody asks for that and little would be lost."""
        work = self._work
        if work.saved:
            work.saved.merge_all(work.done, self.current)
            whole = Part(0, len(work.plan.shards))
            little = time.monotonic() < self._last_save + self._every
            if work.done != [whole] and (work.keep or not little or stop.asked):
                work.saved.save_part(whole, self.current, dict(work.dropped))
                work.saved.remove(work.done)
        return self.current
