"""The work of a distilling run: words chosen, one pass for all methods, what is missing filled in."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator
from limbeck.distill.best import FEW
from limbeck.distill.distilled import CORPUS, Distilled
from limbeck.distill.fallback import METHOD_OF, unseen_vectors
from limbeck.distill.finishing import check_finite, finish
from limbeck.distill.lacking import lacking, lacking_told, unknown_words
from limbeck.distill.methods import (
    METHODS,
    Shape,
    Trained,
    in_order,
    own_settings,
    parts_of,
    predicts,
    start_of,
    templates_of,
)
from limbeck.distill.neighbours import pull_of
from limbeck.distill.predicting import FITTED, LEAST, Ridge
from limbeck.distill.rows import Rows
from limbeck.distill.settings import DistillSettings
from limbeck.distill.wordlist import WordList, choose_words, unread
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError, UsageError
from limbeck.run.distill_subject import Subject, describe
from limbeck.run.distill_together import call_others
from limbeck.run.frequencies import EVERY_WORD
from limbeck.run.measure import versions
from limbeck.stream import Choice, Passed, Plan, run_pass, survey
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.run import identity_of
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=EVERY_WORD)
ORIGIN_OF = {"word": "alone"}  #: of methods that never look at the text; of others of these it is the method's name
COMPANY = 1000  #: words, the text's own if need be, that a method which compares words is given
WORSE = 1.2  #: a loss that ends so many times as high as it began is worth a word
NOT_CENTERED = f"frames of fewer than {FEW} words are not centered, since nobody knows what these share with others."
CASE_UNKNOWN = "kept vectors do not say whether their teacher tells Tea and tea apart: two words, unless --case lower."


@dataclass(frozen=True)
class Completed:
    """A method's vectors with those from elsewhere: one row for each word that is to be shown.

    origins  (words,) how each came about
    steps    what was done to bring others among them, for the record
    """

    rows: Rows
    origins: NDArray[np.object_]
    steps: list[dict[str, Any]]


class Distillation:
    """One run: what is known already, and what is made of it."""

    def __init__(
        self, subject: Subject, settings: DistillSettings, state: Path | None, workers: Workers, progress: bool
    ) -> None:
        self.subject, self.settings, self.state = subject, settings, state
        self.how: dict[str, Any] = {"workers": workers, "progress": progress}
        self.plan: Plan | None = None
        self.listed: WordList = unread(())
        self.passed: Passed | None = None
        self._filled: dict[str, list[Accumulator]] | None = None
        self.rows: dict[str, list[Rows]] = {}  # of every method, a layer after the other
        self.trained: dict[str, Trained] = {}
        self._unseen: list[Rows] | None = None
        self._missing = np.zeros(0, dtype=bool)  # words that _unseen has vectors of
        self.notes = list(subject.notes)

    def plan_words(self, surveyed: Plan | None = None) -> Plan | None:
        """Read through the text once, without the teacher, and choose the words; `surveyed`: that was done already."""
        subject, settings = self.subject, self.settings
        if subject.source is None:
            self.listed = unread(subject.only or ())
            return None
        fold = settings.case == "lower" or (settings.case == "auto" and subject.tells_case is False)
        if settings.case == "auto" and subject.tells_case is None:
            self.notes.append(CASE_UNKNOWN)
        needed = in_order(settings)
        # a method that compares words is given enough of them for that, and reads each of them often
        alone = [name for name in settings.methods if not METHODS[name].compose]
        predicted = [name for name in alone if predicts(name, settings)] if subject.encoder is not None else []
        saved = None
        if self.state is not None:
            told: dict[str, Any] = {**subject.named(), "case": fold}
            told |= {"least count": settings.min_count, "most words": settings.max_words}
            told["methods that compare words"] = [name for name in needed if METHODS[name].compose]
            told["methods that learn from words"] = predicted
            saved = Checkpoint(self.state / "plan", identity_of(subject.source, told, deduplicate=settings.deduplicate))
        known = saved.load_plan() if saved else None
        whole = known or surveyed
        whole = whole or survey(subject.source, choice=EVERYTHING, deduplicate=settings.deduplicate, **self.how)
        # choosing among the words that were chosen before gives them again
        plan, self.listed = choose_words(
            whole,
            settings,
            fold=fold,
            only=subject.only,
            also=subject.also,
            company=COMPANY if any(METHODS[name].compose for name in needed) else 0,
            to_fit_on=FITTED if predicted else 0,
        )
        # before the plan is kept: with the settings that help instead, nobody could go on with it
        if not self.listed.shown:
            raise LimbeckError(
                f"at least one word must occur {settings.min_count} times; of {plan.types:,} words in {plan.texts:,} "
                "texts none does: lower --min-count or give more text."
            )
        if lacking := self.without_words(plan):
            raise LimbeckError(
                f"at least one word must be in the text for {', '.join(lacking)}; of {self.listed.shown:,} none is: "
                "check --words and --case."
            )
        if saved and known is None:
            saved.save_plan(plan)
        self.plan = plan
        return plan

    def without_words(self, plan: Plan) -> list[str]:
        """The methods that would have no vector at all, since the text has none of the words that are asked for."""
        if (self.listed.rows[: self.listed.shown] >= 0).any():
            return []
        lacking = []
        for name in self.settings.methods:
            made_of = parts_of(name, self.settings) or (name,)
            reads = any(METHODS[part].alone is None for part in made_of)
            untrained = METHODS[name].untaught and not len(plan.vocabulary)
            if reads and (self.settings.unseen == "drop" or untrained):
                lacking.append(name)
        return lacking

    def make(self, name: str) -> None:
        """The vectors of a method, of every word of the list."""
        method, subject = METHODS[name], self.subject
        if method.alone is not None:
            if name == "frames" and len(self.listed.words) < FEW:
                self.notes.append(NOT_CENTERED)
            state = None if self.state is None else self.state / "alone"
            self.rows[name] = method.alone(
                self.teacher(f"--method {name}"), self.listed.words, self.settings, state=state, **self.how
            )
        elif method.finish is not None:
            filled = self.filled(name)
            numbers = range(len(subject.layers))
            self.rows[name] = [
                method.finish(filled, number, self.settings).take(self.listed.rows) for number in numbers
            ]
        elif method.train is not None:
            self.rows[name] = [self.train(name)]
        elif method.compose is not None:
            parts = {part: self.rows[part][-1] for part in parts_of(name, self.settings)}
            own = own_settings(name, self.settings)
            made = method.compose(parts, self.counts, own)
            if method.improve is not None:
                device = str(getattr(subject.encoder, "device", "cpu"))
                made = method.improve(made, self.counts, own, device=device, progress=self.how["progress"])
            self.rows[name] = [made]

    @property
    def counts(self) -> NDArray[np.int64]:
        """Occurrences of each word of the list in the text."""
        counts = np.zeros(len(self.listed.words), dtype=np.int64)
        if self.plan is not None:
            known = self.listed.rows >= 0
            counts[known] = self.plan.vocabulary.counts[self.listed.rows[known]]
        return counts

    def teacher(self, what: str) -> Encoder:
        if self.subject.encoder is None:
            raise UsageError(f"{what} reads words with the teacher, which kept vectors do not have: give --model.")
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
        checkpoint = None if self.state is None else self.state / "pass"
        if checkpoint is not None:
            checkpoint.mkdir(parents=True, exist_ok=True)  # the plan is kept elsewhere
        self.passed = run_pass(
            self.subject.source,
            [accumulator for some in made.values() for accumulator in some],
            plan=self.plan,
            checkpoint=checkpoint,
            settings=self.told(made),
            seed=self.settings.seed,
            deduplicate=self.settings.deduplicate,
            keep=False,  # vectors are made of it at once, and the state of many words takes long to write
            **self.how,
        )
        filled = iter(self.passed.accumulators)  # restored ones where a run goes on
        return {name: [next(filled) for _ in some] for name, some in made.items()}

    def asked(self) -> dict[str, list[Accumulator]]:
        """What the pass over the text is to fill, by method."""
        assert self.plan is not None
        shape = Shape(len(self.subject.layers), self.subject.dim)
        made: dict[str, list[Accumulator]] = {}
        for name in in_order(self.settings):
            if (ask := METHODS[name].accumulators) is not None:
                made[name] = ask(self.plan, shape, self.settings)
        return made

    def told(self, made: dict[str, list[Accumulator]]) -> dict[str, Any]:
        """What the pass depends on beside source and seed."""
        assert self.plan is not None
        told: dict[str, Any] = {"methods": list(made), "vocabulary": self.plan.fingerprint}
        return told | {"over contexts": self.settings.over_contexts, "max contexts": self.settings.max_contexts}

    def train(self, name: str) -> Rows:
        method = METHODS[name]
        assert self.plan is not None
        assert self.subject.source is not None
        assert method.train is not None
        start = None
        if first := start_of(name, self.settings):
            before = self.rows[first][-1]
            start = np.where(before.found[:, None], before.matrix, 0.0)[self.listed.first_of_row]
        checkpoint = None if self.state is None else self.state / name
        if method.together:
            call_others(name, self.plan, checkpoint, start)
        how = dict(self.how)
        if how["workers"].engine != "local":
            how["workers"] = how["workers"].local
            self.notes.append(f"{name} was trained on one machine; --engine {self.how['workers'].engine} did the rest.")
        self.trained[name] = method.train(
            self.subject.source,
            self.plan,
            own_settings(name, self.settings),
            checkpoint=checkpoint,
            start=start,
            **how,
        )
        self.notes += worsened(name, self.trained[name])
        matrix = self.trained[name].matrix
        wanted = len(self.plan.vocabulary)
        if len(matrix) != wanted:
            raise ValueError(f"{name} must give a row for each of {wanted} words, got {matrix.shape}")
        return Rows.of(matrix).take(self.listed.rows)

    def layer_of(self, name: str, place: int) -> str:
        """The layer of a method's vectors at a place; a method of one layer has the last, or what it was trained on."""
        if not METHODS[name].one_layer:
            return self.subject.layers[place]
        trained = self.trained[name].about.get("layer") if name in self.trained else None
        return str(trained) if trained in self.subject.layers else self.subject.layers[-1]

    def finished(self, name: str, layer: str, rows: Rows) -> Distilled:
        """The result: words without a vector get one from elsewhere or are left out; then what comes last is done."""
        shown, teacher = self.listed.shown, describe(self.subject)["teacher"]
        done = self.completed(name, layer, rows)
        kept = np.flatnonzero(done.rows.found)
        missing = np.flatnonzero(~done.rows.found)
        without = lacking([self.listed.words[row] for row in missing.tolist()], self.unknown(name, missing))
        if not len(kept):
            raise LimbeckError(
                f"at least one word must have a vector, none of {shown:,} has{lacking_told(without)}: check --words."
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
        about = self.about(name, layer) | {
            "dim": int(matrix.shape[1]),
            "origins": {origin: int((origins == origin).sum()) for origin in sorted(set(origins))},
            **without,
            "finishing": [*done.steps, *steps],
        }
        total = None if self.plan is None else self.plan.units
        vectors = StaticVectors(words, matrix, counts=counts, origins=origins.tolist(), total=total)
        return Distilled(vectors, name, layer, counts, origins.tolist(), about)

    def about(self, name: str, layer: str) -> dict[str, Any]:
        """What the card and run.json say of a method's vectors, whatever these are."""
        about = {
            "command": "distill",
            "method": name,
            "method_summary": METHODS[name].summary,
            "untaught": METHODS[name].untaught,
            "layer": layer,
            **describe(self.subject),
            "settings": self.settings.as_dict() | {"templates": templates_of(name, self.settings)},
            "method_settings": plainly(own_settings(name, self.settings)),
            "counts": self.account(name),
            "notes": list(self.notes),
            "versions": versions(),
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        if name in self.trained:
            about["training"] = {**self.trained[name].about, "losses": list(self.trained[name].losses)}
        if weight := about["method_settings"].get("neighbours"):
            words = int(self.rows[name][-1].found.sum())
            about["neighbours_pull"] = pull_of(weight, words) if words > 1 else 0.0  # one word has no neighbour
        return about

    def completed(self, name: str, layer: str, rows: Rows) -> Completed:
        """The vectors of the words that are shown; a word that the method has none for gets one from elsewhere."""
        method, kind = METHODS[name], self.settings.unseen
        done = self.own(name, rows)
        stand_in = getattr(self.trained.get(name), "unseen", None)  # a baseline's own, by its n-grams
        if kind == "drop" or done.rows.found.all():
            return done
        missing = np.flatnonzero(~done.rows.found)
        if stand_in is not None:
            words = [self.listed.words[row] for row in missing.tolist()]
            return with_others(done, missing, Rows.of(stand_in(words)), "ngrams")
        if method.untaught or method.alone is not None:
            return done
        missing = missing[~self.unknown(name, missing)]
        if not len(missing):
            return done
        if not predicts(name, self.settings):
            return with_others(done, missing, self.unseen(missing, layer).take(missing), kind)
        other, steps = self.predicted(missing, layer, rows, self.seen(name, rows))
        return with_others(replace(done, steps=steps), missing, other, kind)

    def unknown(self, name: str, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these words the teacher is to read without the text, and knows no piece of."""
        method = METHODS[name]
        reads = method.alone is not None or (self.settings.unseen != "drop" and not method.untaught)
        words = [self.listed.words[row] for row in numbers.tolist()]
        return unknown_words(self.subject.encoder if reads else None, words)

    def own(self, name: str, rows: Rows) -> Completed:
        """What the method itself has of the words that are shown."""
        shown, method = self.listed.shown, METHODS[name]
        origins = np.full(shown, CORPUS if method.alone is None else ORIGIN_OF.get(name, name), dtype=object)
        matrix, found = rows.matrix[:shown], rows.found[:shown]
        parts = parts_of(name, self.settings)
        alone = [ORIGIN_OF.get(part, part) for part in parts if METHODS[part].alone]
        if parts and len(alone) == len(parts):
            origins[:] = alone[0]
        elif parts:
            # of a word that the text lacks it may have one by a part that needs no text
            lacking = found & ~self.seen(name, rows)[:shown]
            origins[lacking] = alone[0] if alone else CORPUS
            if self.settings.unseen != "frame":  # something else is asked for, or nothing
                found = found & ~lacking
        return Completed(Rows(matrix, found), origins, [])

    def seen(self, name: str, rows: Rows) -> NDArray[np.bool_]:
        """Which words of the list have a vector that is made of the text, in part at least."""
        parts = parts_of(name, self.settings)
        parts_read = [self.rows[part][-1].found for part in parts if METHODS[part].alone is None]
        return rows.found & np.logical_or.reduce(parts_read) if parts_read else rows.found

    def predicted(
        self, missing: NDArray[np.int64], layer: str, rows: Rows, seen: NDArray[np.bool_]
    ) -> tuple[Rows, list[dict[str, Any]]]:
        """Vectors of missing words in a method's own space, see `limbeck.distill.predicting`; and how they were made.

        A text with next to no words to learn from leaves them without one.
        """
        known = np.flatnonzero(seen)
        known = known[np.argsort(-self.counts[known], kind="stable")][:FITTED]
        read = self.unseen(np.concatenate([missing, known]), layer)
        known = known[read.found[known]]
        other = read.take(missing)
        if len(known) < LEAST:
            return Rows(np.zeros((len(missing), rows.matrix.shape[1])), np.zeros(len(missing), dtype=bool)), []
        ridge = Ridge.fit(read.matrix[known], rows.matrix[known])
        told = {
            "step": "unseen",
            "origin": self.settings.unseen,
            "words": int(other.found.sum()),
            "fitted_on": len(known),
            "penalty": ridge.penalty,
            "explained": round(ridge.explained, 6),
        }
        return Rows(ridge.predict(other.matrix), other.found), [told]

    def unseen(self, numbers: NDArray[np.int64], layer: str) -> Rows:
        """Vectors of words of these numbers, read without the text; rows of other words mean nothing."""
        kind = self.settings.unseen
        method = METHOD_OF.get(kind)
        number = self.subject.layers.index(layer)
        if method in self.rows:
            return self.rows[method][number]
        missing = np.zeros(len(self.listed.words), dtype=bool)
        missing[numbers] = True
        # most methods lack the same words
        if self._unseen is None or (missing & ~self._missing).any():
            self._missing = missing if self._unseen is None else missing | self._missing
            some = np.flatnonzero(self._missing)
            teacher = self.teacher(f"--unseen {kind}")
            state = None if self.state is None else self.state / "alone"
            words = [self.listed.words[at] for at in some.tolist()]
            read = unseen_vectors(kind, teacher, words, self.settings, state=state, **self.how)
            place = np.full(len(missing), -1, dtype=np.int64)
            place[some] = np.arange(len(some))
            self._unseen = [rows.take(place) for rows in read]
        return self._unseen[number]

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


def with_others(done: Completed, missing: NDArray[np.int64], other: Rows, origin: str) -> Completed:
    """The same with vectors of missing words, a row for each of these."""
    at = missing[other.found]
    matrix, found, origins = done.rows.matrix.copy(), done.rows.found.copy(), done.origins.copy()
    matrix[at], found[at], origins[at] = other.matrix[other.found], True, origin
    return replace(done, rows=Rows(matrix, found), origins=origins)
