"""Which words get a vector, and from where."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
import torch
from refusals import raises

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.distillation.alone import read_words
from limbeck.distillation.card import card
from limbeck.distillation.settings import DistillSettings
from limbeck.distillation.wordlist import choose_words
from limbeck.encoders import HuggingFaceEncoder
from limbeck.errors import InputError, LimbeckError, UsageError
from limbeck.runs.distilling.completing import Completing
from limbeck.runs.distilling.work import EVERYTHING
from limbeck.stream import TextSource, survey
from limbeck.stream.context import RunContext
from limbeck.stream.workers import Workers
from limbeck.vectors.writer import DESCRIPTION

TEXT = [
    "The old alembic stood in the cellar".split(),
    "the river rose and The cellar filled".split(),
    "an Old lamp and an old kettle".split(),
]


def tiny(kind: str = "wordpiece uncased", **settings: Any) -> HuggingFaceEncoder:
    settings = {"layers": "-1", **settings}
    return HuggingFaceEncoder(tiny_models.model("bert"), tiny_models.tokenizer(kind), name="bert", **settings)


def test_the_most_frequent_words_ties_by_spelling():
    made = lb.distill(tiny(), TEXT, min_count=2, case="keep", method="average")
    assert made.words == ["The", "an", "and", "cellar", "old", "the"]
    assert made.counts.tolist() == [2] * 6
    few = lb.distill(tiny(), TEXT, min_count=1, max_words=3, method="average")
    assert few.words == ["the", "old", "an"]
    assert few.counts.tolist() == [4, 3, 2]


def test_case_is_kept_where_the_teacher_sees_it():
    """An uncased teacher's The and the are one word; a cased one's are two, unless asked."""
    cased = tiny("wordpiece cased")
    assert {"The", "the"} <= set(lb.distill(cased, TEXT, min_count=1, method="average").words)
    assert "The" not in lb.distill(tiny(), TEXT, min_count=1, method="average")
    folded = lb.distill(cased, TEXT, min_count=1, case="lower", method="average")
    apart = lb.distill(cased, TEXT, min_count=1, case="keep", method="average")
    # the teacher still reads The: the folded vector is the mean of both spellings' occurrences
    np.testing.assert_allclose(folded["the"], (apart["The"] * 2 + apart["the"] * 2) / 4, rtol=1e-5, atol=1e-6)
    assert not np.allclose(apart["The"], apart["the"], atol=1e-2)


@pytest.mark.parametrize("unseen", ["frame", "pieces", "alone", "drop"])
def test_exactly_the_words_that_are_named(unseen: str):
    words = ["lamp", "barrel crossing", "cellar", "unbelievable"]
    made = lb.distill(tiny(), TEXT, words=words, unseen=unseen, method="average")
    if unseen == "drop":
        assert made.words == ["lamp", "cellar"]
        assert made.record["left_out"] == {"no vector for the word": 2}
        return
    assert made.words == words
    assert made.counts.tolist() == [1, 0, 2, 0]
    assert list(made.origins) == ["corpus", unseen, "corpus", unseen]
    everywhere = lb.distill(tiny(), TEXT, min_count=1, method="average")
    np.testing.assert_array_equal(made["lamp"], everywhere["lamp"])
    if unseen != "pieces":
        method = {"alone": "word"}.get(unseen, unseen)
        alone = lb.distill(tiny(), words=words, method=method)
        for word in ("barrel crossing", "unbelievable"):
            np.testing.assert_array_equal(made[word], alone[word])


def test_pieces_are_read_each_alone():
    made = lb.distill(tiny(), TEXT, words=["unbelievable"], unseen="pieces", method="average")
    tokenizer, model = tiny_models.tokenizer("wordpiece uncased"), tiny_models.model("bert")
    pieces = tokenizer("unbelievable", add_special_tokens=False)["input_ids"]
    assert len(pieces) > 1
    with torch.no_grad():
        rows = [model(torch.tensor([[2, piece, 3]])).last_hidden_state[0, 1] for piece in pieces]
    np.testing.assert_allclose(made["unbelievable"], torch.stack(rows).mean(0).numpy(), rtol=1e-5, atol=1e-5)


def test_named_words_in_any_case_meet_a_folded_text():
    made = lb.distill(tiny(), TEXT, words=["OLD", "old", "Lamp"], method="average")
    assert made.words == ["OLD", "old", "Lamp"]
    assert made.counts.tolist() == [3, 3, 1]
    np.testing.assert_array_equal(made["OLD"], made["old"])


def test_words_beside_those_of_the_text():
    made = lb.distill(tiny(), TEXT, min_count=3, add_words=["barrel", "lamp", "the"], method="average")
    assert made.words == ["the", "old", "barrel", "lamp"]
    assert list(made.origins) == ["corpus", "corpus", "frame", "corpus"]
    assert made.counts.tolist() == [4, 3, 0, 1]


@pytest.mark.parametrize("fold", [False, True])
def test_choosing_among_chosen_words_gives_them_again(fold: bool):
    """What a resumed run relies on: only the chosen words are in its plan."""
    source = TextSource(Corpus.from_sentences(TEXT), tiny())
    whole = survey(source, choice=EVERYTHING)
    for settings in (DistillSettings(min_count=2), DistillSettings(min_count=1, max_words=4)):
        how = {"fold": fold, "also": ("barrel", "Lamp", "an", "river")}
        plan, listed = choose_words(whole, settings, **how)
        again, same = choose_words(plan, settings, **how)
        assert same.words == listed.words
        assert same.rows.tolist() == listed.rows.tolist()
        assert again.vocabulary.words == plan.vocabulary.words
        assert again.vocabulary.counts.tolist() == plan.vocabulary.counts.tolist()
        assert again.vocabulary.ids(["THE", "lamp"]).tolist() == plan.vocabulary.ids(["THE", "lamp"]).tolist()


def test_a_file_of_words(tmp_path: Path):
    file = tmp_path / "words.txt"
    file.write_text("\ufefftea\r\n\n New   York \ntea\n", encoding="utf-8")
    vectors = lb.distill(tiny(), words=file)
    assert vectors.words == ["tea", "New York"]
    assert isinstance(vectors, lb.StaticVectors)
    for content, code in ((b"", "empty"), (b"\xff\xfe", "not_utf8")):
        file.write_bytes(content)
        with raises(InputError, code=code, parameter="words"):
            lb.distill(tiny(), words=file)
    with raises(InputError, code="not_found", parameter="words"):
        lb.distill(tiny(), words=tmp_path / "none.txt")
    with raises(InputError, code="not_found", parameter="words"):
        lb.distill(tiny(), words=tmp_path)
    with raises(InputError, code="empty", parameter="words"):
        lb.distill(tiny(), words="/dev/null")


def test_vectors_for_words_is_one_call():
    usual = lb.distill(tiny(), TEXT, words=["lamp", "barrel"])
    best = lb.distill(tiny(), TEXT, words=["lamp", "barrel"], method="best")
    np.testing.assert_array_equal(usual.matrix, best.matrix)
    with_text = lb.distill(tiny(), TEXT, words=["lamp", "barrel"], method="average")
    without = lb.distill(tiny(), words=["lamp", "barrel"])
    assert not np.allclose(with_text["lamp"], without["lamp"])
    np.testing.assert_allclose(with_text["barrel"], without["barrel"], rtol=1e-5, atol=1e-6)
    with raises(UsageError, code="ambiguous", parameter="method"):
        lb.distill(tiny(layers="1,2"), TEXT, words=["lamp"], method="average")
    with raises(UsageError, code="no_words", parameter="words"):
        lb.distill(tiny(), words=[])


@pytest.mark.filterwarnings("ignore:words without a vector")
def test_words_that_vanish_have_no_vector_and_are_counted():
    made = lb.distill(tiny(), words=["lamp", "\u200b"], method="word")
    assert made.words == ["lamp"]
    assert made.record["left_out"] == {"no vector for the word": 1}
    with raises(LimbeckError, code="no_vectors", parameter="words"):
        lb.distill(tiny(), words=["\u200b"], method=["word"])


STRANGE = ["😀", "🎉 🎉", "x" * 400]  # nothing but [UNK] to the teacher
UNKNOWN = "the teacher's tokenizer knows no piece of the word"


@pytest.mark.filterwarnings("ignore:words without a vector")
@pytest.mark.parametrize("method", ["word", "frame", "frames"])
@pytest.mark.parametrize("kind", ["wordpiece uncased", "unigram"])
def test_words_that_the_tokenizer_cannot_spell_have_no_vector(method: str, kind: str):
    """All of them would have the same. A word with one known piece keeps its own."""
    words = ["lamp", *STRANGE[:2], "lamp 😀"]
    made = lb.distill(tiny(kind), words=words, method=method)
    assert made.words == ["lamp", "lamp 😀"]
    assert made.record["left_out"] == {UNKNOWN: 2}
    assert made.record["left_out_words"] == {UNKNOWN: STRANGE[:2]}


@pytest.mark.filterwarnings("ignore:words without a vector")
@pytest.mark.parametrize("unseen", ["frame", "pieces", "alone"])
@pytest.mark.parametrize("method", ["average", "contexts", "best"])
def test_words_that_nobody_can_spell_need_a_text(unseen: str, method: str):
    """In a text they have what stands around them; without one there is nothing to tell them apart by."""
    text = [*TEXT, ["the", "😀", "lamp"], ["an", "old", "😀"]]
    words = ["lamp", *STRANGE, "barrel"]
    made = lb.distill(tiny(), text, words=words, unseen=unseen, method=method)
    assert made.words[:2] == ["lamp", "😀"]
    assert dict(zip(made.words, made.origins, strict=True))["😀"] == "corpus"
    assert made.record["left_out"][UNKNOWN] == 2
    assert not set(STRANGE[1:]) & set(made.words)
    dropped = lb.distill(tiny(), text, words=words, unseen="drop", method=method)
    assert dropped.record["left_out"] == {"no vector for the word": 3}  # nobody asked the teacher


@pytest.mark.filterwarnings("ignore:words without a vector")
def test_words_that_cannot_be_spelt_are_not_predicted_from(monkeypatch: pytest.MonkeyPatch):
    """Where nothing else is missing, the words that the text has are not read in a frame for their sake."""
    monkeypatch.setattr(Completing, "predicted", lambda *_: pytest.fail("words were read for nothing"))
    made = lb.distill(tiny(), TEXT, words=["lamp", *STRANGE], method="contexts")
    assert made.words == ["lamp"]
    assert made.record["finishing"] == []


@pytest.mark.filterwarnings("ignore:words without a vector")
def test_words_without_a_vector_are_named():
    words = ["lamp", "\u200b", *(chr(0x1F600 + number) for number in range(7)), "x" * 400]
    made = lb.distill(tiny(), words=words, method="word")
    named = f"😀, 😁, 😂, 😃, 😄 and 3 others ({UNKNOWN}); '\\u200b'"
    assert f"\n9 words have no vector: {named}.\n" in card(made, dtype="float32")
    with raises(LimbeckError, code="no_vectors", parameter="words"):
        lb.distill(tiny(), words=["x" * 400])


def test_too_little_text_is_told():
    with raises(LimbeckError, code="no_words", parameter="min_count", says=("50", "15")):
        lb.distill(tiny(), TEXT, min_count=50)


def test_kept_vectors_have_no_teacher_to_ask(tmp_path: Path):
    lb.encode(tiny(), TEXT, out=tmp_path / "kept", keep="float32")
    whole = lb.distill(tiny(), TEXT, min_count=2, method="average")
    kept = lb.distill(vectors=tmp_path / "kept", min_count=2)
    assert kept.words == whole.words
    np.testing.assert_allclose(kept.matrix, whole.matrix, rtol=1e-6)
    some = lb.distill(vectors=tmp_path / "kept", words=["lamp", "barrel"], unseen="drop")
    assert some.words == ["lamp"]


def test_what_kept_vectors_cannot_give_is_refused_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    lb.encode(tiny(), TEXT, out=tmp_path / "kept", keep="float32")
    kept: dict[str, Any] = {"vectors": tmp_path / "kept", "out": tmp_path / "v", "min_count": 1}
    monkeypatch.setattr("limbeck.runs.distilling.work.run_pass", _never)
    for methods in (["average"], ["average", "x2static"]):
        with raises(UsageError, code="no_teacher", parameter="unseen", says="'zebra'") as told:
            lb.distill(**kept, words=["lamp", "zebra"], method=methods)
        assert not hasattr(told.value, "__notes__")  # there is nothing to go on from
    monkeypatch.setattr("limbeck.runs.distilling.work.survey", _never)
    for methods, how in (("word", {}), ("best", {}), ("x2static", {"start": "frame"})):
        with raises(UsageError, code="no_teacher", parameter="method", says=methods):
            lb.distill(**kept, method=methods, **how)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def _never(*_: Any, **__: Any) -> None:
    raise AssertionError("too late")


def test_shares_of_no_text_are_refused_before_words_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(HuggingFaceEncoder, "forward", _never)
    with pytest.raises(UsageError) as caught:
        lb.distill(tiny(), words=["lamp"], method="frame", weighting="sif")
    assert (caught.value.code, caught.value.parameter) == ("no_counts", "weighting")


def test_kept_vectors_know_whether_their_teacher_tells_case(tmp_path: Path):
    cased = tiny("wordpiece cased")
    for name, encoder, folded in (("uncased", tiny(), True), ("cased", cased, False)):
        lb.encode(encoder, TEXT, out=tmp_path / name, keep="float32")
        made = lb.distill(vectors=tmp_path / name, min_count=2)
        assert ("The" not in made) == folded
        assert made.record["notes"] == []
    about = json.loads((tmp_path / "uncased" / DESCRIPTION).read_text())
    del about["about"]["tells_case"]  # of vectors that were kept before, or by others
    (tmp_path / "uncased" / DESCRIPTION).write_text(json.dumps(about))
    made = lb.distill(vectors=tmp_path / "uncased", min_count=2)
    assert "The" in made
    (note,) = made.record["notes"]
    assert "--case lower" in note
    assert lb.distill(vectors=tmp_path / "uncased", min_count=2, case="lower").record["notes"] == []


@pytest.mark.parametrize("how", [{}, {"special_mean": True}, {"special_input": False}])
def test_words_made_ready_by_other_processes_are_the_same(
    how: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processes: Workers
):
    words = ["river", "old cellar", "Kettle", "an alembic", "lamp", "the", "rose"]
    whole = read_words(tiny(), words, templates=("a {}.", "{}"), **how)
    monkeypatch.setattr("limbeck.distillation.alone.CHUNK", 3)
    context = RunContext(processes, checkpoint=tmp_path)
    apart = read_words(tiny(), words, context, templates=("a {}.", "{}"), **how)
    np.testing.assert_allclose(apart[0].matrix, whole[0].matrix, rtol=1e-5, atol=1e-6)
    assert apart[0].found.tolist() == whole[0].found.tolist()
    next(tmp_path.iterdir()).unlink()  # one of six parts is not known any more, the others are not read again
    read: list[int] = []
    encoder = tiny()
    plain = encoder.forward
    monkeypatch.setattr(encoder, "forward", lambda batch: read.append(len(batch)) or plain(batch))
    again = read_words(encoder, words, context, templates=("a {}.", "{}"), **how)
    assert len(read) == 1
    np.testing.assert_array_equal(again[0].matrix, apart[0].matrix)


@pytest.fixture(scope="module")
def processes() -> Iterator[Workers]:
    with Workers(1) as workers:
        yield workers


def test_words_without_a_vector_are_told_to_those_who_ask_for_words():
    with pytest.warns(UserWarning, match="^words without a vector: 😀 .the teacher's tokenizer knows no piece"):
        vectors = lb.distill(tiny(), words=["river", "😀"])
    assert vectors.words == ["river"]
