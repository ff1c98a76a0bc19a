"""The work of a distilling run: words chosen, one pass for all methods, what is missing filled in."""

from __future__ import annotations

import warnings
from dataclasses import asdict, is_dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator
from limbeck.distillation.best import FEW
from limbeck.distillation.card import number_of
from limbeck.distillation.distilled import CORPUS, DistilledVectors
from limbeck.distillation.finishing import check_finite, finish
from limbeck.distillation.lacking import lacking, lacking_told
from limbeck.distillation.methods import (
    METHODS,
    Shape,
    Trained,
    in_order,
    own_settings,
    parts_of,
    start_of,
    templates_of,
)
from limbeck.distillation.neighbours import pull_of
from limbeck.distillation.pieces import split_words
from limbeck.distillation.rows import Known, Rows
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import WordList, unread
from limbeck.encoders.protocol import Encoder
from limbeck.errors import Advice, LimbeckError, UsageError
from limbeck.runs.distilling.completing import Completing
from limbeck.runs.distilling.subject import Subject, describe, templates_warning
from limbeck.runs.distilling.together import call_others
from limbeck.runs.distilling.words import Chosen, choose, learning_from_words, made_to_begin_from, made_to_show
from limbeck.runs.repairing.frequencies import EVERY_WORD
from limbeck.stream import Choice, Passed, Plan, run_pass, survey
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.context import RunContext
from limbeck.stream.run import identity_of
from limbeck.tables import columns_of

EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=EVERY_WORD)
WORSE = 1.2  #: a loss that ends so many times as high as it began is worth a word
NOT_CENTERED = f"frames of fewer than {FEW} words are not centered, since nobody knows what these share with others."
CASE_UNKNOWN = "kept vectors do not say whether their teacher tells Tea and tea apart: two words, unless --case lower."


class Distillation:
    """One run: what is known already, and what is made of it."""

    def __init__(self, subject: Subject, settings: DistillSettings, context: RunContext | None = None) -> None:
        context = context or RunContext()
        self.subject, self.settings, self.state = subject, settings, context.checkpoint
        self.context = context
        self.plan: Plan | None = None
        self.listed: WordList = unread(())
        self._chosen: Chosen | None = None
        self.passed: Passed | None = None
        self._filled: dict[str, list[Accumulator]] | None = None
        self.rows: dict[str, list[Rows]] = {}  # of methods that were made, a layer after the other
        self._begun: dict[str, list[Rows]] = {}  # the same of words that a training begins from, if these are others
        self.trained: dict[str, Trained] = {}
        self.cut_up = 0  # words that are shown and that the tokenizer cuts up, if a method asked for that
        self.completing = Completing(self)
        self.notes = list(subject.notes)
        if told := templates_warning(subject, settings):
            warnings.warn(Advice(told), stacklevel=2)
            self.notes.append(told)

    def plan_words(self, surveyed: Plan | None = None) -> Plan | None:
        """Read through the text once, without the teacher, and choose the words; `surveyed`: that was done already."""
        subject, settings = self.subject, self.settings
        if subject.source is None:
            self.listed = unread(subject.only or ())
            return None
        fold = settings.case == "lower" or (settings.case == "auto" and subject.tells_case is False)
        if settings.case == "auto" and subject.tells_case is None:
            self.notes.append(CASE_UNKNOWN)
        saved = None
        if self.state is not None:
            needed = in_order(settings)
            told: dict[str, Any] = {**subject.named(), "case": fold}
            told |= {"least count": settings.min_count, "most words": settings.max_words}
            told["methods that compare words"] = [name for name in needed if METHODS[name].compose]
            told["methods that learn from words"] = learning_from_words(subject, settings)
            if subject.only is not None:  # these follow the text's own words beside
                told["methods that train"] = [name for name in needed if METHODS[name].train] or None
            saved = Checkpoint(self.state / "plan", identity_of(subject.source, told, deduplicate=settings.deduplicate))
        known = saved.load_plan() if saved else None
        whole = known or surveyed
        if whole is None:
            whole = survey(subject.source, choice=EVERYTHING, deduplicate=settings.deduplicate, context=self.context)
        # choosing among the words that were chosen before gives them again
        chosen = choose(whole, subject, settings, fold=fold)
        plan, self.listed = chosen.plan, chosen.listed
        # before the plan is kept: with the settings that help instead, nobody could go on with it
        if not self.listed.shown or (chosen.training is not None and not len(chosen.training.vocabulary)):
            raise LimbeckError(
                f"at least one word must occur {settings.min_count} times; of {plan.types:,} words in {plan.texts:,} "
                "texts none does: lower --min-count or give more text.",
                code="no_words",
                parameter="min_count",
            )
        if lacking := self.without_words():
            raise LimbeckError(
                f"at least one word must be in the text for {', '.join(lacking)}; of {self.listed.shown:,} none is: "
                "check --words and --case.",
                code="no_words",
                parameter="words",
            )
        self.check_unseen()
        if saved and known is None:
            saved.save_plan(plan)
        self.plan, self._chosen = plan, chosen
        return plan

    @property
    def chosen(self) -> Chosen:
        assert self._chosen is not None
        return self._chosen

    def check_unseen(self) -> None:
        """Refuse words that only a teacher could say something of, where there is none."""
        unseen = [self.listed.words[row] for row in np.flatnonzero(self.listed.rows[: self.listed.shown] < 0).tolist()]
        asking = any(not METHODS[name].untaught for name in self.settings.methods)
        if self.subject.encoder is None and self.settings.unseen != "drop" and unseen and asking:
            raise UsageError(
                f"--unseen={self.settings.unseen} reads words with the teacher, which cached vectors do not have, and "
                f"their text lacks {number_of(len(unseen))}, such as {unseen[0]!r}: --unseen=drop omits these.",
                code="no_teacher",
                parameter="unseen",
            )

    def lists(self, name: str) -> list[WordList]:
        """The lists of words that a method makes vectors of, of those that this run is about."""
        if self._chosen is None or self._chosen.begin is self.listed:
            return [self.listed]
        found = [self.listed] if name in made_to_show(self.settings) else []
        return [*found, self._chosen.begin] if name in made_to_begin_from(self.settings) else found

    def without_words(self) -> list[str]:
        """The methods that would have no vector at all, since the text has none of the words that are asked for."""
        if (self.listed.rows[: self.listed.shown] >= 0).any():
            return []
        lacking = []
        for name in self.settings.methods:
            made_of = parts_of(name, self.settings) or (name,)
            reads = any(METHODS[part].alone is None for part in made_of)
            none = METHODS[name].untaught and not METHODS[name].ngrams  # whatever --unseen says
            if reads and (self.settings.unseen == "drop" or none):
                lacking.append(name)
        return lacking

    def make(self, name: str) -> None:
        """The vectors of a method, of every word of the list; those that it needs are made first."""
        self.vectors(name, self.listed)

    def vectors(self, name: str, words: WordList) -> list[Rows]:
        """The vectors of a method at every layer, of the words of a list; made when they are first asked for."""
        made = self.rows if words is self.listed else self._begun
        if name not in made:
            made[name] = self._vectors(name, words)
        return made[name]

    def _vectors(self, name: str, words: WordList) -> list[Rows]:
        method, subject = METHODS[name], self.subject
        if method.alone is not None:
            if name == "frames" and len(words.words) < FEW:
                self.notes.append(NOT_CENTERED)
            teacher = self.teacher(f"--method {name}")
            return method.alone(teacher, words.words, self.settings, self.context.inside("alone"))
        if method.finish is not None:
            filled, rows = self.filled(name), self.chosen.read.vocabulary.ids(words.words)
            numbers = range(len(subject.layers))
            return [method.finish(filled, number, self.settings).take(rows) for number in numbers]
        if method.train is not None:
            return [self.train(name, words)]
        assert method.compose is not None
        parts = {part: self.vectors(part, words)[-1] for part in parts_of(name, self.settings)}
        known = Known(words.words, self.counts_of(words), split_words(subject.encoder, words.words))
        if words is self.listed:
            self.cut_up = int(known.split[: words.shown].sum())
        device = "cpu" if subject.encoder is None else str(subject.encoder.device)
        own = own_settings(name, self.settings)
        return [method.compose(parts, known, own, device=device, progress=self.context.progress)]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Occurrences of each word of the list in the text."""
        return self.counts_of(self.listed)

    def counts_of(self, words: WordList) -> NDArray[np.int64]:
        counts = np.zeros(len(words.words), dtype=np.int64)
        if self.plan is not None:
            known = words.rows >= 0
            counts[known] = self.plan.vocabulary.counts[words.rows[known]]
        return counts

    def teacher(self, what: str) -> Encoder:
        if self.subject.encoder is None:
            raise UsageError(
                f"{what} reads words with the teacher, which cached vectors do not have: give --model and --corpus in "
                "their place, or --unseen=drop for words without a vector.",
                code="no_teacher",
                parameter="vectors",
            )
        return self.subject.encoder

    def filled(self, name: str) -> list[Accumulator]:
        """What the one pass over the text has filled for a method; the pass is made when the first asks."""
        if self._filled is None:
            self._filled = self._pass()
        return self._filled[name]

    def _pass(self) -> dict[str, list[Accumulator]]:
        """Read the text with the teacher once, for all methods that ask for that."""
        assert self.subject.source is not None
        made = self.asked()
        context = self.context.inside("pass")
        if context.checkpoint is not None:
            context.checkpoint.mkdir(parents=True, exist_ok=True)  # the plan is kept elsewhere
        self.passed = run_pass(
            self.subject.source,
            [accumulator for some in made.values() for accumulator in some],
            context=context,
            plan=self.chosen.read,
            settings=self.told(made),
            seed=self.settings.seed,
            deduplicate=self.settings.deduplicate,
            keep=False,  # vectors are made of it at once, and the state of many words takes long to write
        )
        filled = iter(self.passed.accumulators)  # restored ones where a run goes on
        return {name: [next(filled) for _ in some] for name, some in made.items()}

    def asked(self) -> dict[str, list[Accumulator]]:
        """What the pass over the text is to fill, by method."""
        shape = Shape(len(self.subject.layers), self.subject.dim)
        made: dict[str, list[Accumulator]] = {}
        for name in in_order(self.settings):
            if (ask := METHODS[name].accumulators) is not None:
                made[name] = ask(self.chosen.read, shape, self.settings)
        return made

    def told(self, made: dict[str, list[Accumulator]]) -> dict[str, Any]:
        """What the pass depends on beside source and seed."""
        told: dict[str, Any] = {"methods": list(made), "vocabulary": self.chosen.read.fingerprint}
        return told | {"over contexts": self.settings.over_contexts, "max contexts": self.settings.max_contexts}

    def train(self, name: str, words: WordList) -> Rows:
        """What a method that trains has of some words. It is trained once, on words that no list decides."""
        plan = self.chosen.training
        assert plan is not None
        if name not in self.trained:
            self.trained[name] = self._trained(name, plan)
            self.notes += worsened(name, self.trained[name])
        return Rows.of(self.trained[name].matrix).take(plan.vocabulary.ids(words.words))

    def _trained(self, name: str, plan: Plan) -> Trained:
        train = METHODS[name].train
        assert self.subject.source is not None
        assert train is not None
        start = None
        if first := start_of(name, self.settings):
            begin = self.chosen.begin
            before = self.vectors(first, begin)[-1]
            start = np.where(before.found[:, None], before.matrix, 0.0)[begin.first_of(plan.vocabulary)]
        context, workers = self.context.inside(name), self.context.workers
        if METHODS[name].together:
            call_others(name, plan, context.checkpoint, start)
        if workers.engine != "local":
            context = replace(context, workers=workers.local)
            self.notes.append(f"{name} was trained on one machine; --engine {workers.engine} did the rest.")
        trained = train(self.subject.source, plan, own_settings(name, self.settings), context, start=start)
        wanted = len(plan.vocabulary)
        if len(trained.matrix) != wanted:
            raise ValueError(f"{name} must give a row for each of {wanted} words, got {trained.matrix.shape}")
        return trained

    def layer_of(self, name: str, place: int) -> str:
        """The layer of a method's vectors at a place; a method of one layer has the last, or what it was trained on."""
        if not METHODS[name].one_layer:
            return self.subject.layers[place]
        trained = self.trained[name].about.get("layer") if name in self.trained else None
        return str(trained) if trained in self.subject.layers else self.subject.layers[-1]

    def finished(self, name: str, layer: str, rows: Rows, **facts: Any) -> DistilledVectors:
        """The result: words without a vector get one from elsewhere or are omitted; then what comes last is done.

        `facts` are put into its record.
        """
        shown, teacher = self.listed.shown, describe(self.subject)["teacher"]
        done = self.completing.completed(name, layer, rows)
        kept = np.flatnonzero(done.rows.found)
        missing = np.flatnonzero(~done.rows.found)
        without = lacking([self.listed.words[row] for row in missing.tolist()], self.completing.unknown(name, missing))
        if not len(kept):
            raise LimbeckError(
                f"at least one word must have a vector, none of {shown:,} has{lacking_told(without)}: check --words.",
                code="no_vectors",
                parameter="words",
            )
        words = [self.listed.words[row] for row in kept.tolist()]
        counts, origins = self.counts[kept], done.origins[kept]
        matrix, steps = finish(
            done.rows.matrix[kept],
            seen=origins == CORPUS,
            counts=counts,
            total=self.plan.units if self.plan is not None else 0,
            settings=self.settings,
            layer=layer,
            model=teacher["name"],
            model_fingerprint=teacher["fingerprint"],
        )
        check_finite(matrix, words)
        trained = self.trained.get(name)
        facts = self.facts(name, layer) | {
            "dim": int(matrix.shape[1]),
            "dtype": self.settings.keep,
            "origins": {origin: int((origins == origin).sum()) for origin in sorted(set(origins))},
            **without,
            "finishing": [*done.steps, *steps],
            **facts,
        }
        return DistilledVectors(
            words,
            matrix,
            record=facts,
            losses=None if trained is None else columns_of(trained.losses),
            counts=counts,
            origins=origins.tolist(),
            total=None if self.plan is None else self.plan.units,
        )

    def facts(self, name: str, layer: str) -> dict[str, Any]:
        """What the card and run.json say of a method's vectors, whatever these are."""
        duplicates = {"deduplicate": self.settings.deduplicate}
        facts = {
            "method": name,
            "method_summary": METHODS[name].summary,
            "untaught": METHODS[name].untaught,
            "layer": layer,
            **describe(self.subject),
            "settings": self.settings.as_dict() | {"template": templates_of(name, self.settings), **duplicates},
            "method_settings": plainly(own_settings(name, self.settings)),
            "counts": self.account(name),
            "notes": list(self.notes),
        }
        if name in self.trained:
            trained = self.trained[name]
            facts["training"] = {"words": len(trained.matrix), **trained.about}
        if METHODS[name].compose is not None:
            facts["cut_up"] = self.cut_up
        if weight := facts["method_settings"].get("neighbours"):
            words = int(self.rows[name][-1].found.sum())
            facts["neighbours_pull"] = pull_of(weight, words) if words > 1 else 0.0  # one word has no neighbour
        return facts

    def account(self, name: str) -> dict[str, Any]:
        """How much there was to read for a method, and what of it had no vector."""
        if self.plan is None:
            return {"words": 0, "listed": len(self.listed.words)}
        plan = self.plan
        read = self.passed.dropped if self.passed is not None else {}
        if name in self.trained:  # by a reading of its own
            read = self.trained[name].about.get("dropped", {})
        return {
            "words": plan.units,
            "distinct_words": plan.types,
            "texts": plan.texts,
            "sentences": plan.sentences,
            "documents": plan.documents,
            "listed": self.listed.shown,
            "in_the_text": int((self.listed.rows[: self.listed.shown] >= 0).sum()),
            "dropped": {**plan.dropped, **read},
        }


def plainly(settings: Any) -> dict[str, Any]:
    """Settings of a method's own by name; of a function that took them as they came, none are known."""
    return asdict(settings) if is_dataclass(settings) and not isinstance(settings, type) else {}


def worsened(name: str, trained: Trained) -> list[str]:
    """A note where the loss of a training ended well above where it began."""
    losses = [row["loss"] for row in trained.losses if "loss" in row]
    if not losses or losses[-1] <= WORSE * losses[0]:
        return []
    began, ended = f"{losses[0]:.3g}", f"{losses[-1]:.3g}"
    return [f"the loss of {name} began at {began} and ended at {ended}: lower --set {name}.learning_rate."]
