"""Runs killed at random moments and damaged files: a handful of the trials that benchmarks/faults.py makes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_a_run_that_waits_for_ever_has_failed() -> None:
    script = """
import time
from benchmarks.faults import Outcome, alive, begun, finished, table
for seconds, ends in ((0, True), (1000, False)):
    child = begun(lambda: time.sleep(seconds))
    assert finished(child, 60 if ends else 0.2) is ends
    assert not alive(child)
good, hung = Outcome("good", 1, 1, 0, 1e-15), Outcome("hung", 1, 1, 0, 0.0, hung=1)
assert table([good, hung, Outcome("wrong", 1, 1, 0, 1e-9)])["failed"] == ["hung", "wrong"]
"""
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True, timeout=100)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to find processes")
@pytest.mark.parametrize(
    ("local", "ray", "damage"),
    [
        pytest.param(4, 0, 4, id="local"),
        pytest.param(0, 3, 0, id="ray", marks=[pytest.mark.ray, pytest.mark.slow]),
    ],
)
def test_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path, local: int, ray: int, damage: int) -> None:
    if ray:
        pytest.importorskip("ray", reason="needs ray")
    environment = os.environ | {"LIMBECK_BENCH_OUT": str(tmp_path), "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)}
    trials = ["--trials", str(local), "--ray-trials", str(ray), "--damage", str(damage)]
    command = [sys.executable, "-m", "benchmarks.faults", "--seed", "7", *trials]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, timeout=600)
    found = json.loads((tmp_path / "faults.json").read_text())["figures"]
    assert found["failed"] == []
    assert found["agree to 1e-10"] == found["trials"] == local + ray + damage
    assert sum(kind["met a run under way"] for kind in found.values() if isinstance(kind, dict)) > 0
