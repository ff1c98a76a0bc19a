"""The sample corpus: how much there is, what its labels say, and that no sentence was written twice."""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import pytest
from refusals import raises

from limbeck.corpus import Corpus
from limbeck.corpus.sample import SAMPLE, sample_path
from limbeck.corpus.units import Text
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.spelling import Speller
from limbeck.errors import InputError

GENRES = {"news", "encyclopedic", "conversational", "technical", "narrative"}
#: WordNet's lexicographer files of nouns (lexnames(5WN))
CLASSES = {
    f"noun.{name}"
    for name in """Tops act animal artifact attribute body cognition communication event feeling food group location
    motive object person phenomenon plant possession process quantity relation shape state substance time""".split()
}
IRREGULAR_PLURALS = {"foot": "feet", "mouse": "mice"}
#: past tenses that are not made by adding -ed
PAST = dict(
    pair.split(":")
    for pair in """begin:began break:broke bring:brought build:built choose:chose draw:drew drive:drove eat:ate
    fall:fell find:found fly:flew give:gave grow:grew hear:heard hold:held keep:kept know:knew lead:led leave:left
    let:let lie:lay lose:lost mean:meant meet:met pay:paid run:ran say:said send:sent sit:sat speak:spoke spend:spent
    stand:stood take:took tell:told understand:understood write:wrote""".split()
)
RUN = 8  #: words that no two paragraphs share in a row
ALIKE = 0.7  #: share of common words from which two sentences say the same

Line = dict[str, Any]


@pytest.fixture(scope="module")
def lines() -> list[Line]:
    """The file itself, read without limbeck."""
    return [json.loads(line) for line in sample_path().read_text(encoding="utf-8").splitlines()]


# as a corpus


def test_it_is_named_sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = Corpus("sample")
    assert corpus.format == "jsonl"
    assert corpus.describe()["paths"] == ["sample"]
    assert Corpus(sample_path()).describe() == corpus.describe()  # no record names the place of installation
    assert "sample" not in Corpus.from_text("A text.").describe()["paths"]


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path(SAMPLE).write_text("This one is mine.\n", encoding="utf-8")
    assert [sentence.words for sentence in Corpus("sample")] == [("This", "one", "is", "mine", ".")]
    with raises(InputError, code="not_found"):
        Corpus("./simple")


def test_it_reads_as_it_is_written(lines: list[Line]) -> None:
    read = list(Corpus("sample"))
    assert [list(sentence.words) for sentence in read] == [line["words"] for line in lines]
    assert read[-1].document + 1 == len({line["document"] for line in lines})
    for sentence, line in zip(read, lines, strict=True):
        assert {str(index): dict(layers) for index, layers in sentence.labels.items()} == line.get("labels", {})


# how much there is


def test_counts(lines: list[Line]) -> None:
    assert len(lines) >= 1_500
    documents = [line["document"] for line in lines]
    begun = [one for one, next_one in pairwise([*documents, ""]) if one != next_one]
    assert len(begun) == len(set(begun)) >= 300  # the lines of a paragraph stand together
    genres = Counter(document.rpartition("-")[0] for document in begun)
    assert set(genres) == GENRES
    assert min(genres.values()) >= 30


def test_its_page_tells_the_counts(lines: list[Line]) -> None:
    page = sample_path().with_name("README.md").read_text(encoding="utf-8")
    counts = {
        "paragraphs": len({line["document"] for line in lines}),
        "sentences": len(lines),
        "words and signs": sum(len(line["words"]) for line in lines),
        "nouns": len(labels_of(lines, "class")),
        "verbs": len(labels_of(lines, "tense")),
    }
    for what, count in counts.items():
        assert re.search(rf"\b{count:,} (short )?{what}", page), f"{count:,} {what}"


def test_characters(lines: list[Line]) -> None:
    for number, line in enumerate(lines, 1):
        assert set(line) <= {"words", "labels", "glued", "document"}, number
        text = " ".join(line["words"])
        assert text.isascii(), number
        assert text.isprintable(), number
        assert not re.search(r"<\w|</|[*#`|{}\[\]\\^~]|__|==|https?:|&\w+;|''|``", text), f"{number}: {text}"
        assert all(word and " " not in word for word in line["words"]), number


def test_quotes_are_closed(lines: list[Line]) -> None:
    quotes = Counter[str]()
    for line in lines:
        quotes[line["document"]] += line["words"].count('"')
    assert not [document for document, count in quotes.items() if count % 2]


# labels


def labels_of(lines: list[Line], layer: str) -> dict[str, dict[str, set[int]]]:
    """lemma -> value -> numbers of the sentences that have it."""
    found: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    for number, line in enumerate(lines, 1):
        for label in line.get("labels", {}).values():
            if layer in label:
                found[label["lemma"]][label[layer]].add(number)
    return found


def test_labels_are_where_they_say(lines: list[Line]) -> None:
    for number, line in enumerate(lines, 1):
        for place, label in line.get("labels", {}).items():
            assert 0 <= int(place) < len(line["words"]), number
            assert set(label) in ({"lemma", "class"}, {"lemma", "tense"}), number
            word = line["words"][int(place)].lower()
            assert word in forms_of(label), f"{number}: {word!r} is no form of {label}"


def test_a_label_on_the_wrong_word_is_found() -> None:
    """The twin: neighbours, other lemmas and other tenses are no forms."""
    assert "the" not in forms_of({"lemma": "bank", "class": "noun.object"})
    assert "bands" not in forms_of({"lemma": "bank", "class": "noun.object"})
    assert "walked" not in forms_of({"lemma": "walk", "tense": "present"})
    assert "lay" not in forms_of({"lemma": "lie", "tense": "present"})


def forms_of(label: dict[str, str]) -> set[str]:
    """The ways to write a labelled word: a noun in both numbers, a verb in its tense."""
    lemma = label["lemma"]
    with_s = {lemma + "s", lemma + "es", re.sub("y$", "ies", lemma)}
    if "class" in label:
        return {lemma, *with_s, IRREGULAR_PLURALS.get(lemma, lemma)}
    if label["tense"] == "present":
        return {lemma, *with_s}
    assert label["tense"] == "past"
    return {PAST[lemma]} if lemma in PAST else {lemma + "ed", lemma + "d"}


def test_words_of_several_classes(lines: list[Line]) -> None:
    found = labels_of(lines, "class")
    assert {one for classes in found.values() for one in classes} <= CLASSES
    assert sum(len(classes) >= 2 for classes in found.values()) >= 60
    few = [(word, one) for word, classes in found.items() for one, where in classes.items() if len(where) < 6]
    assert not few


def test_verbs_in_both_tenses(lines: list[Line]) -> None:
    found = labels_of(lines, "tense")
    both = [verb for verb, tenses in found.items() if set(tenses) == {"present", "past"}]
    assert len(both) == len(found) >= 36
    assert min(len(where) for tenses in found.values() for where in tenses.values()) >= 2


def test_labels_choose_words() -> None:
    """--targets label:class gives the labelled words a vector, and no other."""
    prepare = PiecePreparer(Speller(longest=50, lowercase=True), capacity=1_000, targets="label:class")
    sentences = list(Corpus("sample"))
    found = prepare([Text((sentence,)) for sentence in sentences])
    wanted = [sentence.words[i] for sentence in sentences for i, label in sentence.labels.items() if "class" in label]
    assert len(wanted) > 700
    assert sorted(found.strings) == sorted(wanted)


# nothing twice


def words_in(line: Line) -> list[str]:
    return [word.lower() for word in line["words"] if word[0].isalnum()]


def alike(sentences: list[set[str]]) -> list[tuple[int, int]]:
    """Pairs of sentences of six words or more whose words are mostly the same."""
    long = [(number, words) for number, words in enumerate(sentences, 1) if len(words) >= 6]
    found = []
    for (i, a), (j, b) in combinations(long, 2):
        # the smaller set decides how alike they can be at most
        if min(len(a), len(b)) >= ALIKE * max(len(a), len(b)) and len(a & b) >= ALIKE * len(a | b):
            found.append((i, j))
    return found


def shared_runs(paragraphs: dict[str, list[str]]) -> dict[str, set[str]]:
    """Runs of words that stand in more than one paragraph, and in which."""
    places: dict[str, set[str]] = defaultdict(set)
    for name, words in paragraphs.items():
        for start in range(len(words) - RUN + 1):
            places[" ".join(words[start : start + RUN])].add(name)
    return {run: names for run, names in places.items() if len(names) > 1}


def test_no_sentence_is_nearly_another(lines: list[Line]) -> None:
    assert not alike([set(words_in(line)) for line in lines])


def test_no_paragraph_repeats_another(lines: list[Line]) -> None:
    paragraphs: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        paragraphs[line["document"]] += words_in(line)
    assert not shared_runs(paragraphs)


def test_repetitions_are_found() -> None:
    """The twin: a changed word, or a run of eight, is enough."""
    one = "the old crane at the end of the quay was taken down in march".split()
    other = "the old crane at the end of the pier was taken down in april".split()
    assert alike([set(one), set(other), set("one two three four five six".split())]) == [(1, 2)]
    assert set(shared_runs({"a": one, "b": other})) == {"the old crane at the end of the"}
    assert not shared_runs({"a": one, "b": one[7:]})
