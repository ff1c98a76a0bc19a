"""limbeck compare: differences that are there are found, those that are not are not."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import significance
from limbeck.evaluation.items import items_table
from limbeck.reporting.item_differences import match_columns
from limbeck.reporting.word_differences import layer_pairs, match_layers
from limbeck.tables import read_csv, write_csv, write_parquet

WORDS = [f"word{number}" for number in range(60)]


def made_run(
    folder: Path, *, name: str, layers: list[str], shift: float, seed: int = 0, words: list[str] = WORDS
) -> np.ndarray:
    """A run folder as `measure` writes it, as far as compare reads: self-similarity of words as it is told."""
    rng = np.random.default_rng(seed)
    values = 0.5 + 0.1 * rng.random(size=(len(words), len(layers))) + shift
    folder.mkdir(parents=True)
    account = {"command": "measure", "name": name, "layers": layers, "dim": 4, "source": {"corpus_fingerprint": "x"}}
    (folder / "run.json").write_text(json.dumps(account), encoding="utf-8")
    columns: dict[str, Any] = {
        "word": [word for word in words for _ in layers],
        "layer": layers * len(words),
        "self_similarity": values.ravel(),
    }
    for measure in ("mev", "mev_centered"):
        columns[measure] = values.ravel() / 2
        columns[f"{measure}_baseline"] = np.full(values.size, 0.1)
    write_parquet(folder / "words.parquet", columns)
    rows = []
    for place, layer in enumerate(layers):
        rows.append((layer, "self_similarity", values[:, place].mean(), 0.2, values[:, place].mean() - 0.2))
        rows.append((layer, "anisotropy", 0.2 + shift, None, None))
        for measure in (
            "intra_sentence_similarity_matched",
            "isoscore",
            "effective_rank",
            "log10_isotropy",
            "mean_norm",
        ):
            rows.append((layer, measure, 1.0, None, None))
    table = dict(zip(("layer", "measure", "value", "baseline", "adjusted"), zip(*rows, strict=True), strict=True))
    table |= {"n": [9] * len(rows), "note": [""] * len(rows)}
    low = [row[2] - 0.01 if row[1] == "anisotropy" else None for row in rows]
    high = [row[2] + 0.01 if row[1] == "anisotropy" else None for row in rows]
    write_csv(folder / "layers.csv", table | {"low": low, "high": high})
    return values


def test_a_difference_is_found_and_none_is_not(tmp_path: Path) -> None:
    a = made_run(tmp_path / "a", name="one", layers=["0", "1"], shift=0.0)
    b = made_run(tmp_path / "b", name="two", layers=["0", "1"], shift=0.05, seed=1)
    found = lb.compare(tmp_path / "a", tmp_path / "b")
    rows = {(row["measure"], row["part"], row["layer_a"]): row for row in found.rows}
    row = rows["self_similarity", "value", "1"]
    assert row["difference"] == pytest.approx((b - a)[:, 1].mean())
    assert row["low"] < row["difference"] < row["high"]
    assert row["real"] is True
    assert row["share"] == pytest.approx((b > a)[:, 1].mean())
    assert rows["anisotropy", "value", "0"]["real"] is True  # 0.05 apart, each ± 0.01
    assert rows["isoscore", "value", "0"]["real"] is None  # no interval, no verdict
    assert "two is higher than one at every layer" in found.sentences()[0]
    made_run(tmp_path / "c", name="three", layers=["0", "1"], shift=0.0, seed=2)
    same = lb.compare(tmp_path / "a", tmp_path / "c")
    assert not same.real
    assert "no real difference at any of 2 layers" in same.sentences()[0]
    itself = lb.compare(tmp_path / "a", tmp_path / "a")
    assert all(row["p"] == 1 for row in itself.rows if row["measure"] == "self_similarity")


def test_what_has_no_number_is_a_dash_and_a_note(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """No kept occurrences in one run: its MEV is undefined, and nothing is said of a difference."""
    monkeypatch.chdir(tmp_path)
    made_run(Path("a"), name="one", layers=["0", "1"], shift=0.0)
    made_run(Path("b"), name="two", layers=["0", "1"], shift=0.05, seed=1)
    import pyarrow.parquet as parquet

    columns = parquet.read_table("b/words.parquet").to_pydict()
    nothing = {name: [None] * 120 for name in ("mev", "mev_centered")}
    write_parquet(Path("b/words.parquet"), columns | {name: np.full(120, np.nan) for name in nothing})
    table: dict[str, Any] = dict(read_csv(Path("b/layers.csv")))
    for row, measure in enumerate(table["measure"]):
        if measure == "anisotropy":
            table["value"][row] = table["n"][row] = ""  # its interval is still there
    write_csv(Path("b/layers.csv"), table)

    assert main(["compare", "a", "b", "--out", "c"]) == 0
    said = capsys.readouterr().out
    assert "nan" not in said.lower()
    assert "No difference in 10 of 24 rows, since a side has no number there: mev, mev centered, anisotropy." in said
    assert "c: report.html, compare.csv" in said
    assert "report.html" in {path.name for path in Path("c").iterdir()}
    shown = [line for line in said.splitlines() if "mev, adjusted" in line or "anisotropy" in line]
    assert [line.count(" - ") >= 3 for line in shown[:2]] == [True, True]
    found = lb.compare("a", "b")
    without = [row for row in found.rows if row["measure"] in ("mev", "mev_centered", "anisotropy")]
    assert len(without) == 10
    assert all(row["real"] is None for row in without)
    assert all(np.isnan([row["difference"], row["p_holm"], row["low"]]).all() for row in without)
    # what is undefined is not counted among the tests
    rest = [row for row in found.rows if np.isfinite(row["p"])]
    assert [row["p_holm"] for row in rest] == pytest.approx(significance.holm([row["p"] for row in rest]))
    assert "mev" not in " ".join(found.sentences()[:-1])


def test_a_notebook_shows_the_numbers_alone(tmp_path: Path) -> None:
    made_run(tmp_path / "a", name="one", layers=["0", "1"], shift=0.0)
    made_run(tmp_path / "b", name="two", layers=["0", "1"], shift=0.05, seed=1)
    columns, count = lb.compare(tmp_path / "a", tmp_path / "b").head(3)
    assert count == 24
    assert list(columns)[:6] == ["measure", "part", "layer", "a", "b", "difference"]
    assert "test" not in columns
    assert columns["layer"] == ["0", "1", "0"]


def test_words_are_paired_by_name(tmp_path: Path) -> None:
    """The same values in another order, with words that the other lacks: nothing differs."""
    made_run(tmp_path / "a", name="one", layers=["0"], shift=0.0)
    values = made_run(tmp_path / "b", name="one", layers=["0"], shift=0.0)
    order = np.random.default_rng(0).permutation(60)
    columns: dict[str, Any] = {"word": [*(WORDS[i] for i in order), "more"], "layer": ["0"] * 61}
    columns["self_similarity"] = np.append(values[order, 0], 0.9)
    for measure in ("mev", "mev_centered"):
        columns[measure] = np.append(values[order, 0] / 2, 0.1)
        columns[f"{measure}_baseline"] = np.full(61, 0.1)
    write_parquet(tmp_path / "b" / "words.parquet", columns)
    found = lb.compare(tmp_path / "a", tmp_path / "b")
    assert all(row["difference"] == pytest.approx(0, abs=1e-12) for row in found.rows if row["part"] == "value")
    assert "60 words are followed in both (60 and 61)." in found.notes


def test_holm_is_over_all_rows(tmp_path: Path) -> None:
    made_run(tmp_path / "a", name="one", layers=["0", "1"], shift=0.0)
    made_run(tmp_path / "b", name="two", layers=["0", "1"], shift=0.01, seed=1)
    rows = lb.compare(tmp_path / "a", tmp_path / "b").rows
    assert [row["p_holm"] for row in rows] == pytest.approx(significance.holm([row["p"] for row in rows]), nan_ok=True)


@pytest.mark.parametrize(
    ("a", "b", "pairs"),
    [
        (["0", "1", "2"], ["0", "1", "2"], ["0:0", "1:1", "2:2"]),
        (["0", "6", "12"], ["12"], ["12:12"]),
        (["0", "1", "2", "3", "4", "5", "6"], ["0", "1", "2"], ["0:0", "3:1", "6:2"]),
        (["table", "0", "1", "2"], ["table", "0", "1", "2", "3", "4"], ["table:table", "0:0", "1:2", "2:4"]),
        (["0", "3"], ["0", "1", "2"], ["0:0", "3:2"]),
        (["first", "last"], ["last", "first"], ["first:first", "last:last"]),
    ],
)
def test_layers_are_matched(a: list[str], b: list[str], pairs: list[str]) -> None:
    assert [f"{one}:{other}" for one, other in match_layers(a, b)] == pairs


def test_layers_that_cannot_be_matched() -> None:
    with pytest.raises(UsageError) as caught:
        match_layers(["letters", "words"], ["0", "1"])
    assert (caught.value.code, caught.value.parameter) == ("not_comparable", "layers")
    assert layer_pairs("letters:0, words:1", ["letters", "words"], ["0", "1"]) == [("letters", "0"), ("words", "1")]
    with raises(UsageError, code="unknown_choice", parameter="layers", says="'7'"):
        layer_pairs("letters:7", ["letters"], ["0", "1"])


def test_in_the_terminal_and_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made_run(Path("a"), name="one", layers=["0", "1", "2"], shift=0.0)
    made_run(Path("b"), name="two", layers=["0", "1"], shift=0.05, seed=1)
    assert main(["compare", "a", "b", "--out", "c"]) == 0
    said = capsys.readouterr().out
    assert "0 : 0" in said or "2 : 1" in said
    assert "layers are matched by relative depth: 0:0, 2:1" in said
    assert re.search(r"; it differs most at layer \d(?: beside \d)? \(\+0\.\d{3} \[", said)
    assert re.search(r"less anisotropy, averaged over layers, rises most: “\w+” \(\+", said)
    table = read_csv(Path("c/compare.csv"))
    facts = json.loads(Path("c/compare.json").read_text(encoding="utf-8"))
    assert [float(cell) for cell in table["difference"]] == [row["difference"] for row in facts["rows"]]
    assert json.loads(Path("c/run.json").read_text(encoding="utf-8"))["command"] == "compare"
    assert main(["compare", "a", "b", "--out", "c"]) == 1  # it is there
    capsys.readouterr()
    assert main(["compare", "a", "b", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["command"] == "compare"
    assert printed["rows"] == facts["rows"]


def test_python_writes_what_the_command_line_writes_and_reads_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    made_run(Path("a"), name="one", layers=["0", "1", "2"], shift=0.0)
    made_run(Path("b"), name="two", layers=["0", "1"], shift=0.05, seed=1)
    found = lb.compare("a", "b", layers="2:1, 0", draws=200, seed=3, out="python")
    assert main(["compare", "a", "--draws", "200", "b", "--layers", "2:1, 0", "--seed=3", "--out", "typed"]) == 0
    for name in ("compare.csv", "compare.json"):
        assert Path("python", name).read_bytes() == Path("typed", name).read_bytes()
    records = [json.loads(Path(folder, "run.json").read_text()) for folder in ("python", "typed")]
    for record in records:
        del record["seconds"], record["written"]
    assert records[0] == records[1]
    assert records[0]["options"] == {"layers": "2:1, 0", "draws": 200, "seed": 3}
    assert {path.name for path in Path("python").iterdir()} >= {"report.html", "run.json"}
    again = lb.CompareResult.load("python")
    assert (again.kind, again.a, again.b, again.notes) == (found.kind, found.a, found.b, found.notes)
    assert (again.movers, again.record["runs"]) == (found.movers, ["a", "b"])
    np.testing.assert_equal(again.rows, found.rows)  # NaN and None where they were
    assert again.sentences() == found.sentences()
    with pytest.raises(UsageError) as caught:
        lb.compare("a", "b", out="python", existing="resume")
    assert (caught.value.code, caught.value.parameter) == ("unknown_choice", "existing")
    capsys.readouterr()
    assert main(["compare", "a", "--json"]) == 2
    assert json.loads(capsys.readouterr().out)["status"] == 2


@pytest.mark.parametrize(
    ("command", "status", "told"),
    [("probe", 2, "Runs of measure or evaluate are compared"), (None, 1, "no run.json is there: check the path")],
)
def test_what_cannot_be_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str | None, status: int, told: str
) -> None:
    made_run(tmp_path / "a", name="one", layers=["0"], shift=0.0)
    (tmp_path / "b").mkdir()
    if command:
        (tmp_path / "b" / "run.json").write_text(json.dumps({"command": command}), encoding="utf-8")
    assert main(["compare", str(tmp_path / "a"), str(tmp_path / "b")]) == status
    assert told in capsys.readouterr().err


def test_too_few_words_in_common(tmp_path: Path) -> None:
    made_run(tmp_path / "a", name="one", layers=["0"], shift=0.0)
    made_run(tmp_path / "b", name="two", layers=["0"], shift=0.0, words=[*WORDS[:5], *"abcdefghij"])
    with raises(InputError, code="too_few", says="10"):
        lb.compare(tmp_path / "a", tmp_path / "b")


# runs of evaluate


def scored(name: str, noise: float, *, rows: range = range(200), seed: int = 0) -> Any:
    """A score on made pairs, by way of the library."""
    from limbeck.evaluation.scoring import score_of
    from limbeck.evaluation.settings import ScoreSettings
    from limbeck.evaluation.similarities import Similarities
    from limbeck.evaluation.task import Pairs

    rng = np.random.default_rng(7)
    gold = rng.random(200)
    values = gold + noise * np.random.default_rng(seed).normal(size=200)
    found = np.zeros(200, dtype=bool)
    found[list(rows)] = True
    values[~found] = np.nan
    texts = tuple(f"t{i}" for i in range(200))
    pairs = Pairs(name="made", kind="sts", first=texts, second=texts, gold=gold, metric="spearman")
    similarities = Similarities(values=values, found=found, dropped={}, settings={})
    return score_of(pairs, similarities, name=name, settings=ScoreSettings(draws=50))


def made_evaluation(folder: Path, name: str, score: Any) -> None:
    folder.mkdir()
    account = {"command": "evaluate", "targets": [{"name": name}]}
    (folder / "run.json").write_text(json.dumps(account), encoding="utf-8")
    write_parquet(folder / "items.parquet", items_table([score]))


def test_scores_are_paired_as_in_one_run(tmp_path: Path) -> None:
    """From two folders the same comes out as `evaluate.compare` gives with both scores at hand."""
    one, other = scored("x", 0.5, rows=range(190)), scored("y", 0.1, rows=range(10, 200), seed=1)
    made_evaluation(tmp_path / "a", "x", one)
    made_evaluation(tmp_path / "b", "y", other)
    found = lb.compare(tmp_path / "a", tmp_path / "b", draws=300)
    (row,) = found.rows
    direct = lb.tasks.compare(other, one, draws=300)
    assert (row["difference"], row["p"], row["low"], row["high"], row["n"]) == pytest.approx(
        (direct.difference, direct.p, direct.low, direct.high, 180)
    )
    assert row["b"] - row["a"] == pytest.approx(row["difference"])
    assert row["real"]
    assert "y is higher than x" in found.sentences()[0]
    assert "180 items that both have" in found.notes[0]


def test_columns_are_matched() -> None:
    assert match_columns(["x", "y"], ["x", "z"], ["x", "y"], ["x", "z"]) == {"x": "x"}
    assert match_columns(["x"], ["y"], ["x", "x + center"], ["y + center", "y"]) == {
        "x": "y",
        "x + center": "y + center",
    }
