"""A few hundred numbers of every kind, as they were when they were recorded. `make golden` compares all of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parents[1] / "tools"))
import golden  # noqa: E402 (the tool is no package)

RECORD: dict[str, dict[str, float]] = json.loads((HERE / "record.json").read_text(encoding="utf-8"))
NAMES = golden.read_names()


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, float]]:
    folder = tmp_path_factory.mktemp("golden")
    inputs, scenarios = golden.make_inputs(folder / "inputs"), golden.read_scenarios()
    limbeck = [sys.executable, "-m", "limbeck"]
    return {
        name: golden.small_numbers(
            golden.run_scenario(name, scenarios[name], folder / "runs", limbeck, inputs, names=NAMES)
        )
        for name in RECORD
    }


@pytest.mark.parametrize("name", RECORD)
def test_numbers_are_those_of_the_record(name: str, runs: dict[str, dict[str, float]]) -> None:
    recorded = {golden.in_new_words(place, NAMES): value for place, value in RECORD[name].items()}
    assert golden.differences(recorded, runs[name], [], tolerance=1e-5) == []


def test_a_moved_or_missing_number_is_seen() -> None:
    old = {"a.csv: x 0": 1.0, "a.csv: y 0": 2.0, "a.csv: z 0": "text"}
    assert golden.differences(old, dict(old), []) == []
    assert golden.differences(old, {**old, "a.csv: x 0": 1.0 + 1e-9}, []) != []
    assert golden.differences(old, {**old, "a.csv: z 0": "another"}, []) != []
    assert golden.differences(old, {"a.csv: x 0": 1.0, "a.csv: z 0": "text"}, []) != []
    assert golden.differences(old, {**old, "a.csv: x 0": 5.0}, [r"x 0"]) == []
