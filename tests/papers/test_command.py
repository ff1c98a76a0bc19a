"""limbeck reproduce from outside: what it prints and writes, how it goes on, and one line for what is wrong."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from commands import MARKS, Run, check_schema, draw_only, runner
from made import WORDS, sentences
from made_static import write_sets
from refusals import raises

import limbeck.papers.ethayarajh2019 as paper
from limbeck import StaticVectors
from limbeck.cli import main
from limbeck.corpus import Corpus
from limbeck.errors import InputError
from limbeck.papers import PAPERS, paper_named
from limbeck.papers.results import evaluate
from limbeck.papers.text import count_senses, default_corpus

MADE = sentences(200, documents=12)


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    from transformers.utils import logging

    logging.disable_progress_bar()
    folders = []
    for family, tokenizer in (("bert", "wordpiece uncased"), ("gpt2", "byte-level")):
        folders.append(tmp_path_factory.mktemp("models") / family)
        tiny_models.model(family).save_pretrained(folders[-1])
        tiny_models.tokenizer(tokenizer).save_pretrained(folders[-1])
    logging.enable_progress_bar()
    return folders


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made sentences in which every "lamp" and "river" has a class."""
    lines = []
    for number, sentence in enumerate(MADE):
        labels = {str(i): {"class": f"c{number % (2 + len(word) % 2)}"} for i, word in enumerate(sentence.words)
                  if word in ("lamp", "river")}  # fmt: skip
        lines.append(json.dumps({"words": list(sentence.words), "document": sentence.document, "labels": labels}))
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing takes longer than all the rest, and has tests of its own."""
    monkeypatch.setattr("limbeck.reporting.draw", lambda folders, out: out.mkdir(parents=True))
    draw_only(monkeypatch, paper, "anisotropy", "words")
    monkeypatch.setattr("limbeck.papers.statistics.REPLICATES", 50)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_the_whole_command(run: Run, models: list[Path], text: Path, tmp_path: Path) -> None:
    out, page = tmp_path / "out", tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(MARKS.format("figure-anisotropy"), encoding="utf-8")
    given = ["ethayarajh2019", "--model", *models, "--corpus", text, "--min-contexts", 3, "--page", page, "--out", out]
    status, said, err = run(*given)
    assert status == 0
    assert "higher layers are more anisotropic" in said
    assert "those of GPT-2 are the worst" in said
    assert "bert and gpt2 are not among the paper's models" in said
    assert "of memory beside the model" in err
    assert sorted(path.name for path in out.iterdir()) == [
        ".limbeck",
        "figures",
        "findings.json",
        "findings.md",
        "report.html",
        "runs",
        "senses.csv",
    ]
    assert {path.name for path in (out / "runs").iterdir()} == {"bert", "gpt2"}
    for folder in (out / "runs").iterdir():
        assert {"run.json", "layers.csv", "words.parquet", "state"} <= {path.name for path in folder.iterdir()}
    assert {path.name for path in (out / "figures").iterdir()} == {
        f"{name}.{form}" for name in ("anisotropy", "words") for form in ("png", "svg")
    }
    assert (out / "senses.csv").read_text() == "word,senses\nlamp,2\nriver,3\n"
    written = page.read_text(encoding="utf-8")
    assert written.startswith("mine\n")
    assert written.endswith("mine too\n")
    assert "](figures/ethayarajh2019-anisotropy.svg)" in written
    assert [path.name for path in (page.parent / "figures").iterdir()] == ["ethayarajh2019-anisotropy.svg"]
    found = json.loads((out / "findings.json").read_text(encoding="utf-8"))
    check_schema(found)
    assert [model["kind"] for model in found["models"]] == ["BERT", "GPT-2"]
    assert found["command"].startswith("limbeck reproduce ethayarajh2019 --model ")
    assert "--min-contexts 3" in found["command"]
    assert main([*found["command"].split()[1:], "--existing", "fail"]) == 1  # the command is whole, and there is a run

    # again: what was measured is not measured again, and says the same
    first = (out / "findings.json").read_bytes()
    state = (out / "runs" / "bert" / "run.json").stat().st_mtime_ns
    assert run(*given, "--existing", "resume")[0] == 0
    assert (out / "findings.json").read_bytes() == first
    assert (out / "runs" / "bert" / "run.json").stat().st_mtime_ns == state
    assert page.read_text(encoding="utf-8") == written
    status, said, err = run(*given)
    assert (status, said) == (1, "")
    assert err == f"limbeck: {out}: it already holds findings: --existing resume or replace, or another --out.\n"


def test_a_schema_that_is_wrong_is_found() -> None:
    with pytest.raises(AssertionError):
        check_schema({"format": 1, "findings": [{}, {}]})


def test_a_dry_run_writes_nothing(run: Run, models: list[Path], text: Path, tmp_path: Path) -> None:
    given = ["ethayarajh2019", "--model", *models, "--corpus", text, "--min-contexts", 3, "--out", tmp_path / "out"]
    status, said, _ = run(*given, "--dry-run", "--quiet")
    assert status == 0
    assert said.count("words a second") == 2
    assert list(tmp_path.iterdir()) == []


def test_help_has_examples_and_papers(run: Run) -> None:
    status, said, _ = run("--help")
    assert status == 0
    for part in (*PAPERS, "examples:", "--page", "--senses", "--sense-label", "--existing", "--preset"):
        assert part in said


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (["ethayarajh2018", "--out", "x"], 2, "did you mean 'ethayarajh2019'"),
        (["ethayarajh2019"], 2, "--out"),
        (["ethayarajh2019", "--out", "x", "--corpus", "-"], 2, "each model reads it anew"),
        (["ethayarajh2019", "--out", "x", "--preset", "pater"], 2, "did you mean 'paper'"),
        (["ethayarajh2019", "--out", "x", "--page", "none.md"], 1, "must be a page that is there"),
        (["ethayarajh2019", "--out", "x", "--model", "./none", "./nil"], 1, "there is nothing at ./none"),
        (["ethayarajh2019", "--out", "x", "--model", "./m", "./m"], 2, "each model must be given once"),
        (["ethayarajh2019", "--out", "x", "--corpus", "t.txt", "--sense-label", "x"], 1, "check --sense-label"),
        (["ethayarajh2019", "--out", "x", "--senses", "none.jsonl"], 1, "none.jsonl"),
    ],
)
def test_bad_input_is_one_line(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], status: int, told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.txt").write_text("A text of one sentence.\n")
    got, said, err = run(*arguments)
    assert (got, said) == (status, "")
    assert told in err
    assert "Traceback" not in err
    assert err.strip().count("\n") == 0 or status == 2
    assert [path.name for path in tmp_path.iterdir()] == ["t.txt"]


def test_a_run_without_words_is_refused(tmp_path: Path) -> None:
    with raises(InputError, code="not_readable"):
        evaluate(paper_named("ethayarajh2019"), [tmp_path])


# text


def test_the_default_text_is_there() -> None:
    assert default_corpus().is_file()
    assert len(count_senses(Corpus(default_corpus()))) >= 60


def test_senses_are_counted_by_label() -> None:
    corpus = Corpus.from_sentences(
        [
            replace(MADE[0], words=("Bank", "a", "New", "York"), labels={0: {"class": "place", "sense": "1"}}),
            replace(MADE[0], words=("bank", "a"), labels={0: {"class": "firm"}, 1: {"pos": "DT"}}),
            replace(MADE[0], words=("New", "York"), labels={0: {"class": "place", "span": "2"}}),
        ]
    )
    assert count_senses(corpus) == {"bank": 1}  # the finer label goes first
    assert count_senses(corpus, label="class") == {"bank": 2}
    assert count_senses(Corpus.from_text("No labels here.")) == {}
    with raises(InputError, code="no_labels", parameter="sense_label", says="'lexfile'"):
        count_senses(corpus, label="lexfile")


def test_table_1_with_word_tasks(run: Run, models: list[Path], text: Path, tmp_path: Path) -> None:
    vectors = tmp_path / "made.txt"
    StaticVectors(WORDS, np.random.default_rng(0).normal(size=(len(WORDS), 6))).save(vectors)
    data, out = write_sets(tmp_path / "data", WORDS), tmp_path / "out"
    given = ["ethayarajh2019", "--model", models[0], vectors, "--corpus", text, "--min-contexts", 3, "--data", data]
    status, _, err = run(*given, "--out", out, "--quiet")
    assert (status, err) == (0, "")
    found = {one["id"]: one for one in json.loads((out / "findings.json").read_text(encoding="utf-8"))["findings"]}
    assert found["T1.means"]["models"]["bert"]["verdict"] != "cannot be shown"
    assert "made.txt" in found["T1.files"]["models"]["bert"]["why"]
    assert found["T1.bert-best"]["why"] == "there is no model of another kind to compare with"
    rows = (out / "static.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0].startswith("model,vectors,layer,set,way,value")
    assert sum(row.startswith("made.txt,file,") for row in rows) == 4 * 2  # sets and ways
    first = (out / "static.csv").read_bytes()
    assert run(*given, "--out", out, "--quiet", "--existing", "resume")[0] == 0
    assert (out / "static.csv").read_bytes() == first


def test_a_wrong_data_folder_is_told_before_anything(run: Run, models: list[Path], text: Path, tmp_path: Path) -> None:
    given = ["ethayarajh2019", "--model", models[0], "--corpus", text, "--data", tmp_path / "nowhere"]
    status, said, err = run(*given, "--out", tmp_path / "out")
    assert (status, said) == (1, "")
    assert "nowhere" in err
    assert not (tmp_path / "out").exists()
