"""`limbeck analyze`: what directions of a space hold, and what its clusters contain, before and after repair.

What computes stands in `limbeck.analysis`, and is imported when a run does: `--help` needs none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
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
from limbeck.errors import LimbeckError, UsageError
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
    from limbeck.stream import Source
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


@dataclass(frozen=True, eq=False, repr=False)
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

    #: name and fingerprint of what was read: of each model in their order, of corpus, count_in or vectors
    read: dict[str, Any] = field(init=False, repr=False, default_factory=dict)

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
        """What was analyzed, for the record: as it was named, or what it is called where it is an object."""
        given = {**self.models.given(), **self.text.given(), **self.vectors.given()}
        if "model" in given:
            pairs = zip(given["model"], self.read["models"], strict=True)
            given["model"] = [str(one) if isinstance(one, str | Path) else told["name"] for one, told in pairs]
        for name in given.keys() & {"corpus", "vectors"}:
            one = given[name]
            given[name] = [str(one)] if isinstance(one, str | Path) else self.read[name]["name"]
        return given

    def options(self) -> dict[str, Any]:
        given = super().options()
        if "count_in" in given and not isinstance(given["count_in"], str | Path):
            given["count_in"] = self.read["count_in"]["name"]
        return given

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

        source = self._vectors()
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

        data, pairs = self.data.data or (), self.pairs
        encoder = self._encoder(model)
        batch_tokens = self.batches.batch_tokens
        about = encoder.describe()
        common: dict[str, Any] = {"workers": context.workers, "progress": context.progress}
        common["settings"] = self._settings(encoder.name, encoder.model_fingerprint, about, context)
        if pairs:
            return pairs_of(encoder, read_pairs(files_of(data)), batch_tokens=batch_tokens, **common)
        if self.what == "structure":
            return structure_of(encoder, treebank_of(data), groups=self.structure, batch_tokens=batch_tokens, **common)
        with ExitStack() as stack:
            corpus = self._corpus("corpus", self.text.corpus, stack)
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
            other = self._corpus("count_in", self.frequency.count_in, stack)
            return noted(frequency_of(source, count_in=replace(source, corpus=other), **common), corpus, other)

    @property
    def pairs(self) -> bool:
        """Whether the structure of pairs of sentences is looked at, rather than of a treebank's."""
        return self.what == "structure" and are_pairs(self.data.data or ())

    def _vectors(self) -> Source:
        """Cached vectors."""
        from limbeck.runs.execution.sources import need_words, open_source

        asked = self.loading.given() | self.encoder.given() | self.reading.given() | self.unit.given()
        source = need_words(open_source(vectors=self.vectors.vectors, **asked, **self.batches.given()))
        self.read["vectors"] = {"name": [source.name], "fingerprint": source.fingerprint}
        return source

    def _encoder(self, model: Any) -> Encoder:
        """The model with its last layer and the analysis' units, where no others are asked for."""
        from limbeck.runs.execution.sources import is_static, open_encoder

        given = self.loading.given() | self.encoder.given() | self.batches.given()
        chooses = not is_static(model) if isinstance(model, str | Path) else has_layers(model)
        if chooses:
            given.setdefault("layers", "-1")
        if given.get("units") == "characters" or ("units" not in given and (self.pairs or not chooses)):
            given["units"] = "words"
        given.setdefault("units", UNITS[self.what])
        encoder = open_encoder(model, **given)
        self.read.setdefault("models", []).append({"name": encoder.name, "fingerprint": encoder.fingerprint})
        return encoder

    def _corpus(self, name: str, corpus: Any, stack: ExitStack) -> Corpus:
        """A text, or the sample corpus; a copy of standard input is removed at the end, what is open stays open."""
        from limbeck.corpus import Corpus
        from limbeck.corpus.sample import sample_path
        from limbeck.runs.execution.sources import open_corpus

        options = self.reading.given() | ({"characters": True} if self.encoder.units == "characters" else {})
        found = open_corpus(str(sample_path()) if corpus is None else corpus, **options)
        if name not in self.read:  # each model reads it
            self.read[name] = {
                "name": found.describe()["paths"] or ["text in memory"],
                "fingerprint": found.fingerprint,
            }
        return found if isinstance(corpus, Corpus) else stack.enter_context(found)

    def _settings(
        self, model: str, fingerprint: object, about: Mapping[str, Any], context: RunContext
    ) -> AnalysisSettings:
        """The settings with the repairs of a model, which are read from their files."""
        from limbeck.repairs.folders import units_of

        repairs = self._repairs(model=model, model_fingerprint=fingerprint)
        for path in self.repair_paths:
            was, now = units_of(path).get("units"), about.get("encoder_settings", about).get("units")
            if None not in (was, now) and was != now:
                context.notify(
                    f"limbeck: note: {path} was fitted on {was}, and {now} are looked at: fit one with --units {now}"
                )
        return replace(self.analysis, repair=(repairs,))

    @property
    def repair_paths(self) -> list[Any]:
        return [one for one in self.analysis.repair or () if not isinstance(one, Mapping)]

    def _repairs(self, **of: Any) -> dict[str, Any]:
        """All fitted repairs by name, those in files if they were fitted on this model."""
        from limbeck.repairs import load_repairs

        loaded = {Path(path).name: load_repairs(path, **of) for path in self.repair_paths}
        if len(loaded) < len(self.repair_paths):
            raise UsageError(
                "each --repair must have a name of its own; got two files or folders of one name: rename one.",
                code="twice",
                parameter="repair",
            )
        return {**self.analysis.repairs, **loaded}

    def identity(self) -> Any:
        from limbeck.vectors.occurrences import fingerprint_file

        if not self.read:  # asked of a finished folder, before anything has been opened
            self._look()
        data = self.data.data or ()
        read = dict(self.read)
        if data:
            read["data"] = fingerprint_file(*map(Path, files_of(data))) if self.pairs else treebank_of(data).fingerprint
        if self.analysis.repair:
            read["repair"] = {name: repair_fingerprint(one) for name, one in self._repairs().items()}
        options = {name: one for name, one in self.options().items() if name not in ("data", "count_in", "repair")}
        return {"read": read, "options": options}

    def _look(self) -> None:
        """Open what is read for its fingerprint alone, one model after another."""
        if self.vectors.vectors is not None:
            self._vectors()
        for model in self.models.model or ():
            self._encoder(model)
        with ExitStack() as stack:
            if self.vectors.vectors is None and self.what != "structure":
                self._corpus("corpus", self.text.corpus, stack)
            if self.frequency.count_in is not None:
                self._corpus("count_in", self.frequency.count_in, stack)


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


def repair_fingerprint(repair: Any) -> Any:
    """Changes with what a fitted repair does; of {layer: repair} one for each layer."""
    import joblib  # type: ignore[import-untyped]

    from limbeck.repairs.files import fingerprint_of

    if isinstance(repair, Mapping):
        return {layer: repair_fingerprint(one) for layer, one in repair.items()}
    try:
        return fingerprint_of(repair)
    except LimbeckError:  # a transformer that is not limbeck's
        return str(joblib.hash(repair))


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
