"""What the files of a model's folder name and promise, checked before a library opens or fills anything.

A name in a file must be that of a neighbor, a link must not lead out of the folder, and the sizes in config.json must
be those of the weights.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limbeck.errors import InputError, LimbeckError
from limbeck.extras import need
from limbeck.vectors.arrays import leads_out, neighbor, opened, read_json
from limbeck.vectors.damaged import told_as_damage

Shapes = dict[str, tuple[int, ...]]

#: what readers of models and of folders of vectors open, and where
FILES = ("*.json", "*.safetensors", "*.bin", "*.txt", "*.model", "*.gguf", "*.tiktoken", "*.hdf5", "vectors", "key2row")
PLACES = (".", "vocab", "0_StaticEmbedding")
#: keys of configs whose value is the name of a file, or a list of them
NAMING = ("transformers_weights", "configuration_files", "fast_tokenizer_files")
#: tokenizers are saved with the path that it had, which is read by nobody
IDLE = ("special_tokens_map_file",)
#: keys of config.json that say how often something is repeated, which costs time before any weight is looked at
COUNTS = re.compile(r"(.*_)?(n?layers?|depth|blocks|groups|group_num|experts)|num_labels")
MOST = {"num_labels": 1_000_000}
MOST_LAYERS = 10_000  #: ten times as many as the deepest model that is known
SAFE, TORCH = "model.safetensors", "pytorch_model.bin"


#: keys of config.json that tell the number of layers
LAYER_NUMBERS = {"num_hidden_layers", "n_layer", "n_layers"}


def check_links(folder: Path) -> None:
    """Refuse a folder of which a file is a link that leads out of it."""
    for place in (folder / name for name in PLACES):
        found = [path for pattern in FILES for path in place.glob(pattern)]
        for path in found if place == folder else (place, *found):
            if leads_out(path):
                raise InputError(
                    f"{path}: must not be a link that leads out of its folder: copy the file there.",
                    code="outside_folder",
                )


def check_folder(folder: Path) -> None:
    """Refuse a folder whose files name or lead to others outside, or whose config.json counts beyond all models."""
    check_links(folder)
    for index in folder.glob("*.index.json"):
        _named_by(index)
    for path in (*folder.glob("config*.json"), folder / "tokenizer_config.json"):
        if path.is_file():
            with told_as_damage(path, "a model's settings"):
                _check_settings(path, read_json(path))


def _check_settings(path: Path, told: Any) -> None:
    if not isinstance(told, dict):
        raise InputError(f"{path}: must be a JSON object, got {type(told).__name__}: get it again.", code="malformed")
    for key in NAMING:
        value = told.get(key)
        for name in value if isinstance(value, list) else [value] * (value is not None):
            neighbor(name, path)
    named = [value for key, value in told.items() if key.endswith("_file") and key not in IDLE]
    given = told.get("init_inputs")
    for name in (*named, *(given if isinstance(given, list) else ())):
        # paths of the machine where it was made are common and do no harm, as long as nothing is there
        if isinstance(name, str) and 0 < len(name) < 4096 and Path(name).is_file():
            place = Path(name).resolve()
            if place.parent != path.parent.resolve():
                raise InputError(
                    f"{path}: a file that it names must lie beside it, got {name[:80]!r}: take it out.",
                    code="outside_folder",
                )
    if path.name.startswith("config"):
        for key in LAYER_NUMBERS & told.keys():
            value = told[key]
            if isinstance(value, bool) or not (isinstance(value, int) or (isinstance(value, float) and value % 1 == 0)):
                raise InputError(
                    f"{path}: {key} must be a whole number, got {json.dumps(value)[:40]}: get it again.",
                    code="wrong_type",
                )
        for key, value in _numbers(told):
            most = MOST.get(key, MOST_LAYERS)
            if COUNTS.fullmatch(key) and value > most:
                raise InputError(
                    f"{path}: {key} must be at most {most:,}, got {value:.6g}: get the model again.", code="too_large"
                )


def _numbers(told: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    for key, value in told.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield key, value


def _named_by(index: Path) -> dict[str, Path]:
    """{name of a tensor: file it is in} of an index."""
    with told_as_damage(index, "an index of weights"):
        return {name: neighbor(file, index) for name, file in read_json(index)["weight_map"].items()}


def weight_places(folder: Path) -> dict[str, Path]:
    """{name of a tensor: file it is in}, empty where the folder has no safetensors."""
    index = folder / f"{SAFE}.index.json"
    if index.is_file():
        return _named_by(index)
    single = folder / SAFE
    return dict.fromkeys(_shapes_in(single), single) if single.is_file() else {}


def weight_shapes(folder: Path) -> Shapes:
    """{name of a tensor: its shape} of the weights that transformers would read; no number of them is read."""
    config = read_json(folder / "config.json")
    names = [named] if (named := config.get("transformers_weights")) else [SAFE, f"{SAFE}.index.json"]
    names += [TORCH, "pytorch_model.bin.index.json"]
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        return {}
    files = sorted(set(_named_by(path).values())) if path.name.endswith(".index.json") else [path]
    shapes: Shapes = {}
    for file in files:
        shapes |= _shapes_in(file)
    return shapes


def _shapes_in(path: Path) -> Shapes:
    if path.suffix != ".bin":
        with opened(path, "numpy") as file:
            return {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    torch: Any = need("torch", purpose="Reading weights")
    found = torch.load(path, map_location="meta", weights_only=True)
    return {name: tuple(tensor.shape) for name, tensor in found.items()}


class _Beyond(LimbeckError):
    """The model has more parts than there are weights for."""


def check_sizes(folder: Path, *, trust_remote_code: bool = False) -> None:
    """Refuse a config.json with more or fewer layers, or other sizes, than the weights have.

    The model is built without any memory for its weights, and only as far as the weights there are could fill it.
    """
    transformers: Any = need("transformers", purpose="Loading a model")
    torch: Any = need("torch", purpose="Loading a model")
    try:
        shapes = weight_shapes(folder)
        if not shapes:
            return
        config = transformers.AutoConfig.from_pretrained(
            str(folder), local_files_only=True, trust_remote_code=trust_remote_code
        )
        with torch.random.fork_rng(devices=[]), torch.device("meta"), _at_most(2 * len(shapes) + 1000):
            model = transformers.AutoModel.from_config(config, trust_remote_code=trust_remote_code)
    except _Beyond as error:
        raise InputError(
            f"{folder / 'config.json'}: must describe the model of the weights, which are {len(shapes):,} tensors, got "
            "one of many more: use the config.json and the weights of one model.",
            code="damaged",
        ) from error
    except Exception:  # anything, of files that are no model's: it is told when the model is loaded
        return
    check_layers(folder, model, shapes)
    if getattr(config, "quantization_config", None) is None:
        _check_shapes(folder, model, shapes)


@contextmanager
def _at_most(number: int) -> Iterator[None]:
    """Stop the making of a model at so many parameters."""
    module: Any = need("torch.nn.modules.module", purpose="Loading a model")
    left = number

    def count(*_: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise _Beyond(f"more than {number} parameters", code="too_large")

    hook = module.register_module_parameter_registration_hook(count)
    try:
        yield
    finally:
        hook.remove()


def check_layers(folder: Path, model: Any, names: Iterable[str], *, fewer: bool = True) -> None:
    """Refuse weights, known by their names, of which a list of the model's layers is longer, or is `fewer` than it."""
    torch: Any = need("torch", purpose="Loading a model")
    passed = [re.compile(pattern) for pattern in getattr(model, "_keys_to_ignore_on_load_unexpected", None) or ()]
    there: dict[str, int] = {}
    for name in names:
        if any(pattern.search(name) for pattern in passed):
            continue  # layers that this family is known to leave aside, as those that predict several tokens
        for match in re.finditer(r"\.(\d{1,9})(?=\.)", name):
            path = name[: match.start()]
            there[path] = max(there.get(path, 0), int(match[1]) + 1)
    for path, module in model.named_modules():
        found = next((there[name] for name in _names(model, path) if name in there), None)
        if found is None or not isinstance(module, torch.nn.ModuleList):
            continue
        filled = max((at + 1 for at, layer in enumerate(module) if layer.state_dict()), default=0)
        if found > filled or (fewer and found < filled):
            raise InputError(
                f"{folder / 'config.json'}: must tell the number of layers that the weights have, {found} of {path}, "
                f"got {filled}: use the config.json and the weights of one model.",
                code="damaged",
            )


def _check_shapes(folder: Path, model: Any, shapes: Shapes) -> None:
    for name, tensor in model.state_dict().items():
        shape = next((shapes[one] for one in _names(model, name) if one in shapes), None)
        if shape is not None and math.prod(shape) != tensor.numel():
            raise InputError(
                f"{folder / 'config.json'}: must tell the sizes that the weights have, {name} is {shape}, got "
                f"{tuple(tensor.shape)}: use the config.json and the weights of one model.",
                code="damaged",
            )
    there = sum(map(math.prod, shapes.values()))
    wanted = sum(parameter.numel() for parameter in model.parameters())
    if wanted > 2 * there + 1_000_000:  # a pooler may be made up, and little else
        raise InputError(
            f"{folder / 'config.json'}: must describe the model of the weights, which are {there:,} numbers, got one "
            f"of {wanted:,}: use the config.json and the weights of one model.",
            code="damaged",
        )


def _names(model: Any, name: str) -> tuple[str, ...]:
    """What a part of a model is called in its weights, saved with a head or without one."""
    prefix = str(getattr(model, "base_model_prefix", "") or "")
    return (f"{prefix}.{name}", name) if prefix else (name,)
