"""limbeck evaluate on tasks of single words, from outside."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import UsageError
from limbeck.evaluation import FIVE, compare_means, evaluate, evaluate_words, tasks, word_tasks
from limbeck.tables import read_csv

Run = Callable[..., tuple[int, str, str]]
NAMES = [f"{kind}{n}" for kind in ("man", "king", "cat", "kitten") for n in range(12)]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    lines = [": family"]
    for n in range(12):
        lines += [f"man{n} king{n} man{m} king{m}" for m in range(12) if m != n]
    lines += [
        ": gram1-young",
        *(f"cat{n} kitten{n} cat{n - 1} kitten{n - 1}" for n in range(1, 12)),
        "cat0 kitten0 x y",
    ]
    (folder / "questions-words.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    rows = [f"{n},{name.rstrip('0123456789')},{name}" for n, name in enumerate([*NAMES, "absent"])]
    (folder / "ap.csv").write_text(",category,word\n" + "\n".join(rows) + "\n", encoding="utf-8")
    rng = np.random.default_rng(0)
    files = ("EN-RG-65.txt", "EN-WS-353-ALL.txt", "EN-SIMLEX-999.txt", "EN-SimVerb-3500.txt", "EN-RW-STANFORD.txt")
    for file in files:
        pairs = [rng.choice(NAMES, 2, replace=False) for _ in range(20)]
        scores = [f"{a}\t{b}\t{3.0 * (a[:2] == b[:2]) + rng.uniform():.3f}\n" for a, b in pairs]
        (folder / file).write_text("".join(scores), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two tables in two formats, the second noisier."""
    folder = tmp_path_factory.mktemp("vectors")
    rng = np.random.default_rng(1)
    each, kinds = rng.normal(size=(12, 20)), rng.normal(size=(4, 20))
    matrix = np.concatenate([each + 2 * kind for kind in kinds]) + 0.2 * rng.normal(size=(48, 20))
    lb.StaticVectors(NAMES, matrix).save(folder / "good.vec")
    lb.StaticVectors(NAMES, matrix + 2 * rng.normal(size=matrix.shape)).save(folder / "bad.bin")
    return [folder / "good.vec", folder / "bad.bin"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def run(*arguments: Any) -> tuple[int, str, str]:
        capsys.readouterr()
        try:
            status = main(["evaluate", *(str(argument) for argument in arguments)])
        except SystemExit as ended:
            status = int(ended.code or 0)
        said = capsys.readouterr()
        return status, said.out, said.err

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return run


def test_two_files_beside_each_other(run: Run, data: Path, files: list[Path], tmp_path: Path) -> None:
    out = tmp_path / "run"
    groups = "wordsim,analogy,categorization"
    status, said, told = run(*files, "--tasks", groups, "--data", data, "--draws", 100, "--out", out)
    assert status == 0, told
    for name in ("google-analogies", "ap", "mean of five", "3CosAdd", "purity", "* differs from good.vec"):
        assert name in said
    scores = read_csv(out / "scores.csv")
    rows = list(zip(scores["task"], scores["target"], scores["metric"], scores["subset"], scores["value"], strict=True))
    vectors = [lb.StaticVectors.load(file) for file in files]
    found = word_tasks(data)
    for target, table in zip(("good.vec", "bad.bin"), vectors, strict=True):
        score = evaluate_words(found["google-analogies"], table)
        assert ("google-analogies", target, "3CosAdd", "", repr(score.value)) in rows
        assert ("google-analogies", target, "3CosAdd", "syntactic", repr(score.parts["syntactic"].value)) in rows
        assert ("google-analogies", target, "3CosMul", "") in [row[:4] for row in rows]
        assert ("ap", target, "purity, best of six", "") in [row[:4] for row in rows]
    compared = read_csv(out / "comparisons.csv")
    assert compared["task"] == [*FIVE, "google-analogies", "ap", "mean of five"]
    sets = tasks(data)
    a, b = ({name: evaluate(sets[name], table) for name in FIVE} for table in vectors)
    wanted = compare_means(b, a, draws=int(compared["draws"][0]))
    assert float(compared["difference"][-1]) == pytest.approx(wanted.difference)
    assert float(compared["p"][-1]) == pytest.approx(wanted.p)
    assert "ap: left out: 1 (words without a vector)" in said


def test_policies(run: Run, data: Path, files: list[Path], tmp_path: Path) -> None:
    def value(*options: Any) -> tuple[float, int]:
        out = tmp_path / "-".join(str(option).strip("-") for option in options)
        status, _, told = run(files[0], "--tasks", "google-analogies", "--data", data, "--out", out, *options)
        assert status == 0, told
        scores = read_csv(out / "scores.csv")
        return float(scores["value"][0]), int(scores["n"][0])

    assert value("--seed", 0)[1] == 144
    assert value("--oov", "drop")[1] == 143, "one question has words that nobody has"
    assert value("--vocabulary", 24)[0] <= 132 / 144, "kittens are out"
    assert value("--preset", "web")[1] == 144


@pytest.mark.parametrize(
    ("options", "code", "parameter"),
    [
        (["--tasks", "wordsim", "--vocabulary", 10], "no_effect", "vocabulary"),
        (["--tasks", "wordsim", "--analogy", "mul"], "no_effect", "analogy"),
        (["--tasks", "analogy", "--analogy", "cos"], "unknown_choice", "analogy"),
        (["--tasks", "analogy", "--preset", "wab"], "unknown_choice", "preset"),
        (["--tasks", "analogy", "--preset", "web", "--oov", "drop"], "exclusive", "oov"),
        (["--tasks", "analogy", "--oov", "wrong"], "unknown_choice", "oov"),
        (["--tasks", "analogy", "--case", "upper"], "unknown_choice", "case"),
        (["--tasks", "analogy", "--oov", "fallback"], "required", "oov"),
        (["--tasks", "analogy", "--fallback", "other.vec"], "no_effect", "fallback"),
    ],
)
def test_refused(run: Run, data: Path, files: list[Path], options: list[Any], code: str, parameter: str) -> None:
    assert run(files[0], "--data", data, *options)[0] == 2
    with pytest.raises(UsageError) as caught:
        main(["evaluate", str(files[0]), "--data", str(data), *map(str, options), "--debug"])
    assert (caught.value.code, caught.value.parameter) == (code, parameter)


@pytest.mark.parametrize("task", ["wordsim", "analogy"])
def test_a_fallback_of_other_dimensions_is_refused_by_name(
    run: Run, data: Path, files: list[Path], tmp_path: Path, task: str
) -> None:
    other = tmp_path / "other.vec"
    lb.StaticVectors(["absent"], np.ones((1, 7))).save(other)
    status, said, told = run(files[0], "--data", data, "--tasks", task, "--oov", "fallback", "--fallback", other)
    assert (status, said) == (1, "")
    assert f"{other}: a fallback must have the dimensions" in told
    assert f"got 7, and {files[0]} has 20" in told
    assert "rg-65" not in told, "nothing was scored before"


def test_what_targets_leave_out_is_one_line_a_task(run: Run, data: Path, files: list[Path], tmp_path: Path) -> None:
    """Two files lack words of different numbers, a third none; each one's own number is in scores.csv."""
    whole = lb.StaticVectors.load(files[0])
    lacking = {}
    for count in (40, 30):
        lacking[tmp_path / f"first{count}.vec"] = set(NAMES[count:])
        lb.StaticVectors(NAMES[:count], whole.matrix[:count]).save(tmp_path / f"first{count}.vec")
    out = tmp_path / "run"
    status, said, told = run(files[0], *lacking, "--tasks", "rg-65,ap", "--data", data, "--draws", 10, "--out", out)
    assert status == 0, told
    pairs = [line.split("\t")[:2] for line in (data / "EN-RG-65.txt").read_text().splitlines()]
    missed = [sum(bool(words & set(pair)) for pair in pairs) for words in lacking.values()]
    assert 0 < missed[0] < missed[1]
    lines = [line for line in said.splitlines() if "left out:" in line]
    assert lines == [
        f"rg-65: left out: 0 to {missed[1]} by target (a word has no vector)",
        "ap: left out: 1 to 19 by target (words without a vector)",
    ]
    scores = read_csv(out / "scores.csv")
    told_of = dict(zip(zip(scores["task"], scores["target"], strict=True), scores["dropped"], strict=True))
    assert told_of["rg-65", "first40.vec"] == f"a word has no vector: {missed[0]}"


def test_a_model(run: Run, data: Path) -> None:
    status, _, told = run("mini-bert", "--tasks", "analogy", "--data", data)
    assert status == 2
    assert "limbeck distill" in told
    status, said, told = run("mini-bert", "--tasks", "ap", "--data", data, "--draws", 10, "--quiet")
    assert status == 0, told
    assert "100.0 %" in said


def test_a_missing_file_is_told(run: Run, data: Path, files: list[Path]) -> None:
    status, _, told = run(files[0], "--tasks", "msr-analogies", "--data", data)
    assert status == 1
    assert "msr.csv" in told
    assert "word-benchmarks" in told
