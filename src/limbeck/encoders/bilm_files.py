"""Folders of bidirectional language models: options as JSON, weights as HDF5 (published) or safetensors (ours)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from limbeck.encoders.spelling import CHARACTERS, LONGEST
from limbeck.errors import InputError, choose
from limbeck.extras import need

OPTIONS_FILE = "options.json"
WEIGHTS_FILE = "model.safetensors"
ACTIVATIONS = ("relu", "tanh")
DIRECTIONS = ("rightward", "leftward")  #: which way the two stacks read, as their weights are named
FORGET_BIAS = 1.0  #: added by the published models' cells while they run, here part of the bias
DTYPES = {"float16": torch.float16, "float32": torch.float32}

Weights = dict[str, torch.Tensor]


@dataclass(frozen=True)
class BiLMOptions:
    """The published options of a bidirectional language model, read and checked; `dropout` is for training."""

    filters: tuple[tuple[int, int], ...]  # (width, how many)
    character_dim: int
    highways: int
    activation: str
    longest_word: int
    cells: int
    projection: int
    layers: int
    skip: bool
    cell_clip: float | None
    projection_clip: float | None
    dropout: float

    @classmethod
    def read(cls, options: Mapping[str, Any]) -> BiLMOptions:
        try:
            characters, lstm = options["char_cnn"], options["lstm"]
            known = int(characters.get("n_characters", CHARACTERS))
            read = cls(
                filters=tuple((int(width), int(number)) for width, number in characters["filters"]),
                character_dim=int(characters["embedding"]["dim"]),
                highways=int(characters.get("n_highway") or 0),
                activation=str(characters["activation"]),
                longest_word=int(characters.get("max_characters_per_token", LONGEST)),
                cells=int(lstm["dim"]),
                projection=int(lstm["projection_dim"]),
                layers=int(lstm["n_layers"]),
                skip=bool(lstm.get("use_skip_connections", False)),
                cell_clip=_limit(lstm.get("cell_clip")),
                projection_clip=_limit(lstm.get("proj_clip")),
                dropout=float(options.get("dropout") or 0.0),
            )
        except KeyError as error:
            raise InputError(
                f"The options of a biLM must have char_cnn (activation, embedding.dim, filters) and lstm (dim, "
                f"n_layers, projection_dim); {error} is missing.",
                code="incomplete",
            ) from error
        except (TypeError, ValueError, AttributeError) as error:
            raise InputError(
                f"The options of a biLM must be as ELMo's were published; got {error}.", code="malformed"
            ) from error
        if read.activation not in ACTIVATIONS:
            raise InputError(
                f"char_cnn.activation must be {' or '.join(ACTIVATIONS)}; got {read.activation!r}.",
                code="unknown_choice",
            )
        if known not in (CHARACTERS, CHARACTERS - 1):  # with NO_WORD or without it
            raise InputError(
                f"n_characters must be 261 or 262, UTF-8 bytes and marks; got {known}.", code="out_of_range"
            )
        sizes = [read.character_dim, read.cells, read.projection, *(size for pair in read.filters for size in pair)]
        limits = [limit for limit in (read.cell_clip, read.projection_clip) if limit is not None]
        if min(sizes) < 1 or read.highways < 0 or min(limits, default=1.0) <= 0 or not 0 <= read.dropout < 1:
            raise InputError(
                "The options of a biLM must have sizes of 1 or more, clips above 0 and dropout from 0 to 1; got sizes "
                f"{sizes}, {read.highways} highway layers, clips {limits} and dropout {read.dropout:g}.",
                code="out_of_range",
            )
        if read.projection > read.cells:
            raise InputError(
                f"projection_dim must not exceed dim; got {read.projection} and {read.cells}.", code="out_of_range"
            )
        widest = max((width for width, _ in read.filters), default=0)
        if not 1 <= widest <= read.longest_word or read.layers < 1:
            raise InputError(
                f"A biLM needs a layer and a filter no wider than a word; got {read.layers} layers, filters up to "
                f"{widest} wide and words of {read.longest_word} characters.",
                code="out_of_range",
            )
        return read

    @property
    def features(self) -> int:
        """What the filters give together."""
        return sum(number for _, number in self.filters)

    @property
    def widest(self) -> int:
        return max(width for width, _ in self.filters)


def is_bilm_folder(folder: Path) -> bool:
    """Whether a folder is meant as a biLM: it has options, and nothing that transformers would read."""
    return folder.is_dir() and not (folder / "config.json").is_file() and _options_file(folder) is not None


def check_folder(folder: Path) -> BiLMOptions:
    """The options of a biLM's folder, or what it lacks in one line; the weights are not read."""
    try:
        options = BiLMOptions.read(read_options(folder))
    except InputError as error:
        raise InputError(f"{folder}: {error}", code=error.code) from error
    _weights_file(folder)
    return options


def read_options(folder: Path) -> dict[str, Any]:
    """The options as they stand in the file, a dict of dicts."""
    path = _options_file(folder)
    if path is None:
        raise InputError(
            f"the folder of a biLM must have one {OPTIONS_FILE}; it has none, or several.", code="incomplete"
        )
    try:
        options = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, RecursionError, ValueError) as error:
        raise InputError(f"{path.name} must be JSON; {error}.", code="malformed") from error
    if not isinstance(options, dict):
        raise InputError(f"{path.name} must be a JSON object; got {type(options).__name__}.", code="malformed")
    return options


def read_weights(folder: Path, options: BiLMOptions) -> Weights:
    """The weights under the names that `BiLM` gives them, in float32."""
    path = _weights_file(folder)
    if path.name != WEIGHTS_FILE:
        return _read_published(path, options)
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return {name: tensor.float() for name, tensor in load_file(path).items()}
    except (OSError, SafetensorError) as error:
        raise InputError.at(path, None, f"cannot be read as safetensors ({error}).", code="damaged") from error


def check_size(folder: Path, options: BiLMOptions, weights: Weights) -> None:
    """Refuse options that ask for more than the weights are, before room is made for them."""
    characters = options.character_dim * (CHARACTERS - 1 + sum(width * number for width, number in options.filters))
    highways = options.highways * 2 * options.features**2
    least = characters + highways + options.layers * 8 * options.cells * options.projection
    there = sum(tensor.numel() for tensor in weights.values())
    if least > there:
        raise InputError(
            f"{folder}: the weights must fit the options, which ask for {least:,} numbers or more and get {there:,}: "
            "put those together that belong together.",
            code="damaged",
        )


def write_folder(folder: Path, options: Mapping[str, Any], weights: Weights, *, dtype: str) -> None:
    from safetensors.torch import save

    kept = DTYPES[choose(dtype, DTYPES, what="dtype")]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / OPTIONS_FILE).write_text(json.dumps(options, indent=2) + "\n", encoding="utf-8")
    tensors = {name: tensor.detach().to("cpu", kept).contiguous() for name, tensor in weights.items()}
    (folder / WEIGHTS_FILE).write_bytes(save(tensors))  # save_file would let nobody but the owner read it


def _options_file(folder: Path) -> Path | None:
    """options.json, or the one that carries a model's name before it, as the published ones do."""
    found = [folder / OPTIONS_FILE] if (folder / OPTIONS_FILE).is_file() else sorted(folder.glob("*_options.json"))
    return found[0] if len(found) == 1 else None


def _weights_file(folder: Path) -> Path:
    files = sorted(folder.glob(WEIGHTS_FILE)) or sorted(folder.glob("*weights.hdf5")) or sorted(folder.glob("*.hdf5"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise InputError(
            f"{folder} must have one file of weights, {WEIGHTS_FILE} or *weights.hdf5; got {names}: leave one there.",
            code="incomplete",
        )
    return files[0]


def _read_published(path: Path, options: BiLMOptions) -> Weights:
    h5py = need("h5py", purpose="Reading a biLM's weights from HDF5")
    try:
        with h5py.File(path, "r") as file:
            return dict(_published(file, options))
    except KeyError as error:
        raise InputError.at(
            path, None, f"an array of the published format is missing ({error.args[0]}).", code="incomplete"
        ) from error
    except (OSError, RuntimeError, IndexError, TypeError, ValueError) as error:
        raise InputError.at(
            path, None, f"cannot be read as the weights of a biLM ({error}).", code="damaged"
        ) from error


def _published(file: Any, options: BiLMOptions) -> Iterator[tuple[str, torch.Tensor]]:
    """The published arrays, turned and renamed. Theirs multiply from the right, ours from the left."""

    def get(name: str) -> torch.Tensor:
        return torch.from_numpy(np.asarray(file[name][...], dtype=np.float32))

    table = get("char_embed")  # (261, d): it has no row for NO_WORD
    yield "characters.table.weight", torch.cat([torch.zeros_like(table[:1]), table])
    for index in range(len(options.filters)):
        # (1, width, d, number) to (number, d, width)
        yield f"characters.filters.{index}.weight", get(f"CNN/W_cnn_{index}")[0].permute(2, 1, 0)
        yield f"characters.filters.{index}.bias", get(f"CNN/b_cnn_{index}")
    for index in range(options.highways):
        for theirs, our in (("carry", "gate"), ("transform", "transform")):
            yield f"characters.highways.{index}.{our}.weight", get(f"CNN_high_{index}/W_{theirs}").T
            yield f"characters.highways.{index}.{our}.bias", get(f"CNN_high_{index}/b_{theirs}")
    if options.features != options.projection:
        yield "characters.projection.weight", get("CNN_proj/W_proj").T
        yield "characters.projection.bias", get("CNN_proj/b_proj")
    for side, direction in enumerate(DIRECTIONS):
        for layer in range(options.layers):
            cell = f"RNN_{side}/RNN/MultiRNNCell/Cell{layer}/LSTMCell"
            ours = f"layers.{layer}.{direction}"
            both, bias = _torch_gates(get(f"{cell}/W_0").T), _torch_gates(get(f"{cell}/B"))
            bias[options.cells : 2 * options.cells] += FORGET_BIAS
            # All layers read vectors as long as those they give: the first columns are for the input.
            yield f"{ours}.weight_ih_l0", both[:, : options.projection]
            yield f"{ours}.weight_hh_l0", both[:, options.projection :]
            yield f"{ours}.bias_ih_l0", bias
            yield f"{ours}.bias_hh_l0", torch.zeros_like(bias)
            if options.projection < options.cells:
                yield f"{ours}.weight_hr_l0", get(f"{cell}/W_P_0").T


def _torch_gates(rows: torch.Tensor) -> torch.Tensor:
    """From the published order (input, new, forget, output) to torch's (input, forget, new, output)."""
    gate_in, new, forget, out = rows.chunk(4)
    return torch.cat([gate_in, forget, new, out])


def _limit(value: Any) -> float | None:
    return None if value is None else float(value)
