"""A parent, a text, and the static vectors that are made of them: averages, X2Static, and the text's own baselines."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.units import TextUnit
from limbeck.distillation.baselines import BASELINES
from limbeck.distillation.distilled import DistilledVectors
from limbeck.distillation.method_settings import NgramSettings
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import choose_words
from limbeck.distillation.x2static import Sent2Vec, X2Static, preset_named, train, word_source
from limbeck.encoders.protocol import Encoder
from limbeck.papers.static_baselines import BaselineJob, TrainBaseline, TrainedBaseline
from limbeck.papers.static_subjects import AVERAGE, SENT2VEC
from limbeck.papers.static_wanted import Wanted
from limbeck.runs.distill import distill
from limbeck.runs.distilling.compute import distill_subject, open_subject
from limbeck.runs.distilling.work import EVERYTHING
from limbeck.runs.execution.sources import open_corpus, open_encoder
from limbeck.stream import Plan, TextSource, survey
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors


@dataclass
class Shared:
    """What parents that read the same text have in common.

    baselines  dimensions -> vectors of the text's own
    lengths    words of every sentence, once they were counted
    """

    baselines: dict[int, dict[str, Any]] = field(default_factory=dict)
    lengths: NDArray[np.int32] | None = None


class ParentVectors:
    """One parent, the text, and the vectors that were made so far."""

    def __init__(self, model: str, name: str, wanted: Wanted, shared: Shared) -> None:
        self.model, self.name, self.wanted, self.shared = model, name, wanted, shared
        self._open = ExitStack()
        self.workers = self._open.enter_context(Workers(wanted.workers))
        self._baselines: Iterator[TrainedBaseline] | None = None  # under way

    def close(self) -> None:
        self._open.close()

    @cached_property
    def corpus(self) -> Corpus:
        text = {**self.wanted.text}
        if self.preset.lowercase:  # §4.1: parents see lower-cased text, whatever they were trained on
            text["lowercase"] = True
        return self._open.enter_context(open_corpus(list(self.wanted.corpus), **text))

    def encoder(self, layers: str | None = None) -> Encoder:
        options = dict(self.wanted.encoder)
        return open_encoder(self.model, **(options if layers is None else options | {"layers": layers}))

    @cached_property
    def every_layer(self) -> Encoder:
        return self.encoder()

    @cached_property
    def last_layer(self) -> Encoder:
        return self.encoder("-1")

    @cached_property
    def is_sentence_transformer(self) -> bool:
        """By the list of modules that such models have beside their weights, or by their name on the hub."""
        listed = (Path(self.model).expanduser() / "modules.json").is_file()
        return listed or self.model.startswith("sentence-transformers/")

    # the text

    @property
    def preset(self) -> Any:
        return preset_named(self.wanted.preset)

    def source(self, corpus: Corpus, unit: TextUnit) -> TextSource:
        return TextSource(corpus, self.last_layer, unit)

    def plan(self, source: TextSource) -> Plan:
        """The words that occur often enough, in lower case: the paper's vocabulary."""
        preset = self.preset
        most = DistillSettings(min_count=self.min_count, max_words=preset.max_words)
        whole = survey(source, choice=EVERYTHING, deduplicate=preset.deduplicate, context=RunContext(self.workers))
        return choose_words(whole, most, fold=True)[0]

    @property
    def min_count(self) -> int:
        return self.wanted.caps.min_count if self.wanted.preset == "corrected" else int(self.preset.min_count)

    def beginning(self, sentences: int) -> Corpus:
        return Corpus.from_sentences(itertools.islice(self.corpus, sentences))

    @property
    def lengths(self) -> NDArray[np.int32]:
        """Words of every sentence of the text."""
        if self.shared.lengths is None:
            self.shared.lengths = np.fromiter((len(sentence.words) for sentence in self.corpus), dtype=np.int32)
        return self.shared.lengths

    @property
    def sentences(self) -> int:
        return len(self.lengths)

    @property
    def device(self) -> str:
        return str(self.last_layer.device)

    @property
    def context(self) -> RunContext:
        return RunContext(self.workers, self.wanted.progress)

    # vectors

    def averages(self, corpus: Corpus, layers: Encoder) -> dict[str, DistilledVectors]:
        """The average over contexts of every word of the sets that the text has, by layer."""
        return {one.layer: one for one in self.averaged(layers, corpus, words=self.wanted.sets.words)}

    def averaged(self, encoder: Encoder, corpus: Corpus, **options: Any) -> list[DistilledVectors]:
        """Averages over contexts, a layer after the other; options are settings of a distillation."""
        settings = DistillSettings(method=(AVERAGE,), case="lower", unseen="drop", **options)
        return list(distill_subject(open_subject(encoder, corpus, settings), settings, self.context).values())

    @cached_property
    def without_text(self) -> dict[str, StaticVectors]:
        """Every word of the sets without a context, by layer: in a sentence about nothing else, or alone."""
        way = "frame" if self.wanted.preset == "corrected" else "word"
        made = distill(self.every_layer, words=self.wanted.sets.words, method=[way], progress=self.wanted.progress)
        return {one.layer: one for one in made.values()}

    @cached_property
    def of_whole_text(self) -> dict[TextUnit, StaticVectors]:
        """X2Static with sentences and with paragraphs; several parts need them."""
        units: tuple[TextUnit, ...] = ("sentence", "paragraph")
        return {unit: self.x2static(self.corpus, unit) for unit in units}

    @cached_property
    def all_averages(self) -> dict[str, DistilledVectors]:
        return self.averages(self.corpus, self.every_layer)

    def x2static(self, corpus: Corpus, unit: TextUnit, **changes: Any) -> StaticVectors:
        source = self.source(corpus, unit)
        plan = self.plan(source)
        trained = train(source, plan, self.training(**changes), self.context)
        return StaticVectors(plan.vocabulary.words, trained.matrix)

    def training(self, **changes: Any) -> X2Static:
        settings: X2Static = self.preset.training
        if self.wanted.preset == "corrected" and self.wanted.caps.epochs:
            changes = {"epochs": self.wanted.caps.epochs, **changes}
        return settings.with_changes(seed=self.wanted.seed, **changes)

    @property
    def baseline_epochs(self) -> int:
        """As many as X2Static's, lest the longer training win; with the authors' presets the baselines' usual ones."""
        return self.training().epochs if self.wanted.preset == "corrected" else NgramSettings().epochs

    def baseline_settings(self) -> NgramSettings:
        return NgramSettings(dim=self.last_layer.dim, epochs=self.baseline_epochs, seed=self.wanted.seed)

    def begin_baselines(self) -> None:
        """Train the baselines from now on, beside everything else, where there are processes for it."""
        if self.wanted.workers and self._baselines is None and self.last_layer.dim not in self.shared.baselines:
            self._baselines = self._train_baselines()

    def _train_baselines(self) -> Iterator[TrainedBaseline]:
        beside = self._open.enter_context(Workers(min(self.wanted.workers, len(BASELINES))))
        plan = self.plan(self.source(self.corpus, "sentence"))
        shown = self.wanted.progress and not self.wanted.workers
        train = TrainBaseline(self.corpus, plan, self.baseline_settings(), self.wanted.sets.words, progress=shown)
        return beside.run(BaselineJob(train))

    def trained(self) -> dict[str, Any]:
        """Baselines of the text with the parent's dimensions, and why one is missing; trained once for each size."""
        dim = self.last_layer.dim
        if dim not in self.shared.baselines:
            found: dict[str, Any] = {"vectors": {}, "unseen": {}, "missing": {}}
            for one in self._baselines or self._train_baselines():
                if one.missing:
                    found["missing"][one.method] = one.missing
                    continue
                found["vectors"][one.method] = one.vectors
                if one.unseen is not None:
                    found["unseen"][one.method] = one.unseen
            self._baselines = None
            found["vectors"][SENT2VEC] = self.sent2vec(self.corpus)
            self.shared.baselines[dim] = found
        return self.shared.baselines[dim]

    def sent2vec(self, corpus: Corpus, **changes: Any) -> StaticVectors:
        """Sent2Vec's objective (eq. 2) on a text, with the parent's dimensions."""
        source = word_source(corpus, device=self.device)
        plan = self.plan(source)
        settings = Sent2Vec(dim=self.last_layer.dim, epochs=self.baseline_epochs, seed=self.wanted.seed)
        settings = settings.with_changes(**changes)
        trained = train(source, plan, settings, self.context)
        return StaticVectors(plan.vocabulary.words, trained.matrix)
