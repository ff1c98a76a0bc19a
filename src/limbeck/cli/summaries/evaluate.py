"""What an evaluation prints at its end."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table

from limbeck.cli.output import say, tell
from limbeck.evaluation.means import averages
from limbeck.evaluation.significance import ALPHA, smallest_p
from limbeck.runs.evaluate import EvaluateResult, EvaluateRun
from limbeck.tables import rows_of

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scores
    from limbeck.evaluation.tuning import Tuning


#: what --json says of a score
TOLD = ("task", "target", "metric", "value", "low", "high", "n", "coverage", "word_coverage", "dropped")


def show(result: EvaluateResult, run: EvaluateRun) -> None:
    """Scores task by task, averages by kind of task, differences from the first column, what was tuned."""
    for note in result.record["target_notes"]:
        print(f"limbeck: note: {note}", file=sys.stderr)
    scores, out = result.scored, run.output.out
    compared = rows_of(result.comparisons)
    tell(
        scores=[{name: getattr(score, name) for name in TOLD} for _, columns in scores for score in columns],
        comparisons=compared,
        notes=result.record["notes"],
        out=out,
    )
    for one in result.tuned:
        say(tuned_table(one))
    first = compared[0]["other"] if compared else ""  # the one that all others are compared with
    shown = [row for row in compared if row["other"] == first]
    say(score_table(scores, shown))
    if averaged := averages(scores):
        say(average_table(averaged))
    if classified := classified_table([score for _, columns in scores for score in columns]):
        say(classified)
    if shown:
        asked, kept = run.scores.draws, out is not None
        say(comparison_table(shown, first, len(compared), asked=asked, kept=kept))
    say(*result.record["notes"])
    if out is not None:
        files = ", ".join(sorted(f"{path.name}/" if path.is_dir() else path.name for path in out.iterdir()))
        say(f"{out}: {files}")


def score_table(scores: Scores, compared: Sequence[Mapping[str, Any]] = ()) -> Table:
    """All scores; those that differ from the one they are compared with are marked."""
    marked = {(row["task"], row["target"]) for row in compared if row["p_holm"] < ALPHA}
    of_words = any(math.isfinite(score.word_coverage) for _, columns in scores for score in columns)
    words = ("words found",) if of_words else ()
    table = _table("", "task", "target", "metric", "score", "95 % interval", "n", "coverage", *words)
    for _, columns in scores:
        for place, score in enumerate(columns):
            table.add_row(
                score.task if not place else "",
                score.target,
                score.metric,
                number(score.value) + (" *" if (score.task, score.target) in marked else "  " if marked else ""),
                interval(score.low, score.high),
                f"{score.n:,}",
                f"{100 * score.coverage:.1f} %",
                *((share(score.word_coverage),) if of_words else ()),
                end_section=place == len(columns) - 1,
            )
    if marked:
        told = f"* differs from {compared[0]['other']} on what both have: p (Holm) < {ALPHA}"
        table.caption, table.caption_justify = told, "left"
    return table


def share(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else ""


def average_table(averaged: Mapping[tuple[str, str, str], tuple[float, int]]) -> Table:
    table = _table("mean over tasks", "kind", "metric", "target", "score", "tasks")
    for (group, metric, target), (mean, tasks) in averaged.items():
        table.add_row(group, metric, target, number(mean), str(tasks))
    return table


def classified_table(scores: Sequence[Any]) -> Table | None:
    """Macro-F1 and accuracy of all runs, a row a task and target, and their means over tasks; None without any."""
    from limbeck.evaluation.classifying.result import mean_over_tasks
    from limbeck.evaluation.classifying.suite import ClassifyScore
    from limbeck.evaluation.means import FEWEST

    classified = [score for score in scores if isinstance(score, ClassifyScore)]
    if not classified:
        return None
    table = Table(title="classification: mean ± standard deviation over runs, in %", title_justify="left")
    for column in ("task", "target", "macro-F1", "accuracy", "runs"):
        table.add_column(column, justify="left" if column in ("task", "target") else "right")
    before = ""
    for score in classified:
        runs = [score.result.run_scores(score.setting, metric=metric) for metric in ("macro-f1", "accuracy")]
        name = "" if score.task == before else score.task
        table.add_row(name, score.target, *(spread(values) for values in runs), str(len(runs[0])))
        before = score.task
    enough = [score for score in classified if score.n >= FEWEST]  # the others are named in the notes
    for place, (target, (tasks, *means)) in enumerate(mean_over_tasks(enough).items()):
        name = "" if place else f"mean of {tasks}"
        table.add_row(name, target, *(spread(values) for values in means), str(len(means[0])))
    return table


def spread(values: Any) -> str:
    """Per cent: 83.6 ± 0.4."""
    return f"{100 * values.mean():.1f}" + (f" ± {100 * values.std(ddof=1):.1f}" if len(values) > 1 else "")


def comparison_table(
    rows: Sequence[Mapping[str, Any]], first: str, all_rows: int, *, asked: int, kept: bool = False
) -> Table:
    """Differences from the first; it tells where those between others are, `kept` in a folder or not."""
    draws = rows[0]["draws"]
    raised = f" raised from {asked:,} for" if draws > asked else ""
    told = (
        f"difference from {first}; p by paired bootstrap of {draws:,} draws,{raised} Holm's correction over all "
        f"{all_rows:,} comparisons"
    )
    if (least := smallest_p(draws) * all_rows) > ALPHA:
        told += f", which leaves none below {min(least, 1):.2f}: more --draws would"
    if others := all_rows - len(rows):
        be, where = "is" if others == 1 else "are", "in comparisons.csv" if kept else "kept with --out"
        told += f"; the {others:,} between others {be} {where}"
    table = _table(told, "task", "target", "difference", "95 % interval", "n", "p", "p (Holm)")
    for row in rows:
        table.add_row(
            row["task"],
            row["target"],
            "-" if math.isnan(row["difference"]) else f"{row['difference']:+.3f}",
            interval(row["low"], row["high"]),
            f"{row['n']:,}",
            p_value(row["p"]),
            p_value(row["p_holm"]),
        )
    return table


def tuned_table(one: Tuning) -> Table:
    """The best settings beside the vectors as they are."""
    told = f"{one.target}, layer {one.layer}: tuned on {one.task} ({len(one.seeds)} seeds)"
    table = _table(told, "setting", "clusters", "components", one.metric)
    table.add_row("as they are", "", "", number(one.baseline))
    for clustered, name in ((False, "best global"), (True, "best cluster")):
        if any((k != 1) == clustered for k in one.clusters):
            clusters, components = one.best(clustered=clustered)
            value = one.means[one.clusters.index(clusters), one.components.index(components)]
            table.add_row(name, str(clusters), str(components), number(value))
    return table


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title or None, title_justify="left")
    for name in columns:
        table.add_column(name, justify="left" if name in ("task", "target", "metric", "kind", "setting") else "right")
    return table


def interval(low: float, high: float) -> str:
    return "-" if math.isnan(low) or math.isnan(high) else f"[{low:.3f}, {high:.3f}]"


def p_value(value: float) -> str:
    return "< 0.001" if value < 0.001 else number(value)


def number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3f}"
