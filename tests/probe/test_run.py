"""The command and the function: tables that agree with each other, runs that go on, probes that are used again."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, UsageError
from limbeck.run import probing

KINDS = ("animal", "food")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """40 words of either class, three sentences each; food is eaten, animals run."""
    lines = []
    for number in range(80):
        kind = KINDS[number % 2]
        for turn in range(3):
            verb = ("runs", "eaten")[number % 2]
            words = ["the", f"w{number}", verb, *["today"] * turn]
            lines.append({"words": words, "index": 1, "label": kind})
    path = tmp_path / "labelled.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def told(texts):
    """Two layers: the first knows a word's length, the second also its neighbour to the right."""
    rows = []
    for text in texts:
        words = [*text.words, ""]
        lower = [[float(len(word)), 1.0] for word in words[:-1]]
        upper = [[float(len(a)), 3.0 * (b == "eaten") - 1.0] for a, b in pairwise(words)]
        rows.append(np.array([lower, upper]))
    return rows


QUICK = {"epochs": 30, "hidden": 8, "batch": 32, "learning_rate": 0.02}


def test_the_layer_and_the_context_that_tell_the_class(data: Path):
    probed = lb.probe.probe(
        told, data, context_size="0,1", controls="majority,random-labels", probes="mlp,linear", **QUICK
    )
    by_layer = {
        (row["context"], row["layer"]): row["f1"]
        for row in probed.rows("scores", side="test", space="context", probe="mlp")
    }
    assert by_layer["all", "1"] == by_layer["1", "1"] == 1.0
    assert by_layer["all", "0"] < 0.8
    assert by_layer["0", "1"] < 0.8  # a word alone has no neighbour
    (majority,) = probed.rows("scores", side="test", space="majority", level="context")
    data_rows = {row["class"]: row for row in probed.rows("data", side="test")}
    largest = max(probed.rows("data", side="train"), key=lambda row: row["combinations"] * (row["class"] != "total"))
    assert majority["recall"] == pytest.approx(
        data_rows[largest["class"]]["combinations"] / data_rows["total"]["combinations"]
    )
    assert data_rows["total"]["contexts"] == 3 * data_rows["total"]["words"]
    upper = [row for row in probed.rows("flips", layer="1", probe="mlp") if row["to"] == "1"]
    listed = [row for row in probed.rows("flip_examples", probe="mlp") if row["to"] == "1"]
    assert upper[0]["put_right"] > 0
    assert len(listed) == upper[0]["put_right"] + upper[0]["put_wrong"]
    assert all("[w" in row["text"] for row in listed)
    chosen = next(row for row in probed.rows("selectivity", layer="1") if row["probe"] == "mlp")
    assert chosen["selectivity"] == pytest.approx(1.0 - chosen["control_f1"])
    assert chosen["control_f1"] < 0.85


def test_scores_of_starts_are_averaged(data: Path):
    how = {"controls": (), "compare": "average", "epochs": 3, "hidden": 4}
    several = lb.probe.probe(told, data, seeds="1,2", **how)
    each = [lb.probe.probe(told, data, seeds=str(seed), **how) for seed in (1, 2)]
    for at, row in enumerate(several.rows("scores")):
        values = [one.rows("scores")[at]["f1"] for one in each]
        assert row["f1"] == pytest.approx(np.mean(values))
        assert row["f1_std"] == pytest.approx(np.std(values, ddof=1))
        assert row["starts"] == 2
    assert np.isnan(each[0].rows("scores")[0]["f1_std"])
    spaces = {(row["space"], row["level"]) for row in several.rows("scores")}
    assert spaces == {("context", "context"), ("average", "type")}


def command(data: Path, out: Path, *more: str, quiet: bool = True) -> int:
    options = ["--epochs", "8", "--hidden", "4", "--layers", "table,2", "--batch", "32", "--learning-rate", "0.03"]
    named = ["--model", "mini-bert", "--data", str(data), "--out", str(out)]
    return main(["probe", *named, *options, *more, *(["--quiet"] if quiet else [])])


def test_the_command_writes_tables_and_figures(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    asked = ("--context-size", "0", "--control", "majority,random-weights,description-length")
    assert command(data, out, *asked, quiet=False) == 0
    printed = capsys.readouterr().out
    assert "micro-F1 on the test words" in printed
    assert "P-model (context level, mlp)" in printed
    assert "P-around (context level, mlp)" in printed
    assert "random weights" in printed
    names = {path.name for path in out.iterdir()}
    assert {"scores.csv", "classes.csv", "curves.csv", "data.csv", "pieces.csv", "confidence.csv"} <= names
    assert {"flips.csv", "flip_examples.csv", "description_length.csv", "run.json", "figures"} <= names
    assert "state" not in names
    figures = {path.name for path in (out / "figures").iterdir()}
    assert figures == {f"{name}.{form}" for name in ("layers", "contexts", "curves") for form in ("png", "svg")}
    about = json.loads((out / "run.json").read_text())
    assert about["facts"]["training"]["mlp"]["epochs"] == 8
    assert command(data, out) == 1  # it is there already
    assert "already holds a run" in capsys.readouterr().err
    assert command(data, out, "--existing", "resume", *asked, quiet=False) == 0
    assert "complete already" in (again := capsys.readouterr().out)
    assert again.splitlines()[1:] == printed.splitlines()
    assert command(data, out, "--existing", "resume") == 1
    assert "another command, model, data or settings" in capsys.readouterr().err


def test_a_stopped_run_goes_on(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    whole = tmp_path / "whole"
    assert command(data, whole) == 0
    real, calls = probing.train, []

    def stopped(*arguments, **options):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    monkeypatch.setattr(probing, "train", stopped)
    out = tmp_path / "stopped"
    assert command(data, out) == 130
    assert not out.exists()
    assert command(data, out, "--existing", "resume", "--min-words", "3") == 1  # other settings
    assert command(data, out, "--existing", "resume") == 0
    assert len(calls) == 3 + 4  # six spaces, of which two were there
    for name in ("scores.csv", "classes.csv", "curves.csv"):
        assert (out / name).read_text() == (whole / name).read_text()


def test_probes_are_tried_on_another_model(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, second = tmp_path / "first", tmp_path / "second"
    assert command(data, first, "--keep-probes") == 0
    assert command(data, second, "--probes", str(first)) == 0
    own, again = (lb.probe.read_probed(path) for path in (first, second))
    assert str(again.rows("scores")) == str(own.rows("scores", space="context"))  # NaN is not itself
    assert max(row["f1"] for row in again.rows("scores")) > 0.5
    capsys.readouterr()
    assert command(data, tmp_path / "x", "--probes", str(first), "--seed", "3") == 1
    assert "other labelled words and split" in capsys.readouterr().err
    assert command(data, tmp_path / "x", "--probes", str(first), "--probe", "linear") == 1
    assert "no such probes" in capsys.readouterr().err
    assert command(data, tmp_path / "x", "--probes", str(second)) == 1
    assert "--keep-probes" in capsys.readouterr().err
    for idle in (["--context-size", "2"], ["--keep-probes"], ["--compare", "bag"], ["--control", "majority"],
                 ["--static", "x.txt"]):  # fmt: skip
        assert command(data, tmp_path / "x", "--probes", str(first), *idle) == 2
        assert f"{idle[0]} is for probes that are trained" in capsys.readouterr().err
    # known by what they are, not by where they lie
    first.rename(tmp_path / "elsewhere")
    given = ("--probes", str(tmp_path / "elsewhere"), "--existing", "resume")
    assert command(data, second, *given) == 0
    kept = tmp_path / "elsewhere" / "probes" / "mlp-0.safetensors"
    probes, about = lb.probe.Probes.load(kept)
    probes.weights["output"] += 1
    probes.save(kept, about=about)
    assert command(data, second, *given) == 1
    assert "another command, model, data or settings" in capsys.readouterr().err


@pytest.mark.parametrize("changed", ["text", "span", "label"])
def test_probes_know_the_text_that_they_were_trained_on(
    data: Path, tmp_path: Path, changed: str, capsys: pytest.CaptureFixture[str]
):
    """The same words at the same places of other sentences are other data."""
    assert command(data, tmp_path / "run", "--keep-probes") == 0
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    if changed == "text":
        lines[5]["words"][0] = "that"
    elif changed == "span":  # by lemma, so that words stay the same
        for one in lines:
            one["lemma"] = one["words"][1]
        lines[5]["span"] = 2
    else:
        lines[0]["label"], lines[1]["label"] = "food", "food"
    other = tmp_path / "other.jsonl"
    other.write_text("\n".join(map(json.dumps, lines)))
    capsys.readouterr()
    assert command(other, tmp_path / "x", "--probes", str(tmp_path / "run")) == 1
    assert "trained on other labelled words and split" in capsys.readouterr().err


def test_what_cannot_be_done_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for more, status, told_ in (
        (("--context", "2"), 2, "context cannot be chosen for probing"),
        (("--preset", "papre"), 2, "did you mean 'paper'"),
        (("--control", "majorty"), 2, "did you mean 'majority'"),
        (("--context-size", "two"), 2, "--context-size must be whole numbers"),
        (("--label", "sense"), 1, "name one by --label"),
        (("--min-words", "500"), 1, "lower --min-words"),
        (("--classes", "food"), 1, "two are needed; got food alone"),
        (("--test", "nan"), 2, "--dev and --test are shares of the words"),
        (("--test-words", str(data)), 2, "give --train-words and --test-words"),
    ):
        assert command(data, tmp_path / "x", *more) == status
        error = capsys.readouterr().err
        assert told_ in error
        assert len(error.strip().splitlines()) == 1
        assert not (tmp_path / "x").exists()
    with pytest.raises(UsageError, match="--model and --data"):
        main(["probe", "--out", str(tmp_path / "x"), "--debug"])
    with pytest.raises(InputError, match="every side"):
        lb.probe.probe(told, data, dev=0.0)


def test_a_dry_run_writes_nothing(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command(data, tmp_path / "x", "--dry-run") == 0
    said = capsys.readouterr().out
    assert "4 probes at 2 layers, trained together" in said
    assert "from 1 start of 8 epochs" in said
    assert "classes without" not in said
    with data.open("a") as file:
        file.write("\n" + json.dumps({"words": ["a", "fern"], "index": 1, "label": "plant"}))
    assert command(data, tmp_path / "x", "--dry-run", "--min-words", "1") == 0
    assert "classes without a test word, of which F1 says nothing: plant" in capsys.readouterr().out
    assert not (tmp_path / "x").exists()


def test_wiki_pse_with_its_lists(tmp_path: Path):
    """The corpus with marks, and the two lists of words that say which side a word is on."""
    kinds = {f"w{number}": ("food", "living_thing")[number % 2] for number in range(60)}
    lines = [f"the @{word}@-{kind} {('eaten', 'runs')[kind != 'food']} ." for word, kind in kinds.items()]
    (tmp_path / "corpus.txt").write_text("\n".join(lines))
    for name, words in (("train", list(kinds)[:30]), ("test", list(kinds)[30:50])):
        (tmp_path / f"{name}.tsv").write_text("".join(f"@{word}@\t-{kinds[word]}=1\n" for word in words))
    probed = lb.probe.probe(
        told,
        tmp_path / "corpus.txt",
        format="wikipse",
        train_words=tmp_path / "train.tsv",
        test_words=tmp_path / "test.tsv",
        compare=(),
        **QUICK,
    )
    counts = {row["side"]: row["contexts"] for row in probed.rows("data", **{"class": "total"})}
    assert counts["train"] + counts["dev"] == 30
    assert counts["test"] == 20  # the ten words that are on no list are left out
    assert probed.facts["sides"]["test"]["words"] == 20
    assert next(row["f1"] for row in probed.rows("scores", side="test", layer="1")) == 1.0
