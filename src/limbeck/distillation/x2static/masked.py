"""Contexts in which the target is masked (§3.1 of the paper): the teacher reads a sentence once for every target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.corpus.vocabulary import Vocabulary
from limbeck.distillation.x2static.sampling import kept
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.batching import ranges
from limbeck.encoders.huggingface import HuggingFaceEncoder
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Prepared, WrappedEncoder
from limbeck.errors import UsageError
from limbeck.seeds import hash_occurrences
from limbeck.strings import Strings

MASKS = ("[MASK]", "<mask>")


class MaskedTargets(WrappedEncoder):
    """An encoder whose vector of a word is the mean over the pieces of its sentence, the word itself masked.

    Only the words that will be targets of the first epoch are read, since each costs a forward pass of its own.
    """

    def __init__(
        self, encoder: HuggingFaceEncoder, vocabulary: Vocabulary, keep: NDArray[np.float64], *, seed: int = 0
    ) -> None:
        if encoder.units != "words":
            raise UsageError(
                "masked contexts belong to words: leave --units=pieces out.", code="exclusive", parameter="units"
            )
        reader = encoder.prepare.aligner
        backend = reader.backend if isinstance(reader, Aligner) else None
        found = [backend.token_to_id(name) for name in MASKS] if backend is not None else []
        mask = next((piece for piece in found if piece is not None), None)
        if mask is None or encoder.causal:
            raise UsageError(
                f"masked contexts need a teacher with a mask token; {encoder.name} has none.",
                code="unsupported",
                parameter="context",
            )
        super().__init__(encoder)
        self._prepare = MaskingPreparer(encoder.prepare, mask, vocabulary, keep, seed)

    @property
    def fingerprint(self) -> str:
        return f"{self.encoder.fingerprint}-masked"

    @property
    def prepare(self) -> MaskingPreparer:
        return self._prepare


@dataclass(frozen=True)
class MaskingPreparer:
    """Texts to one window for each target, with mask tokens in its place, of which its sentence is read whole."""

    prepare: PiecePreparer
    mask: int
    vocabulary: Vocabulary
    keep: NDArray[np.float64]
    seed: int

    def __call__(self, texts: Sequence[Text], /) -> Prepared:
        whole = self.prepare(texts)
        words = self.vocabulary.ids(Strings.of(whole.strings))
        known = np.flatnonzero(words >= 0)
        keys = hash_occurrences(whole.sentences[known], whole.positions[known])
        targets = known[kept(words[known], keys, self.keep, seed=self.seed, epoch=0)]
        return masked(whole, targets, self.mask)


def masked(whole: Prepared, targets: NDArray[np.int64], mask: int) -> Prepared:
    """Each target of a batch as the one unit of a window of its own."""
    window = whole.unit_window[targets]
    low, high = whole.window_starts[window], whole.window_starts[window + 1]
    starts = np.concatenate([[0], np.cumsum(high - low)]).astype(np.int64)
    pieces = whole.pieces[ranges(low, high)]
    own = starts[:-1] + whole.unit_first[targets]
    pieces[ranges(own, own + whole.unit_count[targets])] = mask
    # the span of a sentence inside its window, from its first unit to its last
    _, group = np.unique(np.stack([whole.unit_window, whole.sentences]), axis=1, return_inverse=True)
    first = np.full(group.max(initial=-1) + 1, np.iinfo(np.int64).max)
    last = np.zeros_like(first)
    np.minimum.at(first, group, whole.unit_first)
    np.maximum.at(last, group, whole.unit_first + whole.unit_count)
    return replace(
        whole,
        pieces=pieces,
        window_starts=starts,
        unit_window=np.arange(len(targets)),
        unit_first=first[group[targets]],
        unit_count=(last - first)[group[targets]],
        strings=Strings.of(whole.strings).take(targets),
        sentences=whole.sentences[targets],
        positions=whole.positions[targets],
        texts=whole.texts[targets],
    )
