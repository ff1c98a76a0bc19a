"""Classification as a kind of task of `limbeck evaluate`: see `limbeck.evaluation.suites`."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from limbeck.errors import UsageError
from limbeck.evaluation.classifying.catalogue import SENTENCES, all_tasks, find_some, load_table
from limbeck.evaluation.classifying.convolution import RUNS, convolve
from limbeck.evaluation.classifying.result import Classified, Summary, classify_table, epoch_table
from limbeck.evaluation.classifying.run import classify
from limbeck.evaluation.classifying.task import ClassifyTask, Examples
from limbeck.evaluation.settings import EvaluationSettings, ScoreSettings
from limbeck.evaluation.significance import Comparison
from limbeck.tables import Columns

if TYPE_CHECKING:
    from limbeck.encoders import Encoder
    from limbeck.evaluation.targets import TableTarget, Target

__all__ = ["compare", "find_some", "names", "scores", "sentence_names", "tables"]

BASELINE = "baseline"
LACKING = "scored all the same"  #: an example without a vector, with zeros in its place


@dataclass(frozen=True)
class ClassifyScore:
    """One setting of a result."""

    result: Classified
    setting: str
    target: str

    @cached_property
    def _summary(self) -> Summary:
        return self.result.summary(self.setting)

    @property
    def task(self) -> str:
        return self.result.task

    @property
    def metric(self) -> str:
        return self.result.metric

    @property
    def value(self) -> float:
        return self._summary.value

    @property
    def low(self) -> float:
        return self._summary.low

    @property
    def high(self) -> float:
        return self._summary.high

    @property
    def n(self) -> int:
        return len(self.result.gold)

    @property
    def coverage(self) -> float:
        """Share of the texts' words that have a vector; of encoders, share of examples that lack no vector.

        Of all examples, those of the training too.
        """
        if self.result.covered is not None:
            return self.result.covered
        examples = self.result.trained + self.result.held + self.n
        return 1 - sum(self.result.dropped.values()) / examples

    @property
    def word_coverage(self) -> float:
        """Share of the texts' words that a table has; NaN of encoders."""
        return math.nan if self.result.covered is None else self.result.covered

    @property
    def dropped(self) -> Mapping[str, int]:
        return self.result.dropped

    @property
    def notes(self) -> tuple[str, ...]:
        return self.result.notes


def names() -> list[str]:
    """All tasks that are known."""
    return list(all_tasks())


def sentence_names() -> list[str]:
    """Those of Gupta & Jaggi (2021)."""
    return list(load_table(SENTENCES))


def scores(
    task: ClassifyTask,
    target: Target,
    repairs: Mapping[str, Any],
    settings: EvaluationSettings,
    *,
    progress: bool = False,
) -> list[ClassifyScore]:
    """A score for each layer and repair.

    A vector file's words go through a convolution where a task has single texts (`convolve`); else a small network
    reads means of vectors (`classify`). Where no repair is asked for, a model is scored on the tasks of Rajaee &
    Pilehvar (2021) with theirs.
    """
    from limbeck.evaluation.targets import name_of, repair_for

    if task.name in sentence_names() and settings.starts is None:
        settings = replace(settings, starts=RUNS)
    convolving = takes_words(task, target, settings)
    data = task.read(settings.split, seed=settings.seed)
    if getattr(target, "lowercase", False):
        data = replace(data, train=_lowered(data.train), test=_lowered(data.test), dev=data.dev and _lowered(data.dev))
    published = task.name in load_table() and not is_table(target) and not any(repairs)
    found = []
    for layer in target.layers:
        own = {setting_of(name): repair_for(repair, layer, name) for name, repair in repairs.items()}
        chosen = None if published else own
        if convolving:
            result = convolve(data, cast("TableTarget", target), chosen, settings, progress=progress)
        else:
            result = classify(data, encoder_of(target), chosen, settings, layer=layer, progress=progress)
        result = replace(result, encoder=name_of(target, layer, ""))
        called = {setting_of(name): name for name in repairs}
        for setting in result.settings:
            named = name_of(target, layer, called.get(setting, setting))
            found.append(ClassifyScore(result, setting, named))
    return found


def is_table(target: Any) -> bool:
    return not hasattr(target, "encoder")


def takes_words(task: ClassifyTask, target: Any, settings: EvaluationSettings) -> bool:
    """Whether a target's words go through a convolution."""
    asked = settings.classifier
    able = is_table(target) and task.kind == "single"
    if asked == "cnn" and not able:
        what = f"{target.name} is a model" if not is_table(target) else f"{task.name} has {task.kind}s"
        raise UsageError(
            f"A convolution reads single texts of vector files, {what}: omit --classifier.",
            code="unsupported",
            parameter="classifier",
        )
    return able and asked != "mlp" and (asked == "cnn" or settings.features is None)


def setting_of(name: str) -> str:
    """What results call a repair, or "" for the vectors as they are: they have a name of their own there.

    >>> setting_of(""), setting_of("center"), setting_of("baseline")
    ('baseline', 'center', 'baseline, repaired')
    """
    return f"{name}, repaired" if name == BASELINE else name or BASELINE


def compare(a: ClassifyScore, b: ClassifyScore, asked: ScoreSettings) -> Comparison:
    """How much higher the first score is."""
    return a.result.compare(a.setting, b.setting, than=b.result, draws=asked.draws)


def tables(scores: Sequence[ClassifyScore]) -> dict[str, Columns]:
    """classify.csv and epochs.csv."""
    results = list({id(score.result): score.result for score in scores}.values())
    return {"classify.csv": classify_table(results), "epochs.csv": epoch_table(results)}


def encoder_of(target: Any) -> Encoder:
    """What gives a target's vectors; a table's words are looked up, and those that it lacks are left out."""
    if hasattr(target, "encoder"):
        encoder: Encoder = target.encoder
        return encoder
    from limbeck.encoders import TableEncoder

    return TableEncoder(target.vectors, name=target.name, lower=target.case != "keep")


def _lowered(examples: Examples) -> Examples:
    return replace(examples, texts=tuple([text.lower() for text in side] for side in examples.texts))
