"""Lloyd's k-means on CPU or GPU tensors: blocked products in the rows' precision, sums in float64."""

from __future__ import annotations

import numpy as np
import torch
from torch.nn.functional import pad

from limbeck.measures.rows import blocks, narrow

#: first centers are chosen among at most this many rows, so that choosing costs less than one iteration
STARTING_ROWS = 20_000
COLUMNS = 16  #: centers are filled up to a multiple of it
SMALL_SHIFT = 8.0  #: of the centers' mean, over their distance from it, which costs no more than a digit


class Nearest:
    """Finds the nearest of some centers (k, d), the first of equals, to rows of the dtype and device of `like`.

    Centers are rounded to the precision of the rows, so that a fit and its use agree.
    """

    def __init__(self, centers: torch.Tensor, like: torch.Tensor) -> None:
        precise = centers.to(like.device, narrow(like)).to(torch.float64)
        shift = precise.mean(0)
        rounded = (precise - shift).to(narrow(like))
        # a product with 32 columns is twice as fast as one with 27; the columns added are infinitely far
        added = -len(centers) % COLUMNS
        self._across = pad(rounded, (0, 0, 0, added)).T
        squares = rounded.to(torch.float64).square().sum(1)
        # ‖x − c‖² less what is the same for all c, with s the centers' mean: ‖c − s‖² − 2(x − s)·(c − s). A large s
        # would eat the digits of x·(c − s), and is subtracted first; a small one is cheaper to account for afterwards.
        self._shift: torch.Tensor | None = shift.to(narrow(like))
        if like.device.type == "cpu" and float(shift.norm()) < SMALL_SHIFT * float(squares.mean().sqrt()):
            squares = squares + 2 * rounded.to(torch.float64) @ self._shift.to(torch.float64)
            self._shift = None
        self._squares = pad(squares.to(narrow(like)), (0, added), value=float("inf"))
        self._shifted = torch.empty(0, dtype=narrow(like), device=like.device)

    def __call__(self, rows: torch.Tensor) -> torch.Tensor:
        """The numbers (n,) of the centers, for one block of rows (n, d)."""
        rows = rows.detach()  # a number has no gradient
        if self._shift is None:
            shifted = rows.to(self._across.dtype)
        else:
            if self._shifted.shape != rows.shape:
                self._shifted = torch.empty_like(rows, dtype=self._shift.dtype)
            shifted = torch.sub(rows, self._shift, out=self._shifted)
        return torch.addmm(self._squares, shifted, self._across, alpha=-2.0).argmin(1)


def nearest(x: torch.Tensor, centers: torch.Tensor) -> torch.Tensor:
    """The number (n,) of the nearest of the centers (k, d) to each row of x (n, d), the first of equals."""
    find = Nearest(centers, x)
    found = [find(rows) for rows in x.split(blocks(x).step)]
    return torch.cat(found)


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
        find = Nearest(centers, x)
        for start in (starts := blocks(x)):
            part = slice(start, start + starts.step)
            new = find(x[part])
            changed = (new != labels[part]).nonzero().squeeze(1)
            if not len(changed):
                continue
            moved += len(changed)
            rows = x[part] if len(changed) == len(new) else x[part].index_select(0, changed)
            weight = None if weights is None else weights[part][changed]
            _transfer(rows, weight, labels[part][changed], new[changed], sums, sizes)
            labels[part] = new
        if not moved or iteration == iterations - 1:
            break
        filled = torch.bincount(labels, minlength=k) > 0
        means = sums[:k] / torch.where(filled, sizes[:k], 1.0).unsqueeze(1)
        centers = torch.where(filled.unsqueeze(1), means, centers)
        if not bool(filled.all()):
            centers = _restarted(x, centers, labels, filled)
    return centers, labels


def _transfer(
    rows: torch.Tensor,
    weights: torch.Tensor | None,
    left: torch.Tensor,
    joined: torch.Tensor,
    sums: torch.Tensor,
    sizes: torch.Tensor,
) -> None:
    """Take rows (n, d) out of the sums (k + 1, d) of the clusters that they left, into those that they joined."""
    wide = rows.to(torch.float64)
    weight = torch.ones_like(left, dtype=torch.float64) if weights is None else weights
    if rows.device.type != "cpu":  # which adds rows in any order, but for a product
        gains = torch.zeros(len(sums), len(rows), dtype=torch.float64, device=rows.device)
        at = torch.arange(len(rows), device=rows.device)
        gains[joined, at] += weight
        gains[left, at] -= weight
        sums += gains @ wide
        sizes += gains.sum(1)
        return
    if weights is not None:
        wide = wide * weights.unsqueeze(1)
    sums.index_add_(0, joined, wide)
    sizes.index_add_(0, joined, weight)
    if bool((left < len(sums) - 1).any()):  # at first they come from nowhere
        sums.index_add_(0, left, wide, alpha=-1)
        sizes.index_add_(0, left, weight, alpha=-1)


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
