"""Where occurrences come from: a corpus read through an encoder, or vectors kept from an earlier pass.

A source can be surveyed (cheap, for the plan) and read (dear, shard by shard).
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.strings import Strings
from limbeck.corpus.units import TextUnit
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.encoded import Encoded
from limbeck.encoders.batching import batches, concatenate
from limbeck.encoders.protocol import Encoder, Prepared
from limbeck.seeds import hash_ids, hash_occurrences
from limbeck.stream.plan import Plan, Shard, Surveyed, surveyed
from limbeck.stream.tasks import Prepare, Survey, chunks_of
from limbeck.stream.workers import Workers, prefetched
from limbeck.vectors import OccurrenceVectors

READY_BATCHES = 8  #: that wait for the device


@dataclass
class ShardEnd:
    """Follows the last batch of a shard: what had no vector in it, by reason."""

    shard: Shard
    dropped: dict[str, int]


class Source(Protocol):
    """Anything that gives occurrences with vectors."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def layers(self) -> tuple[str, ...]: ...
    @property
    def dim(self) -> int: ...
    def survey(self, *, workers: Workers) -> Iterator[Surveyed]: ...
    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]: ...
    def describe(self) -> dict[str, object]: ...


@dataclass(frozen=True)
class TextSource:
    """A corpus, read through an encoder."""

    corpus: Corpus
    encoder: Encoder
    text_unit: TextUnit = "sentence"
    batch_tokens: int = 8192

    @property
    def name(self) -> str:
        return self.encoder.name

    @property
    def fingerprint(self) -> str:
        return f"{self.encoder.fingerprint}-{self.corpus.fingerprint}-{self.text_unit}"

    @property
    def layers(self) -> tuple[str, ...]:
        return self.encoder.layers

    @property
    def dim(self) -> int:
        return self.encoder.dim

    def describe(self) -> dict[str, object]:
        return {
            "encoder": self.encoder.name,
            "encoder_fingerprint": self.encoder.fingerprint,
            "corpus": self.corpus.describe(),
            "corpus_fingerprint": self.corpus.fingerprint,
            "text_unit": self.text_unit,
        }

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        prepare = self.encoder.prepare if self.encoder.units == "pieces" else None
        look = Survey(self.corpus, self.text_unit, prepare)
        return workers.map(look, chunks_of(self.corpus.documents()))

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        """Batches of shards `start`, `start` + 1, …, each shard followed by its end."""
        for item in prefetched(self._prepared(plan, start, workers, seed), depth=READY_BATCHES):
            if isinstance(item, ShardEnd):
                yield item
                continue
            batch, words, occurrences = item
            yield Encoded(
                vectors=self.encoder.forward(batch),
                words=words,
                sentences=batch.sentences,
                texts=batch.texts,
                occurrences=occurrences,
                strings=batch.strings,
            )

    def _prepared(
        self, plan: Plan, start: int, workers: Workers, seed: int
    ) -> Iterator[tuple[Prepared, NDArray[np.int64], NDArray[np.uint64]] | ShardEnd]:
        """Batches that need only the device."""
        make = Prepare(self.corpus, self.text_unit, self.encoder.prepare, plan.duplicates)
        parts: list[Prepared] = []
        current: Shard | None = None
        for shard, part in workers.map(make, self._chunks(plan.shards[start:])):
            if current is not None and shard != current:
                yield from self._batches(current, parts, plan.vocabulary, seed)
                parts = []
            current = shard
            parts.append(part)
        if current is not None:
            yield from self._batches(current, parts, plan.vocabulary, seed)

    def _chunks(self, shards: Sequence[Shard]) -> Iterator[tuple[Shard, list[RawDocument]]]:
        """Raw documents by shard; the files are read through once."""
        if not shards:
            return
        documents = self.corpus.documents(shards[0].start, shards[-1].stop)
        for shard in shards:
            size = shard.stop - shard.start
            for chunk in chunks_of(itertools.islice(documents, size)):
                yield shard, chunk

    def _batches(
        self, shard: Shard, parts: list[Prepared], vocabulary: Vocabulary, seed: int
    ) -> Iterator[tuple[Prepared, NDArray[np.int64], NDArray[np.uint64]] | ShardEnd]:
        whole = concatenate(parts)
        strings = Strings.of(whole.strings)
        ids = vocabulary.ids(strings.distinct)
        for batch in batches(whole, batch_tokens=self.batch_tokens):
            occurrences = _salted(hash_occurrences(batch.sentences, batch.positions), seed)
            yield batch, ids[Strings.of(batch.strings).codes], occurrences
        yield ShardEnd(shard, whole.dropped)


@dataclass(frozen=True)
class VectorSource:
    """Vectors kept from an earlier pass, or brought by a user."""

    kept: OccurrenceVectors
    path: str
    device: str = "cpu"

    @property
    def name(self) -> str:
        return self.kept.name

    @property
    def fingerprint(self) -> str:
        return self.kept.fingerprint

    @property
    def layers(self) -> tuple[str, ...]:
        return self.kept.layers

    @property
    def dim(self) -> int:
        return self.kept.dim

    def describe(self) -> dict[str, object]:
        return {"vectors": self.path, "encoder": self.kept.name, "encoder_fingerprint": self.kept.fingerprint}

    def survey(self, *, workers: Workers) -> Iterator[Surveyed]:
        for number in range(self.kept.shards):
            rows = self.kept.strings_of(number)
            yield surveyed(
                rows.strings,
                rows.texts,
                documents=np.array([number]),
                document_units=np.array([len(rows)]),
                sentences=len(np.unique(rows.sentences)),
            )

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        import torch

        for shard in plan.shards[start:]:
            for number in range(shard.start, shard.stop):
                for block in self.kept.shard(number):
                    batch = Encoded(
                        vectors=torch.from_numpy(np.ascontiguousarray(block.vectors)).to(self.device),
                        words=plan.vocabulary.ids(block.strings),
                        sentences=block.sentences,
                        texts=block.texts,
                        occurrences=_salted(block.occurrences, seed),
                        strings=block.strings,
                    )
                    yield _without(batch, plan.duplicates)
            yield ShardEnd(shard, {})


def _without(batch: Encoded, texts: NDArray[np.int64]) -> Encoded:
    """The batch without some texts."""
    if not len(texts):
        return batch
    keep = np.flatnonzero(~np.isin(batch.texts, texts))
    return batch if len(keep) == len(batch) else batch.take(keep)


def _salted(hashes: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """Another seed, another sample; kept vectors carry the hashes of seed 0."""
    return hash_ids(hashes, salt=seed) if seed else hashes
