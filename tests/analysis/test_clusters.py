"""What clusters contain, and the directions they have or share."""

from __future__ import annotations

from collections import Counter

import numpy as np
import planted
import pytest
from refusals import raises

from limbeck.analysis import AnalysisSettings, clusters, clusters_of
from limbeck.analysis.clustering import cluster_claims, english_stop_words, first_component, typical
from limbeck.analysis.spaces import Space
from limbeck.corpus import Corpus
from limbeck.encoders import FunctionEncoder
from limbeck.errors import LimbeckError
from limbeck.stream import TextSource

BASELINE = [Space("baseline")]


def made(*, shared: bool, each: int = 80, dim: int = 24, seed: int = 0):
    """Four clusters far apart: of punctuation, of "the", of nouns, of both kinds; each stretched along a direction."""
    generator = np.random.default_rng(seed)
    places = 60 * np.eye(dim)[:4]
    rows, tokens = [], []
    for number in range(4):
        x = 0.5 * generator.standard_normal((each - 10 * number, dim))
        along = dim - 1 if shared else dim - 1 - number
        x[:, along] += 5 * generator.standard_normal(len(x))
        rows.append(x + places[number])
        tokens += [
            [".", ","] * (each // 2),
            ["the"] * (each - 10),
            [planted.NOUNS[at % 9] for at in range(each - 20)],
            [".", "lamp"] * ((each - 30) // 2),
        ][number]
    return np.concatenate(rows), np.array(tokens)


def test_planted_clusters():
    x, tokens = made(shared=False)
    (found,) = clusters(x, tokens, k=4, spaces=BASELINE)
    assert [one.size for one in found.clusters] == [80, 70, 60, 50]
    assert [one.punctuation for one in found.clusters] == [1.0, 0.0, 0.0, 0.5]
    assert [one.stop_words for one in found.clusters] == [0.0, 1.0, 0.0, 0.0]
    assert found.clusters[1].tokens == ("the",)
    assert set(found.clusters[0].tokens) == {".", ","}
    assert found.share_with("punctuation", 0.01) == 0.5
    assert found.share_with("punctuation", 0.6) == 0.25
    assert found.punctuation == pytest.approx(105 / 260)
    by_hand = [first_component(x[tokens == "the"]), first_component(x[:80])]
    assert found.cosines[0, 1] == pytest.approx(abs(by_hand[0] @ by_hand[1]))
    np.testing.assert_allclose(np.diag(found.cosines), 1)


def test_directions_by_numpy():
    x, _ = made(shared=False)
    right = np.linalg.svd(x[:80] - x[:80].mean(0))[2]
    assert abs(first_component(x[:80]) @ right[0]) == pytest.approx(1)
    assert first_component(np.ones((5, 3))) is None


def test_clusters_of_their_own_directions():
    x, tokens = made(shared=False)
    found = clusters(x, tokens, k=4, spaces=BASELINE)
    (one,) = found
    assert one.mean_cosine[0] < 0.2
    assert min(c.halves for c in one.clusters) > 0.9
    verdicts = {claim.id: claim.verdict for claim in cluster_claims(found)}
    assert verdicts["F3.directions"] == "held"
    assert one.row()["mean_angle"] > 75


def test_clusters_that_share_a_direction():
    """The twin: all are stretched the same way."""
    x, tokens = made(shared=True)
    found = clusters(x, tokens, k=4, spaces=BASELINE)
    assert found[0].mean_cosine[0] > 0.9
    (claim,) = [claim for claim in cluster_claims(found) if claim.id == "F3.directions"]
    assert claim.value < 0.1
    assert claim.verdict != "held"


def test_punctuation_is_counted_by_cluster():
    x, tokens = made(shared=False)
    verdicts = {claim.id: claim for claim in cluster_claims(clusters(x, tokens, k=4, spaces=BASELINE))}
    assert verdicts["F3.punctuation"].value == 0.0
    assert verdicts["F3.punctuation"].verdict == "too close to call"
    everywhere = np.where(np.arange(len(tokens)) % 2, tokens, ".")
    verdicts = {claim.id: claim for claim in cluster_claims(clusters(x, everywhere, k=4, spaces=BASELINE))}
    assert verdicts["F3.punctuation"].verdict == "held"
    none = np.array(["lamp"] * len(tokens))
    verdicts = {claim.id: claim for claim in cluster_claims(clusters(x, none, k=4, spaces=BASELINE))}
    assert verdicts["F3.punctuation"].verdict == "not held"


def test_pieces_are_known_without_their_marks():
    x, tokens = made(shared=False)
    marked = np.array([f"Ġ{token}" if token == "the" else f"##{token}" for token in tokens])
    plain, same = (clusters(x, names, k=4, spaces=BASELINE)[0] for names in (tokens, marked))
    assert [c.stop_words for c in plain.clusters] == [c.stop_words for c in same.clusters]
    assert [c.punctuation for c in plain.clusters] == [c.punctuation for c in same.clusters]


def test_stop_words_of_ones_own():
    x, tokens = made(shared=False)
    (found,) = clusters(x, tokens, k=4, spaces=BASELINE, stop_words=frozenset(["lamp"]))
    assert found.clusters[1].stop_words == 0
    assert found.clusters[3].stop_words == 0.5
    assert {"the", "of", "not"} <= english_stop_words()


def test_typical_tokens():
    """By hand: p log(p/q) is 2.10 for a, 0.45 for c, 0.05 for b."""
    here, whole = Counter({"a": 4, "b": 4, "c": 1}), Counter({"a": 4, "b": 400, "c": 2, "d": 600})
    assert typical(here, whole) == ("a", "c", "b")


@pytest.mark.parametrize("k", [1, 131])
def test_wrong_numbers_of_clusters(k):
    x, tokens = made(shared=False)
    with raises(LimbeckError, code="out_of_range", parameter="clusters"):
        clusters(x, tokens, k=k, spaces=BASELINE)


def test_a_small_cluster_has_no_direction():
    x, tokens = made(shared=False)
    far = np.concatenate([x, 500 + np.random.default_rng(0).standard_normal((3, x.shape[1]))])
    (found,) = clusters(far, np.append(tokens, ["x"] * 3), k=5, spaces=BASELINE)
    assert found.clusters[-1].size == 3
    assert np.isnan(found.clusters[-1].halves)
    assert np.isnan(found.cosines[-1]).all()
    assert np.isfinite(found.mean_cosine[0])


def test_two_clusters_show_nothing_of_directions():
    """One angle has no interval: it is said what is lacking."""
    x, tokens = made(shared=False)
    punctuation, directions = cluster_claims(clusters(x, tokens, k=2, spaces=BASELINE))
    assert directions.verdict == "cannot be shown"
    assert "3 clusters of 20 rows or more are needed, 2 of 2 are" in directions.why
    assert punctuation.verdict != "cannot be shown"


def test_fewer_clusters_than_were_asked_for_are_told():
    """Three different vectors make three clusters, whatever number was asked for."""
    corpus = Corpus.from_sentences([["old", "lamp", "fell"] * 3 + [str(at)] for at in range(40)])

    def encode(texts):
        return [np.stack([planted.numbers(word if word.isalpha() else "old", 6) for word in t.words]) for t in texts]

    source = TextSource(corpus, FunctionEncoder(encode, name="made"))
    found = clusters_of(source, k=8, settings=AnalysisSettings(method="center"))
    assert [row["clusters"] for row in found.rows("directions")] == [3, 3]
    assert [note for note in found.notes if "baseline: 3 clusters instead of 8" in note]
    enough = clusters_of(source, k=3, settings=AnalysisSettings(method="center"))
    assert not enough.notes


def test_clusters_of_a_text():
    words = [[*planted.NOUNS[:4], ".", "the", planted.VERBS[at % 8]] for at in range(60)]
    source = TextSource(
        Corpus.from_sentences([[f"w{at}", *sentence] for at, sentence in enumerate(words)]),
        FunctionEncoder(planted.by_word_and_context(), name="made"),
    )
    settings = AnalysisSettings(method="center")
    found = clusters_of(source, k=6, settings=settings)
    rows = found.rows("clusters")
    assert {row["space"] for row in rows} == {"baseline", "center"}
    assert sum(row["size"] for row in rows if row["space"] == "baseline") == 60 * 8
    assert len(found.rows("directions")) == 2
    assert found.settings["clusters"] == 6
    assert clusters_of(source, settings=settings).settings["clusters"] == 27
