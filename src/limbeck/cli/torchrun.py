"""Commands that torchrun starts: several processes at once, of which the first writes and speaks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from limbeck.cli.program import command_named
from limbeck.errors import UsageError
from limbeck.runs.execution.workers import count_for, start_workers
from limbeck.stream.settings import EngineSettings

if TYPE_CHECKING:
    from limbeck.distillation.x2static.group import Group


@dataclass(frozen=True)
class Launch:
    """What torchrun tells each process."""

    local_rank: int  # among those on this machine
    local_size: int


def launched() -> Launch | None:
    """What torchrun says, where it has started several processes."""
    told = os.environ
    if int(told.get("WORLD_SIZE", 1)) < 2 or not {"RANK", "MASTER_ADDR", "MASTER_PORT"} <= told.keys():
        return None
    return Launch(int(told.get("LOCAL_RANK", told["RANK"])), int(told.get("LOCAL_WORLD_SIZE", 1)))


def refuse_torchrun(command: str) -> None:
    """Refuse what several processes would all do at once, into the same folder."""
    run = command_named(command)
    if launched() is not None and not getattr(run, "torchrun", False):
        raise UsageError(
            f"torchrun starts several processes, and `limbeck {command}` is for one: omit torchrun.",
            code="exclusive",
        )


def perform_together(launch: Launch, run: Any, perform: Callable[[], int]) -> int:
    """The run in all processes: the first performs it, the others help it; the exit status."""
    device = run.loading.device
    with joined(launch, device or "auto") as group:
        corpus = run.text.corpus
        run.engine = engine = share_of(run.engine, launch, corpus=corpus, device=device)
        if group.first:
            run.validate_together()
            status = perform()
            run.dismiss()
            return status
        with start_workers(engine, corpus=corpus, device=device) as workers:
            run.take_part(workers)
    return 0


def share_of(engine: EngineSettings, launch: Launch, **where: Any) -> EngineSettings:
    """The settings with a process' share of the cores."""
    if engine.workers is not None:
        return engine
    return replace(engine, workers=count_for(engine, where["corpus"], where["device"]) // max(launch.local_size, 1))


@contextmanager
def joined(launch: Launch, device: str) -> Iterator[Group]:
    """The processes as a group, each with its own GPU where there are some."""
    import torch
    from torch import distributed

    if device.startswith("cuda:"):
        raise UsageError(
            f"torchrun gives every process a GPU of its own; got --device {device}: omit it.",
            code="exclusive",
            parameter="device",
        )
    gpus = torch.cuda.device_count() if device in ("auto", "cuda") else 0
    if gpus:
        if launch.local_rank >= gpus:
            raise UsageError(
                f"every process needs a GPU of its own; this machine has {gpus} for {launch.local_size}: "
                f"--nproc-per-node {gpus}, or --device=cpu.",
                code="no_gpu",
            )
        torch.cuda.set_device(launch.local_rank)
    from limbeck.distillation.x2static.group import PATIENCE, Group

    distributed.init_process_group("nccl" if gpus else "gloo", timeout=PATIENCE)
    yield Group()
    distributed.destroy_process_group()  # after an error the others are gone, and there is nobody to part from
