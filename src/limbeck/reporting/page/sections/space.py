"""Occurrences in the plane, coloured by frequency; of repairs the space before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.reporting.page.folders import MEASURED, Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.page.tables import tables_of
from limbeck.reporting.read import Floats
from limbeck.reporting.space import AFTER, BEFORE
from limbeck.tables import read_csv

LOCAL = "local"  #: isotropy when so many clusters are put on the origin


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Panels: word, sentence, frequency of each point, and (layers, points, 2) places."""
    repaired = [folder for folder in folders if folder.kind == "repair" and folder.file("space.parquet")]
    inside = {(folder.path / part).resolve() for folder in repaired for part in (BEFORE, AFTER)}
    names = {folder.path.resolve(): folder.name for folder in folders if folder.kind == MEASURED}
    panels: list[dict[str, Any]] = []
    for folder in folders:
        if folder in repaired:
            panels += _before_and_after(folder, pack, names)
        elif folder.kind == MEASURED and folder.path.resolve() not in inside and folder.file("sample.parquet"):
            panels.append(_measured(folder, pack))
    panels = [panel for panel in panels if panel["points"]]
    clustered = [
        {"run": folder.name, "tables": tables}
        for folder in folders
        if folder.kind == "repair" and (tables := tables_of(folder, (LOCAL,), pack, share))
    ]
    return {"title": "The space", "panels": panels, "clustered": clustered} if panels or clustered else None


def _measured(folder: Folder, pack: Pack) -> dict[str, Any]:
    words, sentences, layers, x, y = _sample(folder)
    counts = word_counts(folder)
    frequency = np.array([counts.get(word, np.nan) for word in words])
    return {
        "run": folder.name,
        "layers": layers,
        "points": len(words),
        "words": pack.strings(words),
        "sentences": pack.strings(sentences),
        "frequency": pack.numbers(frequency),
        "places": [_places(pack, x[:, layer], y[:, layer]) for layer in range(len(layers))],
    }


def _before_and_after(folder: Folder, pack: Pack, names: Mapping[Path, str]) -> list[dict[str, Any]]:
    """Both spaces of a repair, by the names of their runs. Their points are the sample's, which knows the sentences."""
    table = folder.parquet("space.parquet", "repair", "layer", "word", "frequency", "x", "y") or {}
    repair, layer, word = (np.array(table[name].to_pylist(), dtype=object) for name in ("repair", "layer", "word"))
    frequency, x, y = (table[name].to_numpy() for name in ("frequency", "x", "y"))
    facts = _facts(folder)
    known: list[str] = []
    said: list[str] = []
    if (folder.path / BEFORE / "sample.parquet").is_file():
        inside = Folder(folder.path / BEFORE, MEASURED, folder.name, {})
        known, said, *_ = _sample(inside)
    panels = []
    for part in dict.fromkeys(repair):
        layers = list(dict.fromkeys(layer[repair == part]))
        rows = [np.flatnonzero((repair == part) & (layer == name)) for name in layers]
        words = word[rows[0]].tolist() if rows else []
        if not said or known[: len(words)] != words:
            said = [""] * len(words)
        panels.append(
            {
                "run": names.get((folder.path / part).resolve(), f"{folder.name}, {part} repair"),
                "layers": layers,
                "points": len(words),
                "words": pack.strings(words),
                "sentences": pack.strings(said[: len(words)]),
                "frequency": pack.numbers(frequency[rows[0]]),
                "places": [_places(pack, x[here], y[here]) for here in rows],
                "facts": [facts.get((part, name)) for name in layers],
            }
        )
    return panels


def _facts(folder: Folder) -> dict[tuple[str, str], list[float | None]]:
    """(before or after, layer) -> shares of the variance of both components, multiple correlation with frequency."""
    path = folder.file("space.csv")
    if path is None:
        return {}
    table = read_csv(path)
    wanted = ("variance_1", "variance_2", "correlation")
    if not {"repair", "layer", *wanted} <= table.keys():
        return {}
    cells = zip(*(table[name] for name in wanted), strict=True)
    keys = zip(table["repair"], table["layer"], strict=True)
    return {key: [float(cell) if cell else None for cell in row] for key, row in zip(keys, cells, strict=True)}


def _sample(folder: Folder) -> tuple[list[str], list[str], list[str], Floats, Floats]:
    """Words and sentences of the sampled occurrences, the layers, and x and y as (points, layers)."""
    table = folder.parquet("sample.parquet", "word", "sentence", "layer", "x", "y") or {}
    names = table["layer"].to_pylist()
    layers = list(dict.fromkeys(names))
    step = max(len(layers), 1)
    x, y = (table[name].to_numpy().reshape(-1, step) for name in ("x", "y"))
    return table["word"].to_pylist()[::step], table["sentence"].to_pylist()[::step], layers, x, y


def word_counts(folder: Folder) -> Mapping[str, int]:
    """Occurrences of the followed words."""
    table = folder.parquet("words.parquet", "word", "n")
    if table is None:
        return {}
    words, counts = table["word"].unique().to_pylist(), table["n"].to_numpy()
    step = max(len(counts) // max(len(words), 1), 1)
    return dict(zip(words, counts[::step].tolist(), strict=False))


def _places(pack: Pack, x: Floats, y: Floats) -> dict[str, Any]:
    """Places over the largest coordinate: two bytes each are then more than a screen can show."""
    largest = float(np.nanmax(np.abs([x, y]), initial=0.0)) or 1.0
    return {"scale": largest, "x": pack.fixed(x / largest), "y": pack.fixed(y / largest)}
