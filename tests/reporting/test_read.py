"""Reading run folders: what is missing is named, and names never coincide."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, LimbeckError
from limbeck.reporting.read import MEASURES, place, read_run, read_runs
from limbeck.runs.measure import measure

Writer = Callable[..., Path]


def test_the_tables_are_read_cell_by_cell(write_run: Writer) -> None:
    folder = write_run("a", layers=("table", "0", "1"), undefined={("0", "mev")})
    run = read_run(folder)
    with open(folder / "layers.csv", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["measure"] in MEASURES]
    assert len(rows) == 3 * len(MEASURES)
    for row in rows:
        for column in ("value", "baseline", "adjusted", "low", "high"):
            got = run.column(row["measure"], column)[run.layers.index(row["layer"])]
            assert got == float(row[column]) if row[column] else np.isnan(got)
    assert run.positions == (-1, 0, 1)


def test_what_measure_writes_can_be_read(tmp_path: Path) -> None:
    sentences = [["a", "b", "c"], ["b", "a"], ["c", "a"], ["a", "c", "b"]]
    measured = measure(
        lambda texts: [np.eye(3)[[ord(word[0]) % 3 for word in text.words]] for text in texts],
        sentences,
        min_contexts=2,
        out=tmp_path / "run",
    )
    run = read_run(tmp_path / "run")
    for name in MEASURES:
        np.testing.assert_array_equal(run.column(name), np.atleast_1d(measured[name].value))
    np.testing.assert_array_equal(run.spectra, np.reshape(measured.tables["spectra"]["centered"], (1, -1)))
    np.testing.assert_array_equal(run.shares, np.reshape(measured.tables["dimensions"]["share"], (1, -1)))


@pytest.mark.parametrize(
    ("layers", "positions"),
    [
        (("0", "6", "12"), (0, 6, 12)),
        (("table",), (-1,)),
        (("input", "1", "output"), (0, 1, 2)),
        (("²",), (0,)),  # a digit to Unicode, not a number
    ],
)
def test_layers_stand_at_their_numbers(layers: tuple[str, ...], positions: tuple[int, ...]) -> None:
    assert place(layers) == positions


def test_equal_names_are_told_apart(write_run: Writer) -> None:
    one, two, other = write_run("one"), write_run("two"), write_run("other", name="bert")
    names = [run.name for run in read_runs([one, two, other, one])]
    assert names == ["model (one) #1", "model (two)", "bert", "model (one) #2"]


def test_a_missing_measure_is_named_with_its_file(write_run: Writer) -> None:
    folder = write_run("a", without={"mev_centered"})
    with raises(LimbeckError, code="incomplete", says="layers.csv") as caught:
        read_runs([folder])
    assert str(folder / "layers.csv") in str(caught.value)


@pytest.mark.parametrize("file", ["run.json", "layers.csv", "frequency.csv", "spectra.parquet", "dimensions.parquet"])
@pytest.mark.parametrize("text", [None, "", "layer,measure\n0\n", "{}", "layer\nx\n"])
def test_a_missing_or_broken_file_is_named(write_run: Writer, file: str, text: str | None) -> None:
    folder = write_run("a")
    if text is None:
        (folder / file).unlink()
    else:
        (folder / file).write_text(text)
    with pytest.raises(InputError) as caught:
        read_run(folder)
    assert str(caught.value).startswith(f"{folder / file}: ")
    assert "\n" not in str(caught.value)


def test_a_cell_that_is_no_number_is_named(write_run: Writer) -> None:
    path = write_run("a") / "layers.csv"
    path.write_text(path.read_text().replace("0,anisotropy,0", "0,anisotropy,much", 1))
    with raises(InputError, code="malformed", says="'value'"):
        read_run(path.parent)


def test_no_folder_at_all_is_refused() -> None:
    with raises(LimbeckError, code="required", parameter="runs"):
        read_runs([])
