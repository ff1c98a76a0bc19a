"""What a distilling run prints at its end."""

from __future__ import annotations

from collections import Counter
from math import isfinite
from pathlib import Path
from typing import Any

from limbeck.cli.output import add, tell
from limbeck.distillation.card import number_of, source_of
from limbeck.distillation.distilled import DistilledVectors
from limbeck.distillation.lacking import lacking_told
from limbeck.runs.distill import DistillResult, DistillRun


def show(result: DistillResult, run: DistillRun) -> None:
    """What was made, from where, its scores, and how to use it."""
    out = run.out
    tell(out=out)
    for name, one in result.items():
        elsewhere = "".join(f", {n:,} of them from {source_of(origin)}" for origin, n in one.from_elsewhere.items())
        left_out = sum(one.record.get("left_out", {}).values())
        have = f"{'has' if left_out == 1 else 'have'} none{lacking_told(one.record)}"
        told = f"; {number_of(left_out)} {have}" if left_out else ""
        where = result.folder_of(out, name)
        add("vectors", facts_of(one, where))
        layer = "" if one.record.get("untaught") else f", layer {one.layer}"
        print(f"{where}: {number_of(len(one))} × {one.dim} dimensions{layer}{elsewhere}{told}")
        for score in one.record.get("scores") or []:
            value = f"{score['value']:.3f} ({score['low']:.3f} to {score['high']:.3f})"
            value = value if isfinite(score["value"]) else "undefined"
            print(f"  {score['task']}: {value}, coverage {score['coverage']:.1%}")
    where = result.folder_of(out, next(iter(result)))
    print(f"to load: see {where / 'README.md'}; to score: limbeck evaluate {where} --tasks wordsim --data DATA")
    notes = next(iter(result.values())).record.get("notes") or []
    tell(notes=notes)
    for note in notes:
        print(f"note: {note}")


def facts_of(one: DistilledVectors, folder: Path) -> dict[str, Any]:
    """What --json says of a set of vectors."""
    return {
        "folder": folder,
        "method": one.method,
        "layer": None if one.record.get("untaught") else one.layer,
        "words": len(one),
        "dim": one.dim,
        "origins": dict(sorted(Counter(one.origins).items())),
        "left_out": one.record.get("left_out", {}),
        "left_out_words": one.record.get("left_out_words", {}),
        "scores": one.record.get("scores") or [],
    }
