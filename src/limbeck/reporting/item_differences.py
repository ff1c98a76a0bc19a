"""Two runs of `limbeck evaluate`: tasks that both have, paired over the items that both were scored on."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.errors import InputError, UsageError
from limbeck.evaluation.evaluation import compare as compare_correlations
from limbeck.evaluation.item_score import ItemScore, compare_items
from limbeck.evaluation.items import COLUMNS
from limbeck.evaluation.score import Estimate, Score
from limbeck.evaluation.significance import draws_for
from limbeck.reporting.differences import Differences, Row, account_of, judged
from limbeck.tables import read_parquet

UNKNOWN = Estimate(math.nan, math.nan, math.nan, 0, 0, math.nan)


def compare_scores(a: Path, b: Path, *, draws: int, seed: int) -> Differences:
    """See `limbeck.reporting.differences.differences_between`."""
    (names_a, first), (names_b, second) = read_scores(a), read_scores(b)
    columns = match_columns(names_a, names_b, [target for _, target in first], [target for _, target in second])
    pairs = [
        (first[task, one], second[task, columns[one]])
        for task, one in first
        if one in columns and (task, columns[one]) in second
    ]
    if not pairs:
        raise UsageError(
            f"Two runs are compared on tasks that both have; {a} has {_told(first)} and {b} has {_told(second)}: "
            "evaluate both on the same.",
            code="not_comparable",
        )
    draws = draws_for(len(pairs), draws)
    rows = [_row(one, other, draws=draws, seed=seed) for one, other in pairs]
    called = (names_a[0], names_b[0]) if len(names_a) == len(names_b) == 1 else (str(a), str(b))
    called = called if called[0] != called[1] else (str(a), str(b))
    return Differences("evaluate", *called, rows=judged(rows), notes=tuple(_notes(pairs)))


def read_scores(folder: Path) -> tuple[list[str], dict[tuple[str, str], Score | ItemScore]]:
    """Names of a run's targets, and its scores by task and column, with their items."""
    account = account_of(folder)
    path = folder / "items.parquet"
    try:
        table = read_parquet(path, COLUMNS).to_pydict()
    except (OSError, ValueError) as error:
        raise InputError(
            f"{path}: scores are paired item by item, and this file has them; it is not there or not whole "
            f"({type(error).__name__}): evaluate again (classification has no items).",
            code="not_comparable",
        ) from error
    cells = {name: np.array(values, dtype=object) for name, values in table.items()}
    found: dict[tuple[str, str], Score | ItemScore] = {}
    where: dict[tuple[str, str], list[int]] = {}
    for place, key in enumerate(zip(table["task"], table["target"], strict=True)):
        where.setdefault(key, []).append(place)
    for key, places in where.items():
        found[key] = _score({name: values[places] for name, values in cells.items()})
    names = [str(target.get("name", "")) for target in account.get("targets", [])]
    return names, found


def match_columns(a: list[str], b: list[str], columns_a: list[str], columns_b: list[str]) -> dict[str, str]:
    """Which column of a goes with which of b: those of the same name; of runs of one target each, those that differ
    in the target's name alone.

    >>> match_columns(["x"], ["y"], ["x layer 1", "x layer 1 + center"], ["y layer 1"])
    {'x layer 1': 'y layer 1'}
    """
    there = set(columns_b)
    if len(a) == len(b) == 1 and a[0] != b[0]:
        renamed = {one: b[0] + one.removeprefix(a[0]) for one in columns_a if one.startswith(a[0])}
        return {one: other for one, other in renamed.items() if other in there}
    return {one: one for one in columns_a if one in there}


def _score(cells: Mapping[str, Any]) -> Score | ItemScore:
    """A score as far as comparing needs it."""
    rows = cells["item"].astype(np.int64)
    values = cells["value"].astype(np.float64)
    gold = cells["gold"].astype(np.float64)
    same: dict[str, Any] = {
        "task": str(cells["task"][0]),
        "target": str(cells["target"][0]),
        "metric": str(cells["metric"][0]),
        "aggregation": str(cells["aggregation"][0]),
        "value": math.nan,
        "low": math.nan,
        "high": math.nan,
        "n": len(rows),
        "total": int(cells["total"][0]),
        "coverage": math.nan,
        "dropped": {},
        "settings": {},
        "notes": (),
        "rows": rows,
    }
    if np.isnan(gold).all():
        return ItemScore(**same, estimates={}, outcomes=values)
    subsets = [str(name) for name in cells["subset"]]
    estimates: dict[Any, Estimate] = {
        (same["metric"], "pooled", name): UNKNOWN for name in dict.fromkeys(subsets) if name
    }
    return Score(**same, estimates=estimates, similarity=values, gold=gold, subset_of=np.array(subsets, dtype=np.str_))


def _row(a: Score | ItemScore, b: Score | ItemScore, *, draws: int, seed: int) -> Row:
    if isinstance(a, Score) and isinstance(b, Score):
        found = compare_correlations(b, a, draws=draws, seed=seed)
    elif isinstance(a, ItemScore) and isinstance(b, ItemScore):
        found = compare_items(b, a, draws=draws, seed=seed)
    else:
        raise UsageError(
            f"Two scores of one kind are compared, got two of {a.task}: evaluate both alike.", code="not_comparable"
        )
    sides = _values(a, b)
    return {
        "measure": a.task,
        "part": a.metric,
        "layer_a": a.target,
        "layer_b": b.target,
        "a": sides[0],
        "b": sides[1],
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "p": found.p,
        "n": found.n,
        "share": math.nan,
        "test": "bootstrap over items",
        "draws": draws,
    }


def _values(a: Score | ItemScore, b: Score | ItemScore) -> list[float]:
    """Both scores on the items that both have."""
    from limbeck.evaluation.correlations import correlation
    from limbeck.evaluation.sts import combine

    _, *at = np.intersect1d(a.rows, b.rows, assume_unique=True, return_indices=True)
    values = []
    for score, rows in zip((a, b), at, strict=True):
        if isinstance(score, ItemScore):
            values.append(float(score.outcomes[rows].mean()) if len(rows) else math.nan)
            continue
        x, gold, subset_of = score.similarity[rows], score.gold[rows], score.subset_of[rows]
        parts = {name: np.flatnonzero(subset_of == name) for name in score.subsets}
        by_part = {name: correlation(x[p], gold[p], metric=score.metric) for name, p in parts.items()}
        sizes = {name: len(part) for name, part in parts.items()}
        pooled = correlation(x, gold, metric=score.metric)
        aggregation = score.aggregation if parts else "pooled"
        values.append(float(combine(pooled, by_part, sizes, aggregation=aggregation)))
    return values


def _notes(pairs: list[tuple[Any, Any]]) -> list[str]:
    notes = []
    for one, other in pairs:
        if np.array_equal(one.rows, other.rows):
            continue
        shared = len(np.intersect1d(one.rows, other.rows))
        notes.append(f"{one.task}: compared on the {shared:,} items that both have ({one.n:,} and {other.n:,}).")
        if isinstance(one, ItemScore) and one.metric not in ("accuracy",):
            notes.append(
                f"{one.task}: items came out beside others that the other run lacks; evaluate both in one run."
            )
    return list(dict.fromkeys(notes))


def _told(scores: Mapping[tuple[str, str], Any]) -> str:
    tasks = list(dict.fromkeys(task for task, _ in scores))
    return ", ".join(tasks[:6]) + (", …" if len(tasks) > 6 else "")
