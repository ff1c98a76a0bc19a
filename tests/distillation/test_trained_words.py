"""Methods that train follow the text's own words: a list of words decides what is shown, not what is trained."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import as_jsonl, sentences
from refusals import raises

import limbeck as lb
from limbeck.cli import main
from limbeck.distillation import METHODS, DistilledVectors
from limbeck.encoders import HuggingFaceEncoder
from limbeck.errors import InputError, Interrupted, LimbeckError

LISTED = ["owl", "river", "the"]
TRAIN: dict[str, Any] = {"x2static": {"subsample": 0}, "sent2vec": {"dim": 4, "epochs": 1, "subsample": 0}}


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("text") / "text.jsonl"
    path.write_text(as_jsonl(sentences(120, documents=8)), encoding="utf-8")
    return path


def teacher() -> HuggingFaceEncoder:
    kind = tiny_models.tokenizer("wordpiece uncased")
    return HuggingFaceEncoder(tiny_models.model("bert"), kind, name="bert", layers="-1")


def distilled(text: Path, methods: str, **how: Any) -> Mapping[str, DistilledVectors]:
    train = {name: values for name, values in TRAIN.items() if name in methods.split(",")}
    return lb.distill(teacher(), text, method=methods.split(","), **{"min_count": 2, "set": train, **how})


@pytest.mark.parametrize("method", [name for name in METHODS if METHODS[name].train is not None])
def test_a_list_shows_the_vectors_of_the_whole(text: Path, method: str):
    if METHODS[method].start == "none":
        pytest.importorskip("gensim")
    whole = distilled(text, method)[method]
    want = whole.vectors(LISTED)
    for words in (LISTED, [*LISTED, "zebra"]):
        made = distilled(text, method, words=words)[method]
        np.testing.assert_array_equal(made.vectors(LISTED), want)
        assert made.record["training"]["words"] == len(whole)


@pytest.mark.parametrize("words", [LISTED, [*LISTED, "zebra"]])
def test_what_is_asked_for_beside_changes_nothing(text: Path, words: list[str]):
    """Neither what is trained, nor what is compared: best has the company of words that occur once, x2static not."""
    how: dict[str, Any] = {"words": words, "min_count": 20}
    both = distilled(text, "x2static,best", **how)
    for name, made in both.items():
        alone = distilled(text, name, **how)[name]
        np.testing.assert_array_equal(made.matrix, alone.matrix)
    whole = distilled(text, "x2static", min_count=20, add_words=LISTED)["x2static"]
    np.testing.assert_array_equal(both["x2static"].vectors(LISTED), whole.vectors(LISTED))
    without = distilled(text, "x2static,best", min_count=20, add_words=LISTED)["x2static"]
    np.testing.assert_array_equal(without.matrix, whole.matrix)


@pytest.mark.parametrize("start", ["frame", "average", "best"])
def test_what_a_training_begins_from_is_made_of_all_that_is_trained(text: Path, start: str):
    whole = distilled(text, "x2static", start=start)["x2static"]
    made = distilled(text, "x2static,frames", start=start, words=LISTED)["x2static"]
    np.testing.assert_array_equal(made.matrix, whole.vectors(LISTED))


def test_a_rare_word_of_the_list_is_trained_beside_the_frequent(text: Path):
    average = distilled(text, "average", min_count=1)["average"]
    rare, least = average.words[-1], int(average.counts[-1])
    made = distilled(text, "x2static", words=[rare], min_count=least + 1)["x2static"]
    assert made.record["training"]["words"] == int((average.counts > least).sum()) + 1
    few = distilled(text, "x2static", words=[rare], min_count=1, max_words=3)["x2static"]
    assert few.record["training"]["words"] == 4


def test_a_stopped_run_with_a_list_goes_on_to_the_same_vectors(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    how: dict[str, Any] = {"words": [*LISTED, "zebra"], "min_count": 20, "start": "best"}
    want = distilled(text, "x2static,regression", **how)
    with monkeypatch.context() as stopping:
        stopping.setattr("limbeck.runs.distilling.work.Distillation.finished", _stopped)
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            distilled(text, "x2static,regression", **how, out=tmp_path / "v")
    made = distilled(text, "x2static,regression", **how, out=tmp_path / "v", existing="resume")
    for name, one in made.items():
        np.testing.assert_array_equal(one.matrix, want[name].matrix)


def test_a_plan_without_the_words_to_train_is_not_gone_on_with(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with monkeypatch.context() as stopping:
        stopping.setattr("limbeck.runs.distilling.work.Distillation.finished", _stopped)
        with pytest.raises((KeyboardInterrupt, Interrupted)):
            distilled(text, "average", words=LISTED, out=tmp_path / "v")
    with raises(InputError, code="other_run", parameter="existing"):
        distilled(text, "average,sent2vec", words=LISTED, out=tmp_path / "v", existing="resume")


def _stopped(*_: Any, **__: Any) -> None:
    raise KeyboardInterrupt


def test_the_plan_says_how_many_words_are_trained(text: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    model = tiny_models.save_bert(tmp_path / "tiny")
    words = tmp_path / "words.txt"

    def said(method: str, *listed: str) -> str:
        words.write_text("\n".join(listed), encoding="utf-8")
        given = ("--model", model, "--corpus", text, "--words", words, "--method", method, "--min-count", 20)
        assert main(["distill", *map(str, given), "--dry-run", "--quiet", "--out", "none"]) == 0
        return capsys.readouterr().out

    trained = distilled(text, "x2static", min_count=20, words=LISTED)["x2static"].record["training"]["words"]
    told = said("x2static", *LISTED)
    assert f"distinct, {trained} tracked" in told
    assert f"\n3 words get a vector; {trained} words of the text are trained\n" in told
    assert f"\n4 words get a vector; {trained} words of the text are trained\n" in said("x2static", *LISTED, "zebra")
    assert "trained" not in said("average", *LISTED)


def test_words_that_nothing_would_be_known_of_are_refused_before_training(text: Path):
    pytest.importorskip("gensim")
    for methods in ("skipgram", "sent2vec,best"):
        with raises(LimbeckError, code="no_words", parameter="words"):
            distilled(text, methods, words=["zebra"])
    made = distilled(text, "skipgram-ngrams", words=["rivers"])["skipgram-ngrams"]
    assert list(made.origins) == ["ngrams"]
    with raises(LimbeckError, code="no_words", parameter="min_count", says="500"):
        distilled(text, "x2static", words=["zebra"], min_count=500)
