"""Options of an evaluation: vectors, repairs, scores, and to which targets and tasks each group of them applies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

from limbeck.encoders.settings import LoadingSettings
from limbeck.errors import Code, UsageError
from limbeck.settings import Settings, as_type, option, options_of, shown

Metric = Literal["spearman", "pearson"]
Aggregation = Literal["pooled", "mean", "weighted"]
Missing = Literal["zero", "drop"]
OutOfVocabulary = Literal["drop", "mean", "zero", "fallback"]
AnalogyMethod = Literal["add", "mul"]
WordPreset = Literal["web"]
Classifier = Literal["auto", "mlp", "cnn"]
Features = Literal["mean", "flattened"]
Scale = Literal["as-is", "rms"]
Embeddings = Literal["frozen", "tuned"]

DRAWS = 1000  #: of the bootstrap; a comparison that many stand beside takes more

#: kinds of tasks of single words, and of tasks that a classifier learns
WORDS = frozenset({"wordsim", "analogy", "relations", "categorization"})
CLASSIFICATION = frozenset({"classify", "classify-sentences"})


@dataclass(frozen=True)
class Scope:
    """What an evaluation is about: whether there are models, and tables of word vectors, and tasks of which kinds."""

    models: bool
    tables: bool
    tasks: frozenset[str]
    classifier: Classifier = "auto"

    @property
    def learns(self) -> bool:
        """Whether some task has a training part."""
        return bool(self.tasks & CLASSIFICATION)


class ScopedSettings(Settings):
    """Settings that have an effect on some targets or tasks only, and are refused where there are none of them.

    applies_to  these targets and tasks, in a message
    harmless    values that say what other targets have anyway
    """

    applies_to: ClassVar[str] = ""
    harmless: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        """Whether something in this scope is what they apply to."""
        return True

    def check_scope(self, scope: Scope) -> None:
        """Refuse an option that would have no effect."""
        if self.applies(scope):
            return
        for name, value in self.given().items():
            if value != self.harmless.get(name):
                _refuse(self, name, f"applies only to {self.applies_to}; there are none: omit it.")


def _refuse(settings: Settings, name: str, what: str, *, code: Code = "no_effect") -> None:
    (one,) = (one for one in options_of(type(settings)) if one.name == name)
    raise UsageError(f"{one.flag} {what}", code=code, parameter=name)


# vectors


@dataclass(frozen=True)
class ModelVectorSettings(ScopedSettings, group="vectors"):
    """Which vectors of a model are averaged."""

    applies_to: ClassVar[str] = "models"
    harmless: ClassVar[Mapping[str, Any]] = {"layers": "table", "units": "words"}

    layers: Any = option(
        None,
        common=True,
        metavar="L",
        suggestions=("all", "table"),
        help='such as "-1" (default), "0,6,12", "table" or "all"',
    )
    units: Literal["pieces", "words"] | None = option(
        None, metavar="UNIT", help="what is averaged: pieces (subwords, default) or words"
    )
    special: bool = option(False, help="with pieces: special tokens ([CLS], [SEP]) among them")
    keep_first: bool = option(False, help="keep a decoder's first position")

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.models

    def check(self) -> None:
        if self.special and self.units == "words":
            _refuse(self, "special", "applies only with --units=pieces.")


@dataclass(frozen=True)
class TextReadingSettings(Settings, group="vectors"):
    """How texts are read, and what becomes of those without a vector."""

    lowercase: bool = option(False, help="lower-case the texts")
    language: str = option("en", metavar="CODE", help="whose rules tell words apart (default: en)")
    missing: Missing = option("zero", metavar="HOW", help="texts without a vector: zero (default), drop")


@dataclass(frozen=True)
class OutOfVocabularySettings(ScopedSettings, group="vectors"):
    """What becomes of words without a vector."""

    applies_to: ClassVar[str] = "vector files and to tasks of words, and not to --classifier=mlp"

    oov: OutOfVocabulary | None = option(
        None, metavar="HOW", help="words without a vector: drop (default), mean, zero, fallback (vector files only)"
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        learned_alone = scope.tasks <= CLASSIFICATION and scope.classifier == "mlp"  # which omits unknown words
        return bool(scope.tasks & WORDS) or (scope.tables and not learned_alone)


@dataclass(frozen=True)
class LookupSettings(ScopedSettings, group="vectors"):
    """How words are looked up in a table."""

    applies_to: ClassVar[str] = "words that are looked up in vector files"

    case: Literal["either", "keep", "lower"] | None = option(
        None, help="of words looked up in vector files: either (default), keep, lower"
    )
    fallback: Any = option(
        None, metavar="FILE", files=True, help="with --oov fallback: vectors for words that have none"
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.tables


@dataclass(frozen=True)
class WeightingSettings(ScopedSettings, group="vectors"):
    """How a text's words are weighted."""

    applies_to: ClassVar[str] = "texts (sts) and vector files"

    weighting: Literal["mean", "sif"] | None = option(
        None, metavar="HOW", help="of a text's words in vector files (sts): mean (default), or sif"
    )
    counts: Any = option(None, metavar="FILE", files=True, help="with --weighting sif: a word and its count a line")

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.tables and "sts" in scope.tasks

    def check(self) -> None:
        if self.counts is not None and self.weighting != "sif":
            _refuse(self, "counts", "applies only with --weighting=sif.")


# repairs


@dataclass(frozen=True)
class AppliedRepairSettings(ScopedSettings, group="repairs"):
    """Repairs of the vectors that are scored."""

    repair: tuple[Path, ...] = option(
        (), common=True, metavar="R", files=True, help="fitted repairs: files, or run folders of `limbeck repair`"
    )
    method: tuple[str, ...] = option(
        (),
        metavar="M",
        suggestions=("center", "scaled-center", "standardize", "all-but-the-top", "cluster", "whiten"),
        between="+",
        help="repairs to fit on each task, see below",
    )
    transductive: bool = option(False, help="fit --method's repairs on the very vectors that are scored")

    def check_scope(self, scope: Scope) -> None:
        if self.method and not self.transductive and not scope.tasks <= CLASSIFICATION:
            _refuse(
                self,
                "method",
                "must be fitted on the very vectors that are scored where a task has no training part: add "
                "--transductive, or fit it on a text with `limbeck repair` and give --repair.",
                code="required",
            )
        if self.transductive and not self.method and not scope.learns:
            _refuse(self, "transductive", "applies only with --method or to classification.")


def numbers(text: str) -> tuple[int, ...]:
    """Whole numbers from "10,27", "5-30" or "5-30/5"; none where it is not like these.

    >>> numbers("1,5-20/5"), numbers("a")
    ((1, 5, 10, 15, 20), ())
    """
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"(\d+)(?:-(\d+))?(?:/0*([1-9]\d*))?", part.strip())
        if match is None:
            return ()
        low, high, step = match.groups()
        found += range(int(low), int(high or low) + 1, int(step or 1))
    return tuple(found)


@dataclass(frozen=True)
class TuningSettings(ScopedSettings, group="repairs"):
    """Whether clusters and components are chosen on a development set."""

    tune: bool = option(False, help="find clusters and components on --tune-on, then use them")
    tune_on: str = option(
        "sts-b-dev", metavar="TASK", suggestions=lambda: tuning_names(), help="development set (default: sts-b-dev)"
    )
    clusters: Any = option(None, metavar="K", help='tried, such as "5-30/5" or "10,27" (default: 5-30/5 and 27)')
    components: Any = option(None, metavar="C", help="tried (default: 5-30)")
    seeds: int = option(5, minimum=1, metavar="N", help="clusterings averaged in tuning (5)")

    def check_scope(self, scope: Scope) -> None:
        for name in {} if self.tune else self.given():
            _refuse(self, name, "applies only with --tune.")

    def check(self) -> None:
        for name, least in (("clusters", 1), ("components", 0)):
            if (value := getattr(self, name)) is not None:
                several = value if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
                found = numbers(value) if isinstance(value, str) else tuple(as_type(one, int) for one in several)
                if not found or any(one is None or one < least for one in found):
                    _refuse(
                        self, name, f'must be like "10,27", "5-30" or "5-30/5"; got {shown(value)}.', code="malformed"
                    )
                object.__setattr__(self, name, found)


# scores


@dataclass(frozen=True)
class ScoreSettings(Settings, group="scores"):
    """Which numbers are reported, with which intervals and comparisons."""

    metric: Metric | None = option(None, help="spearman or pearson (default: the task's)")
    aggregation: Aggregation = option("pooled", metavar="HOW", help="of subsets: pooled (default), mean, weighted")
    against: str | None = option(
        None,
        metavar="NAME",
        help="compare each column with this one (default: every two; of more than 4 each with the first)",
    )
    draws: int = option(DRAWS, minimum=1, metavar="N", help="of the bootstrap (1000; comparisons take more)")
    seed: int = option(0, metavar="N", help="of the bootstrap, and of the clusters scored (default: 0)")


@dataclass(frozen=True)
class WordPresetSettings(ScopedSettings, group="words"):
    """Whose scoring of words is followed."""

    applies_to: ClassVar[str] = "tasks of words and vector files, by themselves"

    preset: WordPreset | None = option(
        None,
        metavar="NAME",
        help="web: vector files loaded, words looked up and tasks of words scored as by word-embeddings-benchmarks",
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return not scope.models and scope.tasks <= WORDS


@dataclass(frozen=True)
class AnalogySettings(ScopedSettings, group="words"):
    """How analogies are solved."""

    applies_to: ClassVar[str] = "analogies"

    analogy: AnalogyMethod = option(
        "add", metavar="HOW", help="what is reported: add (3CosAdd, default) or mul (3CosMul)"
    )
    vocabulary: int | None = option(
        None, minimum=1, metavar="N", help="analogies: search the first N words of a file (default: all)"
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return "analogy" in scope.tasks


@dataclass(frozen=True)
class ClassificationSettings(ScopedSettings, group="classification"):
    """How classifiers are trained, of whichever kind."""

    applies_to: ClassVar[str] = "classification"

    classifier: Classifier = option(
        "auto",
        metavar="KIND",
        help="cnn: a convolution over the words of a vector file (its default for single texts); mlp: a small network "
        "on one vector a text (all others)",
    )
    max_train: int | None = option(None, minimum=1, metavar="N", help="most training examples, drawn (default: all)")
    starts: int | None = option(
        None,
        minimum=1,
        aliases=("--runs",),
        metavar="N",
        help="training runs, alike for all settings (5; 6 on the sets of classify-sentences)",
    )
    epochs: int | None = option(
        None, minimum=1, metavar="N", help="of each; the one that counts is chosen (10; cnn: 16, of 8 to 16)"
    )
    learning_rate: tuple[float, ...] | None = option(
        None,
        above=0,
        separator=",",
        metavar="X",
        help="of Adam (mean: 1e-3, flattened: 3e-5; cnn: several, from which it chooses: 1e-4,3e-4,1e-3)",
    )
    scale: Scale = option(
        "as-is", metavar="HOW", help="of features: as-is (default), or rms, one size for all settings"
    )
    split: Literal["dev", "test"] | None = option(
        None, metavar="NAME", help="what is reported: dev or test (default: the task's own, dev if there is one)"
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.learns


@dataclass(frozen=True)
class PerceptronSettings(ScopedSettings, group="classification"):
    """The small network on one vector a text."""

    applies_to: ClassVar[str] = "classification by a small network (--classifier=mlp)"

    hidden: int = option(100, minimum=0, metavar="N", help="mlp: units (100); 0 for a linear classifier")
    features: Features | None = option(
        None, metavar="KIND", help="mean of the vectors (default), or flattened: all of the first --length"
    )
    length: int = option(64, minimum=1, metavar="N", help="pieces of a flattened example (64)")

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.learns and scope.classifier != "cnn"

    def check(self) -> None:
        if "length" in self.given() and self.features != "flattened":
            _refuse(self, "length", "applies only with --features=flattened.")


@dataclass(frozen=True)
class ConvolutionSettings(ScopedSettings, group="classification"):
    """The convolution over a text's words."""

    applies_to: ClassVar[str] = "classification by a convolution over the words of a vector file"

    embeddings: Embeddings = option(
        "frozen", metavar="HOW", help="cnn: words' vectors are frozen (default), or tuned too"
    )

    @classmethod
    def applies(cls, scope: Scope) -> bool:
        return scope.learns and scope.tables and scope.classifier != "mlp"


@dataclass(frozen=True)
class EvaluationSettings(
    TextReadingSettings,
    OutOfVocabularySettings,
    AppliedRepairSettings,
    ScoreSettings,
    WordPresetSettings,
    AnalogySettings,
    ClassificationSettings,
    PerceptronSettings,
    ConvolutionSettings,
    LoadingSettings,
):
    """All that a score depends on beside target, task and repair; a kind of task takes what concerns it.

    Which repairs there are, `repair` and `method`, concerns whoever makes them: functions are given repairs themselves.
    """


DEFAULTS = EvaluationSettings()


# names, for completion


def task_names() -> list[str]:
    """Groups of tasks, and tasks."""
    from limbeck.evaluation.catalogue import load_table
    from limbeck.evaluation.classifying.catalogue import all_tasks
    from limbeck.evaluation.task import KINDS
    from limbeck.evaluation.word_task import WORD_KINDS, load_word_table

    groups = [*KINDS, *WORD_KINDS, "classify", "classify-sentences"]
    return [*groups, *load_table(), *load_word_table(), *all_tasks()]


def tuning_names() -> list[str]:
    """What repairs can be tuned on."""
    from limbeck.evaluation.catalogue import load_table

    return [name for name, layouts in load_table().items() if layouts[0].kind == "sts"]
