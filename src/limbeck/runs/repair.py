"""`limbeck repair`: measure a space, fit a repair for each layer, measure the repaired space.

What computes is in `limbeck.runs.repairing`, and is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast

from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import UsageError
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.settings import ModelSettings, OutputSettings, TextSettings, VectorsSettings, need_source
from limbeck.runs.measure import MeasuredPass, MeasureResult, MeasureSettings, SentenceSettings
from limbeck.runs.repairing.naming import METHODS, REPAIR_NAMES
from limbeck.settings import Settings, option
from limbeck.stream.settings import BatchSettings, EngineSettings
from limbeck.tables import LazyTables

if TYPE_CHECKING:
    from limbeck.reporting.figures import Makers
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.sharing import Reading
    from limbeck.runs.measuring.results import Measured
    from limbeck.runs.repairing.fit import Fit
    from limbeck.runs.repairing.subject import Subject
    from limbeck.sketch import Curves
    from limbeck.stream import Passed, Plan, Source
    from limbeck.stream.context import RunContext

BEFORE, AFTER = "before", "after"
NOTHING = 1e-5  #: a share of the length of vectors that is rounding


@dataclass(frozen=True)
class RepairSettings(Settings, group="repair"):
    """What to do to the vectors."""

    method: str | None = option(
        None,
        common=True,
        required=True,
        metavar="M",
        suggestions=METHODS,
        between="+",
        help="METHOD[:NAME=VALUE,...][+METHOD...], see below",
    )
    counts: Any = option(
        None,
        recorded=False,
        metavar="FILE",
        files=True,
        help="frequencies of words, a word and a count per line (default: counted in the text)",
    )
    weights: Literal["uniform", "frequency"] = option(
        "uniform", metavar="KIND", help="weights of a table's rows: uniform (default), or frequency, by --counts"
    )
    local_points: int = option(
        10_000,
        minimum=0,
        metavar="N",
        help="occurrences that isotropy by cluster is measured on (10000); 0 omits it",
    )

    def check(self) -> None:
        from limbeck.repairs.methods import parse_repair

        if self.method is not None:
            parse_repair(self.method, option="--method")


@dataclass(frozen=True, eq=False, repr=False)
class RepairResult(RunResult):
    """Repairs by layer, and what they changed.

    record         run.json: settings, model, text, method, versions
    tables         local (isotropy by number of clusters, before the repair), space (first components and their
                   correlation with frequency, before and after) and places (occurrences in the planes of the first
                   components)
    repairs        {layer: fitted repair}; the record has their fingerprints
    about          what their files say that they were fitted on, and how
    before, after  results of measuring both spaces
    """

    files: ClassVar[Mapping[str, str]] = {"local": "local.csv", "space": "space.csv", "places": "space.parquet"}
    text = ("layer", "note", "repair")

    repairs: Mapping[str, Any] = field(compare=False)
    about: Mapping[str, Any] = field(compare=False, repr=False)
    before: MeasureResult
    after: MeasureResult

    @property
    def name(self) -> str:
        """The model's."""
        return str(self.record["name"])

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(map(str, self.record["layers"]))

    @property
    def n(self) -> int:
        """Vectors that the repairs were fitted on."""
        return int(self.record["fitted_on"])

    @property
    def dropped(self) -> dict[str, int]:
        """Occurrences without a vector after the repair, by reason."""
        return dict(self.record["dropped_after"])

    def title(self) -> str:
        return f"{self.name}: {self.record['method']}, fitted on {self.n:,} vectors"

    def columns(self) -> dict[str, list[Any]]:
        """A row per layer and measure: its value before and after."""
        before, after = self.before.measures, self.after.measures
        rows = [
            (layer, measure, float(before[measure].value[place]), float(after[measure].value[place]))
            for place, layer in enumerate(self.layers)
            for measure in before
            if measure in after
        ]
        names = ("layer", "measure", "before", "after")
        return {name: [row[place] for row in rows] for place, name in enumerate(names)}

    def curves(self) -> Curves:
        """Anisotropy before and after, by layer."""
        from limbeck.sketch import Curves

        lines = {"before": self.before["anisotropy"].value, "after": self.after["anisotropy"].value}
        return Curves(self.layers, lines, up="anisotropy")

    def write(self, folder: Path) -> None:
        """Write what the run has not written as it came: it has put repairs/, before/ and after/ there."""
        from limbeck.repairs.folders import FOLDER, save_repairs
        from limbeck.runs.execution.execute import write

        super().write(folder)
        if not (folder / FOLDER).is_dir():
            save_repairs(folder / FOLDER, self.repairs, about=self.about)
            for part, one in ((BEFORE, self.before), (AFTER, self.after)):
                (folder / part).mkdir()
                write(one, folder / part, figures=False)

    def write_drawn(self, folder: Path) -> None:
        from limbeck.runs.execution.record import write_record

        super().write_drawn(folder)
        for part, one in ((BEFORE, self.before), (AFTER, self.after)):
            (folder / part).mkdir()
            one.write_drawn(folder / part)
            write_record(folder / part, one.record)

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting.repairs import repair_figures

        # of a table by itself, in which every word has one vector
        return repair_figures(folder, table="table" in (self.record["source"].get("kept_from") or {}))

    @classmethod
    def read(cls, folder: Path, record: Mapping[str, Any]) -> Self:
        from limbeck.repairs.folders import load_repairs, read_about_repairs

        repairs = load_repairs(folder)
        return cls(
            record,
            cls.read_tables(folder),
            {layer: repairs[layer] for layer in record["layers"]},
            read_about_repairs(folder),
            MeasureResult.load(folder / BEFORE),
            MeasureResult.load(folder / AFTER),
        )


@dataclass(kw_only=True)
class RepairRun(MeasuredPass[RepairResult]):
    """Fit a repair for each layer of a model on a text, and measure every layer before and after."""

    result = RepairResult
    command: ClassVar[str] = "repair"
    summary: ClassVar[str] = "fit repairs that make a space more isotropic, measured before and after"
    details: ClassVar[str] = f"""\
{REPAIR_NAMES}
DIR then holds repairs/LAYER.safetensors, before/ and after/ (each a run folder of `limbeck measure`), local.csv
(isotropy by number of clusters), space.csv and space.parquet (first components and word frequency), run.json, figures/
and state/; of static vectors also vectors/, the file repaired.

Without --corpus a table is repaired by itself, every row alike: a file of static vectors, or with --layers table the
input embeddings of a model. On a text every occurrence counts, so that frequent words weigh more.
"""
    examples: ClassVar[str] = """\
limbeck repair --model bert-base-cased --corpus text.txt --method all-but-the-top:n_components=15 --out runs/global
limbeck repair --model gpt2 --corpus text.txt --method cluster:n_clusters=10,n_components=30 --out runs/cluster
limbeck repair --model mini-bert --corpus sample --layers -1 --method standardize+all-but-the-top --out runs/chain
limbeck repair --model glove.6B.300d.txt --method whiten --counts counts.txt --weights frequency --out runs/glove
limbeck repair --model gpt2 --layers table --method center --out runs/table
limbeck measure --model gpt2 --corpus other.txt --repair runs/cluster --out runs/other
"""

    model: ModelSettings
    text: TextSettings
    repairing: RepairSettings
    output: OutputSettings
    loading: LoadingSettings
    encoder: EncoderSettings
    vectors: VectorsSettings
    reading: CorpusSettings
    unit: TextUnitSettings
    measures: MeasureSettings
    sentences: SentenceSettings
    batches: BatchSettings
    engine: EngineSettings
    subject: Subject = field(init=False, repr=False, compare=False)

    def validate(self) -> None:
        if self.repairing.method is None:
            raise UsageError("--method is required.", code="required", parameter="method")
        if self.model.model is None or self.vectors.vectors is not None:
            need_source(self.model.model, self.text.corpus, self.vectors.vectors)

    def open(self) -> None:
        from limbeck.runs.repairing.subject import open_subject

        asked = self.source_options() | {"preset_units": self.measures.rules.units}
        self.subject = open_subject(self.model.model, self.text.corpus, vectors=self.vectors.vectors, **asked)
        self.source = cast(Any, self.subject.source)

    @property
    def measured(self) -> MeasureSettings:
        """How both spaces are measured: where every word has one vector, its occurrences cannot be compared."""
        if not self.subject.alone:
            return self.measures
        return replace(self.measures, min_contexts=1, max_words=1, mev_words=0)

    @cached_property
    def fit(self) -> Fit:
        from limbeck.runs.repairing.fit import Fit

        return Fit(self.subject, self.repairing, self.measured)

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.runs.measuring.compute import check_enough
        from limbeck.runs.measuring.estimate import measuring_seconds
        from limbeck.stream.foretell import look_ahead, time_told

        settings, source = self.measured, self.source
        ahead = look_ahead(source, choice=settings.choice, deduplicate=settings.rules.deduplicate)
        check_enough(ahead.plan, settings, source)
        one, others = measuring_seconds(ahead, source, settings, workers=context.workers.count)
        first, *more = self.needs(ahead.plan)
        yield from (first + ahead.note, *more)
        seconds = self.passes(ahead.plan) * one + 2 * others + opened  # measured before and after
        yield time_told(seconds, ahead.plan.units / max(one, 1e-9))

    def passes(self, index: Plan) -> int:
        """How often the vectors are read."""
        return self.fit.passes(index.units) + 2 * (2 if self.measures.two_pass else 1)

    def needs(self, index: Plan) -> list[str]:
        """What is read and what that takes, in a few lines."""
        from limbeck.runs.measuring.sums import needs, size

        passes = self.passes(index)
        return [
            index.describe(),
            f"{passes} passes: before, after" + (f", {passes - 2} more" if passes > 2 else ""),
            f"{needs(index, **self.fit.shape, settings=self.measured)}; {size(self.fit.memory)} for the fit",
        ]

    def compute(self, context: RunContext) -> RepairResult:
        from limbeck.repairs.folders import FOLDER
        from limbeck.repairs.source import RepairedSource
        from limbeck.runs.repairing.local import local_table
        from limbeck.runs.repairing.space import labelled, space_tables

        fit, seed = self.fit, self.measures.seed
        counts = fit.counts(context)
        context.notify("before: every layer as it is")
        before, found, passed = self.measure(self.source, BEFORE, context)
        folder = None if context.folder is None else context.folder / FOLDER
        context.notify(f"fitting {self.repairing.method}")
        repairs = fit.repairs(folder, passed, counts, context)
        local = local_table(found, most=self.repairing.local_points, seed=seed, progress=context.progress)
        spaces = {BEFORE: space_tables(found, counts)}
        n = fit.size(counts, found.moments.n)
        context.notify("after: every layer, repaired")
        del found, passed  # its kept points: the repaired ones take the same room
        after, found, passed = self.measure(RepairedSource(self.source, repairs), AFTER, context)
        spaces[AFTER] = space_tables(found, counts)
        warn_of_nothing(before, after)
        if context.folder is not None:
            context.notify("writing tables, figures and the report" if self.output.figures else "writing tables")
        facts = self.facts(repairs) | {"fitted_on": n, "dropped_after": passed.dropped | self.subject.left_out}
        tables = {
            "local": local,
            "space": labelled({name: facts for name, (_, facts) in spaces.items()}),
            "places": labelled({name: places for name, (places, _) in spaces.items()}),
        }
        record = self.record(facts | self.write_vectors(repairs, context.folder), context)
        return RepairResult(record, tables, repairs, fit.about(), before, after)

    def measure(self, source: Source, part: str, context: RunContext) -> tuple[MeasureResult, Measured, Passed]:
        """One of both spaces measured, and put into its place; its sums do not stay in the result."""
        from limbeck.runs.execution.execute import write
        from limbeck.runs.measuring.compute import measure_source

        def announce(index: Plan) -> None:
            if part == BEFORE:
                for line in self.needs(index):
                    context.notify(line)

        found, passed = measure_source(source, self.measured, context.inside(part), on_index=announce)
        texts = source.corpus if self.sentences.text else None
        result = MeasureResult.of(found, passed, source, self.measured, texts=texts, options={}, facts={})
        if context.folder is not None:
            (context.folder / part).mkdir(exist_ok=True)
            write(result, context.folder / part, figures=False)
        elif isinstance(result.tables, LazyTables):
            result = replace(result, tables=result.tables.made)
        return result, found, passed

    def facts(self, repairs: Mapping[str, Any]) -> dict[str, Any]:
        """Where the repairs and the numbers come from."""
        from limbeck.repairs.files import describe, fingerprint_of
        from limbeck.repairs.methods import name_of

        source = self.source
        first = repairs[source.layers[0]]
        return {
            "name": source.name,
            "layers": list(source.layers),
            "dim": source.dim,
            "method": name_of(first),
            "steps": describe(first),
            "settings": self.repairing.as_dict() | {"measure": self.measured.as_dict()},
            "source": source.describe(),
            "repairs": {layer: fingerprint_of(repair) for layer, repair in repairs.items()},
        }

    def write_vectors(self, repairs: dict[str, Any], folder: Path | None) -> dict[str, Any]:
        """Write a table or an array repaired; where it is in the folder, for the record."""
        from limbeck.runs.repairing.subject import save_like
        from limbeck.stream import VectorSource
        from limbeck.vectors import StaticVectors
        from limbeck.vectors.plain import write_repaired

        source: Any = self.source
        table = self.subject.table
        if folder is not None and table is not None:
            repaired = StaticVectors(table.words, repairs[source.layers[0]].transform(table.matrix))
            path = save_like(repaired, self.subject.path or source.name, folder / "vectors")
        elif folder is not None and isinstance(source, VectorSource) and source.wordless:
            path = write_repaired(source.kept, repairs, folder / "vectors")
        else:
            return {}
        return {"vectors": str(path.relative_to(folder))}

    def check_complete(self, folder: RunFolder) -> None:
        from limbeck.repairs.folders import FOLDER
        from limbeck.runs.measuring.compute import check_same
        from limbeck.runs.repairing.fit import saved_repairs

        check_same(folder.state / BEFORE, self.source, self.measured)
        saved_repairs(folder.target / FOLDER, self.fit.about(), self.source.layers)

    # sharing a pass, which is the one before the repair

    @property
    def state(self) -> Path:
        return self.folder.state / BEFORE

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        from limbeck.runs.repairing.subject import subject_of

        super().join_pass(reading, folder)
        self.subject = subject_of(self.source, reading.model)

    def beyond_pass(self) -> list[str]:
        return ["its repaired vectors are measured too, for which the model reads the text again"]


def warn_of_nothing(before: MeasureResult, after: MeasureResult) -> None:
    """Say of which layers a repair has left nothing but rounding: it looks isotropic."""
    norms = zip(before.layers, before["mean_norm"].value, after["mean_norm"].value, strict=True)
    if lost := [layer for layer, was, now in norms if now < NOTHING * was]:
        warnings.warn(
            f"the repair leaves nothing but rounding of layer {', '.join(lost)}: fewer components, or more vectors.",
            RuntimeWarning,
            stacklevel=2,
        )


def repair(
    model: Any = None, corpus: Any = None, *, method: str = "", progress: bool = False, **keywords: Any
) -> RepairResult:
    """Repairs for every layer, and both spaces measured; with `out` also a folder of them, with figures and a report.

    model     as `measure` takes it; without a corpus, a table of vectors: static vectors, or a model with
              layers="table"
    corpus    as `measure` takes it
    method    required: such as "all-but-the-top:n_components=15", "cluster:n_clusters=10" or "standardize+whiten"
    counts    frequencies of words, {word: count} or a file (default: counted in the text)
    vectors   cached vectors in the place of model and corpus, or an array
    progress  show bars

    All other keywords are the options of `limbeck repair`, by the same names.

    >>> import numpy as np
    >>> import limbeck as lb
    >>> table = lb.StaticVectors([str(n) for n in range(50)], np.random.default_rng(0).normal(size=(50, 3)) + 1)
    >>> result = lb.repair(table, method="center", local_points=0)
    >>> result.repairs["table"].mean_.round(1)
    array([0.8, 1.1, 1.3])
    """
    return RepairRun.results(progress, model=model, corpus=corpus, method=method or None, **keywords)[0]
