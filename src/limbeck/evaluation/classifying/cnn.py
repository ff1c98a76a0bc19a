"""A convolutional classifier on a table of word vectors (Gupta & Jaggi 2021, §4.3), trained at several rates at once.

    windows of `width` words ─► filters ─► ReLU ─► the greatest of each filter ─► dropout ─► linear ─► softmax

A filter's answer to a window is a sum over the window's words, w₁·e₁ + w₂·e₂ + w₃·e₃, so the different words of a batch
are multiplied with all filters once, and windows are put together out of these products. Learning rates are an axis
of the weights: they share examples, order and dropout, which depend on the seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.classifying.mlp import Trained, orders
from limbeck.seeds import generator_for

Ints = NDArray[np.int64]
BUCKET = 20  #: batches whose examples are sorted by length together
AT_ONCE = 20_000  #: words of the texts that are predicted together


@dataclass(frozen=True)
class CnnSettings:
    """How a network is trained: filters, width and dropout as published; Kim's (2014) batch, since the paper has none.

    epochs          all are trained
    tuned           whether words' vectors are trained too
    filters, width  number of filters, and words that each sees
    dropout         share of the pooled answers that is left out of a step
    batch           examples a step
    """

    epochs: int
    tuned: bool
    filters: int = 100
    width: int = 3
    dropout: float = 0.5
    batch: int = 50


@dataclass(frozen=True)
class WordIds:
    """Texts as rows of a matrix of vectors, whose row 0 is zeros: what stands beside a text.

    ids      (words,) rows of all texts' words, one text after the other
    starts   (texts + 1,) where each text begins
    lengths  (texts,) by which texts are put into batches; not of the ids, so that batches are the same for all vectors
    """

    ids: Ints
    starts: Ints
    lengths: Ints

    def windows(self, rows: Ints, width: int) -> tuple[Ints, Ints]:
        """Different rows of the matrix in some texts, and windows (texts, places, width) as numbers of these.

        A window stands around every word, zeros beyond both ends; a text without words has one, of zeros. Where a
        text is shorter than the others its first window stands again, which changes no maximum.
        """
        sizes = (self.starts[1:] - self.starts[:-1])[rows]
        longest = max(int(sizes.max()), 1)
        place = np.arange(longest)
        inside = place < sizes[:, None]
        left = (width - 1) // 2
        padded = np.zeros((len(rows), longest + width - 1), dtype=np.int64)
        beside = padded[:, left : left + longest]
        beside[inside] = self.ids[(self.starts[rows][:, None] + place)[inside]]
        different, numbers = np.unique(padded, return_inverse=True)
        at = np.where(inside, place, 0)[:, :, None] + np.arange(width)  # (texts, places, width)
        return different, np.take_along_axis(numbers.reshape(len(rows), 1, -1), at, axis=2)


class Greatest(torch.autograd.Function):
    """Greatest sum of each column over windows: products (rows, width, m), windows (n, t, width) -> (n, m).

    Its gradient goes to the windows that won alone, n·m·width numbers where all windows would have t times as many.
    """

    @staticmethod
    def forward(ctx: Any, products: torch.Tensor, windows: torch.Tensor) -> torch.Tensor:
        n, places, width = windows.shape
        answers = products[:, 0].index_select(0, windows[..., 0].reshape(-1))
        for k in range(1, width):
            answers += products[:, k].index_select(0, windows[..., k].reshape(-1))
        best, at = answers.view(n, places, -1).max(1)
        ctx.save_for_backward(windows, at)
        ctx.shape = products.shape
        return best

    @staticmethod
    def backward(ctx: Any, *above: torch.Tensor) -> tuple[torch.Tensor, None]:
        windows, at = ctx.saved_tensors
        (gradient,) = above
        rows, width, columns = ctx.shape
        won = windows.gather(1, at.unsqueeze(-1).expand(-1, -1, width))  # (n, m, width): rows of the winning windows
        column = torch.arange(columns, device=at.device).view(1, -1, 1)
        cells = (won * width + torch.arange(width, device=at.device)) * columns + column
        found = gradient.new_zeros(rows * width * columns)
        found.scatter_add_(0, cells.reshape(-1), gradient.unsqueeze(-1).expand(-1, -1, width).reshape(-1))
        return found.view(rows, width, columns), None


class Network:
    """The weights of one start at some learning rates (r), and of the words' vectors where these are trained too."""

    def __init__(
        self, matrix: torch.Tensor, *, classes: int, seed: int, rates: Sequence[float], settings: CnnSettings
    ) -> None:
        dim, (filters, width) = matrix.shape[1], (settings.filters, settings.width)
        self.matrix = matrix
        self.settings = settings
        # uniform ±√(6 / (in + out)) (Glorot & Bengio 2010), biases zero, as Keras has it
        kernel = _drawn(seed, "kernel", (dim, width, filters), fan=width * (dim + filters)).to(matrix)
        output = _drawn(seed, "output", (filters, classes), fan=filters + classes).to(matrix)
        zeros = matrix.new_zeros
        self.weights = [
            [part.clone().requires_grad_() for part in (kernel, zeros(filters), output, zeros(classes))] for _ in rates
        ]
        self.tables = [matrix.clone().requires_grad_() for _ in rates] if settings.tuned else []
        groups: list[dict[str, Any]] = [
            {"params": own, "lr": rate} for own, rate in zip(self.weights, rates, strict=True)
        ]
        groups += [{"params": [own], "lr": rate} for own, rate in zip(self.tables, rates, strict=False)]
        self.optimizer = torch.optim.Adam(groups, fused=True)  # fused: a fifth of the time

    def __call__(
        self, different: torch.Tensor, windows: torch.Tensor, kept: torch.Tensor | None = None
    ) -> torch.Tensor:
        """Scores (r, texts, classes) of windows; `kept` (texts, filters) of dropout is 0 or what makes up for it."""
        kernels, biases, outputs, shifts = ([own[part] for own in self.weights] for part in range(4))
        width, filters = self.settings.width, self.settings.filters
        if self.tables:
            products = [
                (own.index_select(0, different) * (different != 0).unsqueeze(1)) @ kernel.flatten(1)
                for own, kernel in zip(self.tables, kernels, strict=True)
            ]
            joined = torch.stack([each.view(-1, width, filters) for each in products], 2).flatten(2)
        else:
            both = torch.stack(kernels, 2).flatten(1)  # (d, width · r · filters)
            joined = (self.matrix.index_select(0, different) @ both).view(len(different), width, -1)
        best: torch.Tensor = Greatest.apply(joined, windows)  # type: ignore[no-untyped-call]
        hidden = torch.relu(best + torch.cat(biases)).view(len(windows), -1, filters).transpose(0, 1)
        if kept is not None:
            hidden = hidden * kept
        return torch.baddbmm(torch.stack(shifts).unsqueeze(1), hidden, torch.stack(outputs))

    @torch.no_grad()
    def predict(self, texts: WordIds, rows: Ints) -> NDArray[np.int16]:
        """Predicted classes (r, rows)."""
        found = np.zeros((len(self.weights), len(rows)), dtype=np.int16)
        by_length = np.argsort(texts.lengths[rows], kind="stable")
        for part in _parts(by_length, texts.lengths[rows]):
            scores = self(*_on(self.matrix.device, texts.windows(rows[part], self.settings.width)))
            found[:, part] = scores.argmax(-1).cpu().numpy()
        return found


def train(
    matrix: torch.Tensor,
    texts: WordIds,
    labels: Ints,
    *,
    classes: int,
    rows: Ints,
    watched: Ints,
    seed: int,
    rates: Sequence[float],
    settings: CnnSettings,
    on_epoch: Callable[[int], None] = lambda epochs: None,
) -> Trained:
    """Train on the texts `rows` at each of the rates, and predict those `watched` after each epoch.

    matrix  (n, d) vectors of words; the first row is zeros
    """
    network = Network(matrix, classes=classes, seed=seed, rates=rates, settings=settings)
    known = torch.from_numpy(labels).to(matrix.device)
    losses = np.zeros((len(rates), settings.epochs))
    predictions = np.zeros((len(rates), settings.epochs, len(watched)), dtype=np.int16)
    for epoch in range(settings.epochs):
        total = torch.zeros(len(rates), dtype=torch.float64, device=matrix.device)
        dropping = generator_for(seed, "classify", "dropout", epoch)
        for batch in batches(orders([seed], rows, epoch)[0], texts.lengths, settings.batch, seed=seed, epoch=epoch):
            different, windows = _on(matrix.device, texts.windows(batch, settings.width))
            kept = (dropping.random((len(batch), settings.filters), dtype=np.float32) >= settings.dropout) / (
                1 - settings.dropout
            )
            scores = network(different, windows, torch.from_numpy(kept.astype(np.float32)).to(matrix.device))
            gold = known[torch.from_numpy(batch).to(matrix.device)].repeat(len(rates))
            each = torch.nn.functional.cross_entropy(scores.flatten(0, 1), gold, reduction="none")
            own = each.view(len(rates), -1)
            network.optimizer.zero_grad()
            own.mean(1).sum().backward()  # the sum keeps rates apart: none is in another's loss
            network.optimizer.step()
            total += own.detach().sum(1)
        losses[:, epoch] = (total / len(rows)).cpu().numpy()
        predictions[:, epoch] = network.predict(texts, watched)
        on_epoch(1)
    return Trained(losses, predictions)


def batches(order: Ints, lengths: Ints, size: int, *, seed: int, epoch: int) -> Iterator[Ints]:
    """Examples in their order, `size` at a time, those of some batches at a time sorted by length; batches in any."""
    made: list[Ints] = []
    for start in range(0, len(order), BUCKET * size):
        bucket = order[start : start + BUCKET * size]
        bucket = bucket[np.argsort(lengths[bucket], kind="stable")]
        made += [bucket[at : at + size] for at in range(0, len(bucket), size)]
    for number in generator_for(seed, "classify", "batches", epoch).permutation(len(made)).tolist():
        yield made[number]


def _parts(rows: Ints, lengths: Ints) -> Iterator[Ints]:
    """Rows sorted by length, parted where a part would have too many words."""
    start = 0
    for at in range(len(rows)):
        if at > start and (at + 1 - start) * int(lengths[rows[at]]) > AT_ONCE:
            yield rows[start:at]
            start = at
    if start < len(rows):
        yield rows[start:]


def _drawn(seed: int, name: str, shape: tuple[int, ...], *, fan: int) -> torch.Tensor:
    reach = np.sqrt(6 / fan)
    return torch.from_numpy(generator_for(seed, "classify", "cnn", name).uniform(-reach, reach, shape))


def _on(device: torch.device, arrays: tuple[Ints, Ints]) -> tuple[torch.Tensor, torch.Tensor]:
    different, windows = (torch.from_numpy(array).to(device) for array in arrays)
    return different, windows
