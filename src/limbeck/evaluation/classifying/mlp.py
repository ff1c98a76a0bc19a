"""A small classifier on frozen features, trained from several starts at once.

The starts are an axis of the weights: one batched product trains all. Each has its own weights and order of
examples, drawn from its seed alone, so that whatever features are given, the same seed begins and goes on alike.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.evaluation.classifying.features import Inputs
from limbeck.seeds import generator_for

CHUNK = 4_000_000  #: numbers of features that are made at once when predicting


@dataclass(frozen=True)
class MlpSettings:
    """How a classifier is trained: one hidden layer of ReLU units, softmax, Adam.

    hidden         units; 0 for none, a linear classifier
    epochs         all are trained; which one counts is for others to choose
    learning_rate  of Adam
    batch          examples a step, as published
    """

    hidden: int
    epochs: int
    learning_rate: float
    batch: int = 32


@dataclass(frozen=True)
class Trained:
    """What came of each start (s) after each epoch (e).

    losses       (s, e) mean cross-entropy of the examples trained on, as they were met
    predictions  (s, e, watched) predicted classes of the examples that were watched
    """

    losses: NDArray[np.float64]
    predictions: NDArray[np.int16]


def train(
    inputs: Inputs,
    labels: NDArray[np.int64],
    *,
    width: int,
    classes: int,
    rows: NDArray[np.int64],
    watched: NDArray[np.int64],
    seeds: Sequence[int],
    settings: MlpSettings,
    device: torch.device,
    on_epoch: Callable[[int], None] = lambda epochs: None,
) -> Trained:
    """Train on the examples `rows`, and predict those `watched` after each epoch, of which `on_epoch` is told."""
    weights = start(seeds, width=width, hidden=settings.hidden, classes=classes, device=device)
    optimizer = torch.optim.Adam(weights, lr=settings.learning_rate, fused=True)  # fused: a fifth of the time
    known = torch.from_numpy(labels).to(device)
    losses = np.zeros((len(seeds), settings.epochs))
    predictions = np.zeros((len(seeds), settings.epochs, len(watched)), dtype=np.int16)
    for epoch in range(settings.epochs):
        order = torch.from_numpy(orders(seeds, rows, epoch)).to(device)  # (starts, examples)
        total = torch.zeros(len(seeds), dtype=torch.float64, device=device)
        for numbers in order.split(settings.batch, dim=1):
            scores = forward(weights, inputs(numbers))  # (starts, batch, classes)
            each = torch.nn.functional.cross_entropy(scores.flatten(0, 1), known[numbers].flatten(), reduction="none")
            own = each.view(numbers.shape)
            optimizer.zero_grad()
            own.mean(1).sum().backward()  # the sum keeps starts apart: none is in another's loss
            optimizer.step()
            total += own.detach().sum(1)
        losses[:, epoch] = (total / len(rows)).cpu().numpy()
        predictions[:, epoch] = predict(weights, inputs, watched, width=width, device=device)
        on_epoch(1)
    return Trained(losses, predictions)


def start(seeds: Sequence[int], *, width: int, hidden: int, classes: int, device: torch.device) -> list[torch.Tensor]:
    """First weights of each start: uniform ±√(6 / (in + out)) (Glorot & Bengio 2010), biases zero, as Keras has it."""

    def drawn(name: str, rows: int, columns: int) -> torch.Tensor:
        reach = np.sqrt(6 / (rows + columns))
        made = [generator_for(seed, "classify", name).uniform(-reach, reach, (rows, columns)) for seed in seeds]
        return torch.from_numpy(np.stack(made).astype(np.float32))

    shapes = [drawn("hidden", width, hidden), torch.zeros(len(seeds), 1, hidden)] if hidden else []
    shapes += [drawn("output", hidden or width, classes), torch.zeros(len(seeds), 1, classes)]
    return [tensor.to(device).requires_grad_() for tensor in shapes]


def orders(seeds: Sequence[int], rows: NDArray[np.int64], epoch: int) -> NDArray[np.int64]:
    """In which order each start meets the examples in an epoch, (starts, examples)."""
    return np.stack([generator_for(seed, "classify", "order", epoch).permutation(rows) for seed in seeds])


def forward(weights: Sequence[torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Scores (starts, batch, classes) of features (starts, batch, width), or of (batch, width) for all starts."""
    *first, output, output_bias = weights
    if first:
        hidden, hidden_bias = first
        x = torch.relu(x @ hidden + hidden_bias)
    return x @ output + output_bias


@torch.no_grad()
def predict(
    weights: Sequence[torch.Tensor], inputs: Inputs, rows: NDArray[np.int64], *, width: int, device: torch.device
) -> NDArray[np.int16]:
    """Predicted classes (starts, rows)."""
    parts = torch.from_numpy(rows).to(device).split(max(1, CHUNK // width))
    return np.concatenate([forward(weights, inputs(part)).argmax(-1).cpu().numpy().astype(np.int16) for part in parts],
                          axis=1)  # fmt: skip
