"""`limbeck probe`: how well classes of words are read off each layer of a model.

What computes stands in `limbeck.runs.probing` and `limbeck.probing`, and is imported when a run does: `--help` needs
none of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from limbeck.corpus.settings import FileSettings
from limbeck.encoders.layers import TABLE
from limbeck.encoders.settings import LayerSettings, LoadingSettings
from limbeck.errors import InputError, UsageError
from limbeck.probing.names import TABLES
from limbeck.probing.settings import LabelSettings, ProbeSettings
from limbeck.runs.execution.result import RunResult
from limbeck.runs.execution.run import SharedRun
from limbeck.runs.execution.settings import ModelSettings, OutputSettings
from limbeck.settings import option
from limbeck.stream.settings import BatchSettings, EngineSettings
from limbeck.tables import rows_of

if TYPE_CHECKING:
    from limbeck.accumulators import Accumulator
    from limbeck.corpus import Corpus
    from limbeck.encoders.protocol import Encoder
    from limbeck.reporting.figures import Makers
    from limbeck.runs.execution.folders import RunFolder
    from limbeck.runs.execution.sharing import Reading
    from limbeck.runs.probing.gathering import KeptGather
    from limbeck.runs.probing.work import Probing
    from limbeck.sketch import Curves
    from limbeck.stream import Consumer, Plan
    from limbeck.stream.context import RunContext
    from limbeck.vectors import StaticVectors

EVERY_LAYER = f"{TABLE},0--1"


@dataclass(frozen=True)
class LabeledTextSettings(FileSettings, group="labeled words"):
    """The text in which words have labels."""

    data: Any = option(
        None,
        common=True,
        recorded=False,
        metavar="D",
        suggestions=("sample",),
        files=True,
        paths=True,
        help="labeled text: files, folders, globs, or sample for the corpus that comes with limbeck",
    )
    format: Literal["auto", "jsonl", "semcor", "conllu", "wikipse"] = option(
        "auto", metavar="NAME", help="format of the files: auto (default), jsonl, semcor, conllu or wikipse"
    )

    @property
    def corpus(self) -> Any:
        """The text that a pass reads."""
        return self.data


@dataclass(frozen=True, eq=False, repr=False)
class ProbeResult(RunResult):
    """What was found for one model.

    record  run.json: settings, and under "facts" what was read: words, combinations, contexts, and what was left out
    tables  scores, classes, curves, data, and pieces, confidence, flips, flip_examples, selectivity,
            description_length where they were asked for
    """

    files: ClassVar[Mapping[str, str]] = {name: f"{name}.csv" for name in TABLES}
    text = tuple("space level probe context layer side class from to word now text pieces quarter".split())

    @property
    def model(self) -> str:
        """Its name."""
        return str(self.record["model"])

    @property
    def facts(self) -> Mapping[str, Any]:
        """What was read, and what is to be known of it."""
        found: Mapping[str, Any] = self.record["facts"]
        return found

    def title(self) -> str:
        return f"{self.model}: how well classes are read off each layer"

    def curves(self) -> Curves | None:
        """Micro-F1 on the test words by layer, a line a space, of the whole context."""
        from limbeck.probing.names import WHOLE
        from limbeck.sketch import Curves

        lines: dict[str, dict[str, float]] = {}
        for row in self.rows("scores", side="test", context=WHOLE):
            lines.setdefault(f"{row['space']}, {row['probe']}", {})[str(row["layer"])] = row["f1"]
        lines = {name: line for name, line in lines.items() if len(line) > 1}  # one number is no line
        places = list(dict.fromkeys(layer for line in lines.values() for layer in line))
        drawn = {name: [line.get(layer, float("nan")) for layer in places] for name, line in lines.items()}
        return Curves(places, drawn, up="micro-F1") if drawn else None

    def rows(self, table: str, **cells: Any) -> list[dict[str, Any]]:
        """A table row by row, those that have these cells."""
        found = rows_of(self.tables[table])
        return [row for row in found if all(row[name] == value for name, value in cells.items())]

    def figures(self, folder: Path) -> Makers:
        from limbeck.reporting.probes import probe_figures

        return probe_figures(self.tables, model=self.model)


@dataclass(kw_only=True)
class ProbeRun(SharedRun[ProbeResult]):
    """Train one probe per class at every layer, and say how well words are interpreted in context."""

    result = ProbeResult
    command: ClassVar[str] = "probe"
    summary: ClassVar[str] = "ask how well classes of words are read off each layer"
    details: ClassVar[str] = """\
labeled data: SemCor (supersenses), CoNLL-U (a column), WIKI-PSE (classes), JSON lines:
  {"words": ["an", "apple", "tree"], "index": 1, "label": "plant"}    and "lemma", "span", "split" where they are known
  {"words": [...], "labels": {"1": {"class": "plant", "lemma": "apple"}}}                 several words of a sentence
or `sample`, the corpus that comes with limbeck. Words are split into training, development and test by a hash of the
word or lemma, so that none is on two sides; a split that the data give is refused where a word is.

presets of training:
  quick   one hidden layer of 64, 40 epochs (default)
  paper   one hidden layer of 1,024, 400 epochs (Zhao et al. 2020)
Neither stops early; --patience N does, by the loss on the development words, which with rare classes may cost F1.

compared with the layers in context, each with --compare (default: average,bag,random):
  average   one vector a word, the mean over its contexts; of the table it is the model's input embedding
  bag       the mean over the words of the sentence: of the model's table (P-model), the same without the word itself
            (P-around), of --static vectors (P-static)
  random    random vectors, one a word, and the mean of those over the sentence (P-random)
With --static FILE also its vectors, one a word (static).

controls, with --control (default: majority):
  majority            every word is of the largest class
  random-labels       a class drawn for each word: what is left is selectivity
  random-weights      the model before training
  description-length  bits of an online code for the labels

Layers are all where none are named, with the table. DIR then holds tables (CSV: scores, classes, curves, data, pieces,
confidence, ...), figures/ and run.json.
"""
    examples: ClassVar[str] = """\
limbeck probe --model mini-bert --data sample --min-words 5 --out runs/probe
limbeck probe --model bert-base-uncased --data semcor3.0.tar.xz/brown1 semcor3.0.tar.xz/brown2 \\
    --classes 'noun.*,verb.*' --preset paper --seeds 1,2,3,4,5 --out runs/supersenses
limbeck probe --model mini-bert --data en_ewt-ud-train.conllu.xz --label upos --max-contexts 10 --out runs/pos
limbeck probe --model bert-base-uncased --data corpus.txt --format wikipse --train-words train.tsv \\
    --test-words test.tsv --static wiki-news-300d.vec --out runs/wiki-pse
limbeck probe --model mini-bert --data sample --min-words 5 --context-size 0,2,4,8 --out runs/contexts
limbeck probe --model mini-bert --data sample --min-words 5 --probe mlp,linear \\
    --control majority,random-labels,random-weights,description-length --out runs/controls
limbeck probe --model bert-base-uncased --data labelled.jsonl --keep-probes --out runs/before
limbeck probe --model ./fine-tuned --data labelled.jsonl --probes runs/before --out runs/after
"""
    transient: ClassVar[tuple[str, ...]] = ("state",)  # vectors and decisions, many times the size of what they gave
    shows_again: ClassVar[bool] = True

    models: ModelSettings
    text: LabeledTextSettings
    output: OutputSettings
    labels: LabelSettings
    training: ProbeSettings
    loading: LoadingSettings
    encoder: LayerSettings
    batches: BatchSettings
    engine: EngineSettings

    work: Probing = field(init=False, repr=False)
    shared: bool = field(init=False, default=False)

    @property
    def reads_duplicates(self) -> bool:
        return True  # the first of equal sentences need not be the labeled one

    def validate(self) -> None:
        for name, value in (("model", self.models.model), ("data", self.text.data)):
            if value is None:
                raise UsageError("--model and --data are needed.", code="required", parameter=name)

    def open(self) -> None:
        from limbeck.runs.execution.sources import open_corpus

        static = self.static()
        files = {name: value for name, value in self.text.given().items() if name != "data"}
        corpus = open_corpus(self.text.data, **files)
        labelled = self.labelled_in(corpus)
        asked = self.loading.given() | self.encoder.given() | self.batches.given()
        self.work = self.probing(open_at_every_layer(self.models.model, **asked), *labelled, corpus, static)

    def static(self) -> StaticVectors | None:
        """The vectors to compare with; refuses a folder that should hold probes and does not."""
        from limbeck.vectors import StaticVectors

        probes, static = self.training.probes, self.training.static
        if probes is not None and not (probes / "probes").is_dir():
            raise InputError(
                f"{probes}: holds no probes: run it again with --keep-probes.", code="no_probes", parameter="probes"
            )
        return StaticVectors.load(Path(static).expanduser()) if isinstance(static, str | Path) else static

    def labelled_in(self, corpus: Corpus) -> tuple[Any, Any]:
        """The labeled words of a text, and the side of each."""
        from limbeck.probing.labelled import read_labelled
        from limbeck.probing.splits import read_lists, with_sides
        from limbeck.runs.execution.input_guard import steady

        asked = self.labels
        lists = read_lists(asked.train_words, asked.test_words)
        with steady(corpus):
            labelled = read_labelled(corpus, asked)
        return with_sides(labelled, asked, lists=lists)

    def probing(
        self, encoder: Encoder, labelled: Any, sides: Any, corpus: Corpus, static: StaticVectors | None
    ) -> Probing:
        from limbeck.runs.probing.work import Probing

        return Probing(encoder, labelled, sides, self.training, corpus.describe(), static)

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        yield from self.work.describe()

    def identity(self) -> Any:
        from limbeck.runs.execution.record import plain

        return plain({**self.work.identity, "settings": self.asked()})

    def asked(self) -> dict[str, Any]:
        """All settings that decide a number."""
        return self.labels.as_dict() | self.training.as_dict()

    def compute(self, context: RunContext) -> ProbeResult:
        from limbeck.probing.features import features_of

        for line in self.work.describe():
            context.notify(line)
        state, kept = context.checkpoint, None
        if state is not None:
            claim(state, self.identity())
            kept = state.parent / "probes"  # a resumed run finds the probes that were trained before
        if self.shared:
            self.work.whole = features_of(self.source.encoder, self.gather, {})
        tables = self.work.run(state=state, kept=kept, workers=context.workers, progress=context.progress)
        facts = {
            "model": self.work.encoder.name,
            "settings": self.asked(),
            "facts": self.work.facts(),
            "identity": self.identity(),
        }
        return ProbeResult(self.record(facts, context), tables)

    # a pass that is shared: the vectors of labeled words of the text itself

    def join_pass(self, reading: Reading, folder: RunFolder) -> None:
        if reading.text_unit != "sentence":
            raise UsageError(
                f"{self.title}: probes see a sentence at a time, the pass a {reading.text_unit}: run it by itself.",
                code="not_shared",
            )
        self.folder, self.shared = folder, True
        if self.layers is None and reading.encoder.chooses_layers:
            try:
                self.source = reading.source(EVERY_LAYER)
            except UsageError:
                self.source = reading.source(None)  # a table of another width, or none (ELMo): its layers alone
        else:
            self.source = reading.source(self.layers)
        static = self.static()
        self.work = self.probing(self.source.encoder, *self.labelled_in(reading.corpus), reading.corpus, static)

    def choose(self, everything: Plan, *, state: Path) -> Plan:
        self.index = everything
        return everything

    @cached_property
    def gather(self) -> KeptGather:
        from limbeck.runs.probing.gathering import gather_into

        return gather_into(self.folder.state / "features", self.source.encoder, self.work.labelled)

    def consumers(self) -> list[Consumer]:
        return [self.gather]

    def fill(self, made: Sequence[Accumulator], dropped: dict[str, int]) -> None:
        self.gather.end_shard(len(self.index.shards) - 1)

    def beyond_pass(self) -> list[str]:
        lines = []
        if self.training.context_size:
            lines.append("less context makes other texts, which the model reads by themselves")
        if "random-weights" in self.training.control:
            lines.append("random weights are another model, which reads the labelled sentences too")
        return lines


def open_at_every_layer(model: Any, **options: Any) -> Encoder:
    """The model with its embedding table as the lowest layer, unless layers are asked for or it has no such table."""
    from limbeck.runs.execution.sources import is_static, open_encoder

    named = isinstance(model, str | Path) and not is_static(model)
    if not named or "layers" in options:
        return open_encoder(model, **options)
    try:
        return open_encoder(model, layers=EVERY_LAYER, **options)
    except UsageError:
        return open_encoder(model, **options)  # a table of another width, or none (ELMo): its layers alone


def claim(state: Path, identity: Any) -> None:
    """Take the folder of what a stopped run has done; refused where that was of something else."""
    from limbeck.state import write_text

    state.mkdir(parents=True, exist_ok=True)
    mark = state / "identity.json"
    if mark.is_file() and json.loads(mark.read_text(encoding="utf-8")) != identity:
        raise InputError(
            f"{state.parent}: the unfinished run is of another model, data or settings: --existing=replace.",
            code="other_run",
            parameter="out",
        )
    write_text(mark, json.dumps(identity))


def probe(model: Any, data: Any = "sample", *, progress: bool = False, **keywords: Any) -> ProbeResult:
    """Probe a model for the classes of words, at every layer; with `out` also a folder of tables and figures.

    model     a name or folder, an Encoder, StaticVectors, or a function of texts
    data      labeled text: a path, a Corpus, or sentences
    progress  show bars

    All other keywords are the options of `limbeck probe`, by the same names.

    >>> import limbeck as lb
    >>> probed = lb.probe("mini-bert", "sample", layers="0,12", min_words=9, epochs=2, compare=(), control=())
    >>> [(row["layer"], row["units"]) for row in probed.rows("scores", side="test")]
    [('0', 25), ('12', 25)]
    """
    return ProbeRun.results(progress, model=model, data=data, **keywords)[0]
