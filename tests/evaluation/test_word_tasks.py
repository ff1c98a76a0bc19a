"""Tasks of words as data: what is found and read in every layout, and one clear line where a file is wrong."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, UsageError
from limbeck.evaluation import word_tasks
from limbeck.evaluation.word_readers import READERS
from limbeck.evaluation.word_task import WORD_KINDS, load_word_table

PARADIGMS = """\
1, a, CLASS-INCLUSION, Taxonomic, flower:tulip, emotion:rage
4, g, CONTRAST, Pseudo:antonym, popular:shy. right:bad, believe:deny
6, a, NON-ATTRIBUTE, Item (noun:adjective), bulwark: flimsy, sound:inaudible
8, d, CAUSE-PURPOSE, Activity:Goal, eat:satiation flee:escape,fertilize:grow
"""


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def read(folder: Path, name: str):
    return word_tasks(folder, name)[name].read()


def test_sections(tmp_path):
    text = (
        ": capital-world\nAthens Greece Baghdad Iraq\n: gram1-adverb\ncalm calmly rare rarely\ncalm calmly sad sadly\n"
    )
    items, notes = read(put(tmp_path, {"deep/questions-words.txt": text}), "google-analogies")
    assert list(items.words) == [
        ("Athens", "Greece", "Baghdad", "Iraq"),
        ("calm", "calmly", "rare", "rarely"),
        ("calm", "calmly", "sad", "sadly"),
    ]
    parts = {name: rows.tolist() for name, rows in items.parts().items()}
    assert parts == {"semantic": [0], "syntactic": [1, 2], "capital-world": [0], "gram1-adverb": [1, 2]}
    assert notes[0] == "the files have 3 items, the release 19544"
    assert "questions-words.txt is not the known file" in notes[1]


def test_both_layouts_of_msr_read_the_same(tmp_path):
    table = ",type,word1,word2,word3,target\n0,JJ_JJR,good,better,rough,rougher\n1,NN_NNPOS,dog,dog's,cat,cat's\n"
    released = {
        "word_relationship.questions": "good better rough\ndog dog's cat\n",
        "word_relationship.answers": "JJ_JJR rougher\nNN_NNPOS cat's\n",
    }
    one, _ = read(put(tmp_path / "one", {"msr.csv": table}), "msr-analogies")
    other, _ = read(put(tmp_path / "other", released), "msr-analogies")
    assert one == other
    assert list(one.words)[1] == ("dog", "dog's", "cat", "cat's")
    released["word_relationship.answers"] = "JJ_JJR rougher\n"
    with raises(InputError, code="unequal_lengths", says="got 1"):
        read(put(tmp_path / "other", released), "msr-analogies")


def ratings(folder: Path) -> Path:
    files = {"subcategories-paradigms.txt": PARADIGMS}
    for part, names in (("Testing", ["4g", "6a", "8d"] + [f"{n}x" for n in range(66)]), ("Training", ["1a"])):
        for name in names:
            files[f"{part}/GoldRatings/GoldRatings-{name}.txt"] = '# said\n 74.0 "New York:city"\n-3.5 "a:b"\n'
    files["subcategories-paradigms.txt"] += "".join(f"{n}, x, Y, z, p:q\n" for n in range(66))
    return put(folder, files)


def test_ratings(tmp_path):
    items, _ = read(ratings(tmp_path), "semeval-2012-2")
    assert len(items) == 69
    by_name = {one.name: one for one in items.relations}
    assert by_name["4g"].prototypes == [("popular", "shy"), ("right", "bad"), ("believe", "deny")]
    assert by_name["6a"].prototypes == [("bulwark", "flimsy"), ("sound", "inaudible")]
    assert by_name["8d"].prototypes == [("eat", "satiation"), ("flee", "escape"), ("fertilize", "grow")]
    assert by_name["4g"].group == "CONTRAST"
    assert by_name["4g"].pairs == [("New York", "city"), ("a", "b")]
    np.testing.assert_array_equal(by_name["4g"].gold, [74.0, -3.5])
    for rating in ("much a:b", '1.2.3 "a:b"', '1_0 "a:b"', '１０ "a:b"'):
        (tmp_path / "Testing/GoldRatings/GoldRatings-4g.txt").write_text(f"{rating}\n", encoding="utf-8")
        with raises(InputError, code="malformed", says="GoldRatings-4g.txt:1:"):
            read(tmp_path, "semeval-2012-2")


def test_files_that_are_missing_are_told(tmp_path):
    ratings(tmp_path)
    with raises(InputError, code="incomplete", parameter="data", says=("10", "got 1")):
        word_tasks(tmp_path, "semeval-2012-2-all")
    with raises(InputError, code="incomplete", parameter="data", says="battig.csv"):
        word_tasks(tmp_path, "battig")
    with raises(InputError, code="incomplete", parameter="data", says=("questions-words.txt", "msr.csv")):
        word_tasks(tmp_path, "analogy")
    for path in (tmp_path / "Training" / "GoldRatings").iterdir():
        path.unlink()
    assert list(word_tasks(tmp_path)) == list(word_tasks(tmp_path, "relations")) == ["semeval-2012-2"]
    with raises(UsageError, code="unknown_choice", parameter="task", says="'battig'"):
        word_tasks(tmp_path, "batig")
    put(tmp_path, {"word_relationship.answers": "X y\n"})
    with raises(InputError, code="incomplete", parameter="data"):
        word_tasks(tmp_path, "analogy")


def test_categories(tmp_path):
    put(
        tmp_path,
        {
            "ap.csv": ",category,word\n0,illness,acne\n1,illness,\n2,tree,oak\n",
            "esslli-2008-1a.csv": "word,class,class2,class3,freq.bnc\nchicken_N,bird,animal,natural,2579\n",
            "BLESS.txt": "owl-n\tbird\tcoord\tjay-n\nowl-n\tbird\thyper\tanimal-n\nbag-n\tbag\tx\ty-n\n",
        },
    )
    items, _ = read(tmp_path, "ap")
    assert (list(items.words), list(items.classes)) == (["acne", "oak"], ["illness", "tree"]), "no empty word"
    assert read(tmp_path, "esslli-1a")[0].words == ["chicken"]
    items, _ = read(tmp_path, "bless")
    assert (list(items.words), list(items.classes)) == (["owl", "bag"], ["bird", "bag"])


@pytest.mark.parametrize(
    ("task", "name", "text", "code", "datum"),
    [
        ("google-analogies", "questions-words.txt", ": x\na b c\n", "malformed", ("questions-words.txt:2:", "got 3")),
        ("msr-analogies", "msr.csv", ",type,word1,word2,word3\n", "incomplete", "msr.csv:1:"),
        ("ap", "ap.csv", ",category,word\n0,tree\n", "malformed", ("ap.csv:2:", "got 2")),
        ("battig", "battig.csv", "a,b,c\n", "incomplete", "battig.csv:1:"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, task, name, text, code, datum):
    with raises(InputError, code=code, says=datum):
        read(put(tmp_path, {name: text}), task)


def test_the_table_is_whole():
    known = load_word_table()
    for layouts in known.values():
        for layout in layouts:
            assert layout.kind in WORD_KINDS
            assert layout.reader in READERS
            assert layout.items
            assert layout.citation
            assert layout.licence
            assert layout.source
            assert all(len(file.sha256) == 64 for file in layout.files)


def test_a_table_of_ones_own(tmp_path):
    own = """
[[task]]
name = "own"
kind = "categorization"
[[task.layout]]
reader = "categories"
separator = ";"
word = 2
category = 1
files = [{ path = "own.txt" }]
"""
    put(tmp_path, {"own.toml": own, "own.txt": "tree;oak\nbird;owl\n"})
    items, notes = word_tasks(tmp_path, table=tmp_path / "own.toml")["own"].read()
    assert (list(items.words), list(items.classes), notes) == (["oak", "owl"], ["tree", "bird"], ())
    for bad, code in (
        (own.replace('"categories"', '"category"'), "unknown_choice"),
        (own.replace('"categorization"', '"clusters"'), "unknown_choice"),
        (own.replace("word = 2", "words = 2"), "malformed"),
        (own + own, "twice"),
        ("[", "damaged"),
        ("task = 1", "malformed"),
    ):
        put(tmp_path, {"own.toml": bad})
        with raises((InputError, UsageError), code=code):
            load_word_table(tmp_path / "own.toml")
