"""Skip-gram and CBOW on limbeck's own reading of a text: words, duplicates, seeds, n-grams, and that they learn."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from refusals import raises

import limbeck as lb
from limbeck.corpus import Corpus
from limbeck.distillation import DistilledVectors, baselines
from limbeck.distillation.baselines import BASELINES, GRID, NgramSettings, grid, train_baseline
from limbeck.distillation.wordlist import FoldedVocabulary
from limbeck.errors import InputError, MissingExtra, UsageError
from limbeck.stream.plan import Choice, Plan, make_plan
from limbeck.stream.tasks import Survey
from limbeck.stream.workers import Pool

SMALL = NgramSettings(dim=12, epochs=3, subsampling=1.0, window=3)
SEA = ["harbour", "mast", "gull", "tide", "anchor", "reef", "brine", "fjord"]
LAW = ["verdict", "plea", "juror", "statute", "bench", "writ", "oath", "tort"]
EVERYTHING = Choice(min_contexts=1, by_occurrences=True, max_words=10**9)


def index_of(corpus: Corpus, choice: Choice = EVERYTHING) -> Plan:
    return make_plan(Survey(corpus, "sentence")(Pool()), choice=choice, shard_units=10**6)


def halves(sentences: int = 600, seed: int = 0) -> list[list[str]]:
    """Sentences of one of two subjects, whose words never meet. No letter tells which subject a word belongs to."""
    generator = np.random.default_rng(seed)
    subjects = [SEA, LAW]
    return [list(generator.choice(subjects[int(generator.integers(2))], size=6)) for _ in range(sentences)]


def cosine(a: Any, b: Any) -> float:
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


@pytest.mark.parametrize("method", BASELINES)
def test_words_that_meet_are_near(method: str) -> None:
    corpus = Corpus.from_sentences(halves())
    plan = index_of(corpus)
    made = train_baseline(method, corpus, plan, NgramSettings(dim=12, epochs=30, subsampling=1.0, window=5))
    words = plan.vocabulary.words
    assert made.matrix.shape == (16, 12)
    rows = made.matrix - made.matrix.mean(axis=0)  # what all have in common says nothing
    same, other = [], []
    for i, one in enumerate(words):
        for j in range(i):
            (same if (one in SEA) == (words[j] in SEA) else other).append(cosine(rows[i], rows[j]))
    assert np.mean(same) > np.mean(other) + 0.5, (np.mean(same), np.mean(other))  # untrained they are alike


@pytest.mark.parametrize("method", BASELINES)
def test_equal_seeds_give_equal_vectors(method: str) -> None:
    corpus = Corpus.from_sentences(halves(60))
    plan = index_of(corpus)
    first, second = (train_baseline(method, corpus, plan, SMALL).matrix for _ in range(2))
    other = train_baseline(method, corpus, plan, NgramSettings(**{**vars(SMALL), "seed": 1})).matrix
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)


def test_what_gensim_reads_is_the_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every sentence once an epoch, in order, words as the plan has them, others and duplicates left out."""
    sentences = [["The", "cat", "sat"], ["the", "dog", "rare"], ["The", "cat", "sat"], ["a", "cat"], ["rare2"]]
    corpus = Corpus.from_sentences(sentences, lowercase=True)
    plan = index_of(corpus)
    kept = FoldedVocabulary(["cat", "the", "sat", "dog", "a"], [2, 2, 1, 1, 1], [2, 2, 1, 1, 1])
    plan = Plan(**{**vars(plan), "vocabulary": kept})
    read: list[list[str]] = []
    counted: dict[str, int] = {}

    class Vectors:
        def __init__(self, words: Sequence[str]) -> None:
            self.words = list(words)

        def __getitem__(self, some: Sequence[str]) -> Any:
            return np.array([[self.words.index(word)] * 4 for word in some], dtype=np.float32)

    class Listening:
        """In the place of gensim's model: what it is told."""

        def __init__(self, _method: str, _settings: Any, _dim: int, words: Sequence[str], counts: Any) -> None:
            counted.update(dict(zip(words, counts.tolist(), strict=True)))
            self.wv = Vectors(words)

        def train(self, text: Any, *, total_words: int, epochs: int, **_: Any) -> None:
            for _epoch in range(epochs):
                read.extend(text)
            assert total_words * epochs == sum(map(len, read))

    monkeypatch.setattr(baselines, "_model", Listening)
    made = train_baseline("skipgram", corpus, plan, NgramSettings(dim=4, epochs=2))
    once = [["the", "cat", "sat"], ["the", "dog"], ["a", "cat"]]
    assert read == once + once
    assert counted == Counter(word for sentence in once for word in sentence)
    np.testing.assert_array_equal(made.matrix[:, 0], [0, 1, 2, 3, 4])
    assert (made.about["words_of_text"], made.about["sentences"]) == (7, 3)


def test_a_long_sentence_is_read_to_its_end() -> None:
    """gensim takes 10,000 words of a sentence and drops the rest without a word."""
    corpus = Corpus.from_sentences([["early"] * 10_000 + ["late", "later"] * 300])
    plan = index_of(corpus)
    made = train_baseline("skipgram", corpus, plan, NgramSettings(dim=8, epochs=20, subsampling=1.0))
    rows = dict(zip(plan.vocabulary.words, made.matrix, strict=True))
    untouched = 1.0 / 8  # a row that was never trained is within ±1/d of zero in every coordinate
    assert np.abs(rows["late"]).max() > untouched


def test_a_word_the_text_lacks_has_its_ngrams_mean() -> None:
    corpus = Corpus.from_sentences(halves(100))
    plan = index_of(corpus)
    own = plan.vocabulary
    more = type(own)([*own.words, "seaweed", "qz"], [*own.counts, 0, 0], [*own.contexts, 0, 0])
    plan = Plan(**{**vars(plan), "vocabulary": more})
    with_ngrams = train_baseline("skipgram-ngrams", corpus, plan, NgramSettings(**{**vars(SMALL), "ngrams": (5, 6)}))
    without = train_baseline("skipgram", corpus, plan, SMALL)
    assert np.isnan(without.matrix[-2:]).all()
    assert np.isfinite(without.matrix[:-2]).all()
    assert without.unseen is None
    assert with_ngrams.unseen is not None
    assert np.isfinite(with_ngrams.matrix[-2]).all()
    assert np.isnan(with_ngrams.matrix[-1]).all()  # <qz> is four characters: too short for five
    np.testing.assert_array_equal(with_ngrams.unseen(["seaweed"]), with_ngrams.matrix[[-2]])


def test_ngrams_mean_is_gensims_own() -> None:
    """The mean over the n-grams' rows, found by fastText's own hash of every n-gram of <word>."""
    fasttext = pytest.importorskip("gensim.models.fasttext")
    model = fasttext.FastText(min_n=3, max_n=4, bucket=50, vector_size=6, min_count=1, seed=1)
    model.build_vocab_from_freq({"abc": 3})
    padded = "<wxyz>"
    grams = [padded[i : i + n] for n in (3, 4) for i in range(len(padded) - n + 1)]

    def fnv(text: str) -> int:
        """FNV-1a of fastText, which takes bytes as signed."""
        h = 2166136261
        for byte in text.encode():
            h = ((h ^ (byte if byte < 128 else byte | 0xFFFFFF00)) * 16777619) & 0xFFFFFFFF
        return h

    expected = np.mean([model.wv.vectors_ngrams[fnv(gram) % 50] for gram in grams], axis=0)
    np.testing.assert_allclose(baselines.ngram_vectors(model.wv, ["wxyz"])[0], expected, atol=1e-6)


def test_negatives_and_subsampling_are_fasttexts() -> None:
    """Exponent 0.5, and keep probability √(t/f) + t/f."""
    counts = np.array([1000, 100, 10])
    model = baselines._model("skipgram", NgramSettings(subsampling=1e-2), 4, ["a", "b", "c"], counts)
    cumulative = model.cum_table / model.cum_table[-1]
    np.testing.assert_allclose(np.diff([0, *cumulative]), np.sqrt(counts) / np.sqrt(counts).sum(), atol=1e-6)
    share = counts / counts.sum()
    expected = np.minimum(1.0, np.sqrt(1e-2 / share) + 1e-2 / share)
    kept = [model.wv.get_vecattr(word, "sample_int") / (2**32 - 1) for word in "abc"]
    np.testing.assert_allclose(kept, expected, rtol=1e-3)


def test_the_papers_grid() -> None:
    made = grid()
    assert len(made) == np.prod([len(values) for values in GRID.values()]) == len(set(made))
    assert {one.window for one in made} == {2, 5, 10}
    with raises(UsageError, code="unknown_choice"):
        grid(windows=[5])


def test_what_is_wrong_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    corpus = Corpus.from_sentences(halves(10))
    plan = index_of(corpus)
    with raises(UsageError, code="unknown_choice"):
        train_baseline("skipgrams", corpus, plan, SMALL)
    with raises(UsageError, code="out_of_range", parameter="dim"):
        train_baseline("skipgram", corpus, plan, NgramSettings())
    with raises(UsageError, code="no_effect", parameter="start"):
        train_baseline("cbow", corpus, plan, SMALL, start=np.zeros((16, 12)))
    for name in ("epochs", "dim"):
        with raises(UsageError, code="out_of_range", parameter=name, says="got -1"):
            NgramSettings(**{name: -1})
    with raises(InputError, code="no_words", parameter="words"):
        train_baseline("cbow", Corpus.from_sentences([["nothing", "here"]]), plan, SMALL)

    class Kept:
        name, dim, corpus = "kept", 4, None

    with raises(UsageError, code="unsupported", parameter="method"):
        train_baseline("cbow", Kept(), plan, SMALL)  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "gensim", None)
    with raises(MissingExtra, code="not_installed"):
        train_baseline("cbow", corpus, plan, SMALL)


@pytest.mark.parametrize("method", BASELINES)
def test_a_method_like_any_other(method: str, tmp_path: Path) -> None:
    """`limbeck distill --method skipgram`: the teacher gives the dimensions, n-grams the vectors of words unseen."""
    given: dict[str, Any] = {"epochs": 2, "subsampling": 1.0}
    made = lb.distill(
        lambda texts: [np.ones((len(text.words), 5)) for text in texts],
        halves(40),
        method=method,
        min_count=1,
        add_words=["seaweed"],
        set={method: given},
        out=tmp_path / "out",
    )
    assert made.dim == 5
    ngrams = BASELINES[method][1]
    assert ("seaweed" in made) == ngrams
    assert made.from_elsewhere == ({"ngrams": 1} if ngrams else {})
    assert set(made.words) - {"seaweed"} == {*SEA, *LAW}
    kept = DistilledVectors.load(tmp_path / "out")
    np.testing.assert_array_equal(kept.matrix, made.matrix)
    assert kept.record["training"]["settings"]["epochs"] == 2
