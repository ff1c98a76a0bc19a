"""`existing="replace"` never takes away what the run itself reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from made import OwnEncoder, sentences
from refusals import raises

import limbeck as lb
from limbeck.errors import LimbeckError
from limbeck.places import RUN, mark
from limbeck.runs.execution.run import run_classes

MADE = sentences(60, documents=6)


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(command: str, **given: Any) -> None:
    run_classes()[command].of(given).check_inputs()


@pytest.fixture
def read(tmp_path: Path) -> Path:
    """A finished run with a folder of its own and one of somebody else's in it."""
    folder = tmp_path / "read"
    for name in ("part", "mine"):
        (folder / name).mkdir(parents=True)
    (folder / "words.txt").write_text("lamp\n")
    mark(folder, RUN, own=["part/", "words.txt"])
    return folder


def test_vectors_stay_when_they_are_measured_into_their_own_folder(tmp_path: Path) -> None:
    vectors, link = tmp_path / "vectors", tmp_path / "link"
    lb.encode(OwnEncoder(), MADE, out=vectors)
    link.symlink_to(vectors)
    before = content(vectors)
    for out in (vectors, link, f"{vectors}/../vectors", vectors.as_uri()):
        with raises(LimbeckError, code="in_the_way", parameter="out"):
            lb.measure(vectors=vectors, out=out, existing="replace")
    assert content(vectors) == before
    lb.measure(vectors=vectors, out=tmp_path / "run", min_contexts=2, figures=False)
    lb.measure(vectors=vectors, out=tmp_path / "run", min_contexts=2, figures=False, existing="replace")
    assert content(vectors) == before


@pytest.mark.parametrize(
    ("command", "option", "several"),
    [
        ("merge", "runs", True),
        ("evaluate", "targets", True),
        ("evaluate", "data", False),
        ("repair", "vectors", False),
        ("analyze", "vectors", False),
        ("distill", "model", True),
        ("measure", "model", True),
        ("measure", "index_of", False),
        ("measure", "vocabulary", False),
        ("measure", "repair", False),
        ("encode", "corpus", False),
        ("encode", "corpus", True),
        ("finetune", "data", False),
        ("probe", "static", False),
    ],
)
def test_every_option_that_names_files(read: Path, command: str, option: str, several: bool) -> None:
    fixed = {"data": read.parent} if command == "finetune" and option != "data" else {}
    for path in (read, read / "words.txt"):  # what is read, or a folder around it
        given = [str(path)] if several else path
        with raises(LimbeckError, code="in_the_way", parameter="out"):
            check(command, **fixed, **{option: given}, out=read, existing="replace")
        check(command, **fixed, **{option: given}, out=read.parent / "other", existing="replace")
        check(command, **fixed, **{option: given}, out=read, existing="fail")
    if command in ("merge", "measure"):
        check(command, **{option: given}, out=read, existing="resume")


def test_a_part_of_a_run_that_is_read(read: Path) -> None:
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        check("measure", vectors=read, out=read / "part", existing="replace")
    check("measure", vectors=read, out=read / "mine", existing="replace")  # no part of it
    check("evaluate", targets=["mini-bert"], data=read.parent, out=read, existing="replace")  # nor of just any folder


def test_what_only_looks_like_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    check("measure", model=["org/name"], corpus="sample", out="org/name", existing="replace")  # there is none here
    for name in ("mini-bert", "sample"):
        Path(name).mkdir()
        check("measure", model=["mini-bert"], corpus="sample", out=name, existing="replace")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        check("measure", model=["./mini-bert"], corpus="sample", out="mini-bert", existing="replace")
    check("measure", model=[OwnEncoder()], corpus=[["a", "word"], "a text\0"], out=tmp_path, existing="replace")


def test_a_pipeline_keeps_what_its_runs_share(tmp_path: Path) -> None:
    """The text stands in the folder of an earlier run, which the pipeline would replace."""
    lb.measure(OwnEncoder(), MADE, out=tmp_path / "run", min_contexts=2, figures=False)
    text = tmp_path / "run" / "text.txt"
    text.write_text("a lamp\nthe lamp\n")
    file = tmp_path / "pipeline.toml"
    file.write_text(f'model = "mini-bert"\ncorpus = "{text}"\n[[measure]]\nout = "{tmp_path / "run"}"\n')
    before = content(tmp_path / "run")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        lb.run(file, existing="replace")
    assert content(tmp_path / "run") == before
