"""The work of a distilling run: words chosen, one pass for all methods, what is missing filled in."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator
from limbeck.corpus.sample import LICENCE, SAMPLE
from limbeck.distill.distilled import CORPUS, Distilled
from limbeck.distill.fallback import unseen_vectors
from limbeck.distill.finishing import check_finite, finish
from limbeck.distill.methods import METHODS, Shape, Trained, in_order, own_settings, start_of
from limbeck.distill.rows import Rows
from limbeck.distill.settings import DistillSettings
from limbeck.distill.wordlist import WordList, choose_words, tells_case, unread
from limbeck.encoders.miniatures import is_miniature, miniature_folder
from limbeck.encoders.protocol import Encoder
from limbeck.errors import LimbeckError, UsageError
from limbeck.run.frequencies import EVERY_WORD
from limbeck.run.measure import versions
from limbeck.seeds import hash_text
from limbeck.stream import Choice, Passed, Plan, Source, run_pass, survey
from limbeck.stream.checkpoint import Checkpoint
from limbeck.stream.run import identity_of
from limbeck.stream.workers import Workers
from limbeck.vectors import StaticVectors

EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=EVERY_WORD)
ORIGIN_OF = {"word": "alone", "frame": "frame", "frames": "frame"}  #: methods that never look at the text
METHOD_OF = {"alone": "word", "frame": "frame"}  #: the method that gives what --unseen asks for
NO_VECTOR = "no vector for the word"
COMPANY = 1000  #: words, the text's own if need be, that a method which compares words is given


@dataclass(frozen=True)
class Subject:
    """What is distilled.

    source   a text read by the teacher, or kept vectors; None where words are read alone
    encoder  the teacher; None for kept vectors
    only     the words that are to have vectors; None: those of the text
    also     words beside those of the text
    """

    source: Source | None
    encoder: Encoder | None
    only: tuple[str, ...] | None = None
    also: tuple[str, ...] = ()
    model: str = ""  # as it was named

    def named(self) -> dict[str, int | None]:
        """The words that were named, by their hash: a list of many would fill a record."""
        only = None if self.only is None else hash_text("\x1f".join(self.only))
        return {"words": only, "added words": hash_text("\x1f".join(self.also)) if self.also else None}

    @property
    def layers(self) -> tuple[str, ...]:
        of = self.source or self.encoder
        assert of is not None
        return of.layers

    @property
    def dim(self) -> int:
        of = self.source or self.encoder
        assert of is not None
        return of.dim

    @property
    def name(self) -> str:
        of = self.source or self.encoder
        assert of is not None
        return of.name


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

    def plan_words(self) -> Plan | None:
        """Read through the text once, without the teacher, and choose the words."""
        subject, settings = self.subject, self.settings
        if subject.source is None:
            self.listed = unread(subject.only or ())
            return None
        fold = settings.case == "lower" or (
            settings.case == "auto" and subject.encoder is not None and not tells_case(subject.encoder)
        )
        saved = None
        if self.state is not None:
            told: dict[str, Any] = {**subject.named(), "case": fold}
            told |= {"least count": settings.min_count, "most words": settings.max_words}
            told["methods that compare words"] = [name for name in in_order(settings) if METHODS[name].compose]
            saved = Checkpoint(self.state / "plan", identity_of(subject.source, told, deduplicate=settings.deduplicate))
        known = saved.load_plan() if saved else None
        whole = known or survey(subject.source, choice=EVERYTHING, deduplicate=settings.deduplicate, **self.how)
        # choosing among the words that were chosen before gives them again
        company = COMPANY if any(METHODS[name].compose for name in in_order(settings)) else 0
        plan, self.listed = choose_words(
            whole, settings, fold=fold, only=subject.only, also=subject.also, company=company
        )
        if saved and known is None:
            saved.save_plan(plan)
        if not self.listed.shown:
            raise LimbeckError(
                f"at least one word must occur {settings.min_count} times; of {plan.types:,} words in {plan.texts:,} "
                "texts none does: lower --min-count or give more text."
            )
        self.plan = plan
        return plan

    def make(self, name: str) -> None:
        """The vectors of a method, of every word of the list."""
        method, subject = METHODS[name], self.subject
        if method.alone is not None:
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
            parts = {part: self.rows[part][-1] for part in method.parts}
            self.rows[name] = [method.compose(parts, self.counts, own_settings(name, self.settings))]

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
        assert self.plan is not None
        assert self.subject.source is not None
        shape = Shape(len(self.subject.layers), self.subject.dim)
        made: dict[str, list[Accumulator]] = {}
        for name in in_order(self.settings):
            if (ask := METHODS[name].accumulators) is not None:
                made[name] = ask(self.plan, shape, self.settings)
        told: dict[str, Any] = {"methods": list(made), "vocabulary": self.plan.fingerprint}
        told |= {"over contexts": self.settings.over_contexts, "max contexts": self.settings.max_contexts}
        checkpoint = None if self.state is None else self.state / "pass"
        if checkpoint is not None:
            checkpoint.mkdir(parents=True, exist_ok=True)  # the plan is kept elsewhere
        self.passed = run_pass(
            self.subject.source,
            [accumulator for some in made.values() for accumulator in some],
            plan=self.plan,
            checkpoint=checkpoint,
            settings=told,
            seed=self.settings.seed,
            deduplicate=self.settings.deduplicate,
            **self.how,
        )
        filled = iter(self.passed.accumulators)  # restored ones where a run goes on
        return {name: [next(filled) for _ in some] for name, some in made.items()}

    def train(self, name: str) -> Rows:
        method = METHODS[name]
        assert self.plan is not None
        assert self.subject.source is not None
        assert method.train is not None
        start = None
        if first := start_of(name, self.settings):
            before = self.rows[first][-1]
            start = np.where(before.found[:, None], before.matrix, 0.0)[self.listed.first_of_row]
        self.trained[name] = method.train(
            self.subject.source,
            self.plan,
            own_settings(name, self.settings),
            checkpoint=None if self.state is None else self.state / name,
            start=start,
            **self.how,
        )
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
        settings = self.settings
        shown = self.listed.shown
        words, counts = self.listed.words[:shown], self.counts[:shown]
        origins = np.full(shown, ORIGIN_OF.get(name, CORPUS), dtype=object)
        if METHODS[name].compose is not None:
            origins[counts == 0] = "frames"
        matrix, found = rows.matrix[:shown], rows.found[:shown].copy()
        stand_in = getattr(self.trained.get(name), "unseen", None)  # a baseline's own, by its n-grams
        if stand_in is not None and not found.all() and settings.unseen != "drop":
            missing = np.flatnonzero(~found)
            made = Rows.of(stand_in([words[row] for row in missing.tolist()]))
            at = missing[made.found]
            matrix = matrix.copy()
            matrix[at] = made.matrix[made.found]
            origins[at] = "ngrams"
            found[at] = True
        alike = name not in ORIGIN_OF and not METHODS[name].untaught
        if not found.all() and settings.unseen != "drop" and alike:
            other = self.unseen(np.append(~found, np.zeros(len(self.listed.words) - shown, dtype=bool)), layer)
            other = Rows(other.matrix[:shown], other.found[:shown])
            taken = ~found & other.found
            if other.matrix.shape[1] != matrix.shape[1]:
                raise UsageError(
                    f"vectors of {name} have {matrix.shape[1]} dimensions and those of --unseen {settings.unseen} "
                    f"{other.matrix.shape[1]}: choose --unseen drop."
                )
            matrix = np.where(taken[:, None], other.matrix, matrix)
            origins[taken] = settings.unseen
            found |= taken
        left_out = {NO_VECTOR: int((~found).sum())} if not found.all() else {}
        if not found.any():
            raise LimbeckError(f"at least one word must have a vector, none of {len(words):,} has: check --words.")
        if not found.all():
            words = [words[row] for row in np.flatnonzero(found).tolist()]
            matrix, counts, origins = matrix[found], counts[found], origins[found]
        told = describe(self.subject)
        matrix, steps = finish(
            matrix,
            seen=origins == CORPUS,
            counts=counts,
            total=self.plan.units if self.plan is not None else 0,
            settings=settings,
            layer=layer,
            model=told["teacher"]["name"],
            model_fingerprint=told["teacher"]["fingerprint"],
        )
        check_finite(matrix, words)
        about = {
            "command": "distill",
            "method": name,
            "method_summary": METHODS[name].summary,
            "untaught": METHODS[name].untaught,
            "layer": layer,
            "dim": int(matrix.shape[1]),
            **told,
            "settings": settings.as_dict(),
            "method_settings": plainly(own_settings(name, settings)),
            "counts": self.account(name),
            "origins": {origin: int((origins == origin).sum()) for origin in sorted(set(origins))},
            "left_out": left_out,
            "finishing": steps,
            "versions": versions(),
            "written": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        }
        if name in self.trained:
            about["training"] = {**self.trained[name].about, "losses": list(self.trained[name].losses)}
        vectors = StaticVectors(words, matrix, counts=counts, origins=origins.tolist())
        return Distilled(vectors, name, layer, counts, origins.tolist(), about)

    def unseen(self, missing: NDArray[np.bool_], layer: str) -> Rows:
        """Vectors of the words that are missing, read without the text; rows of other words mean nothing."""
        kind = self.settings.unseen
        method = METHOD_OF.get(kind)
        number = self.subject.layers.index(layer)
        if method in self.rows:
            return self.rows[method][number]
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


def describe(subject: Subject) -> dict[str, Any]:
    """Teacher and text, for the card and run.json."""
    if subject.source is not None:
        told: Mapping[str, Any] = subject.source.describe()
    else:
        assert subject.encoder is not None
        settings = subject.encoder.describe() if hasattr(subject.encoder, "describe") else {}
        told = {
            "encoder_fingerprint": subject.encoder.fingerprint,
            "model_fingerprint": getattr(subject.encoder, "model_fingerprint", None),
            "encoder_settings": settings,
        }
    teacher = {
        "name": subject.name,
        "fingerprint": told.get("model_fingerprint") or told.get("encoder_fingerprint"),
        "settings": told.get("encoder_settings") or {},
        "licence": licence_of(subject.model),
    }
    text = told.get("corpus")
    if "vectors" in told:
        kept = told.get("kept_from") or {}
        text = kept.get("corpus") or {"vectors": told["vectors"]}
    licence = LICENCE if isinstance(text, Mapping) and text.get("paths") == [SAMPLE] else None
    return {"teacher": teacher, "text": text, "text_unit": told.get("text_unit"), "text_licence": licence}


def licence_of(model: str) -> str | None:
    """What a local model's card says of its licence; None where nobody says."""
    if not model:
        return None
    folder = miniature_folder(model) if is_miniature(model) else Path(model).expanduser()
    try:
        text = (folder / "README.md").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    found = re.search(r"^licen[cs]e:[ \t]*(\S.*)$", text, re.MULTILINE)
    return found.group(1).strip() if found else None


def needs(subject: Subject, plan: Plan, settings: DistillSettings) -> tuple[int, int, int]:
    """Bytes of memory beside the model, of disk while the run goes on, and of disk for what it leaves.

    Methods that train say for themselves what they take.
    """
    words, layers, dim = len(plan.vocabulary), len(subject.layers), subject.dim
    listed = len(subject.only or plan.vocabulary.words) + len(subject.also)
    table = layers * listed * dim
    memory = state = disk = 0
    width = {"float32": 4, "float16": 2, "int8": 1}[settings.keep]
    for name in in_order(settings):
        if name == "average":
            held = layers * words * dim * (8 if settings.over_contexts == "mean" else 4)
        elif name == "principal":
            held = layers * dim * 4 * int(np.minimum(plan.vocabulary.counts, settings.max_contexts).sum())
        else:
            held = table * 4
        memory += held + table * 8
        state += held
        disk += (table if name in settings.methods else 0) * width // (1 if not METHODS[name].one_layer else layers)
    return memory, state, disk
