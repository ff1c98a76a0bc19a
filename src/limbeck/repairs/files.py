"""Fitted repairs, and chains of them, in safetensors files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save as to_bytes
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from limbeck.errors import InputError, LimbeckError, choose
from limbeck.repairs.repair import Repair, chain_of
from limbeck.state import State, atomic

FORMAT = 2
KEY = "limbeck_repair"  #: the entry of a safetensors file's metadata that says what the arrays are


def steps_of(repair: Any) -> list[tuple[str, Repair]]:
    """The fitted repairs of a chain in order, with their names; see `chain_of`."""
    steps = chain_of(repair)
    for _, step in steps:
        check_is_fitted(step)
    return steps


def as_torch(repair: Any) -> torch.nn.Module:
    """A fitted repair or a Pipeline of repairs as one torch module; see `Repair.as_torch`."""
    modules = [step.as_torch() for _, step in steps_of(repair)]
    return modules[0] if isinstance(repair, Repair) else torch.nn.Sequential(*modules)


def save(repair: Any, path: str | Path, *, about: Mapping[str, Any] | None = None) -> None:
    """Write a fitted repair, or a Pipeline of repairs, to a safetensors file.

    The metadata's `limbeck_repair` is JSON: the format, whether it is a chain, and of each step its name, class and
    parameters; under `about` what you have to say of it, which `read_about` gives back. The arrays of step i are named
    `i.mean_` and so on.
    """
    arrays, steps = _parts(repair)
    told: dict[str, Any] = {"format": FORMAT, "chain": isinstance(repair, Pipeline), "steps": steps}
    if about:
        told["about"] = dict(about)
    with atomic(Path(path)) as temporary:
        temporary.write_bytes(to_bytes(arrays, metadata={KEY: json.dumps(told, sort_keys=True)}))


def fingerprint_of(repair: Any) -> str:
    """Changes whenever a fitted repair, or a Pipeline of them, would do something else."""
    arrays, steps = _parts(repair)
    digest = hashlib.blake2b(json.dumps(steps, sort_keys=True).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(f"{name} {array.dtype} {array.shape}".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def describe(repair: Any) -> list[dict[str, Any]]:
    """Class and parameters of each step, without arrays."""
    return [{"class": step["class"], "params": step["params"]} for step in _parts(repair)[1]]


def _parts(repair: Any) -> tuple[State, list[dict[str, Any]]]:
    """The arrays of all steps, and what else is to be known of each."""
    arrays: State = {}
    steps = []
    for number, (name, step) in enumerate(steps_of(repair)):
        params = {}
        for key, value in step.get_params(deep=False).items():
            if isinstance(value, np.ndarray | torch.Tensor | list | tuple):  # centers that were given
                tensor = torch.as_tensor(value, dtype=torch.float64, device="cpu")
                arrays[f"{number}.{key}"] = np.ascontiguousarray(tensor.detach().numpy())
            else:
                params[key] = value.item() if isinstance(value, np.generic) else value
        for key in step.learned:
            arrays[f"{number}.{key}"] = np.ascontiguousarray(getattr(step, key))
        names = getattr(step, "feature_names_in_", None)
        steps.append(
            {
                "name": name,
                "class": type(step).__name__,
                "params": params,
                "features": int(step.n_features_in_),
                "feature_names": None if names is None else [str(n) for n in names],
            }
        )
    return arrays, steps


def load(path: str | Path) -> Any:
    """Read what `save` wrote: a fitted repair, or a Pipeline of them."""
    path = Path(path)
    arrays, about = _read(path)
    try:
        steps = [(told["name"], _restored(told, number, arrays)) for number, told in enumerate(about["steps"])]
        return Pipeline(steps) if about["chain"] else steps[0][1]
    except LimbeckError as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: {error}", code=error.code, parameter=error.parameter) from error
    except (KeyError, TypeError, ValueError, IndexError, RuntimeError, AttributeError) as error:
        raise _damaged(path, error) from error


def read_about(path: str | Path) -> dict[str, Any]:
    """What was said of a repair when it was saved: of what model, text and layer it is. Nothing is nothing said."""
    told: dict[str, Any] = _read(Path(path), arrays=False)[1].get("about", {})
    return told


def _read(path: Path, *, arrays: bool = True) -> tuple[State, dict[str, Any]]:
    """The arrays of a file, and its metadata, checked as far as its format."""
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            found = {name: file.get_tensor(name) for name in file.keys()} if arrays else {}  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        raise InputError(
            f"{path}: a safetensors file is needed, and this cannot be read as one ({error}).", code="other_kind"
        ) from error
    if KEY not in metadata:
        raise InputError(
            f"{path}: a file of a fitted repair is needed; this safetensors file holds something else.",
            code="other_kind",
        )
    try:
        about: dict[str, Any] = json.loads(metadata[KEY])
        if about["format"] != FORMAT:
            raise InputError(
                f"{path}: repair format {about['format']}, this limbeck reads {FORMAT}: fit it again.",
                code="other_format",
            )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    return found, about


def _damaged(path: Path, error: Exception) -> InputError:
    told = str(error).partition("\n")[0]
    return InputError(f"{path}: the file is damaged, its parts do not fit together ({told}).", code="damaged")


def _restored(told: dict[str, Any], number: int, arrays: State) -> Repair:
    kind = Repair.kinds[choose(told["class"], Repair.kinds, what="a repair's class")]
    own = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{number}.")}
    repair = kind(**told["params"], **{name: array for name, array in own.items() if name not in kind.learned})
    for name in kind.learned:
        if not np.isfinite(own[name]).all():
            raise ValueError(f"{name} is not finite")
        setattr(repair, name, own[name])
    repair.n_features_in_ = told["features"]
    repair.as_torch()(torch.zeros(1, repair.n_features_in_))  # arrays of shapes that do not fit fail here
    if told["feature_names"] is not None:
        repair.feature_names_in_ = np.array(told["feature_names"], dtype=object)
    return repair
