"""Probes that are trained together are those that would have been trained alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from refusals import raises
from torch import nn

from limbeck.errors import InputError, UsageError
from limbeck.probing import batched
from limbeck.probing.batched import Probes, Rows, train
from limbeck.probing.settings import Training
from limbeck.seeds import generator_for

CLASSES = ("animal", "food", "plant")
LAYERS, DIM, COUNT = 3, 7, 150


@pytest.fixture
def rows() -> Rows:
    generator = np.random.default_rng(3)
    features = generator.standard_normal((COUNT, LAYERS, DIM)).astype(np.float32)
    targets = features[:, 1, : len(CLASSES)] > 0.6
    return Rows(features, np.arange(COUNT), targets)


@pytest.fixture
def dev() -> Rows:
    generator = np.random.default_rng(4)
    features = generator.standard_normal((60, LAYERS, DIM)).astype(np.float32)
    return Rows(features, np.arange(60), features[:, 1, : len(CLASSES)] > 0.6)


def alone(rows: Rows, dev: Rows, *, layer: int, kind: int, settings: Training, seed: int):
    """One probe of torch.nn with two outputs and a softmax, as the paper has it; losses by epoch, and what it says."""
    name, hidden = CLASSES[kind], settings.hidden

    def drawn(part: str, inputs: int, shape: tuple[int, ...]) -> torch.Tensor:
        reach = 1 / np.sqrt(inputs)
        return torch.from_numpy(
            generator_for(seed, "probe", part, name).uniform(-reach, reach, shape).astype(np.float32)
        )

    last = nn.Linear(hidden or DIM, 2)
    modules = [last]
    with torch.no_grad():
        last.weight.copy_(drawn("output", hidden or DIM, (2, hidden or DIM)))
        last.bias.copy_(drawn("output bias", hidden or DIM, (2, 1))[:, 0])
        if hidden:
            first = nn.Linear(DIM, hidden)
            first.weight.copy_(drawn("hidden", DIM, (DIM, hidden)).T)
            first.bias.copy_(drawn("hidden bias", DIM, (1, hidden))[0])
            modules = [first, nn.ReLU(), last]
    model = nn.Sequential(*modules)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate)
    x, y = torch.from_numpy(rows.features[:, layer]), torch.from_numpy(rows.targets[:, kind]).long()
    dev_x, dev_y = torch.from_numpy(dev.features[:, layer]), torch.from_numpy(dev.targets[:, kind]).long()
    losses, best, waited, kept = [], np.inf, 0, None
    for epoch in range(1, settings.epochs + 1):
        total = 0.0
        for numbers in torch.from_numpy(generator_for(seed, "probe", "order", epoch).permutation(COUNT)).split(
            settings.batch
        ):
            loss = nn.functional.cross_entropy(model(x[numbers]), y[numbers])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(numbers)
        losses.append(total / COUNT)
        with torch.no_grad():
            found = float(nn.functional.cross_entropy(model(dev_x), dev_y))
            said = model(dev_x)
        if settings.patience is None:
            kept = said
        elif found < best:
            best, waited, kept = found, 0, said
        else:
            waited += 1
            if waited >= settings.patience:
                break
    assert kept is not None
    return losses, (kept[:, 1] - kept[:, 0]).numpy()


@pytest.mark.parametrize("hidden", [0, 5])
@pytest.mark.parametrize("patience", [None, 2])
def test_each_is_as_if_it_were_alone(rows: Rows, dev: Rows, hidden: int, patience: int | None):
    settings = Training(hidden=hidden, epochs=12, patience=patience, batch=32, learning_rate=0.02)
    together = train(rows, dev, names=CLASSES, settings=settings, seed=5)
    margins = np.concatenate([part for _, part in together.probes.margins(dev.features, dev.index)], axis=1)
    sums = np.zeros((LAYERS, together.losses.shape[1]))
    for layer in range(LAYERS):
        for kind in range(len(CLASSES)):
            losses, said = alone(rows, dev, layer=layer, kind=kind, settings=settings, seed=5)
            np.testing.assert_allclose(margins[layer, :, kind], said, rtol=1e-3, atol=1e-4)
            if patience is None:
                sums[layer] += losses
    if patience is None:
        np.testing.assert_allclose(together.losses, sums / len(CLASSES), rtol=1e-4)
        assert (together.epochs == 12).all()
    else:
        assert (together.epochs < 12).any()  # the test would say nothing of stopping otherwise


def test_groups_of_layers_change_nothing(rows: Rows, dev: Rows, monkeypatch: pytest.MonkeyPatch):
    settings = Training(hidden=4, epochs=6, patience=1, batch=50, learning_rate=0.05)
    whole = train(rows, dev, names=CLASSES, settings=settings)
    monkeypatch.setitem(batched.ROOM, "cpu", 1)
    parts = train(rows, dev, names=CLASSES, settings=settings)
    np.testing.assert_array_equal(whole.epochs, parts.epochs)
    for name, weight in whole.probes.weights.items():
        torch.testing.assert_close(weight, parts.probes.weights[name])


def test_features_on_disk_give_the_same(rows: Rows, dev: Rows, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    settings = Training(hidden=4, epochs=3)
    held = train(rows, dev, names=CLASSES, settings=settings)
    np.save(tmp_path / "x.npy", rows.features)
    mapped = Rows(np.load(tmp_path / "x.npy", mmap_mode="r"), rows.index, rows.targets)
    monkeypatch.setattr(batched, "HELD", 0)
    sent = train(mapped, dev, names=CLASSES, settings=settings)
    np.testing.assert_allclose(held.losses, sent.losses, rtol=1e-6)


def test_the_layer_that_holds_the_class_is_found(rows: Rows, dev: Rows):
    made = train(rows, dev, names=CLASSES, settings=Training(hidden=16, epochs=60, learning_rate=0.01))
    assert made.dev_f1[1, -1] > 0.8
    assert made.dev_f1[[0, 2], -1].max() < 0.5


def test_another_seed_is_another_start(rows: Rows, dev: Rows):
    one, other = (train(rows, dev, names=CLASSES, settings=Training(epochs=1), seed=seed) for seed in (1, 2))
    assert not torch.equal(one.probes.weights["output"], other.probes.weights["output"])


def test_probes_are_kept(rows: Rows, dev: Rows, tmp_path: Path):
    made = train(rows, dev, names=CLASSES, settings=Training(hidden=4, epochs=2)).probes
    made.save(tmp_path / "p" / "mlp-0.safetensors", about={"model": "x"})
    read, about = Probes.load(tmp_path / "p" / "mlp-0.safetensors")
    assert about == {"model": "x"}
    assert read.dim == DIM
    np.testing.assert_array_equal(read.decisions(dev.features, dev.index), made.decisions(dev.features, dev.index))


@pytest.mark.parametrize("where", ["train", "dev"])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_loss_that_is_no_number_is_told(rows: Rows, dev: Rows, where: str, value: float):
    part = {"train": rows, "dev": dev}[where]
    part.features[3, 1, 2] = value
    with raises(InputError, code="not_finite", parameter="learning_rate", says="epoch 1"):
        train(rows, dev, names=CLASSES, settings=Training(hidden=4, epochs=2))


def test_settings_that_make_no_sense_are_refused():
    with raises(UsageError, code="out_of_range"):
        Training(epochs=0)
