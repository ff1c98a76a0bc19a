"""Workers of Ray, on this machine or on a cluster. The only module that imports ray; see `limbeck.stream.driver`."""

from __future__ import annotations

import io
import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from types import TracebackType
from typing import Any, ClassVar, Self, TypeVar

import torch

from limbeck.errors import LimbeckError, UsageError
from limbeck.extras import need
from limbeck.stream.filler import Filler, of_kind
from limbeck.stream.workers import READY, Pool, Workers, prefetched

# a Ray that starts here listens on loopback alone; its own switch for that is read when it is imported
os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
# workers of a Ray that starts here are as nice as the command itself, not by 15 more
os.environ.setdefault("RAY_worker_niceness", "0")
# of a worker that ends, and of what is lost with it, Ray prints paragraphs; the driver tells of it in a line
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", "A worker died or was killed")
os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")
ray: Any = need("ray", purpose="--engine ray")

Item = TypeVar("Item")

LISTENS = 10.0  #: seconds in which a cluster must answer
STARTS = 3  #: tries to start Ray, which gives up after 30 s on a machine that is busy
PATIENCE = 600.0  #: seconds without a batch from a worker after which it is replaced
SHORT = 24  #: most characters of the folder that holds Ray's own; what it adds must stay within a socket's 107
STORE = 2 << 30  #: most bytes of shared memory that a Ray started here takes; what is more goes to disk
HOOKED = "_output_capturing_hooks_installed"  #: what transformers knows a model with hooks by
HOOKS = ("_forward_hooks", "_forward_hooks_with_kwargs", "_forward_hooks_always_called")


class RayWorkers(Workers):
    """Workers of a Ray cluster: a pass that is given them runs there.

    count            workers; None or 0: one for each GPU, or for two cores where there is none
    address          of a running cluster, "auto" finds it; None starts Ray on this machine, on loopback
    gpus_per_worker  None: one where the cluster has any; parts such as 0.5 share one
    cores_per_worker None: all that the cluster has, divided
    patience         seconds after which a worker that says nothing is replaced
    prepare          called in each worker's process first, as the command line prepares its own

    How many there are and what each has is settled by the cluster as it is at first: one that shrinks has fewer of
    them for a while.
    """

    engine: ClassVar[str] = "ray"

    def __init__(
        self,
        count: int | None = None,
        *,
        address: str | None = None,
        gpus_per_worker: float | None = None,
        cores_per_worker: int | None = None,
        patience: float = PATIENCE,
        prepare: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(0)
        self.patience = patience
        self._asked, self._address, self._gpus = count or None, address, gpus_per_worker
        self._cores, self._prepare = cores_per_worker, prepare
        self._own = False  # whether Ray was started here, or joined
        self._folder: str | None = None  # of a Ray that was started here
        self._started = False
        self._local = Workers()
        self._idle: list[Any] = []

    @property
    def local(self) -> Workers:
        """What is done on this machine alone."""
        return self._local

    def start(self) -> Self:
        if self._started:
            return self
        if ray.is_initialized():
            _check_same(self._address)
        else:
            _check(self._address)
            for left in reversed(range(1 if self._address else STARTS)):
                try:
                    self._begin()
                    break
                except Exception as error:  # Ray raises anything, Exception itself among it
                    self._end()
                    if not left:
                        raise LimbeckError(
                            _not_there(self._address, error), code="not_reachable", parameter="address"
                        ) from error
                except BaseException:
                    self._end()
                    raise
            self._own = True
        self._started = True
        return self

    def _begin(self) -> None:
        if self._address is None:
            self._folder = _folder()
        _start(self._address, self._folder)

    def _end(self) -> None:
        ray.shutdown()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None

    @cached_property
    def gpus_per_worker(self) -> float:
        if self._gpus is not None:
            return self._gpus
        return 1.0 if _resources().get("GPU", 0) >= 1 else 0.0

    @cached_property
    def many(self) -> int:
        """How many workers there are."""
        found = _resources()
        gpus, cores = found.get("GPU", 0), int(found.get("CPU", 1))
        each = self.gpus_per_worker
        if each and each > gpus:
            raise UsageError(
                f"--gpus-per-worker {each:g} must be there; the cluster has {gpus:g} GPUs: give less, or 0.",
                code="out_of_range",
                parameter="gpus_per_worker",
            )
        room = int(gpus / each) if each else cores
        if self._asked is not None and self._asked > max(room, 1):
            what = f"{gpus:g} GPUs" if each else f"{cores} cores"
            raise UsageError(
                f"--workers must be at most {max(room, 1)} on a cluster of {what}; got {self._asked}.",
                code="out_of_range",
                parameter="workers",
            )
        return self._asked or max(1, room if each else cores // 2)

    @cached_property
    def cores_per_worker(self) -> int:
        return self._cores or max(1, int(_resources().get("CPU", 1)) // self.many)

    @property
    def needs(self) -> str:
        """What a worker needs, in words."""
        gpus = f" and {self.gpus_per_worker:g} GPUs" if self.gpus_per_worker else ""
        return f"{self.cores_per_worker} cores{gpus}"

    def hand(self) -> Any:
        """A worker that has nothing to do, or a new one."""
        if self._idle:
            return self._idle.pop()
        gpus, cores = self.gpus_per_worker, self.cores_per_worker
        make = ray.remote(num_cpus=cores, num_gpus=gpus, max_restarts=0, max_task_retries=0)(Filler)
        return make.remote(cores, cores - 1 if gpus else 0, self._prepare)  # a GPU should not wait for the text

    def rest(self, hand: Any) -> None:
        """A worker has done its work; its process is kept for another pass."""
        hand.load.remote(None)
        self._idle.append(hand)

    def run(self, job: Callable[[Pool], Iterator[Item]]) -> Iterator[Item]:
        """A job that divides its work, such as planning, has it done by the workers."""
        from limbeck.stream.crew import RayPool

        self.start()
        return prefetched(job(RayPool(self)), depth=READY)

    def close(self) -> None:
        self._local.close()
        for hand in self._idle:
            with suppress(Exception):
                ray.kill(hand)
        self._idle = []
        if self._own:
            self._end()
        self._own = self._started = False

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(address: str | None) -> None:
    """Refuse an address where nobody listens: Ray would try for minutes."""
    if address == "auto":
        address = os.environ.get("RAY_ADDRESS", address)
    if address is not None and "://" in address:
        raise UsageError(
            f"--address must be auto, or HOST:PORT of a cluster that this machine is of; got {address}.",
            code="malformed",
            parameter="address",
        )
    host, colon, port = (address or "").rpartition(":")
    if not colon or not port.isdecimal():  # "auto", or something that Ray knows
        return
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=LISTENS).close()
    except (OSError, OverflowError) as error:
        raise LimbeckError(
            f"a cluster of Ray must be at --address {address}; {error}: check it, or leave it out.",
            code="not_reachable",
            parameter="address",
        ) from error


def _check_same(address: str | None) -> None:
    """This process has a Ray already, and can have no other."""
    there = ray.get_runtime_context().gcs_address
    if address not in (None, "auto", there):
        raise UsageError(
            f"--address must be {there}, where this process is joined to Ray already; got {address}.",
            code="exclusive",
            parameter="address",
        )


def _not_there(address: str | None, error: Exception) -> str:
    said = str(error).split("\n", 1)[0]
    if address is None:
        return f"Ray could not be started on this machine ({said}): try again, or use --engine=local."
    # a cluster asks for its token unless it was told not to, and who names its address must say that there is one
    token = "" if "RAY_AUTH_MODE" in os.environ else ", or where it asks for a token set RAY_AUTH_MODE=token"
    return f"Ray could not be reached at {address} ({said}): check --address{token} (docs/scale.md)."


def _folder() -> str:
    """A place for Ray's own files. It has sockets there, whose paths must be short."""
    usual = tempfile.gettempdir()
    return tempfile.mkdtemp(prefix="limbeck-", dir=usual if len(usual) <= SHORT else "/tmp")


def _start(address: str | None, folder: str | None) -> None:
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": True}
    if address is not None:
        ray.init(address=address, **quiet)
        return
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 4 * STORE
    # what Ray has made of the switch above, where it was imported before
    ray._private.ray_constants.ENABLE_RAY_CLUSTER = False
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    ray.init(
        address="local",
        num_cpus=cores,
        include_dashboard=False,
        object_store_memory=min(STORE, memory // 4),
        _node_ip_address="127.0.0.1",
        _temp_dir=folder,
        **quiet,
    )


def _resources() -> dict[str, float]:
    found: dict[str, float] = ray.cluster_resources()
    return found


def put(thing: Any) -> Any:
    """Something into Ray's memory, as bytes; it travels to each machine once."""
    file = io.BytesIO()
    try:
        _Packer(file).dump(thing)
    except Exception as error:  # whatever its parts raise
        said = str(error).split("\n", 1)[0]
        raise UsageError(
            f"--engine=ray sends the model to its workers, and this one cannot be sent ({said}): leave out of your "
            "encoder what does not pickle (open files, locks, connections), or use --engine=local.",
            code="unsupported",
            parameter="engine",
        ) from error
    return ray.put(file.getvalue())


class _Packer(ray.cloudpickle.CloudPickler):  # type: ignore[misc]
    """Pickles lambdas and classes of a notebook too; and models without their hooks.

    transformers hangs hooks on a model when hidden states are first asked for, which do not pickle; it hangs them on
    the copy again, if it knows the kind of model: see `of_kind`.
    """

    def reducer_override(self, thing: Any) -> Any:
        own = getattr(thing, "__dict__", {})
        if HOOKED not in own and not (isinstance(thing, torch.nn.Module) and own["_forward_hooks"]):
            return super().reducer_override(thing)
        state = {name: type(value)() if name in HOOKS else value for name, value in own.items() if name != HOOKED}
        return of_kind, (type(thing), getattr(thing, "config", None)), state


def why(error: BaseException) -> str:
    """An error of Ray in a few words: its last line, the first are of its own innards."""
    if isinstance(error, ray.exceptions.GetTimeoutError):
        return "it said nothing for too long"
    if isinstance(error, ray.exceptions.ActorDiedError | ray.exceptions.ActorUnavailableError | StopIteration):
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        creation = any("creation task" in line for line in lines)
        return lines[-1] if creation else "its process is gone"
    return str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
