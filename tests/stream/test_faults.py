"""Runs killed at random moments and damaged files: a handful of the trials that benchmarks/faults.py makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")
@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--trials", "4", "--ray-trials", "0", "--damage", "4"], id="local"),
        pytest.param(
            ["--trials", "0", "--ray-trials", "3", "--damage", "0"], marks=[pytest.mark.ray, pytest.mark.slow], id="ray"
        ),
    ],
)
def test_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path, arguments: list[str]) -> None:
    if "0" not in arguments[3]:
        pytest.importorskip("ray", reason="needs ray")
    environment = os.environ | {"LIMBECK_BENCH_OUT": str(tmp_path), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "benchmarks.faults", "--seed", "7", *arguments]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=600)
    found = json.loads((tmp_path / "faults.json").read_text())["figures"]
    assert found["failed"] == []
    assert found["agree to 1e-10"] == found["trials"] == (8 if arguments[1] == "4" else 3)
    assert sum(kind["met a run under way"] for kind in found.values() if isinstance(kind, dict)) > 0
