"""Encoders from folders, offline; what a broken folder lacks is said in one line."""

from __future__ import annotations

import logging
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from refusals import raises
from tiny_models import FAMILIES, model, story, tokenizer
from transformers import BertConfig, BertForMaskedLM

from limbeck.encoders import HuggingFaceEncoder, load_encoder
from limbeck.errors import InputError, MissingExtra, UsageError


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return saved(tmp_path / "made", "bert")


def saved(path: Path, family: str) -> Path:
    model(family).save_pretrained(path)
    tokenizer(FAMILIES[family]).save_pretrained(path)
    return path


@pytest.mark.parametrize("family", list(FAMILIES))
def test_a_folder_goes_round(
    family: str, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    here = HuggingFaceEncoder(model(family), tokenizer(FAMILIES[family]), name="here", device="cpu")
    saved(tmp_path / family, family)
    capfd.readouterr()
    with caplog.at_level(logging.WARNING):
        there = load_encoder(tmp_path / family, device="cpu")
    assert there.name == family
    assert there.layers == here.layers
    torch.testing.assert_close(there.forward(there.prepare(story())), here.forward(here.prepare(story())))
    assert there.fingerprint == load_encoder(tmp_path / family, device="cpu").fingerprint
    assert capfd.readouterr().err == ""
    assert not caplog.records


def test_the_head_of_a_saved_model_is_left_aside(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    config = BertConfig(
        vocab_size=200, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    BertForMaskedLM(config).save_pretrained(tmp_path)  # no pooler, and a head that is not used
    tokenizer("wordpiece uncased").save_pretrained(tmp_path)
    capfd.readouterr()
    first, again = (load_encoder(str(tmp_path), device="cpu", name="mine") for _ in range(2))
    assert first.name == "mine"
    assert first.fingerprint == again.fingerprint  # a pooler made up at random has no part in it
    assert capfd.readouterr().err == ""


def test_weights_of_torch_are_read_without_pickle(folder: Path) -> None:
    want = load_encoder(folder, device="cpu")
    torch.save(model("bert").state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    got = load_encoder(folder, device="cpu")
    torch.testing.assert_close(got.forward(got.prepare(story())), want.forward(want.prepare(story())))

    torch.save({"weight": _Harmful()}, folder / "pytorch_model.bin")
    with raises(InputError, code="damaged", parameter="model") as caught:
        load_encoder(folder, device="cpu")
    assert "\n" not in str(caught.value)
    assert not (folder / "harmed").exists()


class _Harmful:
    def __reduce__(self) -> tuple[object, ...]:
        return Path("harmed").touch, ()


@pytest.mark.parametrize("gone", [["config.json"], ["model.safetensors"], ["tokenizer.json", "tokenizer_config.json"]])
def test_a_folder_that_lacks_something(folder: Path, gone: list[str]) -> None:
    for name in gone:
        (folder / name).unlink()
    with raises(InputError, code="incomplete", parameter="model", says=gone[0]) as caught:
        load_encoder(folder, device="cpu")
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)


def test_an_incomplete_model_is_not_filled_at_random(folder: Path) -> None:
    from safetensors.torch import load_file, save_file

    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    with raises(InputError, code="incomplete", parameter="model"):
        load_encoder(folder, device="cpu")


def test_a_broken_weights_file(folder: Path) -> None:
    (folder / "model.safetensors").write_bytes(b"nothing")
    with raises(InputError, code="damaged", parameter="model") as caught:
        load_encoder(folder, device="cpu")
    assert "\n" not in str(caught.value)


def test_places_where_no_model_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with raises(InputError, code="not_found", parameter="model"):
        load_encoder(tmp_path / "none")
    (tmp_path / "file.txt").touch()
    with raises(InputError, code="other_kind", parameter="model"):
        load_encoder(tmp_path / "file.txt")
    (tmp_path / "empty").mkdir()
    with raises(InputError, code="incomplete", parameter="model", says="config.json"):
        load_encoder(tmp_path / "empty")
    for name in ("a.gguf", "b.gguf"):
        (tmp_path / name).touch()
    with raises(InputError, code="ambiguous", parameter="model"):
        load_encoder(tmp_path)


def test_a_hub_name_out_of_reach() -> None:
    """In a process of its own, since the hub's library reads its setting once."""
    code = (
        "from limbeck.encoders import load_encoder\nfrom limbeck.errors import InputError\n"
        "try: load_encoder('nobody/nothing')\nexcept InputError as error: print(error)"
    )
    import os

    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": os.devnull, "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.count("\n") == 1
    assert "nobody/nothing could not be loaded" in done.stdout
    assert "check the name and the network" in done.stdout


def test_gguf_needs_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tiny.gguf").touch()
    monkeypatch.setitem(sys.modules, "gguf", None)
    with raises(MissingExtra, code="not_installed"):
        load_encoder(tmp_path / "tiny.gguf")


def test_settings_travel_and_wrong_ones_are_refused(folder: Path) -> None:
    assert load_encoder(folder, device="cpu", layers="1", units="pieces").layers == ("1",)
    with raises(UsageError, code="no_effect", parameter="stack"):
        load_encoder(folder, device="cpu", stack="decoder")


def test_a_copy_of_a_folder_has_the_same_fingerprint(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    assert load_encoder(tmp_path / "copy", device="cpu").fingerprint == load_encoder(folder, device="cpu").fingerprint


def test_importing_encoders_imports_no_torch() -> None:
    code = "import sys, limbeck.encoders as e; e.batches, e.Prepared; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
