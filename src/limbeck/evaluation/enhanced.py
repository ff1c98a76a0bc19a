"""Scores and isotropy before and after repairs, task by task: Tables 2 and 6 of Rajaee & Pilehvar (2021)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.rows import TextRows, is_fitted, repaired
from limbeck.evaluation.score import Score
from limbeck.evaluation.scoring import score_of
from limbeck.evaluation.settings import DEFAULTS, ScoreSettings
from limbeck.evaluation.sts import sentence_similarities
from limbeck.evaluation.sweeping import different_texts
from limbeck.evaluation.targets import Target, repair_for
from limbeck.evaluation.task import Pairs, Task
from limbeck.measures.isotropy import log10_isotropy_of
from limbeck.tables import columns_of


@dataclass(frozen=True)
class Enhanced:
    """One setting on one task.

    value, sd        mean score over runs, and their standard deviation (NaN for one run)
    low, high        95 % interval of the first run's score
    log10_isotropy   of the repaired rows, at +u and −u, mean over runs; `log10_isotropy_one_sign` as published
    rows             vectors, repeated texts counted as often as they occur
    scores           of all runs
    """

    target: str
    layer: str
    setting: str
    task: str
    metric: str
    aggregation: str
    value: float
    sd: float
    low: float
    high: float
    n: int
    coverage: float
    log10_isotropy: float
    log10_isotropy_one_sign: float
    rows: int
    runs: int
    scores: tuple[Score, ...]


def enhancement(
    tasks: Sequence[Task | Pairs],
    target: Target,
    *,
    repairs: Mapping[str, Any],
    settings: ScoreSettings = DEFAULTS,
    layer: str | None = None,
    seeds: int = 5,
) -> Iterator[Enhanced]:
    """Scores and I(W) after every repair on every task, task by task, from one pass each.

    repairs   by name: None, a fitted repair (applied), or one that is not fitted (fitted on each task's own rows, each
              text as often as it occurs; with each of so many `seeds` if it has one)
    settings  of the scores: `metric`, `aggregation`, `draws`
    layer     of the target; its last unless said

    I(W) is of the rows that the sentence vectors are means of, as published.
    """
    layer = target.layers[-1] if layer is None else layer
    for task in tasks:
        pairs = task.read() if isinstance(task, Task) else task
        texts, times = different_texts(pairs)
        rows = target.rows(texts)
        place = {text: row for row, text in enumerate(texts)}
        sides = [np.array([place[text] for text in side]) for side in (pairs.first, pairs.second)]
        weights = times[rows.texts].astype(np.float64)
        for name, given in repairs.items():
            runs = _runs(repair_for(given, layer, name), seeds)
            scores, isotropies = [], []
            for repair in runs:
                x = repaired(rows.of_layer(layer), repair, weights)
                means = rows.means(x).numpy()
                found = sentence_similarities(pairs.first, pairs.second, [means[side] for side in sides])
                score = score_of(pairs, found, name=name, settings=settings)
                scores.append(score)
                isotropies.append(_isotropy(rows, x, times))
            values = [score.value for score in scores]
            both, one = np.mean(isotropies, axis=0)
            yield Enhanced(
                target=target.name,
                layer=layer,
                setting=name,
                task=pairs.name,
                metric=scores[0].metric,
                aggregation=scores[0].aggregation,
                value=float(np.mean(values)),
                sd=float(np.std(values, ddof=1)) if len(values) > 1 else float("nan"),
                low=scores[0].low,
                high=scores[0].high,
                n=scores[0].n,
                coverage=scores[0].coverage,
                log10_isotropy=float(both),
                log10_isotropy_one_sign=float(one),
                rows=int(times[rows.texts].sum()),
                runs=len(runs),
                scores=tuple(scores),
            )


def enhancement_table(rows: Sequence[Enhanced]) -> dict[str, list[Any]]:
    """Columns of a table, for `limbeck.tables`."""
    told = [field.name for field in fields(Enhanced) if field.name != "scores"]
    return columns_of([{name: getattr(row, name) for name in told} for row in rows])


def _runs(repair: Any, seeds: int) -> list[Any]:
    """The repair once for each seed, where chance has a part in its fit."""
    if repair is None or is_fitted(repair):
        return [repair]
    from sklearn.base import clone

    seeded = [name for name in repair.get_params(deep=True) if name.split("__")[-1] == "random_state"]
    if not seeded:
        return [repair]
    return [clone(repair).set_params(**dict.fromkeys(seeded, seed)) for seed in range(seeds)]


def _isotropy(rows: TextRows, x: torch.Tensor, times: NDArray[np.int64]) -> tuple[float, float]:
    every = torch.from_numpy(rows.repeated(times))
    return log10_isotropy_of(x.index_select(0, every))[0]
