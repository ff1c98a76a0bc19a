"""The parts of a parent: its static vectors made by every method, and what they score."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict
from functools import cached_property
from typing import Any

import numpy as np

from limbeck.analyze.result import columns_of
from limbeck.corpus import Corpus
from limbeck.corpus.units import TextUnit
from limbeck.distill.baselines import BASELINES, Settings, train_baseline
from limbeck.distill.distilled import Distilled
from limbeck.distill.settings import DistillSettings
from limbeck.distill.wordlist import choose_words
from limbeck.distill.x2static import Sent2Vec, X2Static, preset_named, train, word_source
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError
from limbeck.evaluate.classifying import convolve
from limbeck.evaluate.classifying.result import deviation
from limbeck.evaluate.classifying.scores import resampled
from limbeck.evaluate.significance import percentiles
from limbeck.evaluate.task import Pairs
from limbeck.reproduce.estimates import CannotShow, Floats
from limbeck.reproduce.space_subjects import Part
from limbeck.reproduce.static_rules import BEST, CHOSEN
from limbeck.reproduce.static_scores import (
    DRAWS,
    Scoreboard,
    Way,
    all_pair_values,
    cosines_of,
    difference_rows,
    score_rows,
    scoreboard,
)
from limbeck.reproduce.static_subjects import AVERAGE, CBOW, MEAN, PARAGRAPH, SENT2VEC, SENTENCE, SKIPGRAM, TRAINED
from limbeck.reproduce.static_wanted import Wanted
from limbeck.run.distill import distill
from limbeck.run.frequencies import EVERY_WORD
from limbeck.run.sources import DEFAULT_BATCH_TOKENS, open_corpus, open_encoder
from limbeck.stream import Choice, Plan, TextSource, survey
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=EVERY_WORD)
CURVE_PAIRS = 50  #: that a text must know for the curve by size to begin with it
ONE_EPOCH: dict[str, Any] = {"epochs": 1, "learning_rate": 1e-2}  #: of X2Static where contexts are compared


class Distilling:
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

    def baseline_settings(self) -> Settings:
        return Settings(dim=self.last_layer.dim, seed=self.wanted.seed, **self.wanted.caps.baselines)

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

    def sent2vec(self, corpus: Corpus) -> StaticVectors:
        """Sent2Vec's objective (eq. 2) on a text, with the parent's dimensions."""
        source = word_source(corpus)
        plan = self.plan(source)
        settings = Sent2Vec(dim=self.last_layer.dim, seed=self.wanted.seed)
        if "epochs" in self.wanted.caps.baselines:
            settings = settings.with_changes(epochs=self.wanted.caps.baselines["epochs"])
        trained = train(source, plan, settings, workers=self.workers, progress=self.wanted.progress)
        return StaticVectors(plan.vocabulary.words, trained.matrix)

    # parts

    def similarity(self) -> Part:
        """Tables 3 and 6."""
        sets = self.wanted.sets
        averages = self.all_averages
        x2static = {SENTENCE: self.of_whole_text["sentence"], PARAGRAPH: self.of_whole_text["paragraph"]}
        trained = self.trained()
        vectors: dict[Way, StaticVectors] = {(AVERAGE, layer): one.vectors for layer, one in averages.items()}
        vectors |= {(name, ""): one for name, one in {**x2static, **trained["vectors"]}.items()}
        known = words_of_all(vectors)
        told = {way: cosines_of(known_only(one, known), sets.told) for way, one in vectors.items()}
        board = scoreboard(told, sets.told, seed=self.wanted.seed)
        everything = {
            (AVERAGE, layer): all_pair_values(
                cosines_of(one.vectors, sets.told, fallback=self.without_text[layer]), sets.told
            )
            for layer, one in averages.items()
        }
        for name, unseen in trained["unseen"].items():
            if unseen is not None:
                fallback = _one_by_one(unseen)
                cosines = cosines_of(trained["vectors"][name], sets.told, fallback=fallback)
                everything[name, ""] = all_pair_values(cosines, sets.told)
        layers = [way for way in board.ways if way[0] == AVERAGE]
        best = board.best(layers) if math.isfinite(board.value(layers[0])) else None
        about = {
            "best_layer": best[1] if best else None,
            "no_best_layer": "no set has pairs enough",
            "vocabulary": len(known),
            "missing": trained["missing"],
            **self.chosen(averages, known),
        }
        wanted = self._differences(board, best, about["chosen_layer"])
        tables = {
            "scores": columns_of(score_rows(board, everything)),
            "differences": columns_of(difference_rows(board, wanted)),
        }
        return Part(tables, about)

    def chosen(self, averages: Mapping[str, Distilled], known: set[str]) -> dict[str, Any]:
        """The average's layer that does best on the sets that are not told."""
        sets = self.wanted.sets.other
        if not sets:
            return {"chosen_layer": None, "no_chosen_layer": "needs MTurk-287, MTurk-771 or MEN to choose a layer on"}
        told = {(AVERAGE, layer): cosines_of(known_only(one.vectors, known), sets) for layer, one in averages.items()}
        board = scoreboard(told, sets, seed=self.wanted.seed, draws=1)
        if not board.used:
            return {"chosen_layer": None, "no_chosen_layer": "MTurk-287, MTurk-771 and MEN have too few pairs"}
        return {"chosen_layer": board.best(board.ways)[1]}

    def _differences(self, board: Scoreboard, best: Way | None, chosen: str | None) -> list[tuple[str, Way, str, Way]]:
        """What is compared with what."""
        others: dict[str, Way] = {name: (name, "") for name in (*TRAINED, SENTENCE) if (name, "") in board.ways}
        if best is not None:
            others[BEST] = best
        if chosen is not None:
            others[CHOSEN] = (AVERAGE, chosen)
        return [
            (one, (one, ""), other, way)
            for one in (SENTENCE, PARAGRAPH)
            for other, way in others.items()
            if other != one
        ]

    def size(self, similarity: Part) -> Part:
        """Figure 1: the average at its best layer, and X2Static with paragraphs, on beginnings of the text.

        All sizes are scored on the same pairs, those whose words the smallest text knows of which 50 pairs are known: a
        larger text then makes better vectors, not other pairs. Smaller texts are left out.
        """
        layer = similarity.about["best_layer"]
        if layer is None:
            raise CannotShow("no set has pairs enough")
        sets = {name: self.wanted.sets.told[name] for name in ("simlex-999", "rw") if name in self.wanted.sets.told}
        if not sets:
            raise CannotShow("needs SimLex-999 or RW: give the folder of their files by --data")
        encoder = self.encoder(layer)
        kept: dict[str, set[str]] = {}  # of each set the words of the smallest text that will do
        rows = []
        for share in (*self.wanted.caps.sizes, 1.0):
            number = max(1, round(share * self.sentences))
            corpus = self.corpus if share == 1 else self.beginning(number)
            words = sum(len(sentence.words) for sentence in corpus)
            averages = self.all_averages if share == 1 else self.averages(corpus, encoder)
            trained = self.of_whole_text["paragraph"] if share == 1 else self.x2static(corpus, "paragraph")
            ways: dict[Way, StaticVectors] = {(AVERAGE, layer): averages[layer].vectors, (PARAGRAPH, ""): trained}
            for name, pairs in sets.items():
                known = words_of_all(ways)
                if name not in kept and count_known(pairs, known) >= CURVE_PAIRS:
                    kept[name] = known
                if name in kept:
                    one = {name: pairs}
                    told = {way: cosines_of(known_only(vectors, kept[name]), one) for way, vectors in ways.items()}
                    board = scoreboard(told, one, seed=self.wanted.seed)
                    found = [row for row in score_rows(board, {}) if row["set"] == name]
                    rows += [{**row, "sentences": number, "words": words} for row in found]
        if not rows:
            raise CannotShow(f"SimLex-999 and RW have fewer than {CURVE_PAIRS} pairs of words that the text knows")
        return Part({"scores": columns_of(rows)}, {"layer": layer})

    def contexts(self) -> Part:
        """§3 and §3.1: other contexts than the mean over the sentence's words, on a part of the text, in one epoch.

        A masked target costs a reading of its sentence, so no context has a second epoch; all learn faster instead.
        """
        sets = self.wanted.sets.told
        number = min(self.sentences, self.wanted.caps.sentences)
        corpus = self.beginning(number)
        made: dict[Way, StaticVectors] = {}
        missing = {}
        for context in ("words", "others", "masked"):
            try:
                made[context, ""] = self.x2static(corpus, "sentence", context=context, **ONE_EPOCH)
            except LimbeckError as error:
                missing[context] = str(error).rstrip(".")
        made[SENT2VEC, ""] = self.sent2vec(corpus)
        board = scoreboard({way: cosines_of(one, sets) for way, one in made.items()}, sets, seed=self.wanted.seed)
        pairs = [("words", SENT2VEC), ("others", "words"), ("masked", "words")]
        wanted = [(a, (a, ""), b, (b, "")) for a, b in pairs if (a, "") in made and (b, "") in made]
        tables = {
            "scores": columns_of(score_rows(board, {})),
            "differences": columns_of(difference_rows(board, wanted)),
        }
        return Part(tables, {"sentences": number, "missing": missing})

    def classify(self, similarity: Part | None) -> Part:
        """Table 4: a convolution on frozen vectors."""
        about = similarity.about if similarity is not None else {}
        layer = about.get("chosen_layer") or about.get("best_layer") or self.last_layer.layers[-1]
        made = distill(
            self.encoder(layer), self.corpus, methods=AVERAGE, case="lower", min_count=self.min_count, unseen="drop"
        )
        vectors = {
            AVERAGE: next(iter(made.values())).vectors,
            SENTENCE: self.of_whole_text["sentence"],
            PARAGRAPH: self.of_whole_text["paragraph"],
        }
        vectors |= {name: one for name, one in self.trained()["vectors"].items() if name in (SKIPGRAM, CBOW, SENT2VEC)}
        caps = self.wanted.caps
        results = {
            method: {
                name: convolve(
                    task, one, starts=caps.starts, max_train=caps.train, seed=self.wanted.seed,
                    progress=self.wanted.progress,
                )
                for name, task in self.wanted.classify.items()
            }
            for method, one in vectors.items()
        }  # fmt: skip
        return classification(results, layer=layer, seed=self.wanted.seed)


def count_known(pairs: Pairs, words: set[str]) -> int:
    """Pairs of which both words are known."""
    return sum(a.lower() in words and b.lower() in words for a, b in zip(pairs.first, pairs.second, strict=True))


def words_of_all(vectors: Mapping[Way, StaticVectors]) -> set[str]:
    """Words that all have."""
    return set.intersection(*(set(one.words) for one in vectors.values()))


def known_only(vectors: StaticVectors, words: set[str]) -> StaticVectors:
    rows = [row for row, word in enumerate(vectors.words) if word in words]
    return StaticVectors([vectors.words[row] for row in rows], vectors.matrix[rows])


def _one_by_one(unseen: Any) -> Any:
    def look_up(word: str) -> Any:
        (vector,) = unseen([word])
        return vector if np.isfinite(vector).all() else None

    return look_up


def classification(results: Mapping[str, Mapping[str, Any]], *, layer: str, seed: int) -> Part:
    """Scores a task and on average; differences on the same draws of examples and runs."""
    rows, drawn = [], {}
    for method, by_task in results.items():
        of_runs: dict[str, list[Floats]] = {"macro-f1": [], "accuracy": []}
        draws = []
        for task, result in by_task.items():
            scores = {metric: result.run_scores(result.settings[0], metric=metric) for metric in of_runs}
            made = resampled(result.chosen_predictions[0], result.gold, metric="macro-f1", draws=DRAWS, seed=seed)
            rows.append(_classified_row(method, layer, task, scores["macro-f1"], scores["accuracy"], made))
            draws.append(made)
            for metric in of_runs:
                of_runs[metric].append(scores[metric])
        drawn[method] = np.mean(draws, axis=0)
        f1, accuracy = (np.mean(of_runs[metric], axis=0) for metric in ("macro-f1", "accuracy"))
        rows.append(_classified_row(method, layer, MEAN, f1, accuracy, drawn[method]))
    value = {row["method"]: row["f1"] for row in rows if row["task"] == MEAN}
    differences = []
    for one, other in itertools.permutations(drawn, 2):
        low, high = percentiles(drawn[one] - drawn[other])
        differences.append({"one": one, "other": other, "value": value[one] - value[other], "low": low, "high": high})
    return Part({"scores": columns_of(rows), "differences": columns_of(differences)}, {"layer": layer})


def _classified_row(method: str, layer: str, task: str, f1: Floats, accuracy: Floats, drawn: Floats) -> dict[str, Any]:
    """Means over runs, (runs,) each, with the deviation over runs and the interval of macro-F1."""
    low, high = percentiles(drawn)
    return {
        "method": method, "layer": layer if method == AVERAGE else "", "task": task,
        "f1": float(f1.mean()), "f1_low": low, "f1_high": high, "f1_deviation": deviation(f1),
        "accuracy": float(accuracy.mean()), "accuracy_deviation": deviation(accuracy), "runs": len(f1),
    }  # fmt: skip


def asked_for(part: str, distilling: Distilling) -> dict[str, Any]:
    """Everything that decides a part's numbers: one that was kept for the same is not made again."""
    wanted = distilling.wanted
    sets = {**wanted.sets.told, **wanted.sets.other}
    own: dict[str, list[Any]] = {
        "similarity": [],
        "size": [wanted.caps.sizes],
        "contexts": [wanted.caps.sentences],
        "classify": [list(wanted.classify), wanted.caps.train, wanted.caps.starts],
    }
    return {
        "model": distilling.last_layer.fingerprint,
        "text": distilling.corpus.fingerprint,
        "encoder": dict(wanted.encoder),
        "preset": wanted.preset,
        "min_count": distilling.min_count,
        "training": asdict(distilling.training()),
        "baselines": asdict(distilling.baseline_settings()),
        "sets": {name: len(pairs) for name, pairs in sets.items()},
        "seed": wanted.seed,
        "part": own[part],
    }


def file_part(vectors: StaticVectors, wanted: Wanted) -> Part:
    """The scores of a file of vectors, on the pairs that it knows."""
    sets = wanted.sets.told
    lowered = _lower_cased(vectors)
    board = scoreboard({("file", ""): cosines_of(lowered, sets)}, sets, seed=wanted.seed)
    return Part({"scores": columns_of(score_rows(board, {})), "differences": {}}, {"vocabulary": len(vectors)})


def _lower_cased(vectors: StaticVectors) -> Any:
    """Words by their lower case, as MUSE reads them: of words that then are alike the first."""
    place: dict[str, int] = {}
    for row, word in enumerate(vectors.words):
        place.setdefault(word.lower(), row)
    return {word: vectors.matrix[row] for word, row in place.items()}
