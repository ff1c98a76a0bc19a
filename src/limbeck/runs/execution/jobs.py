"""What each command wants of a pass that it shares with others, and how it goes on from there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from limbeck.accumulators import Accumulator
from limbeck.distillation.methods import METHODS, in_order
from limbeck.distillation.settings import DistillSettings
from limbeck.errors import UsageError
from limbeck.runs.distill import checked, distill_into, words_in
from limbeck.runs.distilling.subject import Subject
from limbeck.runs.distilling.work import Distillation
from limbeck.runs.execution.folders import RunFolder
from limbeck.stream import Consumer, Plan, TextSource
from limbeck.stream.checkpoint import Checkpoint, Part
from limbeck.stream.run import identity_of
from limbeck.stream.workers import Workers

if TYPE_CHECKING:
    from limbeck.runs.execution.sharing import Reading


@dataclass
class Job:
    """A consumer of the shared pass.

    out      its folder
    layers   that it sees; None: those that its command has where none are named
    title    how it is called in messages
    figures  whether it draws them, as its command does
    """

    out: Path
    layers: str | None = None
    title: str = ""
    figures: bool = True

    command: ClassVar[str]
    usual_layers: ClassVar[str | None] = None
    reads_duplicates: ClassVar[bool] = False  # texts that repeat an earlier one
    shard_units: int | None = field(default=None, init=False)
    source: TextSource = field(init=False)
    folder: RunFolder = field(init=False)
    plan: Plan = field(init=False)

    @property
    def seed(self) -> int:
        """Of the choice of occurrences."""
        return 0

    @property
    def deduplicate(self) -> bool:
        return True

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        """The text and the model are there."""
        self.folder = folder
        usual = self.usual_layers if hasattr(reading.encoder, "with_layers") else None
        self.source = reading.source(usual if self.layers is None else self.layers)

    def identity(self) -> Any:
        """All that the state depends on, in plain values."""
        raise NotImplementedError

    def choose(self, everything: Plan, *, state: Path) -> Plan:
        """Its own plan, by one that follows every word; `state` has what is known of the texts."""
        raise NotImplementedError

    def accumulators(self) -> list[Accumulator]:
        return []

    def consumers(self) -> list[Consumer]:
        return []

    def fill(self, made: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        """Keep what the pass has given, where `finish` will look for it."""
        raise NotImplementedError

    def beyond_pass(self) -> list[str]:
        """What it does beyond the shared pass, where that takes long."""
        return []

    def check_complete(self, folder: RunFolder) -> None:
        """Refuse a finished folder that is of something else."""
        raise NotImplementedError

    def finish(self, *, workers: Workers, progress: bool) -> None:
        """All that its command does after the pass."""
        raise NotImplementedError


@dataclass
class DistillJob(Job):
    """`limbeck distill`, by methods that read the text once or not at all."""

    settings: DistillSettings = field(default_factory=DistillSettings)
    words: str | Path | None = None
    add_words: str | Path | None = None
    tasks: str = ""
    data: Path | None = None

    command: ClassVar[str] = "distill"
    usual_layers: ClassVar[str | None] = "-1"

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        train = [name for name in in_order(self.settings) if METHODS[name].train is not None]
        if train:
            raise UsageError(
                f"{self.title}: {', '.join(train)} reads the text as often as it learns, which a shared pass does not "
                "serve: run it by itself."
            )
        super().join_pass(reading, folder)
        only = None if self.words is None else tuple(words_in(self.words))
        also = () if self.add_words is None else tuple(words_in(self.add_words))
        subject = Subject(self.source, self.source.encoder, only, also, reading.model)
        self.subject = checked(subject, self.settings)

    @property
    def seed(self) -> int:
        return self.settings.seed

    @property
    def deduplicate(self) -> bool:
        return self.settings.deduplicate

    @property
    def reads_duplicates(self) -> bool:  # type: ignore[override]
        return not self.deduplicate

    def identity(self) -> Any:
        return identity_of(self.source, self.settings.as_dict() | self.subject.named(), seed=self.seed)

    @cached_property
    def work(self) -> Distillation:
        return Distillation(self.subject, self.settings, self.folder.state, Workers(), False)

    def choose(self, everything: Plan, *, state: Path) -> Plan:
        plan = self.work.plan_words(everything)
        assert plan is not None
        self.plan = plan
        return plan

    def accumulators(self) -> list[Accumulator]:
        return [accumulator for some in self.work.asked().values() for accumulator in some]

    def fill(self, made: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        told = self.work.told(self.work.asked())
        identity = identity_of(self.source, told, seed=self.seed, deduplicate=self.deduplicate)
        saved = Checkpoint(self.folder.state / "pass", identity)
        saved.open(self.plan, made)
        saved.save_part(Part(0, len(self.plan.shards)), made, dropped)

    def check_complete(self, folder: RunFolder) -> None:
        distill_into(self.folder, self.subject, self.settings, tasks=self.tasks, data=self.data)

    def finish(self, *, workers: Workers, progress: bool) -> None:
        distill_into(
            self.folder,
            self.subject,
            self.settings,
            tasks=self.tasks,
            data=self.data,
            workers=workers,
            progress=progress,
        )
