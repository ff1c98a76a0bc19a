"""How papers are tried, by what their claims are about: the options of each kind, and what it gathers of models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from limbeck.corpus.settings import TextUnitSettings
from limbeck.encoders.settings import LoadingSettings, PoolingSettings, UnitSettings, WindowSettings
from limbeck.errors import InputError, choose
from limbeck.papers import Source
from limbeck.papers.reproduce import HOLDS, ReproduceRun, places
from limbeck.papers.settings import (
    EpochsSettings,
    PaperPresetSettings,
    ParentsSettings,
    ProbedWordsSettings,
    QuickSettings,
    SensesSettings,
    SpacesSettings,
    TablesSettings,
    TunedSettings,
)
from limbeck.runs.measure import MeasureRun, MeasureSettings, SentenceSettings
from limbeck.stream.settings import BatchSettings, EngineSettings, WorkersSettings

if TYPE_CHECKING:
    from limbeck.corpus import Corpus
    from limbeck.papers.parts import ModelInParts, Part
    from limbeck.papers.probe_wanted import Caps as ProbeCaps
    from limbeck.papers.results import Reproduction
    from limbeck.stream.context import RunContext
    from limbeck.tables import Columns

    #: what came out, and files with its numbers: path in the folder -> columns
    Gathered = tuple[Reproduction, Mapping[str, Columns]]


@dataclass(kw_only=True)
class LayersReproduction(ReproduceRun):
    """Measure every layer of some models and say of each claim of a paper whether it holds for them."""

    details: ClassVar[str] = f"""\
{HOLDS} They stand in runs/, a folder of `limbeck measure` for each model; models that were measured are not
measured again with --existing resume.
"""
    examples: ClassVar[str] = """\
limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019
limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus text.txt --out runs/mine
limbeck reproduce ethayarajh2019 --model bert-base-cased gpt2 --corpus sts.tsv --columns 1,2 --preset released \\
    --out runs/published
limbeck reproduce ethayarajh2019 --corpus semcor3.0.tar.xz --format semcor --out runs/semcor
limbeck reproduce ethayarajh2019 --out runs/ethayarajh2019 --existing resume --page docs/architecture.md
"""

    senses: SensesSettings
    measures: MeasureSettings
    loading: LoadingSettings
    vectors: PoolingSettings
    units: UnitSettings
    unit: TextUnitSettings
    sentences: SentenceSettings
    batches: BatchSettings
    processing: EngineSettings  # of the runs that are made, which start their own workers

    def validate(self) -> None:
        from limbeck.papers.component_vectors import find_nine_sets

        super().validate()
        self.sets, self.missing = find_nine_sets(self.files.data)  # a wrong folder is refused before measuring
        for one in self.measuring(self.output.out or Path()).split():
            one.validate()

    def measuring(self, folder: Path) -> MeasureRun:
        """The measuring run that is asked for, with a folder for each model."""
        given: dict[str, Any] = {"model": self.tried, "corpus": self.corpus, "existing": self.output.existing}
        for settings in (
            self.reading, self.measures, self.loading, self.vectors, self.units, self.unit, self.sentences,
            self.batches, self.processing,
        ):  # fmt: skip
            given |= settings.given()
        out = self.targets(folder)[0] if len(self.tried) == 1 else folder / "runs"
        return MeasureRun.of(given | {"out": out})

    def targets(self, folder: Path) -> list[Path]:
        """The run folders of the models."""
        return [folder / "runs" / name for name in self.names]

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.runs.execution.execute import estimate

        yield from estimate(self.measuring(self.output.out or Path()), prepare=context.prepare)

    def gather(self, folder: Path, context: RunContext) -> Gathered:
        from limbeck.analysis.result import columns_of
        from limbeck.papers.results import evaluate
        from limbeck.runs.execution.execute import execute

        senses = self.count_senses()
        alike: dict[str, Any] = {"progress": context.progress, "notify": context.notify, "prepare": context.prepare}
        records = [execute(one, **alike)[0].record for one in self.measuring(folder).split()]
        static = self.components(folder, dict(zip(self.tried, records, strict=True)), context)
        found = evaluate(self.paper, self.targets(folder), senses=senses, static=static, command=self.command_line)
        words = sorted(senses)
        parts = {one.name: one.static for one in found.subjects if one.static is not None}
        return found, {
            "senses.csv": {"word": words, "senses": [senses[word] for word in words]} if senses else {},
            "static.csv": columns_of(
                [{"model": name, **row} for name, part in parts.items() for row in part.rows("scores")]
            ),
        }

    @property
    def text_options(self) -> dict[str, Any]:
        """How the text is opened; units of characters are made by the corpus."""
        return self.reading.given() | ({"characters": True} if self.units.units == "characters" else {})

    def count_senses(self) -> dict[str, int]:
        """In how many senses words stand, by the labels of --senses or of the corpus."""
        from limbeck.papers.text import count_senses
        from limbeck.runs.execution.sources import open_corpus

        asked, label = self.senses.senses, self.senses.sense_label
        with open_corpus(places(asked)) if asked else open_corpus(self.corpus, **self.text_options) as corpus:
            return count_senses(corpus, label=label)

    def components(
        self, folder: Path, models: Mapping[str, Mapping[str, Any]], context: RunContext
    ) -> list[Part | str]:
        """Table 1 of ethayarajh2019: of each model the scores of its static vectors, or why there are none."""
        from limbeck.papers.component_gather import gather_components

        if not self.sets:
            return [self.missing] * len(models)
        context.notify("static vectors of principal components")
        units = self.units.given() | ({"units": "words"} if self.units.units == "characters" else {})
        encoder = self.loading.given() | self.vectors.given() | units | self.batches.given()
        own = {"max_contexts": self.measures.max_contexts, "seed": self.measures.seed}
        return gather_components(
            models,
            self.corpus,
            self.sets,
            {**encoder, **self.text_options, **own},
            folder=folder / "static",
            resume=self.resumes,
        )


@dataclass(kw_only=True)
class TablesReproduction(ReproduceRun):
    """Measure some embedding tables and say of each claim of a paper whether it holds for them."""

    details: ClassVar[str] = f"""\
{HOLDS} They stand in tables/, and need no pass through a model.
"""
    examples: ClassVar[str] = """\
limbeck reproduce bis2021 --out runs/bis2021
limbeck reproduce bis2021 --model bert-base-cased glove.6B.300d.txt --data similarity-sets --out runs/tables
"""

    preset: PaperPresetSettings
    tables: TablesSettings

    def open(self) -> None:
        from limbeck.papers.table_similarity import find_sets
        from limbeck.papers.table_subjects import Gathering

        early = self.tables.early
        if early is not None and not early.is_dir():
            raise InputError(
                f"{early}: --early must be a folder of early tables, there is none: check the path.",
                code="not_found",
                parameter="early",
            )
        sets, missing = find_sets(self.files.data)
        self.gathering = Gathering(sets, missing, early, self.preset.preset, self.preset.seed)

    def opened(self) -> AbstractContextManager[Corpus]:
        """The text, which each model reads anew."""
        from limbeck.runs.execution.sources import open_corpus

        return open_corpus(self.corpus, **self.reading.given())

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.papers.table_sources import open_table

        for model, name in zip(self.tried, self.names, strict=True):
            with self.opened() as corpus:
                table = open_table(model, corpus, name=name)
            rows, dim = table.matrix.shape
            memory = 6 * 8 * rows * dim / 2**20  # a few copies in float64: repaired, centered, its gradient
            tokens = int(table.counts.sum())
            yield f"{name}: {rows:,} {table.kind} × {dim}, {tokens:,} tokens, about {memory:,.0f} MB of memory"

    def gather(self, folder: Path, context: RunContext) -> Gathered:
        """A matter of seconds, so nothing is resumed."""
        from limbeck.papers.table_files import columns_of
        from limbeck.papers.table_subjects import gather

        tables = []
        for model, name in zip(self.tried, self.names, strict=True):
            context.notify(f"{name}: reading its table, counting its tokens in the text")
            with self.opened() as corpus:
                tables.append(gather(model, corpus, self.gathering, name=name))
        return self.judge(tables), {f"tables/{name}": columns for name, columns in columns_of(tables).items()}


@dataclass(kw_only=True)
class SpacesReproduction(ReproduceRun):
    """Measure the spaces of some models before and after repair, and say of each claim of a paper whether it holds."""

    details: ClassVar[str] = f"""\
{HOLDS} They stand in spaces/, where every part that was measured is kept, so that a run that was
stopped goes on with --existing resume.
"""
    examples: ClassVar[str] = """\
limbeck reproduce rajaee2021 --out runs/rajaee2021
limbeck reproduce rajaee2021 --data data --model bert-base-uncased gpt2 --max-train 2500 --out runs/repairs
limbeck reproduce rajaee2021 --data data --quick --out runs/quick
"""
    no_static: ClassVar[str] = "claims about layers need a model, these are static vectors: see bis2021."

    preset: PaperPresetSettings
    quick: QuickSettings
    spaces: SpacesSettings
    loading: LoadingSettings
    window: WindowSettings
    batches: BatchSettings

    def open(self) -> None:
        from limbeck.papers.space_data import find_data
        from limbeck.papers.space_wanted import QUICK, Caps, Wanted

        caps = QUICK if self.quick.quick else Caps(points=self.spaces.points)
        asked = {
            "pairs": self.spaces.max_pairs,
            "seeds": self.spaces.seeds,
            "train": self.quick.max_train,
            "starts": self.quick.starts,
        }
        self.wanted = Wanted(
            data=find_data(self.files.data),
            corpus=self.corpus,
            own_text=bool(self.text.corpus),
            text=self.reading.given(),
            encoder=self.loading.given() | self.window.given() | self.batches.given(),
            count_in=places(self.spaces.count_in) if self.spaces.count_in else (),
            caps=replace(caps, **chosen(asked)),
            preset=self.preset.preset,
            seed=self.preset.seed,
        )

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.papers.space_subjects import PARTS

        needs = {"tuning": "development", "sts": "sts", "classify": "classify", "structure": "treebank"}
        absent = self.wanted.data.missing
        for name in self.names:
            for part, what in PARTS.items():
                why = absent.get(needs.get(part, ""))
                yield f"{name}: {what}" + (f": not measured, it {why}" if why else "")

    def gather(self, folder: Path, context: RunContext) -> Gathered:
        """Part by part; what is kept of an earlier try is taken."""
        from limbeck.papers.space_gather import gather

        wanted = replace(self.wanted, progress=context.progress)
        models = [
            gather(model, wanted, name=name, folder=folder / "spaces" / name, resume=self.resumes)
            for model, name in zip(self.tried, self.names, strict=True)
        ]
        return self.judge(models), files_of(models, "spaces")


@dataclass(kw_only=True)
class ParentsReproduction(ReproduceRun):
    """Make static vectors of some models and say of each claim of a paper whether it holds for them."""

    details: ClassVar[str] = f"""\
{HOLDS} They stand in parents/, where every part that was made is kept, so that a run that was
stopped goes on with --existing resume.
"""
    examples: ClassVar[str] = """\
limbeck reproduce gupta2021 --data data --corpus text.txt --out runs/gupta2021
limbeck reproduce gupta2021 --data data --corpus text.txt --model bert-base-uncased glove.txt --out runs/static
limbeck reproduce gupta2021 --data data --quick --out runs/quick
"""

    preset: PaperPresetSettings
    quick: QuickSettings
    epochs: EpochsSettings
    parents: ParentsSettings
    loading: LoadingSettings
    vectors: PoolingSettings
    batches: BatchSettings
    processing: WorkersSettings

    def open(self) -> None:
        from limbeck.papers.static_finetuned import read_tuned
        from limbeck.papers.static_gather import find_sentence_tasks, missing_data
        from limbeck.papers.static_scores import find_word_sets
        from limbeck.papers.static_wanted import QUICK, Caps, Wanted

        self.tuned = [read_tuned(folder) for folder in self.parents.fine_tuned]
        sets = find_word_sets(self.files.data)
        tasks, absent = find_sentence_tasks(self.files.data)
        asked = {
            "epochs": self.epochs.epochs,
            "min_count": self.parents.min_count,
            "sentences": self.parents.sentences,
            "train": self.quick.max_train,
            "starts": self.quick.starts,
        }
        self.wanted = Wanted(
            sets=sets,
            classify=tasks,
            missing=missing_data(sets, absent),
            corpus=self.corpus,
            text=self.reading.given(),
            encoder=self.loading.given() | self.vectors.given() | self.batches.given(),
            caps=replace(QUICK if self.quick.quick else Caps(), **chosen(asked)),
            preset=self.preset.preset,
            seed=self.preset.seed,
            workers=self.processing.workers or 0,
        )

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.papers.static_subjects import PARTS

        tuned = ", ".join(one.task for one in self.tuned) or "not made, it needs folders by --fine-tuned"
        for name in self.names:
            for part, what in PARTS.items():
                why = self.wanted.missing.get("classify" if part == "classify" else "similarity")
                end = f": {tuned}" if part == "finetuned" else f": not made, it {why}" if why else ""
                yield f"{name}: {what}{end}"

    def gather(self, folder: Path, context: RunContext) -> Gathered:
        """Part by part; what is kept of an earlier try is taken."""
        from limbeck.papers.static_finetuned import check_parents, fingerprint_of, with_tuned
        from limbeck.papers.static_gather import gather, gather_file, words_of_sets
        from limbeck.papers.static_vectors import Shared
        from limbeck.runs.execution.sources import is_static
        from limbeck.vectors import StaticVectors

        static = {name: model for model, name in zip(self.tried, self.names, strict=True) if is_static(model)}
        files = {name: StaticVectors.load(Path(path).expanduser()) for name, path in static.items()}
        known = {name: words_of_sets(one, self.wanted.sets) for name, one in files.items()}
        wanted = replace(self.wanted, files=known, progress=context.progress)
        tuned = self.tuned
        prints = {
            model: fingerprint_of(model, wanted) for model in self.tried if tuned and model not in static.values()
        }
        check_parents(tuned, list(prints.values()))
        parents: list[Any] = []
        shared = Shared()
        for model, name in zip(self.tried, self.names, strict=True):
            if name in files:
                parents.append(gather_file(files[name], wanted, name=name))
                continue
            own = folder / "parents" / name
            made = gather(model, wanted, shared, name=name, folder=own, resume=self.resumes)
            parents.append(with_tuned(made, prints.get(model, ""), tuned))
        return self.judge(parents), files_of(parents, "parents")


@dataclass(kw_only=True)
class ProbesReproduction(ReproduceRun):
    """Probe some models before and after fine-tuning, and say of each claim of a paper whether it holds for them."""

    details: ClassVar[str] = f"""\
{HOLDS} They stand in probes/, with the fine-tuned models; every part that was made is kept, so that a
run that was stopped goes on with --existing resume.
"""
    examples: ClassVar[str] = """\
limbeck reproduce zhao2020 --data data --out runs/zhao2020
limbeck reproduce zhao2020 --data data --model bert-base-uncased --corpus corpus.txt --format wikipse \\
    --train-words train.tsv --test-words test.tsv --static wiki-news-300d.vec --preset paper --out runs/published
"""
    no_static: ClassVar[str] = "layers are probed, and these are static vectors: give them to --static."

    quick: QuickSettings
    epochs: EpochsSettings
    words: ProbedWordsSettings
    tuning: TunedSettings
    loading: LoadingSettings
    vectors: PoolingSettings
    batches: BatchSettings

    def open(self) -> None:
        from limbeck.papers.probe_data import Words, find_tasks, find_words
        from limbeck.papers.probe_wanted import Wanted
        from limbeck.probing.splits import read_lists

        own, caps = self.words, self.caps
        corpus, name, classes, least = find_words(self.corpus if self.text.corpus else None, self.files.data)
        if own.static is not None and not own.static.expanduser().is_file():
            raise InputError(
                f"{own.static}: --static must be a file of word vectors, there is none: check the path.",
                code="not_found",
                parameter="static",
            )
        tasks, missing = find_tasks(self.files.data, caps.tasks, seed=own.seed)
        words = Words(
            corpus=corpus,
            text=self.reading.given(),
            name=name,
            classes=own.classes or classes,
            lists=read_lists(own.train_words, own.test_words),
            combinations=caps.combinations,
            contexts=caps.contexts,
            min_words=caps.min_words or least,
            seed=own.seed,
        )
        self.wanted = Wanted(
            words=words,
            tasks=tasks,
            missing=missing,
            encoder=self.loading.given() | self.vectors.given() | self.batches.given(),
            static=None if own.static is None else str(own.static),
            frozen=self.frozen,
            caps=caps,
            preset=own.preset,
            seed=own.seed,
        )

    @property
    def frozen(self) -> tuple[str, ...]:
        """Names of the models that are not fine-tuned."""
        places = [self.tried.index(choose(one, self.tried, what="--not-tuned")) for one in self.tuning.not_tuned]
        return tuple(self.names[place] for place in places)

    @property
    def caps(self) -> ProbeCaps:
        """How much of everything: by the preset, and as the options say."""
        from limbeck.papers.probe_wanted import PAPER, QUICK, TASKS, Caps
        from limbeck.probing.finetuning.data import name_of

        words, tuning = self.words, self.tuning
        asked = {
            "combinations": words.max_combinations,
            "contexts": words.max_contexts,
            "min_words": words.min_words,
            "hidden": words.hidden,
            "epochs": self.epochs.epochs,
            "rows": words.probe_batch,
            "starts": self.quick.starts,
            "sizes": tuple(sorted(set(words.context_size))) or None,
            "tasks": tuple(choose(name_of(name), TASKS, what="--tasks") for name in tuning.tasks) or None,
            "steps": tuning.steps,
            "batch": tuning.batch,
            "train": self.quick.max_train,
            "dev": tuning.max_dev,
            "rate": tuning.learning_rate,
            "windows": tuple(sorted(set(tuning.attention_window))) or None,
            "attention": tuning.attention_texts,
        }
        caps = QUICK if self.quick.quick else PAPER if words.preset == "paper" else Caps()
        return replace(caps, **chosen(asked))

    def estimate(self, context: RunContext, opened: float) -> Iterator[str]:
        from limbeck.papers.probe_gather import lacking_for
        from limbeck.papers.probe_subjects import PARTS
        from limbeck.probing.splits import one_sided

        words = self.wanted.words
        found = words.labelled
        for name in self.names:
            yield from (f"{name}: {line}" for line in one_sided(found, words.sides))
            counts = f"{len(found.classes)} classes, {len(found.words):,} words, {len(found):,} contexts"
            yield f"{name}: {words.name}, {counts}"
            for part, what in PARTS.items():
                why = lacking_for(part, name, self.wanted)
                yield f"{name}: {what}" + (f": not run: {why}" if why else "")

    def gather(self, folder: Path, context: RunContext) -> Gathered:
        """Part by part; what is kept of an earlier try is taken."""
        from limbeck.papers.probe_gather import gather
        from limbeck.papers.zhao2020 import BERT

        wanted = replace(self.wanted, progress=context.progress)
        models = [
            gather(model, wanted, name=name, folder=folder / "probes" / name, resume=self.resumes, asked_of=BERT)
            for model, name in zip(self.tried, self.names, strict=True)
        ]
        return self.judge(models), files_of(models, "probes")


#: what a paper's claims are tried on -> how
KINDS: dict[Source, type[ReproduceRun]] = {
    "runs": LayersReproduction,
    "tables": TablesReproduction,
    "spaces": SpacesReproduction,
    "parents": ParentsReproduction,
    "probes": ProbesReproduction,
}


def chosen(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked for; everything else stays as it is."""
    return {name: value for name, value in asked.items() if value is not None}


def files_of(models: Sequence[ModelInParts], folder: str) -> dict[str, Columns]:
    """Every table of every part, as files of a folder."""
    from limbeck.papers.parts import columns_of_models

    return {f"{folder}/{name}": columns for name, columns in columns_of_models(models).items()}
