"""The planning pass against plain counting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from made import sentences
from refusals import raises

from limbeck.corpus import Corpus
from limbeck.corpus.units import Sentence, texts_of
from limbeck.errors import LimbeckError
from limbeck.seeds import hash_text
from limbeck.stream.plan import DUPLICATE, Choice, Plan, Surveyed, _HashNumbers, _HashSet, make_plan, surveyed
from limbeck.stream.tasks import SurveyChunk, chunks_of

EVERYTHING = Choice(min_contexts=1)


def index_of(
    made: list[Sentence],
    *,
    characters: int = 10**6,
    choice: Choice = EVERYTHING,
    shard_units: int = 10**6,
    deduplicate: bool = True,
    text_unit: str = "sentence",
) -> Plan:
    """A plan of sentences, sent to the survey in chunks of so many characters."""
    corpus = Corpus.from_sentences(made)
    look = SurveyChunk(corpus, text_unit, None)  # type: ignore[arg-type]
    surveys = map(look, chunks_of(corpus.documents(), characters))
    return make_plan(surveys, choice=choice, shard_units=shard_units, deduplicate=deduplicate)


def counted(made: list[Sentence], *, deduplicate: bool = True) -> tuple[Counter[str], Counter[str], int]:
    """Occurrences and texts of each word, and words in repeated texts."""
    occurrences: Counter[str] = Counter()
    contexts: Counter[str] = Counter()
    said: set[tuple[str, ...]] = set()
    repeated = 0
    for sentence in made:
        if deduplicate and sentence.words in said:
            repeated += len(sentence.words)
            continue
        said.add(sentence.words)
        occurrences.update(sentence.words)
        contexts.update(set(sentence.words))
    return occurrences, contexts, repeated


@pytest.mark.parametrize("characters", [1, 150, 10**6])
@pytest.mark.parametrize("deduplicate", [True, False])
def test_counts_are_those_of_plain_counting_however_the_text_is_chunked(characters: int, deduplicate: bool) -> None:
    made = sentences(300, documents=12)
    plan = index_of(made, characters=characters, deduplicate=deduplicate)
    occurrences, contexts, repeated = counted(made, deduplicate=deduplicate)
    vocabulary = plan.vocabulary
    assert dict(zip(vocabulary.words, vocabulary.counts.tolist(), strict=True)) == dict(occurrences)
    assert dict(zip(vocabulary.words, vocabulary.contexts.tolist(), strict=True)) == dict(contexts)
    assert plan.units == occurrences.total()
    assert plan.types == len(occurrences)
    assert plan.dropped == ({DUPLICATE: repeated} if repeated else {})
    assert plan.documents == 12
    assert plan.sentences == 300
    assert (repeated > 0) == deduplicate


def test_the_vocabulary_is_in_one_order_whatever_the_chunks() -> None:
    made = sentences(300, documents=12)
    plans = [index_of(made, characters=n, choice=Choice(min_contexts=3, max_words=9)) for n in (1, 77, 10**6)]
    assert len({tuple(plan.vocabulary.words) for plan in plans}) == 1
    assert len({plan.fingerprint for plan in plans}) == 1
    # most frequent first, ties by spelling
    ranks = [(-count, word) for word, count in zip(plans[0].vocabulary, plans[0].vocabulary.counts, strict=True)]
    assert ranks == sorted(ranks)


def test_a_word_needs_different_texts_or_occurrences() -> None:
    made = [Sentence(tuple(words.split()), index=i) for i, words in enumerate(["a a a b", "b c", "b c", "c d"])]
    assert index_of(made, choice=Choice(min_contexts=2)).vocabulary.words == ["b", "c"]  # "b c" counts once
    by_count = index_of(made, choice=Choice(min_contexts=3, by_occurrences=True), deduplicate=False)
    assert by_count.vocabulary.words == ["a", "b", "c"]
    assert by_count.vocabulary.contexts.tolist() == [1, 3, 3]


def test_words_of_duplicates_alone_are_no_words_of_the_corpus() -> None:
    made = [Sentence(("a", "b")), Sentence(("a", "b"), document=1), Sentence(("c",), document=2)]
    plan = index_of(made, characters=1)
    assert plan.vocabulary.words == ["a", "b", "c"]
    assert plan.duplicates.tolist() == [made[1].identity]
    assert plan.texts == 2


def test_paragraphs_are_compared_as_wholes() -> None:
    made = [
        Sentence(("x", "y"), 0, 0, 0), Sentence(("z",), 0, 0, 1),
        Sentence(("x", "y"), 0, 1, 2), Sentence(("w",), 0, 1, 3),
        Sentence(("x",), 1, 0, 0), Sentence(("y", "z"), 1, 0, 1),  # says the same as the first paragraph
    ]  # fmt: skip
    plan = index_of(made, text_unit="paragraph")
    assert plan.texts == 2
    assert plan.duplicates.tolist() == [made[4].identity]
    assert dict(zip(plan.vocabulary, plan.vocabulary.contexts.tolist(), strict=True)) == {
        "x": 2,
        "y": 2,
        "w": 1,
        "z": 1,
    }


def test_max_words_are_chosen_by_hash_and_punctuation_is_left_out() -> None:
    made = sentences(400)
    occurrences, _, _ = counted(made)
    plan = index_of(made, choice=Choice(min_contexts=1, max_words=5))
    assert set(plan.vocabulary.words) == set(sorted(occurrences, key=lambda word: hash_text(f"0\x1f{word}"))[:5])
    without = index_of(made, choice=Choice(min_contexts=1, drop_punctuation=True))
    assert set(occurrences) - set(without.vocabulary.words) == {",", "."}
    assert without.units == occurrences.total()  # they are measured with the rest, only not followed


@pytest.mark.parametrize("size", [1, 40, 100, 10**6])
def test_shards_are_whole_documents_and_cover_all(size: int) -> None:
    made = sentences(200, documents=9)
    plan = index_of(made, shard_units=size, characters=100)
    assert plan.shards[0].start == 0
    assert plan.shards[-1].stop == 9
    assert [shard.number for shard in plan.shards] == list(range(len(plan.shards)))
    assert all(a.stop == b.start for a, b in zip(plan.shards, plan.shards[1:], strict=False))
    words = Counter[int]()
    for sentence in made:
        words[sentence.document] += len(sentence.words)
    for shard in plan.shards:
        assert shard.units == sum(words[document] for document in range(shard.start, shard.stop))
        # a shard ends as soon as it is large enough
        assert sum(words[document] for document in range(shard.start, shard.stop - 1)) <= size
    assert len(plan.shards) == (9 if size == 1 else 1 if size == 10**6 else len(plan.shards))


def test_a_plan_survives_its_arrays() -> None:
    plan = index_of(sentences(100), shard_units=50)
    again = Plan.from_arrays(plan.to_arrays(), plan.dropped)
    assert again.vocabulary.words == plan.vocabulary.words
    assert again.shards == plan.shards
    assert again.duplicates.tolist() == plan.duplicates.tolist()
    for name in ("units", "texts", "sentences", "documents", "types", "dropped", "fingerprint"):
        assert getattr(again, name) == getattr(plan, name)


def test_no_words_at_all_is_an_error() -> None:
    with raises(LimbeckError, code="no_words", parameter="corpus"):
        make_plan(iter(()), choice=EVERYTHING, shard_units=10)


def test_tokens_that_are_no_words_are_counted_but_not_followed() -> None:
    found = surveyed(
        ["a", "", "a", "a"],
        np.array([1, 1, 2, 2]),
        contents={1: 11, 2: 22},
        documents=np.array([0]),
        document_units=np.array([4]),
        sentences=2,
    )
    plan = make_plan([found], choice=EVERYTHING, shard_units=10)
    assert plan.vocabulary.words == ["a"]
    assert plan.units == 4


def test_a_word_of_a_duplicate_alone_is_no_word_of_what_follows() -> None:
    """A survey repeats an earlier one's text, and has a new word after it: names and counts stay together."""

    def survey(texts: list[str], first: int) -> Surveyed:
        words = [text.split() for text in texts]
        return surveyed(
            [word for own in words for word in own],
            np.repeat(np.arange(first, first + len(texts)), [len(own) for own in words]),
            contents={first + i: hash_text(text) for i, text in enumerate(texts)},
            documents=np.array([first]),
            document_units=np.array([sum(map(len, words))]),
            sentences=len(texts),
        )

    plan = make_plan(
        [survey(["a b"], 0), survey(["z q a"], 1), survey(["a b", "c a c"], 2)], choice=EVERYTHING, shard_units=99
    )
    assert dict(zip(plan.vocabulary.words, plan.vocabulary.counts.tolist(), strict=True)) == {
        "a": 3, "b": 1, "c": 2, "z": 1, "q": 1
    }  # fmt: skip
    assert plan.types == 5


def test_the_hash_set_is_a_set() -> None:
    generator = np.random.default_rng(3)
    known: set[int] = set()
    kept = _HashSet()
    for _ in range(60):
        hashes = generator.integers(0, 4000, size=int(generator.integers(0, 200))).astype(np.uint64)
        hashes[hashes % 7 == 0] += np.uint64(2**63)
        expected = []
        for value in hashes.tolist():
            expected.append(value not in known)
            known.add(value)
        assert kept.add(hashes).tolist() == expected


def test_the_hash_set_stays_a_set_when_it_grows() -> None:
    kept = _HashSet()
    values = np.random.default_rng(1).integers(0, 2**63, size=200_000).astype(np.uint64)
    for part in np.array_split(values, 7):
        assert kept.add(part).all()
    assert not kept.add(values).any()


def test_hashes_are_numbered_as_they_come() -> None:
    """Against a dict; with growth, and with hashes that want one place."""
    generator = np.random.default_rng(4)
    known: dict[int, int] = {}
    kept = _HashNumbers()
    pool = generator.integers(2, 2**63, size=150_000).astype(np.uint64)
    pool[:200] = (pool[:200] >> np.uint64(20)) << np.uint64(20)  # all want the first place
    for size in (0, 1, 50, 40_000, 40_000, 90_000):
        hashes = np.unique(generator.choice(pool, size=size))
        generator.shuffle(hashes)
        new = [value not in known for value in hashes.tolist()]
        for value in hashes.tolist():
            known.setdefault(value, len(known))
        numbers, fresh = kept.add(hashes)
        assert fresh.tolist() == new
        assert numbers.tolist() == [known[value] for value in hashes.tolist()]


def test_texts_leave_out_sentences_without_words() -> None:
    def surveys() -> Iterator[Surveyed]:
        made = [Sentence(("a",), index=0), Sentence((), index=1), Sentence(("b",), index=2)]
        texts = texts_of(made, "document")
        assert [len(text.sentences) for text in texts] == [2]
        yield SurveyChunk(Corpus.from_sentences(made), "sentence", None)(list(Corpus.from_sentences(made).documents()))

    assert make_plan(surveys(), choice=EVERYTHING, shard_units=9).texts == 2
