"""Isotropy by number of clusters, layer by layer, on kept occurrences."""

from __future__ import annotations

from typing import Any

import torch

from limbeck.measures.isotropy import log10_isotropy_of
from limbeck.measures.local import local_isotropy, mean_cosine_of
from limbeck.runs.measuring.results import Measured
from limbeck.stream.progress import Progress

CLUSTERS = (0, 1, 3, 6, 9, 20)  #: of Rajaee & Pilehvar (2021, Table 1); 0 is the space as it is
SEEDS = 5
COLUMNS = ("layer", "clusters", "log10_isotropy", "log10_isotropy_one_sign", "mean_cosine", "spread", "n", "note")


def local_table(measured: Measured, *, most: int, seed: int = 0, progress: bool = False) -> dict[str, list[Any]]:
    """Isotropy when clusters are put on the origin, a row a layer and number of clusters (0: nothing is moved)."""
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    points = measured.points
    some = points.order[:most]
    if not len(some):
        return columns
    sampled = f"sample of {len(some)} of {points.seen} occurrences" if len(some) < points.seen else ""
    with Progress("isotropy by cluster", total=len(measured.layers), unit="layers", show=progress) as bar:
        for number, layer in enumerate(measured.layers):
            x = torch.from_numpy(points.layer(number)[some])
            for clusters in CLUSTERS:
                if clusters:
                    found = local_isotropy(x, clusters=clusters, seeds=SEEDS, seed=seed)
                    values, note = (found.value, found.one_sign, found.mean_cosine, found.spread), str(found.note)
                else:
                    both, note = log10_isotropy_of(x)
                    values = (*both, mean_cosine_of(x)[0], 0.0)
                told = "; ".join(filter(None, (note, sampled)))
                for column, value in zip(columns.values(), (layer, clusters, *values, len(x), told), strict=True):
                    column.append(value)
            bar.advance(1)
    return columns
