"""The data of the paper's analyses, where they are at hand."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from limbeck.analysis.groups import make_groups, read_pairs
from limbeck.analysis.lexicon import AMBIGUOUS, TenseLexicon, find_verbs
from limbeck.corpus import Corpus

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "tagging"

pytestmark = [
    pytest.mark.data,
    pytest.mark.skipif(not SHARED.is_dir(), reason="the data folder beside the repository is not there"),
]


@pytest.fixture(scope="module")
def treebank():
    return list(Corpus(str(SHARED / "UD_English-EWT" / "*.conllu.xz"), format="conllu"))


def test_groups_of_the_treebank(treebank):
    groups = make_groups(treebank)
    held = Counter(token for group in groups for token in group.places)
    assert min(held[token] for token in (".", ",", "the", "of")) == 200
    told = {sentence.words for sentence in treebank}
    for group in groups:
        assert len({sentence.words for sentence in group.sentences}) == 6
        assert group.sentences[0].words in told


def test_tenses_of_the_treebank(treebank):
    lexicon = TenseLexicon.learn(treebank)
    for lemma, word, tense in [
        ("be", "is", "present"), ("be", "were", "past"), ("see", "saw", "past"), ("find", "found", "past"),
        ("give", "given", "past"), ("make", "makes", "present"), ("take", "take", "present"),
    ]:  # fmt: skip
        assert lexicon.tense(lemma, word) == (tense, "")
    for lemma, word in [("put", "put"), ("read", "read"), ("run", "run")]:
        assert lexicon.tense(lemma, word) == ("", AMBIGUOUS)


def test_verbs_of_semcor(treebank):
    """301 verbs of one word have two senses of at least 10 occurrences; 312 with those of several words."""
    semcor = list(Corpus(SHARED / "semcor3.0.tar.xz"))
    found = find_verbs(semcor, TenseLexicon.learn(treebank))
    senses: dict[str, Counter[str]] = {}
    for sentence in semcor:
        for labels in sentence.labels.values():
            if labels.get("lexsn", "").startswith("2:") and "span" not in labels:
                senses.setdefault(labels["lemma"].lower(), Counter())[labels["sense"]] += 1
    many = {lemma: {s for s, n in told.items() if n >= 10} for lemma, told in senses.items()}
    many = {lemma: told for lemma, told in many.items() if len(told) > 1}
    assert len(many) == 301
    assert set(found.lemmas) <= set(many)
    assert len(set(found.lemmas)) > 280
    assert set(found.tenses) == {"past", "present"}
    assert max(Counter(zip(found.lemmas, found.senses, found.tenses, strict=True)).values()) == 20


def test_pairs():
    pairs = read_pairs(sorted((SHARED / "syntax-pairs-sample").glob("*.tsv")))
    assert len(pairs) == 300
    assert sum(pair.same for pair in pairs) == 47 + 50 + 49
    for pair in pairs:
        assert pair.place < min(len(pair.first), len(pair.second))
        if pair.same:
            assert len(pair.first) == len(pair.second)
