"""Settings of single methods, which `--set NAME=VALUE` changes. Nothing here imports what computes with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from limbeck.errors import UsageError, choose
from limbeck.settings import Settings, option, options_of

LARGE = 1_000_000  #: more than any weight or count of occurrences that makes sense


class MethodSettings(Settings):
    """Base of the settings of a method."""

    @classmethod
    def names(cls) -> list[str]:
        """What can be set."""
        return [one.name for one in options_of(cls)]

    def with_changes(self, **changes: Any) -> Self:
        """The same with some settings changed; an unknown name is an error that suggests the nearest."""
        for name in changes:
            choose(name, [one.name for one in options_of(type(self))], what="setting")
        return replace(self, **changes)  # type: ignore[type-var]


def settings_from(kind: type[MethodSettings], given: Mapping[str, Any], *, method: str) -> MethodSettings:
    """The settings of a method out of values by name; errors say which value of which method is wrong."""
    for name in given:
        choose(name, kind.names(), what=f"--set of {method}")
    text = {one.name for one in options_of(kind) if one.type is str}
    values = {name: str(value) if name in text and type(value) is int else value for name, value in given.items()}
    try:
        return kind.of(values)  # a layer's name may be a number
    except UsageError as error:
        told = error.message.replace(f"--{error.parameter.replace('_', '-')} ", f"--set {method}.{error.parameter} ")
        raise UsageError(told, code=error.code, parameter="set") from error


@dataclass(frozen=True)
class BestSettings(MethodSettings):
    """How much each component counts in the method `best`; one of weight 0 is omitted."""

    frames: float = option(1.0, minimum=0, maximum=LARGE, help="weight of the word in sentences about nothing else")
    average: float = option(0.5, minimum=0, maximum=LARGE, help="weight of the word in its contexts")
    contexts: float = option(0.3, minimum=0, maximum=LARGE, help="weight of the texts that the word occurs in")
    evidence: float = option(
        2.0, minimum=0, maximum=LARGE, help="a word with so many occurrences has half of the text's weight"
    )
    split: float = option(
        5.0, minimum=0, maximum=LARGE, help="how many times as much contexts count for a word of several subwords"
    )
    spelling: float = option(1.0, minimum=0, maximum=LARGE, help="how much its letters count for such a word")
    neighbours: float = option(
        0.3, minimum=0, maximum=LARGE, help="how much the mean of its nearest words counts beside a word's own vector"
    )
    dim: int | None = option(None, minimum=1, help="dimensions of the vectors, at most the teacher's (the default)")

    def check(self) -> None:
        if not self.frames + self.average + self.contexts:
            raise UsageError("frames, average and contexts cannot all be 0.", code="out_of_range", parameter="set")

    def parts(self) -> tuple[str, ...]:
        """The components that count, which are the methods of their names."""
        return tuple(name for name in ("frames", "average", "contexts") if getattr(self, name))


@dataclass(frozen=True)
class BaselineSettings(MethodSettings):
    """How a baseline of whole words is trained; the defaults are what is legible of the best in Table 2 of the paper
    (Gupta & Jaggi 2021)."""

    dim: int | None = option(None, minimum=1, help="dimensions of the vectors (default: the teacher's)")
    epochs: int = option(5, minimum=1, help="times through the text")
    negatives: int = option(5, minimum=1, help="words a target is set against")
    subsampling: float = option(
        1e-5, above=0, help="t: an occurrence is kept with probability √(t/f) + t/f, f the word's share of the text"
    )
    window: int = option(5, minimum=1, help="words on each side that are read with a word")
    learning_rate: float = option(0.05, above=0, help="at the beginning; it falls to 0 in a straight line")
    exponent: float = option(0.5, help="of counts, by which negatives are drawn: fastText's 0.5 (gensim's own is 0.75)")
    threads: int = option(1, minimum=1, help="more than one is faster, and no two runs are then alike")
    seed: int = option(0, help="of everything that is drawn")


@dataclass(frozen=True)
class NgramSettings(BaselineSettings):
    """The same of a baseline with character n-grams."""

    ngrams: tuple[int, ...] = option((3, 6), help="of how many characters, at least and at most")
    buckets: int | None = option(None, help="that n-grams share (default: 40 a word, at most fastText's 2,000,000)")

    def check(self) -> None:
        if len(self.ngrams) != 2 or not 1 <= self.ngrams[0] <= self.ngrams[1]:
            raise UsageError(
                f"--ngrams must be at least and at most so many characters, got {self.ngrams}.",
                code="out_of_range",
                parameter="ngrams",
            )
