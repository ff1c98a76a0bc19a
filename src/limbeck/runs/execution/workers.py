"""The workers of a run, on their way up while its model is loaded."""

from __future__ import annotations

import glob
import math
import os
import signal
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from limbeck.stopping import stop_now
from limbeck.stream.settings import EngineSettings, WorkersSettings

if TYPE_CHECKING:
    from limbeck.stream.workers import Workers

SMALL_CORPUS = 10_000_000  #: bytes below which starting worker processes costs more than it brings


def start_workers(
    settings: WorkersSettings,
    *,
    corpus: Any = None,
    device: str | None = None,
    dry_run: bool = False,
    prepare: Callable[[], None] | None = None,
) -> Workers:
    """Processes of this machine, or those of Ray; a dry run starts none.

    prepare  what each process of a cluster does before anything heavy is loaded
    """
    ray = isinstance(settings, EngineSettings) and settings.engine != "local"
    if not isinstance(settings, EngineSettings) or not ray or dry_run:
        from limbeck.stream.workers import Workers  # without torch, which takes its time

        workers = Workers(0 if ray else count_for(settings, corpus, device))
        return workers if dry_run else workers.start()
    from limbeck.stream.run import workers_of

    gpus = 0 if settings.gpus_per_worker is None and device == "cpu" else settings.gpus_per_worker
    found = workers_of(
        settings.engine, settings.workers, address=settings.address, gpus_per_worker=gpus, prepare=prepare
    ).start()
    with suppress(ValueError):  # not in the main thread
        signal.signal(signal.SIGTERM, stop_now)  # Ray's own way is a page of traces
    return found


def count_for(settings: WorkersSettings, corpus: Any, device: str | None) -> int:
    """How many processes feed the device: none where the model is what takes the time."""
    if settings.workers is not None:
        return settings.workers
    if corpus is None or not _on_cuda(device or "auto"):
        return 0
    cores = os.cpu_count() or 1
    return min(cores - 2, 14) if _bytes_in(corpus) > SMALL_CORPUS and cores > 3 else 0


def _bytes_in(corpus: Any) -> float:
    """Size of files, folders and globs; endless for standard input, which nobody knows beforehand."""
    paths = [corpus] if isinstance(corpus, str | Path) else corpus if isinstance(corpus, Iterable) else []
    names = [str(path) for path in paths if isinstance(path, str | Path)]
    if "-" in names:
        return math.inf
    found = [Path(name) for path in names for name in (glob.glob(path) or [path])]
    files = [file for path in found for file in (path.rglob("*") if path.is_dir() else [path]) if file.is_file()]
    return sum(file.stat().st_size for file in files)


def _on_cuda(device: str) -> bool:
    if device.startswith("cuda"):
        return True
    if device != "auto":
        return False
    import torch

    return torch.cuda.is_available()
