"""The command and the function: tables that agree with each other, runs that go on, probes that are used again."""

from __future__ import annotations

import json
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import tiny_models
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.runs.probing import work as probing

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
    probed = lb.probe(told, data, context_size="0,1", control="majority,random-labels", probe="mlp,linear", **QUICK)
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
    how = {"control": (), "compare": "average", "epochs": 3, "hidden": 4}
    several = lb.probe(told, data, seeds="1,2", **how)
    each = [lb.probe(told, data, seeds=str(seed), **how) for seed in (1, 2)]
    for at, row in enumerate(several.rows("scores")):
        values = [one.rows("scores")[at]["f1"] for one in each]
        assert row["f1"] == pytest.approx(np.mean(values))
        assert row["f1_std"] == pytest.approx(np.std(values, ddof=1))
        assert row["starts"] == 2
    assert np.isnan(each[0].rows("scores")[0]["f1_std"])
    spaces = {(row["space"], row["level"]) for row in several.rows("scores")}
    assert spaces == {("context", "context"), ("average", "type")}


def command(data: Path, out: Path, *more: str, quiet: bool = True, figures: bool = False) -> int:
    training = ["--epochs", "8", "--hidden", "4", "--batch", "32", "--learning-rate", "0.03"]
    named = ["--model", "mini-bert", "--data", str(data), "--layers", "table,2", "--out", str(out)]
    options = [] if "--probes" in more else training
    drawn = [] if figures else ["--no-figures"]
    return main(["probe", *named, *options, *more, *drawn, *(["--quiet"] if quiet else [])])


def test_the_command_writes_tables_and_figures(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "run"
    asked = ("--context-size", "0", "--control", "majority,random-weights,description-length")
    assert command(data, out, *asked, quiet=False, figures=True) == 0
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
    with raises(LimbeckError, code="exists", parameter="existing"):
        command(data, out, "--debug")
    assert command(data, out, "--existing", "resume", *asked, quiet=False, figures=True) == 0
    assert "complete already" in (again := capsys.readouterr().out)
    assert again.splitlines()[1:] == printed.splitlines()
    with raises(InputError, code="other_run", parameter="out"):
        command(data, out, "--existing", "resume", "--debug")


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
    own, again = (lb.ProbeResult.load(path) for path in (first, second))
    assert str(again.rows("scores")) == str(own.rows("scores", space="context"))  # NaN is not itself
    assert max(row["f1"] for row in again.rows("scores")) > 0.5
    capsys.readouterr()
    with raises(InputError, code="other_settings"):
        command(data, tmp_path / "x", "--probes", str(first), "--seed", "3", "--debug")
    with raises(InputError, code="no_probes", parameter="probes"):
        command(data, tmp_path / "x", "--probes", str(first), "--probe", "linear", "--existing", "replace", "--debug")
    with raises(InputError, code="no_probes", parameter="probes"):
        command(data, tmp_path / "x", "--probes", str(second), "--debug")
    assert again.facts["training"] == {}
    assert own.facts["training"]["mlp"]["hidden"] == 4
    for idle in (["--context-size", "2"], ["--keep-probes"], ["--compare", "bag"], ["--control", "random-labels"],
                 ["--static", "x.txt"], ["--hidden", "9"], ["--epochs", "2"], ["--patience", "0"], ["--batch", "8"],
                 ["--learning-rate", "0.1"], ["--preset", "paper"]):  # fmt: skip
        with raises(UsageError, code="no_effect", parameter=idle[0].removeprefix("--").replace("-", "_")):
            command(data, tmp_path / "x", "--probes", str(first), *idle, "--debug")
    # known by what they are, not by where they lie
    first.rename(tmp_path / "elsewhere")
    given = ("--probes", str(tmp_path / "elsewhere"), "--existing", "resume")
    assert command(data, second, *given) == 0
    with pytest.raises(UsageError) as caught:
        lb.probe("mini-bert", data, probes=tmp_path / "elsewhere", hidden=9)
    assert (caught.value.code, caught.value.parameter) == ("no_effect", "hidden")
    # and by their weights, not by the bytes of their file
    kept = tmp_path / "elsewhere" / "probes" / "mlp-0.safetensors"
    probes, about = lb.probing.Probes.load(kept)
    before = kept.read_bytes()
    probes.save(kept, about=about | {"note": "the same weights"})
    assert kept.read_bytes() != before
    assert command(data, second, *given) == 0
    probes.weights["output"] += 1
    probes.save(kept, about=about)
    with raises(InputError, code="other_run", parameter="out"):
        command(data, second, *given, "--debug")


def test_probes_of_one_model_on_another_are_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tiny_models.save_bert(tmp_path / "one")
    shutil.copytree(model, tmp_path / "two")
    run = ("probe", "--data", str(data), "--layers", "table,1", "--no-figures")
    kept = ("--keep-probes", "--epochs", "1", "--hidden", "2", "--out", str(tmp_path / "kept"))
    assert main([*run, "--model", str(model), *kept, "--quiet"]) == 0
    for name, told_ in (("one", False), ("two", True)):
        capsys.readouterr()
        tried = ("--probes", str(tmp_path / "kept"), "--out", str(tmp_path / f"on-{name}"))
        assert main([*run, "--model", str(tmp_path / name), *tried]) == 0
        assert ("probes: trained on one, tried on two" in capsys.readouterr().out) is told_


def test_a_word_alone_has_no_vector_in_a_decoder(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Said before anything is trained, and the other sizes are tried; --keep-first keeps it."""
    run = ("probe", "--model", "mini-gpt2", "--data", str(data), "--layers", "2", "--epochs", "1", "--hidden", "2",
           "--compare", "none", "--context-size", "0,1", "--no-figures")  # fmt: skip
    note = "context 0: left out, the first position of a decoder has no vector"
    for more, sizes in (((), ["1", "all"]), (("--keep-first",), ["0", "1", "all"])):
        capsys.readouterr()
        assert main([*run, *more, "--dry-run", "--out", str(tmp_path / "x")]) == 0
        assert (note in capsys.readouterr().out) is ("0" not in sizes)
        out = tmp_path / f"run-{len(sizes)}"
        assert main([*run, *more, "--out", str(out)]) == 0
        assert (note in capsys.readouterr().out) is ("0" not in sizes)
        probed = lb.ProbeResult.load(out)
        assert sorted({row["context"] for row in probed.rows("scores", space="context")}) == sizes
        assert [row["from"] for row in probed.rows("flips")] == sizes[:-1]


def test_what_is_left_out_for_want_of_the_table_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command(data, tmp_path / "x", "--layers", "2", "--epochs", "1", quiet=False) == 0
    assert "P-model and P-around: left out, they need the embedding table" in capsys.readouterr().out


def test_the_rule_that_makes_a_word_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert command(data, tmp_path / "x", "--dry-run") == 0
    assert "words by form\n" in capsys.readouterr().out
    lines = [json.loads(line) for line in data.read_text().splitlines()]
    lines = [one | ({"lemma": one["words"][1]} if at else {}) for at, one in enumerate(lines)]
    data.write_text("\n".join(map(json.dumps, lines)))
    assert command(data, tmp_path / "x", "--epochs", "1", quiet=False) == 0
    rule = "lemma; 1 of 240 labelled words have none, and count by form"
    assert f"words by {rule}\n" in capsys.readouterr().err
    assert lb.ProbeResult.load(tmp_path / "x").facts["words_by"] == rule


def test_the_result_is_what_its_folder_gives_back_and_the_command_writes_the_same(data: Path, tmp_path: Path):
    asked = {"layers": "table,2", "epochs": 3, "hidden": 4, "probe": ("linear", "mlp"), "context_size": (1,), "seed": 2}
    made = lb.probe("mini-bert", data, **asked, out=tmp_path / "python", keep_probes=True, figures=False)
    loaded = lb.ProbeResult.load(tmp_path / "python")
    assert loaded.record == made.record
    assert str(dict(loaded.tables)) == str(dict(made.tables))  # NaN is not itself
    assert made.record["options"] == asked | {"probe": ["linear", "mlp"], "context_size": [1]}
    assert made.to_pandas().shape == (len(made.rows("scores")), len(made.tables["scores"]))
    assert str(dict(lb.probe("mini-bert", data, **asked).tables)) == str(dict(made.tables))
    options = ["--layers", "table,2", "--epochs", "3", "--hidden", "4", "--probe", "linear,mlp", "--context-size", "1"]
    named = ["--model", "mini-bert", "--data", str(data), "--out", str(tmp_path / "typed"), "--seed", "2"]
    assert main(["probe", *named, *options, "--keep-probes", "--no-figures", "--quiet"]) == 0
    both = [{str(one.relative_to(tmp_path / name)): one for one in (tmp_path / name).rglob("*") if one.is_file()}
            for name in ("python", "typed")]  # fmt: skip
    assert both[0].keys() == both[1].keys() >= {"probes/mlp-0.safetensors", "scores.csv", "report.html"}
    for name, path in both[0].items():
        if name.endswith(".csv"):
            assert path.read_bytes() == both[1][name].read_bytes(), name
    typed = lb.ProbeResult.load(tmp_path / "typed").record
    for key in ("options", "settings", "identity", "model"):
        assert typed[key] == made.record[key], key


def test_options_that_are_always_refused_are_not_in_the_help(capsys: pytest.CaptureFixture[str]):
    with pytest.raises(SystemExit):
        main(["probe", "--help"])
    said = capsys.readouterr().out
    for option in ("--units", "--context ", "--targets", "--special"):
        assert option not in said
    assert "--context-size" in said


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
    with raises(InputError, code="other_settings"):
        command(other, tmp_path / "x", "--probes", str(tmp_path / "run"), "--debug")


def test_what_cannot_be_done_is_told(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for more, status, told_ in (
        (("--context", "2"), 2, "limbeck probe has no option --context"),
        (("--units", "pieces"), 2, "limbeck probe has no option --units"),
        (("--targets", "tea"), 2, "limbeck probe has no option --targets"),
        (("--special",), 2, "limbeck probe has no option --special"),
        (("--preset", "papre"), 2, "did you mean 'paper'"),
        (("--control", "majorty"), 2, "did you mean 'majority'"),
        (("--control", "none,majority"), 2, "--control must be none or names"),
        (("--context-size", "two"), 2, "--context-size must be a whole number"),
        (("--label", "sense"), 1, "name one by --label"),
        (("--min-words", "500"), 1, "lower --min-words"),
        (("--classes", "food"), 1, "two are needed; got food alone"),
        (("--test", "nan"), 2, "--test must be finite"),
        (("--test-words", str(data)), 2, "give --train-words and --test-words"),
    ):
        assert command(data, tmp_path / "x", *more) == status
        error = capsys.readouterr().err
        assert told_ in error
        assert len(error.strip().splitlines()) == 1
        assert not (tmp_path / "x").exists()
    for name in ("model", "data"):
        with pytest.raises(UsageError) as caught:
            main(["probe", "--out", str(tmp_path / "x"), *(["--model", "m"] if name == "data" else []), "--debug"])
        assert (caught.value.code, caught.value.parameter) == ("required", name)
    with raises(InputError, code="too_few"):
        lb.probe(told, data, dev=0.0)


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
    probed = lb.probe(
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
