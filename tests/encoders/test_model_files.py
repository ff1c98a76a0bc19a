"""Models whose files name others elsewhere, or promise other sizes than the weights have."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from refusals import raises
from tiny_models import FAMILIES, model, story, tokenizer
from transformers import AlbertConfig, AlbertModel, BertConfig, BertForMaskedLM, DistilBertConfig, DistilBertModel

from limbeck.encoders import load_encoder
from limbeck.encoders.loading import check_model
from limbeck.errors import InputError
from limbeck.vectors import OccurrenceVectors, StaticVectors, model_files

READERS: dict[str, Callable[[Path], object]] = {
    "model": lambda folder: load_encoder(folder, device="cpu"),
    "dry run": check_model,
    "vectors": StaticVectors.load,
    "table": StaticVectors.from_model,
}
INDEX = "model.safetensors.index.json"


def rewrite(path: Path, **changes: Any) -> None:
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    path.write_text(json.dumps({**told, **changes}), encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model in several files of weights, and one of them also outside."""
    path = tmp_path / "made"
    model("bert").save_pretrained(path, max_shard_size="20KB")
    tokenizer(FAMILIES["bert"]).save_pretrained(path)
    (tmp_path / "outside").mkdir()
    shutil.copy(shards(path)[0], tmp_path / "outside" / "secret.safetensors")
    (tmp_path / "outside" / "vocab.txt").write_text("a\n", encoding="utf-8")
    return path


def shards(folder: Path) -> list[Path]:
    return sorted(folder.glob("*-of-*.safetensors"))


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("absolute", [False, True])
def test_an_index_names_neighbors_alone(folder: Path, reader: str, absolute: bool) -> None:
    READERS[reader](folder)
    secret = folder.parent / "outside" / "secret.safetensors"
    weights = json.loads((folder / INDEX).read_text())["weight_map"]
    name = str(secret) if absolute else "../outside/secret.safetensors"
    first = shards(folder)[0].name
    rewrite(folder / INDEX, weight_map={key: name if file == first else file for key, file in weights.items()})
    with raises(InputError, code="outside_folder", says="index.json") as error:
        READERS[reader](folder)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("reader", READERS)
def test_an_index_of_torch_names_neighbors_alone(folder: Path, reader: str) -> None:
    rewrite(folder / "pytorch_model.bin.index.json", metadata={}, weight_map={"x": "../outside/x.bin"})
    with raises(InputError, code="outside_folder", says="index.json"):
        READERS[reader](folder)


@pytest.mark.parametrize("reader", READERS)
def test_links_lead_to_neighbors_or_into_the_hubs_cache(folder: Path, reader: str) -> None:
    first = shards(folder)[0]
    first.rename(folder / "kept.safetensors")
    first.symlink_to("kept.safetensors")
    READERS[reader](folder)
    first.unlink()
    first.symlink_to(folder.parent / "outside" / "secret.safetensors")
    with raises(InputError, code="outside_folder"):
        READERS[reader](folder)
    first.unlink()
    (folder / "kept.safetensors").rename(first)
    blobs, snapshot = (folder.parent / "models--a--b" / name for name in ("blobs", "snapshots/0123"))
    blobs.mkdir(parents=True)
    snapshot.mkdir(parents=True)
    for number, file in enumerate(sorted(folder.iterdir())):
        shutil.copy(file, blobs / f"{number:040x}")
        (snapshot / file.name).symlink_to(f"../../blobs/{number:040x}")
    READERS[reader](snapshot)


@pytest.mark.parametrize(
    ("file", "changes"),
    [
        ("config.json", {"configuration_files": ["config./../../outside/config.1.json"]}),
        ("config.json", {"transformers_weights": "../outside/secret.safetensors"}),
        ("tokenizer_config.json", {"fast_tokenizer_files": ["../outside/tokenizer.1.0.json"]}),
        ("tokenizer_config.json", {"vocab_file": "OUTSIDE/vocab.txt"}),
        ("tokenizer_config.json", {"init_inputs": ["OUTSIDE/vocab.txt"]}),
    ],
)
def test_settings_name_neighbors_alone(folder: Path, file: str, changes: dict[str, Any]) -> None:
    told = json.dumps(changes).replace("OUTSIDE", str(folder.parent / "outside"))
    rewrite(folder / file, **json.loads(told))
    for read in READERS.values():
        with raises(InputError, code="outside_folder"):
            read(folder)


def test_paths_of_other_machines_do_no_harm(folder: Path) -> None:
    stale = "/nowhere/at/all/vocab.txt"
    rewrite(folder / "tokenizer_config.json", vocab_file=stale, special_tokens_map_file=str(folder / INDEX))
    for read in READERS.values():
        read(folder)


def test_kept_vectors_name_neighbors_alone(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "secret.npz").touch()
    (tmp_path / "kept" / "link.npz").symlink_to(tmp_path / "secret.npz")
    about = {"format": 1, "encoder_name": "a", "layers": ["0"], "dim": 2, "about": {}}
    for name in ("../secret.npz", str(tmp_path / "secret.npz"), "link.npz", "..", ""):
        rewrite(tmp_path / "kept" / "vectors.json", **about, shards=[{"file": name, "rows": 1}])
        with raises(InputError, code="outside_folder"):
            OccurrenceVectors.load(tmp_path / "kept")


# --- sizes --------------------------------------------------------------------------------------

SMALL = {"vocab_size": 200, "hidden_size": 16, "num_attention_heads": 2, "intermediate_size": 16}
#: family -> the key of its number of layers
LAYERS = {"bert": "num_hidden_layers", "gpt2": "n_layer", "llama": "num_hidden_layers", "t5": "num_layers"}
LAYERS |= {"bart": "encoder_layers", "distilbert": "n_layers", "with a head": "num_hidden_layers"}


def saved(path: Path, family: str) -> Path:
    if family in FAMILIES:
        made, kind = model(family), FAMILIES[family]
    else:
        kind = "wordpiece uncased"
        made = {
            "distilbert": lambda: DistilBertModel(
                DistilBertConfig(vocab_size=200, dim=16, n_layers=2, n_heads=2, hidden_dim=16)
            ),
            "with a head": lambda: BertForMaskedLM(BertConfig(**SMALL, num_hidden_layers=2)),
            "albert": lambda: AlbertModel(AlbertConfig(**SMALL, embedding_size=8, num_hidden_layers=3)),
        }[family]()
    made.save_pretrained(path)
    tokenizer(kind).save_pretrained(path)
    return path


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        load_encoder(path, device="cpu")
    assert "\n" not in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("family", LAYERS)
@pytest.mark.parametrize("kind", ["safetensors", "torch"])
def test_the_layers_are_those_of_the_weights(
    family: str, kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = saved(tmp_path / "made", family)
    if kind == "torch":
        from safetensors.torch import load_file

        torch.save(load_file(path / "model.safetensors"), path / "pytorch_model.bin")
        (path / "model.safetensors").unlink()
    load_encoder(path, device="cpu")
    key = LAYERS[family]
    there = json.loads((path / "config.json").read_text())[key]
    monkeypatch.setattr("limbeck.encoders.loading._load", lambda *_, **__: pytest.fail("it is loaded"))
    for number in (0, there - 1, there + 1, 9_000):
        rewrite(path / "config.json", **{key: number})
        assert "config.json" in refused(path)
    rewrite(path / "config.json", **{key: 10_000_000})
    assert key in refused(path)
    with raises(InputError, code="too_large", says=key):
        check_model(path)


@pytest.mark.parametrize("number", ["12", 12.5, None, True, [2]])
def test_the_number_of_layers_is_a_number(tmp_path: Path, number: Any) -> None:
    path = saved(tmp_path / "made", "bert")
    rewrite(path / "config.json", num_hidden_layers=number)
    assert "num_hidden_layers must be a whole number" in refused(path)


def test_shared_layers_are_as_many_as_is_told(tmp_path: Path) -> None:
    path = saved(tmp_path / "made", "albert")
    rewrite(path / "config.json", num_hidden_layers=5)
    assert load_encoder(path, device="cpu").layers == tuple("012345")
    rewrite(path / "config.json", num_hidden_layers=10_000_000)
    assert "num_hidden_layers" in refused(path)
    rewrite(path / "config.json", num_hidden_layers=5, num_hidden_groups=2)
    assert "config.json" in refused(path)


@pytest.mark.parametrize("key", ["hidden_size", "vocab_size", "intermediate_size", "max_position_embeddings"])
@pytest.mark.parametrize("value", [10**6, 10**9, 10**13])
def test_sizes_are_those_of_the_weights(tmp_path: Path, key: str, value: int, monkeypatch: pytest.MonkeyPatch) -> None:
    path = saved(tmp_path / "made", "bert")
    rewrite(path / "config.json", **{key: value})
    empty = torch.empty

    def small(*size: Any, **options: Any) -> torch.Tensor:
        made = empty(*size, **options)
        assert made.is_meta or made.numel() < 10**6, "memory for what the weights cannot fill"
        return made

    monkeypatch.setattr(torch, "empty", small)
    assert str(path) in refused(path)


def test_layers_that_a_family_leaves_aside_are_no_mistake() -> None:
    made = model("bert")
    names = [*made.state_dict(), "encoder.layer.7.extra.weight"]
    with raises(InputError, code="damaged", says="got 2"):
        model_files.check_layers(Path("x"), made, names)
    made._keys_to_ignore_on_load_unexpected = [r"layer\.7"]
    try:
        model_files.check_layers(Path("x"), made, names)
    finally:
        del made._keys_to_ignore_on_load_unexpected


def test_the_check_draws_no_numbers(tmp_path: Path) -> None:
    path = saved(tmp_path / "made", "bert")
    before = torch.get_rng_state()
    model_files.check_sizes(path)
    assert torch.equal(torch.get_rng_state(), before)
    encoder = load_encoder(path, device="cpu")
    assert len(encoder.prepare(story())) > 0


def test_a_model_of_the_hubs_cache_is_checked_by_its_name(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("huggingface_hub.constants.HF_HUB_CACHE", "transformers.utils.hub.constants.HF_HUB_CACHE"):
        monkeypatch.setattr(name, str(tmp_path / "hub"))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    place, commit = tmp_path / "hub" / "models--some--model", "0" * 40
    shutil.copytree(folder, place / "snapshots" / commit)
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(commit)
    monkeypatch.chdir(tmp_path)  # where no folder has that name
    assert len(load_encoder("some/model", device="cpu").layers) == 3
    here = place / "snapshots" / commit
    rewrite(here / "config.json", num_hidden_layers=1)
    with raises(InputError, code="damaged", says="got 1"):
        load_encoder("some/model", device="cpu")
    rewrite(here / "config.json", num_hidden_layers=2)
    weights = json.loads((here / INDEX).read_text())["weight_map"]
    (place / "secret.safetensors").symlink_to(shards(here)[0])
    rewrite(here / INDEX, weight_map=dict.fromkeys(weights, "../../secret.safetensors"))
    with raises(InputError, code="outside_folder"):
        load_encoder("some/model", device="cpu")
