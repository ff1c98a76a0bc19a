"""The sentence pairs that the miniatures are tried on: one word apart, none twice, and knowing words alone is no help.

Written by hand for this project; CC0.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "recipes" / "pairs"
SETS = ("agreement", "cloze")
NUMBER = "simple past perfect attractor relative relative-subject there determiner quantifier coordination".split()
SINGULAR = set(
    """is was has does this much itself himself flows takes lives contains begins includes remains plays produces
    appears runs provides makes goes says serves varies comes shows grows bridge attempt book year student player town
    member word island village state song judge game child attack debate discussion difference time""".split()
)
PLURAL = set(
    """are were have do these many themselves flow take live contain begin include remain play produce appear run
    provide make go say serve vary come show grow bridges attempts books years students players towns members words
    islands villages states songs judges games children attacks debates discussions differences times""".split()
)


@dataclass(frozen=True)
class Pair:
    kind: str
    good: str
    bad: str

    @property
    def apart(self) -> list[tuple[str, str]]:
        """Where the sentences differ: (right word, wrong word), lower-cased."""
        good, bad = words(self.good), words(self.bad)
        assert len(good) == len(bad), self
        return [(a, b) for a, b in zip(good, bad, strict=True) if a != b]


def words(sentence: str) -> list[str]:
    return re.findall(r"[\w-]+|[^\w\s]", sentence.lower())


@cache
def pairs(name: str) -> list[Pair]:
    head, *rows = (FOLDER / f"{name}.tsv").read_text(encoding="utf-8").splitlines()
    assert head == "kind\tgood\tbad"
    return [Pair(*row.split("\t")) for row in rows]


def accuracy_of_words_alone(given: list[Pair]) -> float:
    """Of a scorer that knows only how often each word is right in these very pairs: 0.5 where that is no help."""
    right = Counter(a for pair in given for a, _ in pair.apart)
    scores = [(right[a] > right[b]) + 0.5 * (right[a] == right[b]) for pair in given for a, b in pair.apart]
    return sum(scores) / len(scores)


def near(sentence: str, other: str) -> float:
    """What part of the words of either stands in both."""
    a, b = set(words(sentence)), set(words(other))
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("name", SETS)
def test_there_are_enough(name: str) -> None:
    assert len(pairs(name)) >= 220
    kinds = Counter(pair.kind for pair in pairs(name))
    assert len(kinds) >= 10
    assert min(kinds.values()) >= 6
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", kind) for kind in kinds)


@pytest.mark.parametrize("name", SETS)
def test_one_word_differs(name: str) -> None:
    for pair in pairs(name):
        assert len(pair.apart) == 1, pair
        for sentence in (pair.good, pair.bad):
            assert re.fullmatch(r"[A-Z][A-Za-z0-9 ,-]+\.", sentence), sentence
            assert "  " not in sentence


@pytest.mark.parametrize("name", SETS)
def test_the_word_has_something_on_its_left(name: str) -> None:
    """A causal model sees nothing else."""
    assert [pair for pair in pairs(name) if words(pair.good)[0] != words(pair.bad)[0]] == []


def test_no_sentence_is_near_another() -> None:
    good = [pair.good for name in SETS for pair in pairs(name)]
    assert len({sentence.lower() for sentence in good}) == len(good)
    close = [(a, b) for a, b in combinations(good, 2) if near(a, b) > 0.6]
    assert close == []


def test_near_sentences_are_seen() -> None:
    assert near("The king was killed in 1804.", "The king was crowned in 1804.") > 0.6


@pytest.mark.parametrize("name", SETS)
def test_each_word_is_right_as_often_as_wrong(name: str) -> None:
    used = Counter(pair.apart[0] for pair in pairs(name))
    assert {(a, b): n for (a, b), n in used.items() if used[b, a] != n} == {}
    if name == "cloze":
        assert set(used.values()) == {1}  # and the same two words do not come again
    assert accuracy_of_words_alone(pairs(name)) == 0.5


def test_a_trigram_cannot_know_what_is_distant() -> None:
    """Two words to the left and all to the right are the same whether a word is right or wrong there."""
    around: dict[frozenset[str], list[tuple[list[str], list[str]]]] = {}
    for pair in pairs("cloze"):
        if pair.kind == "distant":
            sentence, (right, wrong) = words(pair.good), pair.apart[0]
            at = sentence.index(right)
            around.setdefault(frozenset({right, wrong}), []).append((sentence[at - 2 : at], sentence[at + 1 :]))
    assert len(around) >= 30
    assert [key for key, (one, other) in around.items() if one != other] == []


def test_words_alone_would_be_seen() -> None:
    one_sided = [Pair("x", f"They {verb} here.", f"They {verb}s here.") for verb in ("live", "work", "play")]
    assert accuracy_of_words_alone(one_sided) == 1.0
    assert accuracy_of_words_alone(one_sided + [Pair("x", pair.bad, pair.good) for pair in one_sided]) == 0.5


def test_singular_is_right_as_often_as_plural() -> None:
    assert not SINGULAR & PLURAL
    for kind in [*NUMBER, "reflexive-number"]:
        right = [pair.apart[0][0] for pair in pairs("agreement") if pair.kind == kind]
        assert set(right) <= SINGULAR | PLURAL, set(right) - SINGULAR - PLURAL
        assert sum(word in SINGULAR for word in right) == len(right) / 2, kind
