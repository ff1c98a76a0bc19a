"""What pictures of a space are made of: places of kept occurrences in two planes, and what these planes tell.

Two planes, because two papers drew two: the first principal components of Rajaee & Pilehvar (2021, Figure 5), in which
centering changes nothing, and the first singular vectors about the origin of Biš et al. (2021, Figure 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.runs.measuring.results import Measured

SIZE = 2000  #: occurrences in a picture
Floats = NDArray[np.float64]

PLACES = ("layer", "word", "frequency", "x", "y", "u", "v")
FACTS = (
    "layer", "n", "variance_1", "variance_2", "moment_1", "moment_2",
    "correlation_1", "correlation_2", "correlation", "correlation_distance",
)  # fmt: skip


def space_tables(measured: Measured, counts: Mapping[str, int] | None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Places, a row an occurrence and layer, and facts, a row a layer.

    x, y         on the first principal components; each points to where words are more frequent
    u, v         on the first right singular vectors, about the origin; each points to the mean
    variance_i   share of the variance along the i-th component, over every occurrence
    moment_i     share of the second moment along the i-th singular vector
    correlation  with the logarithm of the word's frequency, over the n kept occurrences where that is known: Pearson's
                 r of each component (_1, _2), the multiple correlation of both, and r of the distance from the mean,
                 in which a bias may live on that no component shows. NaN where one side does not vary
    """
    places: dict[str, list[Any]] = {name: [] for name in PLACES}
    facts: dict[str, list[Any]] = {name: [] for name in FACTS}
    points, moments = measured.points, measured.moments
    words = [points.strings[slot] for slot in points.order.tolist()]
    frequency = np.array([np.nan if counts is None else counts.get(word) or np.nan for word in words], dtype=np.float64)
    known = np.isfinite(frequency)
    means = moments.mean.cpu().numpy()
    planes = zip(moments.covariance.cpu(), moments.second_moment.cpu(), means, strict=True)
    for number, (layer, (covariance, second, mean)) in enumerate(zip(measured.layers, planes, strict=True)):
        x = points.layer(number)[points.order].astype(np.float64)
        variances, components = first_two(covariance)
        moments_, directions = first_two(second)
        along, around = (x - mean) @ components, x @ directions
        logs = np.log10(frequency[known])
        r = np.array([correlation(along[known, axis], logs) for axis in (0, 1)])
        both = multiple_correlation(along[known], logs)
        distance = correlation(np.linalg.norm(x[known] - mean, axis=1), logs)
        along = along * np.where(r < 0, -1.0, 1.0)
        around = around * np.where(mean @ directions < 0, -1.0, 1.0)
        row = [layer, int(known.sum()), *variances.tolist(), *moments_.tolist(), *np.abs(r).tolist(), both, distance]
        for name, value in zip(FACTS, row, strict=True):
            facts[name].append(value)
        some = slice(min(SIZE, len(words)))
        columns = [[layer] * len(words[some]), words[some], *np.c_[frequency, along, around][some].T.tolist()]
        for name, column in zip(PLACES, columns, strict=True):
            places[name].extend(column)
    return places, facts


def labelled(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Tables of the same columns, one below the other, with a first column `repair` that says which it was."""
    first = next(iter(tables.values()))
    columns: dict[str, list[Any]] = {
        "repair": [name for name, table in tables.items() for _ in next(iter(table.values()))]
    }
    return columns | {name: [value for table in tables.values() for value in table[name]] for name in first}


def first_two(symmetric: torch.Tensor) -> tuple[Floats, Floats]:
    """Shares (2,) of the two largest eigenvalues in their sum, and their eigenvectors (d, 2), the largest coordinate
    of each positive. Where there is one dimension, the second is zero."""
    values, vectors = (part.numpy() for part in torch.linalg.eigh(symmetric))
    values, vectors = np.maximum(values[::-1], 0.0), vectors[:, ::-1][:, :2]
    total = values.sum()
    shares = np.full(2, np.nan) if not total else np.pad(values[:2] / total, (0, max(0, 2 - len(values))))
    vectors = np.pad(vectors, ((0, 0), (0, 2 - vectors.shape[1])))
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0, keepdims=True), axis=0)
    return shares, vectors * np.where(largest < 0, -1.0, 1.0)


def correlation(a: Floats, b: Floats) -> float:
    """Pearson's r; NaN for fewer than two pairs, or where one side does not vary."""
    if len(a) < 2:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size > 0 else float("nan")


def multiple_correlation(a: Floats, b: Floats) -> float:
    """Correlation of b (n,) with what the columns of a (n, 2) best predict of it, in [0, 1]; NaN as in `correlation`.

    It does not change where the plane is turned, as single components do when their variances change places.
    """
    if len(b) < 3:
        return float("nan")
    a, b = a - a.mean(0), b - b.mean()
    predicted = a @ np.linalg.lstsq(a, b, rcond=None)[0]
    return abs(correlation(predicted, b))
