"""Analyses of what a space holds: their claims, and their tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from limbeck.report.page.folders import Folder
from limbeck.report.page.packing import Pack

#: tables of numbers, by name; those of single points and of sentences are left to the folder
TABLES = ("structure", "pairs", "tense", "verbs", "frequency", "clusters", "directions", "angles", "spaces", "compare")
MOST_ROWS = 2_000
CLAIM = ("verdict", "text", "model", "layer", "about", "value", "low", "high", "n", "why", "rule")


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each analysis its claims and its tables as they are."""
    runs = []
    for folder in folders:
        if folder.kind not in ("analyze", "compare"):
            continue
        claims = [{name: claim.get(name) for name in CLAIM} for claim in folder.account.get("claims", [])]
        tables = []
        for name in TABLES:
            table = folder.table(f"{name}.csv")
            if table and any(table.values()):
                rows = list(zip(*(column[:MOST_ROWS] for column in table.values()), strict=True))
                tables.append({"name": name, "columns": list(table), "rows": [list(row) for row in rows]})
        runs.append({"run": folder.name, "claims": claims, "tables": tables})
    return {"title": "Analyses", "runs": runs} if runs else None
