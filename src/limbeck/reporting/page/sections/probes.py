"""Probes: which layer tells which class, and from how much context."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from limbeck.probing.names import WHOLE
from limbeck.reporting.page.folders import Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded
from limbeck.reporting.page.tables import tables_of
from limbeck.reporting.probes import BY_LAYER, NAMES

Table = Mapping[str, Sequence[str]]
TABLES = ("data", "pieces", "confidence", "flips", "selectivity", "description_length")  #: told as they are


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each probing curves by layer, F1 by class and layer, F1 by amount of context and layer, and other tables."""
    probed = [folder for folder in folders if folder.kind == "probe" and folder.file("scores.csv")]
    runs = [_probing(folder) | {"tables": tables_of(folder, TABLES, pack, share)} for folder in probed]
    return {"title": "Probes", "runs": runs} if runs else None


def _probing(folder: Folder) -> dict[str, Any]:
    keys = ("space", "level", "probe", "context", "layer")
    table = folder.table("scores.csv", *keys, "side", "f1", "low", "high") or {}
    classes = folder.table("classes.csv", *keys, "class", "f1")
    return {
        "run": folder.name,
        "curves": _curves(table),
        "classes": _heat(classes, "class", {"context": WHOLE}) if classes is not None else None,
        "contexts": _heat(table, "context", {"side": "dev"}),
    }


def _curves(table: Table) -> list[dict[str, Any]]:
    """On the test words, with whole sentences: a curve a space and probe, or one number where there are no layers."""
    columns = {name: numbers(table[name]) for name in ("f1", "low", "high")}
    groups: dict[tuple[str, str, str], list[int]] = {}
    for row, space in enumerate(table["space"]):
        if table["side"][row] == "test" and table["context"][row] == WHOLE:
            groups.setdefault((space, table["level"][row], table["probe"][row]), []).append(row)
    return [
        {
            "name": NAMES.get(space, space),
            "space": space,
            "level": level,
            "probe": probe,
            "layers": [table["layer"][row] for row in rows] if space in BY_LAYER else None,
            **{name: rounded(column[rows]) for name, column in columns.items()},
        }
        for (space, level, probe), rows in groups.items()
    ]


def _heat(table: Table, down: str, only: Mapping[str, str]) -> dict[str, Any] | None:
    """F1 of words in context by the first kind of probe: `down` × layer, null where there is none."""
    wanted = {"space": "context", "level": "context", **only}
    rows = [row for row in range(len(table["f1"])) if all(table[name][row] == value for name, value in wanted.items())]
    if not rows:
        return None
    rows = [row for row in rows if table["probe"][row] == table["probe"][rows[0]]]
    layers = list(dict.fromkeys(table["layer"][row] for row in rows))
    names = list(dict.fromkeys(table[down][row] for row in rows))
    if down == "context":
        names.sort(key=lambda name: (not name.isdecimal(), int(name) if name.isdecimal() else 0))
        if len(names) < 2:
            return None
    values = numbers(table["f1"])
    grid = np.full((len(names), len(layers)), np.nan)
    for row in rows:
        grid[names.index(table[down][row]), layers.index(table["layer"][row])] = values[row]
    return {"probe": table["probe"][rows[0]], "down": names, "layers": layers, "f1": [rounded(line) for line in grid]}
