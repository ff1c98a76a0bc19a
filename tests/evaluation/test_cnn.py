"""The convolution: torch's own layers on the same weights are the oracle, for answers and for whole trainings."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn

from limbeck.evaluation.classifying.cnn import CnnSettings, Network, WordIds, batches, train
from limbeck.evaluation.classifying.mlp import orders
from limbeck.seeds import generator_for

DIM, CLASSES, WORDS = 6, 3, 40
RATES = (1e-2, 3e-3)


def made(lengths, seed=0):
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(WORDS, DIM)).astype(np.float32)
    matrix[0] = 0
    ids = rng.integers(1, WORDS, size=sum(lengths))
    starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return torch.from_numpy(matrix), WordIds(ids, starts, np.array(lengths, dtype=np.int64))


def words_of(texts, row):
    return texts.ids[texts.starts[row] : texts.starts[row + 1]]


class Reference(nn.Module):
    """The paper's network in torch's own layers, one text at a time, with the first weights of one of ours."""

    def __init__(self, network, matrix, *, width, filters, tuned=False):
        super().__init__()
        kernel, bias, output, shift = (part.detach().clone() for part in network.weights[0])
        self.embedding = nn.Embedding.from_pretrained(matrix.clone(), freeze=not tuned, padding_idx=0)
        self.convolution = nn.Conv1d(matrix.shape[1], filters, width)
        self.linear = nn.Linear(filters, output.shape[1])
        self.width = width
        with torch.no_grad():
            self.convolution.weight.copy_(kernel.permute(2, 0, 1))
            self.convolution.bias.copy_(bias)
            self.linear.weight.copy_(output.T)
            self.linear.bias.copy_(shift)

    def forward(self, words, kept=None):
        left, right = (self.width - 1) // 2, self.width // 2
        padded = [0] * left + (list(words) or [0]) + [0] * right
        x = self.embedding(torch.tensor(padded)).T.unsqueeze(0)
        hidden = torch.relu(self.convolution(x)).amax(2)[0]
        return self.linear(hidden if kept is None else hidden * kept)


def network_of(matrix, seed=3, rates=RATES[:1], **changes):
    settings = CnnSettings(**{"filters": 5, "width": 3, "batch": 4, "epochs": 2, "tuned": False, **changes})
    return Network(matrix, classes=CLASSES, seed=seed, rates=rates, settings=settings), settings


@pytest.mark.parametrize("width", [1, 2, 3, 5])
def test_answers_are_those_of_torch(width):
    """Texts of one batch that differ in length, one without any word and one shorter than a filter."""
    matrix, texts = made([4, 0, 1, 9, 2])
    network, _ = network_of(matrix, width=width)
    with torch.no_grad():
        network.weights[0][1].copy_(torch.tensor([-0.5, 0.1, -2.0, 0.3, 0.0]))  # biases that matter
    reference = Reference(network, matrix, width=width, filters=5)
    different, windows = (torch.from_numpy(part) for part in texts.windows(np.arange(5), width))
    found = network(different, windows)[0]
    expected = torch.stack([reference(words_of(texts, row)) for row in range(5)])
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
    predicted = network.predict(texts, np.array([3, 1, 4]))
    assert predicted[0].tolist() == expected[[3, 1, 4]].argmax(1).tolist()


@pytest.mark.parametrize("tuned", [False, True])
def test_a_whole_training_is_that_of_torch(tuned):
    lengths = np.random.default_rng(1).integers(0, 8, size=22).tolist()
    matrix, texts = made(lengths)
    labels = np.random.default_rng(2).integers(CLASSES, size=22)
    rows, watched = np.arange(17), np.arange(17, 22)
    network, settings = network_of(matrix, tuned=tuned)
    result = train(matrix, texts, labels, classes=CLASSES, rows=rows, watched=watched, seed=3, rates=RATES,
                   settings=settings)  # fmt: skip
    for place, rate in enumerate(RATES):
        reference = Reference(network, matrix, width=3, filters=5, tuned=tuned)
        optimizer = torch.optim.Adam([part for part in reference.parameters() if part.requires_grad], lr=rate)
        for epoch in range(2):
            dropping = generator_for(3, "classify", "dropout", epoch)
            total = 0.0
            for batch in batches(orders([3], rows, epoch)[0], texts.lengths, 4, seed=3, epoch=epoch):
                kept = torch.from_numpy((dropping.random((len(batch), 5), dtype=np.float32) >= 0.5) * np.float32(2))
                scores = torch.stack(
                    [reference(words_of(texts, row), mask) for row, mask in zip(batch, kept, strict=True)]
                )
                loss = nn.functional.cross_entropy(scores, torch.from_numpy(labels[batch]))
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += float(loss.detach()) * len(batch)
            assert result.losses[place, epoch] == pytest.approx(total / len(rows), rel=1e-4)
            with torch.no_grad():
                expected = [int(reference(words_of(texts, row)).argmax()) for row in watched]
            assert result.predictions[place, epoch].tolist() == expected
    assert torch.equal(matrix, made(lengths)[0])  # the table that was given is not trained


def test_batches_hold_every_example_once_and_alike_lengths_together():
    lengths = np.random.default_rng(0).integers(1, 60, size=1003)
    order = np.random.default_rng(1).permutation(1003)
    made_ = list(batches(order, lengths, 50, seed=0, epoch=0))
    assert sorted(np.concatenate(made_).tolist()) == list(range(1003))
    assert max(map(len, made_)) == 50
    spread = np.mean([lengths[batch].max() - lengths[batch].min() for batch in made_])
    assert spread < 10  # of 59 by chance
    assert [b.tolist() for b in batches(order, lengths, 50, seed=0, epoch=1)] != [b.tolist() for b in made_]


def test_batches_do_not_depend_on_the_vectors():
    """Words that one table lacks are left out of its texts; the examples of a step are the same for both."""
    _, texts = made([5, 3, 8, 2, 6, 7])
    fewer = WordIds(texts.ids[:4], np.array([0, 1, 1, 2, 3, 4, 4]), texts.lengths)
    for some in (texts, fewer):
        found = [b.tolist() for b in batches(np.arange(6), some.lengths, 2, seed=0, epoch=0)]
        assert sorted(map(sorted, found)) == [[0, 4], [1, 3], [2, 5]]
