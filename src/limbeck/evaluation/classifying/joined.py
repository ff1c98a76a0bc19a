"""Encoders as classification needs them: one layer of any, and pairs of texts read side by side, cut to a length."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from limbeck.corpus.units import Text
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, Prepared, Preparer
from limbeck.errors import UsageError


class JoinedPreparer:
    """The sentences of a text side by side as a model of pairs reads them, [CLS] a [SEP] b [SEP], each piece a unit.

    Of texts longer than `length` pieces, the special ones counted, the longer sentence is cut, as transformers'
    "longest_first" does. At most two sentences make a text. The first position of a causal model's window has no
    vector where the model's own preparer gives it none.
    """

    def __init__(self, prepare: PiecePreparer, *, length: int) -> None:
        self._aligner = prepare.aligner
        self._skipped = int(prepare.causal and not prepare.aligner.prefix and not prepare.keep_first)
        self._length = length
        specials = len(self._aligner.prefix) + 2 * len(self._aligner.suffix)
        if length < specials + 2:
            raise UsageError(
                f"length must have room for two texts and {specials} special pieces; got {length}.",
                code="out_of_range",
                parameter="length",
            )

    def __call__(self, texts: Sequence[Text], /) -> Prepared:
        texts = [text for text in texts if any(sentence.words for sentence in text.sentences)]
        alone = [Text((sentence,)) for text in texts for sentence in text.sentences]
        aligned = self._aligner(alone)
        parts = iter(np.split(aligned.pieces, aligned.piece_starts[1:-1]))
        prefix, suffix = (np.array(some, dtype=np.int32) for some in (self._aligner.prefix, self._aligner.suffix))
        windows = []
        for text in texts:
            own = [next(parts) for _ in text.sentences]
            room = self._length - len(prefix) - len(own) * len(suffix)
            sizes = cut_longest([len(part) for part in own], room)
            windows.append(
                np.concatenate(
                    [prefix, *(x for part, size in zip(own, sizes, strict=True) for x in (part[:size], suffix))]
                )
            )
        lengths = np.array([len(window) for window in windows], dtype=np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        window = np.repeat(np.arange(len(windows), dtype=np.int64), lengths)
        place = np.arange(starts[-1], dtype=np.int64) - starts[window]
        kept = place >= self._skipped
        window, place = window[kept], place[kept]
        pieces = np.concatenate([np.empty(0, dtype=np.int32), *windows])
        names = {piece: self._aligner.token(piece) for piece in np.unique(pieces).tolist()}
        identity = np.array([text.identity for text in texts], dtype=np.int64)[window]
        return Prepared(
            pieces=pieces,
            window_starts=starts,
            unit_window=window,
            unit_first=place,
            unit_count=np.ones(len(place), dtype=np.int64),
            strings=[names[piece] for piece in pieces[kept].tolist()],
            sentences=identity,
            positions=place,
            texts=identity,
        )


def cut_longest(sizes: Sequence[int], room: int) -> list[int]:
    """How much is kept of one or two texts so that they fit: the shorter one whole, or half of the room each.

    >>> cut_longest([10, 100], 61), cut_longest([100, 90], 61), cut_longest([5, 6], 61)
    ([10, 51], [31, 30], [5, 6])
    """
    if len(sizes) == 1:
        return [min(sizes[0], room)]
    short, long = sorted(sizes)
    short = min(short, max(room // 2, room - long))
    long = min(long, room - short)
    return [short, long] if sizes[0] <= sizes[1] else [long, short]


def words_instead(encoder: Encoder) -> PiecePreparer | None:
    """For an encoder of pieces one that gives its words instead; None where words are what it gives."""
    own = encoder.prepare
    if encoder.units == "words":
        return None
    if not isinstance(own, PiecePreparer):
        raise UsageError(
            f"A task about a word needs vectors of words; {encoder.name} gives {encoder.units}: give an encoder of "
            "words.",
            code="unsupported",
            parameter="units",
        )
    return PiecePreparer(own.aligner, capacity=own.capacity, causal=own.causal, keep_first=own.keep_first)


class OneLayer:
    """One layer of an encoder, so that a pass keeps no other; with a preparer in the place of its own, if given."""

    def __init__(self, encoder: Encoder, layer: str, prepare: Preparer | None = None) -> None:
        self._encoder = encoder
        self._row = encoder.layers.index(layer)
        self._prepare = prepare
        self.layers = (layer,)
        self.name = encoder.name
        self.dim = encoder.dim
        self.units = encoder.units
        if prepare is not None:
            self.units = prepare.units if isinstance(prepare, PiecePreparer) else "pieces"
        self.fingerprint = f"{encoder.fingerprint}-{layer}-{type(prepare).__name__}"

    @property
    def prepare(self) -> Preparer:
        return self._encoder.prepare if self._prepare is None else self._prepare

    def forward(self, batch: Prepared) -> torch.Tensor:
        return self._encoder.forward(batch)[self._row : self._row + 1]
