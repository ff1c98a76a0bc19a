"""What disks do to runs, each done here: full, unwritable, taken by another run, a text that changes or vanishes."""

from __future__ import annotations

import errno
import os
import resource
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made import OwnEncoder, as_jsonl, sentences
from refusals import raises

import limbeck as lb
from limbeck.accumulators import Moments
from limbeck.cli import main
from limbeck.errors import InputError, LimbeckError
from limbeck.places import unfinished_of
from limbeck.runs.encode import EncodeRun
from limbeck.runs.execution.folders import RunFolder, held, room_in
from limbeck.runs.execution.sharing import Reading, run_jobs
from limbeck.runs.measure import MeasureRun
from limbeck.tables import read_csv

MADE = sentences(240, documents=14)
SETTINGS: dict[str, Any] = {"min_contexts": 3, "points": 150, "mev_words": 5, "figures": False}


@contextmanager
def no_larger_files_than(size: int) -> Iterator[None]:
    """As on a full disk: writing beyond a size fails, with another number of error."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 kB."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = shutil.which("mount")
    made = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(place)], capture_output=True, check=False
    )
    if not made or made.returncode:
        pytest.skip("mounting is not allowed here")
    yield place
    subprocess.run(["umount", str(place)], check=True)


def writers() -> dict[str, Any]:
    """Runs into a folder, by command."""
    return {
        "measure": lambda out: lb.measure(OwnEncoder(), MADE, out=out, **SETTINGS),
        "encode": lambda out: lb.encode(OwnEncoder(), MADE, out=out),
        "distill": lambda out: lb.distill(OwnEncoder(), MADE, method=["average"], unseen="drop", min_count=2, out=out),
        "repair": lambda out: lb.repair(OwnEncoder(), MADE, method="center", out=out, figures=False),
        "plan": lambda out: run_jobs(
            [MeasureRun.of({"out": out, "figures": False, **SETTINGS})],
            lambda: Reading(lb.Corpus.from_sentences(MADE), OwnEncoder()),
        ),
    }


@pytest.mark.parametrize("command", writers())
def test_a_disk_that_takes_no_more(tmp_path: Path, command: str) -> None:
    target = tmp_path / "out"
    with no_larger_files_than(2_000), pytest.raises(LimbeckError) as caught:
        writers()[command](target)
    assert caught.value.code in ("not_writable", "not_writable")
    assert "too large" in str(caught.value)
    assert str(tmp_path) in str(caught.value)
    assert not target.exists()  # nothing half-written under its name


@pytest.mark.parametrize("command", writers())
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_is_named_though_the_error_names_no_file(tmp_path: Path, command: str, number: int) -> None:
    """Opening tells which file it was about, writing does not: `No space left on device` was all there was."""

    class Full(OwnEncoder):
        def forward(self, batch: Any) -> Any:  # whatever writes in the midst of a pass
            raise OSError(number, os.strerror(number))

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "OwnEncoder", Full)
        with raises(LimbeckError, code="not_writable", parameter="out") as caught:
            writers()[command](tmp_path / "out")
    assert os.strerror(number) in str(caught.value)
    assert f"{tmp_path / 'out'}: could not be written" in str(caught.value)


def test_other_errors_of_the_system_stay_what_they_are(tmp_path: Path) -> None:
    for error in (OSError(errno.EIO, "broken"), OSError(errno.ENOSPC, "full", "a.txt"), BrokenPipeError()):
        with pytest.raises(OSError) as caught, room_in(tmp_path):  # noqa: PT011 (the very error)
            raise error
        assert caught.value is error


def test_a_run_goes_on_when_there_is_room_again(tmp_path: Path) -> None:
    lb.measure(OwnEncoder(), MADE, out=tmp_path / "undisturbed", **SETTINGS)
    with no_larger_files_than(40_000), raises(LimbeckError, code="not_writable", parameter=None):
        lb.measure(OwnEncoder(), MADE, out=tmp_path / "out", **SETTINGS)
    assert unfinished_of(tmp_path / "out").is_dir()
    assert not list(unfinished_of(tmp_path / "out").rglob(".*.tmp"))
    lb.measure(OwnEncoder(), MADE, out=tmp_path / "out", **SETTINGS, existing="resume")
    mine, theirs = (read_csv(tmp_path / name / "layers.csv") for name in ("out", "undisturbed"))
    assert mine == theirs


def test_a_full_file_system(full_disk: Path) -> None:
    with raises((LimbeckError, OSError), code="not_writable"):
        lb.measure(OwnEncoder(), MADE, out=full_disk / "out", **SETTINGS)
    assert not (full_disk / "out").exists()


def test_nothing_is_left_where_there_is_no_room_at_all(tmp_path: Path) -> None:
    with no_larger_files_than(1), raises(LimbeckError, code="not_writable", parameter=None):
        RunFolder(tmp_path / "out")
    with no_larger_files_than(1), raises(LimbeckError, code="not_writable", parameter=None), held(tmp_path / "out"):
        pass
    assert not list(tmp_path.iterdir())


def test_a_disk_that_is_full_is_one_line_to_the_user(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text.jsonl").write_text(as_jsonl(MADE))
    (tmp_path / "v.txt").write_text("the 1 2 3\nriver 2 1 0\nand 0 1 5\n")
    options = ["--model", str(tmp_path / "v.txt"), "--corpus", str(tmp_path / "text.jsonl"), "--quiet"]
    with no_larger_files_than(1_000):
        assert main(["measure", *options, "--out", str(tmp_path / "out")]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "Traceback" not in told


@pytest.mark.parametrize("command", writers())
@pytest.mark.parametrize("place", ["/proc/limbeck/out", "file/out"])
def test_a_place_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with raises(LimbeckError, code="not_writable", parameter="out") as caught:
        writers()[command](place)
    assert "choose another out" in str(caught.value)


@pytest.mark.parametrize("command", writers())
def test_two_runs_at_once(tmp_path: Path, command: str) -> None:
    """A lock; the second is refused, and does the first no harm."""
    target = tmp_path / "out"
    with RunFolder(target) as first:
        (first.unfinished / "mine").write_text("")
        with raises(LimbeckError, code="busy", parameter="out"):
            writers()[command](target)
        assert (first.unfinished / "mine").exists()


#: commands that write a folder, as they are typed
TYPED = {
    "measure": ["--model", "v.txt", "--corpus", "t.jsonl"],
    "encode": ["--model", "v.txt", "--corpus", "t.jsonl"],
    "repair": ["--model", "v.txt", "--corpus", "t.jsonl", "--method", "center"],
    "distill": ["--model", "v.txt", "--corpus", "t.jsonl", "--method", "average"],
    "probe": ["--model", "v.txt", "--data", "t.jsonl"],
    "analyze": ["frequency", "--model", "v.txt", "--corpus", "t.jsonl"],
    "finetune": ["--model", "mini-bert", "--task", "sst2", "--data", "."],
    "merge": ["a", "b"],
    "evaluate": ["v.txt", "--tasks", "wordsim", "--data", "."],
    "compare": ["one", "two", "--draws", "10"],
}


@pytest.mark.parametrize("command", TYPED)
def test_two_commands_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(as_jsonl(MADE))
    Path("v.txt").write_text("the 1 2 3\nriver 2 1 0\nand 0 1 5\n")
    Path("EN-RG-65.txt").write_text("the\triver\t3\nthe\tand\t1\nriver\tand\t2\n")
    for name in "ab":
        Path(name).mkdir()
    if command == "compare":
        for name, seed in (("one", 0), ("two", 1)):
            lb.measure(OwnEncoder(), MADE, out=name, **{**SETTINGS, "seed": seed})
    with RunFolder("out"):
        status = main([command, *TYPED[command], "--out", "out", "--existing", "replace"])
    told = capsys.readouterr().err
    assert status == 1
    assert "another run is writing it at this moment" in told


def test_a_folder_that_is_written_in_place(tmp_path: Path) -> None:
    with held(tmp_path / "out"), raises(LimbeckError, code="busy", parameter="out"), held(tmp_path / "out"):
        raise AssertionError("two have it")
    assert not (tmp_path / "out").exists()  # nothing was written
    with held(tmp_path / "out") as place:
        (place / "findings").write_text("")
    assert (tmp_path / "out" / "findings").exists()


class Meddling(OwnEncoder):
    """While the text is read, something happens to its file."""

    def __init__(self, meddle: Any) -> None:
        super().__init__(watch=lambda batch: meddle() if batch == 2 else None)


def readers(text: Path) -> dict[str, Any]:
    options: dict[str, Any] = {"format": "jsonl", "batch_tokens": 60}
    return {
        "measure": lambda encoder, out: lb.measure(encoder, text, out=out, **SETTINGS, **options),
        "encode": lambda encoder, out: lb.encode(encoder, text, out=out, **options),
        "distill": lambda encoder, out: lb.distill(
            encoder, text, method=["average"], unseen="drop", min_count=2, out=out, **options
        ),
        "repair": lambda encoder, out: lb.repair(encoder, text, method="center", out=out, figures=False, **options),
        "plan": lambda encoder, out: run_jobs(
            [EncodeRun.of({"out": out})], lambda: Reading(lb.Corpus(text), encoder, batch_tokens=60)
        ),
    }


@pytest.mark.parametrize("command", ["measure", "encode", "distill", "repair", "plan"])
@pytest.mark.parametrize("what", ["changed", "vanished"])
def test_a_text_that_does_not_stay(tmp_path: Path, command: str, what: str) -> None:
    text = tmp_path / "text.jsonl"
    text.write_text(as_jsonl(MADE))

    def meddle() -> None:
        if what == "vanished":
            text.unlink()
        else:
            text.write_text(as_jsonl(MADE[:-1]) + '{"words": ["another", "end"]}\n')

    with raises(InputError, code=what) as caught:
        readers(text)[command](Meddling(meddle), tmp_path / "out")
    assert str(text) in str(caught.value)
    assert not (tmp_path / "out").exists()
    # what was read of two versions of a text is of no use, a file that vanishes may come back
    assert unfinished_of(tmp_path / "out").exists() == (what == "vanished")


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_kept_vectors_that_do_not_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    if kind == "folder":
        lb.encode(OwnEncoder(), MADE, out=tmp_path / "kept", keep="float32")
        (file,) = (tmp_path / "kept").glob("0*.npz")
    else:
        file = tmp_path / "kept.npz"
        words = [word for sentence in MADE for word in sentence.words]
        contexts = [number for number, sentence in enumerate(MADE) for _ in sentence.words]
        vectors = np.random.default_rng(0).normal(size=(len(words), 6))
        np.savez(file, vectors=vectors, words=np.array(words), contexts=np.array(contexts))
    update = Moments.update

    def meddling(self: Any, batch: Any) -> None:
        os.utime(file, (0, 0))  # somebody has written it
        update(self, batch)

    monkeypatch.setattr(Moments, "update", meddling)
    with raises(InputError, code="changed", says=f"{file}: "):
        lb.measure(vectors=file if kind == "file" else file.parent, out=tmp_path / "out", **SETTINGS)
    assert not (tmp_path / "out").exists()


def test_a_text_that_stays_is_no_matter(tmp_path: Path) -> None:
    """The twin: reading it, or another file beside it changing, is none of these."""
    text = tmp_path / "text.jsonl"
    text.write_text(as_jsonl(MADE))
    readers(text)["measure"](Meddling(lambda: (tmp_path / "other").write_text("")), tmp_path / "out")
    assert (tmp_path / "out" / "run.json").is_file()
