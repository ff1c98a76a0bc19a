"""`limbeck distill`: one vector a word, out of a language model and a text.

What computes stands in `limbeck.runs.distilling` and `limbeck.distillation`, and is imported when a run does.
"""

from __future__ import annotations

import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, overload

from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.distillation.methods import METHODS, in_order
from limbeck.distillation.settings import DEFAULT, DistillSettings
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import UnknownName, UsageError
from limbeck.evaluation.settings import task_names
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.execution.settings import (
    ModelSettings,
    OutputSettings,
    TextSettings,
    VectorsSettings,
    refuse_pipe,
    refuse_two_sources,
)
from limbeck.settings import Settings, option, options_of
from limbeck.stream.settings import BatchSettings, EngineSettings

if TYPE_CHECKING:
    from limbeck.accumulators import Accumulator
    from limbeck.distillation.distilled import DistilledVectors
    from limbeck.reporting.figures import Makers
    from limbeck.runs.distilling.subject import Subject
    from limbeck.runs.distilling.work import Distillation
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.sharing import Reading
    from limbeck.stream import Plan
    from limbeck.stream.context import RunContext
    from limbeck.stream.workers import Workers


@dataclass(frozen=True)
class CardSettings(Settings, group="scores"):
    """What the vectors are scored on, for their card."""

    tasks: tuple[str, ...] = option(
        (), separator=",", recorded=False, metavar="NAMES", suggestions=task_names, help="tasks of `limbeck evaluate`"
    )
    data: Path | None = option(None, recorded=False, metavar="DIR", files=True, help="folder of the tasks' files")


def methods_described() -> str:
    """Methods and their settings as they are registered."""
    wide = max(map(len, METHODS)) + 2
    lines = ["methods, several with commas between; those that read the text share one pass over it:"]
    lines += [f"  {name:{wide}}{method.summary}" for name, method in METHODS.items()]
    lines += [
        "",
        "settings of their own (--set NAME=VALUE, or METHOD.NAME=VALUE where several have some), and defaults:",
    ]
    alike: dict[str, list[str]] = {}
    for name, method in METHODS.items():
        if method.settings is not None:
            line = ", ".join(f"{one.name}={one.default}" for one in options_of(method.settings))
            alike.setdefault(line, []).append(name)
    for line, names in alike.items():
        lines += [f"  {', '.join(names)}", textwrap.fill(line, 118, initial_indent=" " * 4, subsequent_indent=" " * 4)]
    return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class DistillResult(RunResult, Mapping[str, "DistilledVectors"]):
    """Vectors by the name of their method, with several layers METHOD-LAYER: `result["average"]["tea"]`.

    record  run.json: of one set of vectors its own, of several what they are and were made of
    """

    vectors: Mapping[str, DistilledVectors] = field(repr=False)

    @classmethod
    def of(cls, vectors: Mapping[str, DistilledVectors]) -> Self:
        first = next(iter(vectors.values())).record
        if len(vectors) == 1:
            return cls(first, {}, vectors)
        whole = ("format", "command", "identity", "options", "versions", "written")
        seconds = max(one.record["seconds"] for one in vectors.values())
        record = {"results": list(vectors), **{name: first[name] for name in whole}, "seconds": seconds}
        return cls(record, {}, vectors)

    def __getitem__(self, name: str) -> DistilledVectors:
        if name not in self.vectors:
            raise UnknownName("set of vectors", name, self.vectors)
        return self.vectors[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.vectors)

    def __len__(self) -> int:
        return len(self.vectors)

    def title(self) -> str:
        return ", ".join(self)

    def columns(self) -> Mapping[str, Sequence[Any]]:
        """A row for each set of vectors."""
        made = self.vectors.values()
        return {
            "name": list(self),
            "method": [one.method for one in made],
            "layer": [one.layer for one in made],
            "words": [len(one) for one in made],
            "dim": [one.dim for one in made],
        }

    def folder_of(self, folder: Path, name: str) -> Path:
        """Where one set of vectors is kept: one alone in the folder itself."""
        return folder if "results" not in self.record else folder / name

    def write(self, folder: Path) -> None:
        for name, one in self.items():
            one.save(self.folder_of(folder, name), format="model2vec", dtype=one.record["dtype"])

    def figures(self, folder: Path) -> Makers:
        """The loss curves of methods that train and know how far they had come at each loss."""
        from limbeck.reporting.training import training_figure

        trained = {name: one for name, one in self.items() if {"progress", "loss", "epoch"} <= one.losses.keys()}
        return {
            "losses" if len(self) == 1 else f"{name}-losses": partial(
                training_figure, one.losses, name=f"{one.method}, {one.record['teacher']['name']}"
            )
            for name, one in trained.items()
        }

    def draw(self, folder: Path) -> None:
        """Beside each set of vectors its own."""
        if "results" not in self.record:
            super().draw(folder)
            return
        for name, one in self.items():
            type(self).of({name: one}).draw(self.folder_of(folder, name))

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        from limbeck.distillation.distilled import DistilledVectors

        if "results" in record:
            return cls(record, {}, {str(name): DistilledVectors.load(folder / name) for name in record["results"]})
        only = DistilledVectors.load(folder)
        return cls(only.record, {}, {str(record.get("result", only.method)): only})


@dataclass(kw_only=True)
class DistillRun(SharedRun[DistillResult]):
    """Make one vector a word out of a language model (the teacher) and a text."""

    result = DistillResult
    command: ClassVar[str] = "distill"
    summary: ClassVar[str] = "static word vectors out of a model and a text"
    details: ClassVar[str] = f"""\
{methods_described()}

DIR is then a folder that limbeck, model2vec and sentence-transformers load, with a card (README.md), words.parquet
(each word's count, and how its vector came about) and run.json; of a method that trains also losses.csv and figures/.
Several methods or layers give DIR/METHOD[-LAYER]; only the teacher's last layer is read unless --layers says others.
`limbeck convert` makes files for gensim and spaCy of it.
"""
    examples: ClassVar[str] = """\
limbeck distill --model mini-bert --corpus sample --out vectors
limbeck distill --model bert-base-uncased --corpus 'texts/*.txt.gz' --method average --layers 8-12 --out vectors
limbeck distill --model bert-base-uncased --corpus text.txt --method average,principal,frame --out vectors
limbeck distill --model bert-base-uncased --corpus text.txt --words words.txt --unseen frame --out vectors
limbeck distill --model bert-base-uncased --words words.txt --out vectors
limbeck distill --model bert-base-uncased --words words.txt --template "this is a {}." --out vectors
limbeck distill --model gpt2 --corpus text.txt --repair all-but-the-top:n_components=3 --dim 256 --keep float16 --out v
limbeck distill --vectors cached --out vectors
limbeck distill --model mini-bert --corpus sample --tasks wordsim --data data --out vectors

training, the same as the paper did it, and going on with what was stopped:
limbeck distill --model mini-bert --corpus sample --method x2static --set epochs=4 --set subsample=1e-3 --out vectors
limbeck distill --model roberta-base --corpus text.txt --method x2static --preset paper --out v
limbeck distill --model roberta-base --corpus text.txt --method x2static --preset paper --out v --existing resume
limbeck distill --model mini-bert --corpus sample --method x2static,skipgram --set x2static.epochs=4 --out vectors

training on several GPUs, or in several processes:
torchrun --nproc-per-node 4 -m limbeck distill --model roberta-base --corpus text.txt --method x2static --out v
"""
    usual_layers: ClassVar[str | None] = "-1"
    torchrun: ClassVar[bool] = True
    shows_again: ClassVar[bool] = True

    models: ModelSettings
    text: TextSettings
    output: OutputSettings
    distilling: DistillSettings
    card: CardSettings
    loading: LoadingSettings
    encoder: EncoderSettings
    vectors: VectorsSettings
    reading: CorpusSettings
    unit: TextUnitSettings
    batches: BatchSettings
    engine: EngineSettings

    single: bool = field(default=False, init=False)  # whether one set of vectors is asked for, in Python
    subject: Subject = field(init=False)

    @property
    def transient(self) -> Sequence[str]:
        return ("state",)  # sums and vectors, many times the size of what they gave

    @cached_property
    def settled(self) -> DistillSettings:
        """The settings with methods, checked: of cached vectors "average", of words without a text "frame"."""
        from limbeck.runs.distilling.checks import settled

        usual = "average" if self.vectors.vectors is not None else "frame" if self._in_template else DEFAULT
        return settled(self.distilling, usual)

    @property
    def _in_template(self) -> bool:
        return self.text.corpus is None and self.models.model is not None and self.distilling.words is not None

    @cached_property
    def tasks(self) -> list[tuple[Any, Any]]:
        """What is scored on."""
        from limbeck.runs.distilling.compute import find_tasks

        return find_tasks(self.card.tasks, self.card.data)

    def validate_shared(self) -> None:
        assert self.settled is not None  # what is wrong with the settings is told now

    def validate(self) -> None:
        model, corpus, vectors = self.models.model, self.text.corpus, self.vectors.vectors
        if model is None and vectors is None:
            raise UsageError(
                "--model is needed, with --corpus or --words; or --vectors.", code="required", parameter="model"
            )
        refuse_two_sources(vectors, model, corpus)
        if vectors is not None and self.distilling.preset is not None:
            raise UsageError(
                "--preset says how the teacher reads the text, which --vectors have behind them: omit it.",
                code="no_effect",
                parameter="preset",
            )
        if self.single and len(self.settled.methods) > 1:
            self._refuse_several(self.settled.methods)
        self.validate_shared()
        assert self.tasks is not None

    def validate_together(self) -> None:
        from limbeck.runs.distilling.together import check_together

        check_together(self.settled)
        refuse_pipe(self.text.corpus, "several processes read it")

    def _refuse_several(self, names: Sequence[str]) -> None:
        raise UsageError(
            f"one method and one layer give one vector a word; these give {', '.join(names)}: choose one, or give a "
            "list of methods for a result with all of them.",
            code="ambiguous",
            parameter="method",
        )

    @property
    def asked(self) -> dict[str, Any]:
        """Options of teacher and text; what is given goes before what a preset says."""
        asked: dict[str, Any] = self.loading.given() | self.encoder.given() | self.reading.given()
        asked |= self.unit.given() | self.batches.given()
        said = self.distilling.said
        if said is not None:
            asked |= {name: True for name in ("lowercase", "keep_first") if getattr(said, name)}
            window = said.window[self.unit.text_unit != "sentence"]
            if "window" not in asked and window is not None:
                asked["preset_window"] = window
        return asked

    def open(self) -> None:
        from limbeck.runs.distilling.compute import open_subject

        settings = self.settled
        self.subject = open_subject(
            self.models.model, self.text.corpus, settings, vectors=self.vectors.vectors, **self.asked
        )
        layers = self.subject.layers
        if self.single and len(layers) > 1 and not METHODS[settings.methods[0]].one_layer:
            self._refuse_several([f"{settings.methods[0]}-{layer}" for layer in layers])

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.runs.distilling.compute import forecast
        from limbeck.runs.distilling.needs import time_told
        from limbeck.runs.distilling.work import EVERYTHING, Distillation
        from limbeck.stream.foretell import look_ahead

        work = Distillation(self.subject, self.settled, context)
        source, ahead = self.subject.source, None
        if source is not None:
            ahead = look_ahead(source, choice=EVERYTHING, deduplicate=self.deduplicate)
        work.plan_words(None if ahead is None else ahead.plan)
        times = time_told(work, ahead, workers=context.workers)
        first, *others = forecast(work)
        yield first + (ahead.note if ahead else "")
        yield from (*others, *times)

    def compute(self, context: RunContext) -> DistillResult:
        from limbeck.runs.distilling.compute import distill_subject

        if self._in_template and self.distilling.method is None:
            context.notify("without --corpus words are read in a template: --method frame")
        made = distill_subject(self.subject, self.settled, context, tasks=self.tasks, options=self.options())
        return DistillResult.of(made)

    def load(self, folder: Path) -> DistillResult:
        """What a finished run holds, scored anew where tasks are asked for."""
        from limbeck.runs.distilling.compute import scores_of

        result = DistillResult.load(folder)
        if self.tasks:
            for name, one in result.items():
                one.record["scores"] = scores_of(one, self.tasks, name)
                one.save_record(result.folder_of(folder, name), dtype=one.record["dtype"])
        return result

    # in several processes

    def take_part(self, workers: Workers) -> None:
        """What every process but the first does, where torchrun has started several."""
        from limbeck.runs.distilling.together import help_training

        def opened() -> tuple[Subject, DistillSettings]:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the first process tells
                self.open()
            return self.subject, self.settled

        help_training(opened, workers)

    def dismiss(self) -> None:
        from limbeck.runs.distilling.together import send_others_home

        send_others_home()

    # in a shared pass

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        from limbeck.runs.distilling.compute import checked, listed_in
        from limbeck.runs.distilling.subject import Subject

        train = [name for name in in_order(self.settled) if METHODS[name].train is not None]
        if train:
            raise UsageError(
                f"{self.title}: {', '.join(train)} reads the text as often as it learns, which a shared pass does not "
                "serve: run it separately.",
                code="not_shared",
                parameter="method",
            )
        super().join_pass(reading, folder)
        subject = Subject(self.source, self.source.encoder, *listed_in(self.settled), reading.model)
        self.subject = checked(subject, self.settled)

    @property
    def seed(self) -> int:
        return self.distilling.seed

    @property
    def deduplicate(self) -> bool:
        return self.distilling.deduplicate

    @property
    def reads_duplicates(self) -> bool:
        return not self.deduplicate

    def identity(self) -> Any:
        from limbeck.runs.distilling.compute import identity

        return identity(self.subject, self.settled)

    @cached_property
    def _work(self) -> Distillation:
        from limbeck.runs.distilling.work import Distillation
        from limbeck.stream.context import RunContext

        return Distillation(self.subject, self.settled, RunContext(checkpoint=self.folder.state))

    def choose(self, everything: Plan, *, state: Path) -> Plan:
        self.index = cast("Plan", self._work.plan_words(everything))
        return self.index

    def accumulators(self) -> list[Accumulator]:
        return [accumulator for some in self._work.asked().values() for accumulator in some]

    def fill(self, made: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        from limbeck.stream.checkpoint import Checkpoint, Part
        from limbeck.stream.run import identity_of

        told = self._work.told(self._work.asked())
        identity = identity_of(self.source, told, seed=self.seed, deduplicate=self.deduplicate)
        saved = Checkpoint(self.folder.state / "pass", identity)
        saved.open(self.index, made)
        saved.save_part(Part(0, len(self.index.shards)), made, dropped)


@overload
def distill(
    model: Any = ..., corpus: Any = ..., *, method: str | None = ..., progress: bool = ..., **keywords: Any
) -> DistilledVectors: ...
@overload
def distill(
    model: Any = ...,
    corpus: Any = ...,
    *,
    method: list[str] | tuple[str, ...],
    progress: bool = ...,
    **keywords: Any,
) -> DistillResult: ...
def distill(
    model: Any = None,
    corpus: Any = None,
    *,
    method: str | list[str] | tuple[str, ...] | None = None,
    progress: bool = False,
    **keywords: Any,
) -> DistilledVectors | DistillResult:
    """One vector a word out of a teacher and a text; with `out` also a folder that other programs load.

    model     the teacher: a name or folder, an Encoder, StaticVectors, or a function of texts
    corpus    a path, a Corpus, or a list of sentences; not needed where `words` are read alone or in a template
    method    a name of `limbeck.distillation.METHODS`, for static vectors; a list, for a result with all of them.
              Where there is none: "best", of cached vectors "average", of words without a text "frame"
    words     exactly the words that are to have vectors, or a file of them; without, those of the text
    set       settings of methods that have some: {"x2static": {"epochs": 3}}
    progress  show bars

    All other keywords are the options of `limbeck distill`, by the same names.

    >>> import limbeck as lb
    >>> sentences = [["green", "tea"], ["black", "tea"], ["black", "night"]]
    >>> def letters(texts):
    ...     return [[[float(len(word)), float(word < "n")] for word in text.words] for text in texts]
    >>> vectors = lb.distill(letters, sentences, method="average", min_count=2)
    >>> vectors.words, vectors["tea"].tolist()
    (['black', 'tea'], [3.0, 0.0])
    """
    from limbeck.runs.execution.execute import execute

    run = DistillRun.of({"model": model, "corpus": corpus, "method": method, **keywords})
    run.single = method is None or isinstance(method, str)
    (result,) = execute(run, progress=progress)
    if not run.single:
        return result
    (vectors,) = result.values()
    if run.distilling.words is not None and run.distilling.unseen != "drop":
        from limbeck.distillation.lacking import lacking_told

        if told := lacking_told(vectors.record):
            warnings.warn(f"words without a vector{told}", stacklevel=2)
    return vectors
