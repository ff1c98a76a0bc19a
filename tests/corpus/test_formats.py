"""Each format: what is a document, a paragraph, a sentence, a label."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from refusals import raises

from limbeck.corpus import Corpus, Text
from limbeck.corpus.formats import by_look
from limbeck.corpus.settings import CorpusSettings
from limbeck.errors import InputError, UsageError


def corpus(tmp_path: Path, text: str, name: str = "text.txt", **settings: object) -> Corpus:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return Corpus(path, **settings)  # type: ignore[arg-type]


def places(found: Corpus) -> list[tuple[int, int, int, str]]:
    return [(s.document, s.paragraph, s.index, " ".join(s.words)) for s in found]


def test_words(tmp_path: Path) -> None:
    text = "a b\n\n\nc  d\ne\n" + "x y\n" * 1_000
    found = corpus(tmp_path, text, format="words")
    all_places = places(found)
    assert all_places[:3] == [(0, 0, 0, "a b"), (0, 1, 1, "c d"), (0, 1, 2, "e")]
    assert {document for document, *_ in all_places} == {0, 1}
    assert [len(raw.lines) for raw in found.documents()] == [1_000, 5]
    assert [raw.line for raw in found.documents()] == [1, 1_001]


def test_prose_lines(tmp_path: Path) -> None:
    found = corpus(tmp_path, "\nOne. Two.\nThree.\n\n \nFour.\r\n")
    assert found.format == "prose"
    assert places(found) == [(0, 0, 0, "One ."), (0, 0, 1, "Two ."), (0, 1, 2, "Three ."), (1, 0, 0, "Four .")]
    assert [raw.line for raw in found.documents()] == [2, 6]


def test_prose_blocks(tmp_path: Path) -> None:
    found = corpus(tmp_path, "One is\nlong. Two.\n\nThree.\n\n\n\nFour.\n", paragraphs="blocks")
    assert places(found) == [
        (0, 0, 0, "One is long ."),
        (0, 0, 1, "Two ."),
        (0, 1, 2, "Three ."),
        (1, 0, 0, "Four ."),
    ]


@pytest.mark.parametrize("paragraphs", ["lines", "blocks"])
def test_prose_without_empty_lines_has_documents(tmp_path: Path, paragraphs: str) -> None:
    found = corpus(tmp_path, "A line.\n" * 10_000, paragraphs=paragraphs)
    sizes = [len(raw.lines) for raw in found.documents()]
    assert len(sizes) >= 5
    assert sum(sizes) == 10_000
    assert max(sizes) <= 2_000


def test_huge_single_line(tmp_path: Path) -> None:
    found = corpus(tmp_path, "word " * 2_000_000)
    raws = list(found.documents())
    assert len(raws) > 1
    assert max(len(line) for raw in raws for line in raw.lines) <= 1_000_000
    assert sum(len(line.split()) for raw in raws for line in raw.lines) == 2_000_000
    assert {word for raw in raws for line in raw.lines for word in line.split()} == {"word"}


def test_table_by_number_and_name(tmp_path: Path) -> None:
    text = 'id\tfirst\tsecond\r\n1\tIt is "so. Yes\tb c\r\n\r\n2\t"d\t\r\n'
    by_name = corpus(tmp_path, text, "t.tsv", columns=("second", "first"))
    assert places(by_name) == [(0, 0, 0, "b c"), (0, 1, 1, 'It is " so . Yes'), (1, 1, 0, '" d')]
    assert [raw.line for raw in by_name.documents()] == [2, 4]
    by_number = corpus(tmp_path, text, "t.txt", columns=(2,))
    assert places(by_number)[0] == (0, 0, 0, "first")
    prose = corpus(tmp_path, text, "t.tsv", columns=("first",), cells="prose")
    assert [place[3] for place in places(prose)] == ['It is " so .', "Yes", '" d']


def test_table_errors(tmp_path: Path) -> None:
    text = "a\tb\nc\n"
    with raises(InputError, code="malformed", parameter="columns", says=("t.tsv:2:", "got 1")):
        list(corpus(tmp_path, text, "t.tsv", columns=(1, 2)))
    with raises(UsageError, code="incomplete", parameter="columns", says="'sentence_A'"):
        list(corpus(tmp_path, "sentence_A\tb\nx\ty\n", "t.tsv", columns=("sentence_a",)))
    with raises(UsageError, code="required", parameter="columns"):
        list(corpus(tmp_path, text, "t.tsv"))
    with raises(UsageError, code="out_of_range", parameter="columns"):
        list(corpus(tmp_path, text, "t.tsv", columns=(0,)))
    with raises(InputError, code="other_kind"):
        corpus(tmp_path, "a,b\n", "t.csv")


def test_json_lines(tmp_path: Path) -> None:
    items = [
        {"words": ["do", "n't"], "labels": {"1": {"pos": "RB"}}, "glued": [0], "document": "x", "paragraph": 1},
        {"words": ["c"], "document": "x", "paragraph": 2},
        {"words": ["d"], "document": "y"},
        {"words": ["e"]},
        {"words": ["f"]},
        {"text": "One. Two.\nThree."},
        {"text": "Four."},
    ]
    found = corpus(tmp_path, "\n".join(map(json.dumps, items)) + "\n", "t.jsonl")
    assert places(found) == [
        (0, 0, 0, "do n't"),
        (0, 1, 1, "c"),
        (1, 0, 0, "d"),
        (2, 0, 0, "e"),
        (2, 0, 1, "f"),
        (3, 0, 0, "One ."),
        (3, 0, 1, "Two ."),
        (3, 1, 2, "Three ."),
        (4, 0, 0, "Four ."),
    ]
    first = next(iter(found))
    assert first.labels == {1: {"pos": "RB"}}
    assert Text((first,)).layout()[0] == "don't"


@pytest.mark.parametrize(
    ("line", "datum"),
    [
        ("{broken", "t.jsonl:2:"),
        ("[1]", "t.jsonl:2:"),
        ('{"other": 1}', "'other'"),
        ('{"words": "abc"}', "t.jsonl:2:"),
        ('{"words": ["a", ""]}', "t.jsonl:2:"),
        ('{"words": ["a"], "labels": {"1": {"x": "y"}}}', "got 1"),
        ('{"words": ["a"], "labels": [1, 2]}', "t.jsonl:2:"),
    ],
)
def test_broken_json_lines(tmp_path: Path, line: str, datum: str) -> None:
    with raises(InputError, code="malformed", parameter=None, says=datum):
        list(corpus(tmp_path, '{"words": ["fine"]}\n' + line + "\n", "t.jsonl"))


TAGGED = [
    {"id": "0", "tokens": ["EU", "rejects", "it"], "ner_tags": [3, 0, None], "pos_tags": ["NNP", "VBZ", "PRP"]},
    {"id": "1", "tokens": ["No", "call"], "ner_tags": [0, 0], "pos_tags": ["DT", "NN"]},
]


def test_tokens_with_lists_of_labels(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in TAGGED))
    first, second = Corpus(file)
    assert (first.words, second.words) == (("EU", "rejects", "it"), ("No", "call"))
    assert first.document == second.document  # as lists of words are put together
    assert first.labels == {
        0: {"ner_tags": "3", "pos_tags": "NNP"}, 1: {"ner_tags": "0", "pos_tags": "VBZ"}, 2: {"pos_tags": "PRP"}
    }  # fmt: skip
    assert second.labels == {0: {"ner_tags": "0", "pos_tags": "DT"}, 1: {"ner_tags": "0", "pos_tags": "NN"}}
    assert [s.labels for s in Corpus.from_texts(TAGGED)] == [first.labels, second.labels]


@pytest.mark.parametrize(
    ("row", "datum"),
    [
        ({"tokens": ["No", "call"], "ner_tags": [0]}, '"ner_tags"'),
        ({"tokens": ["No"], "pos_tags": ["a", "b"]}, '"pos_tags"'),
        ({"tokens": None}, '"tokens"'),
        ({"text": 3}, '"text"'),
    ],
)
def test_labels_and_words_that_do_not_fit_are_refused_by_line(tmp_path: Path, row: dict[str, Any], datum: str) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text(json.dumps(TAGGED[0]) + "\n" + json.dumps(row) + "\n")
    with raises(InputError, code="malformed", says=("t.jsonl:2:", datum)):
        list(Corpus(file))


@pytest.mark.parametrize("format", ["words", "prose", "conllu", "semcor", "wikipse"])
def test_columns_of_what_has_none_to_choose_from(format: str, tmp_path: Path) -> None:
    file = tmp_path / "t.txt"
    file.write_text("a b\n")
    with raises(UsageError, code="no_effect", parameter="columns"):
        Corpus(file, format=format, columns="text")
    with raises(UsageError, code="no_effect", parameter="columns"):
        CorpusSettings(format=format, columns=("text",))  # type: ignore[arg-type]


def test_json_lines_of_named_columns(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    rows = [{"title": "A bank.", "body": ["It", "lends"], "text": "not read"}, {"title": None, "body": ["So", "what"]}]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = list(Corpus(file, columns=["title", "body"]))
    assert [s.words for s in found] == [("A", "bank", "."), ("It", "lends"), ("So", "what")]
    assert found[0].paragraph < found[1].paragraph
    assert [s.words for s in Corpus(file, columns="body")] == [("It", "lends"), ("So", "what")]
    with raises(InputError, code="malformed", parameter="columns", says="'missing'"):
        list(Corpus(file, columns="missing"))


def test_parquet_of_tokens_names_the_classes_of_its_labels(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    names = ["O", "B-PER", "I-PER", "B-ORG"]
    for kind in ({"feature": {"names": names, "_type": "ClassLabel"}, "_type": "Sequence"}, [{"names": names}]):
        told = json.dumps({"info": {"features": {"ner_tags": kind}}})
        table = pa.table({name: [row[name] for row in TAGGED] for name in TAGGED[0]})
        pq.write_table(table.replace_schema_metadata({"huggingface": told}), tmp_path / "t.parquet")
        first, second = Corpus(tmp_path / "t.parquet")
        assert first.words == ("EU", "rejects", "it")
        assert first.labels[0] == {"ner_tags": "B-ORG", "pos_tags": "NNP"}
        assert second.labels == {0: {"ner_tags": "O", "pos_tags": "DT"}, 1: {"ner_tags": "O", "pos_tags": "NN"}}
    pq.write_table(table.drop_columns("ner_tags"), tmp_path / "t.parquet")
    assert next(iter(Corpus(tmp_path / "t.parquet"))).labels[0] == {"pos_tags": "NNP"}


def test_parquet(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data"  # without a name that says so
    texts = [f"Text {i}. More." for i in range(1_000)] + [None, " "]
    words = [["a", "b"]] * 1_002
    pq.write_table(pa.table({"id": list(range(1_002)), "text": texts, "words": words}), path, row_group_size=300)
    found = Corpus(path)
    assert found.format == "parquet"
    assert places(found)[2:4] == [(1, 0, 0, "Text 1 ."), (1, 0, 1, "More .")]
    assert len(list(found.documents())) == 1_000
    listed = Corpus(path, columns=["words"])
    assert [len(raw.lines) for raw in listed.documents()] == [1_000, 2]
    assert sum(len(s.words) for s in listed) == 2_004
    with raises(UsageError, code="incomplete", parameter="columns"):
        list(Corpus(path, columns=["id"]))
    path.write_bytes(path.read_bytes()[:500])
    with raises(InputError, code="damaged"):
        list(Corpus(path))


CONLLU = """\
# newdoc id = a
# newpar
1-2\tdon't\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No
1\tdo\tdo\tAUX\tVBP\tMood=Ind\t0\troot\t_\t_
2\tn't\tnot\tPART\tRB\t_\t1\tadvmod\t_\t_
2.1\tgo\tgo\tVERB\tVB\t_\t_\t_\t1:x\t_
3\t!\t!\tPUNCT\t.\t_\t1\tpunct\t_\t_

# newpar
1-2\tim\t_\t_\t_\t_\t_\t_\t_\t_
1\tin\tin\tADP\t_\t_\t3\tcase\t_\t_
2\tdem\tder\tDET\t_\t_\t3\tdet\t_\t_
3\tHaus\tHaus\tNOUN\t_\t_\t0\troot\t_\tSpaceAfter=No

# newdoc id = b
1\tEnd\tend\tNOUN\tNN\t_\t0\troot\t_\t_
"""


def test_conllu(tmp_path: Path) -> None:
    found = corpus(tmp_path, CONLLU)
    assert found.format == "conllu"
    assert places(found) == [(0, 0, 0, "do n't !"), (0, 1, 1, "in dem Haus"), (1, 0, 0, "End")]
    first, second, _ = found
    assert Text((first, second)).layout()[0] == "don't! in dem Haus"
    assert first.labels[0] == {"lemma": "do", "upos": "AUX", "xpos": "VBP", "feats": "Mood=Ind", "deprel": "root"}
    assert "feats" not in first.labels[1]
    with raises(InputError, code="malformed", says=("bad.conllu:2:", "10", "got 2")):
        list(corpus(tmp_path, "# x\n1\tword\n", "bad.conllu"))


SEMCOR = """\
<contextfile concordance=brown>
<context filename=br-a01 paras=yes>
<p pnum=1>
<s snum=1>
<wf cmd=done pos=VB lemma=take_place wnsn=1;2 lexsn=2:30:00::;2:30:01::>took_place</wf>
<wf cmd=done pos=NN lemma=thing wnsn=0 lexsn=1:03:00::>thing</wf>
<punc>.</punc>
</s>
</p>
<p pnum=2>
<s snum=2>
<wf cmd=ignore pos=DT>The</wf>
</s>
</p>
</context>
</contextfile>
"""


def test_semcor(tmp_path: Path) -> None:
    found = corpus(tmp_path, SEMCOR, "br-a01")
    assert found.format == "semcor"
    first, second = found
    assert first.words == ("took", "place", "thing", ".")
    assert first.labels[0] == {
        "pos": "VB",
        "lemma": "take_place",
        "wnsn": "1",
        "lexsn": "2:30:00::",
        "sense": "take_place%2:30:00::",
        "lexfile": "30",
        "span": "2",
    }
    assert first.labels[2] == {"pos": "NN", "lemma": "thing"}
    assert (second.paragraph, second.index) == (1, 1)
    with raises(InputError, code="malformed", parameter="format", says="br-a02:1:"):
        list(corpus(tmp_path, "<wf broken\n", "br-a02", format="semcor"))


def test_wikipse(tmp_path: Path) -> None:
    found = corpus(tmp_path, "in @new_york@-location and @apple@ .\nme@home @ x @u.s.@-people-ethnicity\n")
    assert found.format == "wikipse"
    first, second = found
    assert first.words == ("in", "new", "york", "and", "apple", ".")
    assert first.labels == {1: {"class": "location", "span": "2"}}
    assert second.words == ("me@home", "@", "x", "u.s.")
    assert second.labels == {3: {"class": "people-ethnicity"}}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Plain prose.", "prose"),
        ('{"text": "x"}', "jsonl"),
        ("<contextfile concordance=brown>", "semcor"),
        ("{ braces }", "prose"),
        ("", "prose"),
        ("mail me@home.com or a@b.c today, said the man at the end of the line", "prose"),
    ],
)
def test_by_look(text: str, expected: str) -> None:
    assert by_look(text) == expected
