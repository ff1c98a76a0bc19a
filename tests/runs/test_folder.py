"""Where a run is written: whole or not at all, never over something else, never by two at once."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import pytest
from made import WORDS, OwnEncoder, sentences
from refusals import raises

import limbeck as lb
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.places import MARK, RUN, mark, own_in, unfinished_of
from limbeck.runs.execution.folders import KEPT, RunFolder, check_target


def finished(target: Path, content: str = "old") -> Path:
    with RunFolder(target) as folder:
        (folder.unfinished / "run.json").write_text(content)
        folder.finish()
    return target


def names(folder: Path) -> list[str]:
    """What is in a folder, but for limbeck's mark."""
    return sorted(path.name for path in folder.iterdir() if path.name != MARK)


def planned(target: Path) -> RunFolder:
    """A run that has its plan."""
    folder = RunFolder(target)
    folder.state.mkdir()
    (folder.state / "plan.npz").write_text("a plan")
    return folder


def begun(target: Path) -> Path:
    """A run that was killed."""
    folder = planned(target)
    assert folder._lock is not None
    os.close(folder._lock)  # as the system does for a process that dies
    return target


def test_a_run_appears_when_it_is_finished(tmp_path: Path) -> None:
    target = tmp_path / "deep" / "er" / "run"
    with RunFolder(target) as folder:
        (folder.unfinished / "run.json").write_text("{}")
        assert not target.exists()
        assert folder.finish() == target
    assert names(target) == ["run.json"]
    assert names(target.parent) == ["run"]


@pytest.mark.parametrize("existing", ["fail", "resume", "replace"])
def test_what_is_no_run_is_never_touched(tmp_path: Path, existing: str) -> None:
    thesis = tmp_path / "documents"
    thesis.mkdir()
    (thesis / "thesis.txt").write_text("years of work")
    file = tmp_path / "file"
    file.write_text("a file")
    pipe = tmp_path / "pipe"  # as a device would be
    os.mkfifo(pipe)
    link = tmp_path / "link"
    link.symlink_to(thesis)
    for target in (thesis, file, pipe, link):
        with raises(LimbeckError, code="in_the_way", parameter="out"):
            RunFolder(target, existing=existing)
    assert (thesis / "thesis.txt").read_text() == "years of work"
    assert file.read_text() == "a file"
    assert pipe.is_fifo()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["documents", "file", "link", "pipe"]


def test_what_appears_meanwhile_is_not_touched_either(tmp_path: Path) -> None:
    target = tmp_path / "run"
    with RunFolder(target) as folder:
        (folder.unfinished / "run.json").write_text("{}")
        target.mkdir()
        (target / "notes.txt").write_text("mine")
        with raises(LimbeckError, code="not_writable", parameter="out"):
            folder.finish()
    assert (target / "notes.txt").read_text() == "mine"


def test_the_folder_one_is_in_is_no_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for target in (".", "..", "/", tmp_path, "../here"):
        with raises(LimbeckError, code="in_the_way", parameter="out"):
            RunFolder(target, existing="replace")
    assert finished(Path("run")).is_dir()


def test_an_empty_folder_and_a_link_to_one_will_do(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    finished(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "empty" / "run.json").is_file()


def test_fail(tmp_path: Path) -> None:
    with raises(LimbeckError, code="exists", parameter="existing"):
        RunFolder(finished(tmp_path / "run"))
    with raises(LimbeckError, code="unfinished", parameter="existing", says=("'resume'", "'replace'")):
        RunFolder(begun(tmp_path / "other"))
    assert (unfinished_of(tmp_path / "other") / "state" / "plan.npz").exists()


def test_resume(tmp_path: Path) -> None:
    done = RunFolder(finished(tmp_path / "run"), existing="resume")
    assert done.complete
    assert done.state == tmp_path / "run" / "state"
    with RunFolder(begun(tmp_path / "other"), existing="resume") as folder:
        assert not folder.complete
        assert folder.resumable
        (folder.unfinished / "run.json").write_text("{}")
        folder.finish()
    assert (tmp_path / "other" / "state" / "plan.npz").exists()
    with RunFolder(tmp_path / "new", existing="resume") as folder:
        assert not folder.complete
        assert not folder.resumable
        folder.discard()


def test_resume_goes_on_with_a_replacement_that_was_killed(tmp_path: Path) -> None:
    target = finished(tmp_path / "run", "old")
    folder = RunFolder(target, existing="replace")
    folder.state.mkdir()
    (folder.state / "plan.npz").touch()
    folder.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)
    with RunFolder(target, existing="resume") as folder:
        assert not folder.complete
        assert (target / "run.json").read_text() == "old"
        (folder.unfinished / "run.json").write_text("new")
        folder.finish()
    assert (target / "run.json").read_text() == "new"


def test_replace(tmp_path: Path) -> None:
    for target in (finished(tmp_path / "run"), begun(tmp_path / "other")):
        with RunFolder(target, existing="replace") as folder:
            assert not folder.resumable
            (folder.unfinished / "run.json").write_text("new")
            folder.finish()
        assert names(target) == ["run.json"]
        assert (target / "run.json").read_text() == "new"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "run"]


def test_a_failed_replacement_leaves_the_old_run(tmp_path: Path) -> None:
    target = finished(tmp_path / "run", "old")
    with pytest.raises(ValueError, match="no"), RunFolder(target, existing="replace"):
        raise ValueError("no")
    assert (target / "run.json").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_leftovers_of_a_run_killed_in_its_last_moment_do_no_harm(tmp_path: Path) -> None:
    target = finished(tmp_path / "run", "old")
    older = finished(tmp_path / "older", "older").rename(tmp_path / ".run.old")
    mark(older, RUN, own=own_in(older), aside=True)
    with RunFolder(target, existing="replace") as folder:
        (folder.unfinished / "run.json").write_text("new")
        folder.finish()
    assert names(tmp_path) == ["run"]


@pytest.mark.parametrize(
    ("error", "notes"),
    [
        (KeyboardInterrupt(), []),  # who stops a run is told by the command
        (RuntimeError("out of memory"), [KEPT]),
        (LimbeckError("processes ended", code="worker_lost"), [KEPT]),
        (InputError("a NaN", code="not_finite"), [KEPT]),
        (OSError(errno.ENOSPC, "No space left on device"), [KEPT]),
        (LimbeckError("lost: --existing=resume goes on", code="worker_lost"), []),  # it says so itself
    ],
)
def test_no_error_costs_what_is_done(tmp_path: Path, error: BaseException, notes: list[str]) -> None:
    with pytest.raises(type(error)), RunFolder(tmp_path / "nothing yet"):
        raise error
    assert not list(tmp_path.iterdir())
    with pytest.raises(type(error)), planned(tmp_path / "one"), planned(tmp_path / "other"):
        raise error
    assert getattr(error, "__notes__", []) == notes
    for name in ("one", "other"):
        assert (unfinished_of(tmp_path / name) / "state" / "plan.npz").exists()


@pytest.mark.parametrize(
    ("wrong", "parameter", "right"),
    [
        ({"min_count": 1000}, "min_count", {"min_count": 2}),
        ({"words": ["zebra"], "unseen": "drop"}, "words", {"words": [WORDS[0]], "unseen": "drop"}),
        ({"words": ["zebra"], "method": ["skipgram"]}, "words", {"words": [WORDS[0]], "unseen": "drop"}),
    ],
)
def test_where_only_other_settings_help_there_is_nothing_to_go_on_from(
    tmp_path: Path, wrong: dict[str, Any], parameter: str, right: dict[str, Any]
) -> None:
    """What was done could not be gone on from with them."""

    def distill(**settings: Any) -> Any:
        return lb.distill(
            OwnEncoder(), sentences(40, documents=4), out=tmp_path / "v", **{"method": ["average"], **settings}
        )

    with raises(LimbeckError, code="no_words", parameter=parameter) as caught:
        distill(**wrong)
    assert getattr(caught.value, "__notes__", []) == []
    assert not list(tmp_path.iterdir())
    assert all(len(one) for one in distill(**right).values())


def test_what_an_unfinished_run_alone_needs_goes_when_it_is_in_its_place(tmp_path: Path) -> None:
    folder = planned(tmp_path / "run")
    (folder.state / "parts").mkdir()
    (folder.state / "mark").touch()
    folder.passing += ["state/parts", "state/mark", "state/never there"]
    with folder:
        (folder.unfinished / "run.json").touch()
        folder.finish()
    assert [path.name for path in (tmp_path / "run" / "state").iterdir()] == ["plan.npz"]


def test_a_wrong_try_to_resume_leaves_the_state(tmp_path: Path) -> None:
    target = begun(tmp_path / "run")
    with pytest.raises(LimbeckError), RunFolder(target, existing="resume"):
        raise LimbeckError("another model", code="other_model")
    assert (unfinished_of(target) / "state" / "plan.npz").exists()


@pytest.mark.parametrize("existing", ["resume", "replace"])
def test_two_runs_cannot_write_into_one_folder(tmp_path: Path, existing: str) -> None:
    target = tmp_path / "run"
    with RunFolder(target) as first:
        first.state.mkdir()
        (first.state / "plan.npz").write_text("mine")
        with raises(LimbeckError, code="busy", parameter="out"):
            RunFolder(target, existing=existing)
        assert (first.state / "plan.npz").read_text() == "mine"
        (first.unfinished / "run.json").touch()
        first.finish()
    assert target.exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_unwritable_place(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with raises(LimbeckError, code="not_writable", parameter="out", says="Permission denied"):
        RunFolder(tmp_path / "run")


def test_a_place_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with raises(LimbeckError, code="not_writable", parameter="out"):
        RunFolder(tmp_path / "file" / "run")


def test_a_wrong_word_for_existing(tmp_path: Path) -> None:
    with raises(UsageError, code="unknown_choice", parameter="existing", says="'replace'"):
        check_target(tmp_path / "run", existing="replase")
