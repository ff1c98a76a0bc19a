"""Word vectors as arrays: npz, safetensors with its vocabulary inside or beside it, and npy with it beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.npz import check_array
from limbeck.numerals import number_of
from limbeck.strings import pack, unpack
from limbeck.vectors.gather import Floats, Rows, Table, table_of
from limbeck.vectors.mapped import map_member, member_names, read_member
from limbeck.vectors.precision import Tensor, narrowed, row_scales, write_tensors

MATRIX_NAMES = ("vectors", "embeddings", "matrix", "embedding.weight", "weight", "embedding")
WORDS_NAMES = ("words", "vocab", "vocabulary", "tokens")
OFFSETS_NAME = "offsets"
SCALES_NAME = "scales"  #: (words,) of int8: what a step is worth in each row


def read_npz(path: Path, *, limit: int | None = None) -> Table:
    """Read `vectors` (words, d) and `words`, an array of strings or bytes with `offsets`."""
    names = member_names(path)
    if not names:
        raise InputError(
            f"{path}: a zip of arrays (npz) is needed, this one holds none: unpack it and give a file in it.",
            code="other_kind",
        )
    matrix: Rows = map_member(path, first_of(names, MATRIX_NAMES, path))
    words = read_member(path, first_of(names, WORDS_NAMES, path))
    offsets = read_member(path, OFFSETS_NAME) if OFFSETS_NAME in names else None
    if SCALES_NAME in names:
        matrix = ScaledRows(matrix, read_member(path, SCALES_NAME), path)
    return table_of(path, strings_in(words, offsets, path), matrix, limit=limit)


def read_npy(path: Path, *, limit: int | None = None) -> Table:
    """Read one array (words, d), mapped, and words from a vocabulary file beside it."""
    with open(path, "rb") as file:
        check_array(file, path.stat().st_size)
    words = vocabulary_beside(path)
    return table_of(path, words, np.load(path, mmap_mode="r", allow_pickle=False), limit=limit)


def write_npz(path: Path, words: Sequence[str], matrix: Floats, *, dtype: str = "float32") -> None:
    data, offsets = pack(words)
    arrays: dict[str, NDArray[Any]] = {"vectors": matrix, "words": data, "offsets": offsets}
    if dtype != "float32":
        scales = row_scales(matrix) if dtype == "int8" else None
        pieces = list(narrowed(matrix, dtype, scales))
        arrays["vectors"] = np.concatenate(pieces) if pieces else matrix.astype(dtype)
        if scales is not None:
            arrays[SCALES_NAME] = scales
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def read_safetensors(path: Path, *, limit: int | None = None) -> Table:
    """Read a matrix, and words from the tensors `words` and `offsets` or from a vocabulary file beside it."""
    names = tensor_names(path)
    matrix_name = first_of(names, MATRIX_NAMES, path)
    if "words" in names and OFFSETS_NAME in names:
        words = strings_in(read_tensor(path, "words"), read_tensor(path, OFFSETS_NAME), path)
    else:
        words = vocabulary_beside(path)
    matrix: Rows = TensorRows(path, matrix_name)
    if SCALES_NAME in names:
        matrix = ScaledRows(matrix, read_tensor(path, SCALES_NAME), path)
    return table_of(path, words, matrix, limit=limit)


def write_safetensors(path: Path, words: Sequence[str], matrix: Floats, *, dtype: str = "float32") -> None:
    data, offsets = pack(words)
    tensors = {"words": Tensor.of(data), OFFSETS_NAME: Tensor.of(offsets)}
    scales = None
    if dtype == "int8":
        scales = row_scales(matrix)
        tensors[SCALES_NAME] = Tensor.of(scales)
    tensors["vectors"] = Tensor(dtype, matrix.shape, lambda: narrowed(matrix, dtype, scales))
    with open(path, "wb") as file:
        write_tensors(file, tensors)


class TensorRows:
    """A tensor of a safetensors file, some rows at a time; bfloat16 (which numpy lacks) as float32."""

    def __init__(self, path: Path, name: str) -> None:
        with opened(path, "numpy") as file:
            kind = str(file.get_slice(name).get_dtype()).lower()
        self._wide = kind in ("bf16", "bfloat16")
        self._file, self._name = opened(path, "pt" if self._wide else "numpy"), name
        self.shape: tuple[int, ...] = tuple(self._file.get_slice(name).get_shape())

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        part = self._file.get_slice(self._name)[start:stop]
        found: NDArray[Any] = part.float().numpy() if self._wide else part
        return found


class ScaledRows:
    """Rows times a number each: int8 with its scales, or a token's weight."""

    def __init__(self, rows: Rows, scales: NDArray[Any], path: Path) -> None:
        if scales.shape != rows.shape[:1]:
            raise InputError(
                f"{path}: one scale a row is needed, got {scales.shape} for {rows.shape}: get the whole file.",
                code="unequal_lengths",
            )
        if scales.dtype.kind not in "fiu" or not np.isfinite(scales).all():
            raise InputError(
                f"{path}: scales of rows must be finite numbers, got {scales.dtype} or NaN or infinity among them: "
                "get the whole file.",
                code="not_finite",
            )
        self._rows, self._scales, self.shape = rows, scales.astype(np.float32), rows.shape

    def __getitem__(self, rows: slice, /) -> NDArray[Any]:
        scaled: NDArray[Any] = self._rows[rows].astype(np.float32) * self._scales[rows, None]
        return scaled


def vocabulary_beside(path: Path) -> list[str]:
    """Words of the vocabulary file that stands beside a file of an array, one a row."""
    stem = path.name.removesuffix(path.suffix)
    names = (f"{stem}.vocab.json", f"{stem}.vocab.txt", f"{stem}.txt", "tokenizer.json", "vocab.json", "vocab.txt")
    for name in names:
        beside = path.with_name(name)
        if not beside.exists():
            continue
        if beside.suffix == ".txt":
            lines = beside.read_bytes().decode("utf-8-sig").removesuffix("\n").split("\n")
            if any(len(fields := line.split()) > 2 and None not in map(number_of, fields[1:]) for line in lines[:2]):
                continue  # vectors in text form by the same name
            return [line.removesuffix("\r") for line in lines]
        return in_order(read_json(beside), beside)
    raise InputError(
        f"{path}: word vectors need words, there is no vocabulary beside the array: put one word a line, one for each "
        f"row, into {names[2]}, or save both with numpy.savez(NAME, words=words, vectors=array). Looked for "
        f"{', '.join(names)}.",
        code="incomplete",
        parameter="words",
    )


def in_order(vocabulary: Any, path: Path) -> list[str]:
    """Tokens in the order of their ids: of a list, a {token: id} object, or a tokenizer.json."""
    if isinstance(vocabulary, list):
        return [str(word) for word in vocabulary]
    ids = tokenizer_ids(vocabulary) if "model" in vocabulary and isinstance(vocabulary["model"], dict) else vocabulary
    tokens = {number: token for token, number in ids.items()}
    if sorted(tokens) != list(range(len(tokens))):
        raise InputError(
            f"{path}: ids must run from 0 without gaps, got {len(tokens)} ids up to {max(tokens, default=0)}.",
            code="malformed",
        )
    return [tokens[number] for number in range(len(tokens))]


def tokenizer_ids(tokenizer: Mapping[str, Any]) -> dict[str, int]:
    """{token: id} of a parsed tokenizer.json: the model's vocabulary and the added tokens."""
    vocabulary = tokenizer["model"].get("vocab", {})
    if isinstance(vocabulary, list):  # Unigram: [token, score] in order
        ids = {entry[0]: number for number, entry in enumerate(vocabulary)}
    else:
        ids = dict(vocabulary)
    for added in tokenizer.get("added_tokens") or ():
        ids[added["content"]] = added["id"]
    return ids


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError) as error:
        raise InputError(f"{path}: must be a JSON file ({error}): get it again.", code="malformed") from error


def neighbor(name: Any, path: Path) -> Path:
    """The file that another file names: it must lie beside it, wherever else its name or a link might point."""
    if not isinstance(name, str) or name in ("", "..") or Path(name).name != name:
        raise InputError(
            f"{path}: a file that it names must lie beside it, got {str(name)[:80]!r}: the file is damaged.",
            code="outside_folder",
        )
    found = path.with_name(name)
    if leads_out(found):
        raise InputError(
            f"{path}: it names {name}, a link that leads out of its folder: copy the file there.", code="outside_folder"
        )
    return found


def leads_out(path: Path) -> bool:
    """Whether a file is a link to outside its folder. Hugging Face's cache has each file as a link to its blobs."""
    if not path.is_symlink():
        return False
    target = path.resolve()
    if target.parent.name == "blobs" and target.parents[1].name.startswith("models--"):
        return False
    return not target.is_relative_to(path.parent.resolve())


def tensor_names(path: Path) -> list[str]:
    """Names of the tensors in a safetensors file."""
    with opened(path, "numpy") as file:
        return list(file.keys())


def read_tensor(path: Path, name: str) -> NDArray[Any]:
    """One tensor as a numpy array; bfloat16 (which numpy lacks) as float32."""
    with opened(path, "numpy") as file:
        if str(file.get_slice(name).get_dtype()).lower() not in ("bf16", "bfloat16"):
            array: NDArray[Any] = file.get_tensor(name)
            return array
    with opened(path, "pt") as file:
        wide: NDArray[Any] = file.get_tensor(name).float().numpy()
        return wide


def opened(path: Path, framework: str) -> Any:
    safetensors = need("safetensors", purpose="reading safetensors")
    try:
        return safetensors.safe_open(str(path), framework=framework)
    except (OSError, safetensors.SafetensorError) as error:
        raise InputError(
            f"{path}: cannot be read as safetensors ({error}): get the whole file.", code="damaged"
        ) from error


def first_of(names: Sequence[str], wanted: Sequence[str], path: Path) -> str:
    for name in wanted:
        if name in names:
            return name
    raise InputError(
        f"{path}: one of {', '.join(wanted)} is needed, got {', '.join(names) or 'nothing'}: rename it.",
        code="incomplete",
    )


def strings_in(words: NDArray[Any], offsets: NDArray[Any] | None, path: str | Path) -> list[str]:
    """Strings from arrays as users save them: bytes with offsets, or an array of unicode or byte strings."""
    if offsets is not None:
        return unpack(words.astype(np.uint8, copy=False), offsets.astype(np.int64, copy=False), path)
    if words.dtype.kind == "U":
        return [str(word) for word in words.tolist()]
    if words.dtype.kind == "S":
        return [word.decode("utf-8") for word in words.tolist()]
    raise InputError(
        f"{path}: words must be strings, got an array of {words.dtype}: save them with np.array(words).",
        code="wrong_type",
        parameter="words",
    )
