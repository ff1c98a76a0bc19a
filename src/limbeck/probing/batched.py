"""All probes of all classes and layers trained together, as one batched computation.

A probe is a small network with one hidden layer of ReLU units, or none, and two outputs (this class, not this class)
under a softmax, trained with Adam: that of Zhao et al. (2020). Only the difference of the two outputs decides, and
their weights get opposite gradients at every step, of which Adam makes opposite steps: so the two are one output, the
difference of two starts, trained at twice the rate, exactly. The probes of one layer read the same rows, so their
hidden layers are one product; no probe is in another's loss, and each ends as it would if it were trained alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits as cross_entropy

from limbeck.errors import InputError
from limbeck.probing.settings import Training
from limbeck.seeds import generator_for

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float32]
#: numbers that the hidden layers of a step may take; layers are trained in groups that stay below
ROOM = {"cpu": 1 << 20, "cuda": 1 << 30}
CHUNK = 1024  #: rows that are predicted at once
HELD = 1 << 33  #: bytes of features that are put on a device whole; more are sent batch by batch


@dataclass(frozen=True)
class Rows:
    """Features of rows, read by number, and the classes of each.

    features  (rows, layers, d) in memory or mapped from disk
    index     (n,) the row of features that each example has; several may share one
    targets   (n, classes) whether it is of the class
    """

    features: NDArray[Any]
    index: Ints
    targets: Bools


class Probes:
    """Trained probes: one for each layer and class.

    hidden, hidden_bias  (layers, d, classes * units), (layers, 1, classes * units); None for linear probes
    output, output_bias  (layers, classes, units or d), (layers, 1, classes)
    """

    def __init__(self, weights: dict[str, torch.Tensor], classes: int) -> None:
        self.weights = weights
        self.classes = classes

    @property
    def layers(self) -> int:
        return int(self.weights["output"].shape[0])

    @property
    def dim(self) -> int:
        """Width of the vectors that they read."""
        return int(self.weights["hidden"].shape[1] if "hidden" in self.weights else self.weights["output"].shape[2])

    def margins(self, features: NDArray[Any], index: Ints) -> Iterator[tuple[slice, Floats]]:
        """How far each class is preferred, part by part: rows, and the difference of two logits, above 0 for yes.

        A part is (layers, rows, classes), so that whoever wants less than all of it need not hold it.
        """
        device = self.weights["output"].device
        for at in range(0, len(index), CHUNK):
            x = _layers_first(torch.from_numpy(np.asarray(features[index[at : at + CHUNK]])), device)
            with torch.no_grad():
                found = scores(self.weights, x, self.classes).cpu().numpy()
            yield slice(at, at + found.shape[1]), found

    def decisions(self, features: NDArray[Any], index: Ints) -> Bools:
        """Whether each is of each class, (layers, n, classes)."""
        found = np.empty((self.layers, len(index), self.classes), dtype=bool)
        for rows, margins in self.margins(features, index):
            found[:, rows] = margins > 0
        return found

    def save(self, path: Path, *, about: dict[str, str]) -> None:
        """A safetensors file; `about` are strings that say what they were trained on."""
        from safetensors.torch import save_file

        path.parent.mkdir(parents=True, exist_ok=True)
        plain = {name: weight.detach().cpu().contiguous() for name, weight in self.weights.items()}
        save_file(plain, path, metadata=about | {"classes": str(self.classes)})

    @classmethod
    def load(cls, path: Path, *, device: str = "cpu") -> tuple[Probes, dict[str, str]]:
        """What `save` has written: the probes, and what they were trained on."""
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt", device=device) as file:
                about = dict(file.metadata() or {})
                weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no dict
        except (OSError, SafetensorError) as error:
            raise InputError(f"{path}: not a file of probes ({error}).", code="other_kind") from error
        return cls(weights, int(about.pop("classes"))), about


@dataclass(frozen=True)
class Trained:
    """Probes, and how they came about.

    losses      (layers, epochs) mean cross-entropy over rows and classes in training, as rows were met
    dev_losses  (layers, epochs) on the development side, after each epoch
    dev_f1      (layers, epochs) micro-F1 over its single decisions
    epochs      (layers, classes) the epoch whose weights were kept, from 1
    """

    probes: Probes
    losses: NDArray[np.float64]
    dev_losses: NDArray[np.float64]
    dev_f1: NDArray[np.float64]
    epochs: Ints


def train(
    rows: Rows,
    dev: Rows,
    *,
    names: Sequence[str],
    settings: Training,
    seed: int = 0,
    device: str | torch.device = "cpu",
    on_epoch: Callable[[int], None] = lambda layers: None,
) -> Trained:
    """Train a probe for every layer of the features and every class; `names` of the classes name their starts.

    The layers are independent: they are trained in groups that fit the device, which changes nothing.
    """
    device = torch.device(device)
    layers = rows.features.shape[1]
    width = max(settings.hidden, 1) * len(names) * settings.batch
    group = max(1, min(layers, ROOM.get(device.type, ROOM["cpu"]) // width))
    parts = []
    with quick_products(device):
        for low in range(0, layers, group):
            chosen = slice(low, min(low + group, layers))
            parts.append(_train_group(rows, dev, chosen, names, settings, seed, device, on_epoch))
    weights = {key: torch.cat([part.probes.weights[key] for part in parts]) for key in parts[0].probes.weights}
    most = max(part.losses.shape[1] for part in parts)

    def joined(name: str) -> NDArray[np.float64]:
        found = [getattr(part, name) for part in parts]
        return np.concatenate(
            [np.pad(one, ((0, 0), (0, most - one.shape[1])), constant_values=np.nan) for one in found]
        )

    return Trained(
        Probes(weights, len(names)),
        joined("losses"),
        joined("dev_losses"),
        joined("dev_f1"),
        np.concatenate([part.epochs for part in parts]),
    )


@contextmanager
def quick_products(device: torch.device) -> Iterator[None]:
    """TF32 on a GPU: its rounding is far below what another start of a probe changes."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = before or device.type == "cuda"
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _train_group(
    rows: Rows,
    dev: Rows,
    chosen: slice,
    names: Sequence[str],
    settings: Training,
    seed: int,
    device: torch.device,
    on_epoch: Callable[[int], None],
) -> Trained:
    layers, dim = chosen.stop - chosen.start, rows.features.shape[2]
    weights = start(names, layers=layers, dim=dim, hidden=settings.hidden, seed=seed, device=device)
    inner = [weights[name] for name in weights if name.startswith("hidden")]
    outer = [weights[name] for name in weights if name.startswith("output")]
    rates = [{"params": inner, "lr": settings.learning_rate}] if inner else []
    optimizer = torch.optim.Adam([*rates, {"params": outer, "lr": 2 * settings.learning_rate}], fused=True)
    features, targets = Batches(rows, chosen, device), torch.from_numpy(rows.targets).to(device, torch.float32)
    watched, expected = Batches(dev, chosen, device), torch.from_numpy(dev.targets).to(device, torch.float32)

    best = {name: weight.detach().clone() for name, weight in weights.items()} if settings.patience is not None else {}
    lowest = torch.full((layers, len(names)), torch.inf, device=device)
    kept = torch.zeros((layers, len(names)), dtype=torch.int64, device=device)
    losses, dev_losses, dev_f1 = [], [], []
    for epoch in range(1, settings.epochs + 1):
        order = generator_for(seed, "probe", "order", epoch).permutation(len(rows.index))
        total = torch.zeros(layers, dtype=torch.float64, device=device)
        there = torch.from_numpy(order).to(device)  # once an epoch: sent step by step it would hold the device up
        for at in range(0, len(order), settings.batch):
            step = slice(at, at + settings.batch)
            x = features.take(order[step], there[step])  # (layers, batch, d)
            own = targets[there[step]].expand(layers, -1, -1)
            each = cross_entropy(scores(weights, x, len(names)), own, reduction="none")  # (layers, batch, classes)
            optimizer.zero_grad()
            each.mean(1).sum().backward()  # the sum keeps probes apart: none is in another's loss
            optimizer.step()
            total += each.detach().sum((1, 2))
        losses.append((total / (len(order) * len(names))).cpu().numpy())
        loss, f1 = watch(weights, watched, expected, len(names))
        dev_losses.append(loss.mean(1).cpu().numpy())
        dev_f1.append(f1.cpu().numpy())
        check_losses(losses[-1], dev_losses[-1], epoch)
        on_epoch(layers)
        if settings.patience is None:
            kept.fill_(epoch)
            continue
        better = (loss < lowest) & (epoch - kept <= settings.patience)  # one that has been stopped stays so
        lowest, kept = torch.where(better, loss, lowest), torch.where(better, epoch, kept)
        keep_best(best, weights, better)
        if bool((epoch - kept >= settings.patience).all()):
            break
    final = best or {name: weight.detach() for name, weight in weights.items()}
    curve, dev_curve, f1_curve = (np.stack(each, axis=1).astype(np.float64) for each in (losses, dev_losses, dev_f1))
    return Trained(Probes(final, len(names)), curve, dev_curve, f1_curve, kept.cpu().numpy())


def check_losses(loss: NDArray[np.float64], dev_loss: NDArray[np.float64], epoch: int) -> None:
    """Refuse to go on with probes that learn nothing any more: losses (layers,) in training and on the dev side."""
    lost = int((~np.isfinite(loss + dev_loss)).sum())
    if lost:
        raise InputError(
            f"the loss of probes must be a number; in epoch {epoch} it is none at {lost} of {len(loss)} layers: lower "
            "--learning-rate, or look for vectors that are not finite.",
            code="not_finite",
            parameter="learning_rate",
        )


class Batches:
    """Some layers of the features on the device: whole where they fit, else sent batch by batch."""

    def __init__(self, rows: Rows, chosen: slice, device: torch.device) -> None:
        self._rows, self._chosen, self._device = rows, chosen, device
        self._held: torch.Tensor | None = None
        count = chosen.stop - chosen.start
        if len(rows.index) * count * rows.features.shape[2] * 4 <= HELD:
            part = np.asarray(rows.features[:, chosen][rows.index], dtype=np.float32)
            self._held = torch.from_numpy(part).to(device)

    def __len__(self) -> int:
        return len(self._rows.index)

    def take(self, numbers: Ints, there: torch.Tensor) -> torch.Tensor:
        """Rows by number, (layers, n, d); `there` are the same numbers on the device."""
        if self._held is not None:
            return _layers_first(self._held[there], self._device)
        part = self._rows.features[self._rows.index[numbers]][:, self._chosen]
        return _layers_first(torch.from_numpy(np.asarray(part)), self._device)


def _layers_first(part: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Rows (n, layers, d) as (layers, n, d) in float32."""
    return part.to(device, torch.float32).transpose(0, 1).contiguous()


def start(
    names: Sequence[str], *, layers: int, dim: int, hidden: int, seed: int, device: torch.device | str = "cpu"
) -> dict[str, torch.Tensor]:
    """First weights, uniform ±1/√(inputs) as torch.nn.Linear has them; a class begins alike at every layer."""

    def drawn(name: str, part: str, inputs: int, shape: tuple[int, ...]) -> NDArray[np.float32]:
        reach = 1 / np.sqrt(inputs)
        return generator_for(seed, "probe", part, name).uniform(-reach, reach, shape).astype(np.float32)

    def difference(name: str, part: str, shape: tuple[int, ...]) -> NDArray[np.float32]:
        two = drawn(name, part, hidden or dim, (2, *shape))
        found: NDArray[np.float32] = two[1] - two[0]
        return found

    made: dict[str, NDArray[np.float32]] = {}
    if hidden:
        made["hidden"] = np.concatenate([drawn(name, "hidden", dim, (dim, hidden)) for name in names], axis=1)
        made["hidden_bias"] = np.concatenate([drawn(name, "hidden bias", dim, (1, hidden)) for name in names], axis=1)
    made["output"] = np.stack([difference(name, "output", (hidden or dim,)) for name in names])
    made["output_bias"] = np.stack([difference(name, "output bias", (1,)) for name in names], axis=1)
    return {
        key: torch.from_numpy(array).to(device).expand(layers, *array.shape).clone().requires_grad_()
        for key, array in made.items()
    }


def scores(weights: dict[str, torch.Tensor], x: torch.Tensor, classes: int) -> torch.Tensor:
    """Differences of the two logits (layers, n, classes) of rows x (layers, n, d)."""
    output, bias = weights["output"], weights["output_bias"]
    if "hidden" not in weights:
        return torch.baddbmm(bias, x, output.transpose(1, 2))
    units = torch.relu(torch.baddbmm(weights["hidden_bias"], x, weights["hidden"]))
    units = units.view(x.shape[0], x.shape[1], classes, -1)  # (layers, n, classes, units)
    return (units * output.unsqueeze(1)).sum(-1) + bias


@torch.no_grad()
def watch(
    weights: dict[str, torch.Tensor], rows: Batches, expected: torch.Tensor, classes: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Mean loss (layers, classes) of rows that are not trained on, and micro-F1 (layers,) over their decisions."""
    layers = weights["output"].shape[0]
    loss = torch.zeros((layers, classes), dtype=torch.float64, device=expected.device)
    right, said = (torch.zeros(layers, dtype=torch.float64, device=expected.device) for _ in range(2))
    for at in range(0, len(rows), CHUNK):
        numbers = np.arange(at, min(at + CHUNK, len(rows)))
        there = torch.from_numpy(numbers).to(expected.device)
        found = scores(weights, rows.take(numbers, there), classes)
        own = expected[at : at + CHUNK].expand(layers, -1, -1)
        loss += cross_entropy(found, own, reduction="none").sum(1)
        right += ((found > 0) & (own > 0)).sum((1, 2))
        said += (found > 0).sum((1, 2)) + (own > 0).sum((1, 2))
    return loss / max(len(rows), 1), 2 * right / said.clamp(min=1)


def keep_best(best: dict[str, torch.Tensor], weights: dict[str, torch.Tensor], better: torch.Tensor) -> None:
    """Copy the weights of the probes that have become better, `better` (layers, classes)."""
    layers, classes = better.shape
    for name, weight in weights.items():
        if name.startswith("hidden"):  # (layers, rows, classes * units)
            mask = better.view(layers, 1, classes, 1)
            new, old = (one.detach().view(layers, weight.shape[1], classes, -1) for one in (weight, best[name]))
        elif name == "output":  # (layers, classes, units)
            mask, new, old = better.view(layers, classes, 1), weight.detach(), best[name]
        else:  # (layers, 1, classes)
            mask, new, old = better.view(layers, 1, classes), weight.detach(), best[name]
        best[name] = torch.where(mask, new, old).view(weight.shape)
