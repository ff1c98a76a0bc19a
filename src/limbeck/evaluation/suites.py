"""Kinds of tasks, as `limbeck evaluate` knows them: which are there, how a target does, how two targets compare.

A new kind is one more entry of SUITES. Its scores need what the command shows of them, see `Scored`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from limbeck.errors import choose
from limbeck.evaluation.catalogue import find_some, load_table
from limbeck.evaluation.classifying import suite as classifying
from limbeck.evaluation.evaluation import compare
from limbeck.evaluation.item_score import compare_items
from limbeck.evaluation.means import compare_means, means_of_five
from limbeck.evaluation.score import Score, table
from limbeck.evaluation.settings import EvaluationSettings, ScoreSettings
from limbeck.evaluation.significance import Comparison
from limbeck.evaluation.sweeping import sweep
from limbeck.evaluation.targets import Target
from limbeck.evaluation.word_suite import word_scores
from limbeck.evaluation.word_task import WORD_KINDS, WordKind, find_word_tasks, load_word_table
from limbeck.tables import Columns

#: the sets that papers average over; their development and training parts are asked for by name
STS = ("sts12", "sts13", "sts14", "sts15", "sts16", "sts-b", "sick-r")


class Scored(Protocol):
    """What every kind's score has: of one target, at one layer, after one repair."""

    @property
    def task(self) -> str: ...
    @property
    def target(self) -> str: ...
    @property
    def metric(self) -> str: ...
    @property
    def value(self) -> float: ...
    @property
    def low(self) -> float: ...
    @property
    def high(self) -> float: ...
    @property
    def n(self) -> int: ...
    @property
    def coverage(self) -> float: ...
    @property
    def word_coverage(self) -> float: ...
    @property
    def dropped(self) -> Mapping[str, int]: ...
    @property
    def notes(self) -> tuple[str, ...]: ...


class Scoring(Protocol):
    """How a kind of task scores a target on one of them: each layer, after each of the repairs, which have names."""

    def __call__(
        self,
        task: Any,
        target: Target,
        repairs: Mapping[str, Any],
        settings: EvaluationSettings,
        *,
        progress: bool = False,
    ) -> Sequence[Scored]: ...


@dataclass(frozen=True)
class Suite:
    """A kind of task.

    group    what --tasks calls all of it
    names    its tasks, all that are known; `members` of them belong to the group
    find     (folder, needed, others) -> tasks by name: all of `needed`, those of `others` that are there; where one is
             missing that is needed, or all, an InputError that names the files looked for
    scores   a score for each layer and repair, see `Scoring`
    compare  how much higher the first of two scores of one task is, by so many draws of that seed
    tables   files of a run folder, by name: their columns, from all scores
    lacking  what became of items that a score counts as `dropped`, for people
    """

    group: str
    names: Callable[[], Sequence[str]]
    members: Callable[[], Sequence[str]]
    find: Callable[[Path, Sequence[str], Sequence[str]], Mapping[str, Any]]
    scores: Scoring
    compare: Callable[[Any, Any, ScoreSettings], Comparison]
    tables: Callable[[Sequence[Any]], Mapping[str, Columns]]
    lacking: str = "left out"


#: of each task the columns of its table: its target's scores at every layer, after every repair
Scores = list[tuple[Suite, Sequence[Scored]]]


def find_tasks(
    data: Path, asked: Sequence[str], *, suites: Sequence[Suite] | None = None, option: str = "--tasks"
) -> list[tuple[Suite, Any]]:
    """The tasks asked for by name or group, with their suites. Of a group those that are there, at least one.

    Each comes once, however often it is named. Groups come in the order of SUITES, tasks in that of their tables.
    """
    suites = SUITES if suites is None else suites
    known = [name for suite in suites for name in [suite.group, *suite.names()]]
    for name in asked:
        choose(name, known, what=option)
    found: dict[str, tuple[Suite, Any]] = {}  # a task that is in two groups belongs to the first
    for suite in suites:
        needed = [name for name in suite.names() if name in asked]
        others = list(suite.members()) if suite.group in asked else []
        if needed or others:
            tasks = suite.find(data, needed, others)
            found |= {name: (suite, task) for name, task in tasks.items() if name not in found}
    return list(found.values())


def _of_kind(kind: str) -> Callable[[], Sequence[str]]:
    return lambda: [name for name, layouts in load_table().items() if layouts[0].kind == kind]


def _compare(a: Any, b: Any, asked: ScoreSettings) -> Comparison:
    return compare(a, b, draws=asked.draws, seed=asked.seed)


def _tables(scores: Sequence[Any]) -> Mapping[str, Columns]:
    return {"scores.csv": table(scores)}


def _word_suite(kind: WordKind) -> Suite:
    def names() -> Sequence[str]:
        return [name for name, layouts in load_word_table().items() if layouts[0].kind == kind]

    def compare(a: Any, b: Any, asked: ScoreSettings) -> Comparison:
        return compare_items(a, b, draws=asked.draws, seed=asked.seed)

    def members() -> Sequence[str]:
        return [name for name in names() if not name.endswith("-all")]  # which hold another task

    return Suite(kind, names, members, find_word_tasks, word_scores, compare, _tables)


def averaged(scores: Scores, asked: ScoreSettings) -> Scores:
    """The mean over the five sets that papers average over, as one more row of the table, where all five are there."""
    found = [score for _, columns in scores for score in columns if isinstance(score, Score)]
    means: list[Scored] = [*means_of_five(found, draws=asked.draws, seed=asked.seed)]

    def compare(a: Any, b: Any, asked: ScoreSettings) -> Comparison:
        return compare_means(a, b, draws=asked.draws, seed=asked.seed)

    def nothing(*_: Any, **__: Any) -> Any:
        raise NotImplementedError("a mean is made of scores, not of files")

    suite = Suite("mean", lambda: (), lambda: (), nothing, nothing, compare, _tables)
    return [(suite, means)] if means else []


SUITES: tuple[Suite, ...] = (
    Suite("sts", _of_kind("sts"), lambda: STS, find_some, sweep, _compare, _tables),
    Suite("wordsim", _of_kind("wordsim"), _of_kind("wordsim"), find_some, sweep, _compare, _tables),
    *(_word_suite(kind) for kind in WORD_KINDS),
    Suite(
        "classify",
        classifying.names,
        classifying.names,
        classifying.find_some,
        classifying.scores,
        classifying.compare,
        classifying.tables,
        classifying.LACKING,
    ),
    Suite(  # a second name for some of the tasks above
        "classify-sentences",
        lambda: (),
        classifying.sentence_names,
        classifying.find_some,
        classifying.scores,
        classifying.compare,
        classifying.tables,
        classifying.LACKING,
    ),
)
