"""Similarity of attention: against weights computed text by text, and on heads that are known."""

from __future__ import annotations

import copy

import made_tasks
import numpy as np
import torch
from refusals import raises

import limbeck as lb
from limbeck.encoders.loading import Parts
from limbeck.errors import InputError, UsageError

TEXTS = ["the river rose .", "water fell over the bank and ran on", "the boat went to the sea"]


def other(parts: Parts, layer: int = 1) -> Parts:
    """The same model with another query matrix in one layer."""
    made = copy.deepcopy(parts.model)
    with torch.no_grad():
        made.encoder.layer[layer].attention.self.query.weight.mul_(-1)
    return Parts(made, parts.tokenizer, "other")


def test_a_model_is_like_itself():
    parts = made_tasks.parts()
    found = lb.probing.attention_similarity(parts, parts, TEXTS)
    assert found.pooled.shape == (2, 2)
    np.testing.assert_allclose(found.pooled, 1.0)
    np.testing.assert_allclose(found.mean, 1.0)
    assert found.texts == 3


def test_against_flattened_weights():
    """Each text alone, its map flattened, as the paper says it."""
    parts = made_tasks.parts()
    second = other(parts)
    found = lb.probing.attention_similarity(parts, second, TEXTS)
    flat: dict[int, list] = {0: [], 1: []}
    for which, one in enumerate((parts, second)):
        model = copy.deepcopy(one.model)
        model.set_attn_implementation("eager")
        for text in TEXTS:
            with torch.no_grad():
                maps = model(**parts.tokenizer(text, return_tensors="pt"), output_attentions=True).attentions
            flat[which].append(np.stack([one_layer[0].flatten(1).numpy() for one_layer in maps]))  # (layers, heads, n²)

    def cosine(x, y):
        return (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))

    pooled = cosine(np.concatenate(flat[0], axis=-1), np.concatenate(flat[1], axis=-1))
    each = np.stack([cosine(x, y) for x, y in zip(flat[0], flat[1], strict=True)])
    np.testing.assert_allclose(found.pooled, pooled, atol=1e-6)
    np.testing.assert_allclose(found.mean, each.mean(0), atol=1e-6)
    np.testing.assert_allclose(found.spread, each.std(0, ddof=1), atol=1e-6)
    np.testing.assert_allclose(found.pooled[0], 1.0)  # the changed layer is the second
    assert found.pooled[1].max() < 0.999


def test_models_are_left_as_they_were():
    parts = made_tasks.parts()
    before = parts.model.config._attn_implementation
    parts.model.train()
    lb.probing.attention_similarity(parts, other(parts), TEXTS)
    assert parts.model.config._attn_implementation == before
    assert parts.model.training


def test_decoders_too():
    parts = made_tasks.parts("gpt2")
    found = lb.probing.attention_similarity(parts, parts, TEXTS)
    np.testing.assert_allclose(found.pooled, np.ones((3, 2)))


def test_table_names_layers_from_one():
    parts = made_tasks.parts()
    found = lb.probing.attention_similarity(parts, other(parts), TEXTS)
    table = found.table()
    assert list(zip(table["layer"], table["head"], strict=True)) == [("1", 1), ("1", 2), ("2", 1), ("2", 2)]
    assert table["similarity"][2:] == found.pooled[1].tolist()


def test_models_that_cannot_be_compared():
    with raises(InputError, code="not_comparable"):
        lb.probing.attention_similarity(made_tasks.parts(), made_tasks.parts("gpt2"), TEXTS)
    with raises(UsageError, code="required", parameter="texts"):
        lb.probing.attention_similarity(made_tasks.parts(), made_tasks.parts(), [])
