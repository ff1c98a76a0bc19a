"""How word vectors are trained against a teacher: settings, and the presets `paper`, `released`, `corrected`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self, cast

from limbeck.distillation.method_settings import MethodSettings
from limbeck.errors import UsageError, choose
from limbeck.settings import option, options_of


@dataclass(frozen=True)
class Training(MethodSettings):
    """What every trainer has. Its optimizer is lazy Adam: only rows that a step touches change."""

    epochs: int = option(1, minimum=1, help="times through the text")
    batch_texts: int = option(
        128,
        minimum=1,
        help="texts in a step; a shard's texts are shuffled and divided evenly into steps of about so many",
    )
    learning_rate: float = option(1e-3, above=0, help="of lazy Adam")
    schedule: Literal["constant", "linear"] = option("constant", help="constant, or linear down to zero at the end")
    subsample: float = option(
        0.0,
        minimum=0,
        help="t: an occurrence is a target with probability min(1, √(t/f) + t/f), f the word's share; 0 for all",
    )
    moments: Literal["float32", "bfloat16"] = option(
        "float32", help="precision of Adam's two moments; bfloat16, rounded at random, halves their memory"
    )
    layer: str | None = option(None, help="the teacher's, by name; None for the last")
    seed: int = option(0, help="of shuffling, negatives, subsampling and the start")

    @property
    def keeps_contexts(self) -> bool:
        """Whether later epochs read the contexts of the first from the disk."""
        return self.epochs > 1


@dataclass(frozen=True)
class Contrasting(Training):
    """Training against negatives."""

    subsample: float = option(5e-6, minimum=0, help="as of every training")
    negatives: int = option(10, minimum=1, help="words a target is set against")
    exponent: float = option(0.5, help="of counts, by which they are drawn")
    distinct: bool = option(True, help="a negative that is its own target does not count")
    reuse: bool = option(False, help="draw negatives once per text and use them round and round, as released")
    clamp: float = option(0.0, minimum=0, help="scores beyond it have no gradient; 0 for none")


@dataclass(frozen=True)
class X2Static(Contrasting):
    """X2Static (Gupta & Jaggi 2021, eq. 1): u_w near its contexts, negatives away from them.

    context  mean of the teacher's vectors (eq. 3; of a sentence inside its paragraph where texts are paragraphs,
             eq. 4) over its "words", its "pieces" with special tokens (as released), the "others" than the target, or
             with the target "masked" (§3.1; the last two need the teacher in every epoch)
    length   given vectors begin less their mean, with this mean length, since a teacher's are so long that scores would
             begin far from zero; 0: as they are
    """

    context: Literal["words", "pieces", "others", "masked"] = option("words", help="what a target is trained towards")
    length: float = option(0.5, minimum=0, help="mean length of the vectors that a training begins from; 0: as given")

    @classmethod
    def names(cls) -> list[str]:
        return [*super().names(), "preset"]

    @classmethod
    def of(cls, keywords: Mapping[str, Any]) -> Self:
        """A preset's training with some settings changed."""
        known = [one.name for one in options_of(cls)]
        preset = cast(Self, preset_named(str(keywords.get("preset", "corrected"))).training)
        return preset.with_changes(**{name: keywords[name] for name in known if name in keywords})

    def check(self) -> None:
        if self.context == "masked" and self.epochs > 1:
            raise UsageError(
                "masked contexts cost a forward pass a target: ask for one epoch.", code="exclusive", parameter="epochs"
            )

    @property
    def keeps_contexts(self) -> bool:
        # those that belong to one target are made anew in every epoch, for other targets
        return super().keeps_contexts and self.context not in ("others", "masked")


@dataclass(frozen=True)
class Sent2Vec(Contrasting):
    """Sent2Vec's objective (eq. 2): the context is the mean of a second matrix over the sentence's other n-grams."""

    epochs: int = option(5, minimum=1, help="times through the text")
    learning_rate: float = option(2e-3, above=0, help="of lazy Adam")
    schedule: Literal["constant", "linear"] = option("linear", help="constant, or linear down to zero at the end")
    ngrams: int = option(2, minimum=1, help="the longest, in words")
    buckets: int = option(0, minimum=0, help="rows that n-grams are hashed into; 0 for 20 a word, 2,000,000 at most")
    dim: int = option(300, minimum=1, help="dimensions of the vectors")

    def rows(self, words: int) -> int:
        """Of the second matrix: words and buckets."""
        return words + (0 if self.ngrams == 1 else self.buckets or min(2_000_000, 20 * words))


@dataclass(frozen=True)
class Regression(Training):
    """Word vectors whose weighted mean over a sentence is the sentence's context vector."""

    weight: float = option(
        1e-3,
        minimum=0,
        help="a of the weights a/(a + p_w) of the mean, p_w the word's share of the text; 0 for a plain mean",
    )
    fit: Literal["squared", "cosine"] = option("squared", help="squared distance, or one less the cosine")
    pull: float = option(
        0.0,
        minimum=0,
        help="λ: towards the start, as strong as λ occurrences, so that words seen less often move less",
    )
    context: Literal["words", "pieces"] = option("words", help="as of X2Static")


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
