"""Classification tasks on disk: the table, and every kind of file that it describes."""

from __future__ import annotations

import json
import lzma

import numpy as np
import pytest
from refusals import raises

from limbeck.errors import InputError, UsageError
from limbeck.evaluation.classifying import ClassifySet, Examples, classify_tasks
from limbeck.evaluation.classifying.catalogue import load_table

RTE = "index\tsentence1\tsentence2\tlabel\n"


def put(folder, path, text):
    place = folder / path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text, encoding="utf-8")


def put_rte(folder, train, dev='0\tIt "rains.\tIt is wet.\tentailment\n'):
    put(folder, "RTE/train.tsv", RTE + train)
    put(folder, "RTE/dev.tsv", RTE + dev)


def test_pairs_of_a_table_with_quotes_that_never_close(tmp_path):
    """A reader that minds quotes would swallow the second line."""
    put_rte(tmp_path, '0\t"It rains.\tIt is wet.\tentailment\n1\tHe sings.\t"No.\tnot_entailment\n\n')
    found = classify_tasks(tmp_path)
    assert list(found) == ["rte"]
    data = found["rte"].read()
    assert data.train.texts == (['"It rains.', "He sings."], ["It is wet.", '"No.'])
    assert data.train.labels.tolist() == [1, 0]
    assert (data.reported, len(data.test), data.metric) == ("dev", 1, "accuracy")
    assert data.notes[0].startswith("train.tsv has 1+1 examples of the classes not_entailment, entailment")
    assert "train.tsv is not the known file" in data.notes[1]


def test_single_texts_without_a_header(tmp_path):
    put(tmp_path, "CoLA/train.tsv", "gj04\t1\t\tWe won't.\ngj04\t0\t*\tWe not won't.\n")
    put(tmp_path, "CoLA/dev.tsv", "gj04\t1\t\tHe left.")  # without a line end, as released
    data = classify_tasks(tmp_path, "cola")["cola"].read()
    assert data.train.texts == (["We won't.", "We not won't."],)
    assert data.train.labels.tolist() == [1, 0]
    assert data.test.texts == (["He left."],)
    assert data.metric == "matthews"


def test_a_label_and_the_rest_of_the_line(tmp_path):
    for split, text in (
        ("train", "0 a dull , dull film\n1 fine\n"),
        ("dev", "1 0 stars for others\n"),
        ("test", "0 x\n"),
    ):
        put(tmp_path, f"SST/stsa.binary.{split}", text)
    task = classify_tasks(tmp_path, "classify")["sst-2"]
    data = task.read()
    assert data.train.texts == (["a dull , dull film", "fine"],)
    assert data.test.texts == (["0 stars for others"],)
    assert data.test.labels.tolist() == [1]
    assert task.read("test").test.texts == (["x"],)
    with raises(UsageError, code="unknown_choice", parameter="split"):
        task.read("train")


def test_a_byte_order_mark_and_a_test_set_only(tmp_path):
    head = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    put(tmp_path, "MRPC/msr_paraphrase_train.txt", head + '1\t1\t2\tHe said "so .\tSo he said .\n0\t3\t4\tA\tB\n')
    put(tmp_path, "MRPC/msr_paraphrase_test.txt", head + "0\t5\t6\tC\tD\n")
    data = classify_tasks(tmp_path)["mrpc"].read()
    assert data.train.texts[0] == ['He said "so .', "A"]
    assert data.reported == "test"
    assert data.test.texts == (["C"], ["D"])


def put_wic(folder, places="2-2", gold="T\nF\n"):
    lines = f"board\tN\t{places}\tRoom and board .\tHe nailed boards .\nhook\tV\t0-1\tHook a fish .\tHe hooked it .\n"
    for split in ("train", "dev", "test"):
        put(folder, f"WiC/{split}/{split}.data.txt", lines)
        put(folder, f"WiC/{split}/{split}.gold.txt", gold)


def test_a_word_in_two_texts(tmp_path):
    put_wic(tmp_path)
    data = classify_tasks(tmp_path)["wic"].read()
    assert data.kind == "word"
    assert data.train.places.tolist() == [[2, 2], [0, 1]]
    words = [
        [text.split()[place] for text, place in zip(side, places, strict=True)]
        for side, places in zip(data.train.texts, data.train.places.T, strict=True)
    ]
    assert words == [["board", "Hook"], ["boards", "hooked"]]
    assert data.train.labels.tolist() == [1, 0]


def test_compressed_objects(tmp_path):
    rows = [
        {"question": "is it", "passage": "It -- it is.\tSo", "idx": 0, "label": True},
        {"question": "was it", "passage": "No.", "idx": 1, "label": False},
    ]
    (tmp_path / "BoolQ").mkdir()
    text = "".join(json.dumps(row) + "\n" for row in rows)
    for name in ("train", "val"):
        (tmp_path / f"BoolQ/{name}.jsonl.xz").write_bytes(lzma.compress(text.encode()))
    data = classify_tasks(tmp_path)["boolq"].read()
    assert data.train.texts == (["is it", "was it"], ["It -- it is.\tSo", "No."])
    assert data.train.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("line", "datum"),
    [
        ("0\ta\tb\n", ("RTE/train.tsv:2:", "got 3")),
        ("0\ta\tb\tmaybe\n", ("train.tsv:2:", "'maybe'")),
        ("0\ta\t \tentailment\n", "tsv:2:"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, datum):
    put_rte(tmp_path, line)
    with raises(InputError, code="malformed", says=datum):
        classify_tasks(tmp_path)["rte"].read()


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"places": "2-3"}, None),  # the last word of four
        ({"places": "2-4"}, "malformed"),
        ({"places": "x"}, "malformed"),
        ({"gold": "T\n"}, "unequal_lengths"),
        ({"gold": "T\nY\n"}, "malformed"),
    ],
)
def test_bad_lines_of_words_are_named(tmp_path, changes, code):
    put_wic(tmp_path, **changes)
    task = classify_tasks(tmp_path)["wic"]
    if code is None:
        assert task.read().train.places[0].tolist() == [2, 3]
        return
    with raises(InputError, code=code):
        task.read()


def test_bad_objects_are_named(tmp_path):
    for text in ('{"question": "q"}', "{"):
        put(tmp_path, "BoolQ/train.jsonl.xz", text + "\n")  # plain in spite of its name: told by its first bytes
        put(tmp_path, "BoolQ/val.jsonl.xz", text + "\n")
        with raises(InputError, code="malformed", says="train.jsonl.xz:1: "):
            classify_tasks(tmp_path)["boolq"].read()


def test_files_that_are_not_there(tmp_path):
    with raises(InputError, code="incomplete", parameter="data"):
        classify_tasks(tmp_path)
    with raises(UsageError, code="unknown_choice", parameter="task", says="'rte'"):
        classify_tasks(tmp_path, ["rt"])
    put(tmp_path, "RTE/train.tsv", RTE)
    with raises(InputError, code="incomplete", parameter="data"):
        classify_tasks(tmp_path)
    with raises(InputError, code="incomplete", parameter="data"):
        classify_tasks(tmp_path, "cola")


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (("kind = 'single'", "kind = 'both'"), "unknown_choice"),
        (("texts = [1]", "texts = [1, 2]"), "malformed"),
        (("texts = [1]", "texts = ['a']"), "malformed"),
        (("label = 2", ""), "malformed"),
        (("classes = ['a', 'b']", "classes = ['a']"), "malformed"),
        (("split = 'dev'", "split = 'train'"), "malformed"),
        (("label = 2", "label = 2\nplaces = 3"), "malformed"),
        (("label = 2", "label = 2\nother = 3"), "malformed"),
    ],
)
def test_tables_of_ones_own(tmp_path, change, code):
    text = (
        "[[task]]\nname = 'own'\nkind = 'single'\nclasses = ['a', 'b']\ntexts = [1]\nlabel = 2\n"
        "files = [{ split = 'train', path = 'train' }, { split = 'dev', path = 'dev' }]\n"
    )
    table = tmp_path / "own.toml"
    table.write_text(text, encoding="utf-8")
    put(tmp_path, "train", "one\ta\ntwo\tb\n")
    put(tmp_path, "dev", "three\tb\n")
    data = classify_tasks(tmp_path, table=table)["own"].read()
    assert (data.train.texts, data.test.labels.tolist()) == ((["one", "two"],), [1])
    assert data.notes == ()
    table.write_text(text.replace(*change), encoding="utf-8")
    with raises((InputError, UsageError), code=code):
        load_table(table)


def test_sets_in_memory_are_checked():
    one = Examples((["a", "b"],), np.array([0, 1]))
    with raises(InputError, code="unequal_lengths"):
        Examples((["a"], ["b", "c"]), np.array([0]))
    for changes, code, datum in (
        ({"kind": "pair"}, "malformed", "got 1"),
        ({"kind": "word"}, "malformed", ""),
        ({"classes": ("x",)}, "out_of_range", "got 0"),
        ({"train": Examples(([],), np.array([]))}, "empty", ""),
    ):
        with raises(InputError, code=code, parameter=None, says=datum):
            ClassifySet(
                **{"name": "own", "kind": "single", "classes": ("x", "y"), "train": one, "test": one, **changes}
            )
