"""The models of the package: small, whole, loadable by anybody's tools, and really trained."""

from __future__ import annotations

import json
import logging
import random
import re
import shutil
import socket
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoConfig, AutoModel, AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer

from limbeck.corpus import Corpus, Sentence, Text
from limbeck.encoders import ElmoEncoder, HuggingFaceEncoder, load_encoder
from limbeck.encoders.bilm import BiLM
from limbeck.encoders.loading import check_model
from limbeck.encoders.miniatures import LICENCE, MINIATURES, is_miniature, miniature_folder, read_miniature
from limbeck.errors import InputError
from limbeck.testing import check_encoder

HEADS = {"mini-bert": AutoModelForMaskedLM, "mini-gpt2": AutoModelForCausalLM}
LARGEST = 8_000_000  #: bytes of a miniature
#: sentence, the hidden word, and one that is as common and does not fit
CLOZE = [
    ("paris is the capital of [MASK] .", "france", "water"),
    ("he was [MASK] in new york on 4 july 1920 .", "born", "only"),
    ("she won the gold [MASK] at the olympic games .", "medal", "river"),
    ("the river flows into the [MASK] sea .", "north", "year"),
    ("the dogs [MASK] in the garden .", "were", "was"),
    ("the dog [MASK] in the garden .", "was", "were"),
    ("the king and the [MASK] had two sons .", "queen", "church"),
    ("the war [MASK] in 1945 .", "ended", "german"),
]


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


# as files


def test_sizes() -> None:
    found = [read_miniature(name) for name in MINIATURES]
    counts = [one.parameters for one in found]
    assert max(counts) <= 1.15 * min(counts)
    for one in found:
        assert one.size == sum(file.stat().st_size for file in miniature_folder(one.name).iterdir()) <= LARGEST
    assert [(one.layers, one.width) for one in found] == [(12, 128), (12, 128), (2, 256)]


@pytest.mark.parametrize("name", MINIATURES)
def test_no_file_tells_where_it_was_made(name: str) -> None:
    for file in miniature_folder(name).iterdir():
        data = file.read_bytes()
        if file.suffix == ".safetensors":  # behind its head it is numbers
            data = data[8 : 8 + int.from_bytes(data[:8], "little")]
        assert not re.search(rb"(/(home|root|tmp|work|Users|mnt|content)/|[A-Z]:\\\\)", data), file.name


@pytest.mark.parametrize("name", MINIATURES)
def test_a_card_names_the_same_licence(name: str) -> None:
    card = miniature_folder(name) / "README.md"
    if not card.exists():
        pytest.skip("it has no card")
    found = re.search(r"^license: *(\S+)$", card.read_text(encoding="utf-8"), re.MULTILINE)
    assert found is not None
    assert found[1] == LICENCE.lower().replace(" ", "-")


# loaded by transformers


@pytest.mark.parametrize("name", HEADS)
def test_transformers_loads_the_folder_as_it_is(name: str) -> None:
    folder = miniature_folder(name)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    whole, told = HEADS[name].from_pretrained(folder, output_loading_info=True)
    assert not told["missing_keys"]
    assert not told["unexpected_keys"]
    assert {tensor.dtype for tensor in whole.parameters()} == {torch.float32}
    assert sum(tensor.numel() for tensor in whole.parameters()) == read_miniature(name).parameters
    base = AutoModel.from_pretrained(folder).eval()
    words = tokenizer("The Dispensary is closed .", return_tensors="pt")
    with torch.no_grad():
        hidden = base(**words).last_hidden_state
    assert hidden.shape[-1] == 128
    assert torch.isfinite(hidden).all()
    pieces = tokenizer.convert_ids_to_tokens(words.input_ids[0])
    assert "[UNK]" not in pieces
    assert (pieces[0] == "[CLS]") is (name == "mini-bert")


def test_the_elmo_is_a_published_folder() -> None:
    model = BiLM.from_folder(miniature_folder("mini-elmo"))
    assert {tensor.dtype for tensor in model.parameters()} == {torch.float32}
    assert sum(tensor.numel() for tensor in model.parameters()) == read_miniature("mini-elmo").parameters


# loaded by limbeck


@pytest.mark.parametrize("name", MINIATURES)
def test_limbeck_loads_it_by_name(
    name: str, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    check_model(name)
    with caplog.at_level(logging.WARNING):
        encoder, again = (load_encoder(name, device="cpu") for _ in range(2))
    assert capfd.readouterr() == ("", "")
    assert not caplog.records
    assert encoder.name == name
    assert encoder.fingerprint == again.fingerprint
    assert (len(encoder.layers) - 1, encoder.dim) == (read_miniature(name).layers, read_miniature(name).width)
    texts = [Text((sentence,)) for sentence in list(Corpus("sample"))[:40]]
    vectors = encoder.forward(encoder.prepare(texts))
    assert vectors.dtype == torch.float32
    assert torch.isfinite(vectors).all()
    check_encoder(encoder, texts[:6])


def test_a_separator_means_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [is_miniature(name) for name in ("mini-bert", "./mini-bert", "Mini-BERT", Path("mini-bert"))] == [
        True,
        False,
        False,
        False,
    ]
    for missing in ("./mini-elmo", "mini-elmo/"):
        with pytest.raises(InputError):
            check_model(missing)
    shutil.copytree(miniature_folder("mini-bert"), "mini-elmo")  # a folder of that name, with something else in it
    assert load_encoder("mini-elmo", device="cpu").dim == 256
    assert load_encoder("./mini-elmo", device="cpu").dim == 128
    assert load_encoder(Path("mini-elmo"), device="cpu").dim == 128


# really trained: each of these fails for the same model with random weights


def random_model(name: str) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        if name == "mini-elmo":
            return BiLM(json.loads((miniature_folder(name) / "options.json").read_text(encoding="utf-8")))
        return AutoModel.from_config(AutoConfig.from_pretrained(miniature_folder(name)))


def separated(encoder: Any) -> float:
    """Share of the words of several classes whose vectors are nearer within a class than across, on average."""
    sentences = [s for s in Corpus("sample") if any("class" in label for label in s.labels.values())]
    prepared = encoder.prepare([Text((sentence,)) for sentence in sentences])
    labels = [s.labels[i] for s in sentences for i in sorted(s.labels) if "class" in s.labels[i]]
    assert len(prepared) == len(labels)
    unit = torch.nn.functional.normalize(encoder.forward(prepared)[-1], dim=-1).numpy()
    words: dict[str, list[int]] = defaultdict(list)
    for place, label in enumerate(labels):
        words[label["lemma"]].append(place)
    nearer = []
    for places in words.values():
        cosines: dict[bool, list[float]] = {True: [], False: []}
        for i, j in combinations(places, 2):
            cosines[labels[i]["class"] == labels[j]["class"]].append(float(unit[i] @ unit[j]))
        nearer.append(np.mean(cosines[True]) > np.mean(cosines[False]))
    return float(np.mean(nearer))


@pytest.mark.parametrize("name", MINIATURES)
def test_classes_of_a_word_lie_apart(name: str) -> None:
    chosen = {"layers": "-1", "targets": "label:class", "device": "cpu"}
    if name == "mini-elmo":
        trained, untrained = load_encoder(name, **chosen), ElmoEncoder(random_model(name), name="random", **chosen)
    else:
        chosen["keep_first"] = True
        tokenizer = AutoTokenizer.from_pretrained(miniature_folder(name))
        trained = load_encoder(name, **chosen)
        untrained = HuggingFaceEncoder(random_model(name), tokenizer, name="random", **chosen)
    assert separated(trained) >= 0.8
    assert separated(untrained) <= 0.7


def test_gpt2_prefers_sentences_to_their_words_in_disorder() -> None:
    folder = miniature_folder("mini-gpt2")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    shuffle = random.Random(0).shuffle
    sentences = [sentence for sentence in Corpus("sample") if 10 <= len(sentence.words) <= 30][:40]
    gained = [loss(model, tokenizer, disordered(s, shuffle)) - loss(model, tokenizer, list(s.words)) for s in sentences]
    assert min(gained) > 0
    assert np.mean(gained) > 1.5  # nats a piece


def disordered(sentence: Sentence, shuffle: Any) -> list[str]:
    words = list(sentence.words)
    shuffle(words)
    return words


def loss(model: Any, tokenizer: Any, words: list[str]) -> float:
    ids = tokenizer(" ".join(words), return_tensors="pt").input_ids
    with torch.no_grad():
        scores = model(ids).logits[0, :-1].log_softmax(-1)
    return -float(scores.gather(1, ids[0, 1:, None]).mean())


def test_bert_finds_hidden_words() -> None:
    folder = miniature_folder("mini-bert")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForMaskedLM.from_pretrained(folder).eval()
    for text, fits, other in CLOZE:
        read = tokenizer(text, return_tensors="pt")
        at = int((read.input_ids[0] == tokenizer.mask_token_id).nonzero())
        right, wrong = tokenizer.convert_tokens_to_ids([fits, other])
        assert tokenizer.unk_token_id not in (right, wrong)
        with torch.no_grad():
            scores = model(**read).logits[0, at]
        assert scores[right] > scores[wrong] + 1, (text, fits, other)
