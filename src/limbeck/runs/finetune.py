"""`limbeck finetune`: a model trained on a task, kept as a model of its own.

What computes stands in `limbeck.probing.finetuning`, and is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from limbeck.encoders.settings import DeviceSettings
from limbeck.errors import UsageError
from limbeck.probing.finetuning.settings import Column, FinetuneSettings, known_tasks
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import ModelSettings, OutputSettings
from limbeck.settings import Settings, option, options_of
from limbeck.stream.settings import BatchSettings

if TYPE_CHECKING:
    from limbeck.encoders.loading import Parts
    from limbeck.probing.finetuning.data import TaskData
    from limbeck.probing.finetuning.fitting import Finetuned
    from limbeck.probing.finetuning.head import Head
    from limbeck.reporting.figures import Makers
    from limbeck.sketch import Curves
    from limbeck.stream.context import RunContext
    from limbeck.tables import Columns


@dataclass(frozen=True)
class TaskSettings(Settings, group="task"):
    """What is learned, and from which files."""

    task: Any = option(
        None,
        common=True,
        required=True,
        recorded=False,
        metavar="T",
        suggestions=known_tasks,
        help="name of a task, see below",
    )
    data: Path | None = option(
        None,
        common=True,
        required=True,
        recorded=False,
        metavar="D",
        files=True,
        help="folder that has the task's files in it",
    )
    column: Column = option("upos", help="what pos learns: upos (default), xpos or deprel")


@dataclass(frozen=True, eq=False, repr=False)
class FinetuneResult(RunResult):
    """A fine-tuned model and what is known of it.

    record      run.json: the parent, settings as they were used, scores of the step that was kept, versions
    tables      dev (scores on the development set), steps (the loss), classes (scores by class), and attention (how
                alike it is before and after) where that was compared
    classifier  the linear layer on top of the model
    """

    files: ClassVar[Mapping[str, str]] = {name: f"{name}.csv" for name in ("dev", "steps", "classes", "attention")}
    text = ("part", "class", "layer")

    classifier: Head = field(repr=False, compare=False)
    _parts: Parts | Path = field(repr=False, compare=False)  # in memory, or where it lies

    @property
    def name(self) -> str:
        return str(self.record["name"])

    @property
    def scores(self) -> Mapping[str, Mapping[str, float]]:
        """Part -> scores of the step that was kept."""
        found: Mapping[str, Mapping[str, float]] = self.record["scores"]
        return found

    @property
    def best_step(self) -> int:
        """The step that was kept."""
        return int(self.record["best_step"])

    @property
    def fingerprint(self) -> str:
        """Changes with the model's weights."""
        return str(self.record["model_fingerprint"])

    @cached_property
    def parts(self) -> Parts:
        """Model and tokenizer; `limbeck.load_encoder` takes both as (model, tokenizer)."""
        from limbeck.encoders.loading import load_parts

        return load_parts(self._parts) if isinstance(self._parts, Path) else self._parts

    def title(self) -> str:
        return f"{self.name}: step {self.best_step} of {len(self.tables['steps']['step'])}"

    def curves(self) -> Curves:
        """Scores on the development set by step."""
        from limbeck.sketch import Curves

        dev, metric = self.tables["dev"], self.record["settings"]["metric"]
        lines = {metric: list(dev[metric])} if len(dev["step"]) > 1 else {}
        return Curves([str(step) for step in dev["step"]], lines, up=f"{metric} of {self.name}")

    def write(self, folder: Path) -> None:
        from limbeck.encoders.loading import quiet

        super().write(folder)
        with quiet(bars=False):
            self.parts.model.save_pretrained(folder)
            self.parts.tokenizer.save_pretrained(folder)
        self.classifier.save(folder)

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting.finetuning import attention_figure, finetuning_figure

        about = {"name": self.name, "metric": self.record["settings"]["metric"], "best": self.best_step}
        found: dict[str, Any] = {
            "training": partial(finetuning_figure, self.tables["steps"], self.tables["dev"], **about)
        }
        if attention := self.tables.get("attention"):
            title = f"{self.record['task']}, {attention['texts'][0]} texts"
            found["attention"] = partial(attention_figure, {title: attention}, about=f"{self.name}.")
        return found

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        from limbeck.probing.finetuning.head import load_head

        return cls(record, cls.read_tables(folder), load_head(folder), folder)


@dataclass(kw_only=True)
class FinetuneRun(Run[FinetuneResult]):
    """Fine-tune a model on a task of words or of texts, as Zhao et al. (2020) did."""

    result = FinetuneResult
    command: ClassVar[str] = "finetune"
    summary: ClassVar[str] = "train a model on a task and keep it as a model of its own"
    details: ClassVar[str] = """\
tasks:
  pos           parts of speech: files *train*.conllu, *dev*, *test* (Universal Dependencies), plain or compressed
  ner           named entities: a word and its IOB tag a line, *train*.conll, *dev*, *test* (WNUT-17), or eng.train,
                eng.testa, eng.testb (CoNLL-2003)
  sst2, mrpc, cr, mr, mpqa, subj, trec, sst-5, cola, rte, boolq
                classes of texts and of pairs of texts, in the layouts of their releases
Their files lie anywhere under --data.

All weights and a linear layer on the last layer are trained by plain Adam, in float32. The step that is best on the
development set is kept. DIR is then a model: --model DIR works with every command. In it are head.safetensors (the
linear layer), steps.csv and dev.csv (curves), classes.csv (scores by class), attention.csv (attention before and
after), figures/ and run.json (settings, scores, the parent's fingerprint).

The settings that are not given are the paper's, for BERT. A miniature is small and wants larger steps: give it
--learning-rate 5e-4 --batch 32.
"""
    examples: ClassVar[str] = """\
limbeck finetune --model mini-bert --task sst2 --data data --learning-rate 5e-4 --batch 32 --out models/sst2
limbeck finetune --model bert-base-uncased --task mrpc --data data --out models/mrpc
limbeck finetune --model mini-bert --task pos --data data/UD_English-EWT --attention-window 2 --out models/pos-2
limbeck measure --model models/sst2 --corpus sample --out runs/sst2
"""
    transient: ClassVar[tuple[str, ...]] = ("state",)

    models: ModelSettings
    task: TaskSettings
    output: OutputSettings
    training: FinetuneSettings
    loading: DeviceSettings
    batches: BatchSettings

    parts: Parts = field(init=False, repr=False)
    data: TaskData = field(init=False, repr=False)

    def validate(self) -> None:
        from limbeck.probing.finetuning.data import name_of

        if self.models.model is None:
            raise UsageError("--model is required.", code="required", parameter="model")
        if isinstance(self.task.task, str):
            name_of(self.task.task)  # a wrong name should not cost a model's loading
            if self.task.data is None:
                raise UsageError(
                    f"--data must be the folder with the files of {self.task.task}, got none: give it.",
                    code="required",
                    parameter="data",
                )

    def open(self) -> None:
        from limbeck.encoders.loading import Parts, load_parts
        from limbeck.probing.finetuning.data import read_task

        task, model = self.task, self.models.model
        if isinstance(task.task, str):
            assert task.data is not None
            self.data = read_task(task.task, task.data, column=task.column, seed=self.training.seed)
        else:
            self.data = task.task
        loading = {name: value for name, value in self.loading.given().items() if name != "device"}
        self.parts = model if isinstance(model, Parts) else load_parts(model, **loading)

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        some = self.data.limited(most=self.training.max_train, most_dev=self.training.max_dev, seed=self.training.seed)
        counts = ", ".join(f"{len(part):,} {name}" for name, part in some.parts.items())
        yield f"{some.name}: {counts} examples of {len(some.classes)} classes"
        yield from some.notes

    def compute(self, context: RunContext) -> FinetuneResult:
        from limbeck.probing.finetuning.fitting import finetune_model

        found = finetune_model(
            self.parts,
            self.data,
            settings=self.training,
            batch_tokens=self.batches.batch_tokens,
            device=self.loading.device or "auto",
            state=context.checkpoint,
            progress=context.progress,
        )
        return self.made(found, context)

    def made(self, found: Finetuned, context: RunContext) -> FinetuneResult:
        """The result of a fine-tuning."""
        from limbeck.probing.finetuning.head import Head

        data, layer, model = found.data, found.network.head, self.models.model
        self.parent = found.parent  # a model in memory has been changed in place
        source = str(model) if isinstance(model, str | Path) else found.parts.name
        facts = {
            "name": f"{found.parts.name} fine-tuned on {data.name}",
            "task": data.name,
            "parent": {"name": found.parts.name, "model": source, "model_fingerprint": found.parent},
            "model_fingerprint": found.fingerprint,
            "settings": dict(found.used),
            "classes": list(data.classes),
            "examples": {name: len(part) for name, part in data.parts.items()},
            "files": dict(data.files),
            "notes": list(data.notes),
            "left_out": dict(found.left_out),
            "best_step": found.best_step,
            "scores": {part: scores.values for part, scores in found.scores.items()},
            "majority": dict(found.majority),
            "identity": self.identity(),
        }
        tables: dict[str, Columns] = {"dev": found.curves.dev, "steps": found.curves.steps, "classes": _classes(found)}
        if found.attention is not None:
            tables["attention"] = found.attention.table()
        weight, bias = (part.detach().cpu().numpy() for part in (layer.weight, layer.bias))
        head = Head(weight, bias, data.classes, found.used["vector"])
        return FinetuneResult(self.record(facts, context), tables, head, found.parts)

    def identity(self) -> Any:
        names = {one.name for kind in (FinetuneSettings, TaskSettings) for one in options_of(kind)}
        options = {name: value for name, value in self.options().items() if name in names}
        return {"task": self.data.name, "data": self.data.fingerprint, "parent": self.parent, "options": options}

    @cached_property
    def parent(self) -> str:
        """Changes with the weights of the model that is trained; asked for before it is."""
        from limbeck.encoders.huggingface import HuggingFaceEncoder

        encoder = HuggingFaceEncoder(self.parts.model, self.parts.tokenizer, name=self.parts.name, device="cpu")
        return encoder.model_fingerprint


def _classes(found: Finetuned) -> dict[str, list[Any]]:
    """Columns of classes.csv: a row a part and class, or type of entity."""
    table: dict[str, list[Any]] = {"part": []}
    for part, scores in found.scores.items():
        table["part"] += [part] * len(scores.classes["class"])
        for name, values in scores.classes.items():
            table.setdefault(name, []).extend(values)
    return table


def finetune(
    model: Any, task: Any, data: str | Path | None = None, *, progress: bool = False, **keywords: Any
) -> FinetuneResult:
    """Fine-tune a model on a task; with `out` also a folder that every `model` parameter loads.

    model     a name or folder, or what `limbeck.encoders.loading.load_parts` gives, whose model is changed in place
    task      name of a task whose files lie under `data`, or one that has been read: see `lb.probing.read_task`
    progress  show bars

    All other keywords are the options of `limbeck finetune`, by the same names.
    """
    return FinetuneRun.results(progress, model=model, task=task, data=data, **keywords)[0]
