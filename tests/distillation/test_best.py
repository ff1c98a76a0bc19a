"""The default method: three views of a word in one vector."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.linalg

import limbeck as lb
from limbeck.distillation.best import FEW, BestSettings, best_rows, frames_vectors, view_of
from limbeck.distillation.neighbours import draw_to_neighbours
from limbeck.distillation.rows import Known, Rows
from limbeck.distillation.settings import DistillSettings
from limbeck.errors import UsageError
from limbeck.stream.context import RunContext

WORDS = 300
DIM = 6


@pytest.fixture(scope="module")
def parts() -> dict[str, Rows]:
    draw = np.random.default_rng(0)
    made = {name: Rows.of(draw.normal(loc=3.0, size=(WORDS, DIM))) for name in ("frames", "average", "contexts")}
    for name in ("average", "contexts"):
        made[name].matrix[:10] = np.nan
        made[name].found[:10] = False
    return made


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    found = np.random.default_rng(1).integers(1, 50, size=WORDS)
    found[:10] = 0
    return found


@pytest.fixture(scope="module")
def known(counts) -> Known:
    """Words that no tokenizer cuts up."""
    return Known([f"w{number}" for number in range(WORDS)], counts, np.zeros(WORDS, dtype=bool))


def undrawn(**own: float) -> BestSettings:
    """Settings of views alone."""
    return BestSettings(neighbours=0, **own)


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def test_views_are_added_up_where_they_are_nearest_to_the_first(parts, counts, known):
    """Against scipy's rotation, word by word."""
    settings = undrawn(frames=1.0, average=0.5, contexts=0.25, evidence=7.0)
    made = best_rows(parts, known, settings)
    assert made.found.all()
    trust = (counts / (counts + 7.0))[:, None]
    views = {}
    for name, rows in parts.items():
        there = rows.found[:, None]
        views[name] = np.where(there, unit(rows.matrix - rows.matrix[rows.found].mean(axis=0)), 0)
    wanted = views["frames"].copy()
    for name, weight in (("average", 0.5), ("contexts", 0.25)):
        turn, _ = scipy.linalg.orthogonal_procrustes(trust * views[name], views["frames"])
        wanted += weight * trust * (views[name] @ turn)
    np.testing.assert_allclose(made.matrix, unit(wanted), atol=1e-5)


def test_views_that_are_the_same_but_for_a_rotation_agree(parts, counts, known):
    """Then every word has the vector of its frames, however much its other views count, the text's words and others."""
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(DIM, DIM)))[0]
    found = counts > 0
    frames = Rows.of(parts["frames"].matrix - parts["frames"].matrix[found].mean(axis=0))
    same = {"frames": frames, "average": Rows(frames.matrix @ turn, found), "contexts": Rows(frames.matrix, found)}
    made = best_rows(same, known, undrawn(average=3.0))
    np.testing.assert_allclose(made.matrix, unit(frames.matrix), atol=0.05)  # the mean of all is not quite 0


def test_a_word_that_the_text_does_not_have_is_its_frames_alone(parts, known):
    made = best_rows(parts, known, undrawn())
    frames = unit(parts["frames"].matrix - parts["frames"].matrix.mean(axis=0))
    np.testing.assert_allclose(made.matrix[:10], frames[:10], atol=1e-5)


def test_a_view_of_weight_0_does_not_count(parts, known):
    alone = best_rows(parts, known, undrawn(average=0, contexts=0))
    frames = unit(parts["frames"].matrix - parts["frames"].matrix.mean(axis=0))
    np.testing.assert_allclose(alone.matrix, frames, atol=1e-5)


def test_without_frames_the_space_is_that_of_the_average(parts, counts, known):
    made = best_rows(parts, known, undrawn(frames=0, contexts=0))
    np.testing.assert_array_equal(made.found, counts > 0)
    average = parts["average"].matrix[10:]
    np.testing.assert_allclose(made.matrix[10:], unit(average - average.mean(axis=0)), atol=1e-5)


def test_fewer_dimensions_are_principal_ones(parts, known):
    whole = best_rows(parts, known, undrawn()).matrix
    made = best_rows(parts, known, undrawn(dim=3)).matrix
    _, values, right = np.linalg.svd(whole, full_matrices=False)
    np.testing.assert_allclose(np.linalg.norm(made, axis=0), values[:3], rtol=1e-5)
    directions = right[:3] * np.sign(right[np.arange(3), np.abs(right[:3]).argmax(axis=1)])[:, None]
    np.testing.assert_allclose(made, whole @ directions.T, atol=1e-4)


def test_contexts_count_more_for_a_word_that_the_tokenizer_cuts_up(parts, known):
    """As if they had weighed so much for all."""
    split = np.arange(WORDS) % 3 == 0
    made = best_rows(parts, replace(known, split=split), undrawn(contexts=0.2, split=4.0, spelling=0)).matrix
    for some, weight in ((split, 0.8), (~split, 0.2)):
        wanted = best_rows(parts, known, undrawn(contexts=weight)).matrix
        np.testing.assert_allclose(made[some], wanted[some], atol=1e-5)


def test_letters_count_for_a_word_that_the_tokenizer_cuts_up(parts, counts, known):
    """An unseen word beside one that has the same letters but two turns towards it, others stay where they are."""
    words = [f"{'abcdefghij'[number // 30] * 4}{'klmnopqrst'[number % 10]}x" for number in range(WORDS)]
    words[0] = "telegraphers"
    words[50:56] = ["telegraph", "telegrapher", "telegraphs", "telegraphing", "telegraphed", "telegraphy"]
    draw = np.random.default_rng(3)
    alike = {name: Rows(rows.matrix.copy(), rows.found) for name, rows in parts.items()}
    for rows in alike.values():
        rows.matrix[50:56] = rows.matrix[50] + draw.normal(scale=0.1, size=(6, DIM))
    split = np.arange(WORDS) == 0
    known = Known(words, counts, split)
    without = best_rows(alike, known, undrawn(spelling=0)).matrix
    made = best_rows(alike, known, undrawn()).matrix
    np.testing.assert_allclose(made[1:], without[1:], atol=1e-6)
    family = unit(made[50:56].mean(axis=0))
    assert made[0] @ family > without[0] @ family + 0.2
    np.testing.assert_allclose(np.linalg.norm(made, axis=1), 1, rtol=1e-5)


def test_words_that_no_view_has_are_not_spelled(parts, counts, known):
    """A row of zeros says that there is no vector, to neighbours too."""
    all_cut_up = replace(known, split=np.ones(WORDS, dtype=bool))
    made = best_rows(parts, all_cut_up, undrawn(frames=0))
    np.testing.assert_array_equal(made.found, counts > 0)
    assert not made.matrix[~made.found].any()


def test_vectors_are_drawn_to_their_neighbours_last(parts, counts, known):
    undrawn_rows = best_rows(parts, known, undrawn(dim=5)).matrix
    made = best_rows(parts, known, BestSettings(neighbours=0.7, dim=5)).matrix
    np.testing.assert_array_equal(made, draw_to_neighbours(undrawn_rows, counts, 0.7))
    assert np.abs(made - undrawn_rows).max() > 1e-3


def test_a_handful_of_words_is_not_centered():
    few = Rows.of(np.random.default_rng(0).normal(loc=3.0, size=(FEW - 1, DIM)))
    np.testing.assert_allclose(view_of(few), unit(few.matrix), rtol=1e-5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"frames": -1.0},
        {"neighbours": float("inf")},
        {"evidence": float("nan")},
        {"split": -0.5},
        {"spelling": float("nan")},
        {"frames": 0, "average": 0, "contexts": 0},
        {"dim": 0},
    ],
)
def test_wrong_settings_are_refused(wrong):
    with pytest.raises(UsageError):
        BestSettings(**wrong)


def test_frames_are_whole_sentences_of_the_teacher():
    """Against the mean of all pieces, special ones too, of a plain forward pass."""
    torch = pytest.importorskip("torch")
    encoder = lb.load_encoder("mini-bert", layers="-1")
    words = ["water", "stone", "quickly"]
    settings = DistillSettings(template=("the idea of {}.", "it is {}."))
    (made,) = frames_vectors(encoder, words, settings)
    model, tokenizer = encoder._model, encoder.prepare.aligner
    for row, word in enumerate(words):
        total = np.zeros(encoder.dim)
        for template in settings.template:
            pieces = [*tokenizer.prefix, *tokenizer.encode(template.format(word)), *tokenizer.suffix]
            with torch.inference_mode():
                states = model(input_ids=torch.tensor([pieces])).last_hidden_state[0]
            total += unit(states.mean(dim=0).double().numpy())
        np.testing.assert_allclose(made.matrix[row], total / 2, atol=1e-5)


def test_few_words_are_compared_with_those_of_the_text():
    """Three words alone have the vectors that they have among all."""
    sentences = [["the", "cat", "saw", "a", "dog"], ["a", "dog", "and", "the", "fish"], ["fish", "eat", "the", "cat"]]
    sentences = [[*sentence, f"w{i}"] for sentence in sentences for i in range(60)]
    settings = {"method": "best", "min_count": 1, "template": ("it is {}.",)}
    made = lb.distill("mini-bert", sentences, **settings)
    assert made.record["neighbours_pull"] == pytest.approx(0.3 * len(made) / 20_000)
    whole = made
    few = lb.distill("mini-bert", sentences, words=["cat", "fish", "unicorn"], **settings)
    assert few.words == ["cat", "fish", "unicorn"]
    assert few.origins == ["corpus", "corpus", "frames"]
    assert few.similarity("cat", "fish") == pytest.approx(whole.similarity("cat", "fish"), abs=0.02)


def test_frames_go_on_where_they_were_stopped(tmp_path, monkeypatch):
    """Stopped in the second of three sentences: the first is not read again, and the numbers are the same."""
    from limbeck.distillation import best

    encoder = lb.load_encoder("mini-bert", layers="-1")
    words = [f"w{i}" for i in range(FEW)] + ["water", "stone"]
    settings = DistillSettings(template=("the idea of {}.", "it is {}.", "what is {}?"))
    (whole,) = frames_vectors(encoder, words, settings)
    read: list[str] = []

    def stopping(*args, templates, **how):
        read.extend(templates)
        if len(read) == 2:
            raise KeyboardInterrupt
        return best_read_words(*args, templates=templates, **how)

    best_read_words = best.read_words
    monkeypatch.setattr(best, "read_words", stopping)
    with pytest.raises(KeyboardInterrupt):
        frames_vectors(encoder, words, settings, RunContext(checkpoint=tmp_path))
    (again,) = frames_vectors(encoder, words, settings, RunContext(checkpoint=tmp_path))
    assert read == ["the idea of {}.", "it is {}.", "it is {}.", "what is {}?"]
    np.testing.assert_array_equal(again.matrix, whole.matrix)
    np.testing.assert_array_equal(again.found, whole.found)
    assert len(list(tmp_path.iterdir())) == 1  # the sum alone
