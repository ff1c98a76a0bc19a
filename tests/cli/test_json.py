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

from limbeck.cli import build_parser, main
from limbeck.cli.output import as_json, console, fitted
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
    monkeypatch.setattr("limbeck.report.draw", lambda folders, out: out.mkdir(parents=True))


def test_every_command_has_the_same_options() -> None:
    (several,) = (action for action in build_parser()._actions if isinstance(action, argparse._SubParsersAction))
    for name, command in several.choices.items():
        for option in ("--json", "--quiet", "--debug"):
            assert option in command._option_string_actions, f"{name} {option}"


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
