"""limbeck repair, and --repair of other commands, from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences

import limbeck as lb
from limbeck.cli import main
from limbeck.tables import read_csv

Run = Callable[..., tuple[int, str, str]]
CLUSTERED = ("--method", "cluster:n_clusters=3,n_components=1", "--local-points", 50, "--min-contexts", 3)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(sentences(120, documents=8)), encoding="utf-8")
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Status, standard output and standard error of a command. Nothing is drawn: that takes long, and has own tests."""
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))

    def run(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as ended:  # argparse
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_repair_then_measure_and_encode(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    source = ("--model", model, "--corpus", text)
    status, out, err = run("repair", *source, *CLUSTERED, "--layers", "0,2", "--points", 100, "--out", tmp_path / "r")
    assert status == 0, err
    assert "tiny: cluster, fitted on" in out
    assert out.count(" → ") == 2 * 6
    assert f"use with --repair {tmp_path / 'r'}" in out
    assert "3 passes: before, after, 1 more" in err
    assert "for the fit" in err
    assert sorted(path.name for path in (tmp_path / "r" / "repairs").iterdir()) == ["0.safetensors", "2.safetensors"]
    assert (tmp_path / "r" / "figures").is_dir()
    # the same vectors, repaired inside another pass
    measured = ("--min-contexts", 3, "--points", 100)
    status, out, err = run(
        "measure", *source, *measured, "--layers", "0,2", "--repair", tmp_path / "r", "--out", tmp_path / "m"
    )
    assert status == 0, err
    ours, theirs = read_csv(tmp_path / "m" / "layers.csv"), read_csv(tmp_path / "r" / "after" / "layers.csv")
    pairs = [(a, b) for a, b in zip(ours["value"], theirs["value"], strict=True) if a]
    assert [float(a) for a, _ in pairs] == pytest.approx([float(b) for _, b in pairs], rel=1e-6)
    file = tmp_path / "r" / "repairs" / "2.safetensors"
    status, _, err = run("encode", *source, "--layers", "2", "--repair", file, "--out", tmp_path / "kept", "--quiet")
    assert status == 0, err
    told = json.loads((tmp_path / "kept" / "vectors.json").read_text())
    assert told["encoder_name"] == "tiny + cluster"
    status, out, err = run("measure", "--vectors", tmp_path / "kept", *measured, "--out", tmp_path / "again")
    assert status == 0, err
    assert "tiny + cluster" in out
    again = read_csv(tmp_path / "again" / "layers.csv")
    place = again["measure"].index("isoscore")
    wanted = [
        v
        for v, m, n in zip(*(theirs[c] for c in ("value", "measure", "layer")), strict=True)
        if (m, n) == ("isoscore", "2")
    ]
    assert float(again["value"][place]) == pytest.approx(float(wanted[0]), rel=1e-2)  # kept as float16


def test_kept_vectors_and_a_chain(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    run("encode", "--model", model, "--corpus", text, "--out", tmp_path / "kept", "--keep", "float32", "--quiet")
    status, out, err = run(
        "repair", "--vectors", tmp_path / "kept", "--method", "center+whiten", "--min-contexts", 3,
        "--local-points", 0, "--out", tmp_path / "r",
    )  # fmt: skip
    assert status == 0, err
    assert "center + whiten" in out
    assert read_csv(tmp_path / "r" / "local.csv")["layer"] == []


def test_a_table(run: Run, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lb.StaticVectors([f"w{i}" for i in range(90)], rng.normal(size=(90, 5)) + 1).save(tmp_path / "table.txt")
    (tmp_path / "counts").write_text("".join(f"w{i} {100 - i}\n" for i in range(90)))
    status, out, err = run("repair", "--model", tmp_path / "table.txt", "--method", "center", "--out", tmp_path / "r")
    assert status == 0, err
    assert "fitted on 90 vectors" in out
    assert "log frequency" not in out
    assert f"repaired vectors: {tmp_path / 'r' / 'vectors' / 'table.txt'}" in out
    status, out, err = run(
        "repair", "--model", tmp_path / "table.txt", "--method", "whiten", "--counts", tmp_path / "counts",
        "--weights", "frequency", "--out", tmp_path / "zipf",
    )  # fmt: skip
    assert status == 0, err
    assert "log frequency" in out


def test_dry_run(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    status, out, _ = run(
        "repair", "--model", model, "--corpus", text, *CLUSTERED, "--points", 50, "--out", tmp_path / "r", "--dry-run"
    )
    assert status == 0
    assert "3 passes" in out
    assert "words a second" in out
    assert not list(tmp_path.iterdir())


def test_resume(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    command = ("repair", "--model", model, "--corpus", text, *CLUSTERED, "--layers", "1")
    assert run(*command, "--out", tmp_path / "r")[0] == 0
    assert run(*command, "--out", tmp_path / "r")[2].endswith(
        "it already holds a run: --existing replace, or another --out.\n"
    )
    status, out, _ = run(*command, "--out", tmp_path / "r", "--existing", "resume")
    assert (status, out) == (0, f"{tmp_path / 'r'}: complete already.\n")
    status, _, err = run(*command, "--seed", 1, "--out", tmp_path / "r", "--existing", "resume")
    assert status == 1
    assert "is resumed with the same" in err
    other = ("--method", "cluster:n_clusters=3,n_components=2")  # the last is heeded
    status, _, err = run(*command, *other, "--out", tmp_path / "r", "--existing", "resume")
    assert status == 1
    assert "settings is another" in err


@pytest.mark.parametrize(
    ("options", "status", "told"),
    [
        (("--method", "centre"), 2, "--method must be one of"),
        (("--method", "center:n_components=3"), 2, "--method center takes no parameters; got 'n_components=3'"),
        (("--method", "all-but-the-top:projection=none"), 2, "projection must be one of centered, uncentered"),
        (("--method", "cluster:init=kmeans++"), 2, "did you mean 'k-means++'"),
        (("--method", "cluster:n_clusters=0"), 2, "whole number of at least 1"),
        (("--method", "cluster:cluster=5"), 2, "did you mean 'n_clusters'"),
        (("--method", "center", "whiten"), 2, "whiten"),
        (("--method", "center", "--weights", "frequency"), 2, "for a table of vectors without a text"),
        (("--method", "center", "--counts", "nowhere"), 1, "nowhere: a file of words and their counts is needed"),
        (("--method", "center", "--vectors", "kept"), 2, "--vectors replaces --model and --corpus"),
        ((), 2, "--method"),
    ],
)
def test_wrong_usage(
    run: Run, model: Path, text: Path, tmp_path: Path, options: tuple[Any, ...], status: int, told: str
) -> None:
    found, _, err = run("repair", "--model", model, "--corpus", text, *options, "--out", tmp_path / "r", "--quiet")
    assert found == status
    assert told in err
    assert "Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_repairs_of_another_model_or_layer(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    source = ("--model", model, "--corpus", text)
    assert run("repair", *source, *CLUSTERED, "--layers", "1", "--out", tmp_path / "r", "--quiet")[0] == 0
    cases = {
        ("--model", model, "--layers", "2"): "they were fitted for 1, not for 2 of tiny",
        ("--model", "mini-bert", "--layers", "1"): "fitted on, tiny; got mini-bert",
    }
    for options, told in cases.items():
        for command in ("measure", "encode"):
            status, _, err = run(
                command, *options, "--corpus", text, "--repair", tmp_path / "r", "--out", tmp_path / "m", "--quiet"
            )
            assert status == 1
            assert told in err
            assert not (tmp_path / "m").exists()


def test_ctrl_c_leaves_what_can_be_resumed(
    run: Run, model: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once in the pass over repaired vectors: what was done before is there, and the same command goes on."""
    from limbeck.repairs.source import RepairedSource

    command = ("repair", "--model", model, "--corpus", text, *CLUSTERED, "--layers", 1, "--out", tmp_path / "r")

    def stopped(*_: Any, **__: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(RepairedSource, "read", stopped)
        status, _, err = run(*command, "--quiet")
    assert status == 130
    assert "to go on: the same command with --existing resume" in err
    assert not (tmp_path / "r").exists()
    status, _, err = run(*command, "--existing", "resume")
    assert status == 0, err
    assert (tmp_path / "r" / "after" / "layers.csv").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["r"]
