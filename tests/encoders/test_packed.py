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

from limbeck import kernels
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
    assert not any("forward" in vars(module) for module in encoder._model.modules())


@pytest.mark.parametrize(("kind", "layers"), [("bert", 2), ("roberta", 2), ("electra", 2), ("distilbert", 0)])
def test_layers_add_and_normalise_at_once(kind: str, layers: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice a layer, where the model has a module for it."""
    encoder = made(kind)
    usual, calls = packed._add_and_norm, []
    monkeypatch.setattr(packed, "_add_and_norm", lambda *given: calls.append(given) or usual(*given))
    encoder._packs = True
    encoder.forward(encoder.prepare(story()))
    assert len(calls) == 2 * layers


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


def test_a_kernel_that_fails_on_long_texts_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long texts have a kernel of their own, and a GPU may lack it."""
    encoder = made("bert", window=60)
    monkeypatch.setattr("limbeck.kernels.SHORT", 20)
    usual = packed._attention

    def short_alone(*args: Any, longest: int, **how: Any) -> Any:
        if longest > 20:
            raise RuntimeError("no kernel for long texts")
        return usual(*args, longest=longest, **how)

    monkeypatch.setattr(packed, "_attention", short_alone)
    assert not encoder._reads_rows()
    monkeypatch.setattr("limbeck.kernels.SHORT", 6)  # then none is longer than what is asked of it
    assert encoder._reads_rows()


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
    assert int(np.diff(batch.window_starts).max()) < kernels.SHORT
    got = there.forward(batch).float().cpu()
    cosines = torch.nn.functional.cosine_similarity(got, want, dim=-1)
    assert float(cosines.min()) > 0.999


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize("lengths", [(3, 1, 16), (20, 128, 7), (129, 5, 300)])
@pytest.mark.parametrize("scaling", [None, 0.3])
def test_kernels_attend_within_each_text(lengths: tuple[int, ...], scaling: float | None) -> None:
    generator = torch.Generator().manual_seed(0)
    q, k, v = (torch.randn(1, 2, sum(lengths), 64, generator=generator) for _ in range(3))
    starts = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int32)
    how = {"scaling": scaling, "longest": max(lengths)}
    want, _ = packed._attention(None, q, k, v, None, row_starts=starts, **how)
    there = [each.to("cuda", torch.bfloat16) for each in (q, k, v)]
    got, _ = packed._attention(None, *there, None, row_starts=starts.cuda(), **how)
    torch.testing.assert_close(got.float().cpu(), want, rtol=0.03, atol=0.03)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("n", "d"), [(1, 24), (1000, 768), (7, 1024), (3, 5000)])
def test_a_kernel_adds_and_normalises(n: int, d: int) -> None:
    generator = torch.Generator().manual_seed(0)
    x, other = (3 * torch.randn(1, n, d, generator=generator) + 1 for _ in range(2))
    weight, bias = (torch.randn(d, generator=generator) for _ in range(2))
    there = [each.to("cuda", torch.bfloat16) for each in (x, other, weight, bias)]
    x, other, weight, bias = (each.double().cpu() for each in there)  # as they were rounded
    want = torch.nn.functional.layer_norm(x + other, (d,), weight, bias, 1e-6)
    got = kernels.add_norm(there[0], there[1], there[2], there[3], 1e-6)
    torch.testing.assert_close(got.double().cpu(), want, rtol=0.005, atol=1e-4)
