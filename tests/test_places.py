"""Folders that are limbeck's, and those that are not: what is removed, what stays, whatever happens in between."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
from refusals import raises, refused

from limbeck import places
from limbeck.cli import main
from limbeck.errors import InputError, LimbeckError
from limbeck.places import MARK, VECTORS, mark, mark_of, old_of, own_in, read_mark, unfinished_of
from limbeck.runs.execution.folders import RunFolder, check_target, held, holds_run
from limbeck.state import atomic
from limbeck.vectors import StaticVectors
from limbeck.vectors.convert import convert


def run_into(target: Path, files: dict[str, str], *, existing: str = "fail") -> Path:
    """A finished run that has written these files."""
    with RunFolder(target, existing=existing) as folder:
        for name, content in {"run.json": "{}", **files}.items():
            (folder.unfinished / name).parent.mkdir(parents=True, exist_ok=True)
            (folder.unfinished / name).write_text(content)
        folder.finish()
    return target


def put(folder: Path, **files: str) -> None:
    """Somebody's own files; a double underscore stands for a stroke, a single one for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)


def tree(folder: Path) -> dict[str, str]:
    """Every file below a folder but for marks, with its content."""
    return {
        path.relative_to(folder).as_posix(): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in (MARK, "report.html")
    }


@pytest.mark.parametrize("existing", ["fail", "resume", "replace"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("run.json", '{"my": "own file"}'),
        ("run.json", "[]"),
        ("run.json", "no JSON"),
        ("vectors.json", "[]"),
        ("vectors.json", '{"layers": []}'),
        (MARK, "{}"),
        (MARK, '{"limbeck": 1, "holds": "run"}'),
        (MARK, '{"limbeck": 1, "holds": "vectors", "own": []}'),
        ("findings.json", "{}"),
    ],
)
def test_a_name_does_not_make_a_run(tmp_path: Path, existing: str, name: str, content: str) -> None:
    mine = tmp_path / "mine"
    put(mine, thesis_txt="x")
    (mine / name).write_text(content)
    before = tree(mine)
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        RunFolder(mine, existing=existing)
    with raises(LimbeckError, code="in_the_way", parameter="out"), held(mine):
        pass
    assert tree(mine) == before
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_the_command_leaves_a_folder_that_is_no_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine, text = tmp_path / "mine", tmp_path / "t.txt"
    put(mine, run_json='{"my":"own file"}', thesis_txt="x")
    text.write_text("A cat sat. A dog sat.\n")
    options = ["--model", "mini-bert", "--corpus", str(text), "--layers", "1", "--min-contexts", "2", "--quiet"]
    assert main(["measure", *options, "--out", str(mine), "--existing", "replace"]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert tree(mine) == {"run.json": '{"my":"own file"}', "thesis.txt": "x"}


def test_a_run_without_a_record_is_known_and_not_replaced(tmp_path: Path) -> None:
    old = tmp_path / "old"
    put(old, run_json='{"command": "measure", "versions": {"limbeck": "0"}}', notes_md="mine")
    assert holds_run(old)
    check_target(old, existing="resume")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        check_target(old, existing="replace")
    assert tree(old)["notes.md"] == "mine"


def test_only_what_limbeck_wrote_is_replaced(tmp_path: Path) -> None:
    out = run_into(tmp_path / "out", {"layers.csv": "1", "figures/a.svg": "1", "state/plan": "1", "gone/x": "1"})
    precious = tmp_path / "precious"
    put(precious, thesis_txt="years")
    put(out, notes_md="mine", figures__own_svg="mine", gone__deep__own_txt="mine", drafts__one_txt="mine")
    (out / "empty").mkdir()
    (out / "link").symlink_to(precious)
    (out / "state" / "link").symlink_to(precious / "thesis.txt")
    run_into(out, {"layers.csv": "2", "figures/a.svg": "2", "new.csv": "2"}, existing="replace")
    assert tree(out) == {
        "run.json": "{}",
        "layers.csv": "2",
        "figures/a.svg": "2",
        "new.csv": "2",
        "notes.md": "mine",
        "figures/own.svg": "mine",
        "gone/deep/own.txt": "mine",
        "drafts/one.txt": "mine",
        "state/link": "years",
    }
    assert (out / "empty").is_dir()
    assert (out / "link").is_symlink()
    assert not (out / "gone" / "x").exists()
    assert tree(precious) == {"thesis.txt": "years"}
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out", "precious"]
    run_into(out, {}, existing="replace")  # and the next time: what was carried over is still not limbeck's
    assert {"notes.md", "figures/own.svg", "gone/deep/own.txt"} <= tree(out).keys()
    assert not {"layers.csv", "new.csv"} & tree(out).keys()


def test_a_folder_of_the_run_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    out = run_into(tmp_path / "out", {"figures/a.svg": "1"})
    put(tmp_path / "precious", a_svg="mine")
    (out / "figures" / "a.svg").unlink()
    (out / "figures").rmdir()
    (out / "figures").symlink_to(tmp_path / "precious")
    with pytest.warns(RuntimeWarning, match="figures.yours"):
        run_into(out, {"figures/a.svg": "2"}, existing="replace")
    assert tree(tmp_path / "precious") == {"a.svg": "mine"}
    assert (out / "figures.yours").is_symlink()
    assert (out / "figures" / "a.svg").read_text() == "2"


@pytest.mark.parametrize("file", ["new.csv", "folder/inside.csv"])
def test_a_file_of_yours_with_the_name_of_a_new_one_is_kept(tmp_path: Path, file: str) -> None:
    out = run_into(tmp_path / "out", {})
    put(out, new_csv="mine", folder__inside_csv="mine")
    with pytest.warns(RuntimeWarning, match=r"your own are now .*yours"):
        run_into(out, {file: "the run's"}, existing="replace")
    assert tree(out)[file] == "the run's"
    assert tree(out)[f"{file}.yours"] == "mine"


def test_a_folder_of_yours_with_the_name_of_a_new_file_is_kept(tmp_path: Path) -> None:
    out = run_into(tmp_path / "out", {"tables/a.csv": "1"})
    put(out, tables__own_csv="mine", other__own_csv="mine")
    with pytest.warns(RuntimeWarning, match="your own are now"):
        run_into(out, {"tables": "a file", "other": "a file"}, existing="replace")
    assert sorted(tree(out).values()) == ["a file", "a file", "mine", "mine", "{}"]


def test_what_is_passing_goes_without_what_is_yours(tmp_path: Path) -> None:
    out = run_into(tmp_path / "out", {"state/plan": "1"})
    put(out, state__own_txt="mine")
    with RunFolder(out, existing="replace") as folder:
        put(folder.unfinished, run_json="{}", state__part="2")
        folder.passing.append("state")
        folder.finish()
    assert tree(out) == {"run.json": "{}", "state/own.txt": "mine"}


@pytest.mark.parametrize("stop", range(1, 12))
def test_a_kill_while_a_run_is_put_in_place_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stop: int
) -> None:
    """As if the process had ended before the so-manieth change of a name."""
    out = run_into(tmp_path / "out", {"a.csv": "1", "figures/a.svg": "1"})
    put(out, notes_md="mine", figures__own_svg="mine", drafts__one_txt="mine")
    real, calls = os.replace, []

    class Killed(BaseException):
        pass

    def dies(*names: object) -> None:
        calls.append(names)
        if len(calls) > stop:
            raise Killed
        real(*names)  # type: ignore[arg-type]

    folder = RunFolder(out, existing="replace")
    put(folder.unfinished, run_json="{}", a_csv="2")
    (folder.state).mkdir()
    (folder.state / "plan").write_text("")
    monkeypatch.setattr(os, "replace", dies)
    with contextlib.suppress(Killed):
        folder.finish()
    monkeypatch.undo()
    if folder._lock is not None:
        os.close(folder._lock)  # as the system does for a process that dies
    check_target(out, existing="resume")  # any next call
    found = tree(out)
    assert found["a.csv"] in "12"
    assert {"notes.md": "mine", "figures/own.svg": "mine", "drafts/one.txt": "mine"}.items() <= found.items()
    run_into(out, {"a.csv": "3"}, existing="replace")
    assert tree(out) == {"run.json": "{}", "a.csv": "3", "notes.md": "mine", "figures/own.svg": "mine",
                         "drafts/one.txt": "mine"}  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("existing", ["fail", "resume", "replace"])
@pytest.mark.parametrize("name", ["unfinished", "old"])
@pytest.mark.parametrize("kind", ["link", "folder", "file", "pipe", "link to nothing"])
def test_a_hidden_neighbour_that_is_not_limbecks_stays(tmp_path: Path, existing: str, name: str, kind: str) -> None:
    out, precious, neighbour = tmp_path / "out", tmp_path / "precious", tmp_path / f".out.{name}"
    if name == "old":
        run_into(out, {})
    put(precious, thesis_txt="years")
    if kind == "link":
        neighbour.symlink_to(precious)
    elif kind == "link to nothing":
        neighbour.symlink_to(tmp_path / "nowhere")
    elif kind == "pipe":
        os.mkfifo(neighbour)
    elif kind == "folder":
        put(neighbour, run_json="{}", thesis_txt="years")
    else:
        neighbour.write_text("years")
    before = sorted(path.name for path in tmp_path.iterdir())
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        RunFolder(out, existing=existing)
    assert tree(precious) == {"thesis.txt": "years"}
    assert sorted(path.name for path in tmp_path.iterdir()) == before
    assert kind != "folder" or tree(neighbour)["thesis.txt"] == "years"


def test_a_copy_under_the_name_of_a_leftover_stays(tmp_path: Path) -> None:
    """A folder that was moved aside says so; a user's copy of a run does not."""
    out = run_into(tmp_path / "out", {"a.csv": "1"})
    put(out, notes_md="mine")
    shutil.copytree(out, old_of(out))
    for existing in ("fail", "replace"):
        with contextlib.suppress(LimbeckError):
            run_into(out, {"a.csv": "2"}, existing=existing)
        assert tree(old_of(out)) == {"run.json": "{}", "a.csv": "1", "notes.md": "mine"}
        assert "notes.md.yours" not in tree(out)


@pytest.mark.parametrize("existing", ["fail", "resume", "replace"])
def test_an_unfinished_run_under_another_name_stays(tmp_path: Path, existing: str) -> None:
    folder = RunFolder(tmp_path / "out")
    put(folder.unfinished, state__parts__one_npz="mine")
    with folder:
        pass
    os.rename(unfinished_of(tmp_path / "out"), tmp_path / "rescued")
    with pytest.raises(LimbeckError) as caught:
        run_into(tmp_path / "rescued", {"a.csv": "1"}, existing=existing)
    assert caught.value.code == "unfinished"
    assert tree(tmp_path / "rescued") == {"state/parts/one.npz": "mine"}


@pytest.mark.parametrize("name", ["report.html", "figures/anisotropy.png", "figures"])
def test_files_beside_several_models_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str) -> None:
    """Found before anything is measured: the text is not even there."""
    (tmp_path / "out" / name).parent.mkdir(parents=True)
    (tmp_path / "out" / name).write_text("thesis")
    command = ["measure", "--model", "mini-bert", "mini-gpt2", "--corpus", "nowhere", "--out", str(tmp_path / "out")]
    assert refused(*command, capsys=capsys) == (1, "in_the_way", "out")
    assert (tmp_path / "out" / name).read_text() == "thesis"


def test_links_in_a_working_folder_are_removed_and_not_followed(tmp_path: Path) -> None:
    put(tmp_path / "precious", thesis_txt="years")
    with RunFolder(tmp_path / "out") as folder:  # it is stopped
        put(folder.state, plan="")
        (folder.unfinished / "link").symlink_to(tmp_path / "precious")
    run_into(tmp_path / "out", {}, existing="replace")
    assert tree(tmp_path / "precious") == {"thesis.txt": "years"}
    assert tree(tmp_path / "out") == {"run.json": "{}"}


def test_a_run_that_came_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    put(folder.unfinished, run_json="{}", a_csv="late")
    run_into(tmp_path / "other", {"a.csv": "early"}).rename(tmp_path / "out")
    with folder, raises(LimbeckError, code="not_writable", parameter="out"):
        folder.finish()
    assert tree(tmp_path / "out")["a.csv"] == "early"
    assert tree(unfinished_of(tmp_path / "out"))["a.csv"] == "late"


def test_after_a_kill_before_anything_could_be_gone_on_from_the_same_call_works(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "out")
    put(folder.unfinished, layers_csv="half")
    with raises(LimbeckError, code="busy", parameter="out"):
        RunFolder(tmp_path / "out")
    assert folder._lock is not None
    os.close(folder._lock)  # as the system does for a process that dies
    assert tree(run_into(tmp_path / "out", {"a.csv": "1"})) == {"run.json": "{}", "a.csv": "1"}


def test_what_cannot_be_put_in_place_is_kept(tmp_path: Path) -> None:
    def meddled() -> None:
        with RunFolder(tmp_path / "out") as folder:
            put(folder.unfinished, run_json="{}")
            put(tmp_path / "out", own_txt="mine")
            folder.finish()

    with raises(LimbeckError, code="not_writable", parameter="out"):
        meddled()
    assert tree(unfinished_of(tmp_path / "out")) == {"run.json": "{}"}
    assert tree(tmp_path / "out") == {"own.txt": "mine"}


def test_a_reproduction_is_not_taken_for_a_run_nor_the_other_way_round(tmp_path: Path) -> None:
    with held(tmp_path / "paper") as place:
        put(place, findings_json="{}")
    with held(tmp_path / "paper"):
        pass
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        RunFolder(tmp_path / "paper", existing="replace")
    run_into(tmp_path / "run", {})
    with raises(LimbeckError, code="in_the_way", parameter="out"), held(tmp_path / "run"):
        pass


def test_marks(tmp_path: Path) -> None:
    mark(tmp_path, VECTORS, own=["b", "a/"])
    told = mark_of(tmp_path)
    assert told is not None
    assert (told["holds"], own_in(tmp_path)) == (VECTORS, {"a/", "b"})
    (tmp_path / "link").symlink_to(tmp_path)
    assert mark_of(tmp_path / "link") is None
    for raw in (b"", b"[]", b'"x"', b"\xff", b'{"limbeck": 1}', b'{"limbeck": 1, "holds": "run", "own": [1]}'):
        assert read_mark(raw) is None


def test_a_record_cannot_name_what_lies_elsewhere(tmp_path: Path) -> None:
    out = run_into(tmp_path / "out", {"a.csv": "1"})
    (tmp_path / "precious").write_text("years")
    mark(out, "run", own=["../precious", str(tmp_path / "precious"), "a.csv", "run.json"])
    run_into(out, {"a.csv": "2"}, existing="replace")
    assert (tmp_path / "precious").read_text() == "years"


# --- vectors -------------------------------------------------------------------------------------


def vectors(*words: str) -> StaticVectors:
    return StaticVectors(list(words), [[1.0, float(number)] for number, _ in enumerate(words)])


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize("format", ["model2vec", "spacy"])
def test_converting_over_a_folder_leaves_what_is_yours(tmp_path: Path, format: str, marked: bool) -> None:
    vectors("a", "b").save(tmp_path / "one.npz")
    vectors("c").save(tmp_path / "two.npz")
    if marked:
        convert(tmp_path / "one.npz", tmp_path / "out", format=format)
    else:
        vectors("a", "b").save(tmp_path / "out", format=format)
        (tmp_path / "out" / MARK).unlink(missing_ok=True)
    put(tmp_path / "out", notes_md="mine", drafts__one_txt="mine")
    convert(tmp_path / "two.npz", tmp_path / "out", format=format, existing="replace")
    assert StaticVectors.load(tmp_path / "out").words == ["c"]
    assert (tmp_path / "out" / "notes.md").read_text() == "mine"
    assert (tmp_path / "out" / "drafts" / "one.txt").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.npz", "out", "two.npz"]


@pytest.mark.parametrize("name", ["tmp", "old"])
def test_converting_leaves_hidden_neighbours_that_are_not_limbecks(tmp_path: Path, name: str) -> None:
    vectors("a").save(tmp_path / "in.npz")
    vectors("b").save(tmp_path / "out")
    put(tmp_path / f".out.{name}", thesis_txt="years")
    with raises(LimbeckError, code="in_the_way", parameter="out"):
        convert(tmp_path / "in.npz", tmp_path / "out", existing="replace")
    assert tree(tmp_path / f".out.{name}") == {"thesis.txt": "years"}
    assert StaticVectors.load(tmp_path / "out").words == ["b"]


def test_vectors_are_not_saved_over_a_model(tmp_path: Path) -> None:
    put(tmp_path / "bert", config_json='{"model_type": "bert"}', model_safetensors="weights")
    with raises(InputError, code="damaged", says="model.safetensors"):
        vectors("a").save(tmp_path / "bert")
    assert (tmp_path / "bert" / "model.safetensors").read_text() == "weights"


# --- single files --------------------------------------------------------------------------------


def test_a_temporary_file_is_a_new_one(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("years")
    (tmp_path / ".page.html.tmp").symlink_to(tmp_path / "precious")
    with atomic(tmp_path / "page.html") as one, atomic(tmp_path / "page.html") as other:
        assert one != other
        one.write_text("one")
        other.write_text("other")
    assert (tmp_path / "page.html").read_text() == "one"  # the outer ended last
    assert (tmp_path / "precious").read_text() == "years"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".page.html.tmp", "page.html", "precious"]


def test_a_temporary_file_that_a_kill_has_left_is_removed(tmp_path: Path) -> None:
    with atomic(tmp_path / "page.html") as temporary:
        temporary.write_text("whole")
        name = temporary.name
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    place = tmp_path / "other"
    place.mkdir()
    for process in (dead, os.getppid()):
        (place / name.replace(f"-{os.getpid()}-", f"-{process}-")).write_text("half")
    with atomic(place / "page.html") as temporary:
        temporary.write_text("whole")
    assert len(list(place.iterdir())) == 2, "that of a process that lives is left alone"


def test_no_warning_where_nothing_is_yours(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run_into(run_into(tmp_path / "out", {"a": "1"}), {"a": "2"}, existing="replace")
    assert not old_of(tmp_path / "out").exists()
    assert places.is_own(tmp_path / "out")


# --- what cannot be written ----------------------------------------------------------------------

#: commands that write, as they are typed; none gets as far as what it would read
WRITING = {
    "measure": ["--model", "nowhere", "--corpus", "t.txt", "--out"],
    "encode": ["--model", "nowhere", "--corpus", "t.txt", "--out"],
    "repair": ["--model", "nowhere", "--corpus", "t.txt", "--method", "center", "--out"],
    "analyze": ["frequency", "--model", "nowhere", "--corpus", "t.txt", "--out"],
    "compare": ["nowhere", "nowhere", "--out"],
    "report": ["nowhere", "--out"],
    "plan": ["measure", "--model", "nowhere", "--corpus", "t.txt", "--out", "x", "--to"],
    "reproduce": ["bis2021", "--model", "nowhere", "--corpus", "t.txt", "--out"],
    "convert": ["v.txt"],
    "demo": ["--out"],
}


@pytest.mark.parametrize("command", WRITING)
@pytest.mark.parametrize("kind", ["not UTF-8", "loop", "below a loop", "pipe"])
def test_what_cannot_be_written_is_found_before_the_pass(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, kind: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")
    vectors("a").save("v.txt")
    for place in ("limbeck.vectors.formats.read", "limbeck.reporting.differences.differences_between"):  # dear
        monkeypatch.setattr(place, lambda *_, **__: pytest.fail("it was begun"))
    before = sorted(os.listdir("."))
    target = {"not UTF-8": os.fsdecode(b"bad\xff"), "loop": "loop", "below a loop": "loop/x", "pipe": "pipe"}[kind]
    given = WRITING[command] if command != "plan" else ["--to", target, *WRITING[command][:-1]]
    replacing = [] if command in ("plan", "demo") else ["--existing", "replace"]
    status = main([command, *given, *([] if command == "plan" else [target]), *replacing])
    told = capsys.readouterr().err
    assert status == 1
    assert told.count("\n") == 1
    assert told.startswith("limbeck: ")
    assert sorted(os.listdir(".")) == before
    assert Path("pipe").is_fifo()


def test_a_device_is_not_replaced(tmp_path: Path) -> None:
    run = tmp_path / "run"
    put(run, run_json='{"command": "analyze"}')
    from limbeck.reporting import report

    with raises(LimbeckError, code="in_the_way", parameter="out"):
        report(run, out="/dev/null", existing="replace")
    vectors("a").save(tmp_path / "v.npz")
    with raises(LimbeckError, code="in_the_way", parameter="name"):
        convert(tmp_path / "v.npz", "/dev/null", format="npz", existing="replace")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "<&- >&- 2>&-"])
def test_closed_streams_do_not_end_a_command(tmp_path: Path, closed: str) -> None:
    vectors("a").save(tmp_path / "v.txt")
    command = f'exec "{sys.executable}" -m limbeck convert v.txt v.npz {closed}'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert StaticVectors.load(tmp_path / "v.npz").words == ["a"]


def test_a_closed_standard_input_is_no_text(tmp_path: Path) -> None:
    command = f'exec "{sys.executable}" -m limbeck measure --model mini-bert --corpus - --out o --quiet <&-'
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "Traceback" not in done.stderr


def test_a_pipe_is_not_read_by_several_models(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    models = ["--model", "mini-bert", "mini-gpt2"]
    assert refused("measure", *models, "--corpus", tmp_path / "pipe", "--out", tmp_path / "o", capsys=capsys) == (
        2,
        "read_once",
        "corpus",
    )
