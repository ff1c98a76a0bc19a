"""Verbs by tense and meaning: labels, lexicon, distances."""

from __future__ import annotations

import itertools
import math

import numpy as np
import planted
import pytest
from refusals import raises
from scipy.spatial.distance import cdist

from limbeck.analysis import AnalysisSettings, Method, TenseSettings, fit_spaces, tense, tense_of
from limbeck.analysis.lexicon import AMBIGUOUS, BEYOND, MULTIWORD, UNKNOWN, UNTENSED, TenseLexicon, find_verbs
from limbeck.analysis.tenses import tense_claims, verb_distances
from limbeck.corpus import Corpus
from limbeck.corpus.sample import sample_path
from limbeck.encoders import FunctionEncoder
from limbeck.errors import InputError, LimbeckError
from limbeck.measures import log10_isotropy

TREEBANK = [  # form, lemma, upos, feats, how often
    ("walk", "walk", "VERB", "VerbForm=Inf", 5),
    ("walk", "walk", "VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin", 1),
    ("walked", "walk", "VERB", "Mood=Ind|Tense=Past|VerbForm=Fin", 2),
    ("walking", "walk", "VERB", "VerbForm=Ger", 2),
    ("Saw", "see", "VERB", "Mood=Ind|Tense=Past|VerbForm=Fin", 3),
    ("saw", "saw", "VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin", 1),
    ("sees", "see", "VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin", 1),
    ("put", "put", "VERB", "Mood=Ind|Tense=Past|VerbForm=Fin", 3),
    ("put", "put", "VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin", 3),
    ("come", "come", "VERB", "Mood=Ind|Tense=Pres|VerbForm=Fin", 99),
    ("come", "come", "VERB", "Tense=Past|VerbForm=Part", 1),
    ("walk", "walk", "NOUN", "Number=Sing", 50),
]


@pytest.fixture
def lexicon(tmp_path):
    lines = []
    for form, lemma, upos, feats, often in TREEBANK:
        lines += [f"1\t{form}\t{lemma}\t{upos}\t_\t{feats}\t0\troot\t_\t_\n\n"] * often
    path = tmp_path / "tiny.conllu"
    path.write_text("".join(lines), encoding="utf-8")
    return TenseLexicon.learn(Corpus(path))


@pytest.mark.parametrize(
    ("lemma", "word", "told"),
    [
        ("walk", "walk", ("present", "")),
        ("Walk", "Walked", ("past", "")),
        ("see", "saw", ("past", "")),
        ("saw", "saw", ("present", "")),
        ("come", "come", ("present", "")),  # one of a hundred is no ambiguity
        ("put", "put", ("", AMBIGUOUS)),
        ("walk", "walking", ("", UNTENSED)),
        ("walk", "walks", ("", UNKNOWN)),
        ("go", "went", ("", UNKNOWN)),
    ],
)
def test_tense_by_form(lexicon, lemma, word, told):
    assert lexicon.tense(lemma, word) == told


def test_a_treebank_without_tenses(tmp_path):
    path = tmp_path / "bare.conllu"
    path.write_text("1\twalks\twalk\tVERB\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    with raises(InputError, code="no_labels", parameter="data"):
        TenseLexicon.learn(Corpus(path))


def semcor(rows, tmp_path):
    """A tag file of one-verb sentences (word, lemma, lexsn, wnsn)."""
    lines = ["<contextfile concordance=brown>", "<context filename=br-a01 paras=yes>", "<p pnum=1>"]
    for number, (word, lemma, lexsn, wnsn) in enumerate(rows, 1):
        lines += [
            f"<s snum={number}>",
            f"<wf cmd=ignore pos=PRP>Sentence{number}</wf>",
            f"<wf cmd=done pos=VB lemma={lemma} wnsn={wnsn} lexsn={lexsn}>{word}</wf>",
            "<punc>.</punc>",
            "</s>",
        ]
    folder = tmp_path / "tagfiles"
    folder.mkdir()
    (folder / "br-a01").write_text("\n".join([*lines, "</p>", "</context>", "</contextfile>"]), encoding="utf-8")
    return Corpus(folder / "br-a01", format="semcor")


def test_verbs_of_semcor(lexicon, tmp_path):
    rows = [("walk", "walk", "2:38:00::", 1)] * 4 + [("walked", "walk", "2:38:00::", 1)] * 2
    rows += [("walked", "walk", "2:41:00::", 2)] * 3 + [("walks", "walk", "2:41:00::", 2)]
    rows += [("walk", "walk", "2:99:00::", 3)] * 2  # too few of this sense
    rows += [("saw", "see", "2:39:00::", 1)] * 5  # one sense
    rows += [("put", "put", "2:35:00::", 1)] * 4 + [("put", "put", "2:36:00::", 2)] * 4
    rows += [("took_place", "take_place", "2:30:00::", 1)] * 5
    rows += [("walk", "walk", "1:04:00::", 1)] * 9  # a noun
    rows += [("walk", "walk", "2:38:00::", 0)] * 9  # no sense in WordNet
    found = find_verbs(semcor(rows, tmp_path), lexicon, TenseSettings(min_occurrences=4, max_occurrences=3))
    assert found.dropped == {MULTIWORD: 5, AMBIGUOUS: 8, UNKNOWN: 1, BEYOND: 1}
    told = sorted(zip(found.lemmas, found.senses, found.tenses, strict=True))
    assert told == sorted(
        [("walk", "walk%2:38:00::", "present")] * 3
        + [("walk", "walk%2:38:00::", "past")] * 2
        + [("walk", "walk%2:41:00::", "past")] * 3
    )
    # their places are those of the sentences that are kept
    by_name = {sentence.identity: sentence for sentence in found.sentences}
    words = [by_name[name].words[place] for name, place in zip(found.identities.tolist(), found.places, strict=True)]
    assert [{"walk": "present", "walked": "past"}[word] for word in words] == found.tenses
    assert len(by_name) == len(found.sentences) == 8
    again = list(Corpus.from_sentences(found.sentences))
    assert [s.identity for s in again] == [s.identity for s in found.sentences]


def test_what_is_lacking_is_told(lexicon, tmp_path):
    with raises(InputError, code="no_labels", parameter="corpus"):
        find_verbs(Corpus.from_sentences([["a", "b"]]))
    corpus = semcor([("walk", "walk", "2:38:00::", 1), ("walked", "walk", "2:41:00::", 2)], tmp_path)
    with raises(LimbeckError, code="no_labels", parameter="data"):
        find_verbs(corpus)
    with raises(LimbeckError, code="too_few", parameter="min_occurrences"):
        find_verbs(corpus, lexicon)


# --- distances ---------------------------------------------------------------------------------


def made(*, tense_size: float, sense_size: float, verbs: int = 12, each: int = 6, dim: int = 20, seed: int = 0):
    """Occurrences of verbs in two tenses and two senses: tense along one direction, senses along any others."""
    generator = np.random.default_rng(seed)
    rows = list(itertools.product(range(verbs), ("past", "present"), ("a", "b"), range(each)))
    verb = np.array([f"verb{row[0]:02}" for row in rows])
    tenses, senses = np.array([row[1] for row in rows]), np.array([row[2] for row in rows])
    x = generator.standard_normal((len(rows), dim))
    x[:, 0] += tense_size * (tenses == "past")
    turns = generator.standard_normal((verbs, dim - 1))
    turns /= np.linalg.norm(turns, axis=1, keepdims=True)
    x[:, 1:] += sense_size * turns[[row[0] for row in rows]] * (senses == "b")[:, None]
    return x, verb, tenses, senses


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_distances_over_all_pairs(metric):
    x, _, tenses, senses = made(tense_size=3, sense_size=2, verbs=1, each=5)
    away = cdist(x, x, metric)
    by_hand: dict[str, list[float]] = {}
    for i, j in itertools.permutations(range(len(x)), 2):
        of_tense = "ST" if tenses[i] == tenses[j] else "DT"
        of_sense = "SM" if senses[i] == senses[j] else "DM"
        for kind in (of_tense, f"{of_tense}-{of_sense}"):
            by_hand.setdefault(kind, []).append(away[i, j])
    found = verb_distances(x, tenses, senses, metric=metric)
    assert found == pytest.approx({kind: np.mean(values) for kind, values in by_hand.items()})
    assert verb_distances(x, tenses, None, metric=metric).keys() == {"ST", "DT"}


def test_pairs_that_are_not_there():
    found = verb_distances(np.eye(3), np.array(["p", "p", "p"]), np.array(["a", "a", "b"]), metric="euclidean")
    assert math.isnan(found["DT-SM"])
    assert found["ST-SM"] == pytest.approx(math.sqrt(2))


def test_a_planted_tense_dominates_until_it_is_removed():
    x, verbs, tenses, senses = made(tense_size=8, sense_size=4)
    found = tense(x, verbs, tenses, senses, spaces=fit_spaces(x, methods=[Method("all-but-the-top:n_components=1")]))
    assert [(one.space, one.metric) for one in found] == list(
        itertools.product(("baseline", "global"), ("euclidean", "cosine"))
    )
    before, after = found[0], found[2]
    assert before.values["DT-SM"][0] > before.values["ST-DM"][0] > before.values["ST-SM"][0]
    assert after.values["DT-SM"][0] < after.values["ST-DM"][0]
    assert {claim.verdict for claim in tense_claims(found) if claim.about == "euclidean"} == {"held"}
    removed = next(claim for claim in tense_claims(found) if claim.id == "T4.after.global")
    assert removed.why.startswith("ST-DM − DT-SM, with ")  # the table has DT-SM − ST-DM
    assert removed.value == pytest.approx(after.values["ST-DM"][0] - after.values["DT-SM"][0])
    # means over verbs of what each verb has
    rows = [np.flatnonzero(verbs == name) for name in np.unique(verbs)]
    by_hand = [verb_distances(x[some], tenses[some], senses[some], metric="euclidean") for some in rows]
    for kind in ("ST-SM", "ST-DM", "DT-SM", "DT-DM"):
        assert before.values[kind][0] == pytest.approx(np.mean([one[kind] for one in by_hand]))
        assert before.values[kind][1] < before.values[kind][0] < before.values[kind][2]
    assert before.isotropy[0] == pytest.approx(float(log10_isotropy(x).value))


def test_where_sense_dominates_the_claim_fails():
    """The twin: large senses, small tenses; and labels that mean nothing."""
    x, verbs, tenses, senses = made(tense_size=1, sense_size=8)
    spaces = fit_spaces(x, methods=[Method("center")])
    verdicts = {claim.id: claim.verdict for claim in tense_claims(tense(x, verbs, tenses, senses, spaces=spaces))}
    assert verdicts == {"T4.before": "not held", "T4.after.center": "held"}
    x, verbs, tenses, senses = made(tense_size=0, sense_size=0)
    verdicts = {claim.id: claim.verdict for claim in tense_claims(tense(x, verbs, tenses, senses, spaces=spaces))}
    assert verdicts["T4.before"] == "too close to call"


def test_a_verb_that_lacks_a_kind_is_left_out():
    x, verbs, tenses, senses = made(tense_size=3, sense_size=3)
    keep = ~((verbs == "verb03") & (tenses == "past"))
    found = tense(x[keep], verbs[keep], tenses[keep], senses[keep], spaces=fit_spaces(x)[:1])
    assert "verb03" not in found[0].verbs
    assert len(found[0].verbs) == 11
    only = verbs == "verb03"
    with raises(LimbeckError, code="too_few"):
        tense(x[keep & only], verbs[keep & only], tenses[keep & only], senses[keep & only], spaces=fit_spaces(x)[:1])


def test_without_senses_only_tenses_are_told_apart():
    x, verbs, tenses, _ = made(tense_size=8, sense_size=0)
    found = tense(x, verbs, tenses, spaces=fit_spaces(x, methods=[Method("all-but-the-top:n_components=1")]))
    assert found[0].values["DT"][0] > found[0].values["ST"][0]
    assert math.isnan(found[0].values["ST-SM"][0])
    verdicts = {claim.id: claim.verdict for claim in tense_claims(found) if claim.about == "euclidean"}
    assert verdicts == {
        "T4.before": "cannot be shown",
        "T4.tenses-apart": "held",
        "T4.after.global": "cannot be shown",
        "T4.tenses-nearer.global": "held",
    }
    nearer = next(claim for claim in tense_claims(found) if claim.id.startswith("T4.tenses-nearer"))
    shares = [
        np.mean([(b - a) / (b + a) for a, b in zip(one.by_verb["ST"], one.by_verb["DT"], strict=True)])
        for one in found
        if one.metric == nearer.about
    ]
    assert nearer.why == "(DT − ST) / (DT + ST) is {:.3f} before, {:.3f} after".format(*shares)
    assert nearer.value == pytest.approx(shares[0] - shares[1])


# --- on a model --------------------------------------------------------------------------------


def test_the_sample_corpus():
    """A function that knows nothing of tense but the word: forms of two tenses are two words."""
    corpus = Corpus(sample_path())
    labelled = sum("tense" in labels for s in corpus for labels in s.labels.values())
    settings = AnalysisSettings(method="center", points=2000)
    encoder = FunctionEncoder(planted.by_word_and_context(), name="made")
    found = tense_of(encoder, corpus, settings=settings, wanted=TenseSettings(max_occurrences=5))
    rows = {
        row["kind"]: row for row in found.rows("tense") if row["space"] == "baseline" and row["metric"] == "euclidean"
    }
    assert rows["DT"]["value"] > rows["ST"]["value"]
    assert rows["DT"]["verbs"] == 40
    assert rows["DT"]["occurrences"] + found.dropped[BEYOND] == labelled == 426
    assert any("senses" in note for note in found.notes)
    spaces = {row["space"]: row for row in found.rows("spaces")}
    assert spaces["center"]["fitted_on"] == 2000  # on all words of the text, not on the verbs
    eval_settings = AnalysisSettings(method="center", transductive=True)
    there = tense_of(encoder, corpus, settings=eval_settings, wanted=TenseSettings(max_occurrences=5))
    assert {row["fitted_on"] for row in there.rows("spaces")} == {0, rows["DT"]["occurrences"]}


def test_vectors_are_those_of_the_labelled_words(tmp_path):
    """A function that knows the word alone: of one verb, distances are 0 within a tense and 3 between."""
    rows = [("walk", "walk", "2:38:00::", 1), ("walked", "walk", "2:38:00::", 1)] * 2
    rows += [("walk", "walk", "2:41:00::", 2), ("walked", "walk", "2:41:00::", 2)] * 2
    treebank = tmp_path / "tiny.conllu"
    forms = [("walk", "Pres"), ("walked", "Past")]
    lines = [f"1\t{form}\twalk\tVERB\t_\tTense={told}\t0\troot\t_\t_\n\n" for form, told in forms]
    treebank.write_text("".join(lines), encoding="utf-8")
    place = {"walk": 0.0, "walked": 3.0, ".": 50.0}

    def encode(texts):
        return [np.array([[place.get(word, 90.0), 1.0] for word in text.words]) for text in texts]

    found = tense_of(
        FunctionEncoder(encode, name="made"),
        semcor(rows, tmp_path),
        treebank=Corpus(treebank),
        settings=AnalysisSettings(method="center"),
        wanted=TenseSettings(min_occurrences=4),
    )
    values = {(row["space"], row["metric"], row["kind"]): row["value"] for row in found.rows("tense")}
    for space in ("baseline", "center"):
        kinds = {kind: values[space, "euclidean", kind] for kind in ("ST-SM", "ST-DM", "DT-SM", "DT-DM")}
        assert kinds == pytest.approx({"ST-SM": 0, "ST-DM": 0, "DT-SM": 3, "DT-DM": 3})
    assert found.rows("verbs")[0]["verb"] == "walk"
