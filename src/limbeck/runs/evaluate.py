"""`limbeck evaluate`: how well vectors agree with what people said of words and sentences.

What computes stands in `limbeck.evaluation` and `limbeck.runs.evaluating`, and is imported when a run does: `--help`
needs none of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from limbeck.encoders.miniatures import MINIATURES
from limbeck.encoders.settings import LoadingSettings
from limbeck.errors import UsageError
from limbeck.evaluation.settings import (
    AnalogySettings,
    AppliedRepairSettings,
    ClassificationSettings,
    ConvolutionSettings,
    EvaluationSettings,
    LookupSettings,
    ModelVectorSettings,
    OutOfVocabularySettings,
    PerceptronSettings,
    Scope,
    ScopedSettings,
    ScoreSettings,
    TextReadingSettings,
    TuningSettings,
    WeightingSettings,
    WordPresetSettings,
    task_names,
)
from limbeck.places import NEEDED_REPAIR, missing_run
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import OptionalOutputSettings
from limbeck.runs.repairing.naming import REPAIR_NAMES
from limbeck.settings import Settings, option
from limbeck.stream.settings import BatchSettings, EngineSettings

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scores, Suite
    from limbeck.evaluation.targets import Target
    from limbeck.evaluation.task import Pairs
    from limbeck.evaluation.tuning import Tuning
    from limbeck.reporting.figures import Makers
    from limbeck.stream.context import RunContext
    from limbeck.tables import Columns

#: of the table of a result
COLUMNS = ("task", "target", "metric", "value", "low", "high", "n", "coverage", "word_coverage")
BASELINE = "baseline"  #: in classify.csv the vectors as they are


@dataclass(frozen=True)
class TargetSettings(Settings, group="targets and tasks"):
    """What is evaluated, and on what."""

    targets: tuple[Any, ...] = option(
        (),
        positional=True,
        common=True,
        recorded=False,
        metavar="TARGET",
        suggestions=MINIATURES,
        files=True,
        help="a model or a file of word vectors",
    )
    tasks: tuple[str, ...] = option(
        (),
        separator=",",
        common=True,
        required=True,
        metavar="T,T",
        suggestions=task_names,
        help="groups or names, see below",
    )
    data: Path | None = option(
        None, common=True, required=True, metavar="DIR", files=True, help="folder with the tasks' files"
    )


@dataclass(frozen=True, eq=False, repr=False)
class EvaluateResult(RunResult):
    """The scores of an evaluation: as a table, a row for each task and target.

    record   run.json: targets, tasks, options, notes, versions
    tables   the files of its folder, those that there is something for: scores (every metric, aggregation and subset),
             classify, epochs, comparisons, items and tuning
    scored   of each task its kind and the score of each target, with all that it was made of; empty when loaded
    tuned    how repairs were tuned, by target and layer; empty when loaded
    """

    files: ClassVar[Mapping[str, str]] = {
        "scores": "scores.csv",
        "classify": "classify.csv",
        "epochs": "epochs.csv",
        "comparisons": "comparisons.csv",
        "items": "items.parquet",
        "tuning": "tuning.csv",
    }
    text = tuple(
        "task target other subset metric aggregation setting settings method layer split test dropped note".split()
    )

    scored: Scores = field(default_factory=list, repr=False, compare=False)
    tuned: Sequence[Tuning] = field(default=(), repr=False, compare=False)

    @property
    def scores(self) -> Mapping[str, Sequence[Any]]:
        """A row for each task and target: the score that was asked for, with its interval and coverage."""
        return self.columns()

    @property
    def comparisons(self) -> Columns:
        """Which targets differ on which tasks."""
        return self.tables.get("comparisons", {})

    @property
    def items(self) -> Columns:
        """How every item of every task came out."""
        return self.tables.get("items", {})

    @property
    def tuning(self) -> Columns:
        """The score of every number of clusters and components."""
        return self.tables.get("tuning", {})

    @property
    def notes(self) -> list[str]:
        """What must be known of the targets, tasks and scores."""
        return [*self.record["target_notes"], *self.record["notes"]]

    def title(self) -> str:
        return ", ".join(target["name"] for target in self.record["targets"])

    def columns(self) -> Mapping[str, Sequence[Any]]:
        from limbeck.tables import columns_of, rows_of

        found: dict[tuple[str, str], dict[str, Any]] = {}
        for row in rows_of(self.tables.get("scores", {})):  # the first of each task and target is the one asked for
            found.setdefault((row["task"], row["target"]), {name: row[name] for name in COLUMNS})
        for row in rows_of(self.tables.get("classify", {})):
            repair = BASELINE if row["setting"] == f"{BASELINE}, repaired" else row["setting"]  # one of that name
            target = row["target"] if row["setting"] == BASELINE else f"{row['target']} + {repair}"
            examples = row["trained"] + row["held_out"] + row["n"]
            dropped = sum(int(part.rpartition(": ")[2]) for part in row["dropped"].split("; ") if part)
            coverage = 1 - dropped / examples if math.isnan(row["word_coverage"]) else row["word_coverage"]
            own = {**row, "target": target, "coverage": coverage}
            found[row["task"], target] = {name: own[name] for name in COLUMNS}
        return columns_of(list(found.values()))

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting.epochs import epoch_figures
        from limbeck.reporting.tuning import tuning_figures

        found = epoch_figures(self.tables["epochs"]) if "epochs" in self.tables else {}
        return {**found, **(tuning_figures(self.tables["tuning"]) if "tuning" in self.tables else {})}


@dataclass(kw_only=True)
class EvaluateRun(Run[EvaluateResult]):
    """Score models and vector files on word and sentence similarity, side by side, with intervals."""

    result = EvaluateResult
    command: ClassVar[str] = "evaluate"
    summary: ClassVar[str] = "score models and vector files on word and sentence similarity"
    details: ClassVar[str] = f"""\
A target is a model (a miniature, a Hugging Face id, a folder) or a file of word vectors. A sentence's vector is the
mean of its pieces', or words', vectors at one layer, the last unless --layers says otherwise. For word similarity a
model reads each word by itself; a vector file has a vector for it or not.

--tasks are groups (sts: STS 2012-2016, STS-B and SICK-R, those that are there; wordsim: all sets of word pairs that
are there; analogy: Google and MSR; relations: SemEval-2012 task 2; categorization: AP, BLESS, ESSLLI, Battig;
classify-sentences: CR, MR, MPQA, SUBJ, TREC, SST-5; classify: these and RTE, CoLA, SST-2, MRPC, WiC, BoolQ,
those that are there) or names, such as sts-b-dev, simlex-999 or rte. Classification trains a convolution over the
words of a vector file, or a small network on frozen vectors of texts, as they are and after each repair; where no
repair is asked for, of a model after the global and the cluster-based one of Rajaee & Pilehvar (2021).

--method fits repairs on the vectors of each task: of classification on its training part, with --transductive on the
very vectors that are scored. Similarity has no training part, and needs --transductive. --repair takes what was fitted
on another text.

{REPAIR_NAMES}
DIR then holds scores.csv (every metric, aggregation and subset), comparisons.csv, items.parquet (every item, for
limbeck compare), run.json; with --tune also tuning.csv and figures/; of classification classify.csv, epochs.csv (every
start and epoch) and figures/.
"""
    examples: ClassVar[str] = """\
limbeck evaluate mini-bert mini-gpt2 --tasks sts --data data
limbeck evaluate bert-base-uncased --tasks sts-b-dev --layers all --data data --out runs/layers
limbeck evaluate mini-bert --tasks sts --data data --repair runs/repaired --out runs/repaired-sts
limbeck evaluate mini-bert --tasks sts --data data --method cluster:n_components=12 --transductive
limbeck evaluate mini-bert --tasks sts --data data --tune --out runs/tuned
limbeck evaluate mini-bert --tasks classify --data data --max-train 2500 --out runs/classified
limbeck evaluate glove.6B.300d.txt fasttext.vec --tasks wordsim,sts --data data --oov mean
limbeck evaluate vectors/ glove.6B.300d.txt --tasks classify-sentences --data data --out runs/sentences
limbeck evaluate vectors/ --tasks sts --weighting sif --data data
limbeck evaluate vectors/ GoogleNews.bin --tasks wordsim,analogy,relations,categorization --data data --out runs/words
limbeck evaluate GoogleNews.bin --tasks analogy,categorization --data data --preset web
"""
    engine: ClassVar[EngineSettings] = EngineSettings()  # type: ignore[misc]  # a target is small: this process does it

    targets: TargetSettings
    output: OptionalOutputSettings
    vectors: ModelVectorSettings
    texts: TextReadingSettings
    words: OutOfVocabularySettings
    lookup: LookupSettings
    weighting: WeightingSettings
    repairs: AppliedRepairSettings
    tuning: TuningSettings
    scores: ScoreSettings
    presets: WordPresetSettings
    analogies: AnalogySettings
    classification: ClassificationSettings
    perceptron: PerceptronSettings
    convolution: ConvolutionSettings
    loading: LoadingSettings
    batches: BatchSettings

    @property
    def things(self) -> tuple[Any, ...]:
        """What is to be evaluated, as it was given."""
        return self.targets.targets

    @cached_property
    def found(self) -> list[tuple[Suite, Any]]:
        """The tasks that are named, with their kinds."""
        from limbeck.evaluation.suites import find_tasks

        if self.targets.data is None:
            raise UsageError("--data is required, the folder of the tasks' files.", code="required", parameter="data")
        found = find_tasks(self.targets.data.expanduser(), self.targets.tasks)
        if not found:
            raise UsageError(
                "--tasks must name at least one task or group, got none: sts, wordsim or a task's name.",
                code="required",
                parameter="tasks",
            )
        return found

    @cached_property
    def scope(self) -> Scope:
        """Which options can have an effect."""
        from limbeck.runs.evaluating.targets import is_table

        tables = [is_table(thing) for thing in self.things]
        kinds = frozenset(suite.group for suite, _ in self.found)
        return Scope(not all(tables), any(tables), kinds, self.classification.classifier)

    @cached_property
    def development(self) -> Pairs | None:
        """What repairs are tuned on, if they are."""
        from limbeck.evaluation.suites import find_tasks

        if not self.tuning.tune or self.targets.data is None:
            return None
        found = find_tasks(self.targets.data.expanduser(), [self.tuning.tune_on], option="--tune-on")
        if len(found) != 1 or found[0][1].kind != "sts":
            raise UsageError(
                f"--tune-on must name one task of texts, got {self.tuning.tune_on!r}: sts-b-dev, say.",
                code="required",
                parameter="tune_on",
            )
        pairs: Pairs = found[0][1].read()
        return pairs

    @cached_property
    def unfitted(self) -> dict[str, Any]:
        """Repairs by name that are fitted on each task."""
        from limbeck.runs.evaluating.repairs import unfitted_repairs

        return unfitted_repairs(self.repairs.method, self.scores.seed)

    @property
    def evaluation(self) -> EvaluationSettings:
        """What the kinds of tasks take."""
        groups = [self.texts, self.words, self.repairs, self.scores, self.presets, self.analogies]
        groups += [self.classification, self.perceptron, self.convolution, self.loading]
        return EvaluationSettings(**{name: value for one in groups for name, value in one.as_dict().items()})

    def validate(self) -> None:
        from limbeck.runs.evaluating.targets import check_target, names_of

        if not self.things:
            raise UsageError("At least one target is needed, got none.", code="required", parameter="targets")
        self._check_words()
        for path in self.repairs.repair:
            if not path.expanduser().exists():
                raise missing_run(path.expanduser(), NEEDED_REPAIR, "", parameter="repair")
        for thing in self.things:
            check_target(thing)
        _ = self.found
        for name in self.settings():
            if isinstance(settings := getattr(self, name), ScopedSettings):
                settings.check_scope(self.scope)
        if self.scope.models and "analogy" in self.scope.tasks:
            raise UsageError(
                "Analogies are searched in a table of word vectors, a model has none: give vector files (limbeck "
                "distill makes them), or omit the analogies.",
                code="unsupported",
                parameter="tasks",
            )
        _, _ = self.development, self.unfitted
        names_of(self.things)

    def _check_words(self) -> None:
        """Refuse options about words that do not go together, though they stand in several groups."""
        if self.words.oov == "fallback" and self.lookup.fallback is None:
            raise UsageError(
                "--oov=fallback needs a file of vectors for words that have none: add --fallback.",
                code="required",
                parameter="oov",
            )
        if self.lookup.fallback is not None and self.words.oov != "fallback":
            raise UsageError("--fallback applies only with --oov=fallback.", code="no_effect", parameter="fallback")
        for name in (self.words.given() | self.lookup.given()) if self.presets.preset else ():
            raise UsageError(
                f"--preset={self.presets.preset} says what --{name} would, got both: omit one of them.",
                code="exclusive",
                parameter=name,
            )
        for name in self.weighting.given() if self.tuning.tune else ():
            raise UsageError(
                f"--{name} does not go with --tune, which tunes plain means: omit one.",
                code="exclusive",
                parameter=name,
            )

    def open(self) -> None:
        from limbeck.runs.evaluating.targets import open_targets

        self.opened: list[Target] = open_targets(self)

    def compute(self, context: RunContext) -> EvaluateResult:
        from limbeck.runs.evaluating.compute import evaluate_targets, notes_of, tables_of

        found = evaluate_targets(self, self.opened, context)
        facts = {
            "targets": [target.describe() for target in self.opened],
            "tasks": [{"name": t.name, "kind": suite.group, "citation": t.citation} for suite, t in self.found],
            "notes": notes_of(found.scores),
            "target_notes": list(found.notes),
        }
        tables = tables_of(found)
        there = {name: tables[name] for name in EvaluateResult.files if name in tables}
        return EvaluateResult(self.record(facts, context), there, found.scores, found.tuned)


def evaluate(
    targets: Any,
    *,
    tasks: str | Sequence[str] = (),
    data: str | Path | None = None,
    progress: bool = False,
    **keywords: Any,
) -> EvaluateResult:
    """Scores of models and word vectors on tasks, side by side, with intervals and paired significance.

    targets   a model's name or folder, an Encoder, a vector file or StaticVectors; or a list of these
    tasks     groups (sts, wordsim, analogy, relations, categorization, classify, classify-sentences) or names of tasks,
              as a list or with commas between
    data      the folder with the tasks' files
    progress  show bars

    All other keywords are the options of `limbeck evaluate`, by the same names; with `out` there is also a folder of
    tables, figures and a report. One score of data of one's own is `limbeck.evaluation.evaluate`.
    """
    several = tuple(targets) if isinstance(targets, list) else (targets,)  # a tuple is a model with its tokenizer
    return EvaluateRun.results(progress, targets=several, tasks=tasks, data=data, **keywords)[0]
