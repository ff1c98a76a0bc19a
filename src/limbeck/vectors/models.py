"""The input embedding table of a Hugging Face model, read from its weights file without building the model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.remote import refuse_password
from limbeck.vectors.arrays import read_json, read_tensor, tokenizer_ids
from limbeck.vectors.gather import NO_ROW, NO_TOKEN, Table, table_of
from limbeck.vectors.model_files import check_folder, check_sizes, weight_places

#: how the tables of input embeddings are called, the ends of their names; in the order in which they are preferred
TABLE_NAMES = (
    "embeddings.word_embeddings.weight",  # BERT, RoBERTa, MPNet, DistilBERT, ELECTRA, ALBERT
    "wte.weight",  # GPT-2
    "embed_tokens.weight",  # Llama, Gemma, Mistral, OPT, Qwen
    "shared.weight",  # T5, BART
    "embed_in.weight",  # GPT-NeoX
    "word_embeddings.weight",  # BLOOM, Falcon
    "embeddings.tok_embeddings.weight",  # ModernBERT
    "word_embedding.weight",  # XLNet
)
OWN_FILES = ("config.json", "tokenizer.json", "*.safetensors", "*.bin")  #: one of these is in every model's folder
NEEDED = ["*.json", "*.safetensors", "*.txt", "*.model"]


def read_model(folder_or_id: str | Path) -> Table:
    """Tokens in the order of their ids and their rows of the input embedding table."""
    folder = find_folder(folder_or_id)
    if not is_model(folder):
        raise InputError(
            f"{folder}: a model's folder must hold config.json, weights and a tokenizer, got none: check it.",
            code="incomplete",
        )
    check_folder(folder)
    tokens = read_tokens(folder)
    matrix = read_table(folder)
    words = [tokens[number] for number in sorted(tokens) if number < len(matrix)]
    rows = np.array([number for number in sorted(tokens) if number < len(matrix)], dtype=np.int64)
    table = table_of(folder_or_id, words, matrix[rows])
    for reason, count in ((NO_TOKEN, len(matrix) - len(rows)), (NO_ROW, len(tokens) - len(rows))):
        if count:
            table.notes[reason] = count
    return table


def find_folder(folder_or_id: str | Path) -> Path:
    """The folder itself, or that of a model of this name on the hub or in its cache."""
    refuse_password(folder_or_id)
    folder = Path(folder_or_id).expanduser()
    if folder.is_dir():
        return folder
    hub: Any = need("huggingface_hub", purpose="loading a model by its id")
    try:
        return Path(hub.snapshot_download(str(folder_or_id), allow_patterns=NEEDED))
    except Exception as error:  # offline, unknown id, no rights: the hub has a dozen exceptions for it
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(
            f"{folder_or_id}: must be a model folder or the id of a model on the hub, got no model "
            f"({type(error).__name__}: {reason}): check the name or the connection.",
            code="not_found",
        ) from error


def is_model(folder: Path) -> bool:
    """Whether a folder has anything of a model."""
    return any(path.is_file() for pattern in OWN_FILES for path in folder.glob(pattern))


def read_tokens(folder: Path) -> dict[int, str]:
    """{id: token}, from tokenizer.json where there is one."""
    file = folder / "tokenizer.json"
    if file.is_file():
        return {number: token for token, number in tokenizer_ids(read_json(file)).items()}
    transformers: Any = need("transformers", purpose="loading a tokenizer without tokenizer.json")
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), trust_remote_code=False)
    except Exception as error:
        raise InputError(
            f"{folder}: a tokenizer is needed, got none that loads ({(str(error).splitlines() or [''])[0]}): "
            "add tokenizer.json.",
            code="incomplete",
        ) from error
    return {number: token for token, number in tokenizer.get_vocab().items()}


def read_table(folder: Path) -> NDArray[Any]:
    """The embedding table, straight from safetensors where its name is known, else from the built model."""
    places = weight_places(folder)
    for ending in TABLE_NAMES:
        names = [name for name in places if name == ending or name.endswith("." + ending)]
        if names:
            # of several (encoder and decoder of an untied pair) the encoder's, else the shortest name
            name = min(names, key=lambda name: ("decoder" in name.split("."), len(name), name))
            return read_tensor(places[name], name)
    check_sizes(folder)
    transformers: Any = need("transformers", purpose="building a model")
    try:
        model, found = transformers.AutoModel.from_pretrained(
            str(folder), trust_remote_code=False, weights_only=True, output_loading_info=True
        )
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".:")
        raise InputError(
            f"{folder}: a model with an input embedding table is needed, none loads ({reason}): check its files.",
            code="damaged",
        ) from error
    inputs = model.get_input_embeddings()
    name = next((name for name, module in model.named_modules() if module is inputs), "")
    if f"{name}.weight" in found["missing_keys"]:  # transformers makes up what is missing, at random
        raise InputError(
            f"{folder}: a table of input embeddings is needed, its weights have none: get all of them.",
            code="incomplete",
        )
    table: NDArray[Any] = inputs.weight.detach().float().cpu().numpy()
    return table
