"""What is to be distilled, and how; the command line's options of the same names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from limbeck.errors import UsageError, choose
from limbeck.parameters import check_fields

CONTEXTS = ("mean", "min", "max")
UNSEEN = ("frame", "pieces", "alone", "drop")
CASES = ("auto", "keep", "lower")
WEIGHTINGS = ("none", "sif")
KEPT = ("float32", "float16", "int8")
FRAME = "the meaning of {}."  #: what frame reads where no templates are given


@dataclass(frozen=True)
class DistillSettings:
    """Settings of a distillation.

    methods        names of `limbeck.distillation.METHODS`
    min_count      a word of the text is in the vocabulary if it occurs so often
    max_words      at most so many words, the most frequent
    case           "lower" counts Tea and tea as one word, tea, whatever the teacher reads; "keep" keeps them apart;
                   "auto" is "lower" where the teacher's own tokeniser does not tell them apart
    over_contexts  of average: "mean", "min" or "max" over a word's occurrences
    max_contexts   of principal: occurrences a word, chosen by hash
    templates      of frame and frames: sentences with {} in the word's place, the mean of several; None: each its own
    special_input  of word: whether the teacher reads the word between its special tokens ([CLS], [SEP])
    special_mean   of word: whether those tokens' vectors are pooled with the word's
    unseen         a word that the text does not have: from the "frame", its "pieces" or "alone", or "drop"; see
                   `limbeck.distillation.predicting` for methods whose vectors are not the teacher's own
    repair         METHOD[:NAME=VALUE], see `limbeck.repairs.methods.parse_repair`, or a file or folder of fitted ones
    dim            dimensions to keep, by principal components; None: all
    weighting      "sif": a vector's length times a / (a + p), p the word's share of the text
    sif            a of sif
    keep           precision of the file: float32, float16 or int8
    start          of methods that train: the method whose vectors they begin from, or "none"; None: each its own
    train          settings of methods that train: {method: {name: value}}
    """

    methods: tuple[str, ...] = ("best",)
    min_count: int = 5
    max_words: int = 750_000
    case: str = "auto"
    over_contexts: str = "mean"
    max_contexts: int = 100
    templates: tuple[str, ...] | None = None
    special_input: bool = True
    special_mean: bool = False
    unseen: str = "frame"
    repair: str | None = None
    dim: int | None = None
    weighting: str = "none"
    sif: float = 1e-3
    keep: str = "float32"
    start: str | None = None
    train: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    deduplicate: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        for value, choices, what in (
            (self.over_contexts, CONTEXTS, "--over-contexts"),
            (self.unseen, UNSEEN, "--unseen"),
            (self.case, CASES, "--case"),
            (self.weighting, WEIGHTINGS, "--weighting"),
            (self.keep, KEPT, "--keep"),
        ):
            choose(value, choices, what=what)
        if self.templates == ():
            raise UsageError("--frame must be at least one sentence with {} in the word's place; got none.")
        for template in self.templates or ():
            if template.count("{}") != 1:
                raise UsageError(f"--frame must have {{}} once, in the word's place; got {template!r}.")
        if not self.special_input and self.special_mean:
            raise UsageError("special tokens that are not in the input cannot be in the mean: leave one of both out.")
        for name, least in (("min_count", 1), ("max_words", 1), ("max_contexts", 1)):
            if getattr(self, name) < least:
                raise UsageError(f"--{name.replace('_', '-')} must be at least {least}; got {getattr(self, name)}.")
        if self.dim is not None and self.dim < 1:
            raise UsageError(f"--dim must be at least 1; got {self.dim}.")
        if not self.sif > 0:
            raise UsageError(f"--sif must be above 0; got {self.sif}.")

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)
