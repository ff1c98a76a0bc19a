"""Lloyd's k-means on CPU or GPU tensors: blocked products in the rows' precision, sums in float64."""

from __future__ import annotations

import numpy as np
import torch

from limbeck.repair.sums import blocks, narrow

#: first centers are chosen among at most this many rows, so that choosing costs less than one iteration
STARTING_ROWS = 20_000


def nearest(x: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """The number (n,) of the nearest of the centers (k, d) to each row of x (n, d), the first of equals."""
    centers = centers.to(narrow(x)).to(torch.float64)  # so that a fit and its use, which is in x's precision, agree
    shift = centers.mean(0)  # a mean that all share would eat the digits of the distances
    from_shift = (centers - shift).to(narrow(x))
    squares, shift = from_shift.square().sum(1), shift.to(narrow(x))
    labels = torch.empty(len(x), dtype=torch.int64, device=x.device)
    for start in (starts := blocks(x)):
        part = slice(start, start + starts.step)
        # ‖x − c‖² without ‖x‖², which is the same for all c
        labels[part] = torch.addmm(squares, x[part].to(narrow(x)) - shift, from_shift.T, alpha=-2.0).argmin(1)
    return labels


def lloyd(
    x: torch.Tensor, centers: torch.Tensor, *, iterations: int, weights: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """The centers (k, d) in float64 after `iterations`, and each row's cluster (n,).

    As in scipy's `kmeans2`, the last iteration only assigns: the rows of a cluster are those nearest to its center,
    and their mean is what the next center would be. It ends sooner when no row changes its cluster. A cluster that
    loses all its rows starts again at a row far from its own center; where all rows are centers it stays empty.

    Only rows that changed their cluster are summed, so late iterations cost little more than the distances.
    """
    k, d = centers.shape
    centers = centers.to(x.device, torch.float64)
    labels = torch.full((len(x),), k, device=x.device)  # k: in no cluster yet
    sums = torch.zeros(k + 1, d, dtype=torch.float64, device=x.device)
    sizes = torch.zeros(k + 1, dtype=torch.float64, device=x.device)
    for iteration in range(iterations):
        moved = 0
        for start in (starts := blocks(x)):
            part = slice(start, start + starts.step)
            new = nearest(x[part], centers)
            changed = (new != labels[part]).nonzero().squeeze(1)
            if not len(changed):
                continue
            moved += len(changed)
            gains = torch.zeros(k + 1, len(changed), dtype=torch.float64, device=x.device)
            weight = 1.0 if weights is None else weights[part][changed]
            at = torch.arange(len(changed), device=x.device)
            gains[new[changed], at] += weight
            gains[labels[part][changed], at] -= weight
            sums += gains @ x[part].index_select(0, changed).to(torch.float64)
            sizes += gains.sum(1)
            labels[part] = new
        if not moved or iteration == iterations - 1:
            break
        filled = torch.bincount(labels, minlength=k) > 0
        means = sums[:k] / torch.where(filled, sizes[:k], 1.0).unsqueeze(1)
        centers = torch.where(filled.unsqueeze(1), means, centers)
        if not bool(filled.all()):
            centers = _restarted(x, centers, labels, filled)
    return centers, labels


def _restarted(x: torch.Tensor, centers: torch.Tensor, labels: torch.Tensor, filled: torch.Tensor) -> torch.Tensor:
    """The centers with those of empty clusters moved to the rows farthest from their own centers."""
    empty = (~filled).nonzero().squeeze(1)
    distances = torch.empty(len(x), dtype=torch.float64, device=x.device)
    for start in (starts := blocks(x)):
        part = slice(start, start + starts.step)
        distances[part] = (x[part].to(torch.float64) - centers[labels[part]]).square().sum(1)
    rows = distances.topk(min(len(empty), len(x))).indices
    centers = centers.clone()
    centers[empty[: len(rows)]] = x[rows].to(torch.float64)
    return centers


def starting_centers(
    x: torch.Tensor,
    clusters: int,
    generator: np.random.Generator,
    *,
    spread: bool,
    weights: torch.Tensor | None = None,
) -> torch.Tensor:
    """Rows of x to begin with, in float64: at most `clusters`, fewer where fewer are different.

    With `spread` by k-means++ (Arthur & Vassilvitskii 2007): each with a probability in proportion to its squared
    distance from those before it. Without, at random, as scipy's `kmeans2` does. The order of the rows does not
    matter, and a row of weight 2 counts as two rows.
    """
    if len(x) > STARTING_ROWS:
        some = torch.from_numpy(np.sort(generator.choice(len(x), STARTING_ROWS, replace=False))).to(x.device)
        x, weights = x[some], None if weights is None else weights[some]
    x = x.to(torch.float64)
    mass = torch.ones(len(x), dtype=torch.float64, device=x.device) if weights is None else weights
    # rows in an order of their own, so that a draw finds the same row wherever it stands
    along = torch.from_numpy(generator.standard_normal(x.shape[1])).to(x.device)
    order = (x @ along).argsort()
    x, mass = x[order], mass[order]
    distances = torch.ones_like(mass)
    chosen: list[int] = []
    for _ in range(clusters):
        steps = (mass * distances).cumsum(0)
        if not float(steps[-1]) > 0:  # every row is a center already
            break
        row = int(torch.searchsorted(steps, float(steps[-1]) * generator.uniform(), right=True))
        row = min(row, len(x) - 1)
        chosen.append(row)
        from_row = (x - x[row]).square().sum(1)
        taken = from_row == 0
        if spread:
            distances = torch.where(taken, 0.0, from_row if len(chosen) == 1 else torch.minimum(distances, from_row))
        else:
            distances = torch.where(taken, 0.0, distances)
    return x[chosen]
