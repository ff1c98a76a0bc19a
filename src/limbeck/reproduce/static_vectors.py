"""A parent, a text, and the static vectors that are made of them: averages, X2Static, and the text's own baselines."""

from __future__ import annotations

import itertools
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

from limbeck.corpus import Corpus
from limbeck.corpus.units import TextUnit
from limbeck.distill.baselines import BASELINES, Settings, train_baseline
from limbeck.distill.distilled import Distilled
from limbeck.distill.settings import DistillSettings
from limbeck.distill.wordlist import choose_words
from limbeck.distill.x2static import Sent2Vec, X2Static, preset_named, train, word_source
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError
from limbeck.reproduce.static_subjects import AVERAGE, SENT2VEC
from limbeck.reproduce.static_wanted import Wanted
from limbeck.run.distill import EVERYTHING, distill
from limbeck.run.sources import DEFAULT_BATCH_TOKENS, open_corpus, open_encoder
from limbeck.stream import Plan, TextSource, survey
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors


class ParentVectors:
    """One parent, the text, and the vectors that were made so far.

    shared  vectors of the text's own, by dimension, which parents of one size have in common
    """

    def __init__(self, model: str, name: str, wanted: Wanted, shared: dict[int, dict[str, Any]]) -> None:
        self.model, self.name, self.wanted, self.shared = model, name, wanted, shared
        self._open = ExitStack()
        self.workers = self._open.enter_context(Workers(wanted.workers))

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
        budget = int(getattr(self.last_layer, "batch_tokens", None) or DEFAULT_BATCH_TOKENS)
        return TextSource(corpus, self.last_layer, unit, budget)

    def plan(self, source: TextSource) -> Plan:
        """The words that occur often enough, in lower case: the paper's vocabulary."""
        preset = self.preset
        most = DistillSettings(min_count=self.min_count, max_words=preset.max_words)
        whole = survey(source, choice=EVERYTHING, deduplicate=preset.deduplicate, workers=self.workers, progress=False)
        return choose_words(whole, most, fold=True)[0]

    @property
    def min_count(self) -> int:
        return self.wanted.caps.min_count if self.wanted.preset == "corrected" else int(self.preset.min_count)

    def beginning(self, sentences: int) -> Corpus:
        return Corpus.from_sentences(itertools.islice(self.corpus, sentences))

    @cached_property
    def sentences(self) -> int:
        return sum(1 for _ in self.corpus)

    # vectors

    def averages(self, corpus: Corpus, layers: Encoder) -> dict[str, Distilled]:
        """The average over contexts of every word of the sets that the text has, by layer."""
        made = distill(
            layers,
            corpus,
            methods=AVERAGE,
            words=self.wanted.sets.words,
            case="lower",
            unseen="drop",
            progress=self.wanted.progress,
        )
        return {one.layer: one for one in made.values()}

    @cached_property
    def without_text(self) -> dict[str, StaticVectors]:
        """Every word of the sets without a context, by layer: in a sentence about nothing else, or alone."""
        way = "frame" if self.wanted.preset == "corrected" else "word"
        made = distill(self.every_layer, words=self.wanted.sets.words, methods=way, progress=self.wanted.progress)
        return {one.layer: one.vectors for one in made.values()}

    @cached_property
    def of_whole_text(self) -> dict[TextUnit, StaticVectors]:
        """X2Static with sentences and with paragraphs; several parts need them."""
        units: tuple[TextUnit, ...] = ("sentence", "paragraph")
        return {unit: self.x2static(self.corpus, unit) for unit in units}

    @cached_property
    def all_averages(self) -> dict[str, Distilled]:
        return self.averages(self.corpus, self.every_layer)

    def x2static(self, corpus: Corpus, unit: TextUnit, **changes: Any) -> StaticVectors:
        source = self.source(corpus, unit)
        plan = self.plan(source)
        trained = train(source, plan, self.training(**changes), workers=self.workers, progress=self.wanted.progress)
        return StaticVectors(plan.vocabulary.words, trained.matrix)

    def training(self, **changes: Any) -> X2Static:
        settings: X2Static = self.preset.training
        if self.wanted.preset == "corrected" and self.wanted.caps.epochs:
            changes = {"epochs": self.wanted.caps.epochs, **changes}
        return settings.with_changes(seed=self.wanted.seed, **changes)

    @property
    def baseline_epochs(self) -> int:
        """As many as X2Static's, lest the longer training win; with the authors' presets the baselines' usual ones."""
        return self.training().epochs if self.wanted.preset == "corrected" else Settings().epochs

    def baseline_settings(self) -> Settings:
        return Settings(dim=self.last_layer.dim, epochs=self.baseline_epochs, seed=self.wanted.seed)

    def trained(self) -> dict[str, Any]:
        """Baselines of the text with the parent's dimensions, and why one is missing; trained once for each size."""
        dim = self.last_layer.dim
        if dim not in self.shared:
            source = self.source(self.corpus, "sentence")
            plan = self.plan(source)
            how: dict[str, Any] = {"workers": self.workers, "progress": self.wanted.progress}
            found: dict[str, Any] = {"vectors": {}, "unseen": {}, "missing": {}}
            for method in BASELINES:
                try:
                    made = train_baseline(method, source, plan, self.baseline_settings(), **how)
                except LimbeckError as error:
                    found["missing"][method] = str(error).rstrip(".")
                    continue
                found["vectors"][method] = StaticVectors(plan.vocabulary.words, made.matrix)
                found["unseen"][method] = made.unseen
            found["vectors"][SENT2VEC] = self.sent2vec(self.corpus)
            self.shared[dim] = found
        return self.shared[dim]

    def sent2vec(self, corpus: Corpus, **changes: Any) -> StaticVectors:
        """Sent2Vec's objective (eq. 2) on a text, with the parent's dimensions."""
        source = word_source(corpus)
        plan = self.plan(source)
        settings = Sent2Vec(dim=self.last_layer.dim, epochs=self.baseline_epochs, seed=self.wanted.seed)
        settings = settings.with_changes(**changes)
        trained = train(source, plan, settings, workers=self.workers, progress=self.wanted.progress)
        return StaticVectors(plan.vocabulary.words, trained.matrix)
