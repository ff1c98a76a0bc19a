"""The page's data: what a reader sees is what the run folders hold."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises, refused

import limbeck as lb
from limbeck.cli import main
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.reporting import page as pages
from limbeck.reporting.page import report, write_page
from limbeck.reporting.page.packing import Pack, plain
from limbeck.reporting.page.sections.words import Followed, interesting
from limbeck.runs.execution.folders import RunFolder
from limbeck.tables import read_csv, write_csv, write_parquet

Writer = Callable[..., Path]
NASTY = ["<script>alert(1)</script>", "</script>", "\"quoted'", "line\u2028separator", "{{script}}", "<!--", "&amp;"]


def data_of(path: Path) -> dict[str, Any]:
    """The JSON of a page, as a browser reads it."""
    found = Elements.of(path).scripts["data"]
    loaded: dict[str, Any] = json.loads(found)
    return loaded


def section_of(path: Path, name: str) -> dict[str, Any]:
    return next(section for section in data_of(path)["sections"] if section["id"] == name)


def column_of(path: Path, section: str, reference: Mapping[str, Any]) -> Any:
    """A long column, unpacked without the page's own code."""
    data = zlib.decompress(base64.b64decode(Elements.of(path).scripts[f"pack-{section}"]))[reference["at"] :]
    if reference["type"] == "strings":
        return json.loads(data[: reference["length"]])
    kind = {"Float32Array": "<f4", "Int32Array": "<i4", "Int16Array": "<i2"}[reference["type"]]
    values = np.frombuffer(data, dtype=kind, count=reference["length"]).astype(np.float64)
    if "scale" in reference:
        values = np.where(values == reference["undefined"], np.nan, values * reference["scale"])
    return values


class Elements(HTMLParser):
    """Tags of a page, and the content of its scripts by id, as an HTML parser finds them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.scripts: dict[str, str] = {}
        self.policy = ""
        self._in: str | None = None

    @classmethod
    def of(cls, path: Path) -> Elements:
        parser = cls()
        parser.feed(path.read_text(encoding="utf-8"))
        return parser

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        given = dict(attributes)
        self.tags.append(tag)
        if tag == "script":
            self._in = given.get("id", "code")
            self.scripts[self._in] = ""
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]

    def handle_endtag(self, tag: str) -> None:
        self._in = None

    def handle_data(self, data: str) -> None:
        if self._in is not None:
            self.scripts[self._in] += data


@pytest.fixture
def word_run(write_run: Writer) -> Callable[..., Path]:
    """A measured run with words, a sample, neighbours and clouds."""

    def write(folder: str, *, words: Sequence[str] = ("bank", "the", "river"), text: bool = True, **how: Any) -> Path:
        path = write_run(folder, **how)
        layers = json.loads((path / "run.json").read_text())["layers"]
        add_words(path, layers, words, text=text)
        return path

    return write


def add_words(path: Path, layers: Sequence[str], words: Sequence[str], *, text: bool = True, seed: int = 3) -> None:
    generator = np.random.default_rng(seed)
    count, rows = len(layers), len(layers) * len(words)
    by_word: dict[str, Any] = {"word": [word for word in words for _ in layers], "layer": list(layers) * len(words)}
    mev = generator.uniform(size=rows)
    mev[count : 2 * count] = np.nan  # the second word's occurrences were not kept
    numbers = {name: generator.uniform(size=rows) for name in ("mev_baseline", "x", "y")}
    sentences = [f"{word} is a secret" if text else "" for word in words for _ in layers]
    similarity = generator.uniform(-0.2, 1, size=rows)
    n = np.repeat(np.arange(len(words)) * 7 + 5, count)
    write_parquet(
        path / "words.parquet",
        by_word
        | {"n": n, "contexts": n, "self_similarity": similarity}
        | {"mev": mev, "mev_baseline": numbers["mev_baseline"]},
    )
    places = {name: numbers[name] * 40 for name in "xy"}
    write_parquet(path / "sample.parquet", by_word | {"sentence": sentences} | places)
    others = [words[(place + 1) % len(words)] for place in range(len(words)) for _ in layers]
    nearest = {"rank": [1] * rows, "neighbor": others, "cosine": numbers["x"]}
    write_parquet(path / "neighbors.parquet", by_word | nearest)
    occurrences = {"occurrence": np.zeros(rows, dtype=np.int64), "sentence": sentences}
    write_parquet(path / "clouds.parquet", by_word | occurrences | places)


# --- what the page holds is what the folder holds -------------------------------------------------------------------


def test_curves_are_those_of_layers_csv(write_run: Writer, tmp_path: Path) -> None:
    run = write_run("one", undefined={("1", "mev")})
    path = report(run, out=tmp_path / "page.html")
    table = read_csv(run / "layers.csv")
    measures = {one["measure"]: one for one in section_of(path, "layers")["measures"]}
    assert set(measures) == set(table["measure"])
    for row, measure in enumerate(table["measure"]):
        curve = measures[measure]["curves"][0]
        place = curve["layers"].index(table["layer"][row])
        for column in ("value", "baseline", "adjusted", "low", "high"):
            cell = table[column][row]
            shown = curve.get(column, [None] * 3)[place]
            assert shown == (pytest.approx(float(cell), rel=1e-5) if cell else None), (measure, column)


def test_a_logarithmic_axis_is_for_lengths_and_ranks_that_differ_much(write_run: Writer, tmp_path: Path) -> None:
    run = write_run("one")
    table: dict[str, Any] = dict(read_csv(run / "layers.csv"))
    steep = {"effective_rank": [1, 10, 100], "mean_norm": [5, 10, 100], "anisotropy": [1e-4, 0.1, 0.9]}
    for measure, values in steep.items():
        rows = [row for row, name in enumerate(table["measure"]) if name == measure]
        for row, value in zip(rows, values, strict=True):
            table["value"][row] = str(value)
    write_csv(run / "layers.csv", table)
    measures = section_of(report(run, out=tmp_path / "page.html"), "layers")["measures"]
    logarithmic = {one["measure"]: one["logarithmic"] for one in measures}
    assert [logarithmic[measure] for measure in steep] == [True, False, False]


def test_bands_and_spectra_are_those_of_the_folder(write_run: Writer, tmp_path: Path) -> None:
    run = write_run("one", undefined={("0", "self_similarity")})
    path = report(run, out=tmp_path / "page.html")
    [bands] = section_of(path, "frequency")["runs"]
    table = read_csv(run / "frequency.csv")
    for row, layer in enumerate(table["layer"]):
        band = bands["bands"].index([int(table["from"][row]), int(table["below"][row])])
        shown = bands["values"]["self_similarity"][bands["layers"].index(layer)][band]
        cell = table["self_similarity"][row]
        assert shown == (pytest.approx(float(cell)) if cell else None)
        assert bands["words"][band] == int(table["words"][row])
    import pyarrow.parquet as parquet

    spectra = parquet.read_table(run / "spectra.parquet").to_pydict()
    values = np.array(spectra["centered"]).reshape(3, -1)
    [spectrum] = section_of(path, "spectrum")["runs"]
    shown = column_of(path, "spectrum", spectrum["shares"]).reshape(3, -1)
    np.testing.assert_allclose(shown, values / values.sum(1, keepdims=True), rtol=1e-6)
    shares = np.array(parquet.read_table(run / "dimensions.parquet").to_pydict()["share"]).reshape(3, -1)
    for layer, rows in enumerate(spectrum["largest"]):
        assert [row[0] for row in rows] == np.argsort(-shares[layer]).tolist()[: len(rows)]
        np.testing.assert_allclose([row[1] for row in rows], np.sort(shares[layer])[::-1][: len(rows)], rtol=1e-4)


def test_words_and_points_are_those_of_the_folder(word_run: Callable[..., Path], tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    run = word_run("one", words=("bank", "the", "river", "Ωmega"))
    path = report(run, out=tmp_path / "page.html")
    words = parquet.read_table(run / "words.parquet").to_pydict()
    [shown] = section_of(path, "words")["runs"]

    def column(name: str) -> Any:
        return column_of(path, "words", shown[name])

    assert column("words") == words["word"][::3]
    np.testing.assert_array_equal(column("n"), words["n"][::3])
    np.testing.assert_allclose(column("similarity"), words["self_similarity"], atol=2e-5)
    kept = column("mev_rows").astype(int)
    assert kept.tolist() == [0, 2, 3]
    np.testing.assert_allclose(column("mev").reshape(-1, 3), np.reshape(words["mev"], (-1, 3))[kept], atol=2e-5)
    neighbors = {name: column_of(path, "words", ref) for name, ref in shown["neighbors"].items()}
    names = np.array(neighbors["names"])
    assert names[neighbors["word"].astype(int)].tolist() == words["word"]
    assert names[neighbors["neighbor"].astype(int)].tolist()[::3] == ["the", "river", "Ωmega", "bank"]

    clouds = parquet.read_table(run / "clouds.parquet").to_pydict()
    said, which, y = (column_of(path, "words", shown["clouds"][name]) for name in ("sentences", "sentence", "y"))
    assert [said[int(place)] for place in which] == clouds["sentence"][::3]
    np.testing.assert_allclose(y * shown["clouds"]["scale"], clouds["y"], atol=2e-3)

    sample = parquet.read_table(run / "sample.parquet").to_pydict()
    [panel] = section_of(path, "space")["panels"]
    assert column_of(path, "space", panel["words"]) == words["word"][::3]
    assert column_of(path, "space", panel["sentences"]) == sample["sentence"][::3]
    np.testing.assert_array_equal(column_of(path, "space", panel["frequency"]), words["n"][::3])
    for layer, place in enumerate(panel["places"]):
        x = column_of(path, "space", place["x"]) * place["scale"]
        np.testing.assert_allclose(x, sample["x"][layer::3], atol=2e-3)


def test_a_run_without_text_gives_a_page_without_text(word_run: Callable[..., Path], tmp_path: Path) -> None:
    for text in (True, False):
        path = report(word_run(f"text-{text}", text=text), out=tmp_path / "page.html", existing="replace")
        packs = [
            zlib.decompress(base64.b64decode(pack))
            for name, pack in Elements.of(path).scripts.items()
            if "pack" in name
        ]
        assert any(b"is a secret" in pack for pack in packs) is text


def test_findings_scores_and_probes_are_those_of_their_files(tmp_path: Path) -> None:
    finding = {"id": "F1", "claim": "it is so", "where": "§1", "rule": "a > b", "verdict": "held", "why": "3 > 2"}
    finding |= {"models": {"m": {"verdict": "held", "why": "3 > 2"}}, "published_by_the_same_rule": {}}
    folder = tmp_path / "paper"
    folder.mkdir()
    told = {"paper": {"id": "p1999", "title": "A paper", "citation": "A. Author"}, "findings": [finding]}
    (folder / "findings.json").write_text(json.dumps(told))
    scored = tmp_path / "scored"
    scored.mkdir()
    (scored / "run.json").write_text(json.dumps({"command": "evaluate", "options": {"metric": "pearson"}}))
    columns: dict[str, list[Any]] = {
        "target": ["a", "a", "b", "b", "b"],
        "task": ["t"] * 5,
        "subset": ["", "", "", "", "part"],
        "metric": ["spearman", "pearson", "spearman", "pearson", "pearson"],
        "aggregation": ["pooled"] * 5,
        "value": [0.1, 0.2, 0.3, 0.4, 0.9],
        "low": [0.0, 0.1, 0.2, 0.3, 0.8],
        "high": [0.2, 0.3, 0.4, None, 1.0],
        "n": [10] * 5,
    }
    write_csv(scored / "scores.csv", columns)
    one = {"task": ["t"], "target": ["b"], "other": ["a"], "difference": [0.2], "low": [0.1], "high": [0.3]}
    write_csv(scored / "comparisons.csv", one | {"p": [0.001], "p_holm": [0.004]})
    probed = tmp_path / "probed"
    probed.mkdir()
    (probed / "run.json").write_text(json.dumps({"command": "probe", "model": "m"}))
    base = {"space": ["context"] * 4, "level": ["context"] * 4, "probe": ["mlp"] * 4}
    rows = {"context": ["all", "all", "10", "2"], "layer": ["0", "1", "1", "1"], "side": ["test", "test", "dev", "dev"]}
    write_csv(probed / "scores.csv", base | rows | {"f1": [0.5, 0.6, 0.3, 0.2], "low": [0.4] * 4, "high": [0.7] * 4})
    classes = {"context": ["all"] * 4, "layer": ["0", "1", "0", "1"], "class": ["food", "food", "body", "body"]}
    write_csv(probed / "classes.csv", base | classes | {"f1": [0.1, 0.2, None, 0.4]})

    path = report(folder, scored, probed, out=tmp_path / "page.html")

    [paper] = section_of(path, "findings")["papers"]
    assert (paper["title"], paper["claims"][0]["verdict"]) == ("A paper", "held")
    assert paper["claims"][0]["models"] == [["m", "held", "3 > 2"]]
    scores = section_of(path, "scores")
    assert [(row["target"], row["metric"], row["value"], row["high"]) for row in scores["rows"]] == [
        ("a", "pearson", 0.2, 0.3),
        ("b", "pearson", 0.4, None),
    ]
    assert scores["compared"][0]["p_holm"] == 0.004
    [probe] = section_of(path, "probes")["runs"]
    assert probe["curves"][0]["f1"] == [0.5, 0.6]
    assert probe["classes"] == {
        "probe": "mlp",
        "down": ["food", "body"],
        "layers": ["0", "1"],
        "f1": [[0.1, 0.2], [None, 0.4]],
    }
    assert probe["contexts"]["down"] == ["2", "10"]  # by number, not by letter


def rows_of(path: Path, section: str, table: Mapping[str, Any]) -> list[list[str]]:
    """A table on the page, as its cells are."""
    cells, width = column_of(path, section, table["cells"]), len(table["columns"])
    return [cells[start : start + width] for start in range(0, len(cells), width)]


def test_tables_of_runs_and_papers_are_on_the_page(tmp_path: Path) -> None:
    paper = tmp_path / "paper"
    (paper / "spaces").mkdir(parents=True)
    (paper / "findings.json").write_text(json.dumps({"command": "limbeck reproduce p", "paper": {"id": "p"}}))
    long = {"epoch": list(range(2100)), "word": ["<b>"] * 2100}
    secret = {"text": ["a secret sentence"]}
    write_csv(paper / "static.csv", {"word": ["a", "b"], "value": [0.5, None]})
    write_csv(paper / "spaces" / "epochs.csv", long)
    write_csv(paper / "spaces" / "layers-examples.csv", secret)
    scored = tmp_path / "scored"
    scored.mkdir()
    (scored / "run.json").write_text(json.dumps({"command": "evaluate"}))
    write_csv(scored / "tuning.csv", {"clusters": [5, 10], "value": [0.6, 0.7]})
    write_csv(scored / "epochs.csv", {"epoch": [1], "loss": [0.9]})
    repaired = tmp_path / "repaired"
    repaired.mkdir()
    (repaired / "run.json").write_text(json.dumps({"command": "repair", "name": "m"}))
    write_csv(repaired / "local.csv", {"layer": ["0"], "clusters": [5], "log10_isotropy": [-1.5]})

    for name, broken in (("empty", b""), ("odd", b"a,b\n\xff,1\n"), ("ragged", b"a,b\n1\n")):
        (paper / "spaces" / f"{name}.csv").write_bytes(broken)

    path = report(paper, scored, repaired, out=tmp_path / "page.html")

    static, *others = section_of(path, "findings")["papers"][0]["tables"]
    empty, epochs, odd, ragged = others
    for name, table in (("empty", empty), ("odd", odd), ("ragged", ragged)):
        assert (table["name"], table["rows"]) == (f"spaces/{name}", 0)
        assert "cannot be read" in table["note"]
    assert (static["name"], static["columns"]) == ("static", ["word", "value"])
    assert rows_of(path, "findings", static) == [["a", "0.5"], ["b", ""]]
    assert (epochs["name"], epochs["rows"], epochs["all"]) == ("spaces/epochs", 2000, 2100)
    assert rows_of(path, "findings", epochs)[-1] == ["1999", "<b>"]
    [made] = section_of(path, "scores")["made"]
    assert [table["name"] for table in made["tables"]] == ["tuning", "epochs"]
    assert rows_of(path, "scores", made["tables"][0]) == [["5", "0.6"], ["10", "0.7"]]
    [clustered] = section_of(path, "space")["clustered"]
    assert rows_of(path, "space", clustered["tables"][0]) == [["0", "5", "-1.5"]]
    packs = [
        zlib.decompress(base64.b64decode(own)) for name, own in Elements.of(path).scripts.items() if "pack" in name
    ]
    assert not any(b"a secret sentence" in own for own in packs)  # sentences stay in the folder


def test_losses_and_scores_of_distilling_are_shown(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    score = {"task": "men", "metric": "spearman", "value": 0.5, "low": 0.4, "high": None, "n": 9, "coverage": 1.0}
    (run / "run.json").write_text(json.dumps({"command": "distill", "method": "x2static", "scores": [score]}))
    write_csv(run / "losses.csv", {"progress": [1.5, 0.5, 1.0], "loss": [5.0, 7.0, 6.0]})  # shards in any order
    path = report(run, out=tmp_path / "page.html")
    [trained] = section_of(path, "training")["runs"]
    assert trained["loss"] == {"x": [0.5, 1.0, 1.5], "y": [7.0, 6.0, 5.0], "unit": "epochs"}
    [row] = section_of(path, "scores")["rows"]
    assert (row["target"], row["value"], row["high"]) == ("run", 0.5, None)


def test_a_text_in_another_language_is_told_once(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    texts = [{"paths": ["a"], "language_warning": "the text is not."}, {"paths": ["b"], "language_warning": ""}, {}]
    (run / "run.json").write_text(json.dumps({"command": "distill", "source": {"corpus": texts}}))
    [card] = section_of(report(run, out=tmp_path / "page.html"), "overview")["cards"]
    assert dict(card["facts"])["warning"] == "The text is not."


def test_a_comparison_says_what_it_found(tmp_path: Path) -> None:
    (tmp_path / "compared").mkdir()
    (tmp_path / "compared" / "run.json").write_text(json.dumps({"command": "compare", "runs": ["a", "b"]}))
    (tmp_path / "compared" / "compare.json").write_text(
        json.dumps({"kind": "measure", "a": "first", "b": "second", "sentences": ["b is higher."]})
    )
    rows = [
        ("mev", "adjusted", "0", "0", 0.1, 0.05, 0.15, True),
        ("mev", "adjusted", "1", "1", None, None, None, None),
        ("isoscore", "value", "0", "0", 0.2, None, None, None),
    ]
    names = ("measure", "part", "layer_a", "layer_b", "difference", "low", "high", "real")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    write_csv(tmp_path / "compared" / "compare.csv", columns)
    section = section_of(report(tmp_path / "compared", out=tmp_path / "page.html"), "analyses")
    [run] = section["runs"]
    assert (section["title"], run["sentences"]) == ("Comparisons", ["b is higher."])
    assert (run["sides"], run["layers"]) == (["first", "second"], True)
    told = [(row["title"], row["layer_a"], row["difference"], row["real"]) for row in run["differences"]]
    assert told == [
        ("Maximum explainable variance, adjusted", "0", 0.1, True),
        ("IsoScore", "0", 0.2, None),
    ]


def test_spaces_before_and_after_a_repair_stand_side_by_side(word_run: Callable[..., Path], tmp_path: Path) -> None:
    words, layers = ["bank", "the", "river"], ["0", "1", "2"]
    folder = tmp_path / "repaired"
    folder.mkdir()
    (folder / "run.json").write_text(json.dumps({"command": "repair", "name": "model", "layers": layers}))
    for part in ("before", "after"):
        word_run(part, words=words).rename(folder / part)
    keys = [(part, layer, word) for part in ("before", "after") for layer in layers for word in words]
    columns = dict(zip(("repair", "layer", "word"), zip(*keys, strict=True), strict=True))
    x = np.random.default_rng(5).normal(size=len(keys)) * 9
    write_parquet(folder / "space.parquet", columns | {"frequency": [3.0, np.nan, 7.0] * 6, "x": x, "y": -x})
    facts = {"repair": ["before"] * 3 + ["after"] * 3, "layer": layers * 2}
    shares = {"variance_1": [0.5] * 6, "variance_2": [0.2] * 6, "correlation": [0.9] * 3 + [None] * 3}
    write_csv(folder / "space.csv", facts | shares)

    path = report(folder, out=tmp_path / "page.html")

    before, after = section_of(path, "space")["panels"]
    assert [before["run"], after["run"]] == ["model, before repair", "model, after repair"]
    assert {before["run"], after["run"]} <= set(data_of(path)["names"])
    assert column_of(path, "space", before["sentences"]) == [f"{word} is a secret" for word in words]
    np.testing.assert_array_equal(column_of(path, "space", after["frequency"]), [3, np.nan, 7])
    for panel, rows in ((before, x[:9]), (after, x[9:])):
        for place, expected in zip(panel["places"], rows.reshape(3, 3), strict=True):
            np.testing.assert_allclose(column_of(path, "space", place["y"]) * place["scale"], -expected, atol=2e-3)
    assert (before["facts"][0], after["facts"][0]) == ([0.5, 0.2, 0.9], [0.5, 0.2, None])


def test_a_page_that_cannot_be_made_does_not_cost_the_run(tmp_path: Path) -> None:
    with RunFolder(tmp_path / "run") as folder:
        (folder.unfinished / "run.json").write_text('{"command": "measure"}')
        (folder.unfinished / "layers.csv").write_text("")
        with pytest.warns(RuntimeWarning, match=r"the run is whole, its report\.html could not be made: .*layers\.csv"):
            folder.finish()
    assert (tmp_path / "run" / "run.json").is_file()


def test_sections_are_only_there_where_a_run_has_them(write_run: Writer, tmp_path: Path) -> None:
    path = report(write_run("one"), out=tmp_path / "page.html")
    assert [one["id"] for one in data_of(path)["sections"]] == ["overview", "layers", "frequency", "spectrum"]


# --- which words, and how many --------------------------------------------------------------------------------------


def followed(similarity: Sequence[float], n: Sequence[int]) -> Followed:
    words = [f"w{place}" for place in range(len(n))]
    column = np.array(similarity)[:, None]
    return Followed("run", ["0"], words, np.array(n), np.array(n), column, column, column)


def test_interesting_words_come_by_turns_from_each_list() -> None:
    run = followed([0.5, 0.1, 0.9, 0.4, np.nan], [9, 1, 2, 3, 99])
    # lowest, highest, most frequent; then nothing new for change, which is 0 for all: the first
    assert interesting([run], 3) == ["w1", "w2", "w0"]
    assert set(interesting([run], 10)) == {"w0", "w1", "w2", "w3"}  # what is undefined interests nobody


def test_a_page_that_would_be_too_long_shows_fewer_words(
    word_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = np.random.default_rng(0)
    words = ["".join(map(chr, letters)) for letters in generator.integers(97, 123, size=(4000, 12))]
    run = word_run("many", words=words)
    whole = report(run, out=tmp_path / "whole.html").stat().st_size
    monkeypatch.setattr(pages, "MOST_BYTES", whole - 1)
    path = report(run, out=tmp_path / "page.html")
    assert path.stat().st_size < whole
    assert "words" in [one["id"] for one in data_of(path)["sections"]]
    monkeypatch.setattr(pages, "MOST_BYTES", 1000)
    with raises(LimbeckError, code="too_large"):
        report(run, out=tmp_path / "short.html")


def test_the_table_keeps_interesting_words_where_there_is_no_room_for_all(
    word_run: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import limbeck.reporting.page.sections.words as section

    monkeypatch.setattr(section, "MOST_CELLS", 30)
    monkeypatch.setattr(section, "INTERESTING", 6)
    path = report(word_run("many", words=[f"w{i}" for i in range(50)]), out=tmp_path / "page.html")
    found = section_of(path, "words")
    [run] = found["runs"]
    shown = column_of(path, "words", run["words"])
    assert (len(shown), run["all"]) == (10, 50)
    assert set(column_of(path, "words", found["interesting"])) <= set(shown)


# --- nothing from a run is markup -----------------------------------------------------------------------------------


def test_words_names_and_labels_never_become_markup(word_run: Callable[..., Path], tmp_path: Path) -> None:
    plain_page = Elements.of(report(word_run("plain"), out=tmp_path / "plain.html", title="t"))
    run = word_run("nasty", name=NASTY[0] + NASTY[1], words=NASTY)
    path = report(run, out=tmp_path / "page.html", title="".join(NASTY))
    page = Elements.of(path)
    assert page.tags == plain_page.tags
    assert page.scripts["code"] == plain_page.scripts["code"]
    assert page.policy == plain_page.policy
    data = data_of(path)
    assert data["title"] == "".join(NASTY)
    assert data["names"] == [NASTY[0] + NASTY[1]]
    [words] = section_of(path, "words")["runs"]
    assert column_of(path, "words", words["words"]) == NASTY
    assert "\u2028" not in page.scripts["data"]


def test_the_policy_allows_the_pages_own_script_alone(write_run: Writer, tmp_path: Path) -> None:
    import hashlib

    page = Elements.of(report(write_run("one"), out=tmp_path / "page.html"))
    digest = base64.b64encode(hashlib.sha256(page.scripts["code"].encode()).digest()).decode()
    assert "default-src 'none'" in page.policy
    assert f"script-src 'sha256-{digest}'" in page.policy
    assert "unsafe" not in page.policy
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", (tmp_path / "page.html").read_text())


# --- packing --------------------------------------------------------------------------------------------------------


def test_packed_columns_come_back() -> None:
    pack = Pack()
    references = [
        pack.strings(["a", "ß", "\u2028"]),
        pack.whole([1, 2**31 - 1]),
        pack.fixed([-1.0, np.nan, 0.25]),
        pack.fixed([250.0, -3.0]),
        pack.numbers([np.pi, np.nan]),
    ]
    data = zlib.decompress(base64.b64decode(pack.base64()))
    assert all(reference["at"] % 8 == 0 for reference in references)
    assert json.loads(data[: references[0]["length"]]) == ["a", "ß", "\u2028"]
    assert np.frombuffer(data, "<i4", 2, references[1]["at"]).tolist() == [1, 2**31 - 1]
    steps = np.frombuffer(data, "<i2", 3, references[2]["at"])
    assert steps[1] == references[2]["undefined"]
    np.testing.assert_allclose(steps[[0, 2]] * references[2]["scale"], [-1, 0.25], atol=1.6e-5)
    large = np.frombuffer(data, "<i2", 2, references[3]["at"]) * references[3]["scale"]
    np.testing.assert_allclose(large, [250, -3], atol=250 / 65_000)


def test_numbers_that_json_does_not_have_are_null() -> None:
    assert plain({"a": np.array([1.0, np.nan]), "b": (np.float32(0.5), float("inf")), "c": Path("x")}) == {
        "a": [1.0, None],
        "b": [0.5, None],
        "c": "x",
    }


# --- folders --------------------------------------------------------------------------------------------------------


def test_runs_of_one_name_are_told_apart(write_run: Writer, tmp_path: Path) -> None:
    runs = [write_run("before", name="bert"), write_run("bert", name="bert"), write_run("x", name="gpt")]
    names = data_of(report(*runs, out=tmp_path / "page.html"))["names"]
    assert len(set(names)) == 3
    assert names[2] == "gpt"
    assert all(name.startswith("bert (") for name in names[:2])


def test_no_two_runs_have_one_name_whatever_their_kinds(write_run: Writer, tmp_path: Path) -> None:
    """A name is the key of a colour and of the box that hides a run."""
    runs = [write_run("bert", name="bert")]
    for folder, command in (("here/bert", "probe"), ("there/bert", "probe"), ("bert", "evaluate")):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "run.json").write_text(json.dumps({"command": command, "model": "bert"}))
        runs.append(tmp_path / folder)
    path = report(*runs, out=tmp_path / "page.html")
    names = [card["name"] for card in section_of(path, "overview")["cards"]]
    assert names == ["bert (measure)", "bert (probe, here)", "bert (probe, there)", "bert (evaluate)"]
    assert sorted(data_of(path)["names"]) == sorted(names)


def test_a_card_tells_model_and_data_and_each_fact_once(tmp_path: Path) -> None:
    accounts: dict[str, dict[str, Any]] = {
        "repair": {"name": "m", "method": "center", "settings": {"method": "center"}, "source": {"encoder": "x/bert"}},
        "evaluate": {"options": {"method": ["center", "whiten"]}, "targets": [{"name": "bert"}, {"name": "bert"}]},
        "probe": {"model": "bert", "facts": {"data": {"paths": ["/home/me/labels.jsonl"]}}},
        "distill": {"teacher": {"name": "gpt2"}, "text": {"paths": ["/home/me/a.txt", "/home/me/b.txt"]}},
        "analyze": {
            "options": {"what": "tense"},
            "models": [{"name": "bert"}, {"name": "gpt2"}],
            "source": {"corpus": ["/home/me/text.txt"]},
        },
        "compare": {"runs": ["/home/me/one", "/home/me/two"]},
    }
    for command, account in accounts.items():
        (tmp_path / command).mkdir()
        (tmp_path / command / "run.json").write_text(json.dumps(account | {"command": command}))
    path = report(*(tmp_path / command for command in accounts), out=tmp_path / "page.html")
    cards = {card["kind"]: card["facts"] for card in section_of(path, "overview")["cards"]}
    assert all(len(facts) == len({label for label, _ in facts}) for facts in cards.values())
    told = {kind: dict(facts) for kind, facts in cards.items()}
    assert (told["repair"]["method"], told["repair"]["model"]) == ("center", "bert")
    assert (told["evaluate"]["method"], told["evaluate"]["model"]) == ("center, whiten", "bert")
    assert (told["probe"]["model"], told["probe"]["data"]) == ("bert", "labels.jsonl")
    assert (told["distill"]["model"], told["distill"]["text"]) == ("gpt2", "a.txt, b.txt")
    assert (told["analyze"]["model"], told["analyze"]["text"]) == ("bert, gpt2", "text.txt")
    assert told["compare"]["compared"] == "one, two"
    assert "/home/me" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("odd", [{"layers": "twelve"}, {"dim": "many"}, {"layers": 12, "dim": None}, {"dim": [3]}])
def test_an_odd_account_costs_no_more_than_its_line(odd: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    told = {"command": "measure", "name": "m", "layers": ["0", "1"], "dim": 1024} | odd
    told["lowest_self_similarity"] = [".", "and/or"]
    (tmp_path / "run" / "run.json").write_text(json.dumps(told))
    [card] = section_of(report(tmp_path / "run", out=tmp_path / "page.html"), "overview")["cards"]
    facts = dict(card["facts"])
    assert facts.get("layers") == (None if "layers" in odd else "2")
    assert facts.get("dimensions") == (None if "dim" in odd else "1,024")
    assert facts["most contextual"] == "“.”, “and/or”"


def test_a_folder_of_runs_is_all_of_them_in_the_order_they_were_made(write_run: Writer, tmp_path: Path) -> None:
    several = tmp_path / "several"
    several.mkdir()
    for name, written in (("a", "2026-01-02T00:00:00Z"), ("b", "2026-01-01T00:00:00Z")):
        run = write_run(name, name=name)
        told = json.loads((run / "run.json").read_text()) | {"written": written}
        (run / "run.json").write_text(json.dumps(told))
        run.rename(several / name)
    assert data_of(report(several, out=tmp_path / "page.html"))["names"] == ["b", "a"]


def test_a_run_has_its_own_page_and_kept_vectors_have_none(write_run: Writer, tmp_path: Path) -> None:
    run = write_run("one")
    assert write_page(run) is None  # nobody says who made it
    told = json.loads((run / "run.json").read_text()) | {"command": "measure"}
    (run / "run.json").write_text(json.dumps(told))
    assert write_page(run) == run / "report.html"
    kept = tmp_path / "vectors"
    kept.mkdir()
    (kept / "vectors.json").write_text("{}")
    assert write_page(kept) is None


def test_the_verb_and_the_command_write_the_same_page(write_run: Writer, tmp_path: Path) -> None:
    run, page, other = write_run("one"), tmp_path / "page.html", tmp_path / "other.html"
    assert lb.report(run, out=page, title="One") == page
    assert main(["report", str(run), "--out", str(other), "--title", "One", "--quiet"]) == 0
    assert page.read_bytes() == other.read_bytes()
    with pytest.raises(LimbeckError) as caught:
        lb.report(run, out=page)
    assert (caught.value.code, caught.value.parameter) == ("exists", "existing")
    assert lb.report(run, out=page, existing="replace") == page
    with pytest.raises(UsageError) as unknown:
        lb.report(run, output=page)
    assert "did you mean 'out'" in str(unknown.value)


def test_what_is_no_run_is_refused_with_a_remedy(write_run: Writer, tmp_path: Path) -> None:
    with raises(UsageError, code="required", parameter="runs"):
        report(out=tmp_path / "page.html")
    with raises(InputError, code="no_run"):
        report(tmp_path / "nothing", out=tmp_path / "page.html")
    with raises(InputError, code="no_run"):
        report(tmp_path, out=tmp_path / "page.html")
    run = write_run("one")
    (run / "run.json").write_text("[]")
    with raises(InputError, code="damaged", says="run.json"):
        report(run, out=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_the_command_writes_a_page_and_replaces_none_unasked(
    write_run: Writer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, out = write_run("one"), tmp_path / "new" / "page.html"
    assert main(["report", str(run), "--out", str(out), "--title", "Mine"]) == 0
    assert str(out) in capsys.readouterr().out
    assert data_of(out)["title"] == "Mine"
    assert refused("report", run, "--out", out, capsys=capsys) == (1, "exists", "existing")
    assert refused("report", tmp_path / "nowhere", "--out", out, capsys=capsys) == (
        1,
        "no_run",
        "",
    )  # which is what is wrong first
    assert main(["report", str(run), "--out", str(out), "--existing", "replace"]) == 0
    assert main(["report", str(run), "--out", str(tmp_path)]) == 1
    assert main(["report", str(run), "--out", str(out), "--existing", "resume"]) == 2
