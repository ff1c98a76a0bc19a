"""How long `limbeck --help` takes, and what `import limbeck` drags in.

    python -m benchmarks.startup [--runs 10]

Each run is a fresh process; an empty Python process takes turns with it, since most of the time is Python's own.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.machine import report

HEAVY = ("torch", "transformers", "tokenizers", "spacy", "pyarrow", "matplotlib", "pandas", "scipy", "sklearn", "h5py")
LOADED = "import json, sys, {module}; print(json.dumps([name for name in {heavy!r} if name in sys.modules]))"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10)
    options = parser.parse_args(arguments)

    script = Path(sys.executable).with_name("limbeck")
    help_command = [str(script), "--help"] if script.exists() else [sys.executable, "-m", "limbeck", "--help"]
    empty_command = [sys.executable, "-c", "pass"]
    seconds(help_command)  # the first run compiles and fills the disk's cache
    helps, empties = [], []
    for _ in range(options.runs):
        helps.append(seconds(help_command))
        empties.append(seconds(empty_command))
    report(
        "startup",
        {
            "limbeck --help, seconds (median)": statistics.median(helps),
            "limbeck --help, seconds (slowest)": max(helps),
            "an empty Python process, seconds (median)": statistics.median(empties),
            "heavy modules after import limbeck": loaded("limbeck"),
            "heavy modules after import limbeck.cli": loaded("limbeck.cli"),
            "runs": options.runs,
        },
    )


def seconds(command: list[str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def loaded(module: str) -> list[str]:
    """Which heavy packages are in memory once a module is imported."""
    code = LOADED.format(module=module, heavy=HEAVY)
    found = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    modules: list[str] = json.loads(found.stdout)
    return modules


if __name__ == "__main__":
    main()
