"""Gradients in closed form against automatic differentiation of the losses as the paper writes them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from limbeck.distillation.x2static.adam import Rows
from limbeck.distillation.x2static.contexts import Gathered
from limbeck.distillation.x2static.objectives import Contrast, Fit, Objective, Targets
from limbeck.distillation.x2static.sampling import Negatives
from limbeck.distillation.x2static.settings import Regression, Sent2Vec, X2Static
from limbeck.distillation.x2static.static_context import OwnContexts, contexts_of_targets

CPU = torch.device("cpu")
WORDS, DIM = 9, 4
COUNTS = np.array([90, 50, 30, 20, 10, 8, 6, 3, 2])
SENTENCES = [[0, 1, 2, 0], [3], [4, 0, 5, 6, 1], [7, 8]]


def rows(words: int = WORDS, seed: int = 0, scale: float = 1.0) -> Rows:
    table = Rows(words, DIM, device=CPU, dtype=torch.float64, moments=torch.float64)
    table.fill(np.random.default_rng(seed).normal(0, scale, (words, DIM)))
    return table


def shard(sentences: list[list[int]] = SENTENCES, scale: float = 1.0) -> tuple[Gathered, Targets]:
    words = np.concatenate(sentences)
    context_of = np.repeat(np.arange(len(sentences)), [len(s) for s in sentences])
    contexts = torch.from_numpy(np.random.default_rng(1).normal(0, scale, (len(sentences), DIM)))
    keys = np.random.default_rng(2).integers(0, 2**64, len(words), dtype=np.uint64)
    n = len(words)
    gathered = Gathered(contexts, np.arange(len(sentences)), words, context_of, keys, n)
    return gathered, Targets(words, context_of, keys, np.array([0, n]), len(sentences), 0, 0, np.arange(n))


def gradients(
    objective: Objective, of: tuple[Gathered, Targets], low: int, high: int
) -> tuple[dict[str, NDArray], float]:
    """Dense gradients of one step, by table, and its loss."""
    caught: dict[str, NDArray] = {}
    for name, table in objective.tables.items():

        def catch(
            touched: torch.Tensor, gradient: torch.Tensor, rate: float, name: str = name, size: int = table.words
        ) -> None:
            dense = np.zeros((size, DIM))
            assert len(set(touched.tolist())) == len(touched)
            dense[touched.numpy()] = gradient.numpy()
            caught[name] = dense

        table.update = catch  # type: ignore[method-assign]
    bounds = np.array([0, low, high, len(of[1].words)])
    objective.begin(of[0], replace(of[1], bounds=bounds))
    loss = objective.step(1, 0.1)
    return caught, float(loss)


@pytest.mark.parametrize("distinct", [True, False])
@pytest.mark.parametrize("clamp", [0.0, 1.0])
def test_x2static(distinct: bool, clamp: float) -> None:
    gathered, targets = shard(scale=2.0)
    table = rows()
    objective = Contrast(
        table, Negatives(COUNTS, 0.5, device=CPU), X2Static(negatives=6, distinct=distinct, clamp=clamp)
    )
    found, loss = gradients(objective, (gathered, targets), 2, 9)
    u = table.values[:WORDS].clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    met = 0
    for t in range(2, 9):  # eq. 1, one target after the other
        context = gathered.contexts[int(gathered.context_of[t])]
        own = int(targets.words[t])

        def score(word: int, context: torch.Tensor = context) -> torch.Tensor:
            value = u[word] @ context
            return value.clamp(-clamp, clamp) if clamp else value

        total = total + torch.log1p(torch.exp(-score(own)))
        for negative in objective.scoring.ids[t, 1:].tolist():
            met += negative == own
            if not (distinct and negative == own):
                total = total + torch.log1p(torch.exp(score(negative)))
    (total / 7).backward()
    assert met  # the case is there
    assert loss == pytest.approx(float(total.detach()), rel=1e-12)
    np.testing.assert_allclose(found["vectors"], u.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("fit", ["squared", "cosine"])
@pytest.mark.parametrize("pull", [0.0, 3.0])
def test_regression(fit: str, pull: float) -> None:
    gathered, targets = shard()
    table = rows()
    settings = Regression(fit=fit, pull=pull, weight=0.1)
    objective = Fit(table, COUNTS, settings)
    start = table.values[:WORDS].clone()
    table.values += 0.3 * torch.randn(
        table.values.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(5)
    )
    u = table.values[:WORDS].clone().requires_grad_()
    found, _ = gradients(objective, (gathered, targets), 4, 12)  # the last three sentences
    total = torch.zeros((), dtype=torch.float64)
    for number, sentence in enumerate(SENTENCES[1:], start=1):
        weights = torch.tensor([0.1 / (0.1 + COUNTS[word] / COUNTS.sum()) for word in sentence], dtype=torch.float64)
        mean = (weights.unsqueeze(1) * u[sentence]).sum(0) / weights.sum()
        wanted = gathered.contexts[number]
        if fit == "squared":
            total = total + ((mean - wanted) ** 2).sum() / 2
        else:
            total = total + 1 - torch.cosine_similarity(mean, wanted, dim=0)
        for word in sentence:
            total = total + pull / COUNTS[word] * ((u[word] - start[word]) ** 2).sum() / 2
    (total / 3).backward()
    np.testing.assert_allclose(found["vectors"], u.grad.numpy(), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_sent2vec(ngrams: int) -> None:
    gathered, targets = shard()
    settings = Sent2Vec(negatives=4, ngrams=ngrams, buckets=5, dim=DIM)
    sources, table = rows(settings.rows(WORDS), seed=3), rows()
    objective = OwnContexts(table, sources, Negatives(COUNTS, 0.5, device=CPU), settings)
    pairs, sizes = contexts_of_targets(gathered, targets.places, ngrams, WORDS, sources.words - WORDS)
    found, _ = gradients(objective, (gathered, targets), 0, 12)
    u = table.values[:WORDS].clone().requires_grad_()
    v = sources.values[:-1].clone().requires_grad_()
    total = torch.zeros((), dtype=torch.float64)
    at = np.concatenate([[0], np.cumsum(sizes)])
    for t in range(12):
        if sizes[t] == 0:
            continue
        context = v[pairs[at[t] : at[t + 1]].tolist()].mean(0)
        own = int(targets.words[t])
        total = total + torch.log1p(torch.exp(-(u[own] @ context)))
        for negative in objective.scoring.ids[t, 1:].tolist():
            if negative != own:
                total = total + torch.log1p(torch.exp(u[negative] @ context))
    (total / 12).backward()
    np.testing.assert_allclose(found["targets"], u.grad.numpy(), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(found["sources"], v.grad.numpy(), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("ngrams", [1, 2, 3])
def test_contexts_of_sent2vec_hold_every_ngram_but_those_with_the_target(ngrams: int) -> None:
    gathered, targets = shard()
    buckets = 10**9  # no two n-grams meet
    pairs, sizes = contexts_of_targets(gathered, targets.places, ngrams, WORDS, buckets)
    name: dict[int, tuple[int, ...]] = {}
    at = np.concatenate([[0], np.cumsum(sizes)])
    t = 0
    for sentence in SENTENCES:
        grams = [(i, i + n) for n in range(1, ngrams + 1) for i in range(len(sentence) - n + 1)]
        for place in range(len(sentence)):
            wanted = [tuple(sentence[a:b]) for a, b in grams if not a <= place < b]
            got = pairs[at[t] : at[t + 1]].tolist()
            t += 1
            assert len(got) == len(wanted)
            for row, gram in zip(got, wanted, strict=True):
                assert name.setdefault(row, gram) == gram
                assert (row < WORDS) == (len(gram) == 1)
    assert len(set(name.values())) == len(name)


def test_a_gradient_of_the_wrong_sign_is_noticed() -> None:
    gathered, targets = shard()
    table = rows()
    found, _ = gradients(
        Contrast(table, Negatives(COUNTS, 0.5, device=CPU), X2Static(negatives=2)), (gathered, targets), 0, 12
    )
    before = table.values.clone()

    def loss(values: torch.Tensor) -> float:
        table.values.copy_(values)
        objective = Contrast(table, Negatives(COUNTS, 0.5, device=CPU), X2Static(negatives=2))
        return gradients(objective, (gathered, targets), 0, 12)[1]

    step = torch.zeros_like(before)
    step[:WORDS] = torch.from_numpy(found["vectors"])
    assert loss(before - 0.05 * step) < loss(before) < loss(before + 0.05 * step)
