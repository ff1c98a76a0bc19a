"""--json, --quiet and what is printed in narrow windows, of all commands alike."""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences

import limbeck as lb
from limbeck.cli import main
from limbeck.cli.output import as_json, console, fitted, recorded
from limbeck.cli.program import build_parser
from limbeck.tables import read_csv


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_models.save_bert(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(sentences(120, documents=6)), encoding="utf-8")
    return path


@pytest.fixture
def no_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))


def test_every_command_has_the_same_options() -> None:
    (several,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, command in several.choices.items():
        for option in ("--json", "--quiet", "--debug"):
            assert option in command._option_string_actions, f"{name} {option}"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_a_full_output_is_told_in_a_line() -> None:
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "limbeck", "models", "--json"], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.usefixtures("no_figures")
def test_a_run_as_one_object(model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["measure", "--model", str(model), "--corpus", str(text), "--out", str(tmp_path / "run"), "--json"]
    assert main(command) == 0
    said = capsys.readouterr()
    found = json.loads(said.out)  # nothing else is on standard output
    assert "words in" in said.err  # progress is elsewhere
    assert (found["command"], found["status"]) == ("measure", 0)
    (run,) = found["runs"]
    table = read_csv(tmp_path / "run" / "layers.csv")
    written = {
        (layer, measure): value
        for layer, measure, value in zip(table["layer"], table["measure"], table["value"], strict=True)
    }
    for measure, parts in run["measures"].items():
        for layer, value in zip(run["layers"], parts["value"], strict=True):
            told = written[layer, measure]
            assert (value is None) == (told == "")
            assert value is None or value == float(told)
    assert run["out"] == str(tmp_path / "run")
    assert main([*command, "--existing", "resume", "--quiet"]) == 0
    said = capsys.readouterr()
    assert json.loads(said.out)["lines"] == [f"{tmp_path / 'run'}: complete already."]
    assert said.err == ""


def test_distilled_vectors_as_one_object(
    model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, out = tmp_path / "words.txt", tmp_path / "v"
    words.write_text("river\nbarrel\n😀\n", encoding="utf-8")
    command = ["distill", "--model", str(model), "--corpus", str(text), "--words", str(words), "--out", str(out)]
    command += ["--method", "average,sent2vec", "--set", "sent2vec.dim=4", "--json", "--quiet"]
    for again in ([], ["--existing", "resume"]):  # a finished run tells the same
        assert main([*command, *again]) == 0
        found = json.loads(capsys.readouterr().out)
        assert found["out"] == str(out)
        average, baseline = found["vectors"]
        unknown = "the teacher's tokenizer knows no piece of the word"
        assert average == {
            "folder": str(out / "average"),
            "method": "average",
            "layer": "2",
            "words": 2,
            "dim": 16,
            "origins": {"corpus": 1, "frame": 1},
            "left_out": {unknown: 1},
            "left_out_words": {unknown: ["😀"]},
            "scores": [],
        }
        assert (baseline["layer"], baseline["words"], baseline["dim"]) == (None, 1, 4)
        assert baseline["left_out_words"] == {"no vector for the word": ["barrel", "😀"]}
        assert len(lb.StaticVectors.load(baseline["folder"])) == 1
        assert any("1 word has none: 😀 (the teacher's" in line for line in found["lines"])


def test_what_is_wrong_is_in_the_object_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["measure", "--model", "m", "--out", str(tmp_path / "x"), "--json"]) == 2
    said = capsys.readouterr()
    found = json.loads(said.out)
    assert found["status"] == 2
    assert found["error"] in said.err
    assert "--corpus" in found["error"]


def test_numbers_that_json_does_not_have() -> None:
    made = {
        "a": float("nan"),
        "b": np.array([1.0, np.inf]),
        "c": Path("x"),
        "d": (1, {"e": np.float32(0.5)}),
        "f": True,
    }
    assert json.loads(as_json(made)) == {"a": None, "b": [1.0, None], "c": "x", "d": [1, {"e": 0.5}], "f": True}


def test_text_stays_text_and_numbers_are_numbers() -> None:
    """A word may look like a number; only what stands in a column of numbers is one."""
    from rich.table import Table

    table = Table(title="words")
    table.add_column("word")
    table.add_column("layer", justify="right")
    for name in ("n", "cosine", "interval"):
        table.add_column(name, justify="right")
    table.add_row("nan", "0", "1,234", "+0.50", "[0.1, 0.2]")
    table.add_row("1_000", "table", "7", "nan", "-")
    table.add_row("inf", "12", "1_000", "1e-05", "")
    table.add_row("1e5", "-1", "12,34", "-0.0", "infinity")
    with recorded(True) as told:
        console().print(table)
    (found,) = json.loads(as_json(told))["tables"]
    assert [row["word"] for row in found["rows"]] == ["nan", "1_000", "inf", "1e5"]
    assert [row["layer"] for row in found["rows"]] == ["0", "table", "12", "-1"]
    assert [row["n"] for row in found["rows"]] == [1234, 7, "1_000", "12,34"]
    assert [row["cosine"] for row in found["rows"]] == [0.5, None, 1e-5, 0.0]
    assert [row["interval"] for row in found["rows"]] == ["[0.1, 0.2]", None, None, "infinity"]
    assert isinstance(found["rows"][0]["n"], int)


def test_a_file_name_that_is_no_text(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        told = as_json({"out": Path("text-\udcff.txt"), "word": "thé"})
    assert json.loads(told) == {"out": "text-\udcff.txt", "word": "thé"}
    told.encode("ascii")  # it can be printed


# quiet


@pytest.mark.usefixtures("no_figures")
def test_quiet_is_silent(model: Path, text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where files hold the result nothing is printed; errors, and what is nowhere else, are."""
    source = ["--model", str(model), "--corpus", str(text), "--quiet"]
    for command in (
        ["measure", *source, "--out", str(tmp_path / "a")],
        ["measure", *source, "--layers", "1", "--out", str(tmp_path / "b")],
        ["encode", *source, "--out", str(tmp_path / "kept")],
        ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--out", str(tmp_path / "compared"), "--quiet"],
        ["report", str(tmp_path / "a"), "--out", str(tmp_path / "page.html"), "--quiet"],
        ["plan", "--quiet", "--to", str(tmp_path / "plan.toml"), "measure", *source[:-1], "--out", "x"],
    ):
        assert main(command) == 0, command
        said = capsys.readouterr()
        assert (said.out, said.err) == ("", ""), command
    assert main(["measure", *source, "--out", str(tmp_path / "a")]) == 1
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("limbeck: ")
    for command in (
        ["compare", str(tmp_path / "a"), str(tmp_path / "b"), "--quiet"],
        ["measure", *source, "--out", str(tmp_path / "new"), "--dry-run"],
        ["models", "--quiet"],
    ):
        assert main(command) == 0
        said = capsys.readouterr()
        assert said.out.strip(), command
        assert said.err == "", command


# windows


def printed(table: object, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setenv("COLUMNS", str(width))
    console().print(table)
    return capsys.readouterr().out


def wide_table() -> object:
    from rich.table import Table

    table = Table(title="so many")
    for name in ("layer", *"abcdefghij"):
        table.add_column(name, justify="right")
    for layer in range(3):
        table.add_row(str(layer), *(f"{layer}.{place}234" for place in range(10)))
    return table


@pytest.mark.parametrize("width", [40, 60, 100])
def test_narrow_windows_lose_no_number(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed(wide_table(), width, monkeypatch, capsys)
    assert max(map(len, said.splitlines())) <= width
    for layer in range(3):
        for place in range(10):
            assert f"{layer}.{place}234" in said
    assert "…" not in said
    assert said.count("so many") == 1


def test_a_table_that_fits_stays_whole() -> None:
    table = wide_table()
    assert fitted(table, 120) == [table]  # type: ignore[arg-type]
    assert len(fitted(table, 60)) == 2  # type: ignore[arg-type]


def test_lines_fit_the_window_and_stay_whole_in_a_pipe(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = f"a line of many words, 95 % of which fit, and {'a/path/that-is/' * 5}run: report.html"
    monkeypatch.delenv("COLUMNS", raising=False)
    console().print(line, markup=False, soft_wrap=True)
    assert capsys.readouterr().out == line + "\n"
    for width in (25, 40, 60):
        said = printed_line(line, width, monkeypatch, capsys)
        assert " ".join(said) == line  # nothing is lost, and a path is not broken
        assert all(len(part) <= width or "/" in part for part in said)
        assert not any(part.startswith("%") for part in said)


def printed_line(
    line: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    console().print(line, markup=False, soft_wrap=True)
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("width", [40, 60, 80])
def test_help_fits_the_window(width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Of every command: what is wider is a command, a line of a file or one long word; no word of the text is lost."""
    (several,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name in ["", *several.choices]:
        told = {}
        for columns in (width, 200):
            monkeypatch.setenv("COLUMNS", str(columns))
            with pytest.raises(SystemExit):
                main([*filter(None, [name]), "--help"])
            told[columns] = capsys.readouterr().out
        for line in told[width].splitlines():
            copied = any(mark in line for mark in ("limbeck", " --", "[--", '{"', " = ", "\\"))
            assert len(line) <= width or copied or len(line.split()) == 1, f"{name}: {line}"
        text = {columns: said[said.rindex("traceback") :] for columns, said in told.items() if name}
        assert not text or text[width].split()[5:] == text[200].split()[5:]


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_terminal_of_another_time(encoding: str) -> None:
    """Characters that it does not have are question marks."""
    command = [sys.executable, "-m", "limbeck", "compare", "--help"]
    done = subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert done.returncode == 0, done.stderr.decode()
    assert "--layers A:B,?" in done.stdout.decode(encoding)


def test_no_colour_without_a_terminal_or_with_no_color() -> None:
    """From outside, as a pipe sees it; a terminal that is told NO_COLOR is a pseudo terminal."""
    command = [sys.executable, "-m", "limbeck", "models"]
    piped = subprocess.run(command, check=True, capture_output=True, text=True)
    assert "\x1b[" not in piped.stdout
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    code = (
        "from rich.table import Table; from limbeck.cli.output import console\n"
        "t = Table(title='t'); t.add_column('n', style='red'); t.add_row('1'); console().print(t)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=slave, env={**os.environ, "NO_COLOR": "1", "TERM": "xterm"}
    ) as process:
        process.wait()
        said = os.read(master, 10_000).decode()
    os.close(slave)
    os.close(master)
    assert "\x1b[31m" not in said
    assert "1" in said
