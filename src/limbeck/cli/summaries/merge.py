"""What merging prints at its end."""

from __future__ import annotations

from limbeck.runs.encode import EncodeResult
from limbeck.runs.measure import MeasureResult
from limbeck.runs.merge import MergeRun, missing_parts


def show(result: MeasureResult | EncodeResult, run: MergeRun) -> None:
    """What was merged, and whether it is the whole text."""
    out, count = run.output.out, len(run.paths)
    about = result.record["about"] if isinstance(result, EncodeResult) else result.record
    if missing := missing_parts(about.get("part", "")):
        print(f"not the whole text: part {', '.join(map(str, missing))} is missing")
    if isinstance(result, EncodeResult):
        print(f"{out}: vectors of {count} parts; use with --vectors {out}")
    else:
        figures = "figures/, " * run.output.figures
        print(f"{out}: {result.n:,} occurrences of {count} runs; report.html, tables, {figures}run.json")
