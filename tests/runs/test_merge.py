"""Merged runs of parts are the run of the whole: an oracle run over all of it, and what must not be merged."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
from made import DIM, OwnEncoder, sentences
from refusals import raises

import limbeck as lb
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.runs.encode import EncodeResult
from limbeck.runs.execution.parts import TextPart, division_of, read_vocabulary
from limbeck.runs.execution.sources import open_source
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.compute import measure_source
from limbeck.tables import read_csv

MADE = sentences(240, documents=14)
#: small samples, so that what is kept is chosen and not everything
SETTINGS: dict[str, Any] = {
    "min_contexts": 3, "max_contexts": 7, "mev_words": 6, "points": 150, "seed": 5, "figures": False
}  # fmt: skip
merge = partial(lb.merge, figures=False)
TABLES = ("words", "dimensions", "spectra", "sample", "clouds", "neighbors")


def check_same(one: Path, other: Path, *, tolerance: float = 1e-9) -> None:
    """Every number of two run folders."""
    mine, theirs = read_csv(one / "layers.csv"), read_csv(other / "layers.csv")
    assert list(mine) == list(theirs)
    for name in mine:
        for a, b in zip(mine[name], theirs[name], strict=True):
            assert a == b or float(a) == pytest.approx(float(b), rel=tolerance, abs=tolerance), name
    for table in TABLES:
        if not (one / f"{table}.parquet").exists():
            assert not (other / f"{table}.parquet").exists()
            continue
        columns = [parquet.read_table(folder / f"{table}.parquet").to_pydict() for folder in (one, other)]
        assert list(columns[0]) == list(columns[1])
        for name, values in columns[0].items():
            if table == "clouds" and name == "sentence":  # a part keeps the sentences of its own interesting words
                continue
            if values and isinstance(values[0], str):
                assert values == columns[1][name], (table, name)
            else:
                np.testing.assert_allclose(values, columns[1][name], rtol=1e-5, atol=1e-6, err_msg=f"{table} {name}")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole, and three parts of it; the second and third take the first's plan."""
    folder = tmp_path_factory.mktemp("runs")
    lb.measure(OwnEncoder(), MADE, out=folder / "whole", **SETTINGS)
    for number in (1, 2, 3):
        index_of = folder / "1" if number > 1 else None
        lb.measure(OwnEncoder(), MADE, out=folder / str(number), **SETTINGS, part=f"{number}/3", index_of=index_of)
    return folder


def check_exact(one: Path, other: Path) -> None:
    """layers.csv and words.parquet to 1e-10."""
    for read in (
        lambda folder: read_csv(folder / "layers.csv"),
        lambda folder: parquet_columns(folder / "words.parquet"),
    ):
        mine, theirs = read(one), read(other)
        assert list(mine) == list(theirs)
        for name, values in mine.items():
            if name in ("layer", "measure", "word", "note"):
                assert values == theirs[name]
            else:
                numbers = [[float(cell or "nan") for cell in cells] for cells in (values, theirs[name])]
                np.testing.assert_allclose(*numbers, rtol=1e-10, atol=1e-10, err_msg=name)


def parquet_columns(file: Path) -> dict[str, list[str]]:
    return {name: list(map(str, values)) for name, values in parquet.read_table(file).to_pydict().items()}


def test_many_small_parts_are_the_whole_to_the_last_digits(runs: Path, tmp_path: Path) -> None:
    """Some of a single document."""
    for number in range(1, 12):
        lb.measure(OwnEncoder(), MADE, out=tmp_path / str(number), **SETTINGS, part=f"{number}/11")
    merge(*(tmp_path / str(number) for number in range(1, 12)), out=tmp_path / "merged")
    check_exact(tmp_path / "merged", runs / "whole")
    with pytest.raises(AssertionError):
        check_exact(tmp_path / "merged", runs / "1")


def test_a_part_without_a_text_of_its_own(tmp_path: Path) -> None:
    """All that it holds repeats what stands before it: it is refused, and the others are the whole."""
    first = [s for s in MADE if s.document < 3]
    again = [replace(s, document=s.document + 3) for s in first]
    made = [*first, *again, *(replace(s, document=s.document + 3) for s in MADE if 3 <= s.document < 6)]
    lb.measure(OwnEncoder(), made, out=tmp_path / "whole", **SETTINGS)
    for number in (1, 3):
        lb.measure(OwnEncoder(), made, out=tmp_path / str(number), **SETTINGS, part=f"{number}/3")
    with raises(LimbeckError, code="too_few", parameter="part"):
        lb.measure(OwnEncoder(), made, out=tmp_path / "2", **SETTINGS, part="2/3")
    merge(tmp_path / "1", tmp_path / "3", out=tmp_path / "merged")
    check_exact(tmp_path / "merged", tmp_path / "whole")


def test_parts_of_one_text(runs: Path) -> None:
    merge(runs / "3", runs / "1", runs / "2", out=runs / "merged")
    check_same(runs / "merged", runs / "whole")
    told, whole = (json.loads((runs / name / "run.json").read_text()) for name in ("merged", "whole"))
    for name in ("counts", "dropped", "settings", "source", "lowest_self_similarity", "layers"):
        assert told[name] == whole[name], name
    assert told["merged"]["parts"] == ["1/3", "2/3", "3/3"]
    # it is the run over the whole text to whoever goes on with it
    again = lb.measure(OwnEncoder(watch=_never), MADE, out=runs / "merged", **SETTINGS, existing="resume")
    assert again.n == whole["counts"]["measured_occurrences"]


def _never(batch: int) -> None:
    raise AssertionError("nothing is left to read")


def test_a_part_alone_is_not_the_whole(runs: Path) -> None:
    """The twin: what the other test compares does differ between a part and the whole."""
    with pytest.raises(AssertionError):
        check_same(runs / "1", runs / "whole")


def test_in_any_order_and_two_by_two(runs: Path) -> None:
    merge(runs / "2", runs / "3", out=runs / "later")
    assert json.loads((runs / "later" / "run.json").read_text())["part"] == "2/3,3/3"
    merge(runs / "later", runs / "1", out=runs / "stepwise")
    check_same(runs / "stepwise", runs / "whole")


def test_the_runs_themselves_stay_as_they_are(runs: Path) -> None:
    def files() -> dict[str, tuple[int, int]]:
        found = [path for name in "123" for path in (runs / name).rglob("*") if path.is_file()]
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}

    before = files()
    merge(runs / "1", runs / "2", runs / "3", out=runs / "untouched")
    assert files() == before


@pytest.mark.parametrize("preset", ["paper", "released"])
def test_presets_that_sample(tmp_path: Path, preset: str) -> None:
    settings = {**SETTINGS, "preset": preset}
    lb.measure(OwnEncoder(), MADE, out=tmp_path / "whole", **settings)
    for number in (1, 2):
        lb.measure(OwnEncoder(), MADE, out=tmp_path / str(number), **settings, part=f"{number}/2")
    merge(tmp_path / "1", tmp_path / "2", out=tmp_path / "merged")
    check_same(tmp_path / "merged", tmp_path / "whole")


def own_texts() -> tuple[list[Any], list[Any]]:
    """Two texts without a sentence in common, the second numbered behind the first in the text of both."""
    said: set[tuple[str, ...]] = set()
    once = [s for s in MADE if s.words not in said and not said.add(s.words)]  # type: ignore[func-returns-value]
    return [s for s in once if s.document < 6], [s for s in once if s.document >= 6]


@pytest.fixture(scope="module")
def apart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of their own: the first chooses the words, the second follows them and counts on."""
    folder = tmp_path_factory.mktemp("apart")
    first, second = own_texts()
    lb.measure(OwnEncoder(), first, out=folder / "a", **SETTINGS)
    words = read_vocabulary(folder / "a")
    how: dict[str, Any] = {**SETTINGS, "vocabulary": folder / "a"}
    lb.measure(OwnEncoder(), second, out=folder / "b", first_document=6, **how)
    lb.measure(OwnEncoder(), first + second, out=folder / "whole", **SETTINGS, vocabulary=words)
    half = [s for s in second if s.document < 10]
    lb.measure(OwnEncoder(), half, out=folder / "b1", first_document=6, **how)
    lb.measure(OwnEncoder(), second[len(half) :], out=folder / "b2", first_document=10, **how)
    lb.measure(OwnEncoder(), second, out=folder / "chosen", **SETTINGS, first_document=6)
    lb.measure(OwnEncoder(), second, out=folder / "unnumbered", **how)
    lb.measure(OwnEncoder(), first[-9:] + second, out=folder / "overlapping", first_document=6, **how)
    return folder


def test_texts_of_their_own(apart: Path) -> None:
    merge(apart / "b", apart / "a", out=apart / "merged")
    check_same(apart / "merged", apart / "whole")
    told = json.loads((apart / "merged" / "run.json").read_text())
    assert len(told["source"]["corpus"]) == 2
    assert "distinct_words" in told["merged"]["not_known"]


def test_texts_of_their_own_two_by_two(apart: Path) -> None:
    merge(apart / "b1", apart / "b2", out=apart / "second")
    merge(apart / "second", apart / "a", out=apart / "stepwise")
    check_same(apart / "stepwise", apart / "whole")
    assert len(json.loads((apart / "stepwise" / "run.json").read_text())["source"]["corpus"]) == 3


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("chosen", "vocabulary"),
        ("unnumbered", "first_document 6"),
        ("overlapping", "9 texts"),
        ("a", "the same text"),
    ],
)
def test_texts_that_do_not_belong_together(apart: Path, other: str, says: str) -> None:
    with raises(InputError, code="not_mergeable", parameter="runs", says=says) as caught:
        merge(apart / "a", apart / other, out=apart / "refused")
    assert str(apart / "a") in str(caught.value)
    assert str(apart / other) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (apart / "refused").exists()


class OtherLayers(OwnEncoder):
    layers = ("low", "middle", "top")
    fingerprint = "own-2"


class OtherWeights(OwnEncoder):
    fingerprint = "own-3"


class OtherName(OwnEncoder):
    name = "another"


@pytest.mark.parametrize(
    ("encoder", "settings", "part", "options", "what"),
    [
        (OtherName(), SETTINGS, "2/3", {}, "the model is own here and another there"),
        (OtherLayers(), SETTINGS, "2/3", {}, "layers is low,middle,high here and low,middle,top there"),
        (OtherWeights(), SETTINGS, "2/3", {}, "the weights of own are others"),
        (OwnEncoder(), {**SETTINGS, "min_contexts": 4}, "2/3", {}, "min_contexts is 3 here and 4 there"),
        (OwnEncoder(), {**SETTINGS, "seed": 1}, "2/3", {}, "seed is 5 here and 1 there"),
        (OwnEncoder(), SETTINGS, "2/3", {"text_unit": "paragraph"}, "text unit is sentence here and paragraph there"),
        (OwnEncoder(), SETTINGS, "2/3", {"lowercase": True}, "lowercase of the text is False here and True there"),
        (OwnEncoder(), SETTINGS, "1/3", {}, "part 1/3 of the text is in both"),
        (OwnEncoder(), SETTINGS, "2/2", {}, "into 3 parts, the other into 2"),
        (OwnEncoder(), SETTINGS, None, {}, "the one is part 1/3 of its text, the other a whole one"),
    ],
)
def test_parts_that_do_not_belong_together(
    runs: Path, tmp_path: Path, encoder: Any, settings: MeasureSettings, part: str | None, options: Any, what: str
) -> None:
    lb.measure(encoder, MADE, out=tmp_path / "other", **settings, part=part, **options)
    with raises(InputError, code="not_mergeable", parameter="runs") as caught:
        merge(runs / "1", tmp_path / "other", out=tmp_path / "merged")
    assert what in str(caught.value)


def test_other_things_that_are_no_runs(runs: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    saved = lb.encode(OwnEncoder(), MADE, out=tmp_path / "kept")
    for others, code, parameter in (
        ((), "too_few", "runs"),
        ((tmp_path / "nowhere",), "not_found", "runs"),
        ((tmp_path / "empty",), "no_run", "runs"),
        ((saved,), "not_mergeable", "runs"),
    ):
        with pytest.raises(LimbeckError) as caught:
            merge(runs / "1", *others, out=tmp_path / "out")
        assert (caught.value.code, caught.value.parameter) == (code, parameter)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError) as caught:
        merge(saved, saved, out=tmp_path / "out")
    assert (caught.value.code, caught.value.parameter) == ("not_mergeable", "part")
    with pytest.raises(UsageError) as caught:
        merge(saved, saved, out=tmp_path / "out", part="1/2")
    assert caught.value.code == "unknown_parameter"
    assert not (tmp_path / "out").exists()


def test_the_result_is_what_its_folder_gives(runs: Path) -> None:
    made = merge(runs / "1", runs / "2", runs / "3", out=runs / "loaded")
    loaded = lb.MeasureResult.load(runs / "loaded")
    assert isinstance(made, lb.MeasureResult)
    assert loaded.record == json.loads(json.dumps(made.record, default=str))
    assert loaded.measures.keys() == made.measures.keys()
    for name, measure in made.measures.items():
        np.testing.assert_array_equal(loaded[name].value, measure.value)
    with pytest.raises(InputError) as caught:
        merge(runs / "1", runs / "2", runs / "3", out=runs / "loaded", existing="resume")
    assert (caught.value.code, caught.value.parameter) == ("exists", "existing")


def test_the_command_and_the_verb_write_the_same(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from limbeck.cli import main

    assert main(["merge", str(runs / "1"), str(runs / "3"), "--out", str(runs / "typed"), "--no-figures"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "not the whole text: part 2 is missing"
    merge(runs / "1", runs / "3", out=runs / "called")
    check_exact(runs / "typed", runs / "called")
    files = [
        sorted(str(path.relative_to(runs / name)) for path in (runs / name).rglob("*") if path.is_file())
        for name in ("typed", "called")
    ]
    assert files[0] == files[1]
    told = [json.loads((runs / name / "run.json").read_text()) for name in ("typed", "called")]
    for key in told[0].keys() - {"seconds", "written"}:
        assert told[0][key] == told[1][key], key


def test_kept_vectors(tmp_path: Path) -> None:
    lb.encode(OwnEncoder(), MADE, out=tmp_path / "whole", keep="float32")
    for number in (1, 2, 3):
        lb.encode(OwnEncoder(), MADE, out=tmp_path / str(number), keep="float32", part=f"{number}/3")
    merge(tmp_path / "3", tmp_path / "1", out=tmp_path / "some")
    made = merge(tmp_path / "2", tmp_path / "some", out=tmp_path / "merged")
    assert made == EncodeResult.load(tmp_path / "merged")
    whole, merged = (lb.OccurrenceVectors.load(tmp_path / name) for name in ("whole", "merged"))
    assert merged.words_total == whole.words_total == sum(len(s.words) for s in MADE)
    assert merged.duplicates is not None
    assert whole.duplicates is not None
    assert merged.duplicates.tolist() == whole.duplicates.tolist()

    def rows(kept: lb.OccurrenceVectors) -> dict[int, Any]:
        blocks = [block for shard in range(kept.shards) for block in kept.shard(shard)]
        return {
            int(name): (word, vector)
            for block in blocks
            for name, word, vector in zip(
                block.occurrences, block.strings, block.vectors.transpose(1, 0, 2), strict=True
            )
        }

    mine, theirs = rows(merged), rows(whole)
    assert mine.keys() == theirs.keys()
    for name, (word, vector) in mine.items():
        assert word == theirs[name][0]
        assert vector.shape == (3, DIM)
        np.testing.assert_array_equal(vector, theirs[name][1])


def test_parts_cover_the_text_once() -> None:
    source = open_source(OwnEncoder(), MADE)
    parts = [division_of(f"{k}/4") for k in (1, 2, 3, 4)]
    plans = [measure_source(source, MeasureSettings.of(SETTINGS), division=part)[1].plan for part in parts]
    ranges = sorted((shard.start, shard.stop) for plan in plans for shard in plan.shards)
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 14
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ranges))
    assert {plan.fingerprint for plan in plans} == {plans[0].fingerprint}


@pytest.mark.parametrize("wrong", ["3", "0/2", "3/2", "1/", "a/b"])
def test_wrong_parts(wrong: str) -> None:
    with raises(UsageError, code="malformed", parameter="part"):
        TextPart.parse(wrong)


def test_more_parts_than_documents() -> None:
    with raises(LimbeckError, code="too_few", parameter="part", says=("20", "14")):
        lb.measure(OwnEncoder(), MADE, **SETTINGS, part="1/20")


def test_two_pass_has_no_parts(tmp_path: Path) -> None:
    with raises(UsageError, code="exclusive", parameter="two_pass"):
        lb.measure(OwnEncoder(), MADE, **SETTINGS, two_pass=True, part="1/2")
