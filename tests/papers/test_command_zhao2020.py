"""limbeck reproduce zhao2020 from outside: with and without tasks, resumed, its page, one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import MARKS, Run, check_schema, draw_only, runner
from made_probes import write_labelled, write_tasks

import limbeck.papers.zhao2020 as paper
from limbeck.cli import main
from limbeck.papers import probe_measures
from limbeck.papers.probe_data import Words
from limbeck.papers.probe_wanted import Wanted
from limbeck.runs.probing.work import Probing
from limbeck.tables import read_csv

SMALL = ("--quick", "--hidden", 4, "--epochs", 2, "--max-contexts", 2, "--context-size", "0,4",
         "--attention-window", "0", "--steps", 2, "--starts", 2, "--tasks", "pos,sst2")  # fmt: skip


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_labelled(tmp_path_factory.mktemp("words") / "words.jsonl")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest; one figure is enough here."""
    draw_only(monkeypatch, paper, "windows")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "zhao2020")


def test_the_whole_command(run: Run, model: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(MARKS.format("claims") + MARKS.format("tuned") + MARKS.format("figure-windows"), encoding="utf-8")
    data = write_tasks(tmp_path / "data")
    given = ["--model", model, "--corpus", words, "--data", data, *SMALL, "--page", page, "--out", out]
    status, said, err = run(*given)
    assert status == 0, err
    assert "bert is not among the paper's models" in said
    parts = {path.name for path in (out / "probes" / "bert").glob("*.json")}
    assert parts == {
        "layers.json", "starts.json", "contexts.json", "tuned-pos.json", "tuned-sst-2.json", "probed-pos.json",
        "probed-sst-2.json", "windows.json", "window-0.json",
    }  # fmt: skip
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    check_schema(found)
    findings = {one["id"]: one for one in found["findings"]}
    for name in ("F3.average", "F4.levels-off", "F5.local", "F5.higher", "F6.top", "T7.none"):
        if findings[name]["verdict"] == "cannot be shown":  # three layers are too few for some, two epochs for most
            told = ("four or more", "say nothing", "not learnt")
            assert any(reason in findings[name]["why"] for reason in told), findings[name]
    assert "not run" in findings["F6.words"]["why"]  # ner and mrpc were not asked for
    assert "has none of" in findings["T1"]["why"]
    scores = read_csv(out / "probes" / "layers.csv")
    assert "draws" not in scores
    assert {"context", "average", "P-model", "P-around", "P-random", "random", "majority"} == set(scores["space"])
    assert set(read_csv(out / "probes" / "contexts.csv")["context"]) == {"0", "4", "all"}
    assert set(read_csv(out / "probes" / "probed-pos.csv")["space"]) == {"same probes", "new probes"}
    # the fine-tuned model is a model, and its probes were those of the model before
    assert (out / "probes" / "bert" / "tuned" / "pos" / "config.json").is_file()
    assert not list((out / "probes" / "bert").glob("state-*"))
    written = page.read_text(encoding="utf-8")
    assert "| `F4.rises` |" in written
    assert "POS (a) / (b)" in written

    # what was measured is taken again, and gives the same to the byte; what was asked otherwise is not
    first = (out / "findings.json").read_bytes()
    status, said, err = run(*given)
    assert (status, said) == (1, "")
    assert "it already holds findings" in err

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("measured again")

    for name in ("layers", "starts", "contexts", "tuned", "probed", "windows"):
        monkeypatch.setattr(probe_measures.Measuring, name, never)
    assert main([*found["command"].split()[1:], "--existing", "resume", "--quiet"]) == 0
    assert (out / "findings.json").read_bytes() == first
    with pytest.raises(AssertionError, match="measured again"):
        run(*given, "--existing", "resume", "--hidden", 5)


def test_a_part_that_was_stopped_goes_on(
    run: Run, model: Path, words: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Probes that were trained before Ctrl-C are not trained again, and what comes out is the same."""
    given = ["--model", model, "--corpus", words, *SMALL, "--quiet", "--out"]
    assert run(*given, tmp_path / "whole")[0] == 0
    trained: list[str] = []
    train = Probing.trained

    def counted(self: Any, space: Any, *rest: Any) -> Any:
        if space.name == "random" and "stopped" not in trained:
            trained.append("stopped")
            raise KeyboardInterrupt
        trained.append(space.name)
        return train(self, space, *rest)

    monkeypatch.setattr(Probing, "trained", counted)
    assert run(*given, tmp_path / "parts")[0] == 130
    before = list(trained)
    assert "context" in before
    assert run(*given, tmp_path / "parts", "--existing", "resume")[0] == 0
    again = trained[len(before) :]
    assert again[0] == "random"  # where it was stopped
    for name in ("layers.csv", "contexts.csv"):
        assert (tmp_path / "parts" / "probes" / name).read_bytes() == (
            tmp_path / "whole" / "probes" / name
        ).read_bytes()


def test_with_the_lists_of_words_that_the_paper_has(run: Run, model: Path, words: Path, tmp_path: Path) -> None:
    """A word is on the side of its list; words on no list are left out, and development words are trained ones."""
    known = sorted({json.loads(line)["lemma"] for line in words.read_text(encoding="utf-8").splitlines()})
    given: list[Any] = []
    for name, some in (("train", known[:20]), ("test", known[20:35])):
        path = tmp_path / f"{name}.tsv"
        path.write_text("".join(f"@{word}@\t-thing=1\n" for word in some), encoding="utf-8")
        given += [f"--{name}-words", path]
    out = tmp_path / "out"
    usual = ["--model", model, "--corpus", words, "--out", out, *SMALL, "--quiet"]
    status, _, err = run(*usual, *given)
    assert (status, err) == (0, "")
    rows = read_csv(out / "probes" / "layers-data.csv")
    total = {side: int(rows["words"][at]) for at, side in enumerate(rows["side"]) if rows["class"][at] == "total"}
    assert total["test"] == 15
    assert total["train"] + total["dev"] == 20
    # another split is other words: nothing of the one is taken for the other
    first = (out / "probes" / "bert" / "layers.json").read_bytes()
    assert run(*usual, "--existing", "resume")[0] == 0
    assert (out / "probes" / "bert" / "layers.json").read_bytes() != first


def test_static_vectors_are_known_by_their_content(model: Path, words: Path, tmp_path: Path) -> None:
    """A file of the same name and size with other numbers is another one; the same under another name is not."""
    told = []
    for name, text in (("a.txt", "suit 1 0\nbank 0 1\n"), ("a.txt", "suit 0 1\nbank 1 0\n"),
                       ("b.txt", "suit 0 1\nbank 1 0\n")):  # fmt: skip
        (tmp_path / name).write_text(text, encoding="utf-8")
        labelled = Words(corpus=[str(words)], text={}, name="words", min_words=1)
        wanted = Wanted(words=labelled, tasks={}, missing={}, static=str(tmp_path / name))
        told.append(probe_measures.Measuring(str(model), "bert", wanted, tmp_path).asked("layers")["static"])
    assert told[0] != told[1]
    assert told[1] == told[2]


def test_without_tasks_it_says_what_is_missing(run: Run, model: Path, words: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, _, err = run("--model", model, "--corpus", words, "--out", out, "--quiet", *SMALL)
    assert (status, err) == (0, "")
    assert not (out / "figures" / "windows.png").exists()  # an empty figure says nothing
    again = run("--model", model, "--corpus", words, "--out", out, "--existing", "resume", *SMALL)[1]
    assert "cannot be shown: nothing was fine-tuned" in " ".join(again.replace("│", " ").split())
    found = {one["id"]: one for one in json.loads((out / "findings.json").read_text(encoding="utf-8"))["findings"]}
    assert found["F6.top"]["why"] == (
        "not run: needs the files of pos: give the folder to --data; needs the files of sst-2: give the folder to "
        "--data; mrpc was not asked for: name it by --tasks; ner was not asked for: name it by --tasks"
    )
    assert "give the folder to --data" in found["T7"]["why"]
    assert "--static" in found["F3.static"]["why"]


@pytest.mark.parametrize(
    ("options", "status", "words"),
    [
        (("--preset", "released"), 2, "--preset must be one of corrected, paper"),
        (("--layers", "1"), 2, "no option --layers"),
        (("--engine", "ray"), 2, "--engine has an effect on ethayarajh2019 only"),
        (("--tasks", "trec"), 2, "--tasks"),
        (("--not-tuned", "other"), 2, "--not-tuned"),
        (("--context-size", "two"), 2, "--context-size must be a whole number"),
        (("--static", "nothing.txt"), 1, "--static must be a file of word vectors"),
        (("--test-words", "nothing.txt"), 2, "give --train-words and --test-words"),
        (("--data", "nowhere"), 1, "--data must be a folder"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Run, model: Path, tmp_path: Path, options: tuple[str, ...], status: int, words: str
) -> None:
    found, out, err = run("--model", model, "--out", tmp_path / "out", *options)
    assert (found, out, len(err.strip().splitlines())) == (status, "", 1), err
    assert words in err
    assert not (tmp_path / "out").exists()


def test_dry_run_says_what_is_there(run: Run, model: Path, words: Path, tmp_path: Path) -> None:
    data = write_tasks(tmp_path / "data")
    status, said, _ = run("--model", model, "--corpus", words, "--data", data, "--dry-run", "--out", tmp_path / "out")
    assert status == 0
    assert "bert: words.jsonl, 2 classes, 40 words, 80 contexts" in said
    assert "fine-tuning on MRPC: not run: " in said
    assert "fine-tuning on POS\n" in said
    given = ["--model", model, "--corpus", words, "--data", data, "--dry-run", "--out", tmp_path / "out"]
    said = run(*given, "--not-tuned", model)[1]
    assert "probes with little context\n" in said
    assert "fine-tuning on POS: not run: bert was to be left as it is" in said
    assert not (tmp_path / "out").exists()
