"""Nearest neighbours and distances, exact, in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.errors import UsageError, choose

Ints = NDArray[np.int64]
BLOCK = 4_000_000  #: distances held at once


def prepared(x: NDArray[Any], metric: str) -> torch.Tensor:
    """Rows in float64 of which Euclidean distances tell what the metric would: as they are, or as unit vectors.

    ‖a − b‖² = 2 (1 − cos) for unit vectors. A zero vector has no direction and stays zero.
    """
    choose(metric, ("euclidean", "cosine"), what="--metric")
    rows = torch.from_numpy(np.ascontiguousarray(x)).to(torch.float64)
    if metric == "euclidean":
        return rows
    norms = torch.linalg.vector_norm(rows, dim=1, keepdim=True)
    return torch.where(norms > 0, rows / norms, 0.0)


def squares(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """‖a_i − b_j‖², (len(a), len(b)); both are moved near the origin first, where rounding is least."""
    center = b.mean(0)
    a, b = a - center, b - center
    found = a.square().sum(1, keepdim=True) + b.square().sum(1) - 2 * (a @ b.T)
    return found.clamp_(min=0.0)


def distances(x: NDArray[Any], metric: str) -> NDArray[np.float64]:
    """All distances (n, n): Euclidean, or 1 − cosine, which is 1 to a zero vector."""
    rows = prepared(x, metric)
    if metric == "euclidean":
        return np.asarray(squares(rows, rows).sqrt().numpy())
    return np.asarray((1 - rows @ rows.T).numpy())


def nearest(
    x: NDArray[Any],
    *,
    neighbors: int,
    metric: str = "euclidean",
    queries: Ints | None = None,
    apart: NDArray[Any] | None = None,
) -> Ints:
    """Rows (queries, neighbors) nearest to each query, never itself, nearest first.

    queries  rows that are asked for, all without it
    apart    (n,) labels: rows of a query's own label are no neighbours of it
    """
    asked = np.arange(len(x)) if queries is None else queries
    if not 1 <= neighbors < len(x):
        raise UsageError(
            f"--neighbors must be at least 1 and fewer than the {len(x)} rows; got {neighbors}.",
            code="out_of_range",
            parameter="neighbors",
        )
    rows = prepared(x, metric)
    found = np.empty((len(asked), neighbors), dtype=np.int64)
    step = max(1, BLOCK // len(x))
    for start in range(0, len(asked), step):
        some = asked[start : start + step]
        away = squares(rows[torch.from_numpy(some)], rows)
        away[torch.arange(len(some)), torch.from_numpy(some)] = torch.inf
        if apart is not None:
            away[torch.from_numpy(apart[some][:, None] == apart[None, :])] = torch.inf
        near = torch.topk(away, neighbors, largest=False)
        if bool(near.values.isinf().any()):
            raise UsageError(
                f"--neighbors {neighbors} are more than some word has rows of other words to choose from.",
                code="out_of_range",
                parameter="neighbors",
            )
        found[start : start + len(some)] = near.indices.numpy()
    return found
