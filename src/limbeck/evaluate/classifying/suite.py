"""Classification as a kind of task of `limbeck evaluate`: see `limbeck.evaluate.suites`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from limbeck.evaluate.classifying.catalogue import find_some, load_table
from limbeck.evaluate.classifying.result import Classified, Summary, classify_table, epoch_table
from limbeck.evaluate.classifying.run import classify
from limbeck.evaluate.classifying.task import ClassifySet, ClassifyTask, Examples
from limbeck.evaluate.significance import Comparison
from limbeck.tables import Columns

if TYPE_CHECKING:
    from limbeck.encoders import Encoder
    from limbeck.evaluate.suites import Wishes
    from limbeck.evaluate.targets import Target

__all__ = ["compare", "find_some", "names", "scores", "tables"]

BASELINE = "baseline"


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
        """Share of all examples, those of the training too, that have all the vectors they should have."""
        examples = self.result.trained + self.result.held + self.n
        return 1 - sum(self.result.dropped.values()) / examples

    @property
    def dropped(self) -> Mapping[str, int]:
        return self.result.dropped

    @property
    def notes(self) -> tuple[str, ...]:
        return self.result.notes


def names() -> list[str]:
    """All tasks that are known."""
    return list(load_table())


def scores(task: ClassifyTask, target: Target, repairs: Mapping[str, Any], wishes: Wishes) -> list[ClassifyScore]:
    """A score for each layer and repair; where no repair is asked for, those of Rajaee & Pilehvar (2021)."""
    from limbeck.evaluate.sweeping import name_of
    from limbeck.evaluate.targets import repair_for

    encoder = encoder_of(target)
    options = dict(wishes.classify)
    data = task.read(options.pop("split", None))
    if getattr(target, "lowercase", False):
        data = replace(data, train=_lowered(data.train), test=_lowered(data.test))
    found = []
    for layer in target.layers:
        own = {setting_of(name): repair_for(repair, layer, name) for name, repair in repairs.items()}
        result = _named(data, encoder, target, layer, own if any(repairs) else None, wishes, options)
        called = {setting_of(name): name for name in repairs}
        for setting in result.settings:
            named = name_of(target, layer, called.get(setting, setting))
            found.append(ClassifyScore(result, setting, named))
    return found


def setting_of(name: str) -> str:
    """What results call a repair, or "" for the vectors as they are: they have a name of their own there.

    >>> setting_of(""), setting_of("center"), setting_of("baseline")
    ('baseline', 'center', 'baseline, repaired')
    """
    return f"{name}, repaired" if name == BASELINE else name or BASELINE


def compare(a: ClassifyScore, b: ClassifyScore, wishes: Wishes) -> Comparison:
    """How much higher the first score is."""
    return a.result.compare(a.setting, b.setting, than=b.result, draws=wishes.draws)


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


def _named(
    data: ClassifySet,
    encoder: Encoder,
    target: Target,
    layer: str,
    repairs: Mapping[str, Any] | None,
    wishes: Wishes,
    options: Mapping[str, Any],
) -> Classified:
    from limbeck.evaluate.sweeping import name_of

    result = classify(
        data,
        encoder,
        repairs=repairs,
        layer=layer,
        draws=wishes.draws,
        seed=wishes.seed,
        progress=wishes.progress,
        **options,
    )
    return replace(result, encoder=name_of(target, layer, ""))


def _lowered(examples: Examples) -> Examples:
    return replace(examples, texts=tuple([text.lower() for text in side] for side in examples.texts))
