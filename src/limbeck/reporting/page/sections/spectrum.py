"""Spectra, and the dimensions that make most of the mean cosine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.reporting.page.folders import MEASURED, Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.read import Floats

LARGEST = 12  #: dimensions told of each layer
SHARES = ("share", "low", "high", "mean", "variance")


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each run the shares of its eigenvalues (layers × d) and its largest dimensions by layer."""
    runs = []
    for folder in folders:
        table = folder.parquet("spectra.parquet", "layer", "index", "centered") if folder.kind == MEASURED else None
        if table is None:
            continue
        layers, values = by_layer(table, "index", "centered")
        total = np.nansum(values, axis=1, keepdims=True)
        shares = np.divide(values, total, out=np.full_like(values, np.nan), where=total > 0)
        runs.append(
            {
                "run": folder.name,
                "layers": layers,
                "dim": values.shape[1],
                "shares": pack.numbers(shares),
                "largest": _largest(folder, layers),
            }
        )
    return {"title": "Spectrum and rogue dimensions", "runs": runs} if runs else None


def by_layer(table: dict[str, Any], index: str, column: str) -> tuple[list[str], Floats]:
    """A column with a row a layer and index, as (layers, d), NaN where there is none."""
    names = table["layer"].to_pylist()
    layers = list(dict.fromkeys(names))
    places = {layer: place for place, layer in enumerate(layers)}
    order = table[index].to_numpy().astype(np.int64)
    grid = np.full((len(layers), int(order.max(initial=-1)) + 1), np.nan)
    grid[[places[name] for name in names], order] = table[column].to_numpy()
    return layers, grid


def _largest(folder: Folder, layers: Sequence[str]) -> list[list[list[float]]]:
    """Of each layer rows of dimension, share, low, high, mean, variance, the largest share first."""
    table = folder.parquet("dimensions.parquet", "layer", "dimension", "share", perhaps=SHARES[1:])
    if table is None:
        return []
    grids = {column: by_layer(table, "dimension", column) for column in SHARES if column in table}
    known = grids["share"][0]
    found: list[list[list[float]]] = []
    for layer in layers:
        if layer not in known:
            found.append([])
            continue
        at = known.index(layer)
        order = np.argsort(-np.nan_to_num(grids["share"][1][at], nan=-np.inf), kind="stable")[:LARGEST]
        nothing = np.full(len(grids["share"][1][at]), np.nan)
        row = {column: grids[column][1][at] if column in grids else nothing for column in SHARES}
        found.append([[int(d), *(float(f"{row[column][d]:.5g}") for column in SHARES)] for d in order])
    return found
