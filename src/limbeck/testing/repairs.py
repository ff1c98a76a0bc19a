"""The laws of repairs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.seeds import generator_for
from limbeck.testing.laws import EXACT, BrokenLaw, Found


def check_repair(make: Callable[[], Any], *, dim: int = 6, seed: int = 0) -> None:
    """Check the laws of repairs on made vectors; `make` returns a fresh repair that is not fitted.

    It is to be a subclass of `limbeck.repairs.Repair`. Beside these laws stand scikit-learn's own
    (`sklearn.utils.estimator_checks.check_estimator`).
    """
    generator = generator_for(seed, "testing", "repairs")
    x = generator.normal(size=(90, dim)) * generator.uniform(0.2, 3.0, size=dim) + generator.normal(size=dim)
    new = generator.normal(size=(40, dim)) * 2.0
    who = f"The repair {type(make()).__name__!r}"
    wanted = make().fit(x.copy()).transform(new.copy())  # what fails without any law fails here, as it is
    for law, compare in REPAIR_LAWS.items():
        try:
            for where, got, expected in compare(make, x, new, wanted):
                scale = max(float(np.abs(expected).max(initial=0.0)), 1.0)
                if got.shape != expected.shape or not np.isfinite(got).all():
                    raise Found(f"{where}, shape {got.shape} and finite or not, it should be {expected.shape}, finite")
                if not np.abs(got - expected).max(initial=0.0) <= REPAIR_NOISE.get(law, EXACT) * scale:
                    raise Found(f"{where}, the vectors are not the same")
        except Found as found:
            raise BrokenLaw(who, law, str(found)) from found.__cause__
        except Exception as error:
            raise BrokenLaw(who, law, f"{type(error).__name__} was raised ({error})") from error


Array = NDArray[Any]
Repaired = Iterator[tuple[str, Array, Array]]  # where, vectors that were got, vectors that were wanted


def _rows_left_alone(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    fitted, applied = x.copy(), new.copy()
    repair = make().fit(fitted)
    repair.transform(applied)
    yield "after fit", fitted, x
    yield "after transform", applied, new
    fitted *= -3.0
    yield "after the rows of the fit were overwritten", repair.transform(new), wanted
    if hasattr(repair, "partial_fit"):
        batch = x.copy()
        streamed = make().partial_fit(batch)
        batch *= -3.0
        yield "after a batch was overwritten", streamed.transform(new), make().partial_fit(x).transform(new)


def _one_by_one(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    repair = make().fit(x)
    yield "row by row", np.concatenate([repair.transform(row[None]) for row in new]), wanted


def _batches_of_rows(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    if not hasattr(make(), "partial_fit"):
        return
    whole = make().partial_fit(x).transform(new)
    for sizes in ([1, 30, 59], [45, 45]):
        repair = make()
        for rows in np.split(x, np.cumsum(sizes)[:-1]):
            repair.partial_fit(rows)
        yield f"in batches of {sizes}", repair.transform(new), whole


def _tensors_alike(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    repaired = make().fit(torch.from_numpy(x)).transform(torch.from_numpy(new))
    if not isinstance(repaired, torch.Tensor):
        raise Found(f"a tensor became {type(repaired).__name__}")
    yield "fitted on tensors", repaired.numpy(), wanted


def _module_alike(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    module = make().fit(x).as_torch()
    yield "in float64", module(torch.from_numpy(new)).numpy(), wanted
    yield "in float32", module(torch.from_numpy(new.astype(np.float32))).numpy(), wanted
    yield "with more axes", module(torch.from_numpy(new).reshape(4, 10, -1)).reshape(40, -1).numpy(), wanted


def _file_and_back(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    from limbeck.repairs import load  # scikit-learn is an extra

    with tempfile.TemporaryDirectory() as folder:
        make().fit(x).save(Path(folder) / "repair.safetensors")
        yield "after a file", load(Path(folder) / "repair.safetensors").transform(new), wanted


def _degenerate(make: Callable[[], Any], x: Array, new: Array, wanted: Array) -> Repaired:
    for what, rows in {
        "one row": x[:1],
        "equal rows": np.repeat(x[:1], 5, axis=0),
        "zero rows": np.zeros_like(x),
        "fewer rows than dimensions": x[:3],
        "a constant dimension": np.where(np.arange(x.shape[1]) == 1, 0.1, x),
        "one direction": x[:, :1] * np.ones(x.shape[1]),
    }.items():
        repaired = make().fit(rows).transform(np.concatenate([rows, new]))
        if not np.isfinite(repaired).all():
            raise Found(f"{what} gave NaN or infinity")
        yield f"on {what}", repaired, repaired


REPAIR_LAWS: dict[str, Callable[[Callable[[], Any], Array, Array, Array], Repaired]] = {
    "rows are neither changed nor kept": _rows_left_alone,
    "rows are repaired one by one": _one_by_one,
    "any batches give the same fit": _batches_of_rows,
    "tensors are repaired like arrays": _tensors_alike,
    "the torch module does what transform does": _module_alike,
    "file and back changes nothing": _file_and_back,
    "degenerate input has a defined result": _degenerate,
}
#: law -> part of the largest number by which the vectors may differ, where it is not EXACT
REPAIR_NOISE = {"the torch module does what transform does": 1e-6}
