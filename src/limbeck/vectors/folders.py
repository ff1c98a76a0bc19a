"""model2vec folders: model.safetensors, tokenizer.json, config.json; what model2vec and sentence-transformers load."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.state import atomic, write_text
from limbeck.vectors.arrays import first_of, in_order, read_json, read_tensor, tensor_names
from limbeck.vectors.gather import UNKNOWN, Floats, Table, table_of

UNKNOWN_TOKEN = "[UNK]"
PLACES = (".", "0_StaticEmbedding")  #: where sentence-transformers puts the same two files
MATRIX_NAMES = ("embeddings", "embedding.weight")


def model2vec_files(folder: Path) -> tuple[Path, Path] | None:
    """The safetensors file and the tokenizer of a model2vec folder, None if it is none."""
    for place in PLACES:
        model, tokenizer = folder / place / "model.safetensors", folder / place / "tokenizer.json"
        if model.is_file() and tokenizer.is_file() and set(MATRIX_NAMES) & set(tensor_names(model)):
            return model, tokenizer
    return None


def read_model2vec(folder: Path, *, limit: int | None = None) -> Table:
    """Read the tokens and their vectors, quantized vocabularies and token weights undone."""
    files = model2vec_files(folder)
    if files is None:
        raise InputError(
            f"{folder}: a model2vec folder holds model.safetensors (with embeddings) and tokenizer.json: "
            "give another folder or format."
        )
    model, tokenizer_file = files
    names = tensor_names(model)
    matrix = read_tensor(model, first_of(names, MATRIX_NAMES, model))
    if matrix.dtype.kind != "f":
        matrix = matrix.astype(np.float32)  # model2vec's int8: the scale is lost there as well
    if "mapping" in names:
        matrix = matrix[read_tensor(model, "mapping")]
    if "weights" in names:
        matrix = matrix * read_tensor(model, "weights")[:, None].astype(np.float32)
    tokenizer = read_json(tokenizer_file)
    words = in_order(tokenizer, tokenizer_file)
    if len(words) != len(matrix):
        raise InputError(
            f"{folder}: one row a token is needed, got {len(words)} tokens and {len(matrix)} rows: "
            "the files do not belong together."
        )
    unknown = tokenizer["model"].get("unk_token")
    if unknown in words and not matrix[words.index(unknown)].any():
        # a row that was added so that the tokenizer has an unknown token; it says nothing about a word
        at = words.index(unknown)
        words, matrix = words[:at] + words[at + 1 :], np.delete(matrix, at, axis=0)
        table = table_of(folder, words, matrix, limit=limit)
        table.notes[UNKNOWN] = 1
        return table
    return table_of(folder, words, matrix, limit=limit)


def write_model2vec(folder: Path, words: Sequence[str], matrix: Floats) -> None:
    """Write a folder that model2vec's `StaticModel.from_pretrained` and sentence-transformers load.

    Its tokenizer looks up whole words (runs of letters, runs of punctuation), lower-cased if all words are;
    unknown words are dropped by model2vec.
    """
    numpy_file = need("safetensors.numpy", purpose="writing safetensors")
    tokens = list(words)
    if UNKNOWN_TOKEN not in tokens:
        tokens.append(UNKNOWN_TOKEN)
        matrix = np.concatenate([matrix, np.zeros((1, matrix.shape[1]), dtype=np.float32)])
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "model.safetensors") as temporary:
        numpy_file.save_file({"embeddings": np.ascontiguousarray(matrix)}, temporary)
    lower = all(word == word.lower() for word in words)
    write_text(folder / "tokenizer.json", json.dumps(word_tokenizer(tokens, lower=lower), ensure_ascii=False))
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "words",
        "apply_pca": None,
        "hidden_dim": int(matrix.shape[1]),
        "seq_length": 1_000_000,
        "normalize": False,
        "embedding_dtype": "float32",
    }
    write_text(folder / "config.json", json.dumps(config, indent=4))
    modules = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    write_text(folder / "modules.json", json.dumps(modules, indent=4))


def word_tokenizer(tokens: Sequence[str], *, lower: bool) -> dict[str, Any]:
    """A tokenizer.json that looks whole words up."""
    unknown = {
        "id": tokens.index(UNKNOWN_TOKEN),
        "content": UNKNOWN_TOKEN,
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": False,
        "special": True,
    }
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [unknown],
        "normalizer": {"type": "Lowercase"} if lower else None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: number for number, token in enumerate(tokens)},
            "unk_token": UNKNOWN_TOKEN,
        },
    }
