"""Words that the text lacks, brought into the space of a method that makes vectors of its own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tiny_models
from made import sentences

import limbeck as lb
from limbeck.distillation import METHODS, DistilledVectors, Method, Trained
from limbeck.distillation.methods import predicts
from limbeck.distillation.predicting import PENALTIES, Ridge
from limbeck.distillation.settings import DistillSettings
from limbeck.encoders import HuggingFaceEncoder
from limbeck.seeds import hash_text

DIM, OWN = 6, 4
MAP = np.random.default_rng(5).normal(scale=0.05, size=(DIM, OWN))
SHIFT = np.array([0.1, 0.0, -0.2, 0.05])
TEXT = [[f"w{(3 * row + place) % 60}" for place in range(6)] for row in range(120)]


def own_vector(word: str) -> np.ndarray:
    return np.random.default_rng(hash_text(word) & 0xFFFF).normal(loc=2.0, scale=5.0, size=DIM)


def teacher(texts: Sequence[Any]) -> list[np.ndarray]:
    """A word is the same wherever it stands: what is read in a frame is what the text has."""
    return [np.stack([own_vector(word) for word in text.words]) for text in texts]


def train_mapped(source: Any, plan: Any, settings: Any, context: Any, **_: Any) -> Trained:
    """A "training" whose vectors are short, of fewer dimensions, and a linear map of the teacher's."""
    return Trained(np.stack([own_vector(word) for word in plan.vocabulary.words]) @ MAP + SHIFT)


@pytest.fixture
def mapped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METHODS, "mapped", Method("a linear map", train=train_mapped))


@pytest.mark.usefixtures("mapped")
@pytest.mark.parametrize("unseen", ["frame", "alone"])
def test_a_linear_map_of_the_teacher_is_found_again(unseen: str):
    words = ["w1", "barrel", "night train"]
    made = lb.distill(teacher, TEXT, method="mapped", words=words, unseen=unseen, min_count=2)
    assert made.words == words
    assert list(made.origins) == ["corpus", unseen, unseen]
    night_train = (own_vector("night") + own_vector("train")) / 2
    for word, vector in (("barrel", own_vector("barrel")), ("night train", night_train)):
        np.testing.assert_allclose(made[word], vector @ MAP + SHIFT, atol=1e-5)
    (step,) = made.record["finishing"]
    assert step.pop("explained") == pytest.approx(1, abs=1e-6)
    # the list has one word that the text knows: the others were taken from the text, and are not shown
    assert step == {"step": "unseen", "origin": unseen, "words": 2, "fitted_on": 60, "penalty": min(PENALTIES)}


@pytest.mark.usefixtures("mapped")
def test_words_to_fit_on_are_the_most_frequent(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("limbeck.runs.distilling.completing.FITTED", 20)
    seen: list[np.ndarray] = []
    plain = Ridge.fit

    def fit(read: np.ndarray, made: np.ndarray) -> Ridge:
        seen.append(read)
        return plain(read, made)

    monkeypatch.setattr(Ridge, "fit", fit)
    rare_last = [["w0"] * 3, *([f"w{n}"] * (60 - n) for n in range(1, 60))]
    lb.distill(teacher, rare_last, method=["mapped"], add_words=["barrel"], min_count=1)
    want = np.stack([own_vector(f"w{n}") for n in range(1, 21)])
    np.testing.assert_allclose(seen[0], want, rtol=1e-5)


def test_the_teachers_own_vectors_stand_as_they_are():
    """What docs/distill.md measured: the average beside plain frames."""
    made = lb.distill(teacher, TEXT, method="average", words=["w1", "barrel"])
    np.testing.assert_allclose(made["barrel"], own_vector("barrel"), rtol=1e-5)
    assert made.record["finishing"] == []
    plain = DistillSettings()
    assert [name for name in METHODS if predicts(name, plain)] == [
        "best",
        "contexts",
        "principal",
        "x2static",
        "regression",
    ]
    assert predicts("average", DistillSettings(over_contexts="max"))
    assert not any(predicts(name, DistillSettings(unseen="drop")) for name in METHODS)


def tiny() -> HuggingFaceEncoder:
    kind = tiny_models.tokenizer("wordpiece uncased")
    return HuggingFaceEncoder(tiny_models.model("bert"), kind, name="bert", layers="-1")


def made_text() -> list[list[str]]:
    return [list(sentence.words) for sentence in sentences(150, documents=6)]


def lengths(made: DistilledVectors) -> dict[str, float]:
    norms = np.linalg.norm(made.matrix, axis=1)
    return {kind: float(norms[[origin == kind for origin in made.origins]].mean()) for kind in set(made.origins)}


def test_lengths_are_those_of_the_words_of_the_text():
    methods = ["principal", "contexts", "regression", "average"]
    made = lb.distill(
        tiny(), made_text(), method=methods, min_count=2, add_words=["barrel", "unbelievable", "old kettle"]
    )
    for name in ("principal", "contexts", "regression"):
        found = lengths(made[name])
        assert found["frame"] == pytest.approx(found["corpus"], rel=0.3)
    # its twin: a frame's vector as it is would be many times as long
    assert lengths(made["average"])["frame"] > 3 * lengths(made["principal"])["corpus"]


FRAME = ["it is {}."]


@pytest.mark.parametrize(
    ("how", "origins", "steps"),
    [
        ({"template": FRAME}, ["corpus", "frames"], []),
        ({"template": FRAME, "unseen": "drop"}, ["corpus"], []),
        ({"template": FRAME, "unseen": "pieces"}, ["corpus", "pieces"], ["unseen"]),
        ({"template": FRAME, "unseen": "alone"}, ["corpus", "alone"], ["unseen"]),
        ({"template": FRAME, "set": {"best": {"frames": 0}}}, ["corpus", "frame"], ["unseen"]),
        ({"set": {"best": {"frames": 0}}, "unseen": "drop"}, ["corpus"], []),
    ],
)
def test_best_and_words_that_the_text_lacks(how: dict[str, Any], origins: list[str], steps: list[str]):
    made = lb.distill(tiny(), made_text(), words=["river", "barrel"], **how)
    assert list(made.origins) == origins
    assert [step["step"] for step in made.record["finishing"]] == steps
    assert (np.linalg.norm(made.matrix, axis=1) < 2).all()  # a frame's own vector has a length of 4


def test_two_runs_are_alike_and_the_card_tells_it(tmp_path: Path):
    how: dict[str, Any] = {"method": "contexts", "min_count": 2, "add_words": ["barrel"]}
    one, two = (lb.distill(tiny(), made_text(), **how) for _ in range(2))
    np.testing.assert_array_equal(one.matrix, two.matrix)
    one.save(tmp_path / "v")
    told = (tmp_path / "v" / "README.md").read_text()
    assert "1 words that the text does not have were brought into the space of the others from frame" in told


def test_leaving_out_one_word_at_a_time_by_hand():
    linear = pytest.importorskip("sklearn.linear_model")
    draw = np.random.default_rng(2)
    x = draw.normal(loc=1.0, size=(30, 5))
    y = x @ draw.normal(size=(5, 3)) + draw.normal(scale=2.0, size=(30, 3))
    ridge = Ridge.fit(x, y)
    scale = ((x - x.mean(axis=0)) ** 2).sum() / 5
    errors = {}
    for share in PENALTIES:
        errors[share] = 0.0
        for row in range(30):
            rest = np.arange(30) != row
            left = linear.Ridge(alpha=share * scale).fit(x[rest], y[rest])
            errors[share] += float(((left.predict(x[[row]]) - y[row]) ** 2).sum())
    assert ridge.penalty == min(errors, key=lambda share: errors[share])
    assert min(PENALTIES) < ridge.penalty < max(PENALTIES)
    assert ridge.explained == pytest.approx(1 - min(errors.values()) / ((y - y.mean(axis=0)) ** 2).sum(), rel=1e-6)
    whole = linear.Ridge(alpha=ridge.penalty * scale).fit(x, y)
    new = draw.normal(size=(4, 5))
    np.testing.assert_allclose(ridge.predict(new), whole.predict(new), rtol=1e-6)


@pytest.mark.parametrize("words", [2, 5])
def test_too_little_to_learn_from_gives_the_mean_and_no_nan(words: int):
    same = Ridge.fit(np.ones((words, 3)), np.arange(words * 2.0).reshape(words, 2))
    np.testing.assert_allclose(same.predict(np.full((1, 3), 7.0))[0], [words - 1.0, words])
    few = Ridge.fit(np.random.default_rng(0).normal(size=(words, 9)), np.ones((words, 2)))
    np.testing.assert_allclose(few.predict(np.ones((1, 9))), np.ones((1, 2)))
