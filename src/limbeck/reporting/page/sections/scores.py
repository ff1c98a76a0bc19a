"""Evaluations: scores with intervals, and which differences are significant."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from limbeck.reporting.page.folders import Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded
from limbeck.reporting.page.tables import tables_of

TUNING, EPOCHS = "tuning", "epochs"


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """A row a task and target, the comparisons, and how repairs were tuned and classifiers trained."""
    own = [folder for folder in folders if folder.kind == "evaluate"]
    rows = [row for folder in own for row in (*_scored(folder), *_classified(folder))]
    rows += [row for folder in folders if folder.kind == "distill" for row in _distilled(folder)]
    compared = [row for folder in own for row in _compared(folder)]
    made = [{"run": folder.name, "tables": tables_of(folder, (TUNING, EPOCHS), pack, share)} for folder in own]
    made = [one for one in made if one["tables"]]
    return {"title": "Evaluation", "rows": rows, "compared": compared, "made": made} if rows or made else None


def _scored(folder: Folder) -> Iterator[dict[str, Any]]:
    """Of each target and task the score by the metric and aggregation that were asked for, over all subsets."""
    table = folder.table("scores.csv", "target", "task", "subset", "metric", "aggregation", "value", "low", "high", "n")
    if table is None:
        return
    options = folder.account.get("options") or {}
    columns = {
        name: rounded(numbers(table[name]))
        for name in ("value", "low", "high", "n", "coverage", "word_coverage")
        if name in table
    }
    wanted = {name: options.get(name) for name in ("metric", "aggregation")}
    best: dict[tuple[str, str], int] = {}  # target and task -> the row that fits them best, of equals the first
    fits = [sum(table[name][row] == wish for name, wish in wanted.items()) for row in range(len(table["task"]))]
    for row, key in enumerate(zip(table["target"], table["task"], strict=True)):
        if not table["subset"][row] and (key not in best or fits[row] > fits[best[key]]):
            best[key] = row
    for key, row in best.items():
        yield {
            "run": folder.name,
            "group": folder.name,
            "task": key[1],
            "target": key[0],
            "metric": table["metric"][row],
            **{name: column[row] for name, column in columns.items()},
            "note": "; ".join(filter(None, (table.get(name, [""] * (row + 1))[row] for name in ("dropped", "note")))),
        }


def _classified(folder: Folder) -> Iterator[dict[str, Any]]:
    table = folder.table("classify.csv", "target", "task", "setting", "metric", "value", "low", "high", "n")
    if table is None:
        return
    columns = {
        name: rounded(numbers(table[name])) for name in ("value", "low", "high", "n", "word_coverage") if name in table
    }
    for row, setting in enumerate(table["setting"]):
        yield {
            "run": folder.name,
            "group": folder.name,
            "task": table["task"][row],
            "target": table["target"][row] if setting in ("", "baseline") else f"{table['target'][row]} + {setting}",
            "metric": table["metric"][row],
            **{name: column[row] for name, column in columns.items()},
            "note": table.get("note", [""] * (row + 1))[row],
        }


def _distilled(folder: Folder) -> Iterator[dict[str, Any]]:
    """Scores that distilling has kept of its vectors; those of several methods stand in one figure."""
    for score in folder.account.get("scores") or []:
        numbers_of = {
            name: rounded([score.get(name, math.nan)])[0] for name in ("value", "low", "high", "n", "coverage")
        }
        told = {"run": folder.name, "group": "distilled vectors", "target": folder.name, "note": ""}
        yield told | {name: str(score.get(name, "")) for name in ("task", "metric")} | numbers_of


def _compared(folder: Folder) -> Iterator[dict[str, Any]]:
    table = folder.table("comparisons.csv", "task", "target", "other", "difference", "low", "high", "p", "p_holm")
    if table is None:
        return
    columns = {name: rounded(numbers(table[name])) for name in ("difference", "low", "high", "p", "p_holm")}
    for row, task in enumerate(table["task"]):
        told = {"run": folder.name, "task": task, "target": table["target"][row], "other": table["other"][row]}
        yield told | {name: column[row] for name, column in columns.items()}
