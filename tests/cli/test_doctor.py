"""limbeck doctor: what is here and what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.metadata import version

import pytest

from limbeck.cli import doctor, main

DECLARED = [
    "numpy>=2",
    "no-such-package>=1; python_version > '3'",
    "h5py; extra == 'hdf5'",
    'other-missing[all]>=2; extra == "st"',
    "pytest; extra == 'dev'",
]


def test_all_is_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"torch          {version('torch')}" in said
    assert "mini-bert, mini-gpt2, mini-elmo" in said
    assert "\n  cpu " in said
    assert "All that limbeck needs is here." in said


def test_packages_by_extra() -> None:
    base, extras = doctor.packages(DECLARED)
    assert base == {"numpy": version("numpy"), "no-such-package": None}
    assert extras == {"hdf5": {"h5py": version("h5py")}, "st": {"other-missing": None}}


def test_what_is_missing_is_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(doctor, "requires", lambda name: DECLARED)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "MISSING: pip install no-such-package" in said
    assert 'missing other-missing: pip install "limbeck[st]"' in said
    assert "Missing: no-such-package" in said
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == 1
    assert found["remedies"] == {
        "no-such-package": "pip install no-such-package",
        "extra st": 'pip install "limbeck[st]"',
    }
    assert found["devices"][-1]["device"] == "cpu"


def test_a_torch_that_cannot_be_loaded_is_told() -> None:
    code = (
        "import sys\nsys.modules['torch'] = None\nfrom limbeck.cli.doctor import devices\n"
        "found, = devices()\nassert 'torch cannot be loaded' in found['name'], found"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
