"""limbeck doctor: what is here, what is missing, too old or broken, and the command that gets it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from limbeck.cli import main
from limbeck.cli.commands import doctor
from limbeck.encoders import miniatures

#: an installation -> versions of its packages; what is not here is not installed
INSTALLED = {
    "limbeck": "9.8.7",
    "torch": "2.5.1+cu121",
    "numpy": "2.4.0",
    "h5py": "3.1",
    "sentence-transformers": "5.9",
}
DECLARED = [
    "torch>=2.11",
    "numpy>=2",
    "no-such-package>=1; python_version > '3'",
    "plain",
    "h5py; extra == 'hdf5'",
    "scikit-learn; extra == 'st'",
    'sentence-transformers[train]>=6; extra == "st"',
    "pytest; extra == 'dev'",
]


@pytest.fixture
def faked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another environment than this one: its packages, one GPU, and no hub."""

    def version_in_it(name: str) -> str:
        if name not in INSTALLED:
            raise PackageNotFoundError(name)
        return INSTALLED[name]

    monkeypatch.setattr(doctor, "version", version_in_it)
    monkeypatch.setattr(doctor, "requires", lambda name: DECLARED)
    monkeypatch.setattr(doctor.platform, "python_version", lambda: "3.99.1")
    monkeypatch.setattr(doctor.platform, "platform", lambda: "Amiga-1200")
    monkeypatch.setattr(doctor.os, "cpu_count", lambda: 77)
    monkeypatch.setattr(doctor.shutil, "disk_usage", lambda path: SimpleNamespace(free=12_340_000_000))
    monkeypatch.setenv("HF_HUB_CACHE", "/models")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def two_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    names = ["NVIDIA Zwei", "NVIDIA Eins"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(
        torch.cuda, "get_device_properties", lambda n: SimpleNamespace(name=names[n], total_memory=80_000_000_000)
    )
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends.cpu, "get_cpu_capability", lambda: "AVX2")
    monkeypatch.setattr(torch, "get_num_threads", lambda: 5)


def test_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 0
    said = capsys.readouterr().out
    assert f"torch          {version('torch')}" in said
    assert f"Python {sys.version.split()[0]}" in said
    assert "miniatures in the package: mini-bert, mini-gpt2, mini-elmo" in said
    assert "\n  cpu " in said
    assert said.endswith("\nAll that limbeck needs is here.\n")


@pytest.mark.usefixtures("faked", "two_gpus")
def test_every_line_of_another_environment(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "limbeck 9.8.7, Python 3.99.1, Amiga-1200",
        "cores 77, free disk 12.3 GB, colour off (NO_COLOR)",
        "hub /models (HF_HUB_OFFLINE: only what is there)",
        "",
        "devices (the first is what --device auto takes)",
        "  cuda:0   NVIDIA Zwei, 80.0 GB",
        "  cuda:1   NVIDIA Eins, 80.0 GB",
        "  mps      Apple GPU",
        "  cpu      5 threads, AVX2",
        "",
        "packages",
        '  torch          2.5.1+cu121 TOO OLD: pip install "torch>=2.11"',
        "  numpy          2.4.0",
        '  no-such-package MISSING: pip install "no-such-package>=1"',
        "  plain          MISSING: pip install plain",
        "",
        "miniatures in the package: mini-bert, mini-gpt2, mini-elmo",
        "",
        "extras",
        "  hdf5           h5py 3.1  (vectors in HDF5)",
        '  st             missing scikit-learn, too old sentence-transformers: pip install "limbeck[st]"'
        "  (repairs inside sentence-transformers)",
        "",
        "Needed: torch (too old), no-such-package, plain",
    ]


@pytest.mark.usefixtures("faked")
def test_the_same_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["status"] == 1
    assert found["packages"] == {"torch": "2.5.1+cu121", "numpy": "2.4.0", "no-such-package": None, "plain": None}
    assert found["extras"] == {"hdf5": {"h5py": "3.1"}, "st": {"scikit-learn": None, "sentence-transformers": "5.9"}}
    assert found["remedies"] == {
        "torch": 'pip install "torch>=2.11"',
        "no-such-package": 'pip install "no-such-package>=1"',
        "plain": "pip install plain",
        "extra st": 'pip install "limbeck[st]"',
    }
    assert found["devices"][-1]["device"] == "cpu"
    assert found["needed"] == ["torch (too old)", "no-such-package", "plain"]


@pytest.mark.usefixtures("faked")
@pytest.mark.parametrize("width", [40, 60])
def test_a_narrow_window(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert max(map(len, said.splitlines())) <= max(width, len("devices (the first is what --device auto takes)"))
    assert 'pip install "limbeck[st]"' in " ".join(said.split())


def test_an_extra_that_is_there_has_a_purpose() -> None:
    """Every extra of limbeck that a user may want is explained."""
    import tomllib

    told = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    extras = set(told["project"]["optional-dependencies"])
    assert set(doctor.FOR_DEVELOPERS) < extras
    assert extras - set(doctor.FOR_DEVELOPERS) == set(doctor.PURPOSES)


def test_lost_miniatures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(miniatures, "miniature_folder", lambda name: tmp_path / name)
    for name in ("mini-bert", "mini-gpt2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "model.safetensors").touch()
    origin = SimpleNamespace(read_text=lambda name: '{"url": "file:///home/me/my%20work/limbeck"}')
    monkeypatch.setattr(doctor, "distribution", lambda name: origin)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "MISSING mini-elmo: pip install --force-reinstall --no-deps '/home/me/my work/limbeck'" in said
    assert said.endswith("Needed: miniatures\n")


def test_metadata_that_are_broken_or_lacking(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half an installation is told as it is, and none of limbeck itself is not taken for a whole one."""

    def half(name: str) -> Any:
        if name == "limbeck":
            raise PackageNotFoundError(name)
        if name == "rich":
            raise KeyError("Version")  # a METADATA file that ends too soon
        return None  # one that has no version in it

    monkeypatch.setattr(doctor, "version", half)
    assert doctor.packages(["numpy>=2", "rich"])[0] == [
        doctor.Package("numpy", "unknown", "2"), doctor.Package("rich", "unknown")
    ]  # fmt: skip
    monkeypatch.setattr(doctor, "requires", half)
    assert main(["doctor"]) == 1
    said = capsys.readouterr().out
    assert "(not installed as a package)" in said
    assert "not known, limbeck is not installed as a package: pip install -c constraints.txt ." in said
    assert "All that limbeck needs" not in said


def test_a_folder_without_metadata(tmp_path: Path) -> None:
    """For real: a package whose metadata folder is empty, in front of Python's path."""
    (tmp_path / "zstandard-1.0.dist-info").mkdir()
    code = "from limbeck.cli.commands.doctor import version_of\n"
    code += "print(version_of('zstandard'), version_of('no-such-package'))"
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])),
    }
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["unknown", "None"]


def test_a_torch_that_cannot_be_loaded_is_told() -> None:
    code = "import sys\nsys.modules['torch'] = None\nfrom limbeck.cli import main\nsys.exit(main(['doctor']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "  none     torch cannot be loaded: " in done.stdout
    assert done.stdout.endswith("Needed: a torch that can be loaded\n")


@pytest.mark.parametrize(
    ("first", "second", "older"),
    [("2.9", "2.11", True), ("2.13.0+cpu", "2.11", False), ("6.0.0rc1", "6", False), ("unknown", "2", False)],
)
def test_versions_are_compared_by_their_numbers(first: str, second: str, older: bool) -> None:
    assert (doctor.release(first) < doctor.release(second)) is older
