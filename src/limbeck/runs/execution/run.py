"""What a command executes: its settings, what it needs from a pass over a text, and what it makes of that."""

from __future__ import annotations

import importlib
import pkgutil
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from limbeck import runs
from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.encoders.settings import LayerSettings, LoadingSettings
from limbeck.errors import InputError, UsageError
from limbeck.record import read_record
from limbeck.runs.execution.command import Command
from limbeck.runs.execution.settings import FolderSettings, OptionalFolderSettings, RepairedSettings
from limbeck.settings import Settings, options_of, path_of
from limbeck.stream.settings import BatchSettings, WorkersSettings

if TYPE_CHECKING:
    from limbeck.accumulators import Accumulator
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.result import RunResult
    from limbeck.runs.execution.sharing import Reading
    from limbeck.stream import Choice, Consumer, Plan, TextSource
    from limbeck.stream.context import RunContext

R = TypeVar("R", bound="RunResult")
#: what `open_source` takes
SOURCE = (LoadingSettings, LayerSettings, CorpusSettings, TextUnitSettings, BatchSettings, RepairedSettings)


class Run(Command, Generic[R]):
    """A command that fills a run folder: its settings, and what it does with them.

    `execute` calls the methods in the order in which they stand here; it alone knows folders, locks, resuming, dry
    runs, signals, the record and figures.

    result       the class of what comes out
    together     what `join` writes beside the folders of several models
    shows_again  whether the command line prints the result of a folder that was complete already
    torchrun     whether several processes that torchrun has started can work on it
    """

    result: ClassVar[type[RunResult]]
    together: ClassVar[tuple[str, ...]] = ()
    shows_again: ClassVar[bool] = False
    torchrun: ClassVar[bool] = False

    output: FolderSettings | OptionalFolderSettings
    engine: WorkersSettings = WorkersSettings(workers=0)  # of runs whose work is not divided

    @classmethod
    def results(cls, progress: bool = False, **keywords: Any) -> list[R]:
        """What a verb does: execute the run that its keywords ask for."""
        from limbeck.runs.execution.execute import execute

        return execute(cls.of(keywords), progress=progress)

    @property
    def transient(self) -> Sequence[str]:
        """Files and folders of an unfinished run that a finished one does not keep."""
        return ()

    @property
    def writes(self) -> bool:
        return self.output.out is not None and not self.output.dry_run

    def options(self) -> dict[str, Any]:
        """Every option that differs from its default, for the record; its source says what was read."""
        recorded = {one.name for kind in self.settings().values() for one in options_of(kind) if one.recorded}
        given: dict[str, Any] = {}
        for name in self.settings():
            given |= getattr(self, name).given()
        return {name: value for name, value in given.items() if name in recorded}

    def record(self, facts: Mapping[str, Any], context: RunContext) -> dict[str, Any]:
        """run.json: what this command says of its numbers, between what every record has."""
        from limbeck.runs.execution.record import record_of

        return record_of(self.command, facts, options=self.options(), seconds=context.seconds)

    def split(self) -> Sequence[Self]:
        """One run per folder; several where several models are given."""
        return [self]

    def validate(self) -> None:
        """Refuse what cannot work, before anything expensive: no model is loaded here."""

    def inputs(self) -> Iterator[Path]:
        """Paths that are given to it to be read."""
        yield from paths_in(getattr(self, name) for name in self.settings() if name != "output")

    def check_inputs(self) -> None:
        """Refuse to replace what the run itself reads."""
        from limbeck.runs.execution.folders import refuse_input

        if self.output.out is not None and self.output.existing == "replace":
            refuse_input(self.output.out, self.inputs())

    def check_folder(self) -> None:
        """Refuse a place that its folder could not be put into."""
        from limbeck.runs.execution.folders import check_target

        if self.output.out is None:
            self.refuse_unkept()
        else:
            check_target(self.output.out, existing=self.output.existing)

    def refuse_unkept(self) -> None:
        """Refuse to go on with a folder, or to replace one, where none is named."""
        if self.output.existing != "fail":
            raise UsageError(
                "--existing has an effect only with --out: add --out, or omit it.",
                code="no_effect",
                parameter="existing",
            )

    def make_folder(self) -> RunFolder:
        """Its folder, which no other run can use meanwhile."""
        from limbeck.runs.execution.folders import RunFolder

        assert self.output.out is not None
        return RunFolder(self.output.out, existing=self.output.existing)

    def open(self) -> None:
        """Load the model, open the text, where there are any."""

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        """Lines that say what the run would take, for `--dry-run`; opening took so many seconds."""
        yield from ()

    @abstractmethod
    def compute(self, context: RunContext) -> R:
        """Everything; resumed from `context.checkpoint` where an earlier try has left something there."""

    def publish(self, result: R) -> None:
        """Write what does not stand in its folder, once that is whole."""

    def identity(self) -> Any:
        """All that its numbers depend on, in plain values; None of a run that is never resumed."""

    def check_complete(self, folder: RunFolder) -> None:
        """Refuse a finished folder that was made of something else: unless its record has the same `identity`."""
        from limbeck.runs.execution.record import plain

        own = plain(self.identity())
        record = {} if own is None else read_record(folder.target / "run.json")
        if own is not None and (record.get("command"), record.get("identity")) != (self.command, own):
            raise InputError(
                f"{folder.target}: holds a finished run of another command, model, data or settings: "
                "--existing=replace, or another --out.",
                code="other_run",
                parameter="out",
            )

    def load(self, folder: Path) -> R:
        """The result of a finished folder."""
        return cast(R, self.result.load(folder))

    def join(self, results: Sequence[R], folders: Sequence[Path]) -> None:
        """What several folders of one command have together."""


@cache
def run_classes() -> dict[str, type[Run[Any]]]:
    """Command -> its class: a module of `limbeck.runs` is a command."""
    names = [one.name for one in pkgutil.iter_modules(runs.__path__) if not one.ispkg]
    found = [one for name in names for one in vars(importlib.import_module(f"{runs.__name__}.{name}")).values()]
    return {
        one.command: one for one in found if isinstance(one, type) and issubclass(one, Run) and "command" in vars(one)
    }


def paths_in(several: Iterable[Settings]) -> Iterator[Path]:
    """The paths among the values of settings, by whichever options name files; names of models are none."""
    for settings in several:
        for one in options_of(type(settings)):
            given = getattr(settings, one.name)
            for value in (given if isinstance(given, list | tuple) else [given]) if one.files else ():
                path = None if isinstance(value, str) and value in one.names else path_of(value)
                if path is not None:
                    yield path


class SharedRun(Run[R]):
    """A run whose vectors may come from a pass that it shares with others.

    The shared pass fills, for each run, the state that its own pass would have had at its end. `compute` then goes on
    from there as if it had been interrupted at that moment, so that what it writes is what it always writes.

    usual_layers      layers that it reads where none are named
    reads_duplicates  whether it reads texts that repeat an earlier one
    shard_units       words per shard at most; None where any number will do
    """

    usual_layers: ClassVar[str | None] = None
    encoder: LayerSettings
    source: TextSource
    folder: RunFolder
    index: Plan
    title: str = ""
    shard_units: int | None = None

    @property
    def layers(self) -> Any:
        """The layers that were asked for."""
        return self.encoder.layers

    def source_options(self) -> dict[str, Any]:
        """What was asked of the model and the text, as `open_source` takes it."""
        kinds = [one for name in self.settings() if isinstance(one := getattr(self, name), SOURCE)]
        return {name: value for one in kinds for name, value in one.given().items()}

    @property
    def out(self) -> Path:
        """Its folder."""
        assert self.output.out is not None
        return self.output.out

    @property
    def seed(self) -> int:
        """Of the choice of occurrences."""
        return 0

    @property
    def deduplicate(self) -> bool:
        return True

    @property
    def reads_duplicates(self) -> bool:
        return False

    def validate_shared(self) -> None:
        """Refuse what cannot work in a pass that others share, before anything expensive."""

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        """Take the shared text and model, with its own layers."""
        self.folder = folder
        usual = self.usual_layers if reading.encoder.chooses_layers else None
        self.source = reading.source(usual if self.layers is None else self.layers)

    @property
    def state(self) -> Path:
        """Where it keeps what it resumes from."""
        return self.folder.state

    @property
    def choice(self) -> Choice:
        """Which words it tracks."""
        from limbeck.stream import Choice

        return Choice()

    def check_index(self) -> None:
        """Refuse an index that nothing could be made of."""

    def choose(self, everything: Plan, *, state: Path) -> Plan:
        """Its own index of the corpus, out of one that tracks every word; `state` has what is known of the texts."""
        from limbeck.runs.execution.parts import texts_beside, with_choice

        self.index = with_choice(everything, self.choice)
        self.check_index()
        texts_beside(state, self.state)  # what makes an interrupted run worth resuming
        return self.index

    def accumulators(self) -> list[Accumulator]:
        """Empty accumulators to be filled."""
        return []

    def consumers(self) -> list[Consumer]:
        """What takes batches as they come."""
        return []

    def fill(self, made: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        """Keep what the pass has given, where `compute` will look for it."""
        from limbeck.runs.execution.parts import save_whole

        save_whole(self.state, self.identity(), self.index, made, dropped)

    def beyond_pass(self) -> list[str]:
        """What it does beyond the shared pass, where that takes long."""
        return []
