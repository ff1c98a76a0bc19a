"""What is refused, as three readers see it: somebody at a terminal, a program that asks for JSON, Python."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from refusals import raises, refused

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, UsageError


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
