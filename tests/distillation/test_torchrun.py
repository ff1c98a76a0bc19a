"""The command under torchrun: the same folder as without it; what several processes cannot do is refused."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import WORDS, as_jsonl, sentences
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.cli.torchrun import Launch, joined, launched
from limbeck.distillation.settings import DistillSettings
from limbeck.errors import UsageError
from limbeck.runs.distilling.together import check_together


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> None:
    """What torchrun tells a process."""
    told = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1"}
    for name, value in {**told, "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
def test_two_processes_write_the_folder_of_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.jsonl").write_text(as_jsonl(sentences(120, documents=8)), encoding="utf-8")
    values = np.random.default_rng(0).normal(size=(len(WORDS), 5))
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(WORDS, values.tolist(), strict=True)]
    (tmp_path / "teacher.vec").write_text("\n".join([f"{len(WORDS)} 5", *lines]) + "\n", encoding="utf-8")
    command: list[Any] = ["distill", "--model", tmp_path / "teacher.vec", "--corpus", tmp_path / "text.jsonl"]
    command += ["--method", "regression", "--set", "epochs=2", "--set", "batch_texts=10", "--unseen", "drop"]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2, "-m", "limbeck"]
    together = [*torchrun, *command, "--out", tmp_path / "two"]
    done = subprocess.run(list(map(str, together)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("words × 5 dimensions") == 1  # the first process speaks
    assert main([*map(str, command), "--out", str(tmp_path / "one")]) == 0
    one, two = (lb.distillation.DistilledVectors.load(tmp_path / name) for name in ("one", "two"))
    np.testing.assert_allclose(two.matrix, one.matrix, rtol=0, atol=1e-5)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert two.record["training"]["processes"] == 2
    assert two.record["counts"] == one.record["counts"]
    capsys.readouterr()


@pytest.mark.usefixtures("started")
def test_commands_of_one_process_are_refused_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert launched() == Launch(1, 2)
    assert main(["measure", "--model", "mini-bert", "--corpus", "sample", "--out", str(tmp_path / "m")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 1
    assert "`limbeck measure` is for one: omit torchrun." in said[0]
    with (
        raises(UsageError, code="exclusive", parameter="device"),
        joined(Launch(1, 2), "cuda:1"),
    ):
        pass


def test_methods_of_one_process_are_refused() -> None:
    check_together(DistillSettings(method="x2static,sent2vec"))
    with raises(UsageError, code="unsupported", parameter="method"):
        check_together(DistillSettings(method="average,x2static,best"))


def test_one_process_of_torchrun_is_like_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WORLD_SIZE", "1")
    assert launched() is None
