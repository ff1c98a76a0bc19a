"""`lb.reproduce`, its result, and the options that a paper takes, by the command's classes."""

from __future__ import annotations

import errno
import json
import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from commands import MARKS, draw_only
from made import as_prose, sentences
from refusals import raises

import limbeck as lb
import limbeck.papers.bis2021 as bis2021
from limbeck.cli import main
from limbeck.cli.program import read_command
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.papers import PAPERS
from limbeck.papers.probe_wanted import TASKS
from limbeck.papers.reproduce import ReproduceRun
from limbeck.papers.settings import TunedSettings
from limbeck.places import REPRODUCTION, mark
from limbeck.settings import options_of

#: an option that only some papers take -> those
TAKEN = {
    "min_contexts": ["ethayarajh2019"],
    "senses": ["ethayarajh2019"],
    "engine": ["ethayarajh2019"],
    "text": ["ethayarajh2019"],
    "units": ["ethayarajh2019"],
    "points": ["ethayarajh2019", "rajaee2021"],
    "max_contexts": ["ethayarajh2019", "zhao2020"],
    "workers": ["ethayarajh2019", "gupta2021"],
    "pooling": ["ethayarajh2019", "zhao2020", "gupta2021"],
    "device": ["ethayarajh2019", "zhao2020", "rajaee2021", "gupta2021"],
    "batch_tokens": ["ethayarajh2019", "zhao2020", "rajaee2021", "gupta2021"],
    "quick": ["zhao2020", "rajaee2021", "gupta2021"],
    "max_train": ["zhao2020", "rajaee2021", "gupta2021"],
    "starts": ["zhao2020", "rajaee2021", "gupta2021"],
    "epochs": ["zhao2020", "gupta2021"],
    "hidden": ["zhao2020"],
    "tasks": ["zhao2020"],
    "not_tuned": ["zhao2020"],
    "max_pairs": ["rajaee2021"],
    "seeds": ["rajaee2021"],
    "count_in": ["rajaee2021"],
    "early": ["bis2021"],
    "min_count": ["gupta2021"],
    "fine_tuned": ["gupta2021"],
}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest, and has tests of its own."""
    draw_only(monkeypatch, bis2021, "shift")


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(as_prose(sentences(60)), encoding="utf-8")
    return path


@pytest.mark.parametrize("paper", PAPERS)
def test_a_paper_takes_its_own_options_and_no_others(paper: str) -> None:
    known = {one.name: one for one in ReproduceRun.all_options()}
    for name, papers in TAKEN.items():
        assert (name in {one.name for one in ReproduceRun.kinds()[paper].all_options()}) == (paper in papers), name
        if paper not in papers:
            value = known[name].names[0] if known[name].names else True if known[name].type is bool else 3
            with pytest.raises(UsageError) as refused:
                ReproduceRun.of({"paper": paper, name: value})
            assert (refused.value.code, refused.value.parameter) == ("no_effect", name)


def test_what_is_no_option_of_any_paper() -> None:
    for keywords, code, parameter in (
        ({"paper": "bis2021", "erly": "x"}, "unknown_parameter", "erly"),
        ({"paper": "bis2020"}, "unknown_choice", "paper"),
        ({"paper": "zhao2020", "preset": "released"}, "unknown_choice", "preset"),
        ({"out": "x"}, "required", "paper"),
    ):
        with pytest.raises(UsageError) as refused:
            ReproduceRun.of(keywords)
        assert (refused.value.code, refused.value.parameter) == (code, parameter)


def test_help_of_a_paper_shows_what_it_takes(capsys: pytest.CaptureFixture[str]) -> None:
    for words, there, absent in (
        (["bis2021"], ("--early", "--lowercase"), ("--quick", "--min-contexts", "[")),
        ([], ("--early", "--quick", "[bis2021]", "[not bis2021]"), ()),
    ):
        with pytest.raises(SystemExit):
            main(["reproduce", *words, "--help"])
        told = " ".join(capsys.readouterr().out.split("\npapers:")[0].split()[5:])
        told = told.replace("[C ...]", "").replace("[M ...]", "")
        for part in there:
            assert part in told
        for part in absent:
            assert part not in told


def test_the_command_is_told_as_it_can_be_typed() -> None:
    typed = shlex.split(
        "zhao2020 --model 'my model' mini-bert --corpus a.txt b.txt --out out --page p.md --lowercase --columns 1,2 "
        "--context-size 0,4 --classes noun.*,verb --max-contexts 2 --not-tuned mini-bert"
    )
    again = ["--existing", "resume"]
    made, _ = read_command(ReproduceRun, [*again, *typed])
    assert made.command_line.startswith("limbeck reproduce zhao2020 --model 'my model' mini-bert --corpus a.txt b.txt ")
    assert sorted(shlex.split(made.command_line)) == sorted(["limbeck", "reproduce", *typed])
    back, _ = read_command(ReproduceRun, [*shlex.split(made.command_line)[2:], *again])
    assert back == made


def test_tasks_that_are_suggested_are_those_there_are() -> None:
    (one,) = (one for one in options_of(TunedSettings) if one.name == "tasks")
    assert tuple(one.names) == tuple(TASKS)


def test_from_python_as_on_the_command_line(vectors: Path, text: Path, tmp_path: Path) -> None:
    result = lb.reproduce("bis2021", vectors, text, seed=3, out=tmp_path / "python")
    typed = ["--model", vectors, "--corpus", text, "--seed", 3, "--out", tmp_path / "typed", "--quiet"]
    assert main(["reproduce", "bis2021", *map(str, typed)]) == 0
    told = [json.loads((tmp_path / name / "findings.json").read_text(encoding="utf-8")) for name in ("python", "typed")]
    for one in told:
        assert one.pop("command").startswith(f"limbeck reproduce bis2021 --model {vectors} --corpus {text} --out ")
        for finding in one["findings"]:
            del finding["command"]
    assert told[0] == told[1]
    names = [sorted(path.relative_to(tmp_path / name) for path in (tmp_path / name).rglob("*") if path.is_file())
             for name in ("python", "typed")]  # fmt: skip
    assert names[0] == names[1]
    geometry = [(tmp_path / name / "tables" / "geometry.csv").read_bytes() for name in ("python", "typed")]
    assert geometry[0] == geometry[1]

    # and as a value
    assert lb.ReproduceResult.load(tmp_path / "python") == result
    table = result.to_pandas()
    assert list(table["claim"]) == [one["id"] for one in told[0]["findings"]]
    assert list(table["verdict"]) == [one["verdict"] for one in told[0]["findings"]]
    assert result["T2"]["verdict"] == "cannot be shown"
    assert "Too Much in Common" in result._repr_html_()
    result.save(tmp_path / "saved")
    saved = tmp_path / "saved" / "findings.json"
    assert saved.read_bytes() == (tmp_path / "python" / "findings.json").read_bytes()
    assert lb.ReproduceResult.load(tmp_path / "saved") == result
    for existing in ("bogus", "resume"):
        with raises(UsageError, code="unknown_choice", parameter="existing"):
            result.save(tmp_path / "undrawn", existing=existing)  # type: ignore[arg-type]
    result.save(tmp_path / "undrawn", figures=False)
    assert sorted(path.name for path in (tmp_path / "undrawn").rglob("*shift*")) == []
    assert "figures/" not in (tmp_path / "undrawn" / "findings.md").read_text(encoding="utf-8")
    assert "figures/shift.png" in (tmp_path / "saved" / "findings.md").read_text(encoding="utf-8")
    other = {**result.record, "note": "another"}
    assert lb.ReproduceResult(other, result.tables) != result
    assert result.plot("shift").axes
    with pytest.raises(LimbeckError) as loaded:
        lb.ReproduceResult.load(tmp_path / "python").save(tmp_path / "more")
    assert loaded.value.code == "unsupported"
    assert not (tmp_path / "more").exists()

    with pytest.raises(LimbeckError) as there:
        lb.reproduce("bis2021", vectors, text, out=tmp_path / "python")
    assert (there.value.code, there.value.parameter) == ("exists", "existing")


def test_a_folder_is_of_one_paper(vectors: Path, text: Path, tmp_path: Path) -> None:
    lb.reproduce("bis2021", vectors, text, out=tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    with raises(LimbeckError, code="other_run", parameter="out"):
        lb.reproduce("rajaee2021", out=tmp_path / "out", existing="resume")
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before
    lb.reproduce("bis2021", vectors, text, out=tmp_path / "out", existing="resume")


def test_what_a_stopped_run_has_kept_is_not_thrown_away(vectors: Path, text: Path, tmp_path: Path) -> None:
    result = lb.reproduce("bis2021", vectors, text, out=tmp_path / "out")
    (tmp_path / "out" / "findings.json").unlink()
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        lb.reproduce("bis2021", vectors, text, out=tmp_path / "out")
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        result.save(tmp_path / "out")
    lb.reproduce("bis2021", vectors, text, out=tmp_path / "out", existing="replace")
    (tmp_path / "empty" / "spaces").mkdir(parents=True)
    mark(tmp_path / "empty", REPRODUCTION)  # nothing was measured yet
    lb.reproduce("bis2021", vectors, text, out=tmp_path / "empty")


@pytest.mark.filterwarnings("error")
def test_a_users_files_are_neither_removed_nor_overwritten(vectors: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = lb.reproduce("bis2021", vectors, text, out=out)
    mine = {"static.csv": "mine, named as a table that is empty", "notes.csv": "mine too"}
    for name, content in mine.items():
        (out / name).write_text(content, encoding="utf-8")
    lb.reproduce("bis2021", vectors, text, out=out, existing="resume")
    lb.reproduce("bis2021", vectors, text, out=out, existing="replace")  # limbeck's own are, without a word
    replace(result, numbers={**result.numbers, "static.csv": {}}).save(out, existing="replace")
    assert {name: (out / name).read_text(encoding="utf-8") for name in mine} == mine
    assert not list(out.rglob("*.yours*"))

    # a stopped run has recorded nothing yet: what has the name of a table is the user's
    begun = tmp_path / "begun"
    users = {"tables/geometry.csv": "mine", "figures/shift.svg": "mine", "findings.md": "mine"}
    begun.mkdir()
    mark(begun, REPRODUCTION)
    for name, content in users.items():
        (begun / name).parent.mkdir(exist_ok=True)
        (begun / name).write_text(content, encoding="utf-8")
    with pytest.warns(RuntimeWarning, match=r"geometry\.csv\.yours"):
        lb.reproduce("bis2021", vectors, text, out=begun, existing="resume")
    for name, content in users.items():
        assert (begun / f"{name}.yours").read_text(encoding="utf-8") == content
    geometry = "tables/geometry.csv"
    assert (begun / geometry).read_bytes() == (out / geometry).read_bytes()

    # a table that is empty now goes, if limbeck has written it
    replace(result, numbers={geometry: {}}).save(out, existing="replace")
    assert not (out / geometry).exists()
    assert (out / "notes.csv").exists()


def test_a_page_that_cannot_be_written_is_refused_first(
    vectors: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pipe, page, out = tmp_path / "pipe", tmp_path / "docs" / "page.md", tmp_path / "out"
    os.mkfifo(pipe)
    page.parent.mkdir()
    page.write_text(MARKS.format("figure-shift"), encoding="utf-8")
    given: dict[str, Any] = {"model": vectors, "corpus": text, "out": out}
    with raises(InputError, code="not_found", parameter="page"):  # it does not wait for somebody to write
        lb.reproduce("bis2021", **given, page=pipe)
    (page.parent / "figures").write_text("a file", encoding="utf-8")
    with raises(LimbeckError, code="not_writable", parameter="page"):
        lb.reproduce("bis2021", **given, page=page)
    assert not out.exists()

    # what goes wrong with it later costs no findings
    (page.parent / "figures").unlink()

    def fail(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "no space", str(page))

    monkeypatch.setattr("limbeck.papers.results.write_blocks", fail)
    with pytest.raises(OSError, match="no space"):
        lb.reproduce("bis2021", **given, page=page)
    assert lb.ReproduceResult.load(out).findings


def test_without_a_folder(vectors: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = lb.reproduce("bis2021", [str(vectors)], [str(text)])
    assert result.record["models"][0]["name"] == vectors.name
    assert len(result.findings) > 20
    assert list(tmp_path.iterdir()) == []


def test_what_python_refuses(vectors: Path, text: Path, tmp_path: Path) -> None:
    array: Any = lb.StaticVectors.load(vectors)
    for keywords, kind, code, parameter in (
        ({"model": array}, UsageError, "wrong_type", "model"),
        ({"model": vectors, "corpus": "-"}, UsageError, "read_once", "corpus"),
        ({"model": vectors, "corpus": text, "early": tmp_path / "no"}, InputError, "not_found", "early"),
    ):
        with pytest.raises(kind) as refused:
            lb.reproduce("bis2021", **keywords)
        assert (refused.value.code, refused.value.parameter) == (code, parameter)
    with pytest.raises(UsageError) as static:
        lb.reproduce("rajaee2021", vectors, text)
    assert (static.value.code, static.value.parameter) == ("unsupported", "model")


def test_a_folder_of_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "findings.json").write_text('{"format": 3, "findings": []}', encoding="utf-8")
    with pytest.raises(InputError) as elsewhere:
        lb.load(tmp_path)
    assert (elsewhere.value.code, elsewhere.value.parameter) == ("other_kind", "path")
    with pytest.raises(InputError) as refused:
        lb.ReproduceResult.load(tmp_path)
    assert refused.value.code == "other_format"
