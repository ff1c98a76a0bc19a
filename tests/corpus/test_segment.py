"""Prose into sentences and words."""

from __future__ import annotations

import re

import pytest
from refusals import raises

from limbeck.corpus import segment
from limbeck.corpus.segment import characters_of, check_language, splitter_for
from limbeck.corpus.units import Sentence, Text
from limbeck.errors import MissingExtra, UsageError

spacy = pytest.importorskip("spacy")


def sentences(text: str, language: str = "en") -> list[str]:
    """The running text of each sentence."""
    found = splitter_for(language).sentences(text)
    return [Text((Sentence(words, glued=glued),)).layout()[0] for words, glued in found]


@pytest.mark.parametrize(
    "text",
    [
        "He came. | She left.",
        "Dr. Smith met Mr. J. R. R. Tolkien in the U.S. Senate. | They talked.",
        "It is the U.S. | The law holds.",
        "We met at 5 p.m. in town. | It rained.",
        '"Why?" he asked. | "I know." | She did.',
        "(It was late.) | Nobody came.",
        "Yahoo! is a firm. | Really? | Yes!",
        "See No. 5 and p. 12. | No. | Never.",
        "It was 1990. | 20 men came... and went… | Then it ended.",
        "Vitamin C. | It is good.",
        "one ends here. | another begins, all in small letters.",
        "Tokenised text ends here . | The next begins .",
        'He said , " Go . " | She went .',
        'He went . | " Go , " she said .',
        "Apples, pears, etc. are sold.",
        "Acme Inc. was founded by John Q. Public.",
    ],
)
def test_sentence_ends(text: str) -> None:
    assert sentences(text.replace(" | ", " ")) == text.split(" | ")


def test_german_ordinals() -> None:
    assert sentences("Am 3. Oktober kam er. Er ging.", "de") == ["Am 3. Oktober kam er.", "Er ging."]


def test_stops_without_blank_between() -> None:
    found = splitter_for("zh", characters=True).sentences("你好。我是王！「好？」是")
    assert ["".join(words) for words, _ in found] == ["你好。", "我是王！", "「好？」", "是"]


PROSE = [
    "Don't say \"that\" -- it isn't (so) good; e.g. 'tis 5% of $3.50, o'clock: http://a.b/c?d=e.f (x).",
    "Emoji 👩‍👩‍👧 😀😀 and e\u0301 accents, nai\u0308ve co-operation…  two  blanks\tand a tab.",
    "A NUL\x00byte, a zero\u200bwidth and a hard\u00a0blank. ﬁ ligature — dash–dash.",
    "العربية تجربة. हिन्दी परीक्षण।",
    "x" * 5_000 + " " + "." * 5_000,
]


@pytest.mark.parametrize("text", PROSE)
@pytest.mark.parametrize("characters", [False, True])
def test_running_text_comes_back(text: str, characters: bool) -> None:
    found = splitter_for("en", characters=characters).sentences(text)
    laid = " ".join(Text((Sentence(words, glued=glued),)).layout()[0] for words, glued in found)
    assert laid == " ".join(text.split())
    assert not any(re.search(r"\s", word) or not word for words, _ in found for word in words)


@pytest.mark.parametrize("text", [text for text in PROSE if len(text) < 1_000])
def test_words_are_those_of_spacy(text: str) -> None:
    expected = [token.text for token in spacy.blank("en")(text) if not token.is_space]
    assert [word for words, _ in splitter_for("en").sentences(text) for word in words] == expected


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The twin of the check: without memory zones spaCy keeps every string."""
    monkeypatch.setattr(segment, "KEPT_CHARACTERS", 20_000)
    nlp = spacy.blank("en")
    splitter = segment.Splitter(segment.SpacyTokenizer(nlp))
    splitter.sentences("Warm up.")
    before = len(nlp.vocab.strings)
    for i in range(30):
        splitter.sentences(" ".join(f"word{i}x{j}" for j in range(1_000)))
    assert len(nlp.vocab.strings) == before
    assert len(splitter._known) + len(splitter._older) <= 2 * (20_000 / 10 + 1_000)
    for j in range(1_000):
        nlp.tokenizer(f"another{j}")
    assert len(nlp.vocab.strings) >= before + 1_000


def test_cell_is_one_sentence() -> None:
    words, glued = splitter_for("en").words("Go. Now! It's late.")
    assert words == ("Go", ".", "Now", "!", "It", "'s", "late", ".")
    assert glued == {0, 2, 4, 6}


def test_characters_as_readers_count_them() -> None:
    assert characters_of("e\u0301a") == ("e\u0301", "a")
    assert characters_of("👩‍👧❤\ufe0f") == ("👩‍👧", "❤\ufe0f")
    assert characters_of("हिन्दी")[0] == "हि"


def test_languages() -> None:
    assert check_language("en-US") == check_language("English") == "en"
    with raises(UsageError, code="unknown_choice", says="'en'"):
        check_language("eng")
    with raises(UsageError, code="unsupported", parameter="language"):
        check_language("km")
    assert sentences("한국어 문장. 다음 문장.", "ko")


@pytest.mark.parametrize(
    ("language", "package"), [("ja", "sudachipy"), ("th", "pythainlp"), ("zh", "jieba"), ("vi", "pyvi")]
)
def test_languages_without_blanks_name_their_package(language: str, package: str) -> None:
    if segment.importlib.util.find_spec(package):
        pytest.skip(f"{package} is installed")
    with raises(MissingExtra, code="not_installed", says=(f"limbeck[{language}]", package)):
        splitter_for(language)
