"""model2vec folders, safetensors with a vocabulary beside it, and the embedding tables of Hugging Face models."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises
from safetensors.numpy import save_file
from safetensors.torch import save_file as save_torch_file
from tokenizers import Tokenizer

from limbeck.errors import InputError
from limbeck.vectors import StaticVectors
from limbeck.vectors.gather import NO_ROW, NO_TOKEN, UNKNOWN

TOKENIZER: dict[str, Any] = {
    "version": "1.0",
    "added_tokens": [{"id": 3, "content": "<pad>"}],
    # ids out of order in the file: the order of the rows is that of the ids
    "model": {"type": "WordPiece", "vocab": {"b": 2, "[UNK]": 0, "##a": 1}, "unk_token": "[UNK]"},
}


def matrix(rows: int, dim: int = 4) -> np.ndarray:
    return np.random.default_rng(rows).normal(size=(rows, dim)).astype(np.float32)


# model2vec


def test_model2vec_written_by_others(tmp_path: Path) -> None:
    x = matrix(4)
    save_file({"embeddings": x.astype(np.float16)}, tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    vectors = StaticVectors.load(tmp_path)
    assert vectors.words == ["[UNK]", "##a", "b", "<pad>"]
    assert np.array_equal(vectors.matrix, x.astype(np.float16).astype(np.float32))


def test_model2vec_quantized_vocabulary(tmp_path: Path) -> None:
    x = matrix(2)
    mapping, weights = np.array([0, 1, 1, 0]), np.array([1.0, 2.0, 0.5, 3.0])
    save_file({"embeddings": x, "mapping": mapping, "weights": weights}, tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    expected = np.array([x[0], x[1] * 2, x[1] * 0.5, x[0] * 3])
    assert np.allclose(StaticVectors.load(tmp_path).matrix, expected, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "array", "code"),
    [
        ("mapping", [-1, 0, 1, 0], "damaged"),
        ("mapping", [0, 2, 1, 0], "damaged"),
        ("mapping", [0, 1, 1], "damaged"),
        ("mapping", [0.0, 1.0, 1.0, 0.0], "damaged"),
        ("mapping", [[0, 1, 1, 0]], "damaged"),
        ("weights", [1.0, 2.0, 0.5], "unequal_lengths"),
        ("weights", [1.0, 2.0, float("nan"), 1.0], "not_finite"),
    ],
)
def test_model2vec_quantized_vocabulary_that_names_no_row(
    tmp_path: Path, name: str, array: list[Any], code: str
) -> None:
    told = {"mapping": np.array([0, 1, 1, 0]), "weights": np.ones(4), name: np.array(array)}
    save_file({"embeddings": matrix(2), **told}, tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    with raises(InputError, code=code, says="model.safetensors: "):
        StaticVectors.load(tmp_path)


def test_model2vec_of_sentence_transformers(tmp_path: Path) -> None:
    inner = tmp_path / "0_StaticEmbedding"
    inner.mkdir()
    save_file({"embedding.weight": matrix(4)}, inner / "model.safetensors")
    (inner / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    assert len(StaticVectors.load(tmp_path)) == 4


def test_unigram_vocabulary(tmp_path: Path) -> None:
    save_file({"embeddings": matrix(2)}, tmp_path / "model.safetensors")
    tokenizer = {"model": {"type": "Unigram", "vocab": [["▁a", -1.0], ["b", -2.0]], "unk_id": 0}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(tokenizer))
    assert StaticVectors.load(tmp_path).words == ["▁a", "b"]


def test_written_model2vec_tokenizer_finds_the_words(tmp_path: Path) -> None:
    words = ["the", "cat", "!", "naïve"]
    vectors = StaticVectors(words, matrix(4))
    vectors.save(tmp_path / "m")
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    ids = tokenizer.encode("The naïve cat purrs!").ids
    assert [tokenizer.id_to_token(number) for number in ids] == ["the", "naïve", "cat", "[UNK]", "!"]
    again = StaticVectors.load(tmp_path / "m")
    assert again.words == words
    assert again.notes == {UNKNOWN: 1}


def test_case_is_kept_when_there_is_case(tmp_path: Path) -> None:
    StaticVectors(["The", "the"], matrix(2)).save(tmp_path / "m")
    tokenizer = Tokenizer.from_file(str(tmp_path / "m" / "tokenizer.json"))
    assert tokenizer.encode("the The").ids == [1, 0]


def test_own_unknown_word_is_kept(tmp_path: Path) -> None:
    StaticVectors(["a", "[UNK]"], matrix(2)).save(tmp_path / "m")
    assert StaticVectors.load(tmp_path / "m").words == ["a", "[UNK]"]


def test_model2vec_parts_that_do_not_fit(tmp_path: Path) -> None:
    save_file({"embeddings": matrix(3)}, tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text(json.dumps(TOKENIZER))
    with raises(InputError, code="unequal_lengths"):
        StaticVectors.load(tmp_path)


# safetensors


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("v.vocab.json", '["a", "b c", "d"]'),
        ("vocab.json", '{"b c": 1, "d": 2, "a": 0}'),
        ("vocab.txt", "a\nb c\nd\n"),
        ("tokenizer.json", '{"model": {"vocab": {"a": 0, "d": 2, "b c": 1}}}'),
    ],
)
def test_safetensors_with_a_vocabulary_beside_it(tmp_path: Path, name: str, content: str) -> None:
    x = matrix(3)
    save_file({"embeddings": x}, tmp_path / "v.safetensors")
    with raises(InputError, code="incomplete", parameter="words", says="v.safetensors"):
        StaticVectors.load(tmp_path / "v.safetensors")
    (tmp_path / name).write_text(content)
    vectors = StaticVectors.load(tmp_path / "v.safetensors")
    assert vectors.words == ["a", "b c", "d"]
    assert np.array_equal(vectors.matrix, x)


def test_bfloat16(tmp_path: Path) -> None:
    x = torch.randn(3, 4, generator=torch.Generator().manual_seed(0)).to(torch.bfloat16)
    save_torch_file({"vectors": x}, tmp_path / "v.safetensors")
    (tmp_path / "vocab.txt").write_text("a\nb\nc")
    assert np.array_equal(StaticVectors.load(tmp_path / "v.safetensors").matrix, x.float().numpy())


def test_damaged_arrays(tmp_path: Path) -> None:
    vectors = StaticVectors(["a", "b"], matrix(2))
    for name in ("v.npz", "v.safetensors"):
        vectors.save(tmp_path / name)
        data = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(data[:-20])
        with raises(InputError, code="damaged", says=f"{name}: "):
            StaticVectors.load(tmp_path / name)


def test_a_zip_of_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "glove.zip", "w") as archive:
        archive.writestr("glove.50d.txt", "a 1 2\n")
    with raises(InputError, code="other_kind"):
        StaticVectors.load(tmp_path / "glove.zip")


def test_npz_of_others(tmp_path: Path) -> None:
    x = matrix(2)
    np.savez_compressed(tmp_path / "v.npz", embeddings=x, vocab=np.array(["a", "b"]))
    assert np.array_equal(StaticVectors.load(tmp_path / "v.npz")["b"], x[1])
    np.savez(tmp_path / "v.npz", vectors=x, words=np.array(["a"]))
    with raises(InputError, code="wrong_shape"):
        StaticVectors.load(tmp_path / "v.npz")
    np.savez(tmp_path / "v.npz", vectors=np.array([[1.0], [np.inf]]), words=np.array(["a", "b"]))
    with raises(InputError, code="not_finite", says=("'b'", "row 1")):
        StaticVectors.load(tmp_path / "v.npz")


# models


def write_tokenizer(folder: Path, size: int) -> None:
    vocabulary = {f"t{number}": number for number in reversed(range(size))}
    tokenizer = {"version": "1.0", "model": {"type": "WordLevel", "vocab": vocabulary, "unk_token": "t0"}}
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))


def tiny_model(kind: str) -> Any:
    import transformers

    sizes = {
        "vocab_size": 11,
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    torch.manual_seed(0)
    if kind == "gpt2":
        return transformers.GPT2LMHeadModel(transformers.GPT2Config(vocab_size=11, n_embd=8, n_layer=1, n_head=2))
    if kind == "bert":
        return transformers.BertForMaskedLM(transformers.BertConfig(**sizes))
    if kind == "t5":
        config = transformers.T5Config(vocab_size=11, d_model=8, d_ff=8, d_kv=4, num_layers=1, num_heads=2)
        return transformers.T5Model(config)
    return transformers.LlamaModel(transformers.LlamaConfig(**sizes))


@pytest.mark.parametrize("kind", ["bert", "gpt2", "llama", "t5"])
@pytest.mark.parametrize("shard", ["5GB", "2KB"])
def test_embedding_table_is_the_models_own(tmp_path: Path, kind: str, shard: str) -> None:
    model = tiny_model(kind)
    model.save_pretrained(tmp_path, max_shard_size=shard)
    write_tokenizer(tmp_path, 11)
    vectors = StaticVectors.from_model(tmp_path)
    assert vectors.words == [f"t{number}" for number in range(11)]
    assert np.array_equal(vectors.matrix, model.get_input_embeddings().weight.detach().numpy())
    assert StaticVectors.load(tmp_path, limit=3).words == ["t0", "t1", "t2"]


def test_tables_and_tokenizers_of_different_size(tmp_path: Path) -> None:
    model = tiny_model("llama")
    model.save_pretrained(tmp_path)
    write_tokenizer(tmp_path, 8)
    vectors = StaticVectors.from_model(tmp_path)
    assert (len(vectors), dict(vectors.notes)) == (8, {NO_TOKEN: 3})
    write_tokenizer(tmp_path, 15)
    vectors = StaticVectors.from_model(tmp_path)
    assert (len(vectors), dict(vectors.notes)) == (11, {NO_ROW: 4})


def test_unknown_weight_names_build_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tiny_model("llama")
    model.save_pretrained(tmp_path)
    write_tokenizer(tmp_path, 11)
    monkeypatch.setattr("limbeck.vectors.models.TABLE_NAMES", ())
    vectors = StaticVectors.from_model(tmp_path)
    assert np.array_equal(vectors.matrix, model.get_input_embeddings().weight.detach().numpy())


def test_a_folder_that_lacks_something_says_what(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One line of ours: transformers, which would warn at length, is not asked about what is no model."""
    for empty in (tmp_path / "empty", tmp_path / "other"):
        empty.mkdir()
    (tmp_path / "other" / "notes.txt").write_text("nothing of use")
    for folder in ("empty", "other"):
        with raises(InputError, code="other_kind", says=f"{folder}: "):
            StaticVectors.load(tmp_path / folder)
    whole = StaticVectors(["a", "b"], matrix(2))
    for lacking in ("tokenizer.json", "model.safetensors"):
        whole.save(tmp_path / "made")
        (tmp_path / "made" / lacking).unlink()
        with raises(InputError, code="incomplete", says=f"got no {lacking}: "):
            StaticVectors.load(tmp_path / "made")
    save_file({"embeddings": matrix(2)}, tmp_path / "other" / "model.safetensors")  # of model2vec without config.json
    with raises(InputError, code="incomplete", says="tokenizer.json"):
        StaticVectors.load(tmp_path / "other")
    assert "transformers" not in capfd.readouterr().err


def test_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with raises(InputError, code="not_found"):
        StaticVectors.from_model("no/such-model")
    with raises(InputError, code="incomplete", says="config.json"):
        StaticVectors.from_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    with raises(InputError, code="incomplete"):
        StaticVectors.from_model(tmp_path)


def test_occurrence_files_are_pointed_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"PAR1" + b"\0" * 20)
    with raises(InputError, code="other_kind"):
        StaticVectors.load(tmp_path / "x")
    (tmp_path / "vectors.json").write_text("{}")
    with raises(InputError, code="other_kind"):
        StaticVectors.load(tmp_path)
