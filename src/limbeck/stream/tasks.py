"""What other processes do: picklable jobs over a corpus. No torch is imported here or below.

A job (`Survey`, `Feed`) runs beside the pass and hands chunks of documents to a pool (`SurveyChunk`, `PrepareChunk`).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Text
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.offsets import can_leap, marks_of
from limbeck.corpus.units import TextUnit, texts_of
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.encoders.batching import batches, concatenate
from limbeck.encoders.protocol import Prepared, Preparer
from limbeck.encoders.travel import Slim, slim, wide
from limbeck.seeds import hash_ids, hash_occurrences, hash_text
from limbeck.stream.plan import Plan, Shard, Surveyed, surveyed
from limbeck.stream.workers import Pool
from limbeck.strings import Strings, join_words, part_words

#: of raw text sent to a worker at once; the planning pass returns one count for each distinct word of a chunk, so
#: large chunks save the main process work
PREPARE_CHARACTERS = 200_000
SURVEY_CHARACTERS = 2_000_000


@dataclass(frozen=True)
class SurveyChunk:
    """Raw documents to what they hold. Where an encoder's units are not just the words, it is asked which they are."""

    corpus: Corpus
    text_unit: TextUnit
    prepare: Preparer | None

    def __call__(self, documents: list[RawDocument]) -> Surveyed:
        texts: list[Text] = []
        sizes: list[int] = []
        sentences = 0
        for document in documents:
            parsed = self.corpus.parse(document)
            some = texts_of(parsed, self.text_unit)
            sentences += sum(len(text.sentences) for text in some)
            sizes.append(sum(len(sentence.words) for text in some for sentence in text.sentences))
            texts.extend(some)
        if self.prepare is None:
            strings: Sequence[str] = [word for text in texts for word in text.words]
            identities = np.repeat(
                np.array([text.identity for text in texts], dtype=np.int64),
                np.array([sum(len(s.words) for s in text.sentences) for text in texts], dtype=np.int64),
            )
        else:
            prepared = self.prepare(texts)
            strings, identities = prepared.strings, prepared.texts
        return surveyed(
            strings,
            identities,
            contents={text.identity: hash_text("\x1f".join(text.words)) for text in texts},
            documents=np.array([document.number for document in documents], dtype=np.int64),
            document_units=np.array(sizes, dtype=np.int64),
            sentences=sentences,
            marks=marks_of(document.mark for document in documents),
        )


@dataclass(frozen=True)
class PrepareChunk:
    """Raw documents of a shard to prepared texts, duplicates left out, and the ids of their distinct strings."""

    corpus: Corpus
    text_unit: TextUnit
    prepare: Preparer
    duplicates: NDArray[np.int64]
    vocabulary: Vocabulary

    def __call__(self, item: tuple[Shard, list[RawDocument]]) -> tuple[Shard, Prepared, NDArray[np.int64]]:
        shard, documents = item
        texts = [text for document in documents for text in texts_of(self.corpus.parse(document), self.text_unit)]
        if len(self.duplicates):
            repeated = np.isin([text.identity for text in texts], self.duplicates)
            texts = [text for text, again in zip(texts, repeated.tolist(), strict=True) if not again]
        prepared = self.prepare(texts)
        strings = Strings.of(prepared.strings)  # cheaper to send
        return shard, replace(prepared, strings=strings), self.vocabulary.ids(strings.distinct)


def chunks_of(documents: Iterable[RawDocument], characters: int) -> Iterator[list[RawDocument]]:
    """Groups of documents large enough to be worth sending to a worker."""
    group: list[RawDocument] = []
    size = 0
    for document in documents:
        group.append(document)
        size += sum(map(len, document.lines))
        if size >= characters:
            yield group
            group, size = [], 0
    if group:
        yield group


@dataclass(frozen=True)
class Survey:
    """The job of the planning pass: what each chunk of a corpus holds."""

    corpus: Corpus
    text_unit: TextUnit
    prepare: Preparer | None = None  # where pieces are counted

    def __call__(self, pool: Pool) -> Iterator[Surveyed]:
        look = SurveyChunk(self.corpus, self.text_unit, self.prepare)
        return pool.hand_on(look, chunks_of(self.corpus.documents(), SURVEY_CHARACTERS))


@dataclass(frozen=True)
class ShardStart:
    """Precedes the batches of a shard: the distinct strings that their codes refer to, sent once."""

    distinct: list[str]

    def __reduce__(self) -> tuple[Any, ...]:
        return _started, (join_words(self.distinct),)


def _started(distinct: str | list[str]) -> ShardStart:
    return ShardStart(part_words(distinct))


@dataclass(frozen=True)
class Ready:
    """A batch that needs only the device, and who its units are; its strings are codes alone."""

    batch: Prepared
    words: NDArray[np.int64]  # (units,) id in the vocabulary
    occurrences: NDArray[np.uint64]  # (units,) hash

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self.batch, slim(self.words), self.occurrences)

    def named(self, distinct: list[str]) -> Prepared:
        """The batch with its strings."""
        return replace(self.batch, strings=Strings(distinct, Strings.of(self.batch.strings).codes))


def _arrived(batch: Prepared, words: Slim, occurrences: NDArray[np.uint64]) -> Ready:
    return Ready(batch, wide(*words), occurrences)


@dataclass(frozen=True)
class ShardEnd:
    """Follows the last batch of a shard: what had no vector in it, by reason."""

    shard: Shard
    dropped: dict[str, int]


@dataclass(frozen=True)
class Feed:
    """The job of the pass: batches of shards `start`, `start` + 1, …, each shard followed by its end."""

    corpus: Corpus
    text_unit: TextUnit
    prepare: Preparer
    plan: Plan
    start: int
    batch_tokens: int
    seed: int

    def __call__(self, pool: Pool) -> Iterator[ShardStart | Ready | ShardEnd]:
        make = PrepareChunk(self.corpus, self.text_unit, self.prepare, self.plan.duplicates, self.plan.vocabulary)
        made = pool.map(make, self._chunks(self.plan.shards[self.start :]))
        for shard, chunks in itertools.groupby(made, key=lambda chunk: chunk[0]):
            _, parts, ids = zip(*chunks, strict=True)
            yield from self._batches(shard, parts, np.concatenate(ids))

    def _chunks(self, shards: Sequence[Shard]) -> Iterator[tuple[Shard, list[RawDocument]]]:
        """Raw documents by shard; the files are read through once."""
        if not shards:
            return
        marks = self.plan.marks
        documents = self.corpus.documents(shards[0].start, shards[-1].stop, marks=marks)
        at = shards[0].start
        for shard in shards:
            if can_leap(marks, at, shard.start):
                documents = self.corpus.documents(shard.start, shards[-1].stop, marks=marks)
            else:
                for _ in itertools.islice(documents, shard.start - at):  # of shards that somebody else reads
                    pass
            at = shard.stop
            for chunk in chunks_of(itertools.islice(documents, shard.stop - shard.start), PREPARE_CHARACTERS):
                yield shard, chunk

    def _batches(
        self, shard: Shard, parts: Sequence[Prepared], ids: NDArray[np.int64]
    ) -> Iterator[ShardStart | Ready | ShardEnd]:
        """The batches of a shard; `ids` of its distinct strings are in the order in which `concatenate` joins them."""
        whole = concatenate(parts)
        yield ShardStart(Strings.of(whole.strings).distinct)
        for batch in batches(whole, batch_tokens=self.batch_tokens):
            codes = Strings.of(batch.strings).codes
            yield Ready(
                batch=replace(batch, strings=Strings([], codes)),
                words=ids[codes],
                occurrences=salted(hash_occurrences(batch.sentences, batch.positions), self.seed),
            )
        yield ShardEnd(shard, whole.dropped)


def salted(hashes: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Another seed, another sample; kept vectors carry the hashes of seed 0."""
    return hash_ids(hashes, salt=seed) if seed else hashes
