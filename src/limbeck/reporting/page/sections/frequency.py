"""Means over words by frequency band, layer by layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.reporting.page.folders import MEASURED, Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded

MEASURES = {
    "self_similarity": "Self-similarity",
    "mev": "Maximum explainable variance",
    "mev_centered": "MEV, centred",
    "mev_truncated_svd": "MEV, as released",
}


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each run its bands, and of each measure (layers × bands), null where a layer has none."""
    runs = []
    for folder in folders:
        table = folder.table("frequency.csv", "layer", "from", "below", "words") if folder.kind == MEASURED else None
        if table is None or not table["layer"]:
            continue
        layers = list(dict.fromkeys(table["layer"]))
        bands = sorted({(int(low), int(high)) for low, high in zip(table["from"], table["below"], strict=True)})
        row = [layers.index(layer) for layer in table["layer"]]
        column = [bands.index((int(a), int(b))) for a, b in zip(table["from"], table["below"], strict=True)]
        words = dict(zip(column, map(int, table["words"]), strict=True))
        values = {}
        for measure in MEASURES:
            if measure in table:
                grid = np.full((len(layers), len(bands)), np.nan)
                grid[row, column] = numbers(table[measure])
                if np.isfinite(grid).any():
                    values[measure] = [rounded(line) for line in grid]
        runs.append(
            {
                "run": folder.name,
                "layers": layers,
                "bands": [list(band) for band in bands],
                "words": [words[place] for place in range(len(bands))],
                "values": values,
            }
        )
    measures = [name for name in MEASURES if any(name in run["values"] for run in runs)]
    if not measures:
        return None
    return {"title": "By frequency", "measures": [[name, MEASURES[name]] for name in measures], "runs": runs}
