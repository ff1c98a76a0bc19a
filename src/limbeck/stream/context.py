"""How a run is executed: by whom, how visibly, and from which checkpoint."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from limbeck.stream.workers import Workers

CHECKPOINT_SECONDS = 30.0

Notify = Callable[[str], None]


def silent(line: str) -> None:
    """Say nothing."""


@dataclass(frozen=True)
class RunContext:
    """What a run is given beside its settings.

    workers     processes that feed the device, or those of a cluster; they know their engine
    progress    whether bars are shown
    notify      what a user should know while it runs goes here, line by line
    checkpoint  folder of what an interrupted run resumes from; None where nothing is kept
    folder      that is being written, for what is too large for a result; None where none is
    shard_units units of a shard; None: about a minute of a large model's work. This alone moves a number, by 1e-6: sums
                are rounded once a shard
    save_every  seconds between two checkpoints, at least
    began       when it was opened, by the monotonic clock
    prepare     what each process of a cluster does before anything heavy is loaded, of runs that execute others
    """

    workers: Workers = field(default_factory=Workers)
    progress: bool = False
    notify: Notify = silent
    checkpoint: Path | None = None
    folder: Path | None = None
    shard_units: int | None = None
    save_every: float = CHECKPOINT_SECONDS
    began: float = field(default_factory=time.monotonic)
    prepare: Callable[[], None] | None = None

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self.began

    def without_checkpoint(self) -> RunContext:
        """The same for a pass that begins anew when the run is resumed, or whose consumers keep their own state."""
        return replace(self, checkpoint=None)

    def inside(self, folder: str) -> RunContext:
        """The same for what keeps its own state, in a folder of the run's."""
        return self if self.checkpoint is None else replace(self, checkpoint=self.checkpoint / folder)
