"""Counts and origins of words: kept beside the vectors, read when asked for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from refusals import raises

from limbeck.errors import InputError
from limbeck.vectors import StaticVectors
from limbeck.vectors.convert import convert

WORDS = ["the", "limbeck", "boils"]
MATRIX = [[1, 0], [0, 1], [1, 1]]


def test_there_and_back(tmp_path: Path) -> None:
    StaticVectors(WORDS, MATRIX, counts=[9, 2, 0], origins=["corpus", "corpus", "frame"]).save(tmp_path / "v")
    table = pq.read_table(tmp_path / "v" / "words.parquet").to_pydict()
    assert table == {"word": WORDS, "count": [9, 2, 0], "origin": ["corpus", "corpus", "frame"]}
    again = StaticVectors.load(tmp_path / "v")
    assert again.counts is not None
    assert again.counts.dtype == np.int64
    assert (again.counts.tolist(), again.origins) == ([9, 2, 0], ["corpus", "corpus", "frame"])
    limited = StaticVectors.load(tmp_path / "v", limit=2)
    assert limited.origins == ["corpus", "corpus"]


def test_a_table_in_another_order_or_with_other_words(tmp_path: Path) -> None:
    StaticVectors(WORDS, MATRIX).save(tmp_path / "v")
    assert StaticVectors.load(tmp_path / "v").counts is None
    pq.write_table(pa.table({"word": ["boils", "the", "other"], "count": [4, 7, 1]}), tmp_path / "v" / "words.parquet")
    again = StaticVectors.load(tmp_path / "v")
    assert again.counts is not None
    assert (again.counts.tolist(), again.origins) == ([7, 0, 4], None)
    # the table of a measured run has the same name and tells something else
    pq.write_table(pa.table({"word": ["the"], "layer": ["0"], "n": [3]}), tmp_path / "v" / "words.parquet")
    assert StaticVectors.load(tmp_path / "v").counts is None


def test_the_words_of_the_text(tmp_path: Path) -> None:
    StaticVectors(WORDS, MATRIX, counts=[9, 2, 0], total=40).save(tmp_path / "v")
    again = StaticVectors.load(tmp_path / "v")
    assert (again.total, again.subset(["boils"]).total) == (40, 40)
    convert(tmp_path / "v", tmp_path / "half", dtype="float16")
    assert StaticVectors.load(tmp_path / "half").total == 40
    # without them in the table, from the account of a distillation; nothing else in a run.json is taken for them
    StaticVectors(WORDS, MATRIX, counts=[9, 2, 0]).save(tmp_path / "v")
    assert StaticVectors.load(tmp_path / "v").total is None
    for told, total in (
        ('{"counts": {"words": 70}}', 70),
        ('{"counts": {"words": 0}}', None),
        ("[1]", None),
        ("{", None),
    ):
        (tmp_path / "v" / "run.json").write_text(told)
        assert StaticVectors.load(tmp_path / "v").total == total
    with raises(InputError, code="out_of_range", says=("got 8", "occurred 9")):
        StaticVectors(WORDS, MATRIX, counts=[9, 2, 0], total=8)
    with raises(InputError, code="out_of_range", says="got 8"):
        StaticVectors(WORDS, MATRIX, total=8)


def test_lower_case_sums_counts_unless_they_are_shared(tmp_path: Path) -> None:
    for counts, expected in (([5, 5, 2], [5, 2]), ([5, 4, 2], [9, 2])):
        StaticVectors(["Rome", "rome", "cat"], MATRIX, counts=counts, total=100).save(tmp_path / "v")
        convert(tmp_path / "v", tmp_path / "low", lowercase=True, existing="replace")
        low = StaticVectors.load(tmp_path / "low")
        assert low.counts is not None
        assert (low.words, low.counts.tolist(), low.total) == (["rome", "cat"], expected, 100)


def test_a_damaged_table_is_told_when_it_is_needed(tmp_path: Path) -> None:
    StaticVectors(WORDS, MATRIX, counts=[1, 2, 3]).save(tmp_path / "v")
    (tmp_path / "v" / "words.parquet").write_bytes(b"PAR1 and no more")
    vectors = StaticVectors.load(tmp_path / "v")
    assert vectors["the"].tolist() == [1, 0]
    with raises(InputError, code="damaged", says="words.parquet"):
        vectors.counts


def test_plain_loading_needs_no_pyarrow(tmp_path: Path) -> None:
    StaticVectors(WORDS, MATRIX, counts=[1, 2, 3]).save(tmp_path / "v")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from limbeck.vectors import StaticVectors\n"
        f"vectors = StaticVectors.load({str(tmp_path / 'v')!r})\n"
        "assert vectors['boils'].tolist() == [1, 1]\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_refused() -> None:
    with raises(InputError, code="unequal_lengths", parameter="counts"):
        StaticVectors(WORDS, MATRIX, counts=[1])
    with raises(InputError, code="unequal_lengths", parameter="origins"):
        StaticVectors(WORDS, MATRIX, origins=["a"])
    with raises(InputError, code="out_of_range", parameter="counts"):
        StaticVectors(WORDS, MATRIX, counts=[1, 2, -1])
    with raises(InputError, code="out_of_range", parameter="counts"):
        StaticVectors(WORDS, MATRIX, counts=[1, 2, 0.5])  # type: ignore[list-item]
