"""What an evaluation prints at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from limbeck.cli.evaluate_classify import classified_table
from limbeck.cli.output import console as make_console
from limbeck.cli.output import tell
from limbeck.evaluation.averages import averages, out_of_means
from limbeck.evaluation.significance import ALPHA, smallest_p

if TYPE_CHECKING:
    from limbeck.evaluation.suites import Scored, Suite
    from limbeck.evaluation.tuning import Tuning


#: what --json says of a score
TOLD = ("task", "target", "metric", "value", "low", "high", "n", "coverage", "word_coverage", "dropped")


def print_summary(
    scores: Sequence[tuple[Suite, Sequence[Scored]]],
    compared: Sequence[Mapping[str, Any]],
    tuned: Sequence[Tuning],
    out: Path | None,
    *,
    draws: int,
) -> None:
    """Scores task by task, averages by kind of task, differences from the first column, what was tuned.

    draws  that were asked for; comparisons may have taken more
    """
    tell(
        scores=[{name: getattr(score, name) for name in TOLD} for _, columns in scores for score in columns],
        comparisons=list(compared),
        notes=notes_of(scores),
        out=out,
    )
    console = make_console()
    for one in tuned:
        console.print(tuned_table(one), markup=False)
    first = compared[0]["other"] if compared else ""  # the one that all others are compared with
    shown = [row for row in compared if row["other"] == first]
    console.print(score_table(scores, shown), markup=False)
    if averaged := averages(scores):
        console.print(average_table(averaged), markup=False)
    if classified := classified_table([score for _, columns in scores for score in columns]):
        console.print(classified, markup=False)
    if shown:
        kept = out is not None
        console.print(comparison_table(shown, first, len(compared), asked=draws, kept=kept), markup=False)
    for note in notes_of(scores):
        console.print(note, markup=False, highlight=False, soft_wrap=True)
    if out is not None:
        files = ", ".join(sorted(f"{path.name}/" if path.is_dir() else path.name for path in out.iterdir()))
        console.print(f"{out}: {files}", markup=False, highlight=False, soft_wrap=True)


def notes_of(scores: Sequence[tuple[Suite, Sequence[Scored]]]) -> list[str]:
    """What must be known of the tasks and scores, and what was left out, each once."""
    found: list[str] = []
    for suite, columns in scores:
        for score in columns:
            found += [f"{score.task}: {note}" for note in score.notes]
        if left_out := left_out_of(columns):
            found.append(f"{columns[0].task}: {suite.lacking}: {left_out}")
    found += [f"{task}: left out of the mean over tasks: {why}" for task, why in out_of_means(scores)]
    return list(dict.fromkeys(found))


def left_out_of(columns: Sequence[Scored]) -> str:
    """What a task's columns lack, by reason: the least and the most, since each one's n stands in the table."""
    told = []
    for reason in dict.fromkeys(reason for score in columns for reason in score.dropped):
        numbers = [score.dropped.get(reason, 0) for score in columns]
        least, most = min(numbers), max(numbers)
        told.append(f"{reason} {most:,}" if least == most else f"{reason} {least:,} to {most:,}, by target")
    return "; ".join(told)


def score_table(scores: Sequence[tuple[Suite, Sequence[Scored]]], compared: Sequence[Mapping[str, Any]] = ()) -> Table:
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
