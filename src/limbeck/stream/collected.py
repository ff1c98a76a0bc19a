"""All vectors of a text in memory at once, in the order of the text: for sets of sentences, not for corpora."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.units import SENTENCE_BITS
from limbeck.encoded import Encoded, add_rows
from limbeck.encoders.protocol import EncoderLike, as_encoder
from limbeck.stream.plan import Choice
from limbeck.stream.run import run_pass, running
from limbeck.stream.sources import Source, TextSource
from limbeck.stream.workers import Workers

DOCUMENT = 1000  #: sentences; a pass hands documents to its workers


@dataclass(frozen=True)
class Collected:
    """Occurrences and their vectors, on the CPU.

    layers       names of the layers
    vectors      (layers, n, d)
    strings      (n,) the words or pieces
    sentences    (n,) identity of the sentence
    texts        (n,) identity of the text, after `collect_texts` its index among the texts that were given
    occurrences  (n,) hash of sentence and place, `limbeck.seeds.hash_occurrences`: finds a labelled word's row
    text_count   texts that were given, those without any vector too; 0 where nobody knows
    dropped      reason -> how many units had no vector
    """

    layers: tuple[str, ...]
    vectors: torch.Tensor
    strings: Sequence[str]
    sentences: NDArray[np.int64]
    texts: NDArray[np.int64]
    occurrences: NDArray[np.uint64]
    text_count: int = 0
    dropped: dict[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.strings)

    def of_layer(self, layer: str) -> torch.Tensor:
        """Vectors (n, d) of one layer, by its name."""
        return self.vectors[self.layers.index(layer)]

    def text_means(self, rows: torch.Tensor) -> torch.Tensor:
        """Mean (texts, d) of rows (n, d), such as repaired vectors, over each text; zero for a text without any."""
        ids = self.texts
        wide = rows.to(torch.float64).unsqueeze(0)
        sums = add_rows(wide.new_zeros(1, self.text_count, rows.shape[1]), ids, wide)[0]
        sizes = torch.from_numpy(np.bincount(ids, minlength=self.text_count)).clamp_(min=1).unsqueeze(1)
        return (sums / sizes.to(rows.device)).to(rows.dtype)


class Collector:
    """A consumer of a pass that keeps every batch."""

    def __init__(self) -> None:
        self.batches: list[Encoded] = []

    def update(self, batch: Encoded) -> None:
        vectors = batch.vectors.to("cpu", torch.float64 if batch.vectors.dtype == torch.float64 else torch.float32)
        self.batches.append(replace(batch, vectors=vectors))

    def end_shard(self, number: int) -> None:
        pass


def collect(
    source: Source, *, deduplicate: bool = False, workers: int | Workers = 0, progress: bool = False
) -> Collected:
    """Everything that a source gives, in one pass. Texts that occur twice are kept unless told otherwise."""
    collector = Collector()
    with running(workers, progress=progress) as context:
        passed = run_pass(
            source, [], context=context, consumers=[collector], choice=Choice(), read_duplicates=not deduplicate
        )
    batches = collector.batches
    if not batches:
        return replace(nothing(source.layers, source.dim), dropped=passed.dropped)
    texts = np.concatenate([batch.texts for batch in batches])
    # batches hold texts of one length; identities grow along the corpus, and a text's rows are in order already
    order = np.argsort(texts, kind="stable")
    strings = [string for batch in batches for string in batch.strings]
    return Collected(
        layers=source.layers,
        vectors=_joined(batches, order),
        strings=[strings[row] for row in order.tolist()],
        sentences=np.concatenate([batch.sentences for batch in batches])[order],
        texts=texts[order],
        occurrences=np.concatenate([batch.occurrences for batch in batches])[order],
        dropped=passed.dropped,
    )


def collect_texts(
    encoder: EncoderLike,
    texts: Sequence[str | Sequence[str]],
    *,
    batch_tokens: int | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Collected:
    """The vectors of some texts, each a list of words or a string that is split at its blanks.

    `texts` of the result are their indices. A text is encoded by itself, a long one in overlapping windows.
    """
    encoder = as_encoder(encoder)
    words = [tuple(text.split() if isinstance(text, str) else text) for text in texts]
    sentences = [Sentence(each, number // DOCUMENT, index=number % DOCUMENT) for number, each in enumerate(words)]
    if not any(words):
        return replace(nothing(encoder.layers, encoder.dim), text_count=len(texts))
    source = TextSource(Corpus.from_sentences(sentences), encoder, "sentence", batch_tokens)
    found = collect(source, workers=workers, progress=progress)
    numbers = (found.texts >> SENTENCE_BITS) * DOCUMENT + (found.texts & ((1 << SENTENCE_BITS) - 1))
    return replace(found, texts=numbers, text_count=len(texts))


def nothing(layers: tuple[str, ...], dim: int) -> Collected:
    """No occurrence at all."""
    none = np.empty(0, dtype=np.int64)
    return Collected(layers, torch.empty(len(layers), 0, dim), [], none, none, none.astype(np.uint64))


def _joined(batches: list[Encoded], order: NDArray[np.int64]) -> torch.Tensor:
    """The batches' vectors in order, filled in batch by batch so that memory never holds them twice."""
    first = batches[0].vectors
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    vectors = first.new_empty(first.shape[0], len(order), first.shape[2])
    at = 0
    for number, batch in enumerate(batches):
        vectors[:, torch.from_numpy(place[at : at + len(batch)])] = batch.vectors
        at += len(batch)
        batches[number] = replace(batch, vectors=batch.vectors[:, :0])
    return vectors
