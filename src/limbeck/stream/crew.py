"""Workers of Ray come and go: those that are on their way, and what is computed by those that are there."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from limbeck.errors import LimbeckError
from limbeck.stream.assignment import TRIES
from limbeck.stream.checkpoint import tell
from limbeck.stream.filler import Failed
from limbeck.stream.ray import RayWorkers, put, ray, why
from limbeck.stream.workers import Pool

Item = TypeVar("Item")
Made = TypeVar("Made")

STARTING = 900.0  #: seconds in which a worker must have its model
ROOM = 30.0  #: seconds without any worker after which it is told what the run waits for


class Crew:
    """Workers on their way: one that was asked for comes when the cluster has room for it, and what it needs is there.

    give  hands a new worker what it needs; what this returns is there when the worker is ready
    """

    def __init__(self, workers: RayWorkers, give: Callable[[Any], Any], tell: Callable[[str], None]) -> None:
        self._workers, self._give, self._tell = workers, give, tell
        self.coming: dict[Any, Any] = {}  # what is there when a worker is ready -> the worker
        # kept ones may all have gone with a machine
        self._failures, self._most = 0, TRIES + workers.many
        self._none_since = time.monotonic()
        self._told = False

    def ask(self) -> None:
        worker = self._workers.hand()
        self.coming[self._give(worker)] = worker

    def come(self, reference: Any) -> Any | None:
        """The worker that is ready; None where it is lost, and another was asked for."""
        worker = self.coming.pop(reference)
        try:
            said = ray.get(reference)
        except ray.exceptions.RayError as error:
            self._failures += 1
            if self._failures == self._most:
                raise LimbeckError(
                    f"a worker of Ray must start; {self._most} ended before they could work, the last so: "
                    f"{why(error)}: look for what ends them (memory?), or use --engine=local.",
                    code="worker_lost",
                    parameter="engine",
                ) from error
            self.ask()
            return None
        if isinstance(said, Failed):
            raise said.error
        self._failures = 0
        return worker

    def watch(self, *, anybody: bool) -> None:
        """Whether there is anybody to work; that the run waits is told, and has an end."""
        now = time.monotonic()
        if anybody or not self.coming:
            self._none_since, self._told = now, False
        elif now - self._none_since > STARTING:
            raise LimbeckError(
                f"a worker of Ray must start within {STARTING:g} s; none did: look whether the cluster has room for "
                f"one ({self._workers.needs}), then --existing=resume.",
                code="worker_lost",
                parameter="engine",
            )
        elif now - self._none_since > ROOM and not self._told:
            self._told = True
            self._tell(f"waiting for a worker of Ray to start: has the cluster room for one ({self._workers.needs})?")

    def stop(self) -> None:
        """Nobody is needed any more."""
        for worker in self.coming.values():
            with suppress(Exception):
                ray.kill(worker)
        self.coming = {}


class RayPool(Pool):
    """Computes functions of items by the workers, in order. What a worker that is lost had under way another does."""

    def __init__(self, workers: RayWorkers) -> None:
        super().__init__(workers.many)
        self._workers = workers

    def map(self, function: Callable[[Item], Made], items: Iterable[Item], *, ahead: int = 2) -> Iterator[Made]:
        calls = _Calls(self._workers, put(function))
        try:
            for item in items:
                calls.add(item)
                if len(calls) > ahead * self.count:
                    yield calls.first()
            while len(calls):
                yield calls.first()
            calls.keep_coming()
        finally:
            calls.stop()

    def hand_on(self, function: Callable[[Item], Made], items: Iterable[Item]) -> Iterator[Made]:
        return self.map(function, items)  # there is no process between the workers and who asked


@dataclass(eq=False)
class _Call:
    """An item that a worker computes a function of."""

    item: Any
    worker: Any = None
    reference: Any = None


class _Calls:
    """Items that are under way, in order, each with the worker that had the fewest."""

    def __init__(self, workers: RayWorkers, function: Any) -> None:
        self._workers = workers
        self._crew = Crew(workers, lambda worker: worker.learn.remote(function), tell)
        self._ready: list[Any] = []
        self._under_way: deque[_Call] = deque()
        for _ in range(workers.many):
            self._crew.ask()

    def __len__(self) -> int:
        return len(self._under_way)

    def add(self, item: Any) -> None:
        call = _Call(item)
        self._hand_out(call)
        self._under_way.append(call)

    def _hand_out(self, call: _Call) -> None:
        while self._crew.coming:
            ready, _ = ray.wait(list(self._crew.coming), num_returns=1, timeout=0 if self._ready else 1.0)
            self._ready += [worker for reference in ready if (worker := self._crew.come(reference)) is not None]
            self._crew.watch(anybody=bool(self._ready))
            if self._ready and not ready:
                break
        busy = Counter(other.worker for other in self._under_way)
        call.worker = min(self._ready, key=busy.__getitem__)
        call.reference = call.worker.call.remote(call.item)

    def first(self) -> Any:
        """What the call that came first gives."""
        call = self._under_way[0]
        for left in reversed(range(TRIES)):
            try:
                found = ray.get(call.reference, timeout=self._workers.patience)
                break
            except ray.exceptions.RayError as error:
                if not left:
                    raise LimbeckError(
                        f"the workers of Ray must be there for planning; {TRIES} were lost with the same piece of "
                        f"the text ({why(error)}): look for what ends them (memory?), or use --engine=local.",
                        code="worker_lost",
                        parameter="engine",
                    ) from error
                tell(f"a worker of Ray ended while it planned ({why(error)}): another takes its place.")
                self._replace(call.worker)
        self._under_way.popleft()
        if isinstance(found, Failed):
            raise found.error
        return found

    def _replace(self, lost: Any) -> None:
        with suppress(Exception):
            ray.kill(lost)
        self._ready.remove(lost)
        self._crew.ask()
        for call in self._under_way:
            if call.worker is lost:
                self._hand_out(call)

    def keep_coming(self) -> None:
        """Those that are still on their way are for who comes next."""
        self._ready += self._crew.coming.values()
        self._crew.coming = {}

    def stop(self) -> None:
        self._crew.stop()
        for worker in self._ready:
            self._workers.rest(worker)
