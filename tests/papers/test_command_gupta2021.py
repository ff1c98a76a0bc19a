"""limbeck reproduce gupta2021 from outside: with and without data, resumed, its page, one line for what is wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from commands import MARKS, Run, check_schema, draw_only, runner
from made import WORDS, as_jsonl, sentences
from made_static import write_sets

import limbeck as lb
import limbeck.papers.gupta2021 as paper
from limbeck.cli import main
from limbeck.papers import static_measures
from limbeck.tables import read_csv


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(sentences(120)), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest; one figure is enough here."""
    draw_only(monkeypatch, paper, "similarity")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "gupta2021")


def test_one_set_alone(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    """Sets that are not there are dashes in the tables; a folder with some of them was a traceback."""
    data = write_sets(tmp_path / "data", WORDS)
    for path in data.rglob("*"):
        if path.is_file() and "simlex" not in path.name.lower():
            path.unlink()
    page = tmp_path / "page.md"
    page.write_text(MARKS.format("table-3") + MARKS.format("table-6"), encoding="utf-8")
    given = ["--model", model, "--corpus", text, "--data", data, "--quick", "--page", page, "--out", tmp_path / "out"]
    status, _, err = run(*given)
    assert status == 0, err
    ours = [
        line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("| average over contexts")
    ]
    assert ours
    assert all(line.count("| –") >= 4 for line in ours)


def test_the_whole_command(
    run: Run, model: Path, vectors: Path, text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(MARKS.format("table-3") + MARKS.format("figure-similarity"), encoding="utf-8")
    data = write_sets(tmp_path / "data", WORDS)
    given = ["--model", model, vectors, "--corpus", text, "--data", data, "--quick", "--page", page, "--out", out]
    status, said, err = run(*given)
    assert status == 0, err
    assert "X2Static (paragraph) beats ASE at its best" in said
    assert "bert and made.txt are not among the paper's models" in said
    written = sorted(path.name for path in out.iterdir())
    assert written == [".limbeck", "figures", "findings.json", "findings.md", "parents", "report.html"]
    assert {path.name for path in (out / "parents").iterdir()} == {
        "bert",
        "similarity.csv",
        "similarity-differences.csv",
        "similarity-existing.csv",
        "size.csv",
        "contexts.csv",
        "contexts-differences.csv",
    }
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    check_schema(found)
    assert [one["kind"] for one in found["models"]] == ["BERT", "word vectors"]
    findings = {one["id"]: one for one in found["findings"]}
    for name in ("T3.ase", "T3.baselines", "T3.existing", "T3.paragraph", "E2.context", "E4.paragraph", "E3.masked"):
        assert findings[name]["verdict"] != "cannot be shown", (name, findings[name]["why"])
    assert "made.txt" not in findings["T3.ase"]["models"]
    assert "give the folder" in findings["T4"]["why"] or "files of known tasks" in findings["T4"]["why"]
    written = page.read_text(encoding="utf-8")
    assert "| X2Static, paragraph |" in written
    assert "pairs that all know: RG-65 60 of 61" in written
    assert "| *GloVe, printed* | 0.6442 |" in written

    # what was measured is taken again, and gives the same to the byte; what was asked otherwise is not
    first = (out / "findings.json").read_bytes()
    status, said, err = run(*given)
    assert (status, said) == (1, "")
    assert "it already holds findings" in err

    def never(*_: Any, **__: Any) -> Any:
        raise AssertionError("measured again")

    for name in ("similarity", "size", "contexts"):
        monkeypatch.setattr(static_measures.Distilling, name, never)
    assert main([*found["command"].split()[1:], "--existing", "resume", "--quiet"]) == 0
    assert (out / "findings.json").read_bytes() == first
    with pytest.raises(AssertionError, match="measured again"):
        run(*given, "--existing", "resume", "--seed", 3)


def test_without_data_it_says_what_is_missing(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    status, _, err = run("--model", model, "--corpus", text, "--out", out, "--quiet", "--quick")
    assert (status, err) == (0, "")
    found = {one["id"]: one for one in json.loads((out / "findings.json").read_text(encoding="utf-8"))["findings"]}
    assert found["T3.ase"]["verdict"] == "cannot be shown"
    assert "by --data" in found["T3.ase"]["why"]
    assert found["T4.macro-f1"]["verdict"] == "held"  # about the print alone
    assert "name them by --fine-tuned" in found["T4.parents"]["why"]


def test_fine_tuned_parents_have_their_row(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    """What `limbeck finetune` wrote is known as the model's own by its fingerprint, whatever it is called."""
    made = tmp_path / "made" / "TREC"
    made.mkdir(parents=True)
    lines = [f"{kind}:x the {word} ?" for word in WORDS for kind in ("HUM", "LOC")]
    for name in ("train_5500.label", "TREC_10.label"):
        (made / name).write_text("\n".join(lines), encoding="latin-1")
    settings = {"steps": 1, "batch": 4, "attention_texts": 0, "figures": False}
    for name, parent in (("trec", model), ("other", tmp_path / "trec")):
        lb.finetune(parent, "trec", made, out=tmp_path / name, **settings)
    out = tmp_path / "out"
    given = ["--model", model, "--corpus", text, "--out", out, "--quiet", "--quick"]
    status, _, err = run(*given, "--fine-tuned", tmp_path / "other")
    assert status == 1
    assert "other: its parent must be among the models" in err
    status, _, err = run(*given, "--fine-tuned", tmp_path / "nothing")
    assert (status, "--fine-tuned takes folders of limbeck finetune" in err) == (1, True)
    assert not out.exists()
    status, said, _ = run(*given, "--fine-tuned", tmp_path / "trec", "--dry-run")
    assert (status, "itself, fine-tuned: trec" in said) == (0, True)
    status, _, err = run(*given, "--fine-tuned", tmp_path / "trec")
    assert (status, err) == (0, "")
    about = json.loads((tmp_path / "trec" / "run.json").read_text(encoding="utf-8"))
    found = {one["id"]: one for one in json.loads((out / "findings.json").read_text(encoding="utf-8"))["findings"]}
    assert "were not classified with" in found["T4.parents"]["why"]
    (row, mean) = rows_of(read_csv(out / "parents" / "finetuned.csv"))
    assert (row["model"], row["task"], mean["task"]) == ("bert", "trec", "mean")
    assert float(row["accuracy"]) == pytest.approx(about["scores"]["test"]["accuracy"])


def rows_of(columns: dict[str, list[str]]) -> list[dict[str, str]]:
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def test_a_dry_run_writes_nothing(run: Run, model: Path, text: Path, tmp_path: Path) -> None:
    status, said, _ = run("--model", model, "--corpus", text, "--out", tmp_path / "out", "--dry-run")
    assert status == 0
    assert "bert: word similarity of its static vectors: not made" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("--max-pairs", "3"), 2, "--max-pairs"),
        (("--layers", "1"), 2, "--layers"),
        (("--preset", "papers"), 2, "'paper'"),
        (("--data", "nowhere"), 1, "nowhere"),
        (("--epochs", "0"), 2, "--epochs"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    run: Run, model: Path, text: Path, tmp_path: Path, arguments: tuple[str, ...], status: int, told: str
) -> None:
    found, said, err = run("--model", model, "--corpus", text, "--out", tmp_path / "out", *arguments)
    assert (found, said) == (status, "")
    assert told in err
    assert not (tmp_path / "out").exists()
