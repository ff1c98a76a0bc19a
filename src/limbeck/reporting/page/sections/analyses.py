"""Analyses of what a space holds, and comparisons of two runs: their claims or sentences, and their tables."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from limbeck.errors import InputError
from limbeck.reporting.page.folders import Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded
from limbeck.reporting.page.sections.layers import MEASURES
from limbeck.reporting.page.tables import tables_of

#: tables of numbers, by name; those of single points and of sentences are left to the folder
TABLES = ("structure", "pairs", "tense", "verbs", "frequency", "clusters", "directions", "angles", "spaces", "compare")
CLAIM = ("verdict", "text", "model", "layer", "about", "value", "low", "high", "n", "why", "rule")


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each analysis its claims and its tables as they are; of a comparison what it says, and its differences."""
    runs = []
    for folder in folders:
        if folder.kind not in ("analyze", "compare"):
            continue
        claims = [{name: claim.get(name) for name in CLAIM} for claim in folder.account.get("claims", [])]
        runs.append(
            {
                "run": folder.name,
                "claims": claims,
                **_compared(folder),
                "differences": list(_differences(folder)),
                "tables": tables_of(folder, TABLES, pack, share),
            }
        )
    if not runs:
        return None
    kinds = {folder.kind for folder in folders}
    names = [name for kind, name in (("analyze", "Analyses"), ("compare", "Comparisons")) if kind in kinds]
    return {"title": " and ".join(names).capitalize(), "runs": runs}


def _compared(folder: Folder) -> dict[str, Any]:
    """What `limbeck compare` compared, and what it said in plain words."""
    path = folder.file("compare.json")
    try:
        told = json.loads(path.read_text(encoding="utf-8")) if path is not None else {}
        sides = [str(told.get(name, side)) for name, side in (("a", "the first"), ("b", "the second"))]
        sentences = [str(sentence) for sentence in told.get("sentences", [])]
        return {"sides": sides, "layers": told.get("kind") == "measure", "sentences": sentences}
    except (OSError, ValueError, AttributeError, TypeError, RecursionError) as error:
        raise InputError(f"{path}: must be a whole JSON object ({error}): compare again.", code="damaged") from error


def _differences(folder: Folder) -> Iterator[dict[str, Any]]:
    """Rows of compare.csv that have a difference."""
    table = folder.table("compare.csv", "measure", "part", "layer_a", "layer_b", "difference", "low", "high", "real")
    if table is None:
        return
    columns = {name: rounded(numbers(table[name])) for name in ("difference", "low", "high")}
    for row, measure in enumerate(table["measure"]):
        if columns["difference"][row] is not None:
            told = {name: table[name][row] for name in ("part", "layer_a", "layer_b")}
            real = {"True": True, "False": False}.get(table["real"][row])
            title = MEASURES[measure][0] if measure in MEASURES else measure
            told |= {"measure": measure, "title": title + (", adjusted" if told["part"] == "adjusted" else "")}
            yield told | {"real": real} | {name: column[row] for name, column in columns.items()}
