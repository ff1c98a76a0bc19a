"""Embedding tables: every number against brute force, and the equations of Biš et al. 2021 against autograd."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from scipy.special import logsumexp
from sklearn.decomposition import TruncatedSVD
from transformers import AutoModelForCausalLM, AutoTokenizer

from limbeck import measures
from limbeck.corpus import Corpus
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import LimbeckError
from limbeck.measures.tables import (
    bins,
    checked,
    cosine_regularizer,
    geometry,
    kinds_to_cover,
    mean_cosine,
    mean_cosine_between,
    row_norms,
    softmax_gradient,
)


def made(seed: int = 0, *, n: int = 40, d: int = 5, shift: float = 1.0) -> np.ndarray:
    generator = np.random.default_rng(seed)
    return generator.normal(size=(n, d)) * np.linspace(0.4, 1.5, d) + shift * generator.normal(size=d)


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / math.sqrt((a @ a) * (b @ b)))


# geometry


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("shift", [0.0, 1.0, 4.0])
def test_geometry_is_what_brute_force_says(shift: float, dtype: type) -> None:
    w = made(shift=shift).astype(dtype)
    found, wide = geometry(w), w.astype(np.float64)
    mean = wide.sum(axis=0) / len(wide)
    assert (found.rows, found.dim, found.zero_rows) == (40, 5, 0)
    assert found.mean_norm == pytest.approx(np.mean([math.sqrt(sum(x * x for x in row)) for row in wide]))
    assert found.norm_of_mean == pytest.approx(math.sqrt(sum(x * x for x in mean)))
    assert found.shift == pytest.approx(found.norm_of_mean / found.mean_norm)
    assert found.mean_cosine == pytest.approx(np.mean([cosine(a, b) for a, b in itertools.combinations(wide, 2)]))
    np.testing.assert_allclose(found.singular_values, np.linalg.svd(wide, compute_uv=False), rtol=1e-9)
    np.testing.assert_allclose(found.normalized_singular_values[0], 1.0)
    assert found.isoscore == pytest.approx(measures.isoscore(wide).value)


def test_singular_values_are_those_of_the_released_code() -> None:
    """ARPACK's TruncatedSVD with d − 1 components, over the largest (docs/fidelity.md §5.13)."""
    w = made(3, n=60, d=6)
    theirs = TruncatedSVD(5, algorithm="arpack", random_state=0).fit(w).singular_values_
    np.testing.assert_allclose(geometry(w).normalized_singular_values[:5], theirs / theirs[0], rtol=1e-9)


def test_isotropy_is_the_partition_function_at_eigenvectors() -> None:
    w = made(1)
    _, vectors = np.linalg.eigh(w.T @ w)
    both = [logsumexp(sign * w @ u) for u in vectors.T for sign in (1, -1)]
    one = [logsumexp(w @ (u if (w @ u).mean() >= 0 else -u)) for u in vectors.T]
    found = geometry(w)
    assert math.log(found.isotropy) == pytest.approx(min(both) - max(both))
    assert math.log(found.isotropy_one_sign) == pytest.approx(min(one) - max(one))
    assert found.isotropy <= found.isotropy_one_sign <= 1


@pytest.mark.parametrize("length", [0.3, 1.0, 2.5])
def test_isotropy_of_a_tight_moved_cloud_is_the_exponential_of_its_mean(length: float) -> None:
    """docs/fidelity.md §5.3: the first eigenvector is the mean's, and its Z is exp(‖μ‖) times that of the others."""
    generator = np.random.default_rng(0)
    w = 0.01 * generator.normal(size=(3000, 30))
    w += length * np.ones(30) / math.sqrt(30)
    found = geometry(w)
    assert found.isotropy_one_sign == pytest.approx(math.exp(-found.norm_of_mean), rel=0.01)
    assert found.isotropy == pytest.approx(math.exp(-2 * found.norm_of_mean), rel=0.01)  # both signs: the square
    assert found.top_with_mean == pytest.approx(1.0, abs=1e-3)


def test_top_eigenvector_and_mean() -> None:
    w = np.array([[3.0, 1.0], [3.0, -1.0], [1.0, 0.0]])
    assert geometry(w).top_with_mean == pytest.approx(1.0)
    assert geometry(w - w.mean(axis=0)).top_with_mean != geometry(w - w.mean(axis=0)).top_with_mean  # NaN: no mean
    across = np.array([[0.1, 5.0], [0.1, -5.0]])
    assert geometry(across).top_with_mean == pytest.approx(0.0, abs=1e-12)


def test_centering_changes_place_and_not_spread() -> None:
    w = made(2, shift=3.0)
    raw, centered = geometry(w), geometry(w - w.mean(axis=0))
    assert centered.shift < 1e-12 < raw.shift
    assert centered.isoscore == pytest.approx(raw.isoscore)
    assert centered.log10_isotropy > raw.log10_isotropy


def test_zero_rows_have_no_direction() -> None:
    w = np.vstack([made(), np.zeros((3, 5))])
    found = geometry(w)
    assert found.zero_rows == 3
    assert found.mean_cosine == pytest.approx(mean_cosine(made()))
    assert found.mean_norm == pytest.approx(geometry(made()).mean_norm * 40 / 43)


def test_undefined_is_not_a_number() -> None:
    single = geometry(np.ones((1, 3)))
    assert math.isnan(single.mean_cosine)
    assert math.isnan(single.isoscore)
    nothing = geometry(np.zeros((4, 3)))
    assert all(math.isnan(x) for x in (nothing.shift, nothing.mean_cosine, nothing.top_with_mean, nothing.isoscore))
    assert np.isnan(nothing.normalized_singular_values).all()
    assert math.isnan(geometry(np.eye(3)).log10_isotropy)  # equal eigenvalues have no eigenvectors
    assert "eigen" in geometry(np.eye(3)).note


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (np.zeros((0, 3)), "wrong_shape"),
        (np.zeros(3), "wrong_shape"),
        (np.zeros((2, 0)), "wrong_shape"),
        (np.array([[1.0, np.nan]]), "not_finite"),
    ],
)
def test_what_is_no_table_is_refused(bad: np.ndarray, code: str) -> None:
    with raises(LimbeckError, code=code, parameter="table"):
        checked(bad)


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    w = made(n=50)
    whole, norms = geometry(w), row_norms(w)
    monkeypatch.setattr("limbeck.measures.tables.ROWS_AT_ONCE", 7)
    parts = geometry(w)
    np.testing.assert_allclose(row_norms(w), norms)
    assert parts.mean_cosine == pytest.approx(whole.mean_cosine, abs=1e-12)
    np.testing.assert_allclose(parts.singular_values, whole.singular_values)


# rare rows and frequencies


def test_mean_cosine_between_is_brute_force() -> None:
    w = made(n=12)
    rows, others = np.array([0, 3, 5, 7]), np.array([5, 7, 8, 9, 10])
    apart = [cosine(w[i], w[j]) for i in rows for j in others if i != j]
    every = [cosine(w[i], w[j]) for i in rows for j in others]
    assert mean_cosine_between(w, rows, others) == pytest.approx(np.mean(apart))
    assert mean_cosine_between(w, rows, others, self_pairs=True) == pytest.approx(np.mean(every))
    assert np.mean(apart) != pytest.approx(np.mean(every), abs=1e-3)  # the published way is another number
    assert math.isnan(mean_cosine_between(w, np.array([4]), np.array([4])))


def test_bins_hold_every_row_once() -> None:
    parts = bins(np.arange(25)[::-1], 10)
    assert [len(part) for part in parts] == [10, 10, 5]
    assert np.concatenate(parts).tolist() == list(range(24, -1, -1))


@pytest.mark.parametrize("seed", range(5))
def test_kinds_to_cover_counted_one_by_one(seed: int) -> None:
    counts = np.random.default_rng(seed).integers(0, 50, size=30)
    for share in (0.1, 0.3, 0.5, 0.98, 1.0):
        taken, kinds = 0, 0
        for count in sorted(counts.tolist(), reverse=True):
            if taken >= share * counts.sum():
                break
            taken, kinds = taken + count, kinds + 1
        assert kinds_to_cover(counts, [share]) == [kinds]
    assert kinds_to_cover(np.zeros(3), [0.5]) == [0]


# equations


def test_regularizer_pair_by_pair() -> None:
    """Appendix A: the constant is −1/N, and −N as printed is not it (docs/fidelity.md §5.15)."""
    w = made(n=15)
    n = len(w)
    total = sum(cosine(w[i], w[j]) for i in range(n) for j in range(n) if i != j)
    mean_direction = np.mean([row / np.linalg.norm(row) for row in w], axis=0)
    assert cosine_regularizer(w) == pytest.approx(total / n**2)
    assert cosine_regularizer(w) == pytest.approx(mean_direction @ mean_direction - 1 / n)
    assert abs(cosine_regularizer(w) - (mean_direction @ mean_direction - n)) > 10


def test_regularizer_has_the_gradient_of_the_mean_direction() -> None:
    """What the identity is for: minimising one is minimising the other."""
    gradients = []
    for kind in ("pairs", "mean"):
        w = torch.from_numpy(made(n=6)).requires_grad_()
        units = w / w.norm(dim=1, keepdim=True)
        pairs = (units @ units.T - torch.eye(6, dtype=torch.float64)).sum() / 36
        (pairs if kind == "pairs" else units.mean(0).square().sum()).backward()
        gradients.append(w.grad.numpy())
    np.testing.assert_allclose(*gradients, atol=1e-12)


def test_gradient_is_autograds() -> None:
    generator = np.random.default_rng(4)
    w, h = made(n=9), generator.normal(size=5)
    table = torch.from_numpy(w).requires_grad_()
    torch.nn.functional.cross_entropy((table @ torch.from_numpy(h))[None], torch.tensor([6])).backward()
    np.testing.assert_allclose(softmax_gradient(w, h, 6), table.grad.numpy(), atol=1e-14)
    assert np.isfinite(softmax_gradient(w * 1e4, h, 6)).all()  # no overflow
    # the target's row takes back what the others give: y sums to one, and so does the truth
    np.testing.assert_allclose(softmax_gradient(w, h, 6).sum(axis=0), 0.0, atol=1e-14)


def common(steps: torch.Tensor) -> float:
    """How much of the steps of a table's rows is one step: length of their mean over their mean length."""
    return float(steps.mean(0).norm() / steps.norm(dim=1).mean())


@pytest.mark.parametrize(
    ("optimizer", "moves"),
    [
        (lambda rows: torch.optim.SGD(rows, lr=0.1), False),
        (lambda rows: torch.optim.SGD(rows, lr=0.1, momentum=0.9), False),
        (lambda rows: torch.optim.Adam(rows, lr=0.1), True),
    ],
)
def test_the_softmax_cannot_move_the_mean_of_a_table_but_an_optimizer_can(optimizer: Any, moves: bool) -> None:
    """Rows of Eq. 5 sum to zero, over any predictions; Adam divides each row by its own size, and they no longer do."""
    generator = np.random.default_rng(0)
    rows = torch.from_numpy(generator.normal(size=(500, 16))).requires_grad_()
    before, taking = rows.detach().clone(), optimizer([rows])
    odds = 1 / np.arange(1, 501)
    targets = torch.from_numpy(generator.choice(500, size=300, p=odds / odds.sum()))
    hidden = torch.from_numpy(generator.normal(size=(300, 16)) + 1.0)
    for part in range(3):
        taking.zero_grad()
        of = slice(100 * part, 100 * part + 100)
        torch.nn.functional.cross_entropy(hidden[of] @ rows.T, targets[of]).backward()
        taking.step()
    moved = common(rows.detach() - before)
    assert moved > 0.1 if moves else moved < 1e-12


def test_steps_of_mini_gpt2_on_text_at_fixed_weights() -> None:
    """What docs/bis2021.md says of a real gradient: no mean by SGD, half a step by Adam, some through the input."""
    folder = miniature_folder("mini-gpt2")
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    table = model.get_output_embeddings().weight
    assert table is model.get_input_embeddings().weight
    words = [" ".join(sentence.words).lower() for sentence in itertools.islice(Corpus(["sample"]), 60)]
    pieces = AutoTokenizer.from_pretrained(folder)(" ".join(words)).input_ids
    ids = torch.tensor(pieces[: 8 * 128]).view(8, 128)

    def gradient(hidden: torch.Tensor) -> torch.Tensor:
        logits = (hidden @ table.T)[:, :-1].flatten(0, 1)
        return torch.autograd.grad(torch.nn.functional.cross_entropy(logits, ids[:, 1:].flatten()), table)[0]

    hidden = model.base_model(ids).last_hidden_state
    softmax = gradient(hidden.detach())
    assert common(softmax) < 1e-5  # float32
    assert 0.4 < common(softmax / (softmax.abs() + 1e-8)) < 0.6  # Adam's first step
    assert 0.01 < common(gradient(hidden)) < 0.2


def test_the_input_of_a_tied_table_can_move_its_mean() -> None:
    """The identity is about the softmax alone: what a row is read for has a gradient of its own."""
    moved, _ = step([[2, 5]], [7])
    assert common(torch.from_numpy(moved)) > 0.01


class Tied(torch.nn.Module):
    """A language model of two words of context, whose table reads and predicts."""

    def __init__(self, words: int = 12, d: int = 4) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.table = torch.nn.Parameter(torch.randn(words, d, dtype=torch.float64))
        self.inner = torch.nn.Sequential(torch.nn.Linear(2 * d, d), torch.nn.Tanh()).double()

    def forward(self, context: torch.Tensor) -> torch.Tensor:
        """h of each context (n, 2) -> (n, d)."""
        return self.inner(self.table[context].flatten(1))


def step(context: list[list[int]], targets: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """What one step adds to the table of a tied model, and h."""
    model = Tied()
    h = model(torch.tensor(context))
    torch.nn.functional.cross_entropy(h @ model.table.T, torch.tensor(targets)).backward()
    return -model.table.grad.numpy(), h.detach().numpy()


def test_common_enemies_of_one_prediction_in_a_tied_model() -> None:
    """Eq. 5 and 6: every row but the target's goes along −h, and those that were read elsewhere too."""
    moved, [h] = step([[2, 5]], [7])
    along = {row: cosine(moved[row], -h) for row in range(12)}
    assert along.pop(7) == pytest.approx(-1.0)
    read = [along.pop(2), along.pop(5)]
    assert all(value == pytest.approx(1.0) for value in along.values())
    assert all(value < 0.999 for value in read)  # through the input a table has gradients of another kind
    y = np.exp(Tied().table.detach().numpy() @ h)
    y /= y.sum()
    np.testing.assert_allclose(np.linalg.norm(moved[0]) / np.linalg.norm(moved[1]), y[0] / y[1])


def test_of_two_predictions_each_row_has_its_own_direction() -> None:
    """At a step of several predictions the direction is common no more: rows weigh the h's by their own odds."""
    moved, h = step([[2, 5], [3, 4]], [7, 8])
    others = [moved[row] for row in range(12) if row not in (2, 3, 4, 5, 7, 8)]
    assert min(cosine(a, b) for a, b in itertools.combinations(others, 2)) < 0.999
    for row in others:  # but each is −(a h₁ + b h₂) with a, b > 0
        weights, rest, *_ = np.linalg.lstsq(-h.T, row, rcond=None)
        assert (weights > 0).all()
        assert float(rest.sum()) < 1e-20
