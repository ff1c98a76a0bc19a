"""What is to be distilled, and how. Nothing here imports torch: the command line reads its options off it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from limbeck.distillation.x2static.settings import Preset, preset_named
from limbeck.errors import UsageError
from limbeck.settings import Settings, option

TEMPLATE = "the meaning of {}."  #: what `frame` reads where no templates are given
TEMPLATES = (  #: the same of `frames`
    "what is another word for {}?",
    "a type of {}.",
    "a word that means {}.",
    "the noun {}.",
)
METHOD_OF = {"alone": "word", "frame": "frame"}  #: the method that gives what --unseen asks for
DEFAULT = "best"  #: the method where none is named, of a text
MIN_COUNT, MAX_WORDS = 5, 750_000
REPAIRS = ("center", "scaled-center", "standardize", "all-but-the-top", "cluster", "whiten")


def method_names() -> list[str]:
    from limbeck.distillation.methods import METHODS

    return list(METHODS)


@dataclass(frozen=True)
class MethodsSettings(Settings, group="method"):
    """Which methods, and what is particular to some of them."""

    method: tuple[str, ...] | None = option(
        None,
        separator=",",
        common=True,
        metavar="NAMES",
        suggestions=method_names,
        help="methods, see below (default: best; of cached vectors average; of --words without --corpus frame)",
    )
    over_contexts: Literal["mean", "min", "max"] = option(
        "mean", metavar="HOW", help="average: mean (default), min or max over a word's contexts"
    )
    max_contexts: int = option(
        100, minimum=1, metavar="N", help="principal: contexts per word; of more, a random sample (100)"
    )
    template: tuple[str, ...] | None = option(
        None,
        repeat=True,
        metavar="TEXT",
        help='frame: a sentence with {} in the word\'s place (default: "the meaning of {}."), also of frames and best '
        "(default: 4 sentences); may be given several times",
    )
    special_input: bool = option(True, help="word: omit special tokens ([CLS], [SEP]) from the input")
    special_mean: bool = option(False, help="word: pool special tokens with the word's subwords")
    set: Any = option(
        None,
        repeat=True,
        metavar="NAME=VALUE",
        help="a setting of a method that has some, see below; METHOD.NAME=VALUE where several do",
    )
    preset: Literal["corrected", "paper", "released"] | None = option(
        None,
        metavar="NAME",
        help="x2static: corrected, paper, or released (as the published code did); also of --lowercase, --min-count, "
        "--max-words, --window, --keep-first and duplicate texts, where they are not given",
    )
    start: str | None = option(
        None,
        metavar="METHOD",
        suggestions=lambda: [*method_names(), "none"],
        help="methods that train: whose vectors they begin from; none to begin anew",
    )
    seed: int = option(0, minimum=0, metavar="N", help="seed of every sample and training (0)")


@dataclass(frozen=True)
class WordsSettings(Settings, group="words"):
    """Which words get a vector."""

    min_count: int = option(None, minimum=1, metavar="N", help="minimum number of occurrences per word of the text (5)")
    max_words: int = option(None, minimum=1, metavar="N", help="most words, the most frequent ones (750000)")
    words: Any = option(
        None, recorded=False, metavar="FILE", files=True, help="exactly the words of this file, one a line"
    )
    add_words: Any = option(
        None, recorded=False, metavar="FILE", files=True, help="these words beside those of the text"
    )
    unseen: Literal["frame", "pieces", "alone", "drop"] = option(
        "frame",
        metavar="HOW",
        help="a word that the text does not have: from the frame (default), its pieces (subwords), alone, or drop",
    )
    case: Literal["auto", "keep", "lower"] = option(
        "auto",
        metavar="HOW",
        help="keep, or lower: Tea counts as tea, whatever the teacher reads (auto, the default: lower where the "
        "teacher's tokenizer does not distinguish them)",
    )


@dataclass(frozen=True)
class FinishingSettings(Settings, group="finishing"):
    """What is done to the vectors once they are there, in this order."""

    repair: str | None = option(
        None,
        between="+",
        metavar="R",
        suggestions=REPAIRS,
        files=True,
        help="METHOD[:NAME=VALUE,...] fitted on the vectors themselves, or a file or folder of `limbeck repair`",
    )
    dim: int | None = option(None, minimum=1, metavar="N", help="dimensions to keep, by principal components")
    weighting: Literal["none", "sif"] = option(
        "none", metavar="HOW", help="none (default), or sif: a/(a + p), p the word's share"
    )
    sif: float = option(1e-3, above=0, metavar="A", help="a of sif (0.001)")
    keep: Literal["float32", "float16", "int8"] = option(
        "float32", metavar="DTYPE", help="precision of the file: float32 (default), float16 or int8"
    )


@dataclass(frozen=True)
class DistillSettings(FinishingSettings, WordsSettings, MethodsSettings):
    """Settings of a distillation.

    `min_count` and `max_words` are the preset's where they are not given; `set` is {method: {name: value}}, with "" for
    values that do not say of which method they are.
    """

    def check(self) -> None:
        if self.template == ():
            raise UsageError(
                "--template must be at least one sentence with {} in the word's place; got none.",
                code="required",
                parameter="template",
            )
        for template in self.template or ():
            if template.count("{}") != 1:
                raise UsageError(
                    f"--template must have {{}} once, in the word's place; got {template!r}.",
                    code="malformed",
                    parameter="template",
                )
        if not self.special_input and self.special_mean:
            raise UsageError(
                "--special-mean needs special tokens in the input: omit it, or --no-special-input.",
                code="exclusive",
                parameter="special_mean",
            )
        said = self.said
        for name in ("words", "add_words"):  # of which more than one reader is made
            if isinstance(value := getattr(self, name), Iterator):
                object.__setattr__(self, name, tuple(value))
        for name, value in (
            ("method", None if self.method is None else tuple(dict.fromkeys(self.method))),
            ("set", values_set(self.set)),
            ("min_count", self.min_count or (said.min_count if said else MIN_COUNT)),
            ("max_words", self.max_words or (said.max_words if said else MAX_WORDS)),
        ):
            object.__setattr__(self, name, value)

    def given(self) -> dict[str, Any]:
        filled: dict[str, Any] = {"min_count": MIN_COUNT, "max_words": MAX_WORDS, "set": {}}
        return {name: value for name, value in super().given().items() if name not in filled or value != filled[name]}

    @property
    def methods(self) -> tuple[str, ...]:
        return (DEFAULT,) if self.method is None else self.method

    @property
    def said(self) -> Preset | None:
        """What the preset says of text and teacher."""
        return None if self.preset is None else preset_named(self.preset)

    @property
    def deduplicate(self) -> bool:
        """Whether texts that repeat an earlier one are left out."""
        return self.said is None or self.said.deduplicate


def values_set(given: Any) -> dict[str, dict[str, Any]]:
    """Values by method and name, out of what `set` may be; of method "" those that name none.

    >>> values_set(["epochs=4", "best.dim=64"]), values_set({"x2static": {"epochs": 3}})
    ({'': {'epochs': 4}, 'best': {'dim': 64}}, {'x2static': {'epochs': 3}})
    """
    if isinstance(given, str):
        given = [given]
    found: dict[str, dict[str, Any]] = {}
    for name, value in _pairs(given or ()):
        if isinstance(value, Mapping):
            found.setdefault(name, {}).update(value)
            continue
        method, dot, own = name.partition(".")
        found.setdefault(method if dot else "", {})[own if dot else name] = value
    return found


def _pairs(given: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(given, Mapping):
        for name, value in given.items():
            yield str(name), plain_value(value) if isinstance(value, str) else value
        return
    if not isinstance(given, Sequence):
        told = f"--set must be NAME=VALUE or METHOD.NAME=VALUE; got {given!r:.60}."
        raise UsageError(told, code="wrong_type", parameter="set")
    for part in given:
        name, equals, value = str(part).partition("=")
        if not equals or not name:
            raise UsageError(
                f"--set must be NAME=VALUE or METHOD.NAME=VALUE; got {part!r}.", code="malformed", parameter="set"
            )
        yield name, plain_value(value)


def plain_value(text: str) -> Any:
    """A number, true, none or a tuple, as Python writes them in any case; anything else is a string."""
    try:
        return ast.literal_eval(text.capitalize() if text.lower() in ("true", "false", "none") else text)
    except (ValueError, SyntaxError):
        return text
