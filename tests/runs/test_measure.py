"""The measuring run from Python: what stands in its folder, what each preset samples and drops."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from made import DIM, OwnEncoder, by_pairs, contextual, see, sentences, unique_texts
from refusals import raises

import limbeck as lb
from limbeck.errors import LimbeckError, UsageError
from limbeck.places import unfinished_of
from limbeck.runs.execution.folders import KEPT
from limbeck.runs.measure import MeasureSettings
from limbeck.tables import read_csv, write_csv
from limbeck.vectors import StaticVectors

MADE = sentences(240, documents=14)
SETTINGS: dict[str, Any] = {"min_contexts": 3, "max_contexts": 1000, "figures": False}
MEASURES = """anisotropy self_similarity intra_sentence_similarity intra_sentence_similarity_matched
mev mev_centered mev_truncated_svd log10_isotropy log10_isotropy_one_sign isoscore effective_rank
participation_ratio mean_norm""".split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "run"
    lb.measure(OwnEncoder(), MADE, out=out, **SETTINGS)
    return out


def test_the_folder_holds_what_it_should(folder: Path) -> None:
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
    assert files == {
        ".limbeck", "run.json", "layers.csv", "frequency.csv", "words.parquet", "spectra.parquet", "dimensions.parquet",
        "sample.parquet", "neighbors.parquet", "clouds.parquet", "report.html",
        "state/plan.npz", "state/texts.npz", "state/parts/000000-000001.npz",
    }  # fmt: skip
    assert [path.name for path in folder.parent.iterdir()] == ["run"]


def test_layers_csv(folder: Path) -> None:
    table = read_csv(folder / "layers.csv")
    assert list(table) == ["layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note"]
    rows = [dict(zip(table, row, strict=True)) for row in zip(*table.values(), strict=True)]
    assert [row["layer"] for row in rows if row["measure"] == "mev"] == ["low", "middle", "high"]
    oracle = by_pairs(see(unique_texts(MADE)), min_contexts=3)
    for layer, name in enumerate(("low", "middle", "high")):
        own = {row["measure"]: row for row in rows if row["layer"] == name}
        assert set(MEASURES) <= own.keys()
        for measure, values in oracle.items():
            assert float(own[measure]["value"]) == pytest.approx(values[layer], rel=1e-10)
        for row in own.values():
            assert int(row["n"]) > 0
            if row["baseline"]:
                assert float(row["adjusted"]) == pytest.approx(float(row["value"]) - float(row["baseline"]), abs=1e-12)
            if row["low"]:
                assert float(row["low"]) <= float(row["value"]) <= float(row["high"])
        for measure in ("self_similarity", "intra_sentence_similarity"):
            assert own[measure]["baseline"] == own["anisotropy"]["value"]


def test_words_parquet(folder: Path) -> None:
    table = parquet.read_table(folder / "words.parquet").to_pydict()
    kept = unique_texts(MADE)
    contexts = {word: sum(word in s.words for s in kept) for s in kept for word in s.words}
    followed = {word for word, count in contexts.items() if count >= 3}
    assert set(table["word"]) == followed
    assert len(table["word"]) == 3 * len(followed)
    seen = see(kept)
    words, texts = np.array(seen.words), np.array(seen.contexts)
    for row in range(0, len(table["word"]), 7):
        word, layer = table["word"][row], ["low", "middle", "high"].index(table["layer"][row])
        rows = np.flatnonzero(words == word)
        assert table["n"][row] == table["mev_n"][row] == len(rows)
        assert table["contexts"][row] == contexts[word]
        unit = seen.vectors[layer, rows] / np.linalg.norm(seen.vectors[layer, rows], axis=1, keepdims=True)
        apart = texts[rows][:, None] != texts[rows][None, :]
        assert table["self_similarity"][row] == pytest.approx((unit @ unit.T)[apart].mean())


def test_words_have_the_baselines_that_the_layers_average(folder: Path) -> None:
    table = parquet.read_table(folder / "words.parquet").to_pydict()
    layers = read_csv(folder / "layers.csv")
    names, n = np.array(table["layer"]), np.array(table["n"])
    for layer, measure, baseline in zip(layers["layer"], layers["measure"], layers["baseline"], strict=True):
        if measure in ("mev", "mev_centered", "mev_truncated_svd"):
            own = np.array(table[f"{measure}_baseline"])[names == layer]
            assert np.isfinite(own).sum() > len(own) / 2  # words in more occurrences than there are texts have none
            assert np.nanmean(own) == pytest.approx(float(baseline), rel=1e-12)
            for count in set(n):  # chance depends on the number of occurrences alone
                assert len(np.unique(own[n[names == layer] == count])) == 1
        elif baseline:
            assert f"{measure}_baseline" not in table


def test_spectra_and_dimensions(folder: Path) -> None:
    spectra = parquet.read_table(folder / "spectra.parquet").to_pydict()
    dimensions = parquet.read_table(folder / "dimensions.parquet").to_pydict()
    x = see(unique_texts(MADE)).vectors
    for layer, name in enumerate(("low", "middle", "high")):
        rows = [i for i, other in enumerate(spectra["layer"]) if other == name]
        centred = x[layer] - x[layer].mean(0)
        expected = np.linalg.svd(centred, compute_uv=False) ** 2 / len(centred)
        np.testing.assert_allclose([spectra["centered"][i] for i in rows], expected, rtol=1e-9)
        assert [spectra["index"][i] for i in rows] == list(range(DIM))
        rows = [i for i, other in enumerate(dimensions["layer"]) if other == name]
        assert sum(dimensions["share"][i] for i in rows) == pytest.approx(1)
        np.testing.assert_allclose([dimensions["mean"][i] for i in rows], x[layer].mean(0), rtol=1e-9)
        np.testing.assert_allclose([dimensions["variance"][i] for i in rows], x[layer].var(0), rtol=1e-9)


def test_sample_parquet_names_real_sentences(folder: Path) -> None:
    table = parquet.read_table(folder / "sample.parquet").to_pydict()
    said = {" ".join(s.words) for s in MADE}
    assert set(table["sentence"]) <= said
    for word, sentence in zip(table["word"], table["sentence"], strict=True):
        assert word in sentence.split()
    total = sum(len(s.words) for s in unique_texts(MADE))
    assert len(table["word"]) == 3 * total  # fewer than the sample could hold
    assert np.isfinite(table["x"]).all()


def test_run_json(folder: Path) -> None:
    about = json.loads((folder / "run.json").read_text())
    kept = unique_texts(MADE)
    total = sum(len(s.words) for s in kept)
    assert about["name"] == "own"
    assert about["layers"] == ["low", "middle", "high"]
    assert about["settings"]["preset"] == "corrected"
    assert about["settings"]["seed"] == 0
    assert about["source"]["encoder_fingerprint"] == "own-1"
    assert about["source"]["corpus_fingerprint"]
    assert about["counts"]["texts"] == len(kept)
    assert about["counts"]["words"] == about["counts"]["measured_occurrences"] == total
    assert about["dropped"] == {"words in duplicate texts": sum(len(s.words) for s in MADE) - total}
    assert {"python", "limbeck", "torch", "numpy"} <= about["versions"].keys()
    assert about["seconds"] > 0
    assert len(about["lowest_self_similarity"]) == len(about["highest_self_similarity"]) == 10


def test_frequency_csv_is_a_mean_over_bands(folder: Path) -> None:
    bands = read_csv(folder / "frequency.csv")
    words = parquet.read_table(folder / "words.parquet").to_pydict()
    for row in range(len(bands["layer"])):
        low, high = int(bands["from"][row]), int(bands["below"][row])
        own = [
            value
            for value, n, layer in zip(words["self_similarity"], words["n"], words["layer"], strict=True)
            if low <= n < high and layer == bands["layer"][row]
        ]
        assert int(bands["words"][row]) == len(own)
        assert float(bands["self_similarity"][row]) == pytest.approx(np.mean(own))


def test_without_text_no_sentence_is_in_the_folder(tmp_path: Path) -> None:
    secret = ["zyxomma", "quixotry", "vellichor", "the", "river"]
    made = [list(s.words) for s in MADE] + [secret]
    for keep in (True, False):
        out = tmp_path / str(keep)
        lb.measure(contextual, made, out=out, **SETTINGS, text=keep)
        table = parquet.read_table(out / "sample.parquet").to_pydict()
        assert (" ".join(secret) in table["sentence"]) == keep
        bytes_of_all = b"".join(path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file())
        if not keep:
            assert set(table["sentence"]) == {""}
            assert b"zyxomma quixotry" not in bytes_of_all
            assert b"zyxommaquixotry" not in bytes_of_all


def test_a_complete_run_is_not_run_again(tmp_path: Path) -> None:
    def never(batch: int) -> None:
        raise AssertionError("the run was complete")

    out = tmp_path / "run"
    first = lb.measure(OwnEncoder(), MADE, out=out, **SETTINGS)
    again = lb.measure(OwnEncoder(watch=never), MADE, out=out, **SETTINGS, existing="resume")
    np.testing.assert_array_equal(first["mev"].value, again["mev"].value)
    with raises(LimbeckError, code="other_run", parameter="existing", says="was 3 and is 4"):
        lb.measure(OwnEncoder(), MADE, out=out, min_contexts=4, existing="resume")
    with raises(LimbeckError, code="exists", parameter="existing"):
        lb.measure(OwnEncoder(), MADE, out=out, **SETTINGS)


@pytest.mark.parametrize(
    "arguments",
    [
        {"settings": MeasureSettings(min_contexts=10_000)},
        {"settings": MeasureSettings(min_contexts=10_000), "existing": "resume"},
        {"part": "1/10000"},
    ],
)
def test_a_refusal_leaves_nothing(tmp_path: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises(LimbeckError) as caught:
        lb.measure(contextual, MADE, out=tmp_path / "run", **arguments)
    assert list(tmp_path.iterdir()) == []
    assert not hasattr(caught.value, "__notes__")


def test_an_error_in_the_pass_leaves_what_is_done(tmp_path: Path) -> None:
    """The same command gets further once what was wrong is over; the text is not planned again."""
    wrong = True

    def lose(batch: int) -> None:
        if wrong:
            raise LimbeckError("a device is lost", code="unsupported")

    def run(existing: str) -> Any:
        encoder = OwnEncoder(watch=lose)
        return lb.measure(encoder, MADE, out=tmp_path / "run", **SETTINGS, existing=existing)

    with raises(LimbeckError, code="unsupported", says="a device is lost") as caught:
        run("fail")
    assert caught.value.__notes__ == [KEPT]
    plan = unfinished_of(tmp_path / "run") / "state" / "plan.npz"
    written = plan.stat().st_mtime_ns
    with raises(LimbeckError, code="unsupported", says="a device is lost"):
        run("resume")
    assert plan.stat().st_mtime_ns == written
    wrong = False
    assert run("resume").n == lb.measure(OwnEncoder(), MADE, **SETTINGS).n
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_no_word_with_a_vector_is_an_error() -> None:
    nothing = StaticVectors(["nowhere"], np.ones((1, 3), dtype=np.float32))
    with raises(LimbeckError, code="no_vectors"):
        lb.measure(nothing, MADE, **SETTINGS)


def test_sentences_may_come_from_a_generator() -> None:
    whole = lb.measure(contextual, [list(s.words) for s in MADE], **SETTINGS)
    drawn = lb.measure(contextual, (list(s.words) for s in MADE), **SETTINGS)
    assert whole.n == drawn.n


@pytest.mark.parametrize(
    ("model", "corpus", "options", "code"),
    [
        (contextual, MADE, {"layers": "0"}, "no_effect"),
        (contextual, lb.Corpus.from_sentences([["a"]]), {"lowercase": True}, "no_effect"),
        (StaticVectors(["a"], np.ones((1, 2), np.float32)), MADE, {"pooling": "max"}, "no_effect"),
        (contextual, MADE, {"text_unit": "sentense"}, "unknown_choice"),
        (contextual, MADE, {"units": "peaces"}, "unknown_choice"),
        (None, MADE, {}, "required"),
    ],
)
def test_options_that_would_do_nothing_are_refused(model: Any, corpus: Any, options: Any, code: str) -> None:
    with raises(UsageError, code=code, parameter=None):
        lb.measure(model, corpus, **SETTINGS, **options)
    with raises(UsageError, code="unknown_choice", parameter="preset", says="'paper'"):
        lb.measure(contextual, MADE, preset="papers")


# presets: twelve sentences, counted by hand

SMALL = [line.split() for line in """a b .
a b .
a c .
a a c
b c ,
d d d""".splitlines()]  # fmt: skip


def preset(name: str, **settings: Any) -> lb.MeasureResult:
    return lb.measure(contextual, SMALL, preset=name, min_contexts=3, **settings)


def test_corrected_counts_texts_once() -> None:
    run = preset("corrected")
    # a: 3 different texts; b: 2; c: 3; the full stop: 2; d: 1
    assert run.words().words == ["a", "c"]
    assert run.words().counts.tolist() == [4, 3]
    assert run.n == 15
    assert run.record["dropped"] == {"words in duplicate texts": 3}
    assert run["anisotropy"].n == 15
    assert run["intra_sentence_similarity"].n == 5


def test_released_counts_everything_but_punctuation() -> None:
    run = preset("released")
    # by occurrences, duplicates too: a 5, b 3, c 3, d 3 (in one text); the full stops are not followed
    assert run.words().words == ["a", "b", "c", "d"]
    assert run.words().counts.tolist() == [5, 3, 3, 3]
    assert run.n == 18
    assert run.record["dropped"] == {}
    assert "sampled pairs" in run["anisotropy"].note
    # pairs inside one text count: d's three mentions are all in one
    x = np.concatenate(contextual([t for s in SMALL if s[0] == "d" for t in _texts([s])]), axis=1)[0]
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    assert run.words("self_similarity")["d"][0] == pytest.approx(((unit @ unit.T).sum() - 3) / 6)
    # and "a b ." twice is two sentences
    assert run["intra_sentence_similarity"].n == 6


def test_paper_is_corrected_with_samples() -> None:
    run, other = preset("paper"), preset("corrected")
    assert run.words().words == other.words().words
    # all is smaller than the samples, so only the baseline of MEV differs
    for name in ("anisotropy", "self_similarity", "intra_sentence_similarity", "mev"):
        np.testing.assert_array_equal(run[name].value, other[name].value, err_msg=name)


def test_the_papers_samples_are_of_words_and_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from limbeck.runs.measuring import presets

    small = replace(presets.PRESETS["paper"], sentence_sample=50, word_sample=4, mev_baseline_size=20)
    monkeypatch.setitem(presets.PRESETS, "paper", small)
    run = lb.measure(contextual, MADE, preset="paper", min_contexts=3)
    full = lb.measure(contextual, MADE, **SETTINGS)
    assert run["self_similarity"].n == 4
    assert full["self_similarity"].n > 4
    assert np.asarray(run["intra_sentence_similarity"].n).max() <= 50
    np.testing.assert_array_equal(run["anisotropy"].value, full["anisotropy"].value)  # exact in both


def _texts(said: list[list[str]]) -> list[Any]:
    from limbeck.corpus.units import Sentence, Text

    return [Text((Sentence(tuple(words)),)) for words in said]


# tables


def test_numbers_in_csv_are_exact_and_holes_are_empty(tmp_path: Path) -> None:
    columns = {"a": [1 / 3, math.nan, None, math.inf], "b": ["x,y", 'q"', "é\n", ""], "c": [np.float64(0.1), 2, 3, 4]}
    write_csv(tmp_path / "t.csv", columns)
    found = read_csv(tmp_path / "t.csv")
    assert [float(found["a"][0]), *found["a"][1:]] == [1 / 3, "", "", "inf"]
    assert found["b"] == columns["b"]
    assert float(found["c"][0]) == 0.1


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("scale", [1.0, 500.0])  # squares of GPT-2's coordinates are beyond float16
def test_vectors_in_half_precision_are_measured_in_full(dtype: torch.dtype, scale: float) -> None:
    """The same numbers in float32 are the oracle: what half precision cannot hold is lost before, not in here."""

    class Half(OwnEncoder):
        def __init__(self, kept: torch.dtype) -> None:
            super().__init__()
            self.kept = kept

        def forward(self, batch: Any) -> Any:
            return (super().forward(batch) * scale).to(dtype).to(self.kept)

    half, full = (lb.measure(Half(kept), MADE, **SETTINGS) for kept in (dtype, torch.float32))
    for name in full.measures:
        expected = full[name].value
        assert np.isfinite(half[name].value).tolist() == np.isfinite(expected).tolist(), name
        np.testing.assert_allclose(half[name].value, expected, rtol=2e-5, atol=1e-6, err_msg=name)


@pytest.mark.parametrize("batch_tokens", [1, 10_000_000])
def test_sizes_of_batches_do_not_matter(batch_tokens: int) -> None:
    usual, other = (lb.measure(OwnEncoder(), MADE, **SETTINGS, batch_tokens=n) for n in (8192, batch_tokens))
    assert list(usual.measures) == list(other.measures)
    for name in usual.measures:
        np.testing.assert_allclose(other[name].value, usual[name].value, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("batch_tokens", [0, -5])
def test_batches_of_nothing_are_refused(batch_tokens: int) -> None:
    with raises(UsageError, code="out_of_range", parameter="batch_tokens"):
        lb.measure(OwnEncoder(), MADE, **SETTINGS, batch_tokens=batch_tokens)
