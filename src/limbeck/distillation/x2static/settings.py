"""How word vectors are trained against a teacher: settings, and the presets `paper`, `released`, `corrected`."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from limbeck.errors import UsageError, choose

CONTEXTS = ("words", "pieces", "others", "masked")
SCHEDULES = ("constant", "linear")
MOMENTS = ("float32", "bfloat16")
FITS = ("squared", "cosine")


@dataclass(frozen=True, kw_only=True)
class Training:
    """What every trainer has.

    epochs         times through the text
    batch_texts    texts in a step; a shard's texts are shuffled and divided evenly into steps of about so many
    learning_rate  of lazy Adam: only rows that a step touches change
    schedule       "constant", or "linear" down to zero at the end
    subsample      t: an occurrence is a target with probability min(1, √(t/f) + t/f), f the word's share; 0 for all
    moments        what Adam's two moments are kept in; bfloat16, rounded at random, halves their memory
    layer          the teacher's, by name; None for the last
    seed           of shuffling, negatives, subsampling and the start
    """

    epochs: int = 1
    batch_texts: int = 128
    learning_rate: float = 1e-3
    schedule: str = "constant"
    subsample: float = 0.0
    moments: str = "float32"
    layer: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        choose(self.schedule, SCHEDULES, what="schedule")
        choose(self.moments, MOMENTS, what="moments")
        for name in ("epochs", "batch_texts"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more; got {getattr(self, name)}.")
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise UsageError(f"learning_rate must be a finite number above 0; got {self.learning_rate}.")
        if not self.subsample >= 0:
            raise UsageError(f"subsample must be 0 (keep all) or more; got {self.subsample}.")

    @property
    def keeps_contexts(self) -> bool:
        """Whether later epochs read the contexts of the first from the disk."""
        return self.epochs > 1

    def with_changes(self, **changes: Any) -> Self:
        """The same with some settings changed; an unknown name is told with the nearest known one."""
        names = [field.name for field in fields(self)]
        for name in changes:
            choose(name, names, what="setting")
        return replace(self, **changes)


@dataclass(frozen=True, kw_only=True)
class Contrasting(Training):
    """Training against negatives.

    negatives  words a target is set against
    exponent   of counts, by which they are drawn
    distinct   a negative that is its own target does not count
    reuse      draw `negatives` a text and use them round and round, as released
    clamp      scores beyond it have no gradient; 0 for none
    """

    subsample: float = 5e-6
    negatives: int = 10
    exponent: float = 0.5
    distinct: bool = True
    reuse: bool = False
    clamp: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.negatives < 1:
            raise UsageError(f"negatives must be 1 or more; got {self.negatives}.")
        if not math.isfinite(self.exponent):
            raise UsageError(f"exponent must be a number; got {self.exponent}.")
        if not 0 <= self.clamp < math.inf:
            raise UsageError(f"clamp must be 0 (none) or a finite number above it; got {self.clamp}.")


@dataclass(frozen=True, kw_only=True)
class X2Static(Contrasting):
    """X2Static (Gupta & Jaggi 2021, eq. 1): u_w near its contexts, negatives away from them.

    context  mean of the teacher's vectors (eq. 3; of a sentence inside its paragraph where texts are paragraphs,
             eq. 4) over its "words", its "pieces" with special tokens (as released), the "others" than the target, or
             with the target "masked" (§3.1; the last two need the teacher in every epoch)
    length   given vectors begin less their mean, with this mean length, since a teacher's are so long that scores would
             begin far from zero; 0: as they are
    """

    context: str = "words"
    length: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.context, CONTEXTS, what="context")
        if not 0 <= self.length < math.inf:
            raise UsageError(f"length must be 0 (as they are) or a finite number above it; got {self.length}.")
        if self.context == "masked" and self.epochs > 1:
            raise UsageError("masked contexts cost a forward pass a target: ask for one epoch.")

    @property
    def keeps_contexts(self) -> bool:
        # those that belong to one target are made anew in every epoch, for other targets
        return super().keeps_contexts and self.context not in ("others", "masked")


@dataclass(frozen=True, kw_only=True)
class Sent2Vec(Contrasting):
    """Sent2Vec's objective (eq. 2): the context is the mean of a second matrix over the sentence's other n-grams.

    ngrams   the longest, in words
    buckets  rows that n-grams are hashed into; 0 for 20 a word, 2,000,000 at most
    dim      of the vectors
    """

    epochs: int = 5
    learning_rate: float = 2e-3
    schedule: str = "linear"
    ngrams: int = 2
    buckets: int = 0
    dim: int = 300

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("ngrams", "dim"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} must be 1 or more; got {getattr(self, name)}.")
        if self.buckets < 0:
            raise UsageError(f"buckets must be 0 (a number that suits the vocabulary) or more; got {self.buckets}.")

    def rows(self, words: int) -> int:
        """Of the second matrix: words and buckets."""
        return words + (0 if self.ngrams == 1 else self.buckets or min(2_000_000, 20 * words))


@dataclass(frozen=True, kw_only=True)
class Regression(Training):
    """Word vectors whose weighted mean over a sentence is the sentence's context vector.

    fit      "squared" distance, or one less the "cosine"
    weight   a of the weights a/(a + p_w) of the mean, p_w the word's share of the text; 0 for a plain mean
    pull     λ: towards the start, as strong as λ occurrences, so that words seen less often move less
    context  "words" or "pieces", see `X2Static`
    """

    weight: float = 1e-3
    fit: str = "squared"
    pull: float = 0.0
    context: str = "words"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.fit, FITS, what="fit")
        choose(self.context, CONTEXTS[:2], what="context of a regression")
        for name in ("weight", "pull"):
            if not 0 <= getattr(self, name) < math.inf:
                raise UsageError(f"{name} must be 0 or a finite number above it; got {getattr(self, name)}.")


@dataclass(frozen=True)
class Preset:
    """A way to train, and what text and teacher must be like for it.

    max_words       most words of the vocabulary
    min_count       occurrences that a word needs
    deduplicate     equal texts are read once
    lowercase       the teacher reads lower-cased text, whatever it was trained on
    keep_first      a decoder's first position counts too
    window          most pieces the teacher reads of a sentence, of a paragraph, or as many as it has; None for those
    """

    training: X2Static
    max_words: int
    min_count: int
    deduplicate: bool = True
    lowercase: bool = False
    keep_first: bool = False
    window: tuple[int | None, int | None] = (None, None)


PRESETS = {
    # Table 1 and §3; what the text leaves open (schedule, exponent, a negative that is the target) as released
    "paper": Preset(X2Static(distinct=False), max_words=750_000, min_count=10, lowercase=True),
    # docs/fidelity.md §4.3-18. Not copied: contexts of a paragraph's sentences that belong to other sentences (§4.5),
    # targets beyond the cut of a long text (§4.7; here long texts are read by several windows), a word "pad" (§4.17)
    "released": Preset(
        X2Static(epochs=5, context="pieces", distinct=False, reuse=True, clamp=20.0),
        max_words=200_000,
        min_count=10,
        deduplicate=False,
        lowercase=True,
        keep_first=True,
        window=(200, 500),
    ),
    # contexts and targets match by offsets, negatives are other words, the teacher reads text as it was trained to
    "corrected": Preset(X2Static(), max_words=750_000, min_count=10),
}


def preset_named(name: str) -> Preset:
    return PRESETS[choose(name, PRESETS, what="preset")]


def x2static_settings(preset: str = "corrected", **changes: Any) -> X2Static:
    """A preset's training with some settings changed."""
    return preset_named(preset).training.with_changes(**changes)


def sent2vec_settings(**changes: Any) -> Sent2Vec:
    return Sent2Vec().with_changes(**changes)


def regression_settings(**changes: Any) -> Regression:
    return Regression().with_changes(**changes)
