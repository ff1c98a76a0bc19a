"""What was trained: curves of fine-tuning and distilling, scores, and what attention was changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from limbeck.reporting.page.folders import Folder, numbers
from limbeck.reporting.page.packing import Pack, rounded

MOST_POINTS = 400  #: of a curve


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each fine-tuning or trained distillation its curves, class scores and attention (layers × heads)."""
    runs = [run for folder in folders if (run := _trained(folder)) is not None]
    return {"title": "Training", "runs": runs} if runs else None


def _trained(folder: Folder) -> dict[str, Any] | None:
    if folder.kind == "finetune":
        return {
            "run": folder.name,
            "loss": _curve(folder.table("steps.csv", "step", "loss"), "step", "loss"),
            "dev": _curve(folder.table("dev.csv", "step", "accuracy"), "step", "accuracy"),
            "classes": _classes(folder),
            "attention": _attention(folder),
        }
    losses = folder.table("losses.csv") if folder.kind == "distill" else None
    # a method of a user's own tells of its training what it likes
    if losses is None or not losses.get("loss") or "progress" not in losses:
        return None
    curve = _curve(losses, "progress", "loss") or {}
    return {"run": folder.name, "loss": curve | {"unit": "epochs"}, "dev": None, "classes": [], "attention": None}


def _curve(table: dict[str, list[str]] | None, x: str, y: str) -> dict[str, Any] | None:
    if table is None or not table[x]:
        return None
    at, values = numbers(table[x]), numbers(table[y])
    order = np.argsort(at, kind="stable")[:: -(-len(at) // MOST_POINTS)]  # shards may have been read in any order
    return {"x": rounded(at[order]), "y": rounded(values[order]), "unit": x + "s"}


def _classes(folder: Folder) -> list[dict[str, Any]]:
    table = folder.table("classes.csv", "part", "class", "n", "precision", "recall", "f1")
    if table is None:
        return []
    columns = {name: rounded(numbers(table[name])) for name in ("n", "precision", "recall", "f1")}
    return [
        {"part": table["part"][row], "class": name, **{column: cells[row] for column, cells in columns.items()}}
        for row, name in enumerate(table["class"])
    ]


def _attention(folder: Folder) -> dict[str, Any] | None:
    """Cosine of each head's attention before and after."""
    table = folder.table("attention.csv", "layer", "head", "similarity")
    if table is None:
        return None
    layers, heads = (list(dict.fromkeys(table[name])) for name in ("layer", "head"))
    values = dict(
        zip(zip(table["layer"], table["head"], strict=True), rounded(numbers(table["similarity"])), strict=True)
    )
    return {
        "layers": layers,
        "heads": heads,
        "similarity": [[values.get((layer, head)) for head in heads] for layer in layers],
    }
