"""Lazy Adam on rows, beside torch's own."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from limbeck.distillation.x2static.adam import Rows, Runs, StepRuns

CPU = torch.device("cpu")


def one_step(ids: torch.Tensor, spare: int, *, counted: bool = True) -> Runs:
    return StepRuns(ids, np.array([0, len(ids)]), spare, counted=counted).step(0)


def gradients_of(ids: torch.Tensor, rows: torch.Tensor, runs: Runs) -> torch.Tensor:
    return runs.sums(rows, torch.arange(len(ids)), torch.ones(len(ids), dtype=rows.dtype))


@pytest.mark.parametrize("counted", [True, False])
def test_steps_are_those_of_sparse_adam(counted: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    words, dim = 12, 5
    ours = Rows(words, dim, device=CPU, dtype=torch.float64, moments=torch.float64)
    ours.fill(None)
    start = ours.values[:words].clone()
    theirs = torch.nn.Embedding.from_pretrained(start.clone(), freeze=False, sparse=True)
    optimizer = torch.optim.SparseAdam(theirs.parameters(), lr=0.01)
    never = torch.full((words,), True)
    for step in range(6):
        ids = torch.randint(0, words - 3, (9,), generator=generator)  # some twice, three never
        never[ids] = False
        rows = torch.randn(9, dim, dtype=torch.float64, generator=generator) * 10.0**-step
        runs = one_step(ids, words, counted=counted)
        ours.update(runs.rows, gradients_of(ids, rows, runs), 0.01)
        optimizer.zero_grad()
        (theirs(ids) * rows).sum().backward()
        optimizer.step()
        torch.testing.assert_close(ours.values[:words], theirs.weight.detach(), rtol=1e-12, atol=1e-14)
    assert torch.equal(ours.values[:words][never], start[never])
    assert never.any()


def test_a_version_that_takes_one_of_equal_rows_is_noticed() -> None:
    ids = torch.tensor([3, 1, 3])
    rows = torch.eye(3, dtype=torch.float64)
    runs = one_step(ids, 4)
    summed = gradients_of(ids, rows, runs)
    assert runs.rows.tolist() == [1, 3]
    assert summed.tolist() == [[0, 1, 0], [1, 0, 1]]
    last = torch.zeros(4, 3, dtype=torch.float64)
    last[ids] = rows  # what an assignment would keep
    assert not torch.equal(last[runs.rows], summed)


def test_runs_agree_whether_counted_or_not() -> None:
    ids = torch.tensor([7, 2, 2, 0, 7, 7, 5, 5, 7, 5])
    bounds = np.array([0, 3, 3, 7, 10])  # the second step is empty
    rows = torch.randn(len(ids), 4)
    counted, uncounted = (StepRuns(ids, bounds, 9, counted=told) for told in (True, False))
    for step, sizes in enumerate([[2, 1], [], [1, 1, 2], [2, 1]]):
        low, high = bounds[step : step + 2]
        one, other = counted.step(step), uncounted.step(step)
        real = other.rows < 9
        assert torch.equal(other.rows[real], one.rows)
        assert one.sizes().tolist() == sizes
        assert torch.equal(other.sizes()[real], one.sizes())
        if high > low:
            sums = [gradients_of(ids[low:high], rows[low:high], runs) for runs in (one, other)]
            assert torch.equal(sums[1][real], sums[0])
            assert not sums[1][~real].any()
            dense = torch.zeros(10, 4).index_add_(0, ids[low:high], rows[low:high])
            torch.testing.assert_close(sums[0], dense[one.rows])


def test_start_is_uniform_and_seeded() -> None:
    rows = [Rows(2000, 50, device=CPU, seed=seed) for seed in (1, 1, 2)]
    for table in rows:
        table.fill(None)
    assert torch.equal(rows[0].values, rows[1].values)
    assert not torch.equal(rows[0].values, rows[2].values)
    scaled = rows[0].values[:2000] * 50
    assert scaled.abs().max() <= 1
    assert abs(float(scaled.std()) - 1 / np.sqrt(3)) < 0.01
    given = np.arange(12.0).reshape(4, 3)
    table = Rows(4, 3, device=CPU)
    table.fill(given)
    np.testing.assert_array_equal(table.matrix(), given)


def test_bfloat16_moments_follow_float32_ones() -> None:
    """Rounded to the nearest, a second moment of bfloat16 stands still once it is 256 times what is added to it."""
    tables = [Rows(1, 64, device=CPU, moments=kind) for kind in (torch.float32, torch.bfloat16)]
    generator = torch.Generator().manual_seed(0)
    for step in range(600):
        gradient = torch.randn(1, 64, generator=generator) * (1.0 if step < 200 else 0.05)
        for table in tables:
            table.update(torch.tensor([0]), gradient, 0.01)
    exact, rounded = (table.second[0].float().mean() for table in tables)
    assert rounded == pytest.approx(float(exact), rel=0.05)
    stuck = torch.full((64,), 0.2, dtype=torch.bfloat16)
    assert torch.equal(stuck.float().lerp(torch.zeros(64), 0.001).bfloat16(), stuck)  # the trap
    drift = (tables[0].values - tables[1].values)[0].norm() / tables[0].values[0].norm()
    assert drift < 0.1


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_state_goes_to_arrays_and_back(kind: torch.dtype) -> None:
    table = Rows(5, 3, device=CPU, moments=kind, seed=4)
    table.fill(None)
    for _ in range(3):
        table.update(torch.tensor([1, 4]), torch.randn(2, 3), 0.1)
    state = {name: array.copy() for name, array in table.state("a/").items()}
    other = Rows(5, 3, device=CPU, moments=kind, seed=4)
    other.restore(state, "a/")
    gradient = torch.randn(1, 3)
    for each in (table, other):
        each.update(torch.tensor([4]), gradient, 0.1)
    assert torch.equal(table.values[:5], other.values[:5])
    assert torch.equal(table.second[:5], other.second[:5])
