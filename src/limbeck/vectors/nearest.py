"""Nearest rows by cosine, many queries at once and without a matrix of all cosines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError
from limbeck.real import real_array
from limbeck.vectors.gather import Floats

Ints = NDArray[np.int64]

BLOCK_NUMBERS = 1 << 24  #: cosines held at once: 64 MiB
BLOCK_ROWS = 1024  #: rows whose lengths are taken at once, in float64
GROUP = 64  #: columns of cosines that are looked at together


def unit_rows(matrix: NDArray[Any], *, dtype: type[np.floating[Any]] = np.float32) -> NDArray[Any]:
    """Rows scaled to length 1, zero rows as they are; lengths in float64, which no float32 row overflows."""
    unit = np.empty(matrix.shape, dtype=dtype)
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = matrix[start : start + BLOCK_ROWS].astype(np.float64)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        unit[start : start + BLOCK_ROWS] = np.divide(rows, lengths, out=rows, where=lengths > 0)
    return unit


def nearest_rows(
    unit: Floats, queries: NDArray[Any], *, k: int, exclude: Sequence[Sequence[int]] | Ints | None = None
) -> tuple[Ints, Floats]:
    """Of each query (m, d) the k rows of highest cosine, best first, and the cosines: (m, k) both.

    `unit` holds rows of length 1 or 0; those of 0, which have no cosine, are never found. `exclude` names rows that
    are not to be found: one row of numbers a query, negative numbers name none. Of equal cosines the earlier row
    comes first. Where fewer than k rows are left, and for a query of zeros, the row is −1 and the cosine NaN.
    """
    check_number("k", k)
    queries = real_array(queries, what="Queries")
    if queries.ndim != 2 or queries.shape[1] != unit.shape[1]:
        raise InputError(
            f"Queries (number, {unit.shape[1]}) are needed for vectors of {unit.shape[1]} dimensions, "
            f"got an array of shape {queries.shape}.",
            code="wrong_shape",
            parameter="queries",
        )
    if exclude is not None and len(exclude) != len(queries):
        raise InputError(
            f"One list of rows to leave out a query is needed, got {len(exclude)} for {len(queries)}.",
            code="unequal_lengths",
            parameter="exclude",
        )
    wanted = unit_rows(queries)
    rows = np.full((len(queries), k), -1, dtype=np.int64)
    cosines = np.full((len(queries), k), np.nan, dtype=np.float32)
    if not len(unit):
        return rows, cosines
    empty = np.flatnonzero(~unit.any(axis=1))
    some = min(k, len(unit))
    step = max(1, BLOCK_NUMBERS // len(unit))
    for start in range(0, len(queries), step):
        part = wanted[start : start + step]
        # behind the last row, up to a whole number of groups, nothing is found
        found = np.full((len(part), -(-len(unit) // GROUP) * GROUP), -np.inf, dtype=np.float32)
        np.matmul(part, unit.T, out=found[:, : len(unit)])
        found[:, empty] = -np.inf
        found[~part.any(axis=1)] = -np.inf
        if exclude is not None:
            for row, left_out in zip(found, exclude[start : start + step], strict=True):
                names = np.asarray(left_out, dtype=np.int64)
                row[names[names >= 0]] = -np.inf
        best, values = highest(found, some)
        there = np.isfinite(values)
        rows[start : start + step, :some] = np.where(there, best, -1)
        cosines[start : start + step, :some] = np.where(there, values, np.nan)
    return rows, cosines


def check_number(name: str, value: Any) -> None:
    """Refuse what is no number of rows to find."""
    if not isinstance(value, int | np.integer) or value < 1:
        raise UsageError(
            f"{name} must be a whole number, at least 1; got {value!r}.", code="out_of_range", parameter=name
        )


def highest(values: Floats, k: int) -> tuple[Ints, Floats]:
    """The places and values of the k highest numbers of each row (m, n), of equal ones the earlier first.

    They are among the k groups of columns whose highest numbers are the highest, so that no row need be sorted.
    """
    groups = values.shape[1] // GROUP
    if k < groups:
        tops = values.reshape(len(values), groups, GROUP).max(axis=2)
        chosen = np.sort(np.argsort(-tops, axis=1, kind="stable")[:, :k], axis=1)
        places = (chosen[:, :, None] * GROUP + np.arange(GROUP)).reshape(len(values), k * GROUP)
        candidates = np.take_along_axis(values, places, axis=1)
    else:
        places, candidates = np.broadcast_to(np.arange(values.shape[1]), values.shape), values
    order = np.argsort(-candidates, axis=1, kind="stable")[:, :k]  # places rise, so the earlier stay first
    return np.take_along_axis(places, order, axis=1), np.take_along_axis(candidates, order, axis=1)
