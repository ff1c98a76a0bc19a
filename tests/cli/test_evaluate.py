"""limbeck evaluate from outside: what it prints and writes, and how it refuses."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises
from scipy import stats

import limbeck as lb
from limbeck.cli import main
from limbeck.cli.program import read_command
from limbeck.cli.summaries.evaluate import comparison_table
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.evaluation import EvaluationSettings, evaluate, sweep, tasks
from limbeck.evaluation.means import averages, out_of_means
from limbeck.evaluation.settings import ScoreSettings, TuningSettings
from limbeck.evaluation.significance import Comparison, holm
from limbeck.evaluation.suites import SUITES, Suite, find_tasks
from limbeck.evaluation.targets import ModelTarget
from limbeck.runs.evaluate import EvaluateRun
from limbeck.runs.evaluating.compute import comparisons
from limbeck.runs.evaluating.repairs import labels_of, repairs_by_name, unfitted_repairs
from limbeck.tables import read_csv

QUICK = EvaluationSettings(draws=5)

Run = Callable[..., tuple[int, str, str]]
SENTENCES = [
    ("A dog barks.", "The dog barked.", 4.5), ("The sun sets.", "Stocks fell.", 0.1), ("It rains.", "It is dry.", 1.5),
    ("A man plays a guitar.", "A man sings.", 2.5), ("Two cats sleep.", "A dog barks.", 1.0),
    ("He ran.", "He ran.", 5.0), ("The king died.", "The ruler is dead.", 4.4), ("A boy eats.", "Rivers rise.", 0.3),
]  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small sets in the layouts of STS-B (test and development) and RG-65."""
    folder = tmp_path_factory.mktemp("data")
    lines = [
        f"main-{'news' if n % 2 else 'captions'}\tx\t2012\t{n}\t{s}\t{a}\t{b}" for n, (a, b, s) in enumerate(SENTENCES)
    ]
    (folder / "STSBenchmark").mkdir()
    (folder / "STSBenchmark" / "sts-test.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "STSBenchmark" / "sts-dev.csv").write_text("\n".join(lines[::-1]) + "\n", encoding="utf-8")
    pairs = [
        ("dog", "cat", 3.0),
        ("river", "king", 0.2),
        ("Sun", "moon", 2.5),
        ("boy", "man", 3.5),
        ("rain", "spring", 1.5),
    ]
    (folder / "EN-RG-65.txt").write_text("".join(f"{a}\t{b}\t{s}\n" for a, b, s in pairs), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def vectors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    words = "a the dog cat river king sun moon boy man sings guitar rains . it is dry he ran".split()
    path = tmp_path_factory.mktemp("vectors") / "made.vec"
    lb.StaticVectors(words, np.random.default_rng(1).normal(size=(len(words), 128)) + 1).save(path)
    return path


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


def refused(*words: Any) -> tuple[str, str]:
    """Why a command line is refused, and which parameter it is about."""
    with pytest.raises(LimbeckError) as caught:
        main(["evaluate", *map(str, words), "--debug"])
    return caught.value.code, caught.value.parameter


def test_targets_beside_each_other(run: Run, data: Path, vectors: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    status, said, told = run(
        "mini-bert", vectors, "--tasks", "sts,wordsim", "--data", data, "--transductive", "--method", "center",
        "--draws", 30, "--out", out,
    )  # fmt: skip
    assert status == 0, told
    assert "mini-bert: sts-b" in told
    told = "600 draws, raised from 30 for Holm's correction over all 12 comparisons; the 6 between others are in"
    assert f"{told} comparisons.csv" in " ".join(said.split())
    assert len(read_csv(out / "comparisons.csv")["p"]) == 12
    scores = read_csv(out / "scores.csv")
    kinds = zip(scores["metric"], scores["aggregation"], scores["subset"], strict=True)
    mains = [row for row, kind in enumerate(kinds) if kind == ("spearman", "pooled", "")]
    targets = ["mini-bert", "mini-bert + center", "made.vec", "made.vec + center"]
    assert [scores["target"][i] for i in mains] == targets * 2
    assert [scores["task"][i] for i in mains] == ["sts-b"] * 4 + ["rg-65"] * 4
    assert {"pearson"} <= set(scores["metric"])
    assert {"mean", "weighted"} <= set(scores["aggregation"])
    assert {"main-news", "main-captions"} <= set(scores["subset"])
    # the same from Python
    encoder = lb.load_encoder("mini-bert", units="pieces", layers="-1", device="cpu")
    found = tasks(data)
    both = {"": None, "center": lb.repairs.Center()}
    plain, centered = sweep(found["sts-b"], ModelTarget(encoder), repairs=both, settings=QUICK)
    table = lb.StaticVectors.load(vectors)
    expected = [
        plain.value,
        centered.value,
        evaluate(found["sts-b"], table, settings=QUICK).value,
    ]
    assert [float(scores["value"][i]) for i in mains[:3]] == pytest.approx(expected)
    assert float(scores["value"][mains[6]]) == pytest.approx(evaluate(found["rg-65"], table, settings=QUICK).value)
    assert float(scores["coverage"][mains[6]]) == 0.8
    compared = read_csv(out / "comparisons.csv")
    assert len(compared["p"]) == 12, "six pairs of targets on two tasks"
    assert [float(p) for p in compared["p_holm"]] == pytest.approx(holm([float(p) for p in compared["p"]]))
    assert float(compared["difference"][0]) == pytest.approx(centered.value - plain.value), (
        "what stands later less what stands first"
    )
    for number in (plain.value, centered.value):
        assert f"{number:.3f}" in said
    assert "rg-65: left out: 0 to 1 by target (a word has no vector)" in said
    about = json.loads((out / "run.json").read_text())
    assert about["command"] == "evaluate"
    assert [target["name"] for target in about["targets"]] == ["mini-bert", "made.vec"]
    assert about["targets"][0]["fingerprint"] == encoder.fingerprint
    assert not (tmp_path / ".run.unfinished").exists()


def test_the_column_that_others_are_compared_with(run: Run, data: Path, vectors: Path, tmp_path: Path) -> None:
    given = (vectors, "--tasks", "sts-b", "--data", data, "--transductive", "--draws", 20, "--quiet")
    few, many = ("center", "standardize"), ("center", "standardize", "whiten", "scaled-center")
    for number, (methods, more, others, pairs) in enumerate((
        (few, (), {"made.vec", "made.vec + center"}, 3),  # every two
        (few, ("--against", "made.vec + center"), {"made.vec + center"}, 2),
        (many, (), {"made.vec"}, 4),  # more than four columns: the first
        (many, ("--against", "made.vec + whiten"), {"made.vec + whiten"}, 4),
    )):  # fmt: skip
        status, _, told = run(*given, "--method", *methods, *more, "--out", tmp_path / str(number))
        assert status == 0, told
        compared = read_csv(tmp_path / str(number) / "comparisons.csv")
        assert (set(compared["other"]), len(compared["other"])) == (others, pairs)
    status, _, told = run(*given, "--method", "center", "--against", "made.vec + centre", "--out", tmp_path / "no")
    assert (status, "did you mean 'made.vec + center'" in told) == (2, True)
    assert not (tmp_path / "no").exists()


def test_layers_and_averages(run: Run, tmp_path: Path) -> None:
    data = tmp_path / "STSBenchmark"
    data.mkdir()
    for part, step in (("test", 1), ("dev", -1)):
        several = enumerate((SENTENCES * 20)[: 20 + (step < 0)][::step])  # as many as a mean must have
        lines = [f"main-{'news' if n % 2 else 'captions'}\tx\t2012\t{n}\t{s}\t{a}\t{b}\n" for n, (a, b, s) in several]
        (data / f"sts-{part}.csv").write_text("".join(lines), encoding="utf-8")
    status, said, _ = run(
        "mini-bert", "--tasks", "sts-b,sts-b-dev", "--data", data, "--layers", "0,12", "--metric", "pearson",
        "--aggregation", "mean", "--units", "words", "--draws", 10, "--quiet",
    )  # fmt: skip
    assert status == 0
    assert "mini-bert layer 0" in said
    assert "mini-bert layer 12" in said
    encoder = lb.load_encoder("mini-bert", units="words", layers="0", device="cpu")
    found = tasks(data, ["sts-b", "sts-b-dev"])
    values = [
        evaluate(task, encoder, settings=EvaluationSettings(metric="pearson", aggregation="mean", draws=5)).value
        for task in found.values()
    ]
    assert "mean over tasks" in said
    assert re.search(rf"layer 0 +│ +{np.mean(values):.3f} │ +2", said)


def test_small_sets_are_shown_but_make_no_mean(run: Run, data: Path, tmp_path: Path) -> None:
    given = ("mini-bert", "--tasks", "sts-b,sts-b-dev", "--data", data, "--draws", 10)
    status, said, _ = run(*given, "--out", tmp_path / "out")
    assert status == 0
    assert "mean over tasks" not in said.replace("the mean over tasks", "")
    told = f"left out of the mean over tasks: fewer than 20 of its items are scored (mini-bert {len(SENTENCES)})"
    assert f"sts-b, sts-b-dev: {told}" in said  # once
    assert f"sts-b, sts-b-dev: {told}" in json.loads((tmp_path / "out" / "run.json").read_text())["notes"]


def test_fitted_repairs(run: Run, data: Path, vectors: Path, tmp_path: Path) -> None:
    """A file is for whoever has its dimensions; a folder of a run of limbeck repair for its model and layers."""
    from limbeck.repairs.folders import save_repairs

    rng = np.random.default_rng(0)
    fitted = {layer: lb.repairs.Center().fit(rng.normal(size=(300, 128))) for layer in ("5", "12")}
    save_repairs(tmp_path / "fit" / "repairs", fitted, about={"model": "mini-bert"})
    lb.repairs.save(fitted["5"], tmp_path / "one.safetensors")
    common = ("--tasks", "sts-b", "--data", data, "--draws", 10, "--quiet")
    both = (tmp_path / "fit", tmp_path / "one.safetensors")
    status, _, told = run("mini-bert", "mini-elmo", "--repair", *both, *common, "--out", tmp_path / "out")
    assert status == 0, told
    scores = read_csv(tmp_path / "out" / "scores.csv")
    assert list(dict.fromkeys(scores["target"])) == ["mini-bert", "mini-bert + fit", "mini-bert + one", "mini-elmo"]
    encoder = lb.load_encoder("mini-bert", units="pieces", layers="-1", device="cpu")
    expected = evaluate(tasks(data, ["sts-b"])["sts-b"], encoder, repair=fitted["12"], settings=QUICK).value
    assert float(scores["value"][scores["target"].index("mini-bert + fit")]) == pytest.approx(expected)

    status, _, told = run("mini-bert", "--layers", "3", "--repair", tmp_path / "fit", *common)
    assert status == 2
    assert told == "limbeck: fit: the repairs are those of layers 12, 5, got 3: choose --layers among them.\n"
    status, _, told = run("mini-gpt2", "--repair", tmp_path / "fit", *common)
    assert status == 1
    assert told.count("\n") == 1
    assert "mini-bert; got mini-gpt2" in told
    status, _, told = run("mini-elmo", "--repair", tmp_path / "one.safetensors", *common)
    assert status == 1
    assert "one for 128 dimensions and mini-elmo has 256" in told


def test_repairs_of_one_name_stay_apart(run: Run, data: Path, vectors: Path, tmp_path: Path) -> None:
    """A fitted repair and one for the task, both called center: two columns, each with its own score."""
    table = lb.StaticVectors.load(vectors)
    fitted = lb.repairs.Center().fit(np.random.default_rng(3).normal(size=(50, 128)) - 4)
    lb.repairs.save(fitted, tmp_path / "center")
    given = (vectors, "--tasks", "sts-b", "--data", data, "--repair", tmp_path / "center")
    given += ("--transductive", "--method", "center")
    status, said, told = run(*given, "--draws", 10, "--out", tmp_path / "out")
    assert status == 0, told
    scores = read_csv(tmp_path / "out" / "scores.csv")
    first = {name: float(scores["value"][scores["target"].index(name)]) for name in scores["target"]}
    assert list(first) == ["made.vec", "made.vec + center, fitted", "made.vec + center, on the task"]
    task = tasks(data, ["sts-b"])["sts-b"]
    expected = [
        evaluate(task, table, repair=repair, settings=QUICK).value for repair in (None, fitted, lb.repairs.Center())
    ]
    assert list(first.values()) == pytest.approx(expected)
    assert expected[1] != expected[2]
    assert "center, fitted" in said


def test_a_note_where_units_differ(run: Run, data: Path, tmp_path: Path) -> None:
    from limbeck.repairs.folders import save_repairs

    fitted = {"12": lb.repairs.Center().fit(np.random.default_rng(0).normal(size=(300, 128)))}
    for name, units in {
        "on-words": {"units": "words", "pooling": "mean", "special": False},
        "on-pieces": {"units": "pieces", "pooling": "first", "special": False},  # pieces are not pooled
        "nothing-said": None,
    }.items():
        about = {"model": "mini-bert", **({} if units is None else {"units": units})}
        save_repairs(tmp_path / name / "repairs", fitted, about=about)
    common = ("mini-bert", "--tasks", "sts-b", "--data", data, "--draws", 5, "--quiet", "--repair")
    status, _, told = run(*common, *(tmp_path / name for name in ("on-words", "on-pieces", "nothing-said")))
    assert status == 0
    assert told == (
        "limbeck: note: on-words was fitted on vectors of other units (units words) than mini-bert has here (units "
        "pieces): fit one with the same --units and --special, or evaluate with its\n"
    )
    assert run(*common, tmp_path / "on-words", "--units", "words")[2] == ""
    assert (
        "(special False) than mini-bert has here (special True)" in run(*common, tmp_path / "on-pieces", "--special")[2]
    )


def test_words_without_a_vector_in_a_model(run: Run, tmp_path: Path) -> None:
    """A decoder's first position has no vector, so a word of one piece has none: --oov says what becomes of it."""
    data = tmp_path / "data"
    data.mkdir()
    rated = "magician wizard 3.2,rooster madhouse 0.1,cemetery graveyard 3.9,boy asylum 0.9,dog boy 1.2,jewel dog 0.4"
    (data / "EN-RG-65.txt").write_text(rated.replace(" ", "\t").replace(",", "\n") + "\n", encoding="utf-8")
    values, counts = {}, {}
    for oov in ("drop", "zero", "mean"):
        given = ("mini-gpt2", "--tasks", "rg-65", "--data", data, "--oov", oov, "--draws", 5, "--quiet")
        assert run(*given, "--out", tmp_path / oov)[0] == 0
        scores = read_csv(tmp_path / oov / "scores.csv")
        values[oov], counts[oov] = float(scores["value"][0]), int(scores["n"][0])
        assert f"oov={oov}" in scores["settings"][0]
    encoder = lb.load_encoder("mini-gpt2", units="pieces", layers="-1", device="cpu")
    pairs = tasks(data, ["rg-65"])["rg-65"].read()
    rows = ModelTarget(encoder).rows(words := [*dict.fromkeys([*pairs.first, *pairs.second])])
    own = {words[t]: rows.vectors[0].numpy()[rows.texts == t].mean(0) for t in set(rows.texts.tolist())}
    assert 0 < len(own) < len(words), "some words have a vector and some have none"
    mean = np.mean(list(own.values()), axis=0)

    def cosine(a: Any, b: Any) -> float:
        return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))

    both = list(zip(pairs.first, pairs.second, strict=True))
    zero = [cosine(own[a], own[b]) if a in own and b in own else 0.0 for a, b in both]
    filled = [cosine(own.get(a, mean), own.get(b, mean)) for a, b in both]
    kept = [a in own and b in own for a, b in both]
    assert counts == {"drop": sum(kept), "zero": len(both), "mean": len(both)}
    assert values["zero"] == pytest.approx(stats.spearmanr(zero, pairs.gold).statistic, nan_ok=True)
    assert values["mean"] == pytest.approx(stats.spearmanr(filled, pairs.gold).statistic)
    with raises(UsageError, code="unsupported", parameter="oov", says="'fallback'"):
        evaluate(pairs, encoder, settings=EvaluationSettings(oov="fallback"))
    assert evaluate(pairs, encoder, settings=EvaluationSettings(oov="mean")).value == pytest.approx(values["mean"])


def test_options_that_no_target_heeds(run: Run, data: Path, vectors: Path) -> None:
    for given in (("--layers", "99"), ("--units", "pieces"), ("--keep-first",), ("--hidden", "0"), ("--scale", "rms")):
        words = (vectors, "--tasks", "rg-65", "--data", data, *given)
        status, _, told = run(*words)
        assert (status, told.count("\n")) == (2, 1)
        assert refused(*words) == ("no_effect", given[0].strip("-").replace("-", "_"))
    assert run(vectors, "--tasks", "rg-65", "--data", data, "--layers", "table", "--draws", 5)[0] == 0
    assert run(vectors, "mini-bert", "--tasks", "rg-65", "--data", data, "--layers", "3", "--case", "keep")[0] == 0
    models = {
        ("--tasks", "rg-65", "--case", "keep"): "case",
        ("--tasks", "rg-65", "--oov", "fallback", "--fallback", vectors): "fallback",
        ("--tasks", "sts-b", "--oov", "zero"): "oov",
        ("--tasks", "sts-b", "--weighting", "sif"): "weighting",
        ("--tasks", "rg-65", "--preset", "web"): "preset",
    }
    for given, parameter in models.items():
        status, _, told = run("mini-bert", "--data", data, *given)
        assert (status, told.count("\n")) == (2, 1)
        assert refused("mini-bert", "--data", data, *given) == ("no_effect", parameter)


def test_without_scikit_learn(data: Path, vectors: Path) -> None:
    """Vectors as they are need no repair, and none of what repairs need."""
    given = ["evaluate", str(vectors), "--tasks", "rg-65", "--data", str(data), "--draws", "5"]
    repaired = [*given, "--transductive", "--method", "center"]
    code = (
        "import sys; sys.modules['sklearn'] = None\nfrom limbeck.cli import main\n"
        f"print(main({given!r})); sys.exit(main({repaired!r}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "rg-65" in done.stdout
    assert done.stdout.splitlines()[-1] == "0", done.stderr
    assert done.returncode == 1
    assert "Repair needs scikit-learn" in done.stderr


def test_tuning(run: Run, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "tuned"
    status, said, told = run(
        "mini-bert", "--tasks", "sts-b", "--data", data, "--tune", "--clusters", "2,3", "--components", "1-5/2",
        "--seeds", 2, "--draws", 10, "--out", out,
    )  # fmt: skip
    assert status == 0, told
    table = read_csv(out / "tuning.csv")
    settings = list(zip(table["clusters"], table["components"], strict=True))
    assert settings == [(k, c) for k in "123" for c in "135"]
    assert set(table["task"]) == {"sts-b-dev"}
    means = {setting: float(value) for setting, value in zip(settings, table["value"], strict=True)}
    k, c = max((s for s in settings if s[0] != "1"), key=lambda s: means[s])
    assert f"mini-bert + cluster {k}/{c}" in read_csv(out / "scores.csv")["target"]
    assert "best cluster" in said
    for form in ("png", "svg"):
        assert (out / "figures" / f"tuning.{form}").stat().st_size > 1000
    drawn = (out / "figures" / "tuning.svg").read_text(encoding="utf-8")
    for value in means.values():
        assert f"{100 * value:.1f}" in drawn


@pytest.mark.parametrize(
    ("arguments", "status", "code", "parameter"),
    [
        (["--tasks", "stsb"], 2, "unknown_choice", "tasks"),
        (["--tasks", ","], 2, "required", "tasks"),
        (["--tasks", "sts-b", "--units", "word"], 2, "unknown_choice", "units"),
        (["--tasks", "sts-b", "--special", "--units", "words"], 2, "no_effect", "special"),
        (["--tasks", "sts-b", "--metric", "kendall"], 2, "unknown_choice", "metric"),
        (["--tasks", "sts-b", "--oov", "fallback"], 2, "required", "oov"),
        (["--tasks", "sts-b", "--clusters", "5"], 2, "no_effect", "clusters"),
        (["--tasks", "sts-b", "--tune", "--tune-on", "rg-65"], 2, "required", "tune_on"),
        (["--tasks", "sts-b", "--tune", "--tune-on", "nothing"], 2, "unknown_choice", "tune_on"),
        (["--tasks", "sts-b", "--tune", "--clusters", "a"], 2, "malformed", "clusters"),
        (["--tasks", "sts-b", "--method", "center"], 2, "required", "method"),
        (["--tasks", "sts-b", "--transductive"], 2, "no_effect", "transductive"),
        (["--tasks", "sts-b", "--transductive", "--method", "clusters"], 2, "unknown_choice", "method"),
        (["--tasks", "sts-b", "--repair", "nowhere"], 1, "not_found", "repair"),
        (["--tasks", "sts-b", "--existing", "resume", "--out", "x"], 2, "unknown_choice", "existing"),
        (["--tasks", "sts-b", "--dry-run"], 2, "unknown_option", "--dry-run"),
    ],
)
def test_wrong_usage(run: Run, data: Path, arguments: list[str], status: int, code: str, parameter: str,
                     tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    ended, said, told = run("mini-bert", "--data", data, *arguments)
    assert ended == status
    assert not said
    assert told.count("\n") == 1, told
    assert refused("mini-bert", "--data", data, *arguments) == (code, parameter)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "status", "line"),
    [
        (["--transductive", "--method", "cluster:3"], 2, "must be like cluster:n_clusters=27"),
        (["--transductive", "--method", "cluster:k=3"], 2, "a parameter of cluster must be one of"),
        (["--transductive", "--method", "cluster:n_clusters=abc"], 2,
         "--method cluster:n_clusters=abc: n_clusters must be a whole number of at least 1; got 'abc'"),
        (["--transductive", "--method", "center+all-but-the-top:n_components=-1"], 2, "n_components must be"),
        (["--transductive", "--method", "center:x=1"], 2, "center takes no parameters; got 'x=1'"),
        (["--tasks", "sts12"], 1, r"the task sts12 needs the file STS12/STS\.input\.MSRpar\.txt, got none"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(run: Run, data: Path, arguments: list[str], status: int, line: str) -> None:
    ended, said, told = run("mini-bert", "--data", data, "--tasks", "sts-b", *arguments)
    assert (ended, said, told.count("\n")) == (status, "", 1)
    assert re.search(line, told), told


def test_missing_data(run: Run, tmp_path: Path) -> None:
    status, _, told = run("mini-bert", "--tasks", "wordsim", "--data", tmp_path)
    assert status == 1
    assert told.count("\n") == 1
    assert "got none of EN-RG-65.txt, " in told
    status, _, told = run("mini-bert", "--tasks", "sts", "--data", tmp_path / "nothing")
    assert status == 1
    assert "a folder with the files of tasks is needed" in told


def test_a_run_is_not_overwritten(run: Run, data: Path, tmp_path: Path) -> None:
    common = ("mini-bert", "--tasks", "rg-65", "--data", data, "--draws", 5, "--quiet", "--out", tmp_path / "run")
    assert run(*common)[0] == 0
    before = (tmp_path / "run" / "run.json").stat().st_mtime_ns
    status, _, told = run(*common)
    assert status == 1
    assert "already holds a run" in told
    assert (tmp_path / "run" / "run.json").stat().st_mtime_ns == before
    assert run(*common, "--existing", "replace")[0] == 0
    assert (tmp_path / "run" / "run.json").stat().st_mtime_ns > before


def test_an_error_leaves_nothing(run: Run, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*arguments: Any, **named: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("limbeck.runs.evaluating.compute.comparisons", stop)
    status, _, _ = run("mini-bert", "--tasks", "rg-65", "--data", data, "--quiet", "--out", tmp_path / "run")
    assert status == 130
    assert not list(tmp_path.iterdir())


# --- parts ---------------------------------------------------------------------------------------


def test_numbers() -> None:
    for given, wanted in (("10,27", (10, 27)), ("5-8", (5, 6, 7, 8)), ([3, 4], (3, 4)), (np.int64(7), (7,))):
        assert TuningSettings(tune=True, clusters=given).clusters == wanted
    assert TuningSettings(tune=True, components="0-1").components == (0, 1)
    for wrong in ("", "a", "8-5", "5-9/0", "1,,2", "-3", "0", [0], ["5"], []):
        with pytest.raises(UsageError) as caught:
            TuningSettings(tune=True, clusters=wrong)
        assert (caught.value.code, caught.value.parameter) == ("malformed", "clusters")


def test_methods_add_up() -> None:
    run, _ = read_command(EvaluateRun, "x --tasks sts --data . --method center whiten --method cluster".split())
    assert run.repairs.method == ("center", "whiten", "cluster")


def test_transductive_repairs() -> None:
    named = "cluster:n_clusters=3,init=random"
    made = unfitted_repairs([named], 7)[named]
    assert isinstance(made, lb.repairs.ClusterRemoval)
    assert made.get_params() == {
        "n_clusters": 3, "n_components": 12, "init": "random", "iterations": 10, "random_state": 7,
    }  # fmt: skip
    named = "center+all-but-the-top:n_components=2"
    chain = unfitted_repairs([named], 0)[named]
    assert [type(step).__name__ for _, step in chain.steps] == ["Center", "AllButTheTop"]
    assert chain.steps[1][1].n_components == 2


def test_labels(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder / "runs").mkdir(parents=True)
    same = [tmp_path / "a" / "runs", tmp_path / "b" / "runs"]
    assert labels_of(same) == [str(path) for path in same]
    assert labels_of(same[:1]) == ["runs"]


def test_a_folder_is_called_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder that one stands in too: a repair without a name would be lost beside the vectors as they are."""
    monkeypatch.chdir(tmp_path)
    assert labels_of([Path(".")]) == [tmp_path.name]


def test_names_that_cannot_be_told_apart() -> None:
    assert list(repairs_by_name(fitted={"a": 1, "b": 2}, on_the_task={"c": 3})) == ["", "a", "b", "c"]
    with raises(UsageError, code="twice", parameter="repair", says="'a, fitted'"):
        repairs_by_name(fitted={"a, fitted": 0, "a": 1}, on_the_task={"a": 3})


def test_many_comparisons_can_be_significant() -> None:
    """Forty-five comparisons of plain differences: with 1,000 draws each Holm's p could not come below .05."""
    rng = np.random.default_rng(0)
    gold = rng.normal(size=400)
    suite = SUITES[0]

    def columns(task: str) -> list[Any]:
        pairs = lb.tasks.Pairs(
            name=task, kind="sts", first=[f"a{n}" for n in range(400)], second=[f"b{n}" for n in range(400)], gold=gold
        )
        sides = np.zeros((2, 400, 2))
        sides[0, :, 0] = 1
        scores = []
        for name, noise in (("good", 0.1), ("bad", 8.0)):
            angle = np.arctan(gold + noise * rng.normal(size=400)) - np.pi / 2
            sides[1] = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            scores.append(evaluate(pairs, [side.copy() for side in sides], name=name, settings=QUICK))
        return scores

    found = [(suite, columns(f"task-{n}")) for n in range(45)]
    rows = comparisons(found, ScoreSettings(draws=1000))
    assert len(rows) == 45
    assert {row["draws"] for row in rows} == {45 * 50}
    assert max(row["p_holm"] for row in rows) < 0.05
    assert min(row["p"] for row in rows) == pytest.approx(2 / (45 * 50 + 1))
    assert 45 * 2 / 1001 > 0.05, "what it would be with the draws of intervals"
    told = comparison_table(rows, "good", len(rows), asked=1000).title
    assert "2,250 draws, raised from 1,000 for Holm's correction over all 45 comparisons" in told
    assert "leaves none below" not in told
    assert "between others" not in told  # there are none
    assert "the 5 between others are kept with --out" in comparison_table(rows, "good", 50, asked=1000).title
    few = [{**row, "draws": 1000} for row in rows]
    told = comparison_table(few, "good", len(rows), asked=1000).title
    assert "which leaves none below 0.09: more --draws would" in told
    assert "raised" not in told


def test_means_are_of_one_metric() -> None:
    some = [("rte", "accuracy", 0.5), ("cola", "matthews", 0.1), ("wic", "accuracy", 0.7)]
    suite = next(suite for suite in SUITES if suite.group == "classify")
    found = averages([(suite, [Made(*one)]) for one in some])  # type: ignore[list-item]
    assert found == {("classify", "accuracy", "m"): (pytest.approx(0.6), 2)}


@dataclass
class Made:
    """A score that a mean is made of."""

    task: str
    metric: str
    value: float
    target: str = "m"
    n: int = 100


def test_a_set_counts_once_in_a_mean() -> None:
    """MEN in two forms and the parts of WS-353 beside the whole; a part alone is a set like others."""
    suite = next(suite for suite in SUITES if suite.group == "wordsim")

    def made(*names: str, n: int = 100) -> list[Any]:
        several = enumerate(names)
        return [
            (suite, [Made(name, "spearman", 0.1 * at), Made(name, "spearman", 0.5, "o", n)]) for at, name in several
        ]

    some = made("men", "men-natural", "ws-353", "ws-353-similarity", "ws-353-relatedness", "rg-65")
    assert averages(some)["wordsim", "spearman", "m"] == (pytest.approx((0 + 0.2 + 0.5) / 3), 3)
    assert dict(out_of_means(some))["men-natural"] == "its pairs are those of men, which counts once"
    assert averages(made("ws-353-similarity", "rg-65"))["wordsim", "spearman", "m"] == (pytest.approx(0.05), 2)
    # what one target has too little of is out of all targets' means, which would be over other sets otherwise
    few = [*made("men", "ws-353"), *made("rg-65", n=19)]
    assert {key[2]: tasks for key, (_, tasks) in averages(few).items()} == {"m": 2, "o": 2}
    assert out_of_means(few) == [("rg-65", "fewer than 20 of its items are scored (o 19)")]
    assert out_of_means(made("rg-65", n=3)) == [], "one task has no mean over several"


def test_coverage_counts_what_a_repair_left_nothing_of(run: Run, data: Path, tmp_path: Path) -> None:
    """Words in as many clusters as words: each is its cluster's mean, and nothing is left of it."""
    given = ("mini-bert", "--tasks", "rg-65", "--data", data, "--transductive", "--method", "cluster:n_clusters=10")
    status, _, told = run(*given, "--draws", 10, "--quiet", "--out", tmp_path / "out")
    assert status == 0, told
    scores = read_csv(tmp_path / "out" / "scores.csv")
    for n, total, coverage in zip(scores["n"], scores["total"], scores["coverage"], strict=True):
        assert float(coverage) == pytest.approx(int(n) / int(total))
    assert min(map(int, scores["n"])) < 5, "the repair must leave nothing of some words for a test"


@pytest.mark.parametrize("name", ["nofile.bin", "nofile.vec.gz", "./nofile", "no/where/vectors", "nofile"])
def test_a_name_that_is_nowhere(run: Run, data: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def without_network(model: str, **_: Any) -> None:
        assert model == "nofile", "what can only be a file is asked of nobody"
        reason = "We couldn't connect to the hub to load the files"
        raise InputError(
            f"The tokenizer of {model} could not be loaded ({reason}): check the name and the network.",
            code="not_found",
        )

    monkeypatch.setattr("limbeck.encoders.load_encoder", without_network)
    status, _, told = run(name, "--tasks", "rg-65", "--data", data, "--quiet")
    assert status == 1
    assert told.strip().endswith(
        f"{name}: no file or folder of that name is here, and a model's id would need a network: check the name."
    )
    assert len(told.strip().splitlines()) == 1
    assert "tokenizer" not in told


def test_comparisons_say_how_many_pairs_they_share(run: Run, data: Path, vectors: Path) -> None:
    """The table lacks one of five pairs; the model has all."""
    status, said, _ = run("mini-bert", vectors, "--tasks", "rg-65", "--data", data, "--draws", 10, "--quiet")
    assert status == 0
    after = said[said.index("difference from") :]
    assert re.search(r"│ +n +│", after.replace("┃", "│"))
    nothing = {"task": "t", "target": "x", "draws": 10, "n": 0} | dict.fromkeys(
        ("difference", "low", "high", "p", "p_holm"), float("nan")
    )
    cells = [next(iter(column.cells)) for column in comparison_table([nothing], "y", 1, asked=1).columns]
    assert cells == ["t", "x", "-", "-", "0", "-", "-"]
    assert re.search(r"made\.vec +│ +[+-]\d\.\d{3} +│ +\[.*\] +│ +4 +│", after)


def test_another_kind_of_task(tmp_path: Path) -> None:
    """What a new kind has to bring: found beside the others, scored and compared by its own."""

    class Found:
        name = "toy"

    suite = Suite(
        group="toys",
        names=lambda: ["toy", "other"],
        members=lambda: ["toy"],
        find=lambda folder, needed, others: {"toy": Found()} if "toy" in [*needed, *others] else {},
        scores=lambda task, target, repairs, settings, *, progress=False: [],
        compare=lambda a, b, asked: Comparison(a.value - b.value, 0.01, -1.0, 1.0, 3, "bootstrap"),
        tables=lambda scores: {},
    )
    suites = [*SUITES, suite]
    assert [(s.group, t.name) for s, t in find_tasks(tmp_path, ["toys"], suites=suites)] == [("toys", "toy")]

    class Scored:
        def __init__(self, target: str, value: float) -> None:
            self.task, self.target, self.value = "toy", target, value

    some = [Scored("a", 0.1), Scored("b", 0.4), Scored("c", 0.3)]
    rows = comparisons([(suite, some)], ScoreSettings())  # type: ignore[list-item]
    assert [(row["target"], row["other"]) for row in rows] == [("b", "a"), ("c", "a"), ("c", "b")]
    assert rows[0]["difference"] == pytest.approx(0.3)
    assert [row["p_holm"] for row in rows] == [0.03] * 3
    many = [Scored(str(n), n / 10) for n in range(8)]
    assert {row["other"] for row in comparisons([(suite, many)], ScoreSettings())} == {"0"}  # type: ignore[list-item]


# --- from Python ---------------------------------------------------------------------------------


def same_tables(one: Any, other: Any) -> None:
    assert list(one) == list(other)
    for name, columns in one.items():
        assert list(columns) == list(other[name])
        for column, values in columns.items():
            np.testing.assert_array_equal(np.asarray(values), np.asarray(other[name][column]), err_msg=column)


@pytest.mark.parametrize(
    ("tasks", "keywords", "words"),
    [
        ("sts-b,rg-65", {"method": ["center"], "transductive": True}, ["--method", "center", "--transductive"]),
        (
            ["sts-b"],
            {"tune": True, "clusters": [2], "components": (1, 2), "seeds": 2},
            ["--tune", "--clusters", "2", "--components", "1-2", "--seeds", "2"],
        ),
    ],
)
def test_the_verb_the_command_and_the_folder_give_the_same(
    run: Run, data: Path, tmp_path: Path, tasks: Any, keywords: dict[str, Any], words: list[str]
) -> None:
    made = lb.evaluate("mini-bert", tasks=tasks, data=data, draws=20, out=tmp_path / "verb", figures=False, **keywords)
    typed = tasks if isinstance(tasks, str) else ",".join(tasks)
    given = ("mini-bert", "--tasks", typed, "--data", data, "--draws", 20, *words, "--no-figures", "--quiet")
    assert run(*given, "--out", tmp_path / "command")[0] == 0
    files = sorted(path.name for path in (tmp_path / "verb").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "command").iterdir())
    assert "figures" not in files
    for name in files:
        if name.endswith(".csv"):
            assert (tmp_path / "verb" / name).read_bytes() == (tmp_path / "command" / name).read_bytes()
    for folder in ("verb", "command"):
        loaded = lb.EvaluateResult.load(tmp_path / folder)
        same_tables(made.tables, loaded.tables)
        same_tables({"scores": made.scores}, {"scores": loaded.scores})
        apart = ("seconds", "written")
        assert {**made.record, **dict.fromkeys(apart)} == {**loaded.record, **dict.fromkeys(apart)}
        assert loaded.notes == made.notes
    assert made.record["format"] == 2


def test_targets_from_python(data: Path, vectors: Path) -> None:
    table = lb.StaticVectors.load(vectors)
    named = lb.tasks.TableTarget(table, name="mine")
    encoder = lb.load_encoder("mini-bert", units="pieces", layers="-1", device="cpu")
    result = lb.evaluate([table, table, named, vectors, encoder], tasks="rg-65", data=data, draws=5)
    assert result.scores["target"] == ["vectors", "vectors 2", "mine", "made.vec", "mini-bert"]
    values = result.scores["value"]
    assert values[0] == values[1] == values[2] == values[3] != values[4]
    shown = result.to_pandas()
    assert list(shown.columns[:4]) == ["task", "target", "metric", "value"]
    assert len(shown) == 5
    assert "made.vec" in result._repr_html_()
    assert len(result.scored[0][1]) == 5
    assert set(result.comparisons["other"]) == {"vectors"}
    assert set(result.items["task"]) == {"rg-65"}
    with pytest.raises(UsageError) as caught:
        lb.evaluate([3], tasks="rg-65", data=data)
    assert (caught.value.code, caught.value.parameter) == ("required", "targets")
    with pytest.raises(UsageError) as caught:
        lb.evaluate(table, tasks="rg-65")
    assert (caught.value.code, caught.value.parameter) == ("required", "data")
    with pytest.raises(UsageError) as caught:
        lb.evaluate(table, tasks="rg-65", data=data, units="pieces")
    assert (caught.value.code, caught.value.parameter) == ("no_effect", "units")
    with pytest.raises(UsageError) as caught:
        lb.evaluate(table, task="rg-65", data=data)
    assert (caught.value.code, caught.value.parameter) == ("unknown_parameter", "task")
