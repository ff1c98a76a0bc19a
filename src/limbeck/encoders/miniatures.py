"""The models that come with limbeck: their names and folders, and what is known of them without loading one."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from limbeck.errors import InputError

#: name -> what kind of model it is
KINDS = {
    "mini-bert": "masked transformer",
    "mini-gpt2": "causal transformer",
    "mini-elmo": "LSTMs from both sides",
}
MINIATURES = tuple(KINDS)
LICENCE = "CC BY-SA 3.0"  #: of the weights, as of the text that they were trained on


@dataclass(frozen=True)
class Miniature:
    """What a miniature's own files tell of it.

    width       dimensions of a vector at every layer
    parameters  all that are saved: tied weights count once
    size        bytes of its folder
    figures     measured on held-out text; empty where they have not been
    """

    name: str
    kind: str
    layers: int
    width: int
    parameters: int
    size: int
    figures: Mapping[str, Any]
    licence: str = LICENCE


def is_miniature(source: str | Path) -> bool:
    """Whether a source names a miniature. A Path, or a name with a separator ("./mini-bert"), means a folder.

    >>> is_miniature("mini-bert"), is_miniature("./mini-bert")
    (True, False)
    """
    return isinstance(source, str) and source in KINDS


def refuse_misspelt(source: object, *, parameter: str = "model") -> None:
    """Refuse what is nearly a miniature's name: the hub has no such name, and takes its time to say so.

    >>> refuse_misspelt("mini-bert"), refuse_misspelt("gpt2"), refuse_misspelt("somebody/mini-brt")
    (None, None, None)
    """
    if not isinstance(source, str) or "/" in source or source in KINDS or Path(source).exists():
        return
    for name in get_close_matches(source.lower(), MINIATURES, n=1, cutoff=0.8):
        hint = f"did you mean {name}?"
        raise InputError(
            f"There is no model or folder {source}: {hint}", code="not_found", parameter=parameter, hint=hint
        )


def miniature_folder(name: str) -> Path:
    """Where a miniature lies."""
    return Path(str(files("limbeck").joinpath("data", "miniatures", name)))


def read_miniature(name: str) -> Miniature:
    """A miniature's facts, read from its files without torch."""
    folder = miniature_folder(name)
    layers, width = _shape(folder)
    figures = folder.parent / "figures.json"
    return Miniature(
        name=name,
        kind=KINDS[name],
        layers=layers,
        width=width,
        parameters=_count_parameters(folder / "model.safetensors"),
        size=sum(file.stat().st_size for file in folder.iterdir()),
        figures=_read(figures).get(name, {}) if figures.is_file() else {},
    )


def _shape(folder: Path) -> tuple[int, int]:
    """Layers above the input, and dimensions."""
    if (options := folder / "options.json").is_file():
        lstm = _read(options)["lstm"]
        return lstm["n_layers"], 2 * lstm["projection_dim"]  # both directions side by side
    config = _read(folder / "config.json")
    if config["model_type"] == "gpt2":
        return config["n_layer"], config["n_embd"]
    return config["num_hidden_layers"], config["hidden_size"]


def _count_parameters(weights: Path) -> int:
    """From the head of a safetensors file: its length in 8 bytes, then JSON with every tensor's shape."""
    with weights.open("rb") as file:
        head = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    return sum(math.prod(tensor["shape"]) for name, tensor in head.items() if name != "__metadata__")


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found
