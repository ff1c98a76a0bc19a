"""Pieces to words by hand: the hidden state is the position, so every pooling is known."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises

from limbeck.encoders.pooling import POOLINGS, Pooling
from limbeck.errors import UsageError

CPU = torch.device("cpu")


def positions(windows: int, length: int, layers: int, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """State of window w, position t, layer l: (100 w + t + l, -t)."""
    w, t = torch.meshgrid(torch.arange(windows), torch.arange(length), indexing="ij")
    return [torch.stack([100.0 * w + t + layer, -1.0 * t], dim=-1).to(dtype) for layer in range(layers)]


@pytest.mark.parametrize(
    ("kind", "want"),
    [("mean", (4, -4)), ("first", (3, -3)), ("last", (5, -5)), ("sum", (12, -12)), ("max", (5, -3)), ("min", (3, -5))],
)
def test_poolings_by_hand(kind: str, want: tuple[int, int]) -> None:
    row, first, count = np.array([0, 0, 1, 1]), np.array([1, 3, 0, 4]), np.array([1, 3, 1, 2])
    out = Pooling.plan(kind, row * 6 + first, count, CPU)(positions(2, 6, 3))
    assert out.shape == (3, 4, 2)
    assert out[0, 0].tolist() == [1, -1]
    assert out[0, 1].tolist() == list(want)
    assert out[2, 2].tolist() == [102, 0]
    assert out[1, 0].tolist() == [2, -1]


@pytest.mark.parametrize("kind", POOLINGS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_poolings_against_a_loop(kind: str, dtype: torch.dtype) -> None:
    generator = torch.Generator().manual_seed(1)
    rng = np.random.default_rng(2)
    states = [torch.randn((5, 12, 4), generator=generator, dtype=torch.float64).to(dtype) for _ in range(2)]
    row = rng.integers(0, 5, size=40)
    first = rng.integers(0, 8, size=40)
    count = np.where(rng.random(40) < 0.7, 1, rng.integers(1, 5, size=40))
    out = Pooling.plan(kind, row * 12 + first, count, CPU)(states)
    assert out.dtype == dtype
    for layer in range(2):
        for unit in range(40):
            x = states[layer][row[unit], first[unit] : first[unit] + count[unit]].double()
            want = {"mean": x.mean(0), "first": x[0], "last": x[-1], "sum": x.sum(0), "max": x.max(0).values,
                    "min": x.min(0).values}[kind]  # fmt: skip
            # one rounding, at the end
            torch.testing.assert_close(out[layer, unit], want.to(dtype), rtol=1e-6 if dtype == torch.float32 else None,
                                       atol=1e-6 if dtype == torch.float32 else None)  # fmt: skip


def test_low_precision_is_summed_in_float32() -> None:
    """256 + 1 + 1 + ... in bfloat16 would stay 256."""
    state = torch.ones((1, 101, 1), dtype=torch.bfloat16)
    state[0, 0] = 256
    out = Pooling.plan("sum", np.array([0]), np.array([101]), CPU)([state])
    assert out.item() == 356


def test_overflow_is_not_hidden() -> None:
    state = torch.full((1, 2, 1), 60000.0, dtype=torch.float16)
    out = Pooling.plan("sum", np.array([0]), np.array([2]), CPU)([state])
    assert out.isinf().all()


@pytest.mark.filterwarnings("ignore:Synchronization debug mode")  # said when the check is switched on
@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", POOLINGS)
def test_nothing_waits_for_the_device(kind: str) -> None:
    row, first, count = np.array([0, 0, 1, 1]), np.array([1, 3, 0, 4]), np.array([1, 3, 1, 2])
    want = Pooling.plan(kind, row * 6 + first, count, CPU)(positions(2, 6, 3))
    states = [state.cuda() for state in positions(2, 6, 3)]
    torch.cuda.synchronize()
    torch.cuda.set_sync_debug_mode("error")
    try:
        got = Pooling.plan(kind, row * 6 + first, count, torch.device("cuda"))(states)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.equal(got.cpu(), want)


def test_no_units() -> None:
    none = np.zeros(0, dtype=np.int64)
    assert Pooling.plan("mean", none, none, CPU)(positions(1, 3, 2)).shape == (2, 0, 2)


def test_an_unknown_pooling_is_refused() -> None:
    none = np.zeros(0, dtype=np.int64)
    with raises(UsageError, code="unknown_choice", parameter="pooling", says="'mean'"):
        Pooling.plan("maen", none, none, CPU)
