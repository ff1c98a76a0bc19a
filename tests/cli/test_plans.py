"""`limbeck plan`, `limbeck run` and `limbeck merge` as they are typed."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from refusals import refused

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import UsageError
from limbeck.runs.execution.pipeline import Pipeline, as_toml, line_of, own_options, sharing, top_options
from limbeck.stream.workers import Workers
from limbeck.tables import read_csv

WORDS = "river lamp copper owl winter sand kettle cellar".split()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with static vectors and a text of some documents."""
    monkeypatch.chdir(tmp_path)
    lines = [f"{word} {' '.join(str((i * 7 + j * 3) % 11 - 4.5) for j in range(4))}" for i, word in enumerate(WORDS)]
    Path("vectors.txt").write_text("\n".join(lines) + "\n")
    said = [" ".join(WORDS[(i * k + k) % 8] for k in range(2, 5 + i % 3)) + f" {i}" for i in range(40)]
    Path("text.txt").write_text("\n\n".join("\n".join(said[i : i + 5]) for i in range(0, 40, 5)) + "\n")
    return tmp_path


SOURCE = ["--model", "vectors.txt", "--corpus", "text.txt", "--format", "prose"]


def test_a_plan_is_written_and_run(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "measure", *SOURCE, "--min-contexts", "2", "--no-text", "--out", "runs/m"]) == 0
    assert main(["plan", "encode", *SOURCE, "--keep", "float32", "--out", "runs/e"]) == 0
    found = tomllib.loads(Path("pipeline.toml").read_text())
    assert found == {
        "model": "vectors.txt",
        "corpus": ["text.txt"],
        "format": "prose",
        "measure": [{"min-contexts": 2, "text": False, "out": "runs/m"}],
        "encode": [{"keep": "float32", "out": "runs/e"}],
    }
    assert main(["run", "pipeline.toml", "--quiet"]) == 0
    assert main(["measure", *SOURCE, "--min-contexts", "2", "--no-text", "--out", "runs/m1", "--quiet"]) == 0
    mine, theirs = read_csv(here / "runs/m/layers.csv"), read_csv(here / "runs/m1/layers.csv")
    for name in ("value", "low", "high", "n"):
        assert [float(a or 0) for a in mine[name]] == pytest.approx([float(b or 0) for b in theirs[name]], abs=1e-9)
    files = [{path.name for path in (here / "runs" / name).rglob("*") if path.is_file()} for name in ("m", "m1")]
    assert files[0] == files[1]
    assert (
        len(lb.OccurrenceVectors.load("runs/e"))
        == json.loads(Path("runs/m/run.json").read_text())["counts"]["words"] - 40
    )
    capsys.readouterr()
    assert refused("run", "pipeline.toml", "--quiet", capsys=capsys) == (1, "exists", "existing")
    assert main(["run", "pipeline.toml", "--quiet", "--existing", "resume"]) == 0
    assert list(lb.run("pipeline.toml", existing="replace")) == [Path("runs/m"), Path("runs/e")]


PIPELINE = """
model = "vectors.txt"
corpus = ["text.txt"]
format = "prose"
[[measure]]
min-contexts = 2
text = false
out = "runs/m"
[[encode]]
out = "runs/e"
"""


def test_stopped_before_anything_is_there(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before, `--existing resume` was advised, with nothing to go on from."""
    Path("pipeline.toml").write_text(PIPELINE)
    before = set(here.rglob("*"))

    def stop(self: Pipeline) -> Any:
        assert len(list(Path("runs").iterdir())) == 2  # both folders are begun
        raise KeyboardInterrupt

    monkeypatch.setattr(Pipeline, "open", stop)
    assert main(["run", "pipeline.toml", "--quiet"]) == 130
    assert capsys.readouterr().err.strip() == "limbeck: stopped."
    assert set(here.rglob("*")) - {here / "runs"} == before
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert main(["run", "pipeline.toml", "--quiet"]) == 0


def test_stopped_in_the_pass_there_is_something_to_go_on_from(
    here: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from limbeck.runs.execution import sharing as sharing_module

    Path("pipeline.toml").write_text(PIPELINE)

    def stop(*given: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(sharing_module, "finish", stop)
    assert main(["run", "pipeline.toml", "--quiet"]) == 130
    assert "the same command with --existing resume" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.chdir(here)
    assert main(["run", "pipeline.toml", "--quiet", "--existing", "resume"]) == 0
    assert {path.name for path in Path("runs").iterdir()} == {"m", "e"}


def test_where_a_plan_runs_is_said_to_run(
    here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("pipeline.toml").write_text(
        'model = "vectors.txt"\ncorpus = "text.txt"\nworkers = 3\nout = "runs"\n[[encode]]\n'
    )
    assert refused("run", "pipeline.toml", "--address", "auto", capsys=capsys) == (2, "no_effect", "address")
    assert not Path("runs").exists()
    asked: list[Any] = []

    def workers_of(engine: str, count: int | None, **options: Any) -> Workers:
        asked.append((engine, count, options["address"], options["gpus_per_worker"]))
        return Workers()

    monkeypatch.setattr("limbeck.stream.run.workers_of", workers_of)
    on_ray = ["--engine", "ray", "--address", "auto", "--gpus-per-worker", "0.5", "--quiet"]
    assert main(["run", "pipeline.toml", *on_ray]) == 0
    assert main(["run", "pipeline.toml", *on_ray, "--workers", "5", "--existing", "replace"]) == 0
    assert asked == [("ray", 3, "auto", 0.5), ("ray", 5, "auto", 0.5)]


def test_folders_of_the_plan(here: Path) -> None:
    Path("p.toml").write_text(
        'model = "vectors.txt"\ncorpus = "text.txt"\nout = "all"\n[[encode]]\n[[encode]]\nkeep = "float32"\n'
    )
    assert list(lb.run("p.toml")) == [Path("all/encode"), Path("all/encode-2")]
    assert list(lb.run("p.toml", out="other")) == [Path("other/encode"), Path("other/encode-2")]
    kinds = [json.loads(Path(f"all/encode{end}/vectors.json").read_text())["dtype"] for end in ("", "-2")]
    assert kinds == ["float16", "float32"]


@pytest.mark.parametrize(
    ("plan", "what"),
    [
        (
            'model = "m"\ncorpus = "c"\n[[measure]]\nmin-contxets = 3\n',
            ":4: 'min-contxets' is no key of .* 'min-contexts'",
        ),
        ('modle = "m"\n', ":1: 'modle' is no key of the top of a pipeline: did you mean 'model'"),
        ('model = "m"\n\n[[measrue]]\n', ":3: 'measrue' is no key .*'measure'"),
        ('model = "m"\ncorpus = "c"\n[[measure]]\nout = "x"\nseed = "many"\n', ":5: seed must be a whole number"),
        ('model = "m"\ncorpus = "c"\n[[measure]]\nout = "x"\npreset = "odd"\n', ":5: preset must be one of"),
        ('model = "m"\ncorpus = "c"\n[[repair]]\nout = "x"\n', ":3: method is required"),
        ('model = "m"\ncorpus = "c"\n[[encode]]\nout = "x"\nlowercase = true\n', ":5: lowercase is shared by all runs"),
        ('model = "m"\ncorpus = "c"\n[[encode]]\nout = "x"\nrepair = "r"\n', ":5: repair changes the vectors"),
        ('model = "m"\ncorpus = "c"\n[[measure]]\n', ":3: a run needs a folder"),
        ('model = "m"\n[[measure]]\nout = "x"\n', "corpus is missing"),
        ('model = "m"\ncorpus = "c"\n', "must have a run"),
        ("model = \n", "must be TOML: .*line 1"),
    ],
)
def test_wrong_plans_name_file_line_and_key(
    here: Path, plan: str, what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("bad.toml").write_text(plan)
    assert main(["run", "bad.toml"]) in (1, 2)
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert re.search(f"bad.toml.*{what}", told), told


def test_a_plan_has_one_model(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "measure", *SOURCE, "--out", "a"]) == 0
    assert (
        main(["plan", "encode", "--model", "other.txt", "--corpus", "text.txt", "--format", "prose", "--out", "b"]) == 2
    )
    assert "model is 'vectors.txt' there and 'other.txt' here" in capsys.readouterr().err
    assert main(["plan", "encode", *SOURCE, "--lowercase", "--out", "b"]) == 2
    assert main(["plan", "measure", "--model", "a", "b", "--corpus", "c", "--out", "d"]) == 2
    capsys.readouterr()
    for option in (["--existing", "resume"], ["--quiet"], ["--json"]):
        assert main(["plan", "measure", *SOURCE, *option, "--out", "d"]) == 2
        told = capsys.readouterr().err
        assert f"{option[0]} has no place in a pipeline: give it to `limbeck run`" in told
        assert told.count("\n") == 1
    assert main(["plan", "meazure"]) == 2
    assert main(["plan"]) == 2


def test_lines() -> None:
    text = "a = 1\n[[measure]]\nb = 2\n\n[[measure]]\nc = 3\nb = 4\n"
    assert [line_of(text, "", 1, "a"), line_of(text, "measure", 1, "b"), line_of(text, "measure", 2, "b")] == [1, 3, 7]
    assert [line_of(text, "measure", 2), line_of(text, "measure", 1, "c"), line_of(text, "probe")] == [5, 2, 0]


def test_values_are_toml() -> None:
    values = {"a": 'say "x"\\', "b": [1, 2.5], "c": True, "d": Path("x/y"), "e": "grün\n"}
    text = "".join(f"{key} = {as_toml(value)}\n" for key, value in values.items())
    assert tomllib.loads(text) == values | {"d": "x/y"}


def test_every_command_that_shares_a_pass_has_options_of_its_own() -> None:
    assert set(sharing()) == {"measure", "encode", "repair", "distill", "probe"}
    for command in sharing():
        assert {"out"} < set(own_options(command))
        assert not {"model", "corpus", "existing", "vectors", "part"} & set(own_options(command))
    assert {"model", "corpus", "layers", "text-unit"} <= set(top_options())
    with pytest.raises(UsageError):
        Pipeline(Path("p"), {"nothing": 1}).check()


def test_merge_as_typed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["--min-contexts", "2", "--quiet"]
    for number in ("1", "2"):
        assert main(["measure", *SOURCE, *settings, "--part", f"{number}/2", "--out", f"parts/{number}"]) == 0
    assert main(["measure", *SOURCE, *settings, "--out", "whole"]) == 0
    capsys.readouterr()
    assert main(["merge", "parts/1", "parts/2", "--out", "merged"]) == 0
    assert "merged: " in capsys.readouterr().out
    mine, theirs = read_csv(here / "merged/layers.csv"), read_csv(here / "whole/layers.csv")
    values = ([float(value or 0) for value in table["value"]] for table in (mine, theirs))
    assert next(values) == pytest.approx(next(values), rel=1e-6, abs=1e-6)  # products of float32, summed in other parts
    assert (here / "merged/figures/anisotropy.png").is_file()
    assert main(["merge", "parts/1", "whole", "--out", "no", "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "parts/1 and whole do not belong together" in told
    assert told.count("\n") == 1
