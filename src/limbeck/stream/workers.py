"""Work done ahead of the device: in other processes, or in a thread where there is little of it."""

from __future__ import annotations

import atexit
import gc
import multiprocessing
import os
import pickle
import queue
import shutil
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import resource_tracker
from multiprocessing.context import SpawnContext, SpawnProcess
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar, cast

from limbeck.errors import LimbeckError
from limbeck.stopping import ignore, kept_from_children

Item = TypeVar("Item")
Done = TypeVar("Done")

_SPAWN = multiprocessing.get_context("spawn")


class _Process(SpawnProcess):
    """A process of a pool. It ignores what ends others; a pool that is broken ends those that are left."""

    def terminate(self) -> None:
        self.kill()


class _Context(SpawnContext):
    Process = _Process


READY = 8  #: items that wait for the consumer
CLOSING = 30  #: seconds that the processes have to end by themselves
STOP = b"stop"  #: in the place of a job: the consumer has had enough of those before it


class Pool:
    """Processes that compute functions of items, in order. With none, everything is computed here, when asked for.

    A function travels once, through a file, however many items it is called on; it must pickle. Processes start at the
    first call and serve all later ones, since starting them is what costs.
    """

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self._pool: ProcessPoolExecutor | None = None
        self._folder: Path | None = None

    def map(self, function: Callable[[Item], Done], items: Iterable[Item], *, ahead: int = 8) -> Iterator[Done]:
        """function of each item, in order, at most `ahead` items a worker in advance.

        What is done is given at once, and an item is taken for each that is given: who never waits for a result has
        workers enough, who waits has more and more under way.
        """
        if self.count < 1:
            yield from map(function, items)
            return
        pool, path = self._start(function)
        under_way: deque[Future[Done]] = deque()
        try:
            for item in items:
                under_way.append(pool.submit(_call, path, item))
                if under_way[0].done() or len(under_way) >= ahead * self.count:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        finally:
            for future in under_way:
                future.cancel()

    def hand_on(self, function: Callable[[Item], Done], items: Iterable[Item]) -> Iterator[Done]:
        """`map` for a job that looks at no result itself: they stay sealed until they are where the job was given."""
        if self.count < 1:
            return self.map(function, items)
        return cast(Iterator[Done], self.map(_Sealing(function), items))

    def start(self) -> None:
        """Start the processes now."""
        pool, _ = self._start(_nothing)
        for _ in range(self.count):
            pool.submit(_warm)

    def _start(self, function: Callable[[Any], Any]) -> tuple[ProcessPoolExecutor, str]:
        if self._pool is None or self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="limbeck-workers-"))
            clean = partial(shutil.rmtree, self._folder, ignore_errors=True)
            self._pool = ProcessPoolExecutor(
                self.count, mp_context=_Context(), initializer=_prepare_process, initargs=(clean,)
            )
        path = self._folder / f"{len(list(self._folder.iterdir()))}.pickle"
        path.write_bytes(pickle.dumps(function))
        return self._pool, str(path)

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self.remove_folder()

    def remove_folder(self) -> None:
        """Remove what the processes were given in files."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


class Workers:
    """Runs jobs ahead of their consumer. A job is a callable that takes a pool and gives an iterator.

    With `count` processes the job itself runs in one more, which owns the pool: the consumer's process, which has a
    device to keep busy, only takes what is ready off a queue. With none it runs in a thread. A job begins when it is
    given, and several may be given at once: their items are then taken in the order in which the jobs were given.
    """

    engine: ClassVar[str] = "local"  #: what a pass that is given these workers runs on

    def __init__(self, count: int = 0) -> None:
        self.count = count
        self._feeder: Any = None
        self._given = 0  # jobs of the feeder that have not come to their end
        self._turn = threading.Lock()  # of jobs in threads: a tokeniser serves one at a time

    @property
    def local(self) -> Workers:
        """Those of them that are on this machine."""
        return self

    def run(self, job: Callable[[Pool], Iterator[Item]]) -> Iterator[Item]:
        """The items of a job, up to `READY` of them computed in advance, from now on."""
        if self.count < 1:
            return prefetched(job(Pool()), depth=READY, turn=self._turn)
        packed = bytes(ForkingPickler.dumps(job))  # here, where one that does not pickle is an error
        self.start()
        self._send(packed)
        self._given += 1
        return _Fed(self._take, self._empty)

    def start(self) -> Self:
        """Start the processes now, while something else is loaded."""
        if self.count and self._feeder is None:
            # Plain pipes: of multiprocessing's queues and events a process that is killed may hold a lock for ever.
            jobs, self._jobs = _SPAWN.Pipe(duplex=False)
            self._items, items = _SPAWN.Pipe(duplex=False)
            # spawn: a fork of a process that holds torch's or a tokeniser's threads may hang
            self._feeder = _SPAWN.Process(target=_feed, args=(self.count, jobs, items))
            with kept_from_children():
                resource_tracker.ensure_running()
            with kept_from_children():  # once more: the tracker lets some of them in
                self._feeder.start()
            jobs.close()
            items.close()  # held by the feeder alone, so that what it was writing ends when it is killed
            atexit.register(self.close)  # the interpreter would wait for the process for ever
        return self

    def _send(self, message: bytes) -> None:
        try:
            self._jobs.send_bytes(message)
        except OSError:
            raise _gone() from None

    def _take(self) -> Any:
        """The next item of the feeder."""
        assert self._given, "items are taken in the order of jobs, and none once one of them was let go of"
        try:
            packed = self._items.recv_bytes()
        except (EOFError, OSError):
            raise _gone() from None
        except BaseException:  # Ctrl-C in the midst of a message, perhaps: what follows would make no sense
            self.close()
            raise
        item = pickle.loads(packed)
        self._given -= isinstance(item, _End)
        return item

    def _empty(self) -> None:
        """The consumer has had enough: let the feeder come to the end of all that it was given."""
        if self._feeder is not None and self._given:
            with suppress(LimbeckError):  # it is gone already
                self._send(STOP)
                while self._given:
                    self._take()

    def close(self) -> None:
        if self._feeder is not None:
            atexit.unregister(self.close)
            self._jobs.close()
            deadline = time.monotonic() + CLOSING
            with suppress(Exception):  # up to its end; the first message need not be whole
                while self._items.poll(max(0.0, deadline - time.monotonic())):
                    self._items.recv_bytes()  # the feeder may wait for room
            self._items.close()
            self._feeder.join(timeout=max(1.0, deadline - time.monotonic()))
            if self._feeder.is_alive():
                self._feeder.kill()
            self._feeder, self._given = None, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _gone() -> LimbeckError:
    return LimbeckError(
        "the processes that prepare the text ended unexpectedly (out of memory?): lower --workers.",
        code="worker_lost",
        parameter="workers",
    )


def _feed(count: int, jobs: Any, items: Any) -> None:
    """The feeding process: jobs come in, their items go out, each job's followed by an end."""
    pool = Pool(count)
    _prepare_process(pool.remove_folder)
    given: queue.Queue[bytes | None] = queue.Queue()
    ready: queue.Queue[Any] = queue.Queue(READY)  # pickled
    stopped = threading.Event()

    def listen() -> None:
        """Take jobs at once, so that who gives them need not wait."""
        with suppress(EOFError, OSError):
            while True:
                message = jobs.recv_bytes()
                if message == STOP:
                    stopped.set()
                else:
                    stopped.clear()  # all jobs before it have come to their ends
                    given.put(message)
        stopped.set()
        given.put(None)

    def send() -> None:
        try:
            while (packed := ready.get()) is not None:
                items.send_bytes(packed)
        except OSError:  # nobody reads any more
            os._exit(1)

    threading.Thread(target=listen, daemon=True).start()
    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    pool.start()
    while (packed := given.get()) is not None:
        wrong: BaseException | None = None
        try:
            for item in () if stopped.is_set() else pickle.loads(packed)(pool):
                ready.put(item.packed if isinstance(item, _Sealed) else ForkingPickler.dumps(item))
                if stopped.is_set():
                    break
        except BrokenProcessPool:
            wrong = _gone()
        except BaseException as error:
            wrong = error
        ready.put(_packed_end(wrong))
    pool.close()
    ready.put(None)
    sender.join()


def _packed_end(error: BaseException | None) -> Any:
    """The end of a job for another process; of an error that cannot travel, what it says."""
    try:
        packed = ForkingPickler.dumps(_End(error))
        pickle.loads(packed)
    except Exception:
        packed = ForkingPickler.dumps(_End(RuntimeError(f"{type(error).__name__}: {error}")))
    return packed


def _prepare_process(clean: Callable[[], None]) -> None:
    ignore()  # Ctrl-C is the parent's business
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one process, one core
    # Text is a million small objects and no cycles: looking for cycles among them took a quarter of a worker's time.
    gc.freeze()
    youngest, *older = gc.get_threshold()
    gc.set_threshold(100 * youngest, *older)
    threading.Thread(target=_end_with_parent, args=(clean,), daemon=True).start()


def _end_with_parent(clean: Callable[[], None]) -> None:
    """A parent that is killed outright cannot tell its workers, which would wait for ever: they look after it.

    Each cleans up: the one that owns the folder may be closing its pool just then, whose processes do not see it die.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        clean()
        os._exit(1)


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


@dataclass(frozen=True)
class _Sealed:
    """A result, pickled: to pass it on costs nothing but its bytes."""

    packed: bytes


@dataclass(frozen=True)
class _Sealing:
    """A function whose results come sealed."""

    function: Callable[[Any], Any]

    def __call__(self, item: Any) -> _Sealed:
        return _Sealed(bytes(ForkingPickler.dumps(self.function(item))))


class _End:
    """Ends a queue; carries what went wrong, if anything."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error = error


class _Fed(Iterator[Any]):
    """The items of a job; who lets go of it before the last one has had enough."""

    def __init__(self, take: Callable[[], Any], let_go: Callable[[], None]) -> None:
        self._take, self._let_go = take, let_go
        self._over = False

    def __next__(self) -> Any:
        if self._over:
            raise StopIteration
        item = self._take()
        if not isinstance(item, _End):
            return item
        self._over = True
        if item.error is not None:
            raise item.error
        raise StopIteration

    def close(self) -> None:
        if not self._over:
            self._over = True
            self._let_go()

    def __del__(self) -> None:
        self.close()


def prefetched(items: Iterable[Item], *, depth: int, turn: threading.Lock | None = None) -> Iterator[Item]:
    """The same items, drawn by a thread so that up to `depth` of them wait ready; threads draw in turn."""
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
        end = _End()
        try:
            drawn = iter(items)
            while not stopped.is_set():
                with turn or nullcontext():
                    item = next(drawn, end)
                if item is end:
                    return
                put(item)
        except BaseException as error:
            end = _End(error)
        finally:
            put(end)

    thread = threading.Thread(target=draw, name="limbeck-prefetch", daemon=True)

    def let_go() -> None:
        stopped.set()
        if threading.current_thread() is not thread:  # which may be the one that collects garbage
            thread.join(timeout=5)

    thread.start()
    return _Fed(waiting.get, let_go)
