"""Words that a method has no vector for: read in the frame, by pieces, alone or by n-grams, and put into its space."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.distilled import CORPUS
from limbeck.distillation.fallback import unseen_vectors
from limbeck.distillation.methods import METHODS, parts_of, predicts
from limbeck.distillation.pieces import unknown_words
from limbeck.distillation.predicting import FITTED, LEAST, Ridge
from limbeck.distillation.rows import Rows
from limbeck.distillation.settings import METHOD_OF
from limbeck.distillation.wordlist import WordList

if TYPE_CHECKING:
    from limbeck.runs.distilling.work import Distillation

ORIGIN_OF = {"word": "alone"}  #: of methods that never look at the text; of others of these it is the method's name


@dataclass(frozen=True)
class Completed:
    """A method's vectors with those from elsewhere: one row for each word that is to be shown.

    origins  (words,) how each came about
    steps    what was done to bring others among them, for the record
    """

    rows: Rows
    origins: NDArray[np.object_]
    steps: list[dict[str, Any]]


class Completing:
    """Vectors from elsewhere for the words of a run; what was read for one method serves the others."""

    def __init__(self, work: Distillation) -> None:
        self.work = work
        self._unseen: list[Rows] | None = None
        self._missing = np.zeros(0, dtype=bool)  # words that _unseen has vectors of

    def completed(self, name: str, layer: str, rows: Rows) -> Completed:
        """The vectors of the words that are shown; a word that the method has none for gets one from elsewhere."""
        method, kind = METHODS[name], self.work.settings.unseen
        done = self.own(name, rows)
        stand_in = getattr(self.work.trained.get(name), "unseen", None)  # a baseline's own, by its n-grams
        if kind == "drop" or done.rows.found.all():
            return done
        missing = np.flatnonzero(~done.rows.found)
        if stand_in is not None:
            words = [self.work.listed.words[row] for row in missing.tolist()]
            return with_others(done, missing, Rows.of(stand_in(words)), "ngrams")
        if method.untaught or method.alone is not None:
            return done
        missing = missing[~self.unknown(name, missing)]
        if not len(missing):
            return done
        if not predicts(name, self.work.settings):
            return with_others(done, missing, self.unseen(missing, layer).take(missing), kind)
        other, steps = self.predicted(name, missing, layer, rows)
        return with_others(replace(done, steps=steps), missing, other, kind)

    def unknown(self, name: str, numbers: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these words the teacher is to read without the text, and knows no piece of."""
        method = METHODS[name]
        reads = method.alone is not None or (self.work.settings.unseen != "drop" and not method.untaught)
        words = [self.work.listed.words[row] for row in numbers.tolist()]
        return unknown_words(self.work.subject.encoder if reads else None, words)

    def own(self, name: str, rows: Rows) -> Completed:
        """What the method itself has of the words that are shown."""
        shown, method = self.work.listed.shown, METHODS[name]
        origins = np.full(shown, CORPUS if method.alone is None else ORIGIN_OF.get(name, name), dtype=object)
        matrix, found = rows.matrix[:shown], rows.found[:shown]
        parts = parts_of(name, self.work.settings)
        alone = [ORIGIN_OF.get(part, part) for part in parts if METHODS[part].alone]
        if parts and len(alone) == len(parts):
            origins[:] = alone[0]
        elif parts:
            # of a word that the text lacks it may have one by a part that needs no text
            lacking = found & ~self.seen(name, rows)[:shown]
            origins[lacking] = alone[0] if alone else CORPUS
            if self.work.settings.unseen != "frame":  # something else is asked for, or nothing
                found = found & ~lacking
        return Completed(Rows(matrix, found), origins, [])

    def seen(self, name: str, rows: Rows) -> NDArray[np.bool_]:
        """Which words of the list have a vector that is made of the text, in part at least."""
        parts = parts_of(name, self.work.settings)
        parts_read = [self.work.rows[part][-1].found for part in parts if METHODS[part].alone is None]
        return rows.found & np.logical_or.reduce(parts_read) if parts_read else rows.found

    def predicted(
        self, name: str, missing: NDArray[np.int64], layer: str, rows: Rows
    ) -> tuple[Rows, list[dict[str, Any]]]:
        """Vectors of missing words in a method's own space, see `limbeck.distillation.predicting`; and how.

        A text with next to no words to learn from leaves them without one.
        """
        words, seen = self.work.listed, self.seen(name, rows)
        if METHODS[name].train is not None:
            words = self.work.chosen.begin
            rows = self.work.train(name, words)
            seen = rows.found
        known = np.flatnonzero(seen)
        known = known[np.argsort(-self.work.counts_of(words)[known], kind="stable")][:FITTED]
        numbers = self.numbers_of(words)[known]
        read = self.unseen(np.concatenate([missing, numbers]), layer)
        other, there = read.take(missing), read.found[numbers]
        if there.sum() < LEAST:
            return Rows(np.zeros((len(missing), rows.matrix.shape[1])), np.zeros(len(missing), dtype=bool)), []
        ridge = Ridge.fit(read.matrix[numbers[there]], rows.matrix[known[there]])
        told = {
            "step": "unseen",
            "origin": self.work.settings.unseen,
            "words": int(other.found.sum()),
            "fitted_on": int(there.sum()),
            "penalty": ridge.penalty,
            "explained": round(ridge.explained, 6),
        }
        return Rows(ridge.predict(other.matrix), other.found), [told]

    @cached_property
    def words(self) -> dict[str, int]:
        """All words that could be read without the text, by number: those of the list, then those that are trained."""
        both = dict.fromkeys([*self.work.listed.words, *self.work.chosen.begin.words])
        return {word: number for number, word in enumerate(both)}

    def numbers_of(self, words: WordList) -> NDArray[np.int64]:
        return np.array([self.words[word] for word in words.words], dtype=np.int64)

    def unseen(self, numbers: NDArray[np.int64], layer: str) -> Rows:
        """Vectors of words of these numbers, read without the text; rows of other words mean nothing."""
        kind = self.work.settings.unseen
        method = METHOD_OF.get(kind)
        number = self.work.subject.layers.index(layer)
        if method in self.work.rows and (numbers < len(self.work.listed.words)).all():
            return self.work.rows[method][number]
        missing = np.zeros(len(self.words), dtype=bool)
        missing[numbers] = True
        # most methods lack the same words
        if self._unseen is None or (missing & ~self._missing).any():
            self._missing = missing if self._unseen is None else missing | self._missing
            some = np.flatnonzero(self._missing)
            teacher = self.work.teacher(f"--unseen {kind}")
            everything = list(self.words)
            words = [everything[at] for at in some.tolist()]
            read = unseen_vectors(kind, teacher, words, self.work.settings, self.work.context.inside("alone"))
            place = np.full(len(missing), -1, dtype=np.int64)
            place[some] = np.arange(len(some))
            self._unseen = [rows.take(place) for rows in read]
        return self._unseen[number]


def with_others(done: Completed, missing: NDArray[np.int64], other: Rows, origin: str) -> Completed:
    """The same with vectors of missing words, a row for each of these."""
    at = missing[other.found]
    matrix, found, origins = done.rows.matrix.copy(), done.rows.found.copy(), done.origins.copy()
    matrix[at], found[at], origins[at] = other.matrix[other.found], True, origin
    return replace(done, rows=Rows(matrix, found), origins=origins)
