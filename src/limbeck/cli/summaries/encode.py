"""What encoding prints at its end."""

from __future__ import annotations

from limbeck.runs.encode import EncodeResult, EncodeRun


def show(result: EncodeResult, run: EncodeRun) -> None:
    """What the folder has, and what it is for."""
    out = run.output.out
    print(f"{out}: {len(result.layers)} layers of {result.dim} dimensions; use with --vectors {out}")
