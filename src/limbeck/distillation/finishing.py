"""What is done to vectors once they are distilled: repair, fewer dimensions, frequency weights."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.distillation.axes import principal_axes
from limbeck.distillation.settings import DistillSettings
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.vectors.sentences import sif_weights

Floats = NDArray[np.float64]


def check_repair(text: str | None) -> None:
    """Refuse a repair that could not be made, before anything dear is done."""
    if text is not None and not Path(text).expanduser().exists():
        from limbeck.repairs.methods import parse_repair  # scikit-learn is an extra

        parse_repair(text, option="--repair")


def finish(
    matrix: NDArray[Any],
    *,
    seen: NDArray[np.bool_],
    counts: NDArray[np.int64],
    total: int,
    settings: DistillSettings,
    layer: str,
    model: str | None = None,
    model_fingerprint: object = None,
) -> tuple[NDArray[np.float32], list[dict[str, Any]]]:
    """The finished vectors (words, d), and what was done, step by step.

    Everything is fitted on the words that the text has (`seen`), where there are some, and done to all: vectors from
    a frame are of another kind and fewer. `total` is the number of words of the text, which counts are a share of.
    """
    x: Floats = np.asarray(matrix, dtype=np.float64)
    fit_on = seen if seen.any() else np.ones(len(x), dtype=bool)
    steps: list[dict[str, Any]] = []
    if settings.repair is not None:
        x, told = repaired(x, fit_on, settings, layer, model, model_fingerprint)
        steps.append(told)
    if settings.dim is not None:
        x, told = reduced(x, fit_on, settings.dim)
        steps.append(told)
    if settings.weighting == "sif":
        x = x * sif_weights(counts, total, settings.sif)[:, None]
        steps.append({"step": "weighting", "kind": "sif", "a": settings.sif, "of_words": total})
    return x.astype(np.float32), steps


def repaired(
    x: Floats,
    fit_on: NDArray[np.bool_],
    settings: DistillSettings,
    layer: str,
    model: str | None,
    model_fingerprint: object,
) -> tuple[Floats, dict[str, Any]]:
    """Repaired by a method fitted on these very words, or by what a file or folder holds, fitted on a text."""
    from limbeck.repairs.files import describe
    from limbeck.repairs.fitting import fit_matrix
    from limbeck.repairs.folders import load_repairs
    from limbeck.repairs.methods import name_of, parse_repair

    assert settings.repair is not None
    path = Path(settings.repair).expanduser()
    if path.exists():
        repair = load_repairs(path, model=model, model_fingerprint=model_fingerprint)
        if isinstance(repair, dict):
            if layer not in repair:
                raise UsageError(
                    f"{path}: the repairs are those of layers {', '.join(repair)}, got {layer}.",
                    code="other_layers",
                    parameter="repair",
                )
            repair = repair[layer]
    else:
        if fit_on.sum() < 2:
            raise LimbeckError(
                "--repair needs two words or more to be fitted on, and there is one: give more words, or the file of a "
                "repair that was fitted on others.",
                code="too_few",
                parameter="repair",
            )
        repair = fit_matrix(x[fit_on], parse_repair(settings.repair, seed=settings.seed, option="--repair"))
    told = {"step": "repair", "method": name_of(repair), "steps": describe(repair), "from": settings.repair}
    return np.asarray(repair.transform(x), dtype=np.float64), told


def reduced(x: Floats, fit_on: NDArray[np.bool_], dim: int) -> tuple[Floats, dict[str, Any]]:
    """The first principal components of centered vectors."""
    if dim > x.shape[1]:
        raise UsageError(
            f"--dim must be at most the vectors' own {x.shape[1]} dimensions; got {dim}.",
            code="out_of_range",
            parameter="dim",
        )
    if int(fit_on.sum()) <= dim:
        raise LimbeckError(
            f"{dim} principal components need more than {dim} words; there are {int(fit_on.sum())}: lower --dim, or "
            "--min-count.",
            code="too_few",
            parameter="dim",
        )
    mean = x[fit_on].mean(axis=0)
    centered = x[fit_on] - mean
    axes, values = principal_axes(centered.T @ centered, dim)
    share = float(values[:dim].sum() / values.sum()) if values.sum() > 0 else 1.0
    return (x - mean) @ axes, {"step": "pca", "dim": dim, "of": x.shape[1], "variance": round(share, 6)}


def check_finite(matrix: NDArray[Any], words: Sequence[str]) -> None:
    """Refuse vectors that no cosine is defined for."""
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise InputError(
            f"vectors must be finite; {words[int(bad[0])]!r} has NaN or infinity ({len(bad)} such in all): try a wider "
            "dtype, or another repair.",
            code="not_finite",
        )
