"""Groups of one structure, and neighbours that share it."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import planted
import pytest
from refusals import raises
from scipy.spatial.distance import cdist
from sklearn.metrics import roc_auc_score

from limbeck.analysis import (
    AnalysisSettings,
    Method,
    StructureSettings,
    fit_spaces,
    pairs,
    pairs_of,
    structure,
    structure_of,
)
from limbeck.analysis.groups import Pair, as_sentences, make_groups, read_pairs
from limbeck.analysis.spaces import Space
from limbeck.analysis.structures import group_shares, pair_claims, piece_row, structure_claims
from limbeck.corpus import Corpus
from limbeck.encoders import FunctionEncoder, load_encoder
from limbeck.errors import InputError, LimbeckError


@pytest.fixture
def treebank(tmp_path):
    path = tmp_path / "made.conllu"
    path.write_text(planted.conllu(), encoding="utf-8")
    return list(Corpus(path))


# --- groups ------------------------------------------------------------------------------------


def test_a_group_differs_in_content_words_alone(treebank):
    kind = {word: kind for kind in ("NOUNS", "VERBS", "ADJECTIVES") for word in getattr(planted, kind)}
    groups = make_groups(treebank, StructureSettings(groups=10, group_size=4))
    assert len(groups) == 10  # each sentence has all four tokens
    for group in groups:
        own, *others = (sentence.words for sentence in group.sentences)
        assert len(others) == 3
        assert any(own == sentence.words for sentence in treebank)
        for place, word in enumerate(own):
            there = [words[place] for words in (own, *others)]
            if word in kind:
                assert len(set(there)) == 4
                assert {kind[other] for other in there} == {kind[word]}
            else:
                assert set(there) == {word}
        assert group.places == {".": 12, ",": 8, "the": 5, "of": 4}


def test_swapped_words_are_about_as_frequent(treebank):
    counts: dict[str, int] = {}
    for sentence in treebank:
        for word in sentence.words:
            counts[word] = counts.get(word, 0) + 1
    for group in make_groups(treebank, StructureSettings(groups=10, group_size=3)):
        for words in zip(*(sentence.words for sentence in group.sentences), strict=True):
            assert len({int(np.log2(counts[word])) for word in words}) == 1


def test_groups_depend_on_the_seed_alone(treebank):
    def texts(seed):
        return [
            s.words
            for g in make_groups(treebank, StructureSettings(groups=5, group_size=3), seed=seed)
            for s in g.sentences
        ]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_no_group_without_enough_words_of_a_kind(treebank):
    with raises(LimbeckError, code="too_few", says="40"):
        make_groups(treebank, StructureSettings(group_size=40))
    with raises(InputError, code="no_labels", parameter="data"):
        make_groups(Corpus.from_sentences([["a", "b", "c", "d", "e", "f"]]))


def test_sentences_are_numbered_by_group(treebank):
    groups = make_groups(treebank, StructureSettings(groups=3, group_size=2))
    numbered = as_sentences(groups)
    assert [(s.document, s.index) for s in numbered] == [(g, i) for g in range(len(groups)) for i in range(2)]
    read = list(Corpus.from_sentences(numbered))
    assert [s.identity for s in read] == [s.identity for s in numbered]


@pytest.mark.parametrize(
    ("token", "words", "place", "strings", "row"),
    [
        (".", ["He", "left", "."], 2, ["he", "left", "."], 2),
        (".", ["The", "U.S.", "won", "."], 3, ["the", "u", ".", "s", ".", "won", "."], 6),
        (".", ["It", "cost", "3.5", "."], 3, ["ĠIt", "Ġcost", "Ġ3.5", "."], 3),
        ("the", ["The", "sea", "and", "the", "sky"], 3, ["The", "Ġsea", "Ġand", "Ġthe", "Ġsky"], 3),
        ("of", ["of", "it"], 0, ["▁of", "▁it"], 0),
        ("the", ["clothes", "of", "the", "day"], 2, ["clo", "the", "s", "of", "the", "day"], -1),
        ("of", ["a", "loaf", "of"], 2, ["a", "loaf"], -1),
    ],
)
def test_the_piece_of_a_token(token, words, place, strings, row):
    assert piece_row(token, words, place, strings) == row


# --- neighbours --------------------------------------------------------------------------------


def made(*, strength: float, groups: int = 30, size: int = 6, dim: int = 32, seed: int = 0):
    """Tokens whose vectors hold, in the first four dimensions, the group; the rest is noise."""
    generator = np.random.default_rng(seed)
    group = np.repeat(np.arange(groups), size)
    x = generator.standard_normal((groups * size, dim))
    x[:, :4] += strength * generator.standard_normal((groups, 4))[group]
    return x, group


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_shares_over_all_pairs(metric):
    x, group = made(strength=1.0)
    away = cdist(x, x, metric)
    np.fill_diagonal(away, np.inf)
    by_hand = []
    for one in np.unique(group):
        rows = np.flatnonzero(group == one)
        by_hand.append(np.mean([np.mean(group[np.argsort(away[row])[:5]] == one) for row in rows]))
    shares, chance = group_shares(x, group, neighbors=5, metric=metric)
    np.testing.assert_allclose(shares, by_hand)
    np.testing.assert_allclose(chance, 5 / 179)


def test_a_planted_structure_is_found_and_removed():
    x, group = made(strength=8.0)
    tokens = np.array([".", "the"])[group % 2]
    spaces = fit_spaces(x, methods=[Method("all-but-the-top:n_components=4")])
    found = structure(x, group, tokens, spaces=spaces)
    assert [(one.token, one.space, one.groups) for one in found] == [
        (".", "baseline", 15), ("the", "baseline", 15), (".", "global", 15), ("the", "global", 15),
    ]  # fmt: skip
    for one in found[:2]:
        assert one.value > 0.9
        assert one.change == 0
    for one in found[2:]:
        assert one.low < one.chance + 0.05
        assert one.value < 0.2
    assert {claim.verdict for claim in structure_claims(found)} == {"held"}


def test_without_a_structure_nothing_is_claimed():
    """The twin: noise has no structure to lose; and a structure that stays is no claim held."""
    x, group = made(strength=0.0)
    spaces = fit_spaces(x, methods=[Method("all-but-the-top:n_components=4")])
    noise = structure(x, group, ["."] * len(x), spaces=spaces)
    assert noise[0].low <= noise[0].chance <= noise[0].high
    assert structure_claims(noise)[0].verdict == "too close to call"
    x, group = made(strength=8.0)
    spaces = [Space("baseline"), Space("same")]
    (claim,) = structure_claims(structure(x, group, ["."] * len(x), spaces=spaces))
    assert claim.verdict != "held"
    grown = [Space("baseline", Method("all-but-the-top:n_components=4").make().fit(x)), Space("worse")]
    (claim,) = structure_claims(structure(x, group, ["."] * len(x), spaces=grown))
    assert claim.verdict == "not held"


def test_wrong_labels():
    x, group = made(strength=1.0)
    with raises(LimbeckError, code="unequal_lengths", parameter="groups"):
        structure(x, group[:-1], ["."] * len(x))
    with raises(LimbeckError, code="too_few", parameter="neighbors"):
        structure(x, np.zeros(len(x)), ["."] * len(x))


# --- pairs -------------------------------------------------------------------------------------


def test_pairs_by_scikit_learn():
    generator = np.random.default_rng(3)
    same = generator.random(120) < 0.5
    a = generator.standard_normal((120, 10))
    b = np.where(same[:, None], a + 0.8 * generator.standard_normal((120, 10)), generator.standard_normal((120, 10)))
    words = generator.random(120) < 0.3
    spaces = [Space("baseline"), Space("twice")]
    for metric in ("euclidean", "cosine"):
        found = pairs(a, b, same, words=words, spaces=spaces, settings=AnalysisSettings(metric=metric))
        away = np.array([cdist(a[i : i + 1], b[i : i + 1], metric)[0, 0] for i in range(120)])
        whole, other = found[0], found[1]
        assert whole.auc == pytest.approx(roc_auc_score(same, -away))
        assert other.auc == pytest.approx(roc_auc_score(same[~words], -away[~words]))
        assert (whole.same, whole.different) == pytest.approx((away[same].mean(), away[~same].mean()))
        assert whole.low < whole.auc < whole.high
        assert {claim.verdict for claim in pair_claims(found)} == {"too close to call"}  # nothing changed


def test_pairs_are_read(tmp_path):
    path = tmp_path / "a.pairs.tsv"
    path.write_text("1.0000\ta b c\td e f\t1\n0\tx\ty z\t0\n", encoding="utf-8")
    assert read_pairs([path]) == [Pair(1, ("a", "b", "c"), ("d", "e", "f"), True), Pair(0, ("x",), ("y", "z"), False)]
    path.write_text("1.0\ta b\tc d\n", encoding="utf-8")
    with raises(InputError, code="malformed", says="a.pairs.tsv:1:"):
        read_pairs([path])
    with raises(InputError, code="not_readable"):
        read_pairs([tmp_path / "none.tsv"])


@pytest.mark.parametrize("place", ["3", "3.0000", "-1", "0.5", "inf", "nan"])
def test_a_place_without_a_word_is_told_by_its_line(tmp_path, place):
    """The shorter sentence decides: place 3 is there in the first alone."""
    path = tmp_path / "a.pairs.tsv"
    path.write_text(f"0\ta\tb\t1\n{place}\ta b c d\te f g\t0\n", encoding="utf-8")
    with raises(InputError, code="malformed", says=("a.pairs.tsv:2: ", f"got {place} with 4 and 3 ")):
        read_pairs([path])


@pytest.mark.parametrize("label", ["2", "-1", "same", ""])
def test_pairs_are_of_the_same_structure_or_not(tmp_path, label):
    path = tmp_path / "a.pairs.tsv"
    path.write_text(f"0\ta\tb\t{label}\n", encoding="utf-8")
    with raises(InputError, code="malformed", says=("a.pairs.tsv:1: ", f"'0' and '{label}'")):
        read_pairs([path])


def test_pairs_without_a_vector():
    """Places may come from elsewhere than a file."""
    encoder = FunctionEncoder(planted.by_word_and_context(), name="made")
    beyond = [Pair(9, ("old", "lamp"), ("cold", "owl"), bool(at % 2)) for at in range(8)]
    with raises(LimbeckError, code="no_vectors"):
        pairs_of(encoder, beyond)


def test_a_claim_on_pairs_is_on_the_scale_that_it_tells():
    """From above one half to below it: the difference is of distances from one half, not of the chances."""
    generator = np.random.default_rng(0)
    first, second = generator.standard_normal((2, 200, 4))
    same = np.arange(200) % 2 == 0
    first[:, 0] = second[:, 0] = 0
    first[~same, 0] = 9  # far apart where structures differ
    second[same, 1] += 3  # near where they differ, once the first dimension is gone
    spaces = [Space("baseline"), Space("cut", SimpleNamespace(transform=lambda x: x[:, 1:]))]
    found = pairs(first, second, same, spaces=spaces)
    chances = [roc_auc_score(~same, np.linalg.norm((first - second)[:, cut:], axis=1)) for cut in (0, 1)]
    assert chances[0] > 0.9
    assert chances[1] < 0.4
    (claim,) = pair_claims(found)
    before, after = (abs(chance - 0.5) for chance in chances)
    assert claim.value == pytest.approx(before - after)
    assert f"|p − 0.5| is {before:.3f} before, {after:.3f} after" in claim.why
    assert f"p {chances[0]:.3f} and {chances[1]:.3f}" in claim.why


def test_pairs_of_a_model():
    """A function that knows the word alone: the same word is at distance 0, whatever its sentence."""
    generator = np.random.default_rng(0)
    given = []
    for number in range(60):
        first, second = (tuple(generator.choice(planted.NOUNS, 5)) for _ in range(2))
        given.append(Pair(number % 5, first, first if number % 2 else second, bool(number % 2)))

    def encode(texts):
        return [np.stack([planted.numbers(word, 12) for word in text.words]) for text in texts]

    found = pairs_of(FunctionEncoder(encode, name="made"), given, settings=AnalysisSettings(method="center"))
    rows = found.rows("pairs")
    assert [(row["subset"], row["space"]) for row in rows] == [("all", "baseline"), ("all", "center")]
    assert rows[0]["same"] == 0
    assert rows[0]["auc"] > 0.9
    assert found.units == "words"


# --- on a model --------------------------------------------------------------------------------


def test_words_of_a_model(treebank):
    """The function gives each token the vector of its group and place: every neighbour is of the group."""
    groups = make_groups(treebank, StructureSettings(groups=6, group_size=4))
    number = {sentence.words: at for at, group in enumerate(groups) for sentence in group.sentences}

    def encode(texts):
        made = []
        for text in texts:
            words = tuple(text.words)
            rows = [planted.numbers(f"{number.get(words)} {place}", 20) for place in range(len(words))]
            noise = [planted.numbers(f"{words} {place}", 20) for place in range(len(words))]
            made.append(np.stack(rows) + 0.01 * np.stack(noise))
        return made

    settings = AnalysisSettings(neighbors=3, method="center")
    found = structure_of(
        FunctionEncoder(encode, name="made"),
        treebank,
        settings=settings,
        groups=StructureSettings(groups=6, group_size=4),
    )
    rows = found.rows("structure")
    assert [row["token"] for row in rows] == [".", ",", "the", "of"] * 2
    assert {row["value"] for row in rows} == {1.0}
    assert {row["rows"] for row in rows} == {24}
    assert {(row["model"], row["layer"]) for row in rows} == {("made", "0")}
    assert len(found.rows("sentences")) == 24
    assert found.units == "words"


def test_pieces_of_a_model_are_the_words(treebank):
    """Tokens are one piece each: with pieces as rows the same vectors are found as with words."""
    settings = AnalysisSettings(method="center", transductive=True)
    found = {}
    for units in ("words", "pieces"):
        encoder = load_encoder("mini-bert", layers="1", units=units)
        found[units] = structure_of(
            encoder, treebank, settings=settings, groups=StructureSettings(groups=5, group_size=3)
        )
        assert found[units].units == units
    for words, pieces in zip(found["words"].rows("structure"), found["pieces"].rows("structure"), strict=True):
        assert words["rows"] == pieces["rows"]
        assert words["value"] == pytest.approx(pieces["value"])
