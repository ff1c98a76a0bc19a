"""Work done ahead of the device: in other processes, or in a thread where there is little of it."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import queue
import signal
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeVar

Item = TypeVar("Item")
Done = TypeVar("Done")


class Workers:
    """Processes that compute functions of items, in order. With none, everything is computed here, when asked for.

    A function travels once, through a file, however many items it is called on; it must pickle. Processes start at the
    first call and serve all later ones, since starting them is what costs.
    """

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def map(self, function: Callable[[Item], Done], items: Iterable[Item], *, ahead: int = 8) -> Iterator[Done]:
        """function of each item, in order, at most `ahead` items a worker in advance."""
        if self.count < 1:
            yield from map(function, items)
            return
        pool, path = self._start(function)
        under_way: deque[Future[Done]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(_call, path, item))
                if len(under_way) >= ahead * self.count:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    def start(self) -> Self:
        """Start the processes now, while something else is loaded."""
        if self.count:
            pool, _ = self._start(_nothing)
            for _ in range(self.count):
                pool.submit(_warm)
        return self

    def _start(self, function: Callable[[Any], Any]) -> tuple[ProcessPoolExecutor, str]:
        if self._pool is None or self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="limbeck-workers-")
            # spawn: a fork of a process that holds torch's or a tokeniser's threads may hang
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(self.count, mp_context=context, initializer=_prepare_process)
        path = Path(self._folder.name) / f"{len(list(Path(self._folder.name).iterdir()))}.pickle"
        path.write_bytes(pickle.dumps(function))
        return self._pool, str(path)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        if self._folder is not None:
            self._folder.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _prepare_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's business
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process, one core


def _nothing(item: Any) -> Any:
    return item


def _warm() -> None:
    """What every task will import."""
    import limbeck.encoders.preparer
    import limbeck.stream.tasks  # noqa: F401


@cache
def _function(path: str) -> Callable[[Any], Any]:
    loaded: Callable[[Any], Any] = pickle.loads(Path(path).read_bytes())
    return loaded


def _call(path: str, item: Any) -> Any:
    return _function(path)(item)


class _End:
    """Ends a queue; carries what went wrong, if anything."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


def prefetched(items: Iterable[Item], *, depth: int) -> Iterator[Item]:
    """The same items, drawn by a thread so that up to `depth` of them wait ready."""
    waiting: queue.Queue[Item | _End] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item: Item | _End) -> None:
        while not stopped.is_set():
            try:
                waiting.put(item, timeout=0.1)
                return
            except queue.Full:
                continue

    def draw() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_End())
        except BaseException as error:
            put(_End(error))

    thread = threading.Thread(target=draw, name="limbeck-prefetch", daemon=True)
    thread.start()
    try:
        while True:
            item = waiting.get()
            if isinstance(item, _End):
                if item.error is not None:
                    raise item.error
                return
            yield item
    finally:
        stopped.set()
        thread.join(timeout=5)
