"""The scores of an evaluation, how they compare, what must be known of them, and the tables of its folder."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from limbeck.errors import choose
from limbeck.evaluation.items import items_table
from limbeck.evaluation.means import out_of_means
from limbeck.evaluation.settings import ScoreSettings
from limbeck.evaluation.significance import draws_for, holm
from limbeck.evaluation.suites import Scored, Scores, Suite, averaged
from limbeck.evaluation.sweeping import different_texts
from limbeck.evaluation.targets import ModelTarget, Target, name_of
from limbeck.evaluation.task import Pairs
from limbeck.runs.evaluating.repairs import fitted_repairs, other_units, repairs_by_name, tuned_repairs
from limbeck.stream.progress import Progress
from limbeck.tables import Columns, columns_of

if TYPE_CHECKING:
    from limbeck.evaluation.tuning import Tuning
    from limbeck.runs.evaluate import EvaluateRun
    from limbeck.stream.context import RunContext

ALL_PAIRS = 4  #: with more columns than this each is compared with one only


@dataclass(frozen=True)
class Evaluated:
    """All scores of an evaluation, their comparisons, how repairs were tuned, and notes about targets and repairs."""

    scores: Scores
    compared: Sequence[Mapping[str, Any]]
    tuned: Sequence[Tuning]
    notes: Sequence[str]


def evaluate_targets(run: EvaluateRun, targets: Sequence[Target], context: RunContext) -> Evaluated:
    """Every target on every task, at every layer and after every repair, compared."""
    if context.progress:
        targets = [replace(one, progress=True) if isinstance(one, ModelTarget) else one for one in targets]
    paths = run.repairs.repair
    fitted_on_text = fitted_repairs(paths, targets)
    notes = [f"{target.name}: {note}" for target in targets for note in getattr(target, "notes", ())]
    notes += other_units(paths, targets, fitted_on_text)
    tuned: list[Tuning] = []
    repairs: list[dict[str, Any]] = []
    for target, fitted in zip(targets, fitted_on_text, strict=True):
        found: list[Tuning] = []
        if run.development is not None:
            context.notify(f"{target.name}: tuning on {run.development.name}")
            found = tune_layers(target, run.development, run)
        tuned += found
        chosen = tuned_repairs(found, run.scores.seed)
        repairs.append(repairs_by_name(fitted=fitted, on_the_task=run.unfitted, tuned=chosen))
    if run.scores.against is not None and not run.scope.learns:
        both = zip(targets, repairs, strict=True)
        names = [name_of(target, layer, repair) for target, own in both for layer in target.layers for repair in own]
        choose(run.scores.against, names, what="--against")
    scores: Scores = []
    for suite, task in run.found:
        columns: list[Scored] = []
        for target, own in zip(targets, repairs, strict=True):
            context.notify(f"{target.name}: {task.name}")
            columns += suite.scores(task, target, own, run.evaluation, progress=context.progress)
        scores.append((suite, columns))
    scores += averaged(scores, run.scores)
    return Evaluated(scores, comparisons(scores, run.scores, progress=context.progress), tuned, notes)


def tune_layers(target: Target, pairs: Pairs, run: EvaluateRun) -> list[Tuning]:
    """Every layer of a target tuned, from one pass."""
    from limbeck.evaluation.tuning import tune  # scikit-learn is needed for repairs only

    rows = target.rows(different_texts(pairs)[0])
    return [tune(pairs, target, run.tuning, scores=run.scores, layer=layer, rows=rows) for layer in target.layers]


def comparisons(scores: Scores, asked: ScoreSettings, *, progress: bool = False) -> list[dict[str, Any]]:
    """Every two columns of every task with Holm's correction over all; each and the one that `against` names, or with
    many columns each and the first."""
    several: list[tuple[Suite, Scored, Scored]] = []
    for suite, columns in scores:
        pairs = list(combinations(columns, 2))
        if asked.against is not None or len(columns) > ALL_PAIRS:
            names = [column.target for column in columns]
            one = columns[0 if asked.against is None else names.index(choose(asked.against, names, what="--against"))]
            pairs = [(one, other) for other in columns if other is not one]
        several += [(suite, *pair) for pair in pairs]
    asked = replace(asked, draws=draws_for(len(several), asked.draws))
    rows: list[dict[str, Any]] = []
    with Progress("comparing", total=len(several), unit="pairs", show=progress and bool(several)) as shown:
        for suite, one, other in several:
            found = suite.compare(other, one, asked)  # positive: the later one, a repair say, is higher
            facts = {**asdict(found), "draws": asked.draws}
            rows.append({"task": one.task, "target": other.target, "other": one.target, **facts})
            shown.advance(1)
    for row, adjusted in zip(rows, holm([row["p"] for row in rows]), strict=True):
        row["p_holm"] = adjusted
    return rows


def notes_of(scores: Scores) -> list[str]:
    """What must be known of the tasks and scores, and what was left out, each once."""
    found: dict[str, dict[str, None]] = {}  # what is said, of which tasks
    empty = {columns[0].task for _, columns in scores if all(score.n == 0 for score in columns)}
    for suite, columns in scores:
        task = columns[0].task
        for note in (note for score in columns for note in score.notes):
            found.setdefault(note, {})[task] = None
        if (left_out := left_out_of(columns)) and task not in empty:  # of these the first note says all
            found.setdefault(f"{suite.lacking}: {left_out}", {})[task] = None
    for task, why in out_of_means(scores):
        if task not in empty:
            found.setdefault(f"left out of the mean over tasks: {why}", {})[task] = None
    return [f"{', '.join(tasks)}: {note}" for note, tasks in found.items()]


def left_out_of(columns: Sequence[Scored]) -> str:
    """What a task's columns lack, by reason: the least and the most, since each one's n stands in the table."""
    found = []
    for reason in dict.fromkeys(reason for score in columns for reason in score.dropped):
        numbers = [score.dropped.get(reason, 0) for score in columns]
        least, most = min(numbers), max(numbers)
        found.append(f"{most:,} ({reason})" if least == most else f"{least:,} to {most:,} by target ({reason})")
    return "; ".join(found)


def tables_of(evaluated: Evaluated) -> dict[str, Columns]:
    """The tables of the folder by the names of their files, undefined numbers as NaN."""
    made: dict[str, Columns] = {}
    by_maker: dict[Any, list[Scored]] = {}  # kinds that share their tables write into one
    for suite, columns in evaluated.scores:
        by_maker.setdefault(suite.tables, []).extend(columns)
    for make, every_column in by_maker.items():
        made |= {name.removesuffix(".csv"): table for name, table in make(every_column).items()}
    if evaluated.compared:
        made["comparisons"] = columns_of(evaluated.compared)
    if evaluated.tuned:
        tables = [one.table() for one in evaluated.tuned]
        made["tuning"] = {name: [value for table in tables for value in table[name]] for name in tables[0]}
    found: dict[str, Columns] = {
        name: {column: [math.nan if value is None else value for value in values] for column, values in table.items()}
        for name, table in made.items()
    }
    items = items_table(score for _, columns in evaluated.scores for score in columns)
    return {**found, "items": items} if items["task"] else found
