"""Texts in a row, without padding: the same vectors as padded ones."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import numpy as np
import pytest
import torch
from tiny_models import FAMILIES, backend, model, odd_texts, story, tokenizer
from transformers import DistilBertConfig, DistilBertModel, ElectraConfig, ElectraModel

from limbeck.encoders import packed
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.encoders.packed import cut_row


def made(kind: str, **settings: Any) -> HuggingFaceEncoder:
    """A tiny model of a kind, in float32 on the CPU, where rows are not usual."""
    family = "roberta" if kind == "roberta" else "bert"
    settings = {"device": "cpu", "name": kind, **settings}
    torch.manual_seed(3)
    size = backend(FAMILIES[family]).get_vocab_size()
    if kind == "electra":  # its vectors are projected before the first layer
        heads = {"num_hidden_layers": 2, "num_attention_heads": 2, "hidden_size": 16, "intermediate_size": 32}
        one: Any = ElectraModel(ElectraConfig(vocab_size=size, embedding_size=8, **heads))
    elif kind == "distilbert":
        one = DistilBertModel(DistilBertConfig(vocab_size=size, n_layers=2, n_heads=2, dim=16, hidden_dim=32))
    else:
        one = copy.deepcopy(model(family))
    return HuggingFaceEncoder(one.eval(), tokenizer(FAMILIES[family]), **settings)


@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "distilbert"])
@pytest.mark.parametrize("settings", [{}, {"layers": "-1"}, {"window": 12}, {"context": 2}, {"batch_tokens": 40}])
def test_a_row_gives_what_padding_gives(kind: str, settings: dict[str, Any]) -> None:
    encoder = made(kind, **settings)
    batch = encoder.prepare([*story(), *odd_texts()[:8]])
    assert not encoder._packs
    want = encoder.forward(batch)
    assert encoder._reads_rows()
    encoder._packs = True
    torch.testing.assert_close(encoder.forward(batch), want, rtol=1e-4, atol=1e-5)
    assert encoder._model.config._attn_implementation == "sdpa"  # as it was


def test_models_that_would_read_other_texts_are_not_given_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """A kind whose attention looks beyond its text is found out by trying."""
    encoder = made("bert")

    def over_all(module: Any, query: Any, key: Any, value: Any, mask: Any, **_: Any) -> tuple[torch.Tensor, None]:
        return torch.nn.functional.scaled_dot_product_attention(query, key, value).transpose(1, 2), None

    monkeypatch.setattr(packed, "_attention", over_all)
    assert not encoder._reads_rows()


def test_wrong_positions_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = made("roberta")
    encoder.__dict__["_first_position"] = 0  # RoBERTa's kind begins at 2
    assert not encoder._reads_rows()


def test_rows_are_cut_by_pieces() -> None:
    lengths = np.array([5, 3, 2, 9, 1, 1, 20, 4])
    cuts = cut_row(lengths, 10)
    assert cuts == [0, 3, 5, 6, 7, 8]
    assert all(lengths[a:b].sum() <= 10 or b - a == 1 for a, b in itertools.pairwise(cuts))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("kind", ["bert", "roberta", "electra", "distilbert"])
def test_a_gpu_reads_rows_in_half_precision(kind: str) -> None:
    here = made(kind)
    batch = here.prepare([*story(), *odd_texts()[:8]])
    want = here.forward(batch)
    there = made(kind, device="cuda", dtype="bfloat16", batch_tokens=200)
    assert there._packs
    got = there.forward(batch).float().cpu()
    cosines = torch.nn.functional.cosine_similarity(got, want, dim=-1)
    assert float(cosines.min()) > 0.999
