"""Every benchmark with small settings, one after the other, and a table of figures beside their targets.

    python -m benchmarks.all [--corpus TEXT --format prose] [--device cuda --dtype bfloat16] [--only startup memory]

Each runs in a process of its own. Results go to runs/benchmarks: those in benchmarks/results come from longer runs,
made by the commands in benchmarks/README.md, and are not touched.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import text

ROOT = Path(__file__).parent.parent
OUT = ROOT / "runs" / "benchmarks"


@dataclass(frozen=True)
class Target:
    """What a figure must be."""

    figure: str
    least: float | None = None
    most: float | None = None
    empty: bool = False

    def __str__(self) -> str:
        if self.empty:
            return "none"
        return f"at least {self.least:g}" if self.least is not None else f"at most {self.most:g}"

    def reached(self, value: Any) -> bool:
        if self.empty:
            return bool(value == [])
        return bool(value >= self.least if self.least is not None else value <= self.most)  # NaN reaches nothing


@dataclass(frozen=True)
class Benchmark:
    name: str  # of the module
    options: list[str]  # small settings
    targets: list[Target]
    takes: tuple[str, ...] = ()  # which of the common options it knows
    result: str = ""  # name of its JSON, where it is not the module's
    about: str = field(default="", compare=False)  # in the table, where a module stands there twice


def benchmarks(device: str, dtype: str) -> list[Benchmark]:
    model = ("corpus", "format", "device", "dtype")
    prose = ("corpus", "format")
    return [
        Benchmark(
            "startup",
            [],
            [
                Target("limbeck --help, seconds (median)", most=0.5),
                Target("heavy modules after import limbeck", empty=True),
                Target("heavy modules after import limbeck.cli", empty=True),
            ],
        ),
        Benchmark(
            "overhead",
            ["--words", "3000", "--rounds", "2", "--name", "overhead"],
            [Target("ratio", least=0.80 if device == "cuda" else 0.85)],
            takes=model,
        ),
        Benchmark(
            "published_way",
            ["--sentences", "600", "--rounds", "2"],
            [Target("times faster, from the same HDF5 file", least=100)],
            takes=prose,
        ),
        Benchmark(
            "memory",
            ["--words", "60000", "--repeats", "2"],
            [Target("peak of the long run over the short one's", most=1.1)],
            about="samples fill up",
        ),
        Benchmark(
            "memory",
            ["--words", "60000", "--types", "60", "--repeats", "2", "--name", "memory-full"],
            [Target("peak of the long run over the short one's", most=1.1)],
            result="memory-full",
            about="samples full",
        ),
        Benchmark(
            "exactness",
            [],
            [
                Target("float32: largest relative difference from brute force", most=1e-6),
                Target("float64: largest relative difference from brute force", most=1e-10),
                Target("float32: effective rank", most=1e-5),
                Target("float64: effective rank", most=1e-5),
            ],
        ),
        Benchmark("elmo", ["--size", "mini", "--words", "2000", "--rounds", "2", "--name", "elmo"], [], takes=model),
        Benchmark(
            "repair",
            ["--vectors", "60000", "--dim", "256", "--name", "repair"],
            [Target("times scipy and scikit-learn", least=50 if device == "cuda" else 1.3)],
            takes=("device",),
        ),
        Benchmark(
            "probe",
            ["--contexts", "100000", "--classes", "34", "--dim", "768", "--hidden", "1024", "--epochs", "1"]
            if device == "cuda"
            else ["--contexts", "2000", "--rounds", "1"],
            [Target("ratio", least=20 if device == "cuda" else 1.5)],
            takes=("device",),
        ),
        Benchmark("text_preparation", ["--words", "200000", "--rounds", "1"], [], takes=prose),
        Benchmark(
            "x2static",
            ["--words", "2000000", "--types", "100000", "--name", "x2static"]
            if device == "cuda"
            else ["--words", "20000", "--layers", "2", "--dim", "128", "--steps", "5", "--name", "x2static"],
            [Target("whole: times as fast as the published way", least=10)] if device == "cuda" else [],
            takes=("device", "dtype"),
        ),
    ]


#: figures without a target that the table shows all the same
SHOWN = {
    "elmo": (
        "times a plain loop, the stacks alone",
        "times a plain loop, whole",
        "encoder, words a second",
    ),
    "text_preparation": (
        "all together, words a second a core",
        "pieces a word, WordPiece and special tokens",
        "cores that feed it, while it works",
    ),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", help="prose; made prose without it")
    parser.add_argument("--format", default="prose")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these benchmarks")
    options = parser.parse_args(arguments)

    chosen = [b for b in benchmarks(options.device, options.dtype) if not options.only or b.name in options.only]
    if not chosen:
        parser.error(f"--only: choose from {', '.join(sorted({b.name for b in benchmarks('cpu', 'float32')}))}")
    rows: list[tuple[str, str, str, str, str]] = []
    with tempfile.TemporaryDirectory(prefix="limbeck-bench-") as folder:
        if options.corpus is None and any(b.name == "overhead" for b in chosen):
            # the one that cannot make its own
            made = text.write_prose(Path(folder) / "made.txt", 40_000)
        for benchmark in chosen:
            common = {name: getattr(options, name) for name in benchmark.takes if getattr(options, name)}
            if benchmark.name == "overhead":
                common.setdefault("corpus", str(made) if options.corpus is None else options.corpus)
            rows += lines_of(benchmark, run(benchmark, common))
    print_table(rows)
    return 0 if all(row[4] in ("yes", "") for row in rows) else 1


def run(benchmark: Benchmark, common: dict[str, str]) -> dict[str, Any] | None:
    """Its figures, or None where it failed."""
    OUT.mkdir(parents=True, exist_ok=True)
    result = OUT / f"{benchmark.result or benchmark.name}.json"
    result.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{benchmark.name}", *benchmark.options]
    for name, value in common.items():
        command += [f"--{name}", value]
    print(f"\n$ {' '.join(['python', *command[1:]])}", flush=True)
    began = time.perf_counter()
    done = subprocess.run(command, cwd=ROOT, env={**os.environ, "LIMBECK_BENCH_OUT": str(OUT)})
    print(f"({time.perf_counter() - began:.0f} s)", flush=True)
    if done.returncode or not result.exists():
        return None
    figures: dict[str, Any] = json.loads(result.read_text())["figures"]
    return figures


def lines_of(benchmark: Benchmark, figures: dict[str, Any] | None) -> list[tuple[str, str, str, str, str]]:
    """Rows of the table: benchmark, figure, value, target, whether it is reached."""
    name = f"{benchmark.name} ({benchmark.about})" if benchmark.about else benchmark.name
    if figures is None:
        return [(name, "", "failed", "", "no")]
    rows = []
    for target in benchmark.targets:
        value = figures.get(target.figure, math.nan)  # a figure that is not there reaches nothing
        rows.append((name, target.figure, told(value), str(target), "yes" if target.reached(value) else "no"))
    return rows + [(name, figure, told(figures[figure]), "", "") for figure in SHOWN.get(benchmark.name, ())]


def told(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def print_table(rows: list[tuple[str, str, str, str, str]]) -> None:
    header = ("benchmark", "figure", "value", "target", "reached")
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    print()
    for row in (header, tuple("-" * width for width in widths), *rows):
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())


if __name__ == "__main__":
    sys.exit(main())
