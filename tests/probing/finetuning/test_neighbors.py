"""Attention limited to neighbours: against attention computed by hand, and by what cannot reach a word."""

from __future__ import annotations

import made_tasks
import numpy as np
import pytest
import torch
from refusals import raises

from limbeck.encoders.alignment import Aligner
from limbeck.errors import UsageError
from limbeck.probing.finetuning.data import tagged
from limbeck.probing.finetuning.fitting import finetune_model
from limbeck.probing.finetuning.neighbors import check_masking, neighbor_mask
from limbeck.probing.finetuning.network import Network
from limbeck.probing.finetuning.pieces import Reader, collate
from limbeck.probing.finetuning.settings import FinetuneSettings


def by_hand(layer, x: np.ndarray, seen: np.ndarray) -> np.ndarray:
    """One attention block of BERT, head by head and position by position, in numpy."""
    own = layer.attention.self

    def linear(module, values):
        return values @ module.weight.detach().numpy().T + module.bias.detach().numpy()

    q, k, v = (linear(module, x) for module in (own.query, own.key, own.value))
    heads, width = own.num_attention_heads, own.attention_head_size
    out = np.zeros_like(x)
    for head in range(heads):
        part = slice(head * width, (head + 1) * width)
        for i in range(len(x)):
            scores = np.array([q[i, part] @ k[j, part] / np.sqrt(width) for j in range(len(x)) if seen[i, j]])
            weights = np.exp(scores - scores.max())
            out[i, part] = (weights / weights.sum()) @ v[[j for j in range(len(x)) if seen[i, j]]][:, part]
    return out


@pytest.mark.parametrize("way", ["sdpa", "eager"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_one_layer_is_as_computed_by_hand(k, way):
    model = made_tasks.parts().model
    model.set_attn_implementation(way)
    words = torch.tensor([[-1, 0, 0, 1, 2, 2, 2, 3, 4]])
    draws = torch.Generator().manual_seed(0)
    x = torch.randn(1, 9, 16, generator=draws)
    mask = neighbor_mask(words, torch.ones_like(words, dtype=torch.bool), k)
    with torch.no_grad():
        found = model.encoder.layer[0].attention.self(x, attention_mask=mask)[0][0]
    w = words[0].tolist()
    seen = np.array([[abs(w[i] - w[j]) <= k for j in range(9)] for i in range(9)])
    np.testing.assert_allclose(found.numpy(), by_hand(model.encoder.layer[0], x[0].numpy(), seen), atol=1e-5)


@pytest.mark.parametrize("family", ["bert", "roberta", "gpt2"])
@pytest.mark.parametrize("k", [0, 1, 2])
def test_far_words_do_not_reach(family, k):
    """Through L layers a word hears of words up to L·k away, and of those it does hear."""
    parts = made_tasks.parts(family)
    layers = 3 if family == "gpt2" else 2
    reader = Reader(Aligner(parts.tokenizer), length=64)
    causal = family == "gpt2"
    network = Network(parts.model.eval(), np.ones(3, dtype=np.int64), causal=causal, neighbors=k)
    line = "the river rose over the bank and the water ran on and on to the sea .".split()

    def states(words: list[str]) -> torch.Tensor:
        tags = " ".join("ABC"[at % 3] for at in range(len(words)))
        part = tagged("pos", {"train": [made_tasks.sentence(" ".join(words), tags)]}).parts["train"]
        batch = collate(reader(part), np.array([0]), pad=0, device=torch.device("cpu"))
        with torch.no_grad():
            return network(batch)

    def size(word: str) -> int:
        return len(parts.tokenizer(f" {word}")["input_ids"])

    at = 9
    changed = [*line]
    # as many pieces, so that positions stay
    changed[at] = next(w for w in ("fall", "sun", "run", "cat") if size(w) == size(line[at]))
    moved = (states(line) - states(changed)).abs().amax(1).numpy()
    reach = layers * k
    for word, change in enumerate(moved):
        near = abs(word - at) <= reach and (word >= at or not causal)
        assert (change > 1e-6) == near, (word, change)


def test_padding_is_never_seen():
    words = torch.tensor([[0, 1, 0, 0]])
    real = torch.tensor([[True, True, False, False]])
    seen = neighbor_mask(words, real, 5)[0, 0] == 0
    assert seen.tolist() == [[True, True, False, False]] * 2 + [[True, True, True, False], [True, True, False, True]]


def test_a_model_that_does_not_heed_the_mask_is_refused():
    model = made_tasks.parts().model
    check_masking(model, causal=False)
    heeding = model.forward
    model.forward = lambda input_ids, attention_mask: heeding(input_ids=input_ids)
    with raises(UsageError, code="unsupported", parameter="attention_window"):
        check_masking(model, causal=False)


def test_a_window_costs_what_needs_context():
    """Tags that are those of the word before: not to be learnt at k = 0, and learnt at k = 1."""
    draws = np.random.default_rng(0)
    parts = made_tasks.parts()
    # one piece each: else the place of a word would tell how many long ones stand before it
    assert [len(parts.tokenizer.tokenize(word)) for word in ("river", "the")] == [1, 1]

    def some(count: int):
        made = []
        for index in range(count):
            words = [str(draws.choice(("river", "the"))) for _ in range(5)]
            tags = ["X", *("R" if word == "river" else "W" for word in words[:-1])]
            made.append(made_tasks.sentence(" ".join(words), " ".join(tags), index))
        return made

    data = tagged("pos", {"train": some(60), "dev": some(30)})
    reached = {}
    for k in (0, 1):
        settings = FinetuneSettings(
            steps=150, batch=12, learning_rate=1e-2, evaluate_every=25, attention_window=k, attention_texts=0
        )
        found = finetune_model(made_tasks.parts(), data, settings=settings)
        reached[k] = found.scores["dev"].values["accuracy"]
        assert found.used["attention_window"] == k
    assert reached[0] < 0.75
    assert reached[1] > 0.9
