"""What worker processes do: small picklable callables on raw documents. No torch is imported here or below."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Text
from limbeck.corpus.documents import RawDocument
from limbeck.corpus.strings import Strings
from limbeck.corpus.units import TextUnit, texts_of
from limbeck.encoders.protocol import Prepared, Preparer
from limbeck.stream.plan import Shard, Surveyed, surveyed

CHUNK_CHARACTERS = 200_000  #: of raw text sent to a worker at once


@dataclass(frozen=True)
class Survey:
    """Raw documents to what they hold; pieces are counted only where they are the units."""

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
            documents=np.array([document.number for document in documents], dtype=np.int64),
            document_units=np.array(sizes, dtype=np.int64),
            sentences=sentences,
        )


@dataclass(frozen=True)
class Prepare:
    """Raw documents of a shard to prepared texts, duplicates left out."""

    corpus: Corpus
    text_unit: TextUnit
    prepare: Preparer
    duplicates: NDArray[np.int64]

    def __call__(self, item: tuple[Shard, list[RawDocument]]) -> tuple[Shard, Prepared]:
        shard, documents = item
        texts = [text for document in documents for text in texts_of(self.corpus.parse(document), self.text_unit)]
        if len(self.duplicates):
            repeated = np.isin([text.identity for text in texts], self.duplicates)
            texts = [text for text, again in zip(texts, repeated.tolist(), strict=True) if not again]
        prepared = self.prepare(texts)
        return shard, replace(prepared, strings=Strings.of(prepared.strings))  # cheaper to send


def chunks_of(documents: Iterable[RawDocument]) -> Iterator[list[RawDocument]]:
    """Groups of documents large enough to be worth sending to a worker."""
    group: list[RawDocument] = []
    size = 0
    for document in documents:
        group.append(document)
        size += sum(map(len, document.lines))
        if size >= CHUNK_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group
