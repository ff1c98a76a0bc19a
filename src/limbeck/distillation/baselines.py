"""Skip-gram and CBOW trained on the same text, with and without character n-grams: what a teacher must beat.

gensim trains them (`limbeck[export]`) the way the fastText tool does, which Gupta & Jaggi (2021) took: fastText's rule
of subsampling, negatives by the square root of counts, n-grams of 3 to 6 characters. Text is read as everywhere in
limbeck, and the vocabulary is the plan's.
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.units import TextUnit, texts_of
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.distillation.method_settings import BaselineSettings, NgramSettings
from limbeck.distillation.methods import Trained
from limbeck.errors import InputError, UsageError, choose
from limbeck.extras import need
from limbeck.seeds import seed_of
from limbeck.stream.context import RunContext
from limbeck.stream.plan import Plan
from limbeck.stream.progress import Progress
from limbeck.stream.sources import Source
from limbeck.stream.tasks import SURVEY_CHARACTERS, chunks_of
from limbeck.stream.workers import Pool

PURPOSE = "Training skip-gram and CBOW"
#: method -> whether it is skip-gram, whether it has character n-grams
BASELINES = {
    "skipgram": (True, False),
    "cbow": (False, False),
    "skipgram-ngrams": (True, True),
    "cbow-ngrams": (False, True),
}
LONGEST = 10_000  #: words that gensim takes of a sentence; the rest of a longer one would be lost
BUCKETS, BUCKETS_A_WORD = 2_000_000, 40  #: fastText's number, and how many a word of a small vocabulary can fill


#: what Table 2 of Gupta & Jaggi (2021) says was tried; its list of subsampling has 5e-6 twice, so one is a misprint
GRID: Mapping[str, tuple[Any, ...]] = {
    "epochs": (5, 10, 15),
    "negatives": (5, 8, 10),
    "subsampling": (1e-4, 1e-5, 5e-6),
    "window": (2, 5, 10),
}


def grid(settings: NgramSettings | None = None, **values: Sequence[Any]) -> list[NgramSettings]:
    """Every combination of the paper's grid, or of `values` in the place of some of its columns.

    >>> len(grid()), [one.window for one in grid(epochs=[5], negatives=[5], subsampling=[1e-5])]
    (81, [2, 5, 10])
    """
    columns = {**GRID, **values}
    for name in values:
        choose(name, GRID, what="a column of the grid")
    start = settings or NgramSettings()
    return [replace(start, **dict(zip(columns, row, strict=True))) for row in itertools.product(*columns.values())]


@dataclass(frozen=True)
class Baseline(Trained):
    """A trained baseline; with n-grams it also has vectors for words that the text does not have.

    unseen  words -> (words, d) the mean of each word's n-grams' vectors, NaN for a word too short to have one; None for
            a method without n-grams
    """

    unseen: Callable[[Sequence[str]], NDArray[np.float32]] | None = None


def train_baseline(
    method: str,
    source: Source | Corpus,
    plan: Plan,
    settings: BaselineSettings | None = None,
    context: RunContext | None = None,
    /,
    *,
    start: NDArray[Any] | None = None,
) -> Baseline:
    """Train one of `BASELINES` on the text of a source, for the words of a plan; see `limbeck.distillation.methods`.

    Texts that the plan found to be duplicates are left out, as they are for a teacher. Words that are not in the
    vocabulary are taken out before windows are laid, as word2vec and fastText do. A word of the plan that the text does
    not have is NaN, or with n-grams the mean of theirs. Nothing is kept of a training that was stopped: it begins anew.
    """
    choose(method, BASELINES, what="the baseline")
    settings = settings or NgramSettings()
    if start is not None:
        raise UsageError(
            f"{method} is trained from the beginning, it takes no vectors to start from.",
            code="no_effect",
            parameter="start",
        )
    corpus, unit = _text_of(source)
    dim = settings.dim or (0 if isinstance(source, Corpus) else source.dim)
    if dim < 1:
        raise UsageError(
            f"dim must be at least 1, got {dim}: give one where there is no teacher to take it from.",
            code="out_of_range",
            parameter="dim",
        )
    gensim = need("gensim", purpose=PURPOSE)
    words = plan.vocabulary.words
    context = context or RunContext()
    with tempfile.TemporaryFile(prefix="limbeck-baseline-") as file:
        text = _spool(corpus, unit, plan, file, context)
        if not text.size:
            raise InputError(
                "The text must hold words of the vocabulary, it holds none: check --words and --case.",
                code="no_words",
                parameter="words",
            )
        model = _model(method, settings, dim, words, text.counts)
        with Progress(f"training {method}", total=settings.epochs * text.size, show=context.progress) as shown:
            model.train(
                _Told(text, words, shown),
                total_words=text.size,
                epochs=settings.epochs,
                start_alpha=settings.learning_rate,
                end_alpha=0.0,
            )
    matrix = np.full((len(words), dim), np.nan, dtype=np.float32)
    seen = np.flatnonzero(text.counts)
    matrix[seen] = model.wv[[words[row] for row in seen.tolist()]]
    about = {
        "trainer": f"gensim {gensim.__version__}",
        "settings": _told_settings(method, settings, dim),
        "words_of_text": text.size,
        "sentences": text.sentences,
    }
    if not BASELINES[method][1]:
        return Baseline(matrix, (), about)
    about["buckets"] = int(model.wv.bucket)
    unseen = partial(ngram_vectors, model.wv)
    missing = np.flatnonzero(text.counts == 0)
    matrix[missing] = unseen([words[row] for row in missing.tolist()])
    return Baseline(matrix, (), about, unseen)


train_skipgram = partial(train_baseline, "skipgram")
train_cbow = partial(train_baseline, "cbow")
train_skipgram_ngrams = partial(train_baseline, "skipgram-ngrams")
train_cbow_ngrams = partial(train_baseline, "cbow-ngrams")


def _told_settings(method: str, settings: BaselineSettings, dim: int) -> dict[str, Any]:
    heeded = fields(NgramSettings if BASELINES[method][1] else BaselineSettings)
    told = {one.name: getattr(settings, one.name) for one in heeded}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in told.items()} | {"dim": dim}


def _model(method: str, settings: BaselineSettings, dim: int, words: Sequence[str], counts: NDArray[np.int64]) -> Any:
    """An untrained model with exactly these words."""
    skipgram, ngrams = BASELINES[method]
    common = {
        "vector_size": dim, "sg": int(skipgram), "window": settings.window, "negative": settings.negatives, "hs": 0,
        "ns_exponent": settings.exponent, "sample": settings.subsampling, "alpha": settings.learning_rate,
        "min_alpha": 0.0, "min_count": 1, "epochs": settings.epochs, "workers": settings.threads, "cbow_mean": 1,
        "seed": seed_of(settings.seed, "baseline", method) % 2**31,
    }  # fmt: skip
    if ngrams:
        assert isinstance(settings, NgramSettings)
        buckets = buckets_of(settings, len(words))
        kind = need("gensim.models.fasttext", purpose=PURPOSE).FastText
        model = kind(min_n=settings.ngrams[0], max_n=settings.ngrams[1], bucket=buckets, **common)
    else:
        model = need("gensim.models.word2vec", purpose=PURPOSE).Word2Vec(**common)
    there = np.flatnonzero(counts)
    model.build_vocab_from_freq({words[row]: int(counts[row]) for row in there.tolist()})
    return model


def buckets_of(settings: NgramSettings, words: int) -> int:
    """Vectors that the n-grams of so many words share."""
    return settings.buckets or min(BUCKETS, BUCKETS_A_WORD * words)


def ngram_vectors(vectors: Any, words: Sequence[str]) -> NDArray[np.float32]:
    """The mean of each word's n-grams' vectors, of gensim's FastTextKeyedVectors; NaN for a word too short for one."""
    made = np.full((len(words), vectors.vector_size), np.nan, dtype=np.float32)
    for row, word in enumerate(words):
        try:
            found = np.asarray(vectors.get_vector(word), dtype=np.float32)
        except KeyError:
            continue
        if found.any():
            made[row] = found
    return made


def _text_of(source: Source | Corpus) -> tuple[Corpus, TextUnit]:
    if isinstance(source, Corpus):
        return source, "sentence"
    if source.corpus is None:
        raise UsageError(
            f"{source.name}: a baseline is trained on text, kept vectors have none: give a model and a corpus.",
            code="unsupported",
            parameter="method",
        )
    return source.corpus, source.text_unit


# --- the text, read once: a number a word, in a file --------------------------------------------------


@dataclass(frozen=True)
class Numbers:
    """The words of some documents as numbers in the vocabulary, sentence by sentence; others are left out."""

    ids: NDArray[np.int32]
    sizes: NDArray[np.int32]  # words of each sentence


@dataclass(frozen=True)
class NumberChunk:
    """Raw documents to numbers, duplicates left out."""

    corpus: Corpus
    unit: TextUnit
    duplicates: NDArray[np.int64]
    vocabulary: Vocabulary

    def __call__(self, documents: list[RawDocument]) -> Numbers:
        ids: list[NDArray[np.int64]] = []
        for document in documents:
            texts = texts_of(self.corpus.parse(document), self.unit)
            again = np.isin([text.identity for text in texts], self.duplicates).tolist()
            for text, repeated in zip(texts, again, strict=True):
                if not repeated:
                    found = [self.vocabulary.ids(sentence.words) for sentence in text.sentences]
                    ids += [one[one >= 0] for one in found]
        ids = [one for one in ids if len(one)]
        joined = np.concatenate([np.empty(0, np.int64), *ids]).astype(np.int32)
        return Numbers(joined, np.array([len(one) for one in ids], dtype=np.int32))


@dataclass(frozen=True)
class NumberText:
    """The job that reads a corpus for a baseline."""

    corpus: Corpus
    unit: TextUnit
    duplicates: NDArray[np.int64]
    vocabulary: Vocabulary

    def __call__(self, pool: Pool) -> Iterator[Numbers]:
        chunk = NumberChunk(self.corpus, self.unit, self.duplicates, self.vocabulary)
        return pool.hand_on(chunk, chunks_of(self.corpus.documents(), SURVEY_CHARACTERS))


@dataclass(frozen=True)
class SpooledText:
    """A text as numbers in a file: 4 bytes a word, read anew every epoch."""

    file: Any
    blocks: Sequence[NDArray[np.int32]]  # sizes of sentences, a block a chunk of documents
    counts: NDArray[np.int64]  # occurrences of each word of the vocabulary

    @property
    def size(self) -> int:
        return int(self.counts.sum())

    @property
    def sentences(self) -> int:
        return sum(len(block) for block in self.blocks)

    def __iter__(self) -> Iterator[NDArray[np.int32]]:
        """Sentences; the file is read from its beginning."""
        self.file.seek(0)
        for sizes in self.blocks:
            ids = np.frombuffer(self.file.read(4 * int(sizes.sum())), dtype=np.int32)
            yield from np.split(ids, np.cumsum(sizes)[:-1])


def _spool(corpus: Corpus, unit: TextUnit, plan: Plan, file: Any, context: RunContext) -> SpooledText:
    blocks: list[NDArray[np.int32]] = []
    counts = np.zeros(len(plan.vocabulary), dtype=np.int64)
    with Progress("reading the text", total=int(plan.vocabulary.counts.sum()), show=context.progress) as shown:
        for numbers in context.workers.run(NumberText(corpus, unit, plan.duplicates, plan.vocabulary)):
            if len(numbers.sizes):
                file.write(numbers.ids.tobytes())
                blocks.append(numbers.sizes)
                counts += np.bincount(numbers.ids, minlength=len(counts))
                shown.advance(len(numbers.ids))
    return SpooledText(file, blocks, counts)


class _Told:
    """Sentences as gensim wants them, lists of words, anew every epoch; what was handed over is told."""

    def __init__(self, text: SpooledText, words: Sequence[str], shown: Progress) -> None:
        self._text, self._words, self._shown = text, np.array(words, dtype=object), shown

    def __iter__(self) -> Iterator[list[str]]:
        for ids in self._text:
            self._shown.advance(len(ids))
            for start in range(0, len(ids), LONGEST):
                yield self._words[ids[start : start + LONGEST]].tolist()
