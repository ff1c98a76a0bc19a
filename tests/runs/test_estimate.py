"""What a dry run says of the measures of what was kept, by a clock that moves only when they are computed."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from limbeck.errors import InputError
from limbeck.measures.mev import BASELINE_DRAWS
from limbeck.runs.execution.execute import estimate as estimated
from limbeck.runs.execution.execute import execute
from limbeck.runs.measure import MeasureRun, MeasureSettings
from limbeck.runs.measuring import estimate


class Clock:
    """Seconds that are spent by hand."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize("price", [1e-6, 1e-2])
def test_time_of_mev_by_the_price_of_some_words(monkeypatch: pytest.MonkeyPatch, price: float) -> None:
    """Each word, and each draw by chance, costs its occurrences; where that is dear, few words are tried."""
    clock = Clock()

    def explained(vectors: torch.Tensor) -> None:
        clock.now += price * vectors.shape[0] * vectors.shape[1]

    monkeypatch.setattr(estimate, "explained", explained)
    counts = np.array([2, 5, 9, 40, 40, 70])
    monkeypatch.setattr(estimate, "words_kept", lambda plan, settings: np.arange(len(counts)))
    plan: Any = SimpleNamespace(vocabulary=SimpleNamespace(counts=counts))
    settings = MeasureSettings(max_contexts=50)
    found = estimate.mev_seconds(plan, settings, layers=3, dim=8, clock=clock)
    kept = np.minimum(counts, 50)
    assert found == pytest.approx(3 * price * (kept.sum() + BASELINE_DRAWS * np.unique(kept).sum()))
    tried = 2 + 4 * estimate.ROWS * 50  # at most, and what warms up
    assert clock.now <= price * (tried if price < 1e-3 else 2 + 4 * 50)


@pytest.mark.parametrize("dim", [100, 3 * estimate.DIMENSIONS])
def test_time_of_isotropy_of_many_dimensions_by_fewer(monkeypatch: pytest.MonkeyPatch, dim: int) -> None:
    """Eigenvectors cost the cube of the dimensions, and a point their square."""
    clock, widest = Clock(), []

    def isotropy(vectors: torch.Tensor) -> None:
        n, d = vectors.shape
        widest.append(d)
        clock.now += 1e-9 * d**3 + 1e-7 * n * d**2

    monkeypatch.setattr(estimate, "log10_isotropy_of", isotropy)
    found = estimate.isotropy_seconds(10_000, layers=2, dim=dim, clock=clock)
    # what both sizes share is told with the eigenvectors: 500 points
    assert found == pytest.approx(2 * (1e-9 * dim**3 + 1e-7 * 10_000 * dim**2), rel=0.35)
    assert max(widest) <= estimate.DIMENSIONS


@pytest.mark.parametrize("action", [execute, lambda run: list(estimated(run))])
@pytest.mark.parametrize("looks", [True, False])
def test_garbage_is_looked_for_again_once_a_model_is_there(action: Any, looks: bool) -> None:
    """Not while it is loaded; and not at all where somebody has switched that off, or where it cannot be loaded."""
    seen = []

    class Opened(MeasureRun):
        def open(self) -> None:
            seen.append(gc.isenabled())
            raise InputError("there is no model", code="no_model")

    run = Opened.of({"model": ("mini-bert",), "corpus": ["a b c"]})
    try:
        (gc.enable if looks else gc.disable)()
        with pytest.raises(InputError) as caught:
            action(run)
        assert caught.value.code == "no_model"
        assert (seen, gc.isenabled()) == ([False], looks)
    finally:
        gc.enable()
