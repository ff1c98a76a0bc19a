"""Labelled words out of every kind of data."""

from __future__ import annotations

import json
import re
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from refusals import raises

from limbeck.corpus import Corpus
from limbeck.errors import InputError
from limbeck.probing.labelled import LEXICOGRAPHER_FILES, read_labelled
from limbeck.probing.settings import LabelSettings

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tagging"

SEMCOR = """<contextfile concordance=brown>
<context filename=br-a01 paras=yes>
<p pnum=1>
<s snum=1>
<wf cmd=done pos=NN lemma=friday wnsn=1 lexsn=1:28:00::>Fridays</wf>
<wf cmd=done pos=VB lemma=take_place wnsn=1 lexsn=2:30:00::>took_place</wf>
<wf cmd=done pos=NN lemma=odd wnsn=0 lexsn=1:28:00::>odd</wf>
<punc>.</punc>
</s>
</p>
</context>
</contextfile>
"""
CONLLU = "1\tTea\ttea\tNOUN\tNN\t_\t0\troot\t_\t_\n2\tcools\tcool\tVERB\tVBZ\t_\t1\tx\t_\t_\n\n"
PSE = "the @new_york@-location times praised @apple@-food and @apple@-organization .\n"


def read(path: Path, text: str, **options):
    path.write_text(text)
    found = read_labelled(Corpus(path, format=options.pop("format", "auto")), LabelSettings(min_words=1, **options))
    rows = zip(found.word.tolist(), found.kind.tolist(), found.span.tolist(), strict=True)
    return found, [(found.words[word], found.classes[kind], span) for word, kind, span in rows]


def test_semcor(tmp_path: Path):
    found, rows = read(tmp_path / "br-a01", SEMCOR, format="semcor")
    assert rows == [("friday", "noun.time", 1), ("take_place", "verb.change", 2)]
    assert found.text_of(1) == "Fridays [took place] odd ."
    _, rows = read(tmp_path / "br-a01", SEMCOR, format="semcor", words_by="form", classes=("verb.*",))
    assert rows == [("took_place", "verb.change", 2)]


def test_conllu_columns(tmp_path: Path):
    _, rows = read(tmp_path / "x.conllu", CONLLU)
    assert rows == [("tea", "NOUN", 1), ("cool", "VERB", 1)]
    _, rows = read(tmp_path / "x.conllu", CONLLU, label="xpos")
    assert [kind for _, kind, _ in rows] == ["NN", "VBZ"]
    with raises(InputError, code="no_labels", parameter="label"):
        read(tmp_path / "x.conllu", CONLLU, label="ner")


def test_wiki_pse(tmp_path: Path):
    found, rows = read(tmp_path / "corpus.txt", PSE, format="wikipse")
    assert rows == [("new_york", "location", 2), ("apple", "food", 1), ("apple", "organization", 1)]
    assert len(set(found.combination.tolist())) == 3


def test_json_with_one_label_a_line(tmp_path: Path):
    lines = [
        {"words": ["an", "apple"], "index": 1, "label": "food", "lemma": "apple", "split": "train"},
        {"words": ["New", "York", "!"], "index": 0, "label": "place", "lemma": "new_york", "span": 2, "split": "test"},
    ]
    found, rows = read(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)))
    assert rows == [("apple", "food", 1), ("new_york", "place", 2)]
    assert found.given == ["train", "test"]
    with raises(InputError, code="malformed", says=('"label"', '"index"')):
        read(tmp_path / "x.jsonl", json.dumps({"words": ["a"], "label": "b"}))


def test_a_word_without_a_lemma_takes_its_form_and_no_other_does(tmp_path: Path):
    """As in UD-EWT, where one word in a thousand has none: all others stay together by lemma."""
    more = "1\tCooled\tcool\tVERB\tVBD\t_\t0\troot\t_\t_\n2\tOFF\t_\tADP\tRP\t_\t1\tx\t_\t_\n\n"
    found, rows = read(tmp_path / "x.conllu", CONLLU + more)
    assert [word for word, _, _ in rows] == ["tea", "cool", "cool", "off"]
    assert found.words_by == "lemma; 1 of 4 labelled words have none, and count by form"
    assert read(tmp_path / "x.conllu", CONLLU + more, words_by="lemma")[0].words_by == found.words_by
    by_form, rows = read(tmp_path / "x.conllu", CONLLU + more, words_by="form")
    assert [word for word, _, _ in rows] == ["tea", "cools", "cooled", "off"]
    assert by_form.words_by == "form"
    assert read(tmp_path / "x.conllu", CONLLU)[0].words_by == "lemma"
    assert read(tmp_path / "corpus.txt", PSE, format="wikipse")[0].words_by == "form"


def test_null_is_no_label(tmp_path: Path):
    lines = [
        {"words": ["an", "Apple"], "index": 1, "label": "food", "lemma": None, "span": None, "split": None},
        {"words": ["an", "oak"], "index": 1, "label": None, "lemma": "oak"},
        {"words": ["a", "day", "off"], "labels": {"1": {"class": "time", "lemma": None}, "2": {"class": None}}},
    ]
    found, rows = read(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)))
    assert rows == [("apple", "food", 1), ("day", "time", 1)]
    assert found.given is None
    assert found.words_by == "form"


@pytest.mark.parametrize(
    "wrong",
    [{"label": ""}, {"label": " "}, {"label": ["a", "b"]}, {"label": {"a": 1}}, {"lemma": ""}, {"lemma": ["x"]},
     {"index": 1.5}, {"index": True}, {"index": None}, {"span": 1.5}, {"label": None, "labels": {"1": {"class": []}}}],
)  # fmt: skip
def test_labels_that_are_none_are_refused_with_their_line(tmp_path: Path, wrong: dict[str, object]):
    fine = {"words": ["an", "apple"], "index": 1, "label": "food"}
    with raises(InputError, code="malformed", says="x.jsonl:2:"):
        read(tmp_path / "x.jsonl", "\n".join(map(json.dumps, [fine, fine | wrong])))


def test_labels_and_places_may_be_numbers(tmp_path: Path):
    lines = [{"words": ["an", "apple"], "index": place, "label": 3} for place in (1, 1.0, "1")]
    assert read(tmp_path / "x.jsonl", "\n".join(map(json.dumps, lines)))[1] == [("apple", "3", 1)] * 3


@pytest.mark.parametrize("wrong", ["x", "-1", "45", "1.5"])
def test_a_lexicographer_file_that_is_none_is_refused(tmp_path: Path, wrong: str):
    line = {"words": ["the", "day"], "labels": {"1": {"lexfile": wrong}}}
    with raises(InputError, code="malformed", says=f"'{wrong}'"):
        read(tmp_path / "x.jsonl", json.dumps(line), label="supersense")


def test_text_without_labels_is_told(tmp_path: Path):
    with raises(InputError, code="no_labels", parameter="label"):
        read(tmp_path / "x.txt", "Tea cools.\n")


def many(tmp_path: Path, *, count: int) -> Corpus:
    lines = [
        {"words": [f"x{n}", "tea", "day"], "labels": {"1": {"class": "food"}, "2": {"class": f"c{n % 2}"}}}
        for n in range(count)
    ]
    path = tmp_path / "many.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return Corpus(path)


def test_contexts_of_a_combination_are_capped_by_hash(tmp_path: Path):
    corpus = many(tmp_path, count=50)
    found = read_labelled(corpus, LabelSettings(min_words=1, max_contexts=7))
    assert Counter(found.combination.tolist()) == {0: 7, 1: 7, 2: 7}
    assert found.left_out == {"beyond the contexts of a combination": 100 - 21}

    def texts(labelled):
        return {labelled.text_of(row) for row in range(len(labelled))}

    assert texts(found) == texts(read_labelled(corpus, LabelSettings(min_words=1, max_contexts=7)))
    assert texts(found) < texts(read_labelled(corpus, LabelSettings(min_words=1, max_contexts=9)))
    assert texts(found) != texts(read_labelled(corpus, LabelSettings(min_words=1, max_contexts=7, seed=1)))
    assert len(found.sentences) == len(set(found.sentence.tolist()))


def test_small_and_unwanted_classes_are_left_out_and_counted(tmp_path: Path):
    corpus = many(tmp_path, count=4)
    with raises(InputError, code="too_few", parameter="min_words"):
        read_labelled(corpus, LabelSettings(min_words=2))
    found = read_labelled(corpus, LabelSettings(min_words=1, classes=("foo*",)))
    assert found.classes == ("food",)
    assert found.left_out == {"of a class that is not asked for": 4}
    with raises(InputError, code="unknown_choice", parameter="classes"):
        read_labelled(corpus, LabelSettings(min_words=1, classes=("x",)))
    with raises(InputError, code="no_labels", parameter="words_by"):
        read_labelled(corpus, LabelSettings(min_words=1, words_by="lemma"))


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
def test_names_of_lexicographer_files_are_wordnets():
    lines = (SHARED / "lexnames").read_text().splitlines()
    assert [line.split("\t")[1].strip() for line in lines] == list(LEXICOGRAPHER_FILES)


@pytest.mark.data
@pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there")
def test_semcors_words_are_all_there():
    """Every tagged word of a part whose first sense is in WordNet, counted in the bare file."""
    archive = SHARED / "semcor3.0.tar.xz"
    with tarfile.open(archive) as opened:
        files = [one for one in opened if "/brown1/tagfiles/br-" in one.name]
        raw = b"".join(stream.read() for one in files if (stream := opened.extractfile(one))).decode("ascii")
    expected = len(re.findall(r"<wf [^>]*\bwnsn=[1-9]\d*[; ][^>]*\blexsn=", raw))
    found = read_labelled(Corpus(archive / "brown1"), LabelSettings(min_words=1, max_contexts=10**9))
    assert len(found) == expected
    assert np.unique(found.kind).size == 45
