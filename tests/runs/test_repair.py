"""The repairing run: its folder, its numbers before and after, tables by themselves, and going on where it stopped."""

from __future__ import annotations

import gzip
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from made import DIM, OwnEncoder, as_jsonl, sentences
from refusals import raises
from sklearn.decomposition import PCA
from sklearn.linear_model import LinearRegression

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.errors import InputError, Interrupted, LimbeckError, UsageError
from limbeck.repairs.files import read_about
from limbeck.reporting import draw
from limbeck.reporting.repairs import repair_figures
from limbeck.runs.repair import RepairResult
from limbeck.runs.repairing.frequencies import count_words, read_counts
from limbeck.runs.repairing.subject import load_table, save_like
from limbeck.stream import TextSource
from limbeck.stream.collected import collect
from limbeck.tables import read_csv

MADE = sentences(200, documents=8)
LAYERS = ("low", "middle", "high")
SETTINGS: dict[str, Any] = {"min_contexts": 3, "figures": False}


@pytest.fixture(scope="module")
def seen() -> Any:
    return collect(TextSource(Corpus.from_sentences(MADE), OwnEncoder()), deduplicate=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    lb.repair(OwnEncoder(), MADE, method="standardize+all-but-the-top:n_components=2", out=out, **SETTINGS)
    return out


def rows(path: Path) -> list[dict[str, str]]:
    table = read_csv(path)
    return [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]


def value_of(path: Path, measure: str) -> dict[str, float]:
    return {row["layer"]: float(row["value"]) for row in rows(path) if row["measure"] == measure}


def assert_same_tables(one: Path, other: Path) -> None:
    """Cells that are numbers agree up to rounding: sums are made in another order where a run was resumed."""
    mine, theirs = rows(one), rows(other)
    assert len(mine) == len(theirs)
    for a, b in zip(mine, theirs, strict=True):
        for name in a:
            try:
                assert float(a[name]) == pytest.approx(float(b[name]), rel=1e-9, abs=1e-12)
            except ValueError:
                assert a[name] == b[name]


def test_the_folder_holds_what_it_should(folder: Path) -> None:
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    measured = ("run.json", "layers.csv", "frequency.csv", "words.parquet", "spectra.parquet", "dimensions.parquet")
    explored = ("sample.parquet", "neighbors.parquet", "clouds.parquet")
    state = ("plan", "texts", "parts/000000-000001")
    assert files == {
        ".limbeck", "run.json", "report.html", "local.csv", "space.csv", "space.parquet",
        *(f"repairs/{layer}.safetensors" for layer in LAYERS),
        *(f"{part}/{name}" for part in ("before", "after") for name in (*measured, *explored)),
        *(f"state/{part}/{name}.npz" for part in ("before", "after") for name in state),
    }  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_repairs_are_those_of_the_collected_vectors(folder: Path, seen: Any) -> None:
    found = lb.repairs.load_repairs(folder, model="own")
    for layer, x in zip(LAYERS, seen.vectors.numpy(), strict=True):
        wanted = lb.repairs.AllButTheTop(2).fit_transform(lb.repairs.Standardize().fit_transform(x))
        np.testing.assert_allclose(found[layer].transform(x), wanted, rtol=1e-8, atol=1e-8)
    about = read_about(folder / "repairs" / "middle.safetensors")
    assert about["layer"] == "middle"
    assert about["model"] == "own"
    assert about["method"] == "standardize + all-but-the-top"
    assert about["corpus"]


def test_before_and_after_are_measured_runs(folder: Path, tmp_path: Path) -> None:
    lb.measure(OwnEncoder(), MADE, **SETTINGS, out=tmp_path / "plain")
    assert_same_tables(folder / "before" / "layers.csv", tmp_path / "plain" / "layers.csv")
    lb.measure(OwnEncoder(), MADE, **SETTINGS, repair=folder, out=tmp_path / "repaired")
    assert_same_tables(folder / "after" / "layers.csv", tmp_path / "repaired" / "layers.csv")
    told = json.loads((folder / "after" / "run.json").read_text())
    assert told["name"] == "own + standardize + all-but-the-top"
    before, after = (value_of(folder / part / "layers.csv", "anisotropy") for part in ("before", "after"))
    for layer in LAYERS:
        assert abs(after[layer]) < 0.02 < 0.05 < before[layer]


def test_local_isotropy_by_number_of_clusters(folder: Path, seen: Any) -> None:
    table = rows(folder / "local.csv")
    assert [int(row["clusters"]) for row in table] == [0, 1, 3, 6, 9, 20] * 3
    for row in table:
        x = seen.of_layer(row["layer"]).numpy()
        assert int(row["n"]) == len(x)
        if row["clusters"] == "0":
            wanted, cosine = lb.measures.log10_isotropy(x).value, lb.measures.anisotropy(x).value
        else:
            found = lb.measures.local_isotropy(x, clusters=int(row["clusters"]))
            wanted, cosine = found.value, found.mean_cosine
        assert float(row["log10_isotropy"]) == pytest.approx(wanted, rel=1e-6)
        assert float(row["mean_cosine"]) == pytest.approx(cosine, rel=1e-6, abs=1e-9)


def test_space_and_frequency(folder: Path, seen: Any) -> None:
    """Components by scikit-learn, frequencies counted by hand."""
    strings = list(seen.strings)
    logs = np.log10([strings.count(word) for word in strings])
    repairs = lb.repairs.load_repairs(folder)
    places = parquet.read_table(folder / "space.parquet").to_pydict()
    for row in rows(folder / "space.csv"):
        layer, x = row["layer"], seen.of_layer(row["layer"]).numpy()
        x = x if row["repair"] == "before" else repairs[layer].transform(x)
        pca = PCA(2).fit(x)
        along = pca.transform(x)
        assert int(row["n"]) == len(x)
        for axis in (0, 1):
            assert float(row[f"variance_{axis + 1}"]) == pytest.approx(pca.explained_variance_ratio_[axis], rel=1e-6)
            r = abs(np.corrcoef(along[:, axis], logs)[0, 1])
            assert float(row[f"correlation_{axis + 1}"]) == pytest.approx(r, rel=1e-5, abs=1e-7)
        fit = LinearRegression().fit(along, logs).score(along, logs)
        assert float(row["correlation"]) == pytest.approx(fit**0.5, rel=1e-5)
        distance = np.corrcoef(np.linalg.norm(x - x.mean(0), axis=1), logs)[0, 1]
        assert float(row["correlation_distance"]) == pytest.approx(distance, rel=1e-5)
        singular = np.linalg.svd(x, compute_uv=False) ** 2
        assert float(row["moment_1"]) == pytest.approx(singular[0] / singular.sum(), rel=1e-6)
        keys = list(zip(places["repair"], places["layer"], strict=True))
        here = [i for i, key in enumerate(keys) if key == (row["repair"], layer)]
        assert len(here) == len(x)
        drawn = np.array([[places[name][i] for name in ("x", "y", "u", "v")] for i in here])
        np.testing.assert_allclose(np.sort(np.abs(drawn[:, 0])), np.sort(np.abs(along[:, 0])), rtol=1e-5, atol=1e-6)
        wanted = np.abs(x @ np.linalg.svd(x, full_matrices=False)[2][0])
        np.testing.assert_allclose(np.sort(np.abs(drawn[:, 2])), np.sort(wanted), rtol=1e-5, atol=1e-6)
        for i in here[::17]:
            assert places["frequency"][i] == strings.count(places["word"][i])


def test_figures(folder: Path) -> None:
    """The pictures; figures of measured runs have tests of their own."""
    from matplotlib.image import imread

    names = ("space", "directions", "local")
    figures = repair_figures(folder)
    drawn = draw({name: figures[name] for name in names}, folder / "figures")
    assert {path.name for path in drawn} == {f"{name}.{form}" for name in names for form in ("png", "svg")}
    for path in drawn:
        if path.suffix == ".png":
            pixels = imread(path)[..., :3]
            assert (pixels.min(axis=2) < 0.9).mean() > 0.01  # something is on it
        else:
            assert "middle" in path.read_text(encoding="utf-8")
        path.unlink()
    (folder / "figures").rmdir()


def test_run_json(folder: Path, seen: Any) -> None:
    told = json.loads((folder / "run.json").read_text())
    assert told["command"] == "repair"
    assert told["method"] == "standardize + all-but-the-top"
    assert [step["class"] for step in told["steps"]] == ["Standardize", "AllButTheTop"]
    assert told["fitted_on"] == len(seen)
    assert told["settings"]["method"] == "standardize+all-but-the-top:n_components=2"
    assert set(told["repairs"]) == set(LAYERS)


# --- going on -----------------------------------------------------------------------------------


def test_a_stopped_run_goes_on(tmp_path: Path) -> None:
    """Stopped in the pass over repaired vectors: neither the first pass nor the fit is done again."""

    def go(encoder: OwnEncoder, out: str = "run", components: int = 2, **options: Any) -> None:
        method = f"standardize+all-but-the-top:n_components={components}"
        lb.repair(encoder, MADE, method=method, out=tmp_path / out, local_points=20, **SETTINGS, **options)

    def stop(batches: int) -> None:
        if batches == whole.batches * 2 // passes + 1:
            raise KeyboardInterrupt

    whole = OwnEncoder()
    go(whole, "whole")
    passes = 3  # before, a chain's second step, after
    with pytest.raises(Interrupted):
        go(OwnEncoder(watch=stop))
    assert not (tmp_path / "run").exists()
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        go(OwnEncoder())
    with raises(InputError, code="other_run") as caught:
        go(OwnEncoder(), components=1, existing="resume")
    assert caught.value.code == "other_run"
    again = OwnEncoder()
    go(again, existing="resume")
    assert again.batches == whole.batches // passes
    for name in ("before/layers.csv", "after/layers.csv", "local.csv", "space.csv"):
        assert_same_tables(tmp_path / "run" / name, tmp_path / "whole" / name)
    done = OwnEncoder()
    go(done, existing="resume")
    assert done.batches == 0


@pytest.mark.parametrize(
    ("options", "code", "parameter"),
    [
        ({"method": "whitn"}, "unknown_choice", "method"),
        ({"weights": "none"}, "unknown_choice", "weights"),
        ({"weights": "frequency"}, "no_effect", "weights"),
        ({"min_contexts": 999}, "too_few", "min_contexts"),
    ],
)
def test_nothing_is_left_of_a_run_that_cannot_be(
    tmp_path: Path, options: dict[str, Any], code: str, parameter: str
) -> None:
    with pytest.raises(LimbeckError) as caught:
        lb.repair(OwnEncoder(), MADE, **{"method": "center", "out": tmp_path / "run", **options})
    assert (caught.value.code, caught.value.parameter) == (code, parameter)
    assert not list(tmp_path.iterdir())


def test_the_result_is_what_its_folder_gives(tmp_path: Path) -> None:
    made = lb.repair(OwnEncoder(), MADE, method="center", out=tmp_path / "run", local_points=30, **SETTINGS)
    loaded = RepairResult.load(tmp_path / "run")
    assert loaded.record == json.loads(json.dumps(made.record, default=str))
    assert loaded == made
    assert (loaded.name, loaded.layers, loaded.n, loaded.dropped) == (made.name, made.layers, made.n, made.dropped)
    for layer in LAYERS:
        np.testing.assert_array_equal(loaded.repairs[layer].mean_, made.repairs[layer].mean_)
    unsaved = lb.repair(OwnEncoder(), MADE, method="center", local_points=30, **SETTINGS)
    np.testing.assert_allclose(unsaved.columns()["after"], made.columns()["after"], rtol=1e-9, atol=1e-9)


def test_the_command_and_the_verb_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limbeck.cli import main

    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(as_jsonl(MADE))
    Path("v.txt").write_text("the 1 2 3\nriver 2 1 0\nand 0 1 5\n")
    typed = ["--model", "v.txt", "--corpus", "t.jsonl", "--method", "center", "--min-contexts", "3", "--quiet"]
    assert main(["repair", *typed, "--out", "typed", "--no-figures", "--preset", "released"]) == 0
    lb.repair("v.txt", "t.jsonl", method="center", preset="released", **SETTINGS, out="called")
    files = [
        sorted(str(path.relative_to(one)) for path in Path(one).rglob("*") if path.is_file())
        for one in ("typed", "called")
    ]
    assert files[0] == files[1]
    for name in files[0]:
        if name.endswith(".csv"):
            assert (Path("typed") / name).read_bytes() == (Path("called") / name).read_bytes()
    told = [json.loads((Path(one) / "run.json").read_text()) for one in ("typed", "called")]
    for key in told[0].keys() - {"seconds", "written"}:
        assert told[0][key] == told[1][key], key


# --- tables -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def table() -> lb.StaticVectors:
    rng = np.random.default_rng(0)
    matrix = rng.normal(size=(300, 8)) * np.linspace(0.3, 2, 8) + 1.0
    matrix[5] = 0.0
    return lb.StaticVectors([f"w{i}" for i in range(300)], matrix.astype(np.float32))


@pytest.mark.parametrize(
    "name", ["table.txt", "table.glove.gz", "table.npz", "table.safetensors", "table.bin", "table"]
)
def test_a_table_is_written_as_it_was(table: lb.StaticVectors, tmp_path: Path, name: str) -> None:
    table.save(tmp_path / name, "glove" if "glove" in name else "auto")
    written = save_like(load_table(tmp_path / name), tmp_path / name, tmp_path / "out")
    assert written == tmp_path / "out" / name
    assert lb.StaticVectors.load(written).words == table.words
    if name.endswith("gz"):  # no header, compressed
        assert gzip.decompress(written.read_bytes()).startswith(b"w0 ")


def test_a_table_by_itself(table: lb.StaticVectors, tmp_path: Path) -> None:
    table.save(tmp_path / "table.txt")
    found = lb.repair(tmp_path / "table.txt", method="center", out=tmp_path / "run", figures=False)
    x = table.matrix.astype(np.float64)
    assert found.n == 300  # every row, the zero one too, as Biš et al. 2021
    np.testing.assert_allclose(found.repairs["table"].mean_, x.mean(0), rtol=1e-6, atol=1e-7)
    written = lb.StaticVectors.load(tmp_path / "run" / "vectors" / "table.txt")
    np.testing.assert_allclose(written.matrix, x - x.mean(0), rtol=1e-5, atol=1e-5)
    there = np.flatnonzero(x.any(1))
    assert found.before["isoscore"].n == 299
    assert found.before["anisotropy"].value[0] == pytest.approx(lb.measures.anisotropy(x[there]).value, rel=1e-6)
    after = lb.measures.anisotropy((x - x.mean(0))[there]).value
    assert found.after["anisotropy"].value[0] == pytest.approx(after, abs=1e-6)
    assert found.dropped == {"a zero vector in the table": 1}
    assert np.isnan(found.tables["space"]["correlation"]).all()
    drawn = set(found.figures(tmp_path / "run"))
    assert {"anisotropy", "space"} <= drawn  # what compares a word's occurrences is not drawn
    assert "mev" not in drawn


def test_rows_weighed_by_frequency(table: lb.StaticVectors, tmp_path: Path) -> None:
    """Zipfian whitening (Yokoi et al. 2024): mean and covariance under the words' frequencies."""
    (tmp_path / "counts.txt").write_text("".join(f"w{i}\t{1000 // (i + 1)}\n" for i in range(0, 300, 2)))
    how: dict[str, Any] = {"method": "whiten", "weights": "frequency", "figures": False}
    found = lb.repair(table, out=tmp_path / "run", counts=tmp_path / "counts.txt", **how)
    weights = np.array([1000 // (i + 1) if i % 2 == 0 else 0 for i in range(300)])
    x = table.matrix.astype(np.float64)
    white = found.repairs["table"].transform(x)
    np.testing.assert_allclose(np.cov(white, rowvar=False, aweights=weights, bias=True), np.eye(8), atol=1e-5)
    np.testing.assert_allclose(np.average(white, axis=0, weights=weights), np.zeros(8), atol=1e-5)
    assert np.isfinite(found.tables["space"]["correlation"]).all()
    with pytest.raises(InputError) as caught:
        lb.repair(table, out=tmp_path / "other", counts={"elsewhere": 3}, **how)
    assert (caught.value.code, caught.value.parameter) == ("no_counts", "counts")


def test_a_table_on_a_text_counts_occurrences(tmp_path: Path) -> None:
    words = sorted({word for sentence in MADE for word in sentence.words})
    table = lb.StaticVectors(words, np.random.default_rng(0).normal(size=(len(words), 5)) + 1)
    table.save(tmp_path / "table.npz")
    found = lb.repair(tmp_path / "table.npz", MADE, method="center", out=tmp_path / "run", **SETTINGS)
    texts = {sentence.words for sentence in MADE if sentence.words}
    spoken = [table.index(word) for text in texts for word in text]
    np.testing.assert_allclose(found.repairs["table"].mean_, table.matrix[spoken].mean(0), rtol=1e-5)
    written = lb.StaticVectors.load(tmp_path / "run" / "vectors" / "table.npz")
    np.testing.assert_allclose(written.matrix, table.matrix - found.repairs["table"].mean_, atol=1e-5)


def test_a_model_without_a_text_must_say_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        lb.repair("mini-bert", method="center", out=tmp_path / "run")
    assert (caught.value.code, caught.value.parameter) == ("required", "corpus")
    with pytest.raises(UsageError) as caught:
        lb.repair("mini-bert", method="center", out=tmp_path / "run", layers="table", pooling="mean")
    assert (caught.value.code, caught.value.parameter) == ("no_effect", "pooling")
    found = lb.repair("mini-bert", method="center", out=tmp_path / "run", layers="table", local_points=0, figures=False)
    assert found.name == "mini-bert"
    assert found.n == 8192
    assert not found.tables["local"]["layer"]
    assert (tmp_path / "run" / "vectors" / "mini-bert.safetensors").is_file()


# --- frequencies --------------------------------------------------------------------------------


def test_words_are_counted_once_a_text() -> None:
    texts = {sentence.words for sentence in MADE if sentence.words}
    wanted: dict[str, int] = {}
    for text in texts:
        for word in text:
            wanted[word] = wanted.get(word, 0) + 1
    assert count_words(TextSource(Corpus.from_sentences(MADE), OwnEncoder())) == wanted
    assert OwnEncoder.dim == DIM


def test_files_of_counts(tmp_path: Path) -> None:
    path = tmp_path / "counts.txt"
    path.write_text("the 10\nNew York\t3\nthe\t2\n", encoding="utf-8")
    assert read_counts(path) == {"the": 12, "New York": 3}
    (tmp_path / "packed").write_bytes(gzip.compress(b"a 1\n"))
    assert read_counts(tmp_path / "packed") == {"a": 1}
    for text, code in (
        ("the ten\n", "malformed"),
        ("a 1\nb -2\n", "malformed"),
        ("a 1\nb 1_0\n", "malformed"),
        ("a １０\n", "malformed"),
        ("x\n", "malformed"),
        ("", "empty"),
    ):
        path.write_text(text, encoding="utf-8")
        with raises(InputError, code=code, parameter="counts"):
            read_counts(path)
    with raises(InputError, code="not_found", parameter="counts"):
        read_counts(tmp_path / "nowhere")


def test_a_repair_that_leaves_nothing_is_told() -> None:
    """Twenty points have nineteen directions: all of them removed, what is left looks isotropic."""
    few = np.random.default_rng(0).normal(size=(20, 48)).astype(np.float32) + 1
    with pytest.warns(RuntimeWarning, match="nothing but rounding of layer vectors"):
        lb.repair(vectors=few, method="all-but-the-top:n_components=30", local_points=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lb.repair(vectors=few, method="all-but-the-top:n_components=3", local_points=0)
