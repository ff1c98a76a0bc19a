"""`limbeck evaluate --tasks classify`: what is asked, checked, written and printed."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from refusals import refused

from limbeck import StaticVectors, repairs
from limbeck.cli import main
from limbeck.errors import UsageError

HEAD = "index\tsentence1\tsentence2\tlabel\n"


@pytest.fixture
def data(tmp_path):
    """RTE in small: entailed is what says the same again."""
    folder = tmp_path / "data" / "RTE"
    folder.mkdir(parents=True)
    for name, count in (("train", 60), ("dev", 20)):
        lines = [
            f"{n}\tThe river rose {n} times\t{'The river rose' if n % 2 else 'Nobody sings'} {n} times\t"
            f"{'entailment' if n % 2 else 'not_entailment'}\n"
            for n in range(count)
        ]
        (folder / f"{name}.tsv").write_text(HEAD + "".join(lines), encoding="utf-8")
    return tmp_path / "data"


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_all_that_is_written(data, tmp_path, capsys):
    out = tmp_path / "out"
    given = ["evaluate", "mini-bert", "--tasks", "classify", "--data", str(data), "--max-train", "40", "--starts", "2"]
    assert main([*given, "--epochs", "3", "--draws", "50", "--out", str(out)]) == 0
    rows = rows_of(out / "classify.csv")
    assert [row["setting"] for row in rows] == ["baseline", "global", "cluster"]
    assert {(row["target"], row["task"], row["metric"], row["split"]) for row in rows} == {
        ("mini-bert", "rte", "accuracy", "dev")
    }
    assert {(row["trained"], row["held_out"], row["available"], row["n"]) for row in rows} == {("36", "4", "60", "20")}
    assert "40 of 60 training examples, drawn at random" in rows[0]["note"]
    assert (rows[0]["p"], rows[0]["difference"]) == ("", "")
    epochs = rows_of(out / "epochs.csv")
    assert len(epochs) == 3 * 2 * 3
    chosen = [float(row["score"]) for row in epochs if row["chosen"] == "1" and row["setting"] == "cluster"]
    assert float(rows[2]["value"]) == pytest.approx(sum(chosen) / 2)
    assert {path.name for path in (out / "figures").iterdir()} == {
        "epochs.png", "epochs.svg", "losses.png", "losses.svg",
    }  # fmt: skip
    compared = rows_of(out / "comparisons.csv")
    assert [(row["target"], row["other"]) for row in compared] == [
        ("mini-bert + global", "mini-bert"),
        ("mini-bert + cluster", "mini-bert"),
        ("mini-bert + cluster", "mini-bert + global"),
    ]
    assert float(compared[1]["difference"]) == pytest.approx(float(rows[2]["difference"]))
    assert not (out / "scores.csv").exists()
    told = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert told["options"]["max_train"] == 40
    printed = capsys.readouterr().out
    assert "mini-bert + cluster" in printed
    assert "3 comparisons; the 1 between others is in comparisons.csv" in " ".join(printed.split())
    assert "rte: 40 of 60 training examples, drawn at random" in printed
    assert "classify.csv, comparisons.csv, epochs.csv, figures/, " in printed


def test_texts_without_a_vector_are_scored_and_said_to_be(data, tmp_path, capsys):
    """Nobody sings, of this file: these pairs lack a side, and count all the same."""
    file = tmp_path / "v.vec"
    words = ["the", "river", "rose"]
    StaticVectors(words, np.random.default_rng(0).normal(size=(3, 8))).save(file)
    (data / "RTE" / "dev.tsv").write_text(
        HEAD + "0\tThe river rose\tThe river\tentailment\n" + "1\tThe river rose\tNobody sings\tnot_entailment\n",
        encoding="utf-8",
    )
    given = ["evaluate", str(file), "--tasks", "rte", "--data", str(data), "--starts", "1", "--epochs", "1"]
    assert main([*given, "--draws", "20", "--out", str(tmp_path / "out")]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert {row["n"] for row in rows_of(tmp_path / "out" / "classify.csv")} == {"2"}
    assert "rte: scored all the same: 31 (text without any vector" in printed  # 30 to train on
    assert "left out" not in printed


def test_repairs_that_are_asked_for(data, tmp_path):
    out = tmp_path / "out"
    given = [
        "evaluate",
        "mini-bert",
        "--tasks",
        "rte",
        "--data",
        str(data),
        "--starts",
        "1",
        "--epochs",
        "1",
        "--quiet",
    ]
    given += [
        "--layers",
        "0,12",
        "--method",
        "center",
        "--transductive",
        "--features",
        "flattened",
        "--length",
        "20",
    ]
    assert main([*given, "--draws", "50", "--out", str(out)]) == 0
    rows = rows_of(out / "classify.csv")
    assert [(row["target"], row["setting"]) for row in rows] == [
        ("mini-bert layer 0", "baseline"),
        ("mini-bert layer 0", "center"),
        ("mini-bert layer 12", "baseline"),
        ("mini-bert layer 12", "center"),
    ]
    for words in ("features=flattened", "fit=transductive", "center=Center()", "units=first-20"):
        assert words in rows[3]["settings"]


def test_a_repair_called_baseline_is_a_repair(data, tmp_path):
    """Vectors as they are have that name in results; the repair's scores stand beside them."""
    nothing = np.random.default_rng(0).normal(size=(2000, 128)) + 100  # what it takes away drowns the rest
    repairs.save(repairs.Center().fit(nothing), tmp_path / "baseline")
    given = [
        "evaluate",
        "mini-bert",
        "--tasks",
        "rte",
        "--data",
        str(data),
        "--starts",
        "1",
        "--epochs",
        "2",
        "--quiet",
    ]
    out = tmp_path / "out"
    assert main([*given, "--repair", str(tmp_path / "baseline"), "--draws", "50", "--out", str(out)]) == 0
    rows = rows_of(out / "classify.csv")
    assert [row["setting"] for row in rows] == ["baseline", "baseline, repaired"]
    assert "baseline, repaired=Center()" in rows[1]["settings"]
    losses = {row["setting"]: row["loss"] for row in rows_of(out / "epochs.csv")}
    assert losses["baseline"] != losses["baseline, repaired"]
    (compared,) = rows_of(out / "comparisons.csv")
    assert (compared["target"], compared["other"]) == ("mini-bert + baseline", "mini-bert")


def test_a_table_of_vectors(data, tmp_path, capsys):
    vectors = tmp_path / "own.vec"
    words = "The river rose Nobody sings times".split()
    lines = [f"{word} {' '.join(str((n + k) % 5 - 2) for k in range(4))}" for n, word in enumerate(words)]
    vectors.write_text(f"{len(words)} 4\n" + "\n".join(lines) + "\n", encoding="utf-8")
    given = ["evaluate", str(vectors), "--tasks", "rte", "--data", str(data), "--starts", "1", "--epochs", "12"]
    assert main([*given, "--draws", "50", "--quiet", "--learning-rate", "0.02"]) == 0
    assert "own" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "code", "parameter"),
    [
        (["--features", "means"], "unknown_choice", "features"),
        (["--length", "20"], "no_effect", "length"),
        (["--oov", "mean"], "no_effect", "oov"),
        (["--embeddings", "tuned"], "no_effect", "embeddings"),
        (["--split", "train"], "unknown_choice", "split"),
        (["--split", "test"], "unknown_choice", "split"),
        (["--learning-rate", "0"], "out_of_range", "learning_rate"),
        (["--learning-rate", "1e-3,1e-4"], "ambiguous", "learning_rate"),
        (["--tasks", "rtee"], "unknown_choice", "tasks"),
    ],
)
def test_what_is_wrong_is_one_line(data, capsys, options, code, parameter):
    given = ["evaluate", "mini-bert", "--tasks", "rte", "--data", str(data), "--quiet", *options]
    assert main(given) == 2
    assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(UsageError) as caught:
        main([*given, "--debug"])
    assert (caught.value.code, caught.value.parameter) == (code, parameter)


def test_a_task_without_its_files_is_told(data, capsys):
    assert refused("evaluate", "mini-bert", "--tasks", "cola", "--data", data, "--quiet", capsys=capsys) == (
        1,
        "incomplete",
        "data",
    )
