"""Commands that torchrun starts: several processes at once, of which the first writes and speaks."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from limbeck.cli.options import workers_for
from limbeck.errors import UsageError

if TYPE_CHECKING:
    from limbeck.distillation.x2static.group import Group

TOGETHER = ("distill",)  #: commands that several processes can work on


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
    if command not in TOGETHER and launched() is not None:
        raise UsageError(f"torchrun starts several processes, and `limbeck {command}` is for one: leave torchrun out.")


@contextmanager
def joined(launch: Launch, options: argparse.Namespace) -> Iterator[Group]:
    """The processes as a group, each with its own GPU where there are some, and its share of the cores."""
    import torch
    from torch import distributed

    device = getattr(options, "device", None) or "auto"
    if device.startswith("cuda:"):
        raise UsageError(f"torchrun gives every process a GPU of its own; got --device {device}: leave it out.")
    gpus = torch.cuda.device_count() if device in ("auto", "cuda") else 0
    if gpus:
        if launch.local_rank >= gpus:
            raise UsageError(
                f"every process needs a GPU of its own; this machine has {gpus} for {launch.local_size}: "
                f"--nproc-per-node {gpus}, or --device cpu."
            )
        torch.cuda.set_device(launch.local_rank)
    if options.workers is None:
        options.workers = workers_for(options) // max(launch.local_size, 1)
    from limbeck.distillation.x2static.group import PATIENCE, Group

    distributed.init_process_group("nccl" if gpus else "gloo", timeout=PATIENCE)
    yield Group()
    distributed.destroy_process_group()  # after an error the others are gone, and there is nobody to part from
