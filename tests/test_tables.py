"""Tables on disk: what is written is read back, and Parquet files carry the number of their format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import raises

import limbeck as lb
from limbeck.errors import InputError
from limbeck.record import FORMAT
from limbeck.tables import read_table, write_table
from limbeck.vectors import StaticVectors


def renumber(path: Path, number: int) -> None:
    """Give a Parquet file the number of another format; its columns stay."""
    table: Any = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata({"limbeck.format": str(number)}), path)


def test_a_table_carries_its_number_and_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, {"word": ["a", "b"], "n": np.array([1, 2])})
    assert pq.read_schema(path).metadata[b"limbeck.format"] == str(FORMAT).encode()
    table = read_table(path)
    assert (list(table["word"]), table["n"].tolist()) == (["a", "b"], [1, 2])


@pytest.mark.parametrize("number", [FORMAT - 1, FORMAT + 1])
def test_another_number_is_refused_in_one_line(tmp_path: Path, number: int) -> None:
    path = tmp_path / "t.parquet"
    write_table(path, {"n": [1]})
    renumber(path, number)
    with raises(InputError, code="other_format", says=(str(path), f"format {number} ")) as caught:
        read_table(path)
    assert "\n" not in str(caught.value)


def test_a_table_without_a_number_is_read(tmp_path: Path) -> None:
    """As of words that somebody else has counted."""
    pq.write_table(pa.table({"n": [1]}), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet")["n"].tolist() == [1]


@pytest.mark.parametrize("name", ["spectra", "words"])
def test_readers_of_a_run_refuse_tables_of_another_number(tmp_path: Path, name: str) -> None:
    run = tmp_path / "run"
    lb.measure("mini-bert", [["green", "tea"], ["black", "tea"]] * 8, min_contexts=1, out=run, figures=False)
    renumber(run / f"{name}.parquet", FORMAT + 1)
    with raises(InputError, code="other_format", says=f"{name}.parquet"):
        lb.report(run, out=tmp_path / "page.html")


def test_vectors_with_facts_of_another_number_are_refused(tmp_path: Path) -> None:
    vectors = StaticVectors(["a", "b"], np.eye(2, dtype=np.float32), counts=np.array([3, 1]))
    vectors.save(tmp_path / "v")
    assert StaticVectors.load(tmp_path / "v").counts is not None
    renumber(tmp_path / "v" / "words.parquet", FORMAT + 1)
    with raises(InputError, code="other_format", says="words.parquet"):
        _ = StaticVectors.load(tmp_path / "v").counts
