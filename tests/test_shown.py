"""Results in a notebook, and as tables of other libraries."""

from __future__ import annotations

import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest
from refusals import raises

import limbeck as lb
from limbeck.errors import MissingExtra
from limbeck.shown import Tabular, html_table
from limbeck.sketch import Curves, scale, sketch

EVIL = "<script>alert('x')</script>"


class Tags(HTMLParser):
    """Every tag of some HTML, and its text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        assert not any(name.startswith("on") for name, _ in attrs)
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text.append(data)


class Small(Tabular):
    def columns(self) -> Mapping[str, Sequence[Any]]:
        return {"word": ["a", EVIL], "n": np.array([1, 2]), "value": [0.5, float("nan")]}

    def title(self) -> str:
        return EVIL

    def curves(self) -> Curves:
        return Curves([EVIL, "1"], {EVIL: [0.1, 0.2]}, across=EVIL, up=EVIL)


def measured() -> Any:
    """A run whose corpus has a script in it."""

    def made(texts: Any) -> list[Any]:
        found = []
        for text in texts:
            rng = np.random.default_rng(text.identity % 2**32)
            found.append(rng.normal(size=(2, len(text.words), 4)) + 1)
        return found

    from limbeck.encoders import FunctionEncoder

    encoder = FunctionEncoder(made, name=EVIL, layers=["0", "1"])
    texts = [[a, EVIL, b] for a in "abcd" for b in "efgh"]
    return lb.measure(encoder, texts, min_contexts=2)


def results() -> list[Any]:
    run = measured()
    vectors = lb.StaticVectors([EVIL, "b", "c"], np.eye(3), counts=[3, 2, 1])
    from limbeck.evaluation.task import Pairs

    words = tuple("bcbc")
    pairs = Pairs(name=EVIL, kind="wordsim", first=words, second=words[::-1], gold=np.arange(4.0), metric="spearman")
    table = {"b": np.array([1.0, 0.0]), "c": np.array([0.5, 1.0])}
    score = lb.tasks.evaluate(pairs, table, name=EVIL, settings=lb.tasks.EvaluationSettings(draws=20))
    return [run, run["anisotropy"], run.words("self_similarity"), vectors, score, Small()]


@pytest.mark.parametrize("result", results(), ids=lambda result: type(result).__name__)
def test_a_notebook_shows_it_escaped(result: Any) -> None:
    html = result._repr_html_()
    seen = Tags(html)
    assert "script" not in seen.tags
    assert "table" in seen.tags
    if "<svg" in html:
        ET.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])  # a whole picture


def test_words_of_a_run_are_shown_as_text() -> None:
    run = measured()
    shown = "".join(Tags(run.words("self_similarity")._repr_html_()).text)
    assert EVIL in shown
    assert "polyline" in run._repr_html_()
    assert lb.StaticVectors(["a", "b"], np.eye(2))._repr_html_().count("<tr>") == 3


def test_columns_are_those_of_the_files() -> None:
    run = measured()
    table = run.to_arrow().to_pydict()
    at = [row for row, name in enumerate(table["measure"]) if name == "isoscore"]
    assert [table["value"][row] for row in at] == run["isoscore"].value.tolist()
    assert [table["layer"][row] for row in at] == ["0", "1"]


def test_layers_of_a_run_go_by_their_names() -> None:
    """Layers 4 and 12 of a run are not its layers 0 and 1."""
    from limbeck.encoders import FunctionEncoder

    def made(texts: Any) -> list[Any]:
        return [np.random.default_rng(len(text.words)).normal(size=(2, len(text.words), 4)) for text in texts]

    encoder = FunctionEncoder(made, name="m", layers=["4", "12"])
    run = lb.measure(encoder, [[a, b] for a in "abc" for b in "def"], min_contexts=2)
    assert run["anisotropy"].columns()["layer"] == ["4", "12"]
    assert list(run.words("self_similarity").columns()) == ["word", "n", "layer_4", "layer_12"]
    assert ">12</text>" in run["anisotropy"]._repr_html_()


def test_a_repair_shows_what_it_changed() -> None:
    from limbeck.repairs import Center
    from limbeck.runs.repair import RepairResult

    facts = {"name": EVIL, "layers": ["0", "12"], "fitted_on": 1234, "method": "center", "dropped_after": {}}

    def measured(*values: float) -> lb.MeasureResult:
        numbers = {name: [float("nan")] * 2 for name in ("baseline", "adjusted", "low", "high")}
        table = {"layer": ["0", "12"], "measure": ["anisotropy"] * 2, "value": list(values), "n": [9, 9], **numbers}
        return lb.MeasureResult(facts, {"layers": {**table, "note": ["", ""]}, "words": {}})

    repairs = {"0": Center(), "12": Center()}
    found = RepairResult(facts, {}, repairs, {}, measured(0.8, 0.9), measured(0.0, 0.1))
    assert found.columns() == {
        "layer": ["0", "12"],
        "measure": ["anisotropy"] * 2,
        "before": [0.8, 0.9],
        "after": [0.0, 0.1],
    }
    seen = Tags(found._repr_html_())
    assert "script" not in seen.tags
    assert f"{EVIL}: center, fitted on 1,234 vectors" in "".join(seen.text)
    assert found._repr_html_().count("<polyline") == 2


def test_a_probe_draws_layers_alone() -> None:
    """Random vectors have one number: it is no line, and its name is no layer."""
    from limbeck.runs.probe import ProbeResult

    rows = [("context", "0", 0.1), ("context", "1", 0.2), ("random", "random", 0.05)]
    space, layer, f1 = zip(*rows, strict=True)
    same = {"probe": ["mlp"] * 3, "context": ["all"] * 3, "side": ["test"] * 3}
    tables = {"scores": {"space": list(space), "layer": list(layer), "f1": list(f1), **same}}
    curves = ProbeResult({"model": "m"}, tables).curves()
    assert curves is not None
    assert (curves.places, dict(curves.lines)) == (["0", "1"], {"context, mlp": [0.1, 0.2]})


def test_arrow_of_vectors() -> None:
    matrix = np.arange(6, dtype=np.float32).reshape(2, 3)
    table = lb.StaticVectors(["a", "b"], matrix, counts=[5, 7]).to_arrow()
    assert table.column_names == ["word", "count", "0", "1", "2"]
    assert np.column_stack([table[str(d)] for d in range(3)]).tolist() == matrix.tolist()


def test_pandas_and_polars_have_the_same() -> None:
    pandas, polars = (pytest.importorskip(name) for name in ("pandas", "polars"))
    assert isinstance(Small().to_pandas(), pandas.DataFrame)
    assert isinstance(Small().to_polars(), polars.DataFrame)
    assert Small().to_pandas()["word"].tolist() == Small().to_polars()["word"].to_list() == ["a", EVIL]
    assert Small().to_pandas()["n"].tolist() == Small().to_polars()["n"].to_list() == [1, 2]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_library_that_is_missing_is_named(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with raises(MissingExtra, code="not_installed", says=f"pip install {library}"):
        getattr(Small(), f"to_{library}")()


def test_they_are_not_imported_unasked() -> None:
    code = "import sys\nimport limbeck.shown, limbeck.vectors\nassert not {'pandas', 'polars'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_long_table_shows_its_beginning() -> None:
    vectors = lb.StaticVectors([f"w{i}" for i in range(500)], np.random.default_rng(0).normal(size=(500, 4)))
    html = vectors._repr_html_()
    assert "20 of 500 rows" in html
    assert html.count("<tr>") == 21
    assert "count" not in html_table({"a": [1]}, count=1)


def test_marks_of_an_axis_hold_the_values() -> None:
    for low, high in [(0.0, 1.0), (-3.2, 17.0), (0.7712, 0.7713), (5.0, 5.0), (0.0, 0.0), (-1e-9, 1e-9)]:
        start, end, step = scale(low, high)
        assert start <= low + 1e-9 * step
        assert end >= high - 1e-9 * step
        assert 1 <= round((end - start) / step) <= 8
    assert sketch(Curves(["0"], {"a": [float("nan")]})) == ""
    assert len(ET.fromstring(sketch(Curves(["0", "1", "2"], {"a": [1.0, float("nan"), 3.0]})))) > 3


def test_a_result_is_shown_in_a_line() -> None:
    several = lb.measures.WordResult(
        "mev", np.array([0.5, np.nan, 0.25]), np.array([1200, 1200, 7]), words=["a"] * 9999
    )
    assert repr(several) == "WordResult(mev: 0.5 … 0.25 in 3 layers, n = 7 to 1,200)"
    assert repr(lb.measures.Result("anisotropy", 0.123456, 31)) == "Result(anisotropy: 0.1235, n = 31)"
    local = lb.measures.LocalIsotropy("local_isotropy", np.array([-2.0, -1.0]), 50)
    assert repr(local) == "LocalIsotropy(local_isotropy: -2 … -1 in 2 layers, n = 50)"
