"""What is made small, with its gradient in closed form: no automatic differentiation, no loop over words.

An objective is told the targets of a shard in the order of its steps, then asked for one step after the other. Every
gradient is a sparse matrix of weights times a few dense rows, which `Runs` sums row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from limbeck.distillation.x2static import fused
from limbeck.distillation.x2static.adam import Rows, StepRuns
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.group import Group
from limbeck.distillation.x2static.sampling import Negatives, mixed
from limbeck.distillation.x2static.settings import Contrasting, Regression
from limbeck.seeds import seed_of
from limbeck.transfer import send

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Targets:
    """The targets of a shard, step after step; `bounds` (steps + 1,) divides them."""

    words: Ints  # (n,)
    context_of: Ints  # (n,) row of the shard's contexts
    keys: NDArray[np.uint64]  # (n,)
    bounds: Ints
    texts: int  # in the shard
    number: int  # of the shard
    epoch: int
    places: Ints  # (n,) row in the shard's candidates


class Objective(Protocol):
    """One way to train; `tables` are the matrices it trains."""

    tables: dict[str, Rows]

    def begin(self, shard: Gathered, targets: Targets) -> None:
        """Get ready for the steps of a shard."""

    def step(self, index: int, learning_rate: float) -> torch.Tensor:
        """Train on the targets of a step, which has some; the summed loss, on the device."""


def logistic(
    scores: torch.Tensor, *, weights: torch.Tensor | None = None, clamp: float = 0.0
) -> tuple[torch.Tensor, torch.Tensor]:
    """Σ of ℓ(s₀) + Σ_j ℓ(−s_j), ℓ(x) = log(1 + e^−x), and its derivative by the scores (n, 1 + negatives).

    The first column is the target's, the others are the negatives'. Beyond `clamp` the derivative is zero.
    """
    signed = scores.clone()
    signed[:, 1:].neg_()
    inside = None
    if clamp:
        inside = signed.abs() <= clamp
        signed = signed.clamp(-clamp, clamp)
    losses = functional.softplus(-signed)
    slopes = torch.sigmoid(-signed).neg_()
    slopes[:, 1:].neg_()
    if inside is not None:
        slopes = slopes * inside
    if weights is not None:
        losses, slopes = losses * weights, slopes * weights
    return losses.sum(), slopes


class Contrast:
    """X2Static (eq. 1): one matrix; target and negatives against a context vector that stays as it is."""

    def __init__(self, vectors: Rows, negatives: Negatives, settings: Contrasting) -> None:
        self.tables = {"vectors": vectors}
        self.scoring = Scoring(vectors, negatives, settings)

    def begin(self, shard: Gathered, targets: Targets) -> None:
        self.scoring.begin(targets)
        values = self.tables["vectors"].values
        self.contexts = shard.contexts.to(values)
        self.context_of = send(targets.context_of, values.device)

    def step(self, index: int, learning_rate: float) -> torch.Tensor:
        low, high = self.scoring.span(index)
        if fused.usable(self.tables["vectors"]):
            return self.scoring.fused_step(index, self.contexts, self.context_of[low:high], learning_rate)
        contexts = self.contexts.index_select(0, self.context_of[low:high])
        loss, slopes = self.scoring.slopes(index, contexts)
        self.scoring.update(index, contexts, slopes, learning_rate)
        return loss


class Scoring:
    """Targets and negatives of a shard, and what a step does with them once it has contexts."""

    def __init__(self, vectors: Rows, negatives: Negatives, settings: Contrasting) -> None:
        self.vectors = vectors
        self.negatives = negatives
        self.settings = settings

    def begin(self, targets: Targets, counts: NDArray[np.bool_] | None = None) -> None:
        """`counts` (n,) says which targets have a context at all."""
        device = self.vectors.values.device
        drawn = draw_negatives(self.negatives, targets, self.settings, device)
        self.bounds = targets.bounds
        self.ids = torch.cat([send(targets.words, device).unsqueeze(1), drawn], dim=1)  # (n, 1 + negatives)
        self.width = self.ids.shape[1]
        self.runs = StepRuns(self.ids.reshape(-1), self.bounds * self.width, self.vectors.words)
        self.weights = others_only(self.ids) if self.settings.distinct else None
        if counts is not None and not counts.all():
            some = send(counts, device).unsqueeze(1).to(self.vectors.values)
            self.weights = some.expand(-1, self.width) if self.weights is None else self.weights * some

    def span(self, index: int) -> tuple[int, int]:
        return int(self.bounds[index]), int(self.bounds[index + 1])

    def slopes(self, index: int, contexts: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Summed loss of a step, and the derivative of its mean by the scores (n, 1 + negatives)."""
        low, high = self.span(index)
        scores = self.vectors.group.sum(torch.bmm(self.rows(index), contexts.unsqueeze(2)).squeeze(2))
        weights = None if self.weights is None else self.weights[low:high]
        loss, slopes = logistic(scores, weights=weights, clamp=self.settings.clamp)
        return loss, slopes / (high - low)

    def fused_step(
        self, index: int, contexts: torch.Tensor, context_of: torch.Tensor, learning_rate: float
    ) -> torch.Tensor:
        """All of a step: the summed loss, and the vectors are moved. Every target counts."""
        low, high = self.span(index)
        settings = self.settings
        losses, slopes = fused.score(
            self.vectors.values,
            self.ids[low:high],
            contexts,
            context_of,
            distinct=settings.distinct,
            clamp=settings.clamp,
        )
        fused.move(self.vectors, self.runs, index, slopes, contexts, context_of, learning_rate)
        return losses.sum()

    def rows(self, index: int) -> torch.Tensor:
        """Vectors of a step's targets and negatives, (n, 1 + negatives, d)."""
        low, high = self.span(index)
        flat = self.vectors.values.index_select(0, self.ids[low:high].reshape(-1))
        return flat.view(high - low, self.width, -1)

    def update(self, index: int, contexts: torch.Tensor, slopes: torch.Tensor, learning_rate: float) -> None:
        """Move the vectors: the gradient of a row is a sum of contexts."""
        runs = self.runs.step(index)
        owners = torch.div(runs.order, self.width, rounding_mode="floor")
        weights = slopes.reshape(-1)[runs.order].to(contexts.dtype)
        gradients = functional.embedding_bag(owners, contexts, runs.starts, mode="sum", per_sample_weights=weights)
        self.vectors.update(runs.rows, gradients, learning_rate)


def draw_negatives(negatives: Negatives, targets: Targets, settings: Contrasting, device: torch.device) -> torch.Tensor:
    """Of every target of a shard, (n, negatives)."""
    number = settings.negatives
    if not settings.reuse:
        keys = send(targets.keys.view(np.int64), device)
        return negatives.draw(keys, number, seed=settings.seed, epoch=targets.epoch)
    # docs/fidelity.md §4.9: as many as `negatives` a line of the buffer are drawn, and used round and round
    turn = torch.arange(len(targets.words) * number, device=device) % max(targets.texts * number, 1)
    salt = seed_of(settings.seed, "pool", targets.epoch, targets.number)
    return negatives.at(mixed(turn, salt)).reshape(-1, number)


def others_only(ids: torch.Tensor) -> torch.Tensor:
    """1 for the target (first column) and for negatives that are other words, 0 for those that are the target."""
    weights = (ids != ids[:, :1]).float()
    weights[:, 0] = 1.0
    return weights


class Fit:
    """A weighted mean of word vectors regresses the context vector; see `Regression`."""

    def __init__(self, vectors: Rows, counts: Ints, settings: Regression) -> None:
        self.tables = {"vectors": vectors}
        self.vectors = vectors
        self.settings = settings
        shares = counts / max(int(counts.sum()), 1)
        self.weights = settings.weight / (settings.weight + shares) if settings.weight else np.ones(len(counts))
        device = vectors.values.device
        self.start = vectors.values[: vectors.words].clone() if settings.pull else None
        self.strength = send(settings.pull / counts.clip(min=1), device).to(vectors.values) if settings.pull else None

    def begin(self, shard: Gathered, targets: Targets) -> None:
        device = self.vectors.values.device
        self.contexts = shard.contexts.to(self.vectors.values)
        weights = self.weights[targets.words]
        totals = np.bincount(targets.context_of, weights=weights, minlength=len(shard.texts))
        self.shares = send(weights / totals[targets.context_of], device).to(self.vectors.values)
        self.words = send(targets.words, device)
        # targets of one context stand together: the runs of equal context are the means to be made
        begins = np.flatnonzero(np.append(True, np.diff(targets.context_of) != 0))
        self.begins = np.append(begins, len(targets.words))
        self.run_of = send(np.repeat(np.arange(len(begins)), np.diff(self.begins)), device)
        self.starts = send(begins, device)
        self.context_of = send(targets.context_of, device)
        self.bounds = targets.bounds
        self.runs = StepRuns(self.words, self.bounds, self.vectors.words)

    def step(self, index: int, learning_rate: float) -> torch.Tensor:
        low, high = int(self.bounds[index]), int(self.bounds[index + 1])
        first, last = np.searchsorted(self.begins, (low, high)).tolist()
        starts = self.starts[first:last]
        words, shares = self.words[low:high], self.shares[low:high]
        means = functional.embedding_bag(
            words, self.vectors.values, starts - low, mode="sum", per_sample_weights=shares
        )
        wanted = self.contexts.index_select(0, self.context_of[starts])
        losses, slopes = misfit(means, wanted, self.settings.fit, self.vectors.group)
        runs = self.runs.step(index)
        gradients = runs.sums(slopes, self.run_of[low:high] - first, shares).div_(last - first)
        if self.start is not None and self.strength is not None:
            rows = runs.rows.clamp(max=self.vectors.words - 1)  # the spare row has no start
            pull = (runs.sizes() * self.strength[rows]).unsqueeze(1) / (last - first)
            gradients += pull * (self.vectors.values.index_select(0, rows) - self.start.index_select(0, rows))
        self.vectors.update(runs.rows, gradients, learning_rate)
        return losses.mean() * (high - low)  # reported by target, like the others


def misfit(
    means: torch.Tensor, wanted: torch.Tensor, fit: str, group: Group | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """Loss of each row (n,), and its derivative by `means` (n, d): ½‖m − c‖², or 1 − cos(m, c)."""
    group = group or Group()
    if fit == "squared":
        off = means - wanted
        return group.sum(off.square().sum(1)) / 2, off
    products = group.sum(torch.stack([means.square().sum(1), wanted.square().sum(1), (means * wanted).sum(1)]))
    lengths, wide = products[:2].sqrt().clamp_(min=1e-12).unsqueeze(2)
    cosines = products[2].unsqueeze(1) / (lengths * wide)
    return 1 - cosines.squeeze(1), (cosines * means / lengths - wanted / wide) / lengths
