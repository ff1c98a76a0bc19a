"""Encode once, measure from what was kept: the same numbers as from model and text."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import LAYERS, OwnEncoder, as_jsonl, contextual, sentences
from refusals import raises

import limbeck as lb
from limbeck.encoders import FunctionEncoder, HuggingFaceEncoder
from limbeck.errors import InputError, Interrupted, LimbeckError, UsageError
from limbeck.runs.encode import EncodeResult, EncodeRun
from limbeck.runs.execution.execute import execute
from limbeck.stream.context import RunContext
from limbeck.tables import read_csv

MADE = sentences(240, documents=14)
SETTINGS: dict[str, Any] = {"min_contexts": 3, "max_contexts": 1000, "figures": False}


def tiny(layers: str = "0-2", **settings: Any) -> HuggingFaceEncoder:
    """A decoder without its last layer norm, behind which one direction would have no variance but rounding."""
    model, tokenizer = tiny_models.model("gpt2"), tiny_models.tokenizer("byte-level")
    settings = {"keep_first": True} | settings
    return HuggingFaceEncoder(model, tokenizer, name="tiny", device="cpu", layers=layers, **settings)


def encode(model: Any, corpus: Any, *, shard_units: int | None = None, **keywords: Any) -> EncodeResult:
    """`lb.encode`, with shards of a size."""
    run = EncodeRun.of({"model": model, "corpus": corpus, **keywords})
    run.shard_units = shard_units
    return execute(run)[0]


def alike(a: lb.MeasureResult, b: lb.MeasureResult, *, tolerance: float) -> None:
    assert a.layers == b.layers
    for column in ("word", "layer", "n", "contexts", "mev_n"):
        assert list(a.tables["words"][column]) == list(b.tables["words"][column])
    for name, result in a.measures.items():
        for part in ("value", "baseline", "low", "high"):
            if getattr(result, part) is not None:
                loose = 10 * tolerance if name == "effective_rank" else tolerance
                np.testing.assert_allclose(
                    getattr(result, part), getattr(b[name], part), rtol=loose, atol=loose, err_msg=name
                )


@pytest.mark.parametrize(("keep", "tolerance"), [("float32", 1e-6), ("float16", 2e-3)])
@pytest.mark.parametrize("shard_units", [150, None])
def test_kept_vectors_give_the_numbers_of_the_model(
    tmp_path: Path, keep: Any, tolerance: float, shard_units: int | None
) -> None:
    settings = {"min_contexts": 3, "points": 300}  # fewer than there are: the same ones must be chosen
    encode(tiny(), MADE, out=tmp_path / "kept", keep=keep, shard_units=shard_units)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["kept"]
    assert not (tmp_path / "kept" / "state").exists()
    direct = lb.measure(tiny(), MADE, **settings)
    kept = lb.measure(vectors=tmp_path / "kept", **settings)
    alike(direct, kept, tolerance=tolerance)
    assert kept.record["dropped"] == direct.record["dropped"]  # duplicates were kept, and are dropped now


def test_layers_csv_is_the_same(tmp_path: Path) -> None:
    encode(tiny(), MADE, out=tmp_path / "kept", keep="float32", shard_units=150)
    lb.measure(tiny(), MADE, **SETTINGS, out=tmp_path / "direct")
    lb.measure(vectors=tmp_path / "kept", **SETTINGS, out=tmp_path / "again")
    one, two = (read_csv(tmp_path / name / "layers.csv") for name in ("direct", "again"))
    for column in ("layer", "measure", "n", "note"):
        assert one[column] == two[column]
    for column in ("value", "baseline", "adjusted", "low", "high"):
        for a, b in zip(one[column], two[column], strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=1e-6, abs=1e-6)


def test_duplicates_count_when_asked_for(tmp_path: Path) -> None:
    encode(contextual, MADE, out=tmp_path / "kept", keep="float32")
    released = {"preset": "released", "min_contexts": 3}
    direct = lb.measure(contextual, MADE, **released)
    kept = lb.measure(vectors=tmp_path / "kept", **released)
    alike(direct, kept, tolerance=1e-5)
    assert kept.n == sum(len(s.words) for s in MADE)


def test_chosen_layers_keep_their_names(tmp_path: Path) -> None:
    encode(tiny(layers="table,2"), MADE, out=tmp_path / "kept", keep="float32")
    kept = lb.measure(vectors=tmp_path / "kept", **SETTINGS)
    assert kept.layers == ("table", "2")
    alike(lb.measure(tiny(layers="table,2"), MADE, **SETTINGS), kept, tolerance=1e-6)


def test_words_without_a_vector_are_not_kept_and_change_no_number(tmp_path: Path) -> None:
    encoder = tiny(keep_first=False)
    made = [list(s.words) for s in unique(MADE)]
    encode(encoder, made, out=tmp_path / "kept", keep="float32")
    direct = lb.measure(encoder, made, **SETTINGS)
    kept = lb.measure(vectors=tmp_path / "kept", **SETTINGS)
    assert direct.n < sum(map(len, made))  # the first position of each text is left out
    assert kept.n <= direct.n


def unique(made: list[Any]) -> list[Any]:
    return list({s.words: s for s in made}.values())


@pytest.mark.parametrize("kind", ["npz", "parquet", "hdf5"])
def test_vectors_that_users_bring(tmp_path: Path, kind: str) -> None:
    vectors = np.concatenate(contextual(_texts(MADE)), axis=1)  # (layers, n, d), float64
    words = [w for s in MADE for w in s.words]
    names = np.array([i for i, s in enumerate(MADE) for _ in s.words])
    path = tmp_path / f"mine.{kind}"
    if kind == "npz":
        np.savez(path, vectors=vectors, words=np.array(words), sentences=names)
    elif kind == "parquet":
        import pyarrow as arrow
        import pyarrow.parquet as parquet

        columns = {"word": words, "sentence": names}
        columns |= {f"layer_{i}": arrow.array(list(vectors[i])) for i in range(LAYERS)}
        parquet.write_table(arrow.table(columns), path)
    else:
        h5py = pytest.importorskip("h5py")
        index: dict[str, list[list[int]]] = {}
        with h5py.File(path, "w") as file:
            at = 0
            for i, s in enumerate(MADE):
                file[str(i)] = vectors[:, at : at + len(s.words)].astype(np.float32)
                at += len(s.words)
                for place, word in enumerate(s.words):
                    index.setdefault(word, []).append([i, place])
        (tmp_path / "word2sent.json").write_text(json.dumps(index))
    brought = lb.measure(vectors=path, **SETTINGS)
    direct = lb.measure(contextual, MADE, **SETTINGS)
    assert brought.record["dropped"] == direct.record["dropped"]
    assert brought.words().words == direct.words().words
    tolerance = 1e-5 if kind == "hdf5" else 1e-9
    for name in ("anisotropy", "self_similarity", "intra_sentence_similarity", "isoscore", "mean_norm", "mev"):
        np.testing.assert_allclose(brought[name].value, direct[name].value, rtol=tolerance, err_msg=name)


def _texts(made: list[Any]) -> list[Any]:
    from limbeck.corpus.units import Text

    return [Text((s,)) for s in made]


def test_a_stopped_encoding_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("limbeck.runs.execution.execute.RunContext", partial(RunContext, save_every=-1.0))

    def stop(batch: int) -> None:
        if batch == 8:
            raise KeyboardInterrupt

    out = tmp_path / "kept"
    with pytest.raises(Interrupted):
        encode(OwnEncoder(watch=stop), MADE, out=out, keep="float32", shard_units=60)
    assert not out.exists()
    with raises(LimbeckError, code="unfinished", parameter="existing"):
        encode(OwnEncoder(), MADE, out=out, keep="float32", shard_units=60)
    with raises(InputError, code="other_run", parameter="existing", says=("'float32'", "'float16'")):
        encode(OwnEncoder(), MADE, out=out, keep="float16", shard_units=60, existing="resume")
    encode(OwnEncoder(), MADE, out=out, keep="float32", shard_units=60, existing="resume")
    encode(OwnEncoder(), MADE, out=tmp_path / "whole", keep="float32", shard_units=60)
    for path in (tmp_path / "whole").iterdir():
        if path.suffix == ".npz":
            one, two = np.load(path), np.load(out / path.name)
            for name in one.files:
                np.testing.assert_array_equal(one[name], two[name], err_msg=f"{path.name} {name}")
            one.close()
            two.close()
    assert json.loads((out / "vectors.json").read_text()) == json.loads(
        (tmp_path / "whole" / "vectors.json").read_text()
    )


def test_finished_vectors_are_not_made_again(tmp_path: Path) -> None:
    def never(batch: int) -> None:
        raise AssertionError("they are there")

    out = tmp_path / "kept"
    made = encode(OwnEncoder(), MADE, out=out)
    assert encode(OwnEncoder(watch=never), MADE, out=out, existing="resume") == made
    with raises(InputError, code="other_run", parameter="keep", says="(float16)") as caught:
        encode(OwnEncoder(), MADE, out=out, existing="resume", keep="float32")
    assert (caught.value.code, caught.value.parameter) == ("other_run", "keep")
    with raises(InputError, code="other_run") as caught:
        encode(contextual, MADE, out=out, existing="resume")
    assert caught.value.code == "other_run"


def test_the_result_is_what_its_folder_gives(tmp_path: Path) -> None:
    made = lb.encode(OwnEncoder(), MADE, out=tmp_path / "kept", keep="float32")
    assert made == EncodeResult.load(tmp_path / "kept")
    assert made.folder == tmp_path / "kept"
    assert (made.name, made.layers, made.dim) == ("own", ("low", "middle", "high"), OwnEncoder.dim)
    assert made.n == made.vectors.words_total == sum(made.columns()["occurrences"])
    assert made.vectors.fingerprint == lb.OccurrenceVectors.load(made.folder).fingerprint
    assert os.fspath(made) == str(tmp_path / "kept")
    by_result, by_path = (lb.measure(vectors=one, **SETTINGS) for one in (made, tmp_path / "kept"))
    assert by_result["anisotropy"].value.tolist() == by_path["anisotropy"].value.tolist()
    assert "low" not in made._repr_html_()  # a row per file


def test_the_command_and_the_verb_write_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from limbeck.cli import main

    monkeypatch.chdir(tmp_path)
    Path("t.jsonl").write_text(as_jsonl(MADE))
    Path("v.txt").write_text("the 1 2 3\nriver 2 1 0\nand 0 1 5\n")
    typed = ["--model", "v.txt", "--corpus", "t.jsonl", "--keep", "float32", "--part", "1/2", "--quiet"]
    assert main(["encode", *typed, "--out", "typed"]) == 0
    lb.encode("v.txt", "t.jsonl", keep="float32", part="1/2", out="called")
    typed_files, called = (sorted(path.name for path in Path(one).rglob("*")) for one in ("typed", "called"))
    assert typed_files == called
    assert json.loads(Path("typed/vectors.json").read_text()) == json.loads(Path("called/vectors.json").read_text())


def test_a_folder_is_needed() -> None:
    with pytest.raises(UsageError) as caught:
        lb.encode(OwnEncoder(), MADE, out=None)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.parameter) == ("required", "out")


def test_too_large_for_float16_is_named(tmp_path: Path) -> None:
    large = FunctionEncoder(lambda texts: [np.full((len(t.words), 2), 1e5) for t in texts], name="large")
    with raises(InputError, code="out_of_range", parameter="dtype", says=("got 100000", "65504", "layer 0")):
        encode(large, MADE, out=tmp_path / "kept")
    encode(large, MADE, out=tmp_path / "kept", keep="float32", existing="replace")


def test_an_unfinished_folder_is_not_taken_for_vectors(tmp_path: Path) -> None:
    with raises(InputError, code="incomplete", says="vectors.json"):
        lb.measure(vectors=tmp_path)
    with raises(UsageError, code="unknown_choice", parameter="keep", says="'float32'") as caught:
        encode(contextual, MADE, out=tmp_path / "kept", keep="float23")
    assert (caught.value.code, caught.value.parameter) == ("unknown_choice", "keep")


def test_a_shard_holds_no_more_than_memory_does() -> None:
    from limbeck.runs.encode import SHARD_BYTES, shard_size
    from limbeck.runs.execution.sources import open_source

    source = open_source(contextual, MADE)
    assert shard_size(source) == 20_000
    wide = open_source(lambda texts: [np.ones((40, len(t.words), 8192), np.float32) for t in texts], MADE)
    assert shard_size(wide) * 40 * 8192 * 4 <= SHARD_BYTES
