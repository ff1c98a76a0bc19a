"""The training loop: plain Adam over all weights, the step that is best on the development set kept."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoders.batching import cut
from limbeck.errors import LimbeckError
from limbeck.probing.finetuning.checkpoint import Checkpoint
from limbeck.probing.finetuning.network import Network
from limbeck.probing.finetuning.pieces import Windows, collate
from limbeck.seeds import generator_for, seed_of
from limbeck.stream.progress import Progress

Ints = NDArray[np.int64]
CHECKPOINT_SECONDS = 60.0  #: between two checkpoints, at least
ADAM = ("exp_avg", "exp_avg_sq")


@dataclass(frozen=True)
class Loop:
    """How to train: numbers of the loop alone.

    steps           in all
    per_epoch       steps an epoch
    batch           windows a step
    evaluate_every  steps between two looks at the development set; the last step is always looked at
    pieces          most padded pieces in one forward pass: a batch is read in as many as it takes, which changes
                    nothing but memory and rounding
    """

    steps: int
    per_epoch: int
    batch: int
    evaluate_every: int
    learning_rate: float
    pieces: int
    pad: int
    seed: int = 0


@dataclass
class Curves:
    """Loss of every step, and scores on the development set at some: columns of two tables."""

    steps: dict[str, list[float]] = field(default_factory=lambda: {"step": [], "epoch": [], "loss": []})
    dev: dict[str, list[float]] = field(default_factory=dict)

    def add_dev(self, row: dict[str, float]) -> None:
        for name, value in row.items():
            self.dev.setdefault(name, []).append(value)


@dataclass(frozen=True)
class Trained:
    """The curves, and which step's weights the network has now."""

    curves: Curves
    best_step: int
    seconds: float


def train(
    network: Network,
    windows: Windows,
    evaluate: Callable[[], dict[str, float]],
    loop: Loop,
    *,
    metric: str,
    checkpoint: Checkpoint | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    progress: bool = False,
) -> Trained:
    """Train the network in place and leave it with the weights of the best step.

    evaluate  scores of the network as it is, of which `metric` decides; of equal ones the earlier step is kept

    Stopped and gone on with from a checkpoint, it gives the same weights as in one go: the order of examples and what
    dropout leaves out depend on seed and step alone.
    """
    began = time.monotonic()
    parameters = [parameter for parameter in network.parameters() if parameter.requires_grad]
    # one tensor after another: the same arithmetic on every machine, and no copies of all weights at once
    optimizer = torch.optim.Adam(parameters, lr=loop.learning_rate, foreach=False)
    curves, best = Curves(), _Best()
    done, before = 0, 0.0
    saved = checkpoint.load() if checkpoint is not None else None
    if saved is not None:
        done, before = _restore(network, optimizer, curves, best, *saved)
    last_save = time.monotonic()
    with Progress("fine-tuning", total=loop.steps, done=done, unit="steps", show=progress) as shown:
        for step in range(done + 1, loop.steps + 1):
            epoch = (step - 1) // loop.per_epoch
            loss = _step(network, optimizer, windows, _batch_of(step, len(windows), loop), loop, step)
            for name, value in (("step", step), ("epoch", epoch + 1), ("loss", loss)):
                curves.steps[name].append(value)
            shown.advance(1)
            if step % loop.evaluate_every and step != loop.steps:
                continue
            found = evaluate()
            curves.add_dev({"step": step, "epoch": round(step / loop.per_epoch, 4), **found})
            if found[metric] > best.score:
                best.keep(network, step, found[metric])
            now = time.monotonic()
            if checkpoint is not None and step < loop.steps and now - last_save >= checkpoint_seconds:
                _save(checkpoint, network, optimizer, curves, best, step, before + now - began)
                last_save = time.monotonic()
    network.load_state_dict(best.weights)
    return Trained(curves, best.step, before + time.monotonic() - began)


def predict(network: Network, windows: Windows, *, pieces: int, pad: int) -> tuple[Ints, float]:
    """The most likely class at every place, and the mean cross-entropy of the true ones that the network knows."""
    device = network.head.weight.device
    predicted = np.zeros(len(windows.places), dtype=np.int64)
    total, known = 0.0, 0
    training = network.training
    network.eval()
    try:
        with torch.inference_mode():
            for chosen in _passes(windows, np.arange(len(windows)), pieces):
                batch = collate(windows, chosen, pad=pad, device=device)
                if not len(batch.rows):
                    continue
                logits = network(batch)
                predicted[batch.rows] = logits.argmax(1).cpu().numpy()
                there = batch.labels < logits.shape[1]
                loss = torch.nn.functional.cross_entropy(logits[there], batch.labels[there], reduction="sum")
                total, known = total + float(loss), known + int(there.sum())
    finally:
        network.train(training)
    return predicted, total / max(known, 1)


class _Best:
    """The best weights so far, off the device."""

    def __init__(self) -> None:
        self.step, self.score = 0, -math.inf
        self.weights: dict[str, torch.Tensor] = {}

    def keep(self, network: Network, step: int, score: float) -> None:
        self.step, self.score = step, score
        self.weights = {
            name: tensor.detach().to("cpu", copy=True) for name, tensor in network.state_dict().items()
        }  # fmt: skip


def _batch_of(step: int, count: int, loop: Loop) -> Ints:
    """The windows of a step: every epoch has an order of its own."""
    epoch, place = divmod(step - 1, loop.per_epoch)
    order = generator_for(loop.seed, "finetune", "order", epoch).permutation(count)
    return np.asarray(order[place * loop.batch : (place + 1) * loop.batch])


def _passes(windows: Windows, chosen: Ints, pieces: int) -> list[Ints]:
    """Windows of similar length together, in forward passes of at most so many padded pieces."""
    lengths = windows.lengths[chosen]
    order = np.argsort(-lengths, kind="stable")
    cuts = cut(lengths[order], np.ones_like(order), pieces)
    return [chosen[order[low:high]] for low, high in pairwise(cuts)]


def _step(
    network: Network, optimizer: torch.optim.Optimizer, windows: Windows, chosen: Ints, loop: Loop, step: int
) -> float:
    """One step of Adam on the mean cross-entropy over the batch's places; returns it."""
    device = network.head.weight.device
    places = int(windows.places_in(chosen).sum())
    if not places:
        return math.nan  # sentences without a single tag: nothing to learn
    network.train()
    optimizer.zero_grad(set_to_none=True)
    total = 0.0
    with _own_chance(seed_of(loop.seed, "finetune", "dropout", step), device):
        for some in _passes(windows, chosen, loop.pieces):
            batch = collate(windows, some, pad=loop.pad, device=device)
            if not len(batch.rows):
                continue
            loss = torch.nn.functional.cross_entropy(network(batch), batch.labels, reduction="sum") / places
            loss.backward()
            total += float(loss.detach())
    if not math.isfinite(total):
        raise LimbeckError(
            f"The loss must stay finite, got {total} at step {step}: lower --learning-rate.",
            code="not_finite",
            parameter="learning_rate",
        )
    optimizer.step()
    return total


@contextmanager
def _own_chance(seed: int, device: torch.device) -> Iterator[None]:
    """Random numbers of this seed inside, whoever else draws some; those of others go on as if nothing had been."""
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices=devices):
        torch.manual_seed(seed >> 1)
        yield


def _save(
    checkpoint: Checkpoint,
    network: Network,
    optimizer: torch.optim.Optimizer,
    curves: Curves,
    best: _Best,
    step: int,
    seconds: float,
) -> None:
    tensors = {f"now.{name}": tensor for name, tensor in network.state_dict().items()}
    tensors |= {f"best.{name}": tensor for name, tensor in best.weights.items()}
    for name, parameter in network.named_parameters():
        for key in ADAM:
            if parameter in optimizer.state:  # a pooler has no gradient and so no moments
                tensors[f"{key}.{name}"] = optimizer.state[parameter][key]
    about = {
        "step": step,
        "seconds": seconds,
        "best": [best.step, best.score],
        "steps": curves.steps,
        "dev": curves.dev,
    }
    checkpoint.save(tensors, about)


def _restore(
    network: Network,
    optimizer: torch.optim.Optimizer,
    curves: Curves,
    best: _Best,
    tensors: dict[str, torch.Tensor],
    about: dict[str, Any],
) -> tuple[int, float]:
    """Put everything back as it was; the number of steps done and the seconds they took."""

    def of(kind: str) -> dict[str, torch.Tensor]:
        return {name.removeprefix(kind): tensor for name, tensor in tensors.items() if name.startswith(kind)}

    network.load_state_dict(of("now."))
    best.weights = of("best.")
    best.step, best.score = about["best"]
    curves.steps, curves.dev = about["steps"], about["dev"]
    moments = [of(f"{key}.") for key in ADAM]
    for name, parameter in network.named_parameters():
        if name in moments[0]:
            optimizer.state[parameter] = {
                "step": torch.tensor(float(about["step"])),
                **{key: own[name].to(parameter.device) for key, own in zip(ADAM, moments, strict=True)},
            }
    return int(about["step"]), float(about["seconds"])
