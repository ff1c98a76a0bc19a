"""Models and tables as targets: sentence vectors by hand from transformers and numpy, repairs, repeated texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import raises
from scipy import stats
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import limbeck as lb
from limbeck.encoders.miniatures import miniature_folder
from limbeck.errors import InputError, UsageError
from limbeck.evaluation import EvaluationSettings, ModelTarget, Pairs, TableTarget, evaluate, sweep
from limbeck.evaluation.rows import repaired
from limbeck.evaluation.sweeping import TEXTS_AT_ONCE, different_texts

QUICK = EvaluationSettings(draws=10)

FIRST = [
    "A dog barks.", "The sun sets.", "A man plays a guitar.", "Two cats sleep.", "It rains.", "A dog barks.",
    "Stocks fell on Monday.", "She's singing, isn't she?",
]  # fmt: skip
SECOND = [
    "The dog barked.", "Stocks fell.", "A man sings.", "A dog barks.", "It is dry.", "It rains.", "The sun sets.",
    "He left.",
]  # fmt: skip
GOLD = [4.5, 0.1, 2.5, 1.0, 1.5, 0.3, 0.0, 0.7]
PAIRS = Pairs("own", "sts", FIRST, SECOND, GOLD)


def cosine(a, b):
    return a @ b / (np.linalg.norm(a) * np.linalg.norm(b))


@pytest.fixture(scope="module")
def by_hand():
    """Hidden states of mini-bert straight from transformers: text -> (layers, tokens, d), with [CLS] and [SEP]."""
    from transformers import AutoModel, AutoTokenizer
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = miniature_folder("mini-bert")
    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder)
    logging.enable_progress_bar()

    def states(text):
        with torch.no_grad():
            given = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True)
        return np.stack([layer[0].numpy() for layer in given.hidden_states])

    return states


@pytest.fixture(scope="module")
def bert():
    return lb.load_encoder("mini-bert", units="pieces", layers="0,5,-1", device="cpu")


@pytest.mark.parametrize("special", [False, True])
def test_a_sentence_is_the_mean_of_its_pieces(by_hand, special):
    encoder = lb.load_encoder("mini-bert", units="pieces", special=special, layers="0,5,-1", device="cpu")
    scores = sweep(PAIRS, ModelTarget(encoder), settings=QUICK)
    assert [score.target for score in scores] == ["mini-bert layer 0", "mini-bert layer 5", "mini-bert layer 12"]
    inner = slice(None) if special else slice(1, -1)
    for score, layer in zip(scores, (0, 5, 12), strict=True):
        means = {text: by_hand(text)[layer, inner].mean(axis=0) for text in FIRST + SECOND}
        expected = [cosine(means[a], means[b]) for a, b in zip(FIRST, SECOND, strict=True)]
        np.testing.assert_allclose(score.similarity, expected, atol=2e-6)
        assert score.value == pytest.approx(stats.spearmanr(expected, GOLD).statistic)
        assert score.settings["units"] == "pieces"
        assert score.settings.get("special", "no") == ("yes" if special else "no")


def test_words_are_told_apart_and_written_as_they_were(by_hand):
    """Units words: the mean over words of the means of their pieces, "isn't" being two words and one piece of text."""
    encoder = lb.load_encoder("mini-bert", units="words", layers="-1", device="cpu")
    rows = ModelTarget(encoder).rows(["She's singing, isn't she?", "A dog barks."])
    assert np.bincount(rows.texts).tolist() == [8, 4]  # She 's singing , is n't she ?; A dog barks .
    states = by_hand("A dog barks.")[12]  # [CLS] a dog bar ##ks . [SEP]
    words = [states[1], states[2], states[3:5].mean(axis=0), states[5]]
    np.testing.assert_allclose(rows.means(rows.vectors[0])[1], np.mean(words, axis=0), atol=2e-6)


def test_a_repair_comes_before_the_mean(by_hand, bert):
    rng = np.random.default_rng(0)
    # the whole space turned inside out row by row: after the mean it would give something else
    fitted = {
        layer: lb.repairs.ClusterRemoval(3, 2, random_state=1).fit(rng.normal(size=(200, 128)) + 0.3)
        for layer in bert.layers
    }
    plain, *_ = sweep(PAIRS, ModelTarget(bert), repairs={"": None, "cut": fitted}, settings=QUICK)
    assert plain.target == "mini-bert layer 0"
    for place, layer in enumerate((0, 5, 12)):
        score = sweep(PAIRS, ModelTarget(bert), repairs={"cut": fitted}, settings=QUICK)[place]
        transform = fitted[str(layer)].transform
        means = {text: transform(by_hand(text)[layer, 1:-1].astype(np.float64)).mean(axis=0) for text in FIRST + SECOND}
        expected = [cosine(means[a], means[b]) for a, b in zip(FIRST, SECOND, strict=True)]
        np.testing.assert_allclose(score.similarity, expected, atol=1e-4)
        assert score.target == f"mini-bert layer {layer} + cut"
        assert score.settings["repair"] == "cut"


def test_transductive_is_a_fit_on_all_sentences_of_all_pairs(bert):
    """Both sides of all pairs, a text as often as it occurs ("A dog barks." three times), as the paper's code does."""
    (score,) = sweep(
        PAIRS, _one(bert), repairs={"own": lb.repairs.ClusterRemoval(2, 3, random_state=3)}, settings=QUICK
    )
    listed = [*FIRST, *SECOND]
    rows = _one(bert).rows(listed)
    assert len(rows.texts) > len(_one(bert).rows(list(dict.fromkeys(listed))).texts)
    x = rows.vectors[0].double()
    means = rows.means(lb.repairs.ClusterRemoval(2, 3, random_state=3).fit_transform(x)).numpy()
    expected = [cosine(means[i], means[i + len(FIRST)]) for i in range(len(FIRST))]
    np.testing.assert_allclose(score.similarity, expected, atol=1e-4)
    once = rows.means(lb.repairs.ClusterRemoval(2, 3, random_state=3).fit(x[: len(x) // 2]).transform(x)).numpy()
    assert not np.allclose(score.similarity, [cosine(once[i], once[i + 8]) for i in range(8)], atol=1e-4)


def test_transductive_chain(bert):
    chain = make_pipeline(lb.repairs.Center(), lb.repairs.AllButTheTop(2))
    (score,) = sweep(PAIRS, _one(bert), repairs={"own": chain}, settings=QUICK)
    rows = _one(bert).rows([*FIRST, *SECOND])
    x = rows.vectors[0].numpy().astype(np.float64)
    x = x - x.mean(axis=0)
    top = np.linalg.svd(x, full_matrices=False)[2][:2]
    means = rows.means(torch.from_numpy(x - x @ top.T @ top)).numpy()
    np.testing.assert_allclose(score.similarity, [cosine(means[i], means[i + 8]) for i in range(8)], atol=1e-4)
    assert not hasattr(chain[0], "mean_"), "what was given stays as it was"


def _one(encoder):
    """The last layer of an encoder alone."""

    class One(ModelTarget):
        @property
        def layers(self):
            return self.encoder.layers[-1:]

        def rows(self, texts):
            found = super().rows(texts)
            return type(found)(self.layers, found.vectors[-1:], found.texts, found.count, found.settings)

    return One(encoder)


def test_a_text_is_encoded_once(bert):
    seen = []

    class Seen(ModelTarget):
        def rows(self, texts):
            seen.extend(texts)
            return super().rows(texts)

    sweep(PAIRS, Seen(bert), repairs={"": None, "own": lb.repairs.Center()}, settings=QUICK)
    assert sorted(seen) == sorted(set(FIRST + SECOND)), "three layers and two repairs, from one pass"
    texts, counts = different_texts(PAIRS)
    assert counts[texts.index("A dog barks.")] == 3
    assert counts.sum() == 16


def test_many_texts_are_encoded_in_parts(bert, monkeypatch):
    whole = sweep(PAIRS, ModelTarget(bert), settings=QUICK)
    assert TEXTS_AT_ONCE > 100
    monkeypatch.setattr("limbeck.evaluation.sweeping.TEXTS_AT_ONCE", 3)
    for a, b in zip(whole, sweep(PAIRS, ModelTarget(bert), settings=QUICK), strict=True):
        np.testing.assert_allclose(a.similarity, b.similarity, atol=1e-6)


def test_empty_texts(bert):
    pairs = Pairs(
        "holes", "sts", ["", "A dog.", "It rains.", "  "], ["A cat.", "A dog.", "It pours.", ""], [0, 5, 4, 1]
    )
    for repair in (None, lb.repairs.Center()):
        score = evaluate(pairs, _one(bert), repair=repair, settings=QUICK)
        assert score.similarity[[0, 3]].tolist() == [0, 0]
        assert score.similarity[1] == pytest.approx(1, abs=1e-6)
        assert score.coverage == 0.5
        assert evaluate(pairs, _one(bert), repair=repair, settings=EvaluationSettings(missing="drop", draws=10)).n == 2
    nothing = Pairs("nothing", "sts", ["", " "], ["", ""], [1, 2])
    for repair in (None, lb.repairs.Center()):
        score = evaluate(nothing, _one(bert), repair=repair, settings=QUICK)
        assert np.isnan(score.value)
        assert score.coverage == 0


def test_a_decoders_first_position():
    """mini-gpt2 leaves out its first position, so a text of one piece has no vector unless that is kept."""
    pairs = Pairs("own", "sts", ["dog", "a dog barks"], ["cat", "the dog barks"], [1, 5])
    left_out = evaluate(pairs, lb.load_encoder("mini-gpt2", units="pieces", layers="-1", device="cpu"), settings=QUICK)
    assert left_out.coverage == 0.5
    kept = lb.load_encoder("mini-gpt2", units="pieces", layers="-1", keep_first=True, device="cpu")
    assert evaluate(pairs, kept, settings=QUICK).coverage == 1.0


def test_words_of_a_model(by_hand):
    pairs = Pairs(
        "words", "wordsim", ["dog", "barks", "river", "king"], ["cat", "sings", "stream", "cabbage"], [3, 2, 4, 0]
    )
    for layers, layer in (("-1", 12), ("5", 5)):
        encoder = lb.load_encoder("mini-bert", units="pieces", layers=layers, device="cpu")
        score = evaluate(pairs, encoder, settings=QUICK)
        alone = {word: by_hand(word)[layer, 1:-1].mean(axis=0) for word in [*pairs.first, *pairs.second]}
        expected = [cosine(alone[a], alone[b]) for a, b in zip(pairs.first, pairs.second, strict=True)]
        np.testing.assert_allclose(score.similarity, expected, atol=2e-6)
        assert score.coverage == 1.0
    table = lb.StaticVectors.from_model(miniature_folder("mini-bert"))
    of_table = evaluate(
        pairs, lb.load_encoder("mini-bert", units="pieces", layers="table", device="cpu"), settings=QUICK
    )
    assert of_table.similarity[0] == pytest.approx(cosine(table["dog"], table["cat"]), abs=1e-5)
    pieces = (table["bar"] + table["##ks"]) / 2, np.mean([table[p] for p in ("sing", "##s")], axis=0)
    if "sings" not in table:
        assert of_table.similarity[1] == pytest.approx(cosine(*pieces), abs=1e-5)
    centered = evaluate(
        pairs, lb.load_encoder("mini-bert", units="pieces", layers="-1"), repair=lb.repairs.Center(), settings=QUICK
    )
    assert not np.allclose(centered.similarity, score.similarity)


# --- tables -------------------------------------------------------------------------------------

WORDS = ["dog", "cat", "barks", ".", "zero", "Paris"]
MATRIX = np.array([[1, 0, 0], [0.6, 0.8, 0], [0, 1, 1], [0.5, 0.5, 0.5], [0, 0, 0], [0, 0, 2]], dtype=np.float64)
TABLE = lb.StaticVectors(WORDS, MATRIX)
SENTENCES = Pairs(
    "table", "sts", ["The dog barks.", "Unknown words", "Paris"], ["A Cat barks.", "dog", "paris"], [4, 1, 5]
)


def test_a_sentence_is_the_mean_of_its_words():
    score = evaluate(SENTENCES, TABLE, settings=QUICK)
    dog, cat, barks, stop = MATRIX[:4]
    expected = cosine((dog + barks + stop) / 3, (cat + barks + stop) / 3)
    np.testing.assert_allclose(score.similarity, [expected, 0, 0], atol=1e-6)
    assert score.coverage == pytest.approx(1 / 3)
    assert score.settings["words"] == 13
    assert score.settings["words_found"] == 8  # dog barks . | Cat barks . | dog | Paris
    assert evaluate(SENTENCES, TABLE, settings=EvaluationSettings(missing="drop", draws=10)).n == 1
    for target in (
        TableTarget(TABLE, case="keep"),
        TableTarget(TABLE, case="lower"),
        TableTarget(TABLE, lowercase=True),
    ):
        assert evaluate(SENTENCES, target, settings=QUICK).settings["words_found"] == 7
    assert (
        evaluate(SENTENCES, TABLE, settings=EvaluationSettings(lowercase=True, draws=10)).settings["words_found"] == 7
    )


def test_unknown_words_of_sentences():
    mean = MATRIX.mean(axis=0)
    score = evaluate(SENTENCES, TABLE, settings=EvaluationSettings(oov="mean", draws=10))
    dog, cat, barks, stop = MATRIX[:4]
    expected = [
        cosine(mean + dog + barks + stop, mean + cat + barks + stop),
        cosine(mean, dog),
        cosine(MATRIX[5], mean),
    ]
    np.testing.assert_allclose(score.similarity, expected, atol=1e-6)
    assert score.settings["words_found"] == 8, "what was put in is not what was found"
    zero = evaluate(SENTENCES, TABLE, settings=EvaluationSettings(oov="zero", draws=10))
    np.testing.assert_allclose(zero.similarity, evaluate(SENTENCES, TABLE, settings=QUICK).similarity, atol=1e-6)
    fallback = {"paris": [0.0, 3.0, 3.0]}
    given = evaluate(SENTENCES, TableTarget(TABLE, oov="fallback", fallback=fallback), settings=QUICK)
    assert given.similarity[2] == pytest.approx(np.sqrt(0.5), abs=1e-6)


def test_repaired_tables():
    first, second = ["dog", "dog", "Cat", "nothing"], ["cat", "barks", "paris", "dog"]
    pairs = Pairs("words", "wordsim", first, second, [4, 2, 0, 1])
    mean = MATRIX.mean(axis=0)
    centered = dict(zip(WORDS, MATRIX - mean, strict=True))
    expected = [cosine(centered["dog"], centered["cat"]), cosine(centered["dog"], centered["barks"])]
    for repair in (lb.repairs.Center(), lb.repairs.Center().fit(MATRIX)):
        score = evaluate(pairs, TABLE, repair=repair, settings=QUICK)
        np.testing.assert_allclose(score.similarity, expected, atol=1e-6)
        assert score.coverage == 0.5
    with_mean = evaluate(pairs, TABLE, repair=lb.repairs.Center(), settings=EvaluationSettings(oov="mean", draws=10))
    assert with_mean.n == 2, "the mean of centered vectors is zero"
    shifted = lb.repairs.Center().fit(MATRIX + 1)
    with_mean = evaluate(pairs, TABLE, repair=shifted, settings=EvaluationSettings(oov="mean", draws=10))
    assert with_mean.similarity[3] == pytest.approx(cosine(np.full(3, -1.0), MATRIX[0] - mean - 1), abs=1e-6)
    fallen = TableTarget(TABLE, oov="fallback", fallback={"nothing": mean.tolist()})
    fallen = evaluate(pairs, fallen, repair=shifted, settings=QUICK)
    assert fallen.similarity[-1] == pytest.approx(cosine(np.full(3, -1.0), MATRIX[0] - mean - 1), abs=1e-6)
    sentences = evaluate(SENTENCES, TABLE, repair=shifted, settings=QUICK)
    moved = {word: row - mean - 1 for word, row in zip(WORDS, MATRIX, strict=True)}
    a, b = (moved[w] + moved["barks"] + moved["."] for w in ("dog", "cat"))
    assert sentences.similarity[0] == pytest.approx(cosine(a, b), abs=1e-6)


# --- what cannot be -----------------------------------------------------------------------------


def test_refused(bert):
    with raises(UsageError, code="ambiguous", parameter="layer"):
        evaluate(PAIRS, bert)
    with raises(InputError, code="other_dimensions", parameter="repair", says="128"):
        evaluate(PAIRS, _one(bert), repair=lb.repairs.Center().fit(np.eye(7)))
    with raises(UsageError, code="wrong_type", parameter="repair"):
        evaluate(PAIRS, _one(bert), repair=StandardScaler())
    with raises(UsageError, code="other_layers", parameter="repair", says="got 12"):
        sweep(PAIRS, ModelTarget(bert), repairs={"some": dict.fromkeys(["0", "5"])})
    with raises(UsageError, code="unsupported", parameter="repair"):
        evaluate(PAIRS, lambda texts: np.eye(len(texts)), repair=lb.repairs.Center())
    with raises(UsageError, code="required", parameter="fallback"):
        TableTarget(TABLE, oov="fallback")


def test_no_rows_need_no_repair():
    nothing = torch.zeros(0, 5)
    assert repaired(nothing, lb.repairs.Center()) is nothing
