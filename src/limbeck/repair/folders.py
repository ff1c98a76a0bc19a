"""Repairs by layer in a folder: a file a layer, each of which says what it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from limbeck.errors import InputError
from limbeck.repair.files import load, read_about, save

FOLDER = "repairs"  #: of a run folder
SUFFIX = ".safetensors"


def save_repairs(folder: Path, repairs: Mapping[str, Any], *, about: Mapping[str, Any] | None = None) -> None:
    """FOLDER/LAYER.safetensors for each layer; `about` stands in each, beside the layer's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for layer, repair in repairs.items():
        save(repair, folder / f"{quote(layer, safe=' ')}{SUFFIX}", about={**(about or {}), "layer": layer})


def load_repairs(path: str | Path, *, model: str | None = None) -> Any:
    """What `--repair` names: the one repair of a file, or {layer: repair} of a folder.

    A folder is that of a run of `limbeck repair`, or its `repairs`. With `model`, repairs that say that they were
    fitted on another one are refused.
    """
    path = Path(path).expanduser()
    if path.is_file():
        _check_model(path, model)
        return load(path)
    files = sorted((path / FOLDER if (path / FOLDER).is_dir() else path).glob(f"*{SUFFIX}"))
    if not files:
        raise InputError(
            f"{path}: a fitted repair is needed, or the folder of a run of `limbeck repair`; nothing of the kind is "
            "there: check the path."
        )
    found = {}
    for file in files:
        layer = _check_model(file, model).get("layer")
        if layer is None:
            raise InputError(f"{file}: it does not say of which layer it is: name the file itself, for all layers.")
        found[str(layer)] = load(file)
    return found


def _check_model(file: Path, model: str | None) -> dict[str, Any]:
    """What a file says of itself, unless it was fitted on another model."""
    about = read_about(file)
    if model is not None and about.get("model", model) != model:
        raise InputError(
            f"{file}: a repair is of the model it was fitted on, {about['model']}; got {model}: fit one on its vectors."
        )
    return about
