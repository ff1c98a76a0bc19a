"""Table 4 in numbers: what classifiers on static vectors score, and a linear one on the parent as it is."""

from __future__ import annotations

import itertools
import multiprocessing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from limbeck.analysis.result import columns_of
from limbeck.encoders.protocol import Encoder
from limbeck.evaluation.classifying import classify, convolve
from limbeck.evaluation.classifying.result import Classified, deviation
from limbeck.evaluation.classifying.scores import resampled
from limbeck.evaluation.settings import EvaluationSettings
from limbeck.evaluation.significance import percentiles
from limbeck.papers.estimates import Floats
from limbeck.papers.parts import Part
from limbeck.papers.static_scores import DRAWS
from limbeck.papers.static_subjects import AVERAGE, MEAN
from limbeck.stream.workers import Pool
from limbeck.vectors import StaticVectors


@dataclass(frozen=True)
class Networks:
    """A convolution on each of some vectors for each of some tasks, for `Workers.run`: results in the order of `units`.

    vectors, tasks  by name
    device          of the networks
    """

    vectors: Mapping[str, StaticVectors]
    tasks: Mapping[str, Any]
    starts: int
    max_train: int | None
    seed: int
    device: str

    @property
    def units(self) -> list[tuple[str, str]]:
        return [(method, task) for method in self.vectors for task in self.tasks]

    def __call__(self, pool: Pool) -> Iterator[Classified]:
        return pool.map(self.convolved, self.units, ahead=1)

    def convolved(self, unit: tuple[str, str]) -> Classified:
        if multiprocessing.parent_process() is not None:  # one process, one core
            import torch

            torch.set_num_threads(1)
        method, task = unit
        settings = EvaluationSettings(starts=self.starts, max_train=self.max_train, seed=self.seed, device=self.device)
        return convolve(self.tasks[task], self.vectors[method], settings=settings)


def classify_frozen(
    task: Any, encoder: Encoder, *, starts: int, max_train: int | None, seed: int, progress: bool
) -> Classified:
    """A linear classifier on the mean of the parent's vectors of a text, the parent as it is.

    Features have one length on average, so that a parent of short vectors learns as fast as one of long ones.
    """
    settings = EvaluationSettings(
        hidden=0, learning_rate=(1e-2,), scale="rms", starts=starts, max_train=max_train, seed=seed
    )
    return classify(task, encoder, {"frozen": None}, settings, progress=progress)


def classification(results: Mapping[str, Mapping[str, Any]], *, layer: str, seed: int) -> Part:
    """Scores a task and on average; differences on the same draws of examples and runs."""
    rows, drawn = [], {}
    for method, by_task in results.items():
        of_runs: dict[str, list[Floats]] = {"macro-f1": [], "accuracy": []}
        draws = []
        for task, result in by_task.items():
            scores = {metric: result.run_scores(result.settings[0], metric=metric) for metric in of_runs}
            made = resampled(result.chosen_predictions[0], result.gold, metric="macro-f1", draws=DRAWS, seed=seed)
            rows.append(_classified_row(method, layer, task, scores["macro-f1"], scores["accuracy"], made))
            draws.append(made)
            for metric in of_runs:
                of_runs[metric].append(scores[metric])
        drawn[method] = np.mean(draws, axis=0)
        f1, accuracy = (np.mean(of_runs[metric], axis=0) for metric in ("macro-f1", "accuracy"))
        rows.append(_classified_row(method, layer, MEAN, f1, accuracy, drawn[method]))
    value = {row["method"]: row["f1"] for row in rows if row["task"] == MEAN}
    differences = []
    for one, other in itertools.permutations(drawn, 2):
        low, high = percentiles(drawn[one] - drawn[other])
        differences.append({"one": one, "other": other, "value": value[one] - value[other], "low": low, "high": high})
    return Part({"scores": columns_of(rows), "differences": columns_of(differences)}, {"layer": layer})


def _classified_row(method: str, layer: str, task: str, f1: Floats, accuracy: Floats, drawn: Floats) -> dict[str, Any]:
    """Means over runs, (runs,) each, with the deviation over runs and the interval of macro-F1."""
    low, high = percentiles(drawn)
    return {
        "method": method, "layer": layer if method == AVERAGE else "", "task": task,
        "f1": float(f1.mean()), "f1_low": low, "f1_high": high, "f1_deviation": deviation(f1),
        "accuracy": float(accuracy.mean()), "accuracy_deviation": deviation(accuracy), "runs": len(f1),
    }  # fmt: skip
