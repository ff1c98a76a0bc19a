"""Training all probes together over training the same probes one after another, in one run.

    python -m benchmarks.probe [--classes 34 --layers 13 --dim 768 --hidden 1024 --contexts 100000 --device cuda]

Both sides see the same made vectors, batches of the same size in the same order, and Adam. One after another is what a
plain script does: torch.nn modules, one class and layer at a time. Since that takes long, a sample of the probes is
trained so and its time multiplied (`--alone N`). Rounds of the two sides take turns, so that a busy machine slows both,
and the ratio is the median of the rounds' ratios, by the clock and by processor time. Each round has a seed of its own:
the mean F1 of the probes of the sample is told for both sides, with how much it differs from seed to seed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch import nn

from benchmarks.machine import report
from limbeck.probing import Rows, Training, train
from limbeck.seeds import generator_for


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--classes", type=int, default=20)
    parser.add_argument("--layers", type=int, default=13)
    parser.add_argument("--dim", type=int, default=128)
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--contexts", type=int, default=2_000)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--alone", type=int, default=20, help="probes that are trained one after another")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    device = torch.device(options.device)
    torch.backends.cuda.matmul.allow_tf32 = True  # for both sides
    rows, dev = made(options.contexts, options), made(1_000, options, seed=1)
    settings = Training(hidden=options.hidden, epochs=options.epochs, patience=None, batch=options.batch)
    names = [f"class {number}" for number in range(options.classes)]
    count = options.classes * options.layers
    chosen = [(number % options.layers, number % options.classes) for number in range(min(options.alone, count))]

    def together(seed: int) -> float:
        trained = train(rows, dev, names=names, settings=settings, seed=seed, device=device)
        found = trained.probes.decisions(dev.features, dev.index)
        return float(np.mean([f1(found[layer, :, kind], dev.targets[:, kind]) for layer, kind in chosen]))

    def alone(seed: int) -> float:
        return float(np.mean([train_alone(rows, dev, layer, kind, settings, device, seed) for layer, kind in chosen]))

    sides = {"together": together, "alone": alone}
    seconds: dict[str, list[float]] = {side: [] for side in sides}
    worked: dict[str, list[float]] = {side: [] for side in sides}
    scores: dict[str, list[float]] = {side: [] for side in sides}
    for seed in range(options.rounds + 1):
        for side, work in sides.items():
            began = time.process_time()
            took, score = timed(partial(work, seed), device)
            if seed:  # in the first round things warm up
                seconds[side].append(took)
                worked[side].append(time.process_time() - began)
                scores[side].append(score)
    times = count / len(chosen)
    ratios = times * np.array(seconds["alone"]) / np.array(seconds["together"])
    report(
        "probe",
        {
            **vars(options),
            "probes": count,
            "seconds_together": float(np.median(seconds["together"])),
            "seconds_one_after_another": float(times * np.median(seconds["alone"])),
            "trained_alone": len(chosen),
            "ratio": float(np.median(ratios)),
            "ratio_least": float(ratios.min()),
            "ratio_most": float(ratios.max()),
            "ratio_of_processor_time": float(times * np.median(np.divide(worked["alone"], worked["together"]))),
            **{f"f1_{side}": float(np.mean(found)) for side, found in scores.items()},
            **{
                f"f1_{side}_deviation": float(np.std(found, ddof=1)) for side, found in scores.items() if len(found) > 1
            },
        },
    )


def timed(work: Callable[[], float], device: torch.device) -> tuple[float, float]:
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    found = work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began, found


def made(count: int, options: argparse.Namespace, *, seed: int = 0) -> Rows:
    """Vectors of which a few dimensions hold the classes, with noise."""
    generator = np.random.default_rng(seed)
    kind = generator.integers(0, options.classes, count)
    features = generator.standard_normal((count, options.layers, options.dim), dtype=np.float32)
    features[np.arange(count), :, kind % options.dim] += 6
    return Rows(features, np.arange(count), np.eye(options.classes, dtype=bool)[kind])


def train_alone(
    rows: Rows, dev: Rows, layer: int, kind: int, settings: Training, device: torch.device, seed: int
) -> float:
    """One probe as a plain script trains it; its F1 on the development rows."""
    torch.manual_seed(seed)
    dim = rows.features.shape[2]
    model = nn.Sequential(nn.Linear(dim, settings.hidden), nn.ReLU(), nn.Linear(settings.hidden, 2)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=settings.learning_rate, fused=True)
    x = torch.from_numpy(np.ascontiguousarray(rows.features[:, layer])).to(device)
    y = torch.from_numpy(rows.targets[:, kind].astype(np.int64)).to(device)
    for epoch in range(1, settings.epochs + 1):
        order = torch.from_numpy(generator_for(seed, "probe", "order", epoch).permutation(len(x))).to(device)
        for numbers in order.split(settings.batch):
            loss = nn.functional.cross_entropy(model(x[numbers]), y[numbers])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    with torch.no_grad():
        said = model(torch.from_numpy(np.ascontiguousarray(dev.features[:, layer])).to(device)).argmax(1).cpu().numpy()
    return f1(said.astype(bool), dev.targets[:, kind])


def f1(said: np.ndarray, true: np.ndarray) -> float:
    both = 2 * int((said & true).sum())
    return both / max(1, int(said.sum()) + int(true.sum()))


if __name__ == "__main__":
    main()
