"""Which words count where some occurrences have no vector: one rule in every file and command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as parquet
import pytest
import tiny_models

import limbeck as lb
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.reporting.page.folders import Folder
from limbeck.reporting.page.sections.words import read_followed
from limbeck.reporting.serving.words import WordTable
from limbeck.runs.execution.parts import read_vocabulary
from limbeck.tables import read_csv

#: a decoder leaves the first position out: of "They" one occurrence is left, of "The" two in one text, of "it" two
SAID = """
They saw the river rise .   They saw the river fall .   They saw the lamp .   Then they and They said .
The river rose in the winter .   The lamp fell in the cellar .   The house of the owl fell .   A river The and The .
it of copper rose .   it of sand rose .   it of winter rose .   the old it rose .   the new it fell .
the lamp fell .   the river rose and fell .   of the river and the lamp .
"""
TEXTS = [text.split() for line in SAID.strip().split("\n") for text in line.split("   ")]
MEASURES = ("self_similarity", "mev", "mev_centered")


def expected(least: int) -> set[str]:
    """Words in at least so many texts, of which two have the word behind the first place."""
    words = {word for text in TEXTS for word in text}
    within = {word: [text for text in TEXTS if word in text] for word in words}
    return {
        word for word, texts in within.items() if len(texts) >= least and sum(word in text[1:] for text in texts) >= 2
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, lb.MeasureResult]:
    out = tmp_path_factory.mktemp("runs") / "run"
    encoder = HuggingFaceEncoder(
        tiny_models.model("gpt2"), tiny_models.tokenizer("byte-level"), name="tiny", device="cpu"
    )
    return out, lb.measure(encoder, TEXTS, out=out, min_contexts=3, figures=False)


def test_words_that_the_text_has_and_the_vectors_lack_do_not_count(run: tuple[Path, lb.MeasureResult]) -> None:
    folder, measured = run
    wanted = expected(3)
    tracked = set(read_vocabulary(folder))
    assert {"They", "The"} == tracked - wanted  # they have the contexts, but not two with a vector
    assert "it" in wanted
    assert measured.words().counts[measured.words().words.index("it")] == 2
    table = parquet.read_table(folder / "words.parquet").to_pydict()
    assert set(table["word"]) == wanted
    assert np.isfinite(table["self_similarity"]).all()
    assert min(table["contexts"]) >= 3
    assert json.loads((folder / "run.json").read_text())["counts"]["tracked_words"] == len(wanted)
    assert set(measured.words("mev").words) == set(measured.words().words) == wanted
    assert np.isfinite(measured.words("mev").values).any(axis=0).all()
    bands = read_csv(folder / "frequency.csv")
    layers = bands["layer"].count(bands["layer"][0])
    assert sum(int(count) for count in bands["words"][:layers]) == len(wanted)
    near = parquet.read_table(folder / "neighbors.parquet").to_pydict()
    assert set(near["word"]) | set(near["neighbor"]) <= wanted


def test_measure_compare_and_report_tell_the_same_numbers(run: tuple[Path, lb.MeasureResult]) -> None:
    folder, measured = run
    rows: dict[tuple[str, str], Any] = {}
    told = read_csv(folder / "layers.csv")
    for place, key in enumerate(zip(told["measure"], told["layer"], strict=True)):
        rows[key] = {name: told[name][place] for name in ("value", "n")}
    wanted = len(expected(3))
    compared = [row for row in lb.compare(folder, folder).rows if row["part"] == "value" and row["measure"] in MEASURES]
    assert len(compared) == len(MEASURES) * len(measured.layers)
    for row in compared:
        own = rows[row["measure"], row["layer_a"]]
        assert int(own["n"]) == row["n"] <= wanted
        assert row["a"] == pytest.approx(float(own["value"]), rel=1e-12)
    assert {int(rows["self_similarity", layer]["n"]) for layer in measured.layers} == {wanted}
    page = read_followed(Folder(folder, "measure", "tiny", {}))
    assert page is not None
    assert len(page.words) == len(WordTable(folder)) == wanted
