"""`limbeck analyze`: what directions of a space hold, and what its clusters contain, before and after repair.

What computes stands in `limbeck.analysis`, and is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from limbeck.analysis.settings import (
    UNITS,
    AnalysisSettings,
    ClustersSettings,
    DataSettings,
    FrequencySettings,
    KindSettings,
    StructureSettings,
    TenseSettings,
)
from limbeck.corpus.settings import CorpusSettings, TextUnitSettings
from limbeck.encoders.settings import EncoderSettings, LoadingSettings
from limbeck.errors import UsageError
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import Run
from limbeck.runs.execution.settings import (
    DrawnOutputSettings,
    ModelsSettings,
    TextSettings,
    VectorsSettings,
    check_several,
)
from limbeck.runs.repairing.naming import REPAIR_NAMES
from limbeck.stream.settings import BatchSettings, WorkersSettings
from limbeck.tables import rows_of

if TYPE_CHECKING:
    from limbeck.analysis import Analysis, Claim
    from limbeck.corpus import Corpus
    from limbeck.encoders.protocol import Encoder
    from limbeck.reporting.figures import Makers
    from limbeck.stream.context import RunContext

#: tables of all analyses; an analysis has some of them
TABLES = (
    "claims", "structure", "pairs", "sentences", "tense", "verbs", "frequency", "points", "clusters", "directions",
    "angles", "spaces",
)  # fmt: skip
#: settings that apply to some analyses only -> those
APPLIES = {
    "data": ("structure", "tense"),
    "text": ("tense", "frequency", "clusters"),
    "vectors": ("frequency", "clusters"),
    **{kind: (kind,) for kind in UNITS},
}


@dataclass(frozen=True, eq=False)
class AnalyzeResult(RunResult):
    """An analysis of one or several models: `result.rows("frequency")`, `result.claims`, `result.analyses`.

    record  run.json: settings, models, claims, versions
    tables  claims, and the numbers behind them: structure, pairs, tense, verbs, frequency, points, clusters,
            directions, angles, spaces, sentences; of all models, one below the other
    """

    files: ClassVar[Mapping[str, str]] = {name: f"{name}.csv" for name in TABLES}
    text = tuple(
        "verdict id model layer about why text rule token space repair instead_of subset metric kind verb measure unit "
        "tokens".split()
    )

    @cached_property
    def claims(self) -> tuple[Claim, ...]:
        """Of all models."""
        from limbeck.analysis import Claim

        return tuple(Claim(**{name: one[name] for name in one if name != "verdict"}) for one in self.record["claims"])

    @cached_property
    def analyses(self) -> tuple[Analysis, ...]:
        """One for each model: its tables, its claims, what was left out."""
        from limbeck.analysis import Analysis

        found, begins, claims = [], dict.fromkeys(self.tables, 0), self.claims
        for one in self.record["models"]:
            tables = {}
            for name, count in one["tables"].items():
                rows = slice(begins[name], begins[name] + count)
                begins[name] = rows.stop
                tables[name] = {column: list(cells[rows]) for column, cells in self.tables[name].items()}
            own, claims = claims[: one["claims"]], claims[one["claims"] :]
            facts = {name: one[name] for name in ("what", "units", "settings", "dropped")}
            found.append(Analysis(**facts, model=one["name"], tables=tables, claims=own, notes=tuple(one["notes"])))
        return tuple(found)

    def rows(self, table: str) -> list[dict[str, Any]]:
        """A table of all models row by row."""
        return rows_of(self.tables[table])

    def title(self) -> str:
        return "; ".join(one.title() for one in self.analyses)

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting.analyses import analysis_figures

        return analysis_figures(self.analyses)


@dataclass(kw_only=True)
class AnalyzeRun(Run[AnalyzeResult]):
    """Ask what the dominant directions of a space hold and what its clusters contain, before and after repair."""

    result = AnalyzeResult
    command: ClassVar[str] = "analyze"
    summary: ClassVar[str] = "ask what the dominant directions of a space hold"
    details: ClassVar[str] = f"""\
analyses, after Rajaee & Pilehvar (2021):
  structure  do . , the and of lie near their like in sentences of the same structure? --data: a treebank (CoNLL-U),
             or pairs of sentences (.tsv)
  tense      is a verb nearer to other meanings in its own tense than to its meaning in another? --corpus: SemCor,
             with a treebank as --data; or words that are labelled with a tense, as in the sample corpus
  frequency  how much of the space is word frequency?
  clusters   what do the clusters of the space hold, and do they share their dominant directions?

Each is shown before repair (baseline), after removal of the dominant directions of the whole space (global) and of each
cluster (cluster), with the paper's numbers of components and clusters for the kind of model, made smaller where a space
has few dimensions; --method and --repair name others. The last layer is analyzed unless --layers names others; without
--corpus the sample corpus is read. Several models are shown side by side in one folder.

{REPAIR_NAMES}
DIR then holds tables (CSV), claims.csv (held, not held, too close to call, cannot be shown), figures/ and run.json.
"""
    examples: ClassVar[str] = """\
limbeck analyze frequency --model mini-bert mini-gpt2 --out runs/frequency
limbeck analyze clusters --model mini-bert --corpus text.txt --clusters 10 --out runs/clusters
limbeck analyze structure --model bert-base-uncased --data 'UD_English-EWT/*.conllu.xz' --out runs/structure
limbeck analyze structure --model mini-bert --data syntax-pairs/*.pairs.tsv --out runs/pairs
limbeck analyze tense --model bert-base-uncased --corpus semcor3.0.tar.xz --data en_ewt-ud-train.conllu.xz \\
    --out runs/tense
limbeck analyze tense --model mini-bert --layers all --method cluster:n_clusters=10,n_components=8 center \\
    --out runs/layers
limbeck analyze frequency --model mini-bert --method standardize+cluster:n_clusters=10,n_components=8 --out runs/chain
"""

    kind: KindSettings
    models: ModelsSettings
    text: TextSettings
    output: DrawnOutputSettings
    analysis: AnalysisSettings
    data: DataSettings
    structure: StructureSettings
    tense: TenseSettings
    frequency: FrequencySettings
    clusters: ClustersSettings
    loading: LoadingSettings
    encoder: EncoderSettings
    vectors: VectorsSettings
    reading: CorpusSettings
    unit: TextUnitSettings
    batches: BatchSettings
    engine: WorkersSettings

    @property
    def what(self) -> str:
        assert self.kind.what is not None
        return self.kind.what

    def validate(self) -> None:
        if self.kind.what is None:
            raise UsageError("what is required: name an analysis.", code="required", parameter="what")
        self._check_applies()
        models, vectors, corpus = self.models.model or (), self.vectors.vectors, self.text.corpus
        if self.encoder.targets is not None:
            raise UsageError(
                "--targets has no effect: an analysis knows which words it needs; omit it.",
                code="no_effect",
                parameter="targets",
            )
        if vectors is not None and (models or corpus is not None or self.frequency.count_in is not None):
            raise UsageError(
                "--vectors replaces --model, --corpus and --count-in: give one or the other.",
                code="exclusive",
                parameter="vectors",
            )
        if vectors is None and not models:
            raise UsageError("--model is needed.", code="required", parameter="model")
        if self.what == "structure" and not self.data.data:
            raise UsageError(
                "analyze structure needs sentences: give a treebank (CoNLL-U) or pairs (.tsv) to --data.",
                code="required",
                parameter="data",
            )
        if self.what == "tense" and self.encoder.units not in (None, "words"):
            raise UsageError(
                "analyze tense looks at words, which are labelled: omit --units.", code="no_effect", parameter="units"
            )
        if len(models) > 1:
            check_several(models, corpus)

    def _check_applies(self) -> None:
        """Refuse options of other analyses."""
        for name, kinds in APPLIES.items():
            if self.what not in kinds and (given := getattr(self, name).given()):
                option = next(iter(given))
                raise UsageError(
                    f"--{option.replace('_', '-')} belongs to analyze {', '.join(kinds)}; got analyze {self.what}.",
                    code="no_effect",
                    parameter=option,
                )

    @property
    def subject(self) -> dict[str, Any]:
        """What is analyzed, for the record."""
        given = {**self.models.given(), **self.text.given(), **self.vectors.given()}
        return {name: [one if isinstance(one, str) else str(one) for one in _listed(given[name])] for name in given}

    def compute(self, context: RunContext) -> AnalyzeResult:
        from limbeck.analysis.result import joined

        if self.vectors.vectors is not None:
            analyses = [self._of_vectors(context)]
        else:
            analyses = [self._of_model(model, context) for model in self.models.model or ()]
        facts = {
            "source": self.subject,
            "models": [facts_of(one) for one in analyses],
            "claims": [{**asdict(claim), "verdict": claim.verdict} for one in analyses for claim in one.claims],
            "identity": self.identity(),
        }
        return AnalyzeResult(self.record(facts, context), joined(analyses))

    def _of_vectors(self, context: RunContext) -> Analysis:
        """The analysis of cached vectors."""
        from limbeck.analysis import clusters_of, frequency_of
        from limbeck.runs.execution.sources import need_words, open_source

        asked = self.loading.given() | self.encoder.given() | self.reading.given() | self.unit.given()
        source = need_words(open_source(vectors=self.vectors.vectors, **asked, **self.batches.given()))
        about: dict[str, Any] = dict(source.describe())
        common: dict[str, Any] = {"workers": context.workers, "progress": context.progress}
        common["settings"] = self._settings(
            source.name, about.get("model_fingerprint"), about.get("kept_from") or {}, context
        )
        if self.what == "frequency":
            return frequency_of(source, **common)
        return clusters_of(source, k=self.clusters.clusters, **common)

    def _of_model(self, model: Any, context: RunContext) -> Analysis:
        """The analysis of one model."""
        from limbeck.analysis import clusters_of, frequency_of, pairs_of, structure_of, tense_of
        from limbeck.analysis.groups import read_pairs
        from limbeck.stream import TextSource
        from limbeck.stream.run import choose_unit

        data = self.data.data or ()
        pairs = self.what == "structure" and are_pairs(data)
        encoder = self._encoder(model, pairs=pairs)
        batch_tokens = self.batches.batch_tokens
        about = encoder.describe()
        common: dict[str, Any] = {"workers": context.workers, "progress": context.progress}
        common["settings"] = self._settings(encoder.name, encoder.model_fingerprint, about, context)
        if pairs:
            return pairs_of(encoder, read_pairs(files_of(data)), batch_tokens=batch_tokens, **common)
        if self.what == "structure":
            return structure_of(encoder, treebank_of(data), groups=self.structure, batch_tokens=batch_tokens, **common)
        with ExitStack() as stack:
            corpus = self._corpus(self.text.corpus, stack)
            if self.what == "tense":
                found = tense_of(
                    encoder,
                    corpus,
                    treebank=treebank_of(data) if data else None,
                    wanted=self.tense,
                    batch_tokens=batch_tokens,
                    **common,
                )
                return noted(found, corpus)
            source = TextSource(corpus, encoder, choose_unit(self.unit.text_unit), batch_tokens)
            if self.what == "clusters":
                return noted(clusters_of(source, k=self.clusters.clusters, **common), corpus)
            if self.frequency.count_in is None:
                return noted(frequency_of(source, **common), corpus)
            other = self._corpus(self.frequency.count_in, stack)
            return noted(frequency_of(source, count_in=replace(source, corpus=other), **common), corpus, other)

    def _encoder(self, model: Any, *, pairs: bool) -> Encoder:
        """The model with its last layer and the analysis' units, where no others are asked for."""
        from limbeck.runs.execution.sources import is_static, open_encoder

        given = self.loading.given() | self.encoder.given() | self.batches.given()
        chooses = not is_static(model) if isinstance(model, str | Path) else has_layers(model)
        if chooses:
            given.setdefault("layers", "-1")
        if given.get("units") == "characters" or ("units" not in given and (pairs or not chooses)):
            given["units"] = "words"
        given.setdefault("units", UNITS[self.what])
        return open_encoder(model, **given)

    def _corpus(self, corpus: Any, stack: ExitStack) -> Corpus:
        """A text, or the sample corpus; a copy of standard input is removed at the end, what is open stays open."""
        from limbeck.corpus import Corpus
        from limbeck.corpus.sample import sample_path
        from limbeck.runs.execution.sources import open_corpus

        options = self.reading.given() | ({"characters": True} if self.encoder.units == "characters" else {})
        found = open_corpus(str(sample_path()) if corpus is None else corpus, **options)
        return found if isinstance(corpus, Corpus) else stack.enter_context(found)

    def _settings(
        self, model: str, fingerprint: object, about: Mapping[str, Any], context: RunContext
    ) -> AnalysisSettings:
        """The settings with the repairs of a model, which are read from their files."""
        from limbeck.repairs import load_repairs
        from limbeck.repairs.folders import units_of

        paths = [one for one in self.analysis.repair or () if not isinstance(one, Mapping)]
        loaded = {Path(path).name: load_repairs(path, model=model, model_fingerprint=fingerprint) for path in paths}
        if len(loaded) < len(paths):
            raise UsageError(
                "each --repair must have a name of its own; got two files or folders of one name: rename one.",
                code="twice",
                parameter="repair",
            )
        for path in paths:
            was, now = units_of(path).get("units"), about.get("encoder_settings", about).get("units")
            if None not in (was, now) and was != now:
                context.notify(
                    f"limbeck: note: {path} was fitted on {was}, and {now} are looked at: fit one with --units {now}"
                )
        return replace(self.analysis, repair=({**self.analysis.repairs, **loaded},))

    def identity(self) -> Any:
        return {"source": self.subject, "options": self.options()}


def analyze(
    what: str, model: Any = None, corpus: Any = None, *, progress: bool = False, **keywords: Any
) -> AnalyzeResult:
    """What directions of a space hold, before and after repair; with `out` also a folder of tables and figures.

    what      "structure", "tense", "frequency" or "clusters"
    model     a name or folder, an Encoder, StaticVectors, or a function of texts; or a list of them, side by side
    corpus    a path, a Corpus, or a list of texts or sentences (default: the sample corpus)
    vectors   cached vectors in the place of model and corpus
    repair    fitted repairs beside the baseline: files, folders, or {name: repair}
    progress  show bars

    All other keywords are the options of `limbeck analyze`, by the same names.
    """
    models = None if model is None else tuple(model) if isinstance(model, list) else (model,)
    return AnalyzeRun.results(progress, what=what, model=models, corpus=corpus, **keywords)[0]


def has_layers(model: Any) -> bool:
    """Whether this is a loaded model, whose layers and units can be chosen; of other objects they are as they are."""
    return isinstance(model, tuple) or hasattr(model, "named_modules")


def noted(found: Analysis, *texts: Corpus) -> Analysis:
    """The analysis with a note of each text that is not in the language it was read by."""
    warned = dict.fromkeys(filter(None, (text.language_warning for text in texts)))
    return replace(found, notes=(*found.notes, *warned))


def files_of(paths: Iterable[Any]) -> list[str]:
    """Files, with those in folders and globs."""
    import glob

    found: list[str] = []
    for path in map(str, paths):
        if Path(path).is_dir():
            found += sorted(str(file) for file in Path(path).iterdir() if file.is_file())
        else:
            found += sorted(glob.glob(path)) or [path]
    return found


def are_pairs(paths: Iterable[Any]) -> bool:
    """Whether data are pairs of sentences rather than a treebank."""
    kinds = {Path(path).suffix == ".tsv" for path in files_of(paths)}
    if len(kinds) > 1:
        raise UsageError(
            "--data must be a treebank or pairs of sentences (.tsv); got both: name one of them.",
            code="ambiguous",
            parameter="data",
        )
    return kinds == {True}


def treebank_of(paths: Iterable[Any]) -> Corpus:
    """The sentences of CoNLL-U files."""
    from limbeck.corpus import Corpus

    return Corpus([str(path) for path in paths], format="conllu")


def facts_of(one: Analysis) -> dict[str, Any]:
    """What the record says of one model, with how many rows of each table are of it."""
    return {
        "name": one.model,
        "what": one.what,
        "units": one.units,
        "settings": one.settings,
        "dropped": one.dropped,
        "notes": one.notes,
        "claims": len(one.claims),
        "tables": {name: len(next(iter(columns.values()), ())) for name, columns in one.tables.items()},
    }


def _listed(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else [value]
