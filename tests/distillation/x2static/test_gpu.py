"""The same training on a GPU: other sums, and the runs that nobody counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.settings import Regression, Sent2Vec, Training, X2Static
from limbeck.distillation.x2static.trainer import Trainer

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device"),
]
WORDS, DIM, SENTENCES = 200, 16, 300
SMALL: dict[str, Any] = {"batch_texts": 16, "learning_rate": 0.01}


def trained(settings: Training, device: str) -> Trainer:
    generator = np.random.default_rng(0)
    sizes = generator.integers(1, 12, SENTENCES)
    n = int(sizes.sum())
    words = np.minimum(generator.geometric(0.03, n) - 1, WORDS - 1)
    contexts = torch.from_numpy(generator.normal(size=(SENTENCES, DIM))).float()
    shard = Gathered(
        contexts.to(device),
        np.arange(SENTENCES),
        words,
        np.repeat(np.arange(SENTENCES), sizes),
        generator.integers(0, 2**64, n, dtype=np.uint64),
        n,
    )
    counts = np.bincount(words, minlength=WORDS) + 1
    trainer = Trainer(counts, DIM, settings, shard_units=np.array([n]), device=device)
    for _ in range(3):
        trainer.train(0, shard)
    return trainer


@pytest.mark.parametrize(
    "settings",
    [
        X2Static(subsample=0.01, **SMALL),
        X2Static(subsample=0.01, reuse=True, distinct=False, clamp=20.0, **SMALL),
        Regression(pull=2.0, **SMALL),
        Regression(fit="cosine", **SMALL),
        Sent2Vec(subsample=0.01, dim=DIM, **SMALL),
    ],
    ids=lambda settings: type(settings).__name__,
)
def test_a_gpu_trains_as_the_cpu_does(settings: Training) -> None:
    here, there = trained(settings, "cpu"), trained(settings, "cuda")
    np.testing.assert_allclose(there.matrix(), here.matrix(), rtol=0, atol=2e-3)
    np.testing.assert_allclose(
        [row["loss"] for row in there.losses.rows], [row["loss"] for row in here.losses.rows], rtol=1e-3
    )
    again = trained(settings, "cuda")
    np.testing.assert_array_equal(again.matrix(), there.matrix())  # sums are made in order


def test_moments_in_half_precision_are_right_in_the_mean() -> None:
    """Rounded at random, by other numbers on either side: each is near the training with full moments."""
    whole = trained(X2Static(subsample=0.01, **SMALL), "cpu").matrix()
    half = X2Static(subsample=0.01, moments="bfloat16", **SMALL)
    off = {device: np.abs(trained(half, device).matrix() - whole).mean() for device in ("cpu", "cuda")}
    assert 0 < off["cuda"] < 1.5 * off["cpu"]
