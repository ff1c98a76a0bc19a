"""The vectors of labelled words out of one pass, in memory or on disk, at any amount of context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.units import SENTENCE_BITS, Text
from limbeck.encoded import Encoded, add_rows
from limbeck.encoders.batching import ranges
from limbeck.encoders.elmo import ElmoEncoder
from limbeck.encoders.layers import TABLE
from limbeck.encoders.preparer import FIRST_POSITION
from limbeck.encoders.protocol import Encoder
from limbeck.errors import InputError
from limbeck.probing.labelled import Labelled, clipped
from limbeck.seeds import hash_occurrences
from limbeck.stream import Choice, TextSource, run_pass
from limbeck.stream.run import running
from limbeck.stream.workers import Workers

Ints = NDArray[np.int64]
DOCUMENT = 1000  #: texts; a pass hands documents to its workers
IN_MEMORY = 4 << 30  #: bytes of vectors; more are kept in a file


@dataclass(frozen=True)
class Texts:
    """What the model is shown: each distinct text once, and where the occurrences are in it.

    text      (n,) number of the text of each occurrence
    position  (n,) index of its first word there
    target    (n,) number of the vector that it has; occurrences in equal texts share one
    """

    texts: Sequence[Sentence]
    text: Ints
    position: Ints
    target: Ints
    target_text: Ints
    target_position: Ints
    target_span: Ints


@dataclass(frozen=True)
class Features:
    """Vectors of occurrences.

    layers   names of the layers
    vectors  (targets, layers, d), the mean over all pieces of all words of an occurrence
    index    (n,) which of them each occurrence has
    found    (n,) whether the model gave it a vector
    pieces   (n,) how many pieces it is made of; 0 where nobody knows
    weight   (targets,) pieces that a vector is the mean of; of a biLM, words
    bag      (texts, d) mean of the embedding table over all pieces of a text, special tokens left out (of a biLM, of
             layer 0 over its words); None where the table is not among the layers
    in_bag   (texts,) how many these are
    texts    what the model was shown
    dropped  reason -> words without a vector
    """

    layers: tuple[str, ...]
    vectors: NDArray[Any]
    index: Ints
    found: NDArray[np.bool_]
    pieces: Ints
    weight: NDArray[np.float64]
    bag: NDArray[np.float32] | None
    in_bag: NDArray[np.float64]
    texts: Texts
    dropped: dict[str, int]

    def at_layers(self, layers: Sequence[str]) -> Features:
        """Some of the layers."""
        if tuple(layers) == self.layers:
            return self
        places = [self.layers.index(layer) for layer in layers]
        return replace(self, layers=tuple(layers), vectors=self.vectors[:, places])


def texts_around(labelled: Labelled, context: int | None) -> Texts:
    """Whole sentences, or `context` words to each side of each occurrence and nothing else."""
    number: dict[tuple[Any, ...], int] = {}
    texts: list[Sentence] = []
    text = np.empty(len(labelled), dtype=np.int64)
    position = labelled.position.copy()
    for row in range(len(labelled)):
        sentence = labelled.sentences[int(labelled.sentence[row])]
        if context is not None:
            sentence, position[row] = clipped(sentence, int(position[row]), int(labelled.span[row]), context)
        key = (sentence.words, sentence.glued)
        at = number.setdefault(key, len(texts))
        if at == len(texts):
            texts.append(Sentence(sentence.words, at // DOCUMENT, index=at % DOCUMENT, glued=sentence.glued))
        text[row] = at
    places, target = np.unique(np.stack([text, position, labelled.span]), axis=1, return_inverse=True)
    return Texts(texts, text, position, target.reshape(-1).astype(np.int64), *places)


def reads_words_alone(encoder: Encoder) -> bool:
    """Whether a word without any other has a vector: not where it stands at a decoder's first position."""
    return FIRST_POSITION not in encoder.prepare([Text((Sentence(("word",)),))]).dropped


def extract(
    encoder: Encoder,
    labelled: Labelled,
    *,
    context: int | None = None,
    file: Path | None = None,
    batch_tokens: int | None = None,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Features:
    """The vectors of labelled occurrences, at every layer, in one pass over the texts that hold them.

    `file` is where they are kept if they take more than memory should be asked for.
    """
    texts = texts_around(labelled, context)
    gather = Gather(encoder, texts, file)
    source = TextSource(Corpus.from_sentences(texts.texts), encoder, "sentence", batch_tokens)
    with running(workers, progress=progress) as run:
        passed = run_pass(source, [], context=run, consumers=[gather], choice=Choice(), read_duplicates=True)
    return features_of(encoder, gather, passed.dropped)


def features_of(encoder: Encoder, gather: Gather, dropped: dict[str, int]) -> Features:
    """What a pass has gathered."""
    texts, found = gather.texts, gather.weight > 0
    if not found.any():
        told = ", ".join(f"{reason} ({count:,})" for reason, count in dropped.items())
        raise InputError(
            f"at least one labelled word must have a vector, none has: {told or 'check the data'}.", code="no_vectors"
        )
    return Features(
        layers=encoder.layers,
        vectors=gather.vectors,
        index=texts.target,
        found=found[texts.target],
        pieces=gather.pieces[texts.target],
        weight=gather.weight,
        bag=gather.bag,
        in_bag=gather.in_bag,
        texts=texts,
        dropped=dropped,
    )


class Gather:
    """A consumer of a pass that keeps the mean vector of each target, and of each text its bag of pieces.

    identities  (texts,) of the texts in the pass; left out, it is a pass over these texts alone
    """

    #: arrays that hold all that was gathered
    KEPT = ("vectors", "weight", "pieces", "bag", "in_bag")

    def __init__(self, encoder: Encoder, texts: Texts, file: Path | None, identities: Ints | None = None) -> None:
        self.texts = texts
        if identities is None:
            numbers = np.arange(len(texts.texts))
            identities = ((numbers // DOCUMENT) << SENTENCE_BITS) | (numbers % DOCUMENT)
        self._text_order = np.argsort(identities, kind="stable")
        self._identities = identities[self._text_order]
        count = len(texts.target_text)
        owner = np.repeat(np.arange(count), texts.target_span)
        position = ranges(texts.target_position, texts.target_position + texts.target_span)
        hashes = hash_occurrences(identities[texts.target_text[owner]], position)
        order = np.argsort(hashes, kind="stable")
        self._hashes, self._owner = hashes[order], owner[order]
        shape = (count, len(encoder.layers), encoder.dim)
        large = file is not None and 4 * np.prod(shape) > IN_MEMORY
        self.vectors: NDArray[Any] = (
            np.lib.format.open_memmap(file, mode="w+", dtype=np.float32, shape=shape)
            if large and file is not None
            else np.zeros(shape, dtype=np.float32)
        )
        # a biLM's pieces are characters, of which its vectors are no means: its words weigh alike
        self._reads_characters = isinstance(encoder, ElmoEncoder)
        self.weight = np.zeros(count)
        self.pieces = np.zeros(count, dtype=np.int64)
        # of other models the lowest layer knows positions, or nobody knows what it knows
        plain = encoder.layers[0] == TABLE or (isinstance(encoder, ElmoEncoder) and encoder.layers[0] == "0")
        self.bag = np.zeros((len(texts.texts), encoder.dim), dtype=np.float32) if plain else None
        self.in_bag = np.zeros(len(texts.texts))

    def update(self, batch: Encoded) -> None:
        pieces = None if self._reads_characters else batch.pieces
        weight = np.ones(len(batch)) if pieces is None else pieces.astype(np.float64)
        if self.bag is not None:
            self._add_bags(batch, weight)
        low = np.searchsorted(self._hashes, batch.occurrences, side="left")
        high = np.searchsorted(self._hashes, batch.occurrences, side="right")
        rows = np.repeat(np.arange(len(batch)), high - low)
        if not len(rows):
            return
        owners = self._owner[ranges(low, high)]
        index = torch.from_numpy(rows).to(batch.vectors.device)
        part = batch.vectors.index_select(1, index).to("cpu", torch.float32)  # (layers, rows, d)
        # all words of an occurrence are in one text, so in one batch: its mean can be made here
        slots, place = np.unique(owners, return_inverse=True)
        means, total = weighted_means(part, place, weight[rows])
        self.vectors[slots] = means.transpose(0, 1).numpy()
        self.weight[slots] = total
        if pieces is not None:
            self.pieces[slots] = total.astype(np.int64)

    def _add_bags(self, batch: Encoded, weight: NDArray[np.float64]) -> None:
        assert self.bag is not None
        groups = batch.by_text
        place = np.minimum(np.searchsorted(self._identities, groups.identities), len(self._identities) - 1)
        ours = self._identities[place] == groups.identities
        lowest = batch.vectors[:1].to("cpu", torch.float32)
        means, total = weighted_means(lowest, groups.of_row, weight)
        self.bag[self._text_order[place[ours]]] = means[0].numpy()[ours]
        self.in_bag[self._text_order[place[ours]]] = total[ours]

    def end_shard(self, number: int) -> None:
        pass


def weighted_means(
    rows: torch.Tensor, group: Ints, weight: NDArray[np.float64]
) -> tuple[torch.Tensor, NDArray[np.float64]]:
    """Means (layers, groups, d) of rows (layers, n, d) by group, and the weight of each group."""
    total: NDArray[np.float64] = np.bincount(group, weights=weight).astype(np.float64)
    wide = rows * torch.from_numpy(weight.astype(np.float32)).unsqueeze(1)
    sums = add_rows(wide.new_zeros(rows.shape[0], len(total), rows.shape[2]), group, wide)
    return sums / torch.from_numpy(total.astype(np.float32)).unsqueeze(1), total
