"""Tasks as data: what is found, what is read, and one clear line where a file is wrong."""

from __future__ import annotations

import hashlib
import lzma
import re
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

import limbeck as lb
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import File, Pairs, Task, tasks
from limbeck.evaluation.catalogue import load_table
from limbeck.evaluation.task import KINDS, NO_GOLD


def put(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    return folder


def words(path: Path, **options) -> Task:
    return Task(name="own", kind="wordsim", files=(File(path),), **{"scale": (0.0, 10.0), **options})


def test_words_are_read_whatever_the_line_ends(tmp_path):
    for text in ("a\tb\t1.5\nc\td\t10\n", "a\tb\t1.5\r\nc\td\t10", "\ufeffa\tb\t1.5\n\nc\td\t10\n\n"):
        (tmp_path / "set.txt").write_bytes(text.encode())
        pairs = words(tmp_path / "set.txt").read()
        assert (list(pairs.first), list(pairs.second)) == (["a", "c"], ["b", "d"])
        assert pairs.gold.tolist() == [1.5, 10.0], "no digit is lost with the line end"
        assert len(pairs) == 2
        assert not pairs.subsets


def test_layouts(tmp_path):
    (tmp_path / "set.csv").write_text("Word 1,Word 2,POS,Human\nlove,sex,N,6.77\nsee,look,V,\n")
    task = words(tmp_path / "set.csv", separator=",", header=True, columns=(1, 2, 4), subset_column=3)
    pairs = task.read()
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (["love"], ["sex"], [6.77])
    assert pairs.subsets == ["N"]
    assert pairs.dropped == {NO_GOLD: 1}
    (tmp_path / "set.xz").write_bytes(lzma.compress(b"sun sunlight 5.000000\n"))
    assert words(tmp_path / "set.xz", separator=" ").read().first == ["sun"]


def test_quotes_mean_nothing(tmp_path):
    put(tmp_path, input='"He said\tA "quoted" text"\n"B\tC\n', gs="1\n2\n")
    task = Task("own", "sts", (File(tmp_path / "input", tmp_path / "gs", "part"),), columns=(1, 2))
    pairs = task.read()
    assert pairs.first == ['"He said', '"B']
    assert pairs.second == ['A "quoted" text"', "C"]
    assert pairs.subsets == ["part", "part"]


def test_pairs_without_score_are_dropped_and_counted(tmp_path):
    put(tmp_path, input="a\tb\ts1\ts2\nc\td\ts1\ts2\ne\tf\ts1\ts2\n", gs="\n3.5\n\n")
    pairs = Task("own", "sts", (File(tmp_path / "input", tmp_path / "gs"),), columns=(1, 2)).read()
    assert (pairs.first, pairs.second, pairs.gold.tolist()) == (["c"], ["d"], [3.5])
    assert pairs.dropped == {NO_GOLD: 2}


@pytest.mark.parametrize(
    ("text", "datum"),
    [
        ("a\tb\t1\na\tb\n", ("set.txt:2:", "got 2")),
        ("a b 1\n", ("set.txt:1:", "got 1")),
        ("a\tb\t1\n\na\tb\tx\n", ("set.txt:3:", "'x'")),
        ("a\tb\t10.5\n", ("set.txt:1:", "'10.5'")),
        ("a\tb\tnan\n", ("set.txt:1:", "'nan'")),
        ("a\tb\t1\na\tb\t1_0\n", ("set.txt:2:", "'1_0'")),
        ("a\tb\t0x1\n", ("set.txt:1:", "'0x1'")),
        ("a\tb\t９\n", ("set.txt:1:", "'９'")),
        ("a\t\t1\n", "set.txt:1:"),
    ],
)
def test_a_malformed_line_is_named(tmp_path, text, datum):
    (tmp_path / "set.txt").write_text(text)
    with raises(InputError, code="malformed", says=datum) as error:
        words(tmp_path / "set.txt").read()
    assert "\n" not in str(error.value)


def test_scores_and_texts_must_be_equally_many(tmp_path):
    put(tmp_path, input="a\tb\nc\td\n", gs="1\n")
    task = Task("own", "sts", (File(tmp_path / "input", tmp_path / "gs"),), columns=(1, 2))
    with raises(InputError, code="unequal_lengths", says=("gs:2:", "got 1")):
        task.read()
    put(tmp_path, gs="1\nfive\n")
    with raises(InputError, code="malformed", says=("gs:2:", "'five'")):
        task.read()


def test_an_empty_line_among_texts_moves_no_score(tmp_path):
    put(tmp_path, input="a\tb\n\nc\td\n", gs="1\n2\n")
    with raises(InputError, code="malformed", says="input:2:"):
        Task("own", "sts", (File(tmp_path / "input", tmp_path / "gs"),), columns=(1, 2)).read()


def test_unreadable_files(tmp_path):
    with raises(InputError, code="not_readable", says="none.txt"):
        words(tmp_path / "none.txt").read()
    (tmp_path / "set.txt").write_bytes(b"a\tb\t1\nc\xff\td\t1\n")
    with raises(InputError, code="not_utf8", parameter="encoding", says="set.txt:2:"):
        words(tmp_path / "set.txt").read()


def test_what_differs_from_the_release_is_noted(tmp_path):
    text = "a\tb\t1\n"
    path = put(tmp_path, set=text) / "set"
    right = hashlib.sha256(text.encode()).hexdigest()
    assert Task("own", "wordsim", (File(path, pairs=1, sha256=right),)).read().notes == ()
    notes = Task("own", "wordsim", (File(path, pairs=2, sha256="0" * 64),)).read().notes
    assert len(notes) == 2
    assert "has 1 pairs and 0 without score, the release 2 and 0" in notes[0]
    assert "sha256 " + right[:12] in notes[1]
    notes = Task("own", "wordsim", (File(path, pairs=1, unscored=3),)).read().notes
    assert notes == ("set has 1 pairs and 0 without score, the release 1 and 3",)


def test_pairs_of_ones_own():
    pairs = Pairs("own", "sts", ["a", "b", "c"], ["x", "y", "z"], [1, 2, 3], subsets=["p", "q", "p"])
    assert {name: rows.tolist() for name, rows in pairs.rows_of_subsets().items()} == {"p": [0, 2], "q": [1]}
    with raises(InputError, code="unequal_lengths"):
        Pairs("own", "sts", ["a"], ["x", "y"], [1, 2])
    with raises(InputError, code="unequal_lengths"):
        Pairs("own", "sts", ["a"], ["x"], [1], subsets=["p", "q"])
    with raises(InputError, code="not_finite"):
        Pairs("own", "sts", ["a"], ["x"], [float("nan")])
    with raises(UsageError, code="unknown_choice", parameter="kind", says="'wordsim'"):
        Pairs("own", "wordsin", ["a"], ["x"], [1])


# --- the table ----------------------------------------------------------------------------------


def test_the_table_holds_what_a_task_needs():
    known = load_table()
    assert len(known) >= 23
    for name, layouts in known.items():
        for task in layouts:
            assert task.name == name
            assert task.kind in KINDS
            assert task.title
            assert task.licence
            assert task.citation
            assert task.expected
            assert task.expected == layouts[0].expected
            assert np.isfinite(task.scale).all()
            for file in task.files:
                assert len(file.sha256) == 64
                assert (file.gold is None) == (not file.gold_sha256)


def test_the_page_names_every_task():
    page = (Path(__file__).resolve().parents[2] / "docs" / "evaluate.md").read_text(encoding="utf-8")
    rows = {kind: re.search(rf"^\| `{kind}` \| (.*) \|$", page, re.MULTILINE) for kind in KINDS}
    for kind, row in rows.items():
        assert row
        named = re.findall(r"`([^`]+)`", row[1])
        assert named == [name for name, layouts in load_table().items() if layouts[0].kind == kind]


def test_found_by_file_anywhere(tmp_path):
    put(tmp_path, **{"deep__er__EN-RG-65.txt": "gem\tjewel\t3.94\n", "other.txt": "", ".hidden__EN-MTurk-287.txt": ""})
    found = tasks(tmp_path)
    assert list(found) == ["rg-65"]
    assert found["rg-65"].files[0].path == tmp_path / "deep" / "er" / "EN-RG-65.txt"
    pairs = found["rg-65"].read()
    assert pairs.first == ["gem"]
    assert len(pairs.notes) == 2, "neither the count nor the checksum is the release's"
    assert list(tasks(tmp_path, "wordsim")) == ["rg-65"]
    assert list(tasks(tmp_path, ["rg-65"])) == ["rg-65"]


def test_a_folder_must_end_as_told(tmp_path):
    """OnWN of 2013 and of 2014 have one name."""
    put(tmp_path, **{"STS13__STS.input.OnWN.txt": "a\tb\n", "elsewhere__STS.gs.OnWN.txt": "1\n"})
    with raises(InputError, code="incomplete", parameter="data"):
        tasks(tmp_path)
    put(tmp_path, **{"EN-RG-65.txt": "a\tb\t1\n"})
    assert list(tasks(tmp_path, ["wordsim"])) == ["rg-65"]


def test_what_is_not_there(tmp_path):
    with raises(InputError, code="not_found", parameter="data"):
        tasks(tmp_path / "none")
    with raises(InputError, code="incomplete", parameter="data", says="EN-RG-65.txt"):
        tasks(tmp_path)
    put(tmp_path, **{"EN-RG-65.txt": "a\tb\t1\n"})
    with raises(InputError, code="incomplete", parameter="data", says="EN-RW-STANFORD.txt"):
        tasks(tmp_path, ["rg-65", "rw"])
    with raises(InputError, code="incomplete", parameter="data", says="SICK.txt"):
        tasks(tmp_path, ["wordsim", "sts"])
    with raises(UsageError, code="unknown_choice", parameter="task", says="'rg-65'"):
        tasks(tmp_path, "rg65")


def test_a_table_of_ones_own(tmp_path):
    put(
        tmp_path,
        **{
            "own.toml": '[[task]]\nname = "ours"\nkind = "wordsim"\n[[task.layout]]\nseparator = ";"\n'
            'columns = [2, 3, 1]\nfiles = [{ path = "ours.csv" }]\n',
            "ours.csv": "0.5;cup;mug\n-3;sky;law\n",
        },
    )
    task = tasks(tmp_path, table=tmp_path / "own.toml")["ours"]
    pairs = task.read()
    assert (pairs.first, pairs.gold.tolist(), pairs.notes) == (["cup", "sky"], [0.5, -3.0], ())
    assert task.expected is None


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("[[task", "damaged"),
        ('[task]\nname = "x"\n', "malformed"),
        ("task = [1]\n", "malformed"),
        ('[[task]]\nname = "x"\nkind = "wordsim"\n', "malformed"),
        ('[[task]]\nname = "x"\nkind = "wordsim"\n[[task.layout]]\nfiles = []\n', "malformed"),
        ('[[task]]\nname = "x"\nkind = "words"\n[[task.layout]]\nfiles = [{ path = "x" }]\n', "unknown_choice"),
        ('[[task]]\nname = "x"\nkind = "sts"\ncolour = 1\n[[task.layout]]\nfiles = [{ path = "x" }]\n', "malformed"),
        (
            '[[task]]\nname = "x"\nkind = "sts"\n[[task.layout]]\ncolumns = [1, 2]\nfiles = [{ path = "x" }]\n',
            "malformed",
        ),
        (2 * '[[task]]\nname = "x"\nkind = "sts"\n[[task.layout]]\nfiles = [{ path = "x" }]\n', "twice"),
    ],
)
def test_a_table_that_is_wrong(tmp_path, text, code):
    (tmp_path / "own.toml").write_text(text)
    with raises((InputError, UsageError), code=code):
        load_table(tmp_path / "own.toml")


def test_reached_lazily():
    assert lb.tasks.tasks is tasks
    for name in lb.tasks.__all__:
        assert getattr(lb.tasks, name) is not None
