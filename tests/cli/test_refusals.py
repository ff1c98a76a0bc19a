"""What is refused, as three readers see it: somebody at a terminal, a program that asks for JSON, Python."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from refusals import raises, refused

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, UsageError
from limbeck.places import RUN, mark

ASKED = ("--model", "mini-bert", "--corpus", "sample")
#: runs a command; ends with 0 where neither torch nor scikit-learn was loaded for it
LIGHT = """
import sys
from limbeck.cli import main
main(sys.argv[1:])
sys.exit(any(name in sys.modules for name in ("torch", "sklearn")))
"""


@pytest.mark.parametrize(
    ("words", "status", "code", "parameter"),
    [
        (["measure", "--corpus", "{empty}", "--format", "x"], 2, "unknown_choice", "format"),
        (["measure", "--corpus", "{empty}"], 1, "empty", ""),
        (["measure", "--corpus", "{empty}/none"], 1, "not_found", ""),
        (["measure", "--corpus", "sample", "--points", "0"], 2, "out_of_range", "points"),
        (["measure", "--corpus", "sample", "--pionts", "9"], 2, "unknown_option", "--pionts"),
        (["mesure"], 2, "unknown_command", ""),
    ],
)
def test_a_program_reads_what_is_wrong_and_with_which_option(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], status: int, code: str, parameter: str
) -> None:
    empty = tmp_path / "empty.txt"
    empty.touch()
    given = [word.format(empty=empty) for word in words]
    if len(given) > 1:
        given += ["--model", "mini-bert", "--out", str(tmp_path / "run")]
    assert refused(*given, capsys=capsys) == (status, code, parameter)
    assert not (tmp_path / "run").exists()


def test_somebody_at_a_terminal_reads_one_line(tmp_path: Path) -> None:
    text = tmp_path / "a.txt"
    text.write_text("Green tea.")
    typed = ["measure", "--model", "mini-bert", "--corpus", str(text), "--format", "pros", "--out", str(tmp_path / "o")]
    done = subprocess.run([sys.executable, "-m", "limbeck", *typed], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("limbeck: --format must be one of ")
    assert done.stderr.endswith("; got 'pros', did you mean 'prose'?\n")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "status", "code", "parameter", "says"),
    [
        (["compare", "runs/raw", "runs/gone"], 1, "not_found", "", ""),
        (["compare", "runs/row", "runs/raw"], 1, "not_found", "", "did you mean runs/raw?"),
        (["compare", "runs/raw", "runs/late"], 1, "unfinished", "", "runs/.late.unfinished"),
        (["compare", "runs/raw", "runs/model"], 1, "no_run", "", "limbeck measure --model runs/model"),
        (["compare", "runs/raw", "runs/empty"], 1, "no_run", "", "check the path"),
        (["measure", *ASKED, "--repair", "runs/late"], 1, "unfinished", "repair", "runs/.late.unfinished"),
        (["measure", *ASKED, "--repair", "runs/row"], 1, "not_found", "repair", "did you mean runs/raw?"),
        (["measure", *ASKED, "--layers", "a"], 2, "malformed", "layers", "--layers must be"),
        (["measure", "--model", "mini-bert", "text.txt"], 2, "other_kind", "model", "did you mean --corpus text.txt?"),
        (["repair", "--model", "mini-bert", "text.txt"], 2, "unknown_argument", "", "did you mean --corpus text.txt?"),
        (["encode", *ASKED, "--layers", "0,3-"], 2, "malformed", "layers", ""),
        (["measure", "--model", "mini-bret", "--corpus", "sample"], 1, "not_found", "model", "did you mean mini-bert?"),
        (["distill", "--model", "minibert", "--corpus", "sample"], 1, "not_found", "model", "did you mean mini-bert?"),
    ],
)
def test_what_is_not_there_is_refused_before_anything_heavy_is_loaded(
    tmp_path: Path, words: list[str], status: int, code: str, parameter: str, says: str
) -> None:
    make_folders(tmp_path)
    given = words if words[0] == "compare" else [*words, "--out", "out"]
    done = subprocess.run(
        [sys.executable, "-c", LIGHT, *given, "--json"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    said = json.loads(done.stdout)
    assert (said["status"], said["code"], said.get("parameter", "")) == (status, code, parameter)
    assert says in said["error"]
    assert done.stderr.count("\n") == 1, done.stderr
    assert done.returncode == 0


def make_folders(here: Path) -> None:
    """A run, an unfinished one, a model and nothing, in runs/."""
    for name in ("raw", "model", "empty", ".late.unfinished"):
        (here / "runs" / name).mkdir(parents=True)
    (here / "runs" / "raw" / "run.json").write_text('{"command": "measure"}')
    (here / "runs" / "model" / "config.json").write_text("{}")
    mark(here / "runs" / ".late.unfinished", RUN)
    (here / "text.txt").write_text("Green tea.\n")


EVALUATE = ("--tasks", "sts-b", "--data", ".")


@pytest.mark.parametrize(
    ("words", "code", "parameter"),
    [
        (["evaluate", "mini-bert", *EVALUATE, "--repair", "runs/late"], "unfinished", "repair"),
        (["evaluate", "mini-bert", *EVALUATE, "--repair", "runs/none"], "not_found", "repair"),
        (["evaluate", "mini-gtp2", *EVALUATE], "not_found", "targets"),
        (["merge", "runs/late", "runs/raw", "--out", "m"], "unfinished", "runs"),
        (["merge", "runs/empty", "runs/raw", "--out", "m"], "no_run", "runs"),
        (["run", "gone.toml"], "not_found", ""),
    ],
)
def test_folders_and_models_that_are_not_there(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    words: list[str],
    code: str,
    parameter: str,
) -> None:
    make_folders(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert refused(*words, capsys=capsys) == (1, code, parameter)


def test_a_result_that_is_not_there_cannot_be_loaded(tmp_path: Path) -> None:
    make_folders(tmp_path)
    for name, code in (("late", "unfinished"), ("none", "not_found"), ("empty", "no_run")):
        with raises(InputError, code=code):
            lb.MeasureResult.load(tmp_path / "runs" / name)


def test_python_reads_parameters() -> None:
    with raises(UsageError, code="unknown_choice", parameter="format", says="format must be one of ") as caught:
        lb.Corpus("sample", format="pros")  # type: ignore[arg-type]
    assert "--" not in str(caught.value)


def test_a_line_of_a_file_is_named_as_editors_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "Green tea."}\n[1]\n')
    with raises(InputError, code="malformed", says=f"{path}:2: "):
        list(lb.Corpus(path))
    assert main(["measure", "--model", "mini-bert", "--corpus", str(path), "--out", str(tmp_path / "o")]) == 1
    assert capsys.readouterr().err.startswith(f"limbeck: {path}:2: ")
