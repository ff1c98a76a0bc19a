"""Repairs by layer in a folder: a file a layer, each of which says what it was fitted on."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from limbeck.errors import InputError
from limbeck.places import NEEDED_REPAIR, missing_run
from limbeck.repairs.files import load, read_about, save

FOLDER = "repairs"  #: of a run folder
SUFFIX = ".safetensors"


def save_repairs(folder: Path, repairs: Mapping[str, Any], *, about: Mapping[str, Any] | None = None) -> None:
    """FOLDER/LAYER.safetensors for each layer; `about` stands in each, beside the layer's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for layer, repair in repairs.items():
        save(repair, folder / f"{quote(layer, safe=' ')}{SUFFIX}", about={**(about or {}), "layer": layer})


def load_repairs(path: str | Path, *, model: str | None = None, model_fingerprint: object = None) -> Any:
    """What `--repair` names: {layer: repair} of a folder, or of a file that says of which layer it is; else the one
    repair of a file, for every layer.

    A folder is that of a run of `limbeck repair`, or its `repairs`. Repairs that say that they were fitted on another
    model are refused: by its fingerprint where both are known, else by its name.
    """
    path = Path(path).expanduser()
    if path.is_file():
        layer = _check_model(path, model, model_fingerprint).get("layer")
        return load(path) if layer is None else {str(layer): load(path)}
    files = sorted((path / FOLDER if (path / FOLDER).is_dir() else path).glob(f"*{SUFFIX}"))
    if not files:
        raise missing_run(path, NEEDED_REPAIR, "no repair is there: check the path", parameter="repair")
    found = {}
    for file in files:
        layer = _check_model(file, model, model_fingerprint).get("layer")
        if layer is None:
            raise InputError(
                f"{file}: it does not say of which layer it is: name the file itself, for all layers.",
                code="ambiguous",
                parameter="layer",
            )
        found[str(layer)] = load(file)
    return found


def read_about_repairs(path: str | Path) -> dict[str, Any]:
    """What the files of a repair say of all of them: fitted on which vectors, and how."""
    place = Path(path).expanduser()
    folder = place / FOLDER if (place / FOLDER).is_dir() else place
    about = read_about(place if place.is_file() else next(folder.glob(f"*{SUFFIX}")))
    return {name: value for name, value in about.items() if name != "layer"}


def units_of(path: str | Path) -> dict[str, Any]:
    """What the files of a repair say that its vectors were of: words or pieces, special tokens among them or not."""
    about = read_about_repairs(path).get("units")
    found = dict(about) if isinstance(about, Mapping) else {}
    if found.get("units") != "words":
        found.pop("pooling", None)  # pieces are not pooled
    return found


def _check_model(file: Path, model: str | None, fingerprint: object) -> dict[str, Any]:
    """What a file says of itself, unless it was fitted on another model."""
    about = read_about(file)
    known = about.get("model_fingerprint")
    if known is not None and fingerprint is not None:
        if known != fingerprint:
            other = "another model of that name" if about.get("model") == model else model
            raise InputError(
                f"{file}: a repair is of the model it was fitted on, {about.get('model')}; got {other}: fit one on its "
                "vectors.",
                code="other_model",
            )
    elif model is not None and about.get("model", model) != model:
        raise InputError(
            f"{file}: a repair is of the model it was fitted on, {about['model']}; got {model}: fit one on its "
            "vectors.",
            code="other_model",
        )
    return about
