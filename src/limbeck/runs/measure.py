"""`limbeck measure`: every measure at every layer of a model on a text, from one pass.

What computes stands in `limbeck.runs.measuring`, and is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast, overload

from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import UnknownName, UsageError
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import R, SharedRun
from limbeck.runs.execution.settings import (
    ModelsSettings,
    OutputSettings,
    PartSettings,
    RepairedSettings,
    SeparateTextSettings,
    TextSettings,
    VectorsSettings,
    check_several,
    need_source,
)
from limbeck.runs.measuring.presets import PRESETS, Preset
from limbeck.settings import Settings, option
from limbeck.stream.settings import BatchSettings, EngineSettings
from limbeck.tables import LazyTables

if TYPE_CHECKING:
    from limbeck.accumulators import Accumulator
    from limbeck.corpus import Corpus
    from limbeck.measures.result import Result, WordResult
    from limbeck.reporting.figures import Makers
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.parts import Division
    from limbeck.runs.execution.sharing import Reading
    from limbeck.runs.measuring.results import Measured
    from limbeck.runs.measuring.tables import Described
    from limbeck.sketch import Curves
    from limbeck.stream import Choice, Passed, Plan
    from limbeck.stream.context import RunContext


DRAWN = ("layers", "frequency", "spectra", "dimensions")  #: tables that figures are made of


@dataclass(frozen=True)
class MeasureSettings(Settings, group="measures"):
    """What to measure and how much to keep."""

    preset: Literal["corrected", "paper", "released"] = option(
        "corrected",
        metavar="NAME",
        help="corrected (default), paper (as Ethayarajh 2019 describes) or released (as the code of that paper does)",
    )
    min_contexts: int = option(
        5, minimum=1, common=True, metavar="N", help="minimum number of distinct contexts per word (5)"
    )
    max_words: int = option(
        20_000,
        minimum=1,
        metavar="N",
        help="most words that statistics are kept of; of more, a random sample, the same each time (20000)",
    )
    mev_words: int = option(1_000, minimum=0, metavar="N", help="words whose occurrences are kept for MEV (1000)")
    max_contexts: int = option(100, minimum=1, metavar="N", help="occurrences kept of each (100)")
    points: int = option(
        50_000, minimum=1, metavar="N", help="occurrences of any words kept for baselines and I(W) (50000)"
    )
    two_pass: bool = option(False, help="read twice, for I(W) over every occurrence")
    seed: int = option(0, metavar="N", help="seed of every sample and interval (0)")

    @property
    def rules(self) -> Preset:
        return PRESETS[self.preset]

    @property
    def choice(self) -> Choice:
        """Which words are tracked."""
        from limbeck.stream import Choice

        return Choice(
            min_contexts=self.min_contexts,
            by_occurrences=self.rules.by_occurrences,
            max_words=self.max_words,
            drop_punctuation=self.rules.drop_punctuation,
            seed=self.seed,
        )


@dataclass(frozen=True)
class SentenceSettings(Settings, group="output"):
    """Whether the text itself is in the folder."""

    text: bool = option(True, recorded=False, help="keep the corpus's sentences out of the folder")


class MeasuredPass(SharedRun[R]):
    """A run whose pass fills the sums of all measures; the one before a repair is one too."""

    measures: MeasureSettings

    @property
    def seed(self) -> int:
        return self.measures.seed

    @property
    def deduplicate(self) -> bool:
        return self.measures.rules.deduplicate

    @property
    def reads_duplicates(self) -> bool:
        return not self.deduplicate

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        if self.measures.two_pass:
            raise UsageError(
                f"{self.title}: two-pass reads the text twice, a shared pass once: run it separately.",
                code="not_shared",
            )
        units = self.measures.rules.units
        if units != reading.encoder.units and not reading.units_asked and reading.encoder.chooses_layers:
            raise UsageError(
                f"{self.title}: preset {self.measures.preset} is of {units}, and the pass reads "
                f'{reading.encoder.units}: put units = "{units}" at the top of the pipeline, or run it separately.',
                code="not_shared",
                parameter="preset",
            )
        super().join_pass(reading, folder)

    def identity(self) -> Any:
        from limbeck.runs.measuring.compute import identity_for

        return identity_for(self.source, self.measures)

    @property
    def choice(self) -> Choice:
        return self.measures.choice

    def check_index(self) -> None:
        from limbeck.runs.measuring.compute import check_enough

        check_enough(self.index, self.measures)

    def accumulators(self) -> list[Accumulator]:
        from limbeck.runs.measuring.sums import accumulators_for

        shape = {"layers": len(self.source.layers), "dim": self.source.dim}
        return accumulators_for(self.index, **shape, settings=self.measures)


@dataclass(frozen=True, eq=False, repr=False)
class MeasureResult(RunResult):
    """Every number of a measuring run: `result["self_similarity"].value` is an array over `result.layers`.

    record    run.json: settings, model, text, counts, versions
    tables    the files of its folder: layers, words, frequency, spectra, dimensions, and where occurrences were laid
              out also sample, neighbors and clouds
    """

    files: ClassVar[Mapping[str, str]] = {
        "layers": "layers.csv",
        "words": "words.parquet",
        "frequency": "frequency.csv",
        "spectra": "spectra.parquet",
        "dimensions": "dimensions.parquet",
        "sample": "sample.parquet",
        "neighbors": "neighbors.parquet",
        "clouds": "clouds.parquet",
    }
    text = ("layer", "measure", "note")
    figure = "self_similarity"

    @classmethod
    def of(
        cls,
        measured: Measured,
        passed: Passed,
        source: Described,
        settings: MeasureSettings,
        *,
        texts: Corpus | Mapping[int, str] | None = None,
        options: Mapping[str, Any],
        facts: Mapping[str, Any],
    ) -> Self:
        """The result of a pass. `texts` has the sentences of its sample, if they are to be in its folder."""
        from limbeck.runs.measuring.tables import occurrence_tables, record_for, tables_of

        record = record_for(measured, source, settings, passed, options=options)
        later = partial(occurrence_tables, measured, passed.accumulators, texts)
        return cls({**record, **facts}, LazyTables(tables_of(measured), later))

    @property
    def name(self) -> str:
        """The model's."""
        return str(self.record["name"])

    @property
    def layers(self) -> tuple[str, ...]:
        return tuple(str(layer) for layer in self.record["layers"])

    @property
    def n(self) -> int:
        """Occurrences that were measured."""
        return int(self.record["counts"]["measured_occurrences"])

    @cached_property
    def measures(self) -> dict[str, Result]:
        """Every measure by its name, in the order of the table."""
        from limbeck.runs.measuring.tables import measures_in

        return measures_in(self.layers, self.tables["layers"], self.tables["words"])

    def __getitem__(self, measure: str) -> Result:
        if measure not in self.measures:
            raise UnknownName("measure", measure, self.measures)
        return self.measures[measure]

    def words(self, measure: str = "self_similarity") -> WordResult:
        """A measure of words: `result.words("mev")["bank"]`."""
        from limbeck.measures.result import WordResult

        result = self[measure]
        if not isinstance(result, WordResult):
            raise KeyError(f"{measure} is not a measure of words")
        return result

    def extremes(self, count: int = 10, *, measure: str = "self_similarity") -> tuple[list[str], list[str]]:
        """The most and the least contextual words: lowest and highest self-similarity, averaged over all layers."""
        return self.words(measure).extremes(count)

    def title(self) -> str:
        return f"{self.name}: {self.n:,} occurrences"

    def curves(self) -> Curves:
        """The measures of contextuality by layer."""
        from limbeck.sketch import Curves

        similarity, matched = self["self_similarity"], self["intra_sentence_similarity_matched"]
        lines = {
            "anisotropy": self["anisotropy"].value,
            "self-similarity": similarity.value,
            "… less anisotropy": similarity.adjusted,
            "sentence, matched": matched.adjusted,
        }
        return Curves(self.layers, lines, up=f"contextuality of {self.name}")

    def write_drawn(self, folder: Path) -> None:
        self.write_tables(folder, {name: self.tables[name] for name in DRAWN})

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting import run_figures

        return run_figures([folder])


@dataclass(kw_only=True)
class MeasureRun(MeasuredPass[MeasureResult]):
    """Measure every layer of a model on a text, exactly and in one pass."""

    result = MeasureResult
    command: ClassVar[str] = "measure"
    summary: ClassVar[str] = "measure every layer of a model on a text"
    details: ClassVar[str] = """\
With several models each has a folder in DIR, DIR/MODEL.
DIR then holds layers.csv (a row per layer and measure), words.parquet (a row per word and layer), frequency.csv,
spectra.parquet, dimensions.parquet, sample.parquet, run.json, report.html (all of it, to look at), figures/ and state/.
"""
    examples: ClassVar[str] = """\
limbeck measure --model bert-base-cased --corpus text.txt --out runs/bert
limbeck measure --model bert-base-cased gpt2 --corpus text.txt --out runs/both
zcat text.gz | limbeck measure --model ./folder --corpus - --text-unit paragraph --out runs/paragraphs
limbeck measure --model glove.6B.300d.txt --corpus text.txt --lowercase --out runs/glove
limbeck measure --model gpt2 --corpus sts.tsv --columns 1,2 --preset released --out runs/released
limbeck measure --vectors vectors --out runs/cached
limbeck measure --model bert-base-cased --corpus text.txt --part 2/3 --out parts/2
limbeck measure --model bert-base-cased --corpus other.txt --repair runs/repaired --out runs/isotropic
"""

    together: ClassVar[tuple[str, ...]] = ("figures", "report.html")

    models: ModelsSettings
    text: TextSettings
    output: OutputSettings
    measures: MeasureSettings
    loading: LoadingSettings
    encoder: EncoderSettings
    vectors: VectorsSettings
    repaired: RepairedSettings
    reading: CorpusSettings
    unit: TextUnitSettings
    sentences: SentenceSettings
    part: PartSettings
    separate: SeparateTextSettings
    batches: BatchSettings
    engine: EngineSettings

    def split(self) -> Sequence[Self]:
        from limbeck.runs.execution.folders import folders_for

        models = self.models.model or ()
        if len(models) < 2:
            return [self]
        check_several(models, self.text.corpus)
        folders: list[Path | None] = [None] * len(models)
        if self.output.out is not None:
            folders = list(folders_for(self.output.out, models))
        return [
            replace(self, models=ModelsSettings(model=(model,)), output=replace(self.output, out=folder))
            for model, folder in zip(models, folders, strict=True)
        ]

    def validate(self) -> None:
        (model,) = self.models.model or (None,)
        if isinstance(model, str | Path | None) or self.vectors.vectors is not None:  # arrays need no corpus
            need_source(model, self.text.corpus, self.vectors.vectors)

    @cached_property
    def division(self) -> Division:
        """Which part of a text is read."""
        from limbeck.runs.execution.parts import division_of

        return division_of(self.part.part, index_of=self.part.index_of, vocabulary=self.separate.vocabulary)

    def open(self) -> None:
        from limbeck.runs.execution.sources import open_source

        (model,) = self.models.model or (None,)
        asked = self.source_options() | {"preset_units": self.measures.rules.units}
        if self.separate.first_document:
            asked["first_document"] = self.separate.first_document
        self.source = cast(Any, open_source(model, self.text.corpus, vectors=self.vectors.vectors, **asked))

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.runs.measuring.compute import check_enough
        from limbeck.runs.measuring.estimate import measuring_seconds
        from limbeck.runs.measuring.sums import needs
        from limbeck.stream.foretell import look_ahead, time_told

        settings, source = self.measures, self.source
        ahead = look_ahead(source, choice=settings.choice, deduplicate=settings.rules.deduplicate)
        check_enough(ahead.plan, settings, source)
        yield ahead.plan.describe() + ahead.note
        one, others = measuring_seconds(ahead, source, settings, workers=context.workers.count)
        passes = 2 if settings.two_pass else 1
        yield time_told(passes * one + others + opened, ahead.plan.units / max(one, 1e-9))
        yield str(needs(ahead.plan, layers=len(source.layers), dim=source.dim, settings=settings))

    def compute(self, context: RunContext) -> MeasureResult:
        from limbeck.runs.measuring.compute import measure_source
        from limbeck.runs.measuring.sums import needs

        def announce(index: Plan) -> None:
            context.notify(index.describe())
            shape = {"layers": len(self.source.layers), "dim": self.source.dim}
            context.notify(str(needs(index, **shape, settings=self.measures)))

        division = self.division
        measured, passed = measure_source(self.source, self.measures, context, division=division, on_index=announce)
        texts = self.source.corpus if self.sentences.text else None
        return MeasureResult.of(
            measured, passed, self.source, self.measures, texts=texts, options=self.options(), facts=division.told()
        )

    def check_complete(self, folder: RunFolder) -> None:
        from limbeck.runs.measuring.compute import check_same

        check_same(folder.state, self.source, self.measures, self.division)

    def join(self, results: Sequence[Any], folders: Sequence[Path]) -> None:
        """Figures and a report with all models."""
        from contextlib import ExitStack

        from limbeck.remote import brought, put_at
        from limbeck.reporting import draw, report, run_figures

        out = self.output.out
        assert out is not None
        with ExitStack() as stack:
            place = stack.enter_context(put_at(out))
            runs = [stack.enter_context(brought(folder)) for folder in folders]
            if self.output.figures:
                draw(run_figures(runs), place / "figures")
            report(*runs, out=place / "report.html", existing="replace")


@overload
def measure(
    model: list[Any], corpus: Any = None, *, progress: bool = False, **keywords: Any
) -> list[MeasureResult]: ...
@overload
def measure(model: Any = None, corpus: Any = None, *, progress: bool = False, **keywords: Any) -> MeasureResult: ...
def measure(
    model: Any = None, corpus: Any = None, *, progress: bool = False, **keywords: Any
) -> MeasureResult | list[MeasureResult]:
    """Every measure at every layer of a model on a text; with `out` also a folder of tables, figures and a report.

    model     a name or folder, an Encoder, StaticVectors, or a function of texts; of a list, a list of results
    corpus    a path, a Corpus, or a list of texts or sentences (lists of words)
    vectors   cached vectors in the place of model and corpus; or an array (n, d) or (layers, n, d), whose rows have no
              words: what needs words is undefined then
    progress  show bars

    All other keywords are the options of `limbeck measure`, by the same names.

    >>> import numpy as np
    >>> import limbeck as lb
    >>> sentences = [["a", "b", "c"], ["b", "a"], ["c", "a"], ["a", "c", "b"]]
    >>> def one_hot(texts):
    ...     return [np.eye(26)[[ord(word[0]) - ord("a") for word in text.words]] for text in texts]
    >>> result = lb.measure(one_hot, sentences, min_contexts=2)
    >>> float(result["self_similarity"].value[0])
    1.0
    """
    several = isinstance(model, list)  # a tuple is a model with its tokenizer
    models = None if model is None else tuple(model) if several else (model,)
    results = MeasureRun.results(progress, model=models, corpus=corpus, **keywords)
    return results if several else results[0]
