"""What an encoder is, and what it gives: one vector a word and layer, with the word's identity.

An encoder works in two steps, so that the first can run in other processes while the device
is busy with the second:

    prepare(texts)  -> Prepared    text to integers: pieces, windows, which pieces make which word
    forward(batch)  -> vectors     (layers, units, dim) on the device, rows in the order of batch's units

A user's own encoder may be a plain function of texts: see `limbeck.encoders.function`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders.travel import Slim, slim, wide

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Prepared:
    """Texts made ready for the device; all arrays, so that it crosses process borders cheaply.

    A text is read through one or more windows (overlapping ones when it is long, one for each
    target when context is restricted). A unit (word, piece or character) is read off one window.
    Units are in the order of the texts, and those that have no vector are left out and counted.
    """

    # windows
    pieces: NDArray[np.int32]  # piece ids of all windows, one after the other, special tokens included
    window_starts: Ints  # (windows + 1,) offsets into pieces
    # units: where their vector is read
    unit_window: Ints  # (units,) the window
    unit_first: Ints  # (units,) first piece, counted from the start of the window
    unit_count: Ints  # (units,) number of pieces, at least 1
    # units: who they are
    strings: Sequence[str]  # (units,) the word, piece or character
    sentences: Ints  # (units,) identity of the sentence
    positions: Ints  # (units,) index of the unit in its sentence
    texts: Ints  # (units,) identity of the text
    dropped: dict[str, int] = field(default_factory=dict)  # reason -> how many units had no vector

    def __len__(self) -> int:
        return len(self.strings)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = {each.name: getattr(self, each.name) for each in fields(self)}
        strings, dropped = arrays.pop("strings"), arrays.pop("dropped")
        return _arrived, (strings, dropped, {name: slim(array) for name, array in arrays.items()})


def _arrived(strings: Sequence[str], dropped: dict[str, int], arrays: dict[str, Slim]) -> Prepared:
    return Prepared(strings=strings, dropped=dropped, **{name: wide(*array) for name, array in arrays.items()})


class Preparer(Protocol):
    """The half of an encoder that needs no device."""

    def __call__(self, texts: Sequence[Text], /) -> Prepared: ...


@runtime_checkable
class Encoder(Protocol):
    """Any source of contextual vectors. No base class is needed."""

    @property
    def name(self) -> str:
        """How tables and figures call it."""

    @property
    def fingerprint(self) -> str:
        """Changes whenever its vectors could change: weights, settings, tokeniser."""

    @property
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, lowest first: "0" is the input layer, "table" the bare embedding table."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    @property
    def units(self) -> str:
        """What gets a vector: "words" (as the corpus splits them) or "pieces" (the tokeniser's)."""

    @property
    def prepare(self) -> Preparer:
        """Texts to integers. It travels to worker processes, so it should pickle and hold no weights."""

    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (layers, units, dim) of the batch's units, on the device."""
