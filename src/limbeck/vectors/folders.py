"""model2vec folders: model.safetensors, tokenizer.json, config.json; what model2vec and sentence-transformers load."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.state import atomic, write_text
from limbeck.vectors.arrays import ScaledRows, TensorRows, first_of, in_order, read_json, read_tensor, tensor_names
from limbeck.vectors.finding import WORDS, by_pattern, divided, how_found
from limbeck.vectors.gather import UNKNOWN, Floats, Rows, Table, table_of
from limbeck.vectors.precision import Tensor, narrowed, row_scales, write_tensors

#: how the tokenizer's unknown word is called, the first that is no word of the table
UNKNOWN_TOKENS = ("[UNK]", "<unk>", "[UNKNOWN]", "<unknown>", "[no word]")
#: what models put into their vocabularies: no word, and no reason to heed case
MARKER = re.compile(r"\[[A-Z]+\]")
PLACES = (".", "0_StaticEmbedding")  #: where sentence-transformers puts the same two files
FILES = ("model.safetensors", "tokenizer.json", "config.json", "modules.json")  #: that are written
MATRIX_NAMES = ("embeddings", "embedding.weight")


def model2vec_files(folder: Path) -> tuple[Path, Path] | None:
    """The safetensors file and the tokenizer of a model2vec folder, None if it is none."""
    for place in PLACES:
        model, tokenizer = folder / place / "model.safetensors", folder / place / "tokenizer.json"
        if model.is_file() and tokenizer.is_file() and set(MATRIX_NAMES) & set(tensor_names(model)):
            return model, tokenizer
    return None


def is_model2vec(folder: Path) -> bool:
    """Whether a folder is one of model2vec's, though it may lack a file: by a matrix alone, or by its config.json."""
    if model2vec_files(folder) is not None:
        return True
    models = [model for place in PLACES if (model := folder / place / "model.safetensors").is_file()]
    if any(set(tensor_names(model)) <= {*MATRIX_NAMES, "mapping", "weights"} for model in models):
        return True  # a model proper has more than a table
    config = folder / "config.json"
    return config.is_file() and '"model2vec"' in config.read_text(encoding="utf-8", errors="replace")


def refuse_several(folder: Path) -> None:
    """A run of `limbeck distill` by several methods or layers is a folder of folders, each of which holds vectors."""
    if not (folder / "run.json").is_file() or (folder / "config.json").exists():
        return
    if inside := sorted(path.parent.name for path in folder.glob("*/config.json") if model2vec_files(path.parent)):
        named = ", ".join(inside)
        raise InputError(
            f"{folder}: holds several folders of vectors ({named}): name one, {folder / inside[0]}.", code="ambiguous"
        )


def read_model2vec(folder: Path, *, limit: int | None = None) -> Table:
    """Read the tokens and their vectors, quantized vocabularies and token weights undone."""
    files = model2vec_files(folder)
    if files is None:
        needed = ("model.safetensors", "tokenizer.json")
        lacking = [name for name in needed if not any((folder / place / name).is_file() for place in PLACES)]
        raise InputError(
            f"{folder}: a model2vec folder must hold model.safetensors, with embeddings, and tokenizer.json, got no "
            f"{' and no '.join(lacking) or 'embeddings'}: get what is missing, or give another folder or format.",
            code="incomplete",
        )
    model, tokenizer_file = files
    tokenizer = read_json(tokenizer_file)
    words = in_order(tokenizer, tokenizer_file)
    names = tensor_names(model)
    matrix: Rows = TensorRows(model, first_of(names, MATRIX_NAMES, model))
    if "mapping" in names:  # of a quantized vocabulary, which is small
        mapping = read_tensor(model, "mapping")
        check_mapping(mapping, matrix.shape[0], len(words), model)
        matrix = matrix[:][mapping]
    if "weights" in names:  # of model2vec's int8 without them the scale is lost, there as well
        matrix = ScaledRows(matrix, read_tensor(model, "weights"), model)
    if len(words) != matrix.shape[0]:
        raise InputError(
            f"{folder}: one row a token is needed, got {len(words)} tokens and {matrix.shape[0]} rows: "
            "the files do not belong together.",
            code="unequal_lengths",
        )
    unknown = tokenizer["model"].get("unk_token")
    at = words.index(unknown) if unknown in words else None
    if at is None or matrix[at : at + 1].any():
        return table_of(folder, words, matrix, limit=limit)
    # a row that was added so that the tokenizer has an unknown token; it says nothing about a word
    table = table_of(folder, words, matrix, limit=limit, skip=at)
    table.notes[UNKNOWN] = 1
    return table


def check_mapping(mapping: NDArray[Any], rows: int, tokens: int, path: Path) -> None:
    """Refuse what does not say of each token which row is its own."""
    if mapping.dtype.kind not in "iu" or mapping.shape != (tokens,):
        raise InputError(
            f"{path}: mapping must be one whole number a token, {tokens} in all, got {mapping.dtype} of shape "
            f"{mapping.shape}: get the whole folder.",
            code="damaged",
        )
    wrong = np.flatnonzero((mapping < 0) | (mapping >= rows))
    if len(wrong):
        raise InputError(
            f"{path}: mapping must name one of {rows} rows for each token, got {mapping[wrong[0]]} for token "
            f"{wrong[0]}: get the whole folder.",
            code="damaged",
        )


def write_model2vec(folder: Path, words: Sequence[str], matrix: Floats, *, dtype: str = "float32") -> None:
    """Write a folder that model2vec's `StaticModel.from_pretrained` and sentence-transformers load.

    Both give a word of the table its own vector, and the words of a text are found in it, lower-cased if all words of
    the table are; see `word_tokenizer`. Unknown words are left out by model2vec; sentence-transformers counts them as
    zeros, which makes the mean shorter and does not turn it. int8 comes with a weight a token, its scale, which both
    multiply with.
    """
    unknown = next(token for token in UNKNOWN_TOKENS if token not in words)
    tokenizer = word_tokenizer(words, unknown)
    shape = (len(words) + 1, matrix.shape[1])
    scales = row_scales(matrix) if dtype == "int8" else None

    def rows() -> Iterator[NDArray[Any]]:
        yield from narrowed(matrix, dtype, scales)
        yield np.zeros((1, shape[1]), dtype=dtype)  # of the unknown word, the last

    tensors = {"embeddings": Tensor(dtype, shape, rows)}
    if scales is not None:
        tensors["weights"] = Tensor.of(np.append(scales, np.float32(1)))
    folder.mkdir(parents=True, exist_ok=True)
    with atomic(folder / "model.safetensors") as temporary, open(temporary, "wb") as file:
        write_tensors(file, tensors)
    write_text(folder / "tokenizer.json", json.dumps(tokenizer, ensure_ascii=False))
    config = {
        "model_type": "model2vec",
        "architectures": ["StaticModel"],
        "tokenizer_name": "words",
        "apply_pca": None,
        "hidden_dim": shape[1],
        "seq_length": 1_000_000,
        "max_length": None,  # model2vec cuts texts after 512 words unless it is told not to
        "normalize": False,
        "embedding_dtype": dtype,
    }
    write_text(folder / "config.json", json.dumps(config, indent=4))
    modules = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    write_text(folder / "modules.json", json.dumps(modules, indent=4))


def word_tokenizer(words: Sequence[str], unknown: str) -> dict[str, Any]:
    """A tokenizer.json that finds words as `limbeck.vectors.finding` does, the unknown word behind the last.

    Words that the pattern would divide are its added tokens.
    """
    lower = all(word == word.lower() or MARKER.fullmatch(word) for word in words)
    plain: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": {"type": "Lowercase"} if lower else None,
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": WORDS}, "behavior": "Removed", "invert": True},
        "post_processor": None,
        "decoder": None,
        "model": {
            "type": "WordLevel",
            "vocab": {token: number for number, token in enumerate([*words, unknown])},
            "unk_token": unknown,
        },
    }
    row = {word: number for number, word in enumerate(words)}
    added = [added_token(row[word], word, lower=lower) for word in divided(words, by_pattern)]
    return {**plain, "added_tokens": [*added, {**added_token(len(words), unknown, lower=False), "special": True}]}


def added_token(number: int, content: str, *, lower: bool) -> dict[str, Any]:
    """A word that is looked for before a text is divided."""
    found = how_found(content, lower=lower)
    return {"id": number, "content": content, "lstrip": False, "rstrip": False, "special": False, **found}
