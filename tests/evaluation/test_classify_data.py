"""The released sets: counts by class, a few known examples, and words at their places."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from limbeck.evaluation.classifying import classify_tasks
from limbeck.evaluation.classifying.catalogue import load_table

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


@pytest.fixture(scope="module")
def found():
    return classify_tasks(SHARED)


def test_all_are_found(found):
    first = ["rte", "cola", "sst-2", "mrpc", "wic", "boolq"]
    assert list(load_table()) == first
    assert list(found) == [*first, "cr", "mr", "mpqa", "subj", "trec", "sst-5"]


@pytest.mark.parametrize(
    ("name", "split", "train", "reported"),
    [  # by class, as the page beside the data has them
        ("rte", "dev", {"entailment": 1249, "not_entailment": 1241}, {"entailment": 146, "not_entailment": 131}),
        ("cola", "dev", {"1": 6023, "0": 2528}, {"1": 721, "0": 322}),
        ("sst-2", "dev", {"0": 3310, "1": 3610}, {"0": 428, "1": 444}),
        ("sst-2", "test", {"0": 3310, "1": 3610}, {"0": 912, "1": 909}),
        ("mrpc", "test", {"1": 2753, "0": 1323}, {"1": 1147, "0": 578}),
        ("wic", "dev", {"T": 2714, "F": 2714}, {"T": 319, "F": 319}),
        ("wic", "test", {"T": 2714, "F": 2714}, {"T": 700, "F": 700}),
        ("boolq", "dev", {"true": 5874, "false": 3553}, {"true": 2033, "false": 1237}),
    ],
)
def test_counts(found, name, split, train, reported):
    data = found[name].read(split)
    assert data.notes == ()  # counts of the table and checksums agree
    for part, expected in ((data.train, train), (data.test, reported)):
        counts = np.bincount(part.labels, minlength=2)
        assert dict(zip(data.classes, counts.tolist(), strict=True)) == expected


def test_known_examples(found):
    rte = found["rte"].read()
    assert rte.train.texts[1][0] == "Weapons of Mass Destruction Found in Iraq."
    assert rte.classes[rte.train.labels[0]] == "not_entailment"
    mrpc = found["mrpc"].read().train
    assert mrpc.texts[0][0].startswith('Amrozi accused his brother , whom he called " the witness "')
    assert mrpc.labels[:2].tolist() == [1, 0]
    sst = found["sst-2"].read().test
    assert (sst.texts[0][0], sst.labels[0]) == ("one long string of cliches .", 0)
    boolq = found["boolq"].read().test
    assert boolq.texts[0][0] == "does ethanol take more energy make that produces"
    assert boolq.texts[1][0].startswith("Ethanol fuel -- All biomass")


def test_words_stand_at_their_places(found):
    """The word at each place is a form of the target word: they begin alike, but for a few irregular ones."""
    data = found["wic"].read()
    targets = [line.split("\t")[0] for line in found["wic"].files[0].path.read_text(encoding="utf-8").splitlines()]
    for side in (0, 1):
        at = zip(targets, data.train.texts[side], data.train.places[:, side], strict=True)
        alike = [text.split()[place].lower()[:2] == target.lower()[:2] for target, text, place in at]
        assert np.mean(alike) > 0.95
