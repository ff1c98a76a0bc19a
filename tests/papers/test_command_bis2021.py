"""limbeck reproduce bis2021 from outside: with and without word pairs, its page, and one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from commands import MARKS, Run, check_schema, draw_only, runner
from made import WORDS, as_prose, sentences
from made_tables import write_sets
from safetensors.numpy import save_file

import limbeck.papers.bis2021 as paper
from limbeck.cli import main


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(as_prose(sentences(100)), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest, and has tests of its own."""
    draw_only(monkeypatch, paper, "shift", "sphere")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "bis2021")


def test_the_whole_command(run: Run, model: Path, vectors: Path, text: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(MARKS.format("table-3") + MARKS.format("figure-shift"), encoding="utf-8")
    data = write_sets(tmp_path / "data", WORDS)
    early = tmp_path / "early"
    early.mkdir()
    save_file(
        {f"{at}M": np.full((4, 6), at + 1, dtype=np.float32) for at in (0, 1)}, early / "early-made.txt.safetensors"
    )
    given = [
        "--model",
        model,
        vectors,
        "--corpus",
        text,
        "--data",
        data,
        "--early",
        early,
        "--page",
        page,
        "--out",
        out,
    ]
    status, said, err = run(*given)
    assert status == 0, err
    assert "I(W) is nearly exp(−‖μ‖)" in said
    assert "bert and made.txt are not among the paper's models" in said
    assert "bert: reading its table" in err
    names = ".limbeck figures findings.json findings.md report.html tables".split()
    assert sorted(path.name for path in out.iterdir()) == names
    assert {path.name for path in (out / "tables").iterdir()} == {
        "geometry.csv",
        "singular_values.csv",
        "bins.csv",
        "frequencies.csv",
        "similarity.csv",
        "training.csv",
    }
    assert (out / "tables" / "training.csv").read_text().count("made.txt,") == 2
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    check_schema(found)
    assert [one["kind"] for one in found["models"]] == ["BERT", "word vectors"]
    assert found["models"][1]["counts"]["rows"] == len(WORDS)
    kept = {one["id"]: one for one in found["findings"]}["T3"]["models"]["made.txt"]
    assert "MEN 60, RW 60" in kept["why"]
    written = page.read_text(encoding="utf-8")
    assert "| made.txt | pairs kept | 60 of 61 |" in written
    assert "](figures/bis2021-shift.svg)" in written
    assert [path.name for path in (page.parent / "figures").iterdir()] == ["bis2021-shift.svg"]

    # again, by the command that the findings tell: the same to the byte
    first = (out / "findings.json").read_bytes()
    status, said, err = run(*given)
    assert (status, said) == (1, "")
    assert "it already holds findings" in err
    assert main([*found["command"].split()[1:], "--existing", "replace", "--quiet"]) == 0
    assert (out / "findings.json").read_bytes() == first
    assert page.read_text(encoding="utf-8") == written


def test_without_word_pairs_it_says_what_is_missing(run: Run, vectors: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, _, err = run("--model", vectors, "--corpus", text, "--out", out, "--quiet")
    assert (status, err) == (0, "")
    found = {one["id"]: one for one in json.loads((out / "findings.json").read_text(encoding="utf-8"))["findings"]}
    assert found["T2"]["verdict"] == "cannot be shown"
    assert "by --data" in found["T2"]["why"]
    assert "by --data" in (out / "findings.md").read_text(encoding="utf-8")
    assert found["Q.training"]["why"] == "no tables were kept in the course of its training"


def test_a_dry_run_writes_nothing(run: Run, vectors: Path, text: Path, tmp_path: Path) -> None:
    status, said, _ = run("--model", vectors, "--corpus", text, "--out", tmp_path / "out", "--dry-run")
    assert status == 0
    assert said.startswith(f"made.txt: {len(WORDS)} words × 6, ")
    assert list(tmp_path.iterdir()) == []


def test_presets_are_told(run: Run, vectors: Path, text: Path, tmp_path: Path) -> None:
    run("--model", vectors, "--corpus", text, "--preset", "released", "--out", tmp_path / "out", "--quiet")
    assert json.loads((tmp_path / "out" / "findings.json").read_text(encoding="utf-8"))["preset"] == "released"


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["--layers", "0"], 2, "no option --layers"),
        (["--min-contexts", "3"], 2, "--min-contexts has an effect on ethayarajh2019 only, not on bis2021: omit it."),
        (["--preset", "pater"], 2, "did you mean 'paper'"),
        (["--existing", "never"], 2, "--existing"),
        (["--data", "none"], 1, "a folder with the files of tasks is needed"),
        (["--early", "none"], 1, "--early must be a folder"),
        (["--model", "./none"], 1, "there is nothing at ./none"),
        (["--model", "./m", "./m"], 2, "each model must be given once"),
        (["--corpus", "none.txt"], 1, "none.txt"),
        (["--page", "none.md"], 1, "must be a page that is there"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    got, said, err = run(*arguments, "--out", "x", "--quiet")
    assert (got, said) == (status, "")
    assert told in err
    assert err.strip().count("\n") == 0
    assert list(tmp_path.iterdir()) == []
