"""What a classifier sees of an example: frozen vectors of its tokens, put together in one of two ways.

    mean       u, the mean over a text's tokens; of a pair u, v, |u − v| and u·v, coordinate by coordinate; of a word in
               two texts the same of its two vectors
    flattened  the tokens' vectors one after the other, a pair's read side by side, cut or filled with zeros to a fixed
               number of them; of a word in two texts its two vectors

Tokens are encoded once. A repair changes their vectors, and features are made of these anew.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.corpus import Corpus, Sentence
from limbeck.corpus.units import SENTENCE_BITS
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, Preparer, as_encoder
from limbeck.errors import InputError
from limbeck.evaluation.classifying.joined import JoinedPreparer, OneLayer, cut_longest, words_instead
from limbeck.evaluation.classifying.task import Examples, Kind
from limbeck.evaluation.settings import Features
from limbeck.seeds import hash_occurrences
from limbeck.stream import collect_texts
from limbeck.stream.collected import DOCUMENT, collect
from limbeck.stream.sources import TextSource

NO_VECTOR = "text without any vector (features are zero)"
NO_WORD = "word without a vector (zeros in its place)"
#: numbers of examples, of any shape, -> their features, one more axis
Inputs = Callable[[torch.Tensor], torch.Tensor]


@dataclass(frozen=True)
class EncodedExamples:
    """Vectors of all tokens of some examples, and how an example's features are made of them.

    rows      (n, d) the tokens' vectors
    examples  (n,) the example that each belongs to
    width     numbers in an example's features
    make      vectors (n, d), these or repaired ones, -> `Inputs`
    dropped   reason -> how many examples lack something
    """

    rows: torch.Tensor
    examples: NDArray[np.int64]
    width: int
    make: Callable[[torch.Tensor], Inputs]
    dropped: dict[str, int]


def encode_examples(
    examples: Examples,
    encoder: Encoder,
    *,
    kind: Kind,
    features: Features,
    layer: str,
    length: int,
    progress: bool = False,
) -> EncodedExamples:
    """One pass of the encoder over all texts."""
    if kind == "word":
        return _encode_words(examples, encoder, features=features, layer=layer, progress=progress)
    if features == "flattened":
        return _encode_flattened(examples, encoder, layer=layer, length=length, progress=progress)
    return _encode_means(examples, encoder, layer=layer, progress=progress)


def _encode_means(examples: Examples, encoder: Encoder, *, layer: str, progress: bool) -> EncodedExamples:
    n, sides = len(examples), len(examples.texts)
    texts = [text for side in examples.texts for text in side]
    found = collect_texts(OneLayer(encoder, layer), texts, progress=progress)
    empty = np.bincount(found.texts, minlength=len(texts)).reshape(sides, n).min(0) == 0

    def make(rows: torch.Tensor) -> Inputs:
        means = found.text_means(rows)
        return _matrix(means if sides == 1 else _together(means[:n], means[n:]))

    return EncodedExamples(
        rows=_rows(found.vectors[0], encoder),
        examples=found.texts % n,
        width=encoder.dim * (1 if sides == 1 else 4),
        make=make,
        dropped={NO_VECTOR: int(empty.sum())} if empty.any() else {},
    )


def _encode_words(
    examples: Examples, encoder: Encoder, *, features: Features, layer: str, progress: bool
) -> EncodedExamples:
    assert examples.places is not None
    n = len(examples)
    texts = [text for side in examples.texts for text in side]
    found = collect_texts(OneLayer(encoder, layer, words_instead(encoder)), texts, progress=progress)
    # a text's identity, as `collect_texts` numbers them
    numbers = np.arange(2 * n, dtype=np.int64)
    wanted = hash_occurrences((numbers // DOCUMENT << SENTENCE_BITS) | numbers % DOCUMENT, examples.places.T.ravel())
    order = np.argsort(found.occurrences)
    at = order[np.searchsorted(found.occurrences, wanted, sorter=order).clip(max=len(order) - 1)]
    slots = np.where(found.occurrences[at] == wanted, at, len(found)).reshape(2, n).T  # (examples, 2)
    missing = int((slots == len(found)).any(1).sum())

    def make(rows: torch.Tensor) -> Inputs:
        if features == "flattened":
            return _gathered(rows, slots)
        both = _padded(rows)[torch.from_numpy(slots).to(rows.device)]
        return _matrix(_together(both[:, 0], both[:, 1]))

    return EncodedExamples(
        rows=_rows(found.vectors[0], encoder),
        examples=found.texts % n,
        width=encoder.dim * (2 if features == "flattened" else 4),
        make=make,
        dropped={NO_WORD: missing} if missing else {},
    )


def _encode_flattened(
    examples: Examples, encoder: Encoder, *, layer: str, length: int, progress: bool
) -> EncodedExamples:
    # Where pieces are known, a pair is read as models of pairs read it; other encoders read one text after the other.
    own = encoder.prepare
    prepare: Preparer | None = JoinedPreparer(own, length=length) if isinstance(own, PiecePreparer) else None
    sides = len(examples.texts)
    sentences = []
    for number, texts in enumerate(zip(*examples.texts, strict=True)):
        # more words than tokens are never read, and a long passage costs
        kept = _cut_words([text.split() for text in texts], length, whole=prepare is not None)
        document, pair = divmod(number, DOCUMENT)
        sentences += [Sentence(tuple(words), document, pair, pair * sides + side) for side, words in enumerate(kept)]
    source = TextSource(Corpus.from_sentences(sentences), as_encoder(OneLayer(encoder, layer, prepare)), "paragraph")
    found = collect(source, progress=progress)
    n = len(examples)
    owner = (found.texts >> SENTENCE_BITS) * DOCUMENT + (found.texts & ((1 << SENTENCE_BITS) - 1)) // sides
    place = np.arange(len(found)) - np.searchsorted(owner, owner)
    slots = np.full((n, length), len(found), dtype=np.int64)  # one past the rows: zeros
    inside = place < length
    slots[owner[inside], place[inside]] = np.flatnonzero(inside)
    empty = int((slots[:, 0] == len(found)).sum())
    return EncodedExamples(
        rows=_rows(found.vectors[0], encoder),
        examples=owner,
        width=length * encoder.dim,
        make=lambda rows: _gathered(rows, slots),
        dropped={NO_VECTOR: empty} if empty else {},
    )


def _cut_words(texts: list[list[str]], length: int, *, whole: bool) -> list[list[str]]:
    """Words beyond the first `length` of each text left out; `whole` leaves the rest of the cutting to pieces."""
    if whole:
        return [words[:length] for words in texts]
    return [words[:size] for words, size in zip(texts, cut_longest([len(w) for w in texts], length), strict=True)]


def _rows(vectors: torch.Tensor, encoder: Encoder) -> torch.Tensor:
    """Vectors where the encoder is, for the training to be there too."""
    if not len(vectors):
        raise InputError(
            f"{encoder.name} gives no vector for any of the texts: give texts with words it knows.", code="no_vectors"
        )
    return vectors.to(encoder.device).clone()


def _together(u: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
    return torch.cat([u, v, (u - v).abs(), u * v], dim=1)


def _matrix(features: torch.Tensor) -> Inputs:
    return lambda numbers: features[numbers]


def _gathered(rows: torch.Tensor, slots: NDArray[np.int64]) -> Inputs:
    """Features put together when they are asked for: flattened, all of them would be many times the vectors."""
    padded, places = _padded(rows), torch.from_numpy(slots).to(rows.device)
    return lambda numbers: padded[places[numbers]].flatten(-2)


def _padded(rows: torch.Tensor) -> torch.Tensor:
    """The rows and one of zeros behind them, for what is not there."""
    return torch.cat([rows, rows.new_zeros(1, rows.shape[1])])
