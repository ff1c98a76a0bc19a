"""What an encoder is, and what it gives: one vector a word and layer, with the word's identity.

An encoder works in two steps, so that the first can run in other processes while the device
is busy with the second:

    prepare(texts)  -> Prepared    text to integers: pieces, windows, which pieces make which word
    forward(batch)  -> vectors     (layers, units, dim) on the device, rows in the order of batch's units

A user's own encoder may be a plain function of texts, see `limbeck.encoders.function`, or any object with the members
of `EncoderLike`: `as_encoder` gives it the rest.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders.travel import Slim, slim, wide
from limbeck.errors import UsageError

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]
DEFAULT_BATCH_TOKENS = 8192  #: padded pieces a batch, where an encoder does not say


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


class Encoder(ABC):
    """A model as limbeck sees it. What is not abstract has a default that is right for most."""

    @property
    @abstractmethod
    def name(self) -> str:
        """How tables and figures call it."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Changes whenever its vectors could change: weights, settings, tokeniser."""

    @property
    @abstractmethod
    def layers(self) -> tuple[str, ...]:
        """Names of the layers, lowest first: "0" is the input layer, "table" the bare embedding table."""

    @property
    @abstractmethod
    def dim(self) -> int:
        """Length of a vector."""

    @property
    @abstractmethod
    def units(self) -> str:
        """What gets a vector: "words" (as the corpus splits them) or "pieces" (the tokeniser's)."""

    @property
    @abstractmethod
    def prepare(self) -> Preparer:
        """Texts to integers. It travels to worker processes, so it should pickle and hold no weights."""

    @abstractmethod
    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (layers, units, dim) of the batch's units, on the device."""

    def __repr__(self) -> str:
        layers = self.layers
        told = f"layers {layers[0]} to {layers[-1]}" if len(layers) > 1 else "layer " + "".join(layers)
        return f"{type(self).__name__}({self.name}, {told}, {self.dim} dimensions)"

    @property
    def model_fingerprint(self) -> str | None:
        """Changes with the weights, and with no setting; None where that is not known."""
        return None

    def describe(self) -> dict[str, Any]:
        """Every setting that a reader needs to make the same vectors."""
        return {}

    @property
    def device(self) -> torch.device | str:
        """Where its model runs; "cpu" too where there is next to nothing to run, as in a table."""
        return "cpu"

    @property
    def batch_tokens(self) -> int:
        """Most pieces in a batch, padding included."""
        return DEFAULT_BATCH_TOKENS

    @property
    def window(self) -> int | None:
        """Most pieces read at once; None where there is no such limit."""
        return None

    @property
    def selective(self) -> bool:
        """Whether only some words are units."""
        return False

    @property
    def tells_case(self) -> bool:
        """Whether Tea and tea are different words to it."""
        return True

    @property
    def carries_state(self) -> bool:
        """Whether vectors depend on the batches before, and on how texts were divided into them."""
        return False

    @property
    def chooses_layers(self) -> bool:
        """Whether there is a choice of layers, see `with_layers`."""
        return False

    def with_layers(self, layers: str | int | Sequence[str | int] | None) -> Encoder:
        """The same encoder with other layers."""
        raise UsageError(f"layers cannot be chosen for {self.name}: omit them.", code="no_effect", parameter="layers")

    def on(self, device: str) -> Encoder:
        """This encoder, moved to another device."""
        return self


@runtime_checkable
class EncoderLike(Protocol):
    """What a class of yours must have to be taken for an encoder; no base class is needed. See `Encoder`."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def layers(self) -> tuple[str, ...]: ...
    @property
    def dim(self) -> int: ...
    @property
    def units(self) -> str: ...
    @property
    def prepare(self) -> Preparer: ...
    def forward(self, batch: Prepared) -> torch.Tensor: ...


#: the members of `EncoderLike`
REQUIRED = ("name", "fingerprint", "layers", "dim", "units", "prepare", "forward")


def _inner(name: str) -> Any:
    """A member of `Encoder`: that of the encoder inside, or the default where it has none."""
    default = vars(Encoder)[name]
    return property(lambda self: getattr(self.encoder, name) if hasattr(self.encoder, name) else default.__get__(self))


class WrappedEncoder(Encoder):
    """Another encoder, or a user's object with the members of one: what it does not say is as `Encoder` has it."""

    name = _inner("name")
    fingerprint = _inner("fingerprint")
    layers = _inner("layers")
    dim = _inner("dim")
    units = _inner("units")
    prepare = _inner("prepare")
    forward = _inner("forward")
    model_fingerprint = _inner("model_fingerprint")
    describe = _inner("describe")
    device = _inner("device")
    window = _inner("window")
    selective = _inner("selective")
    tells_case = _inner("tells_case")
    carries_state = _inner("carries_state")

    def __init__(self, encoder: Any) -> None:
        self.encoder = encoder

    @property
    def batch_tokens(self) -> int:
        return int(getattr(self.encoder, "batch_tokens", None) or DEFAULT_BATCH_TOKENS)

    @property
    def chooses_layers(self) -> bool:
        return hasattr(self.encoder, "with_layers")

    def with_layers(self, layers: str | int | Sequence[str | int] | None) -> Encoder:
        return as_encoder(self.encoder.with_layers(layers)) if self.chooses_layers else super().with_layers(layers)

    def on(self, device: str) -> Encoder:
        return as_encoder(self.encoder.on(device)) if hasattr(self.encoder, "on") else self


def as_encoder(thing: Any) -> Encoder:
    """An encoder out of what a user has: one already, an object with the members of one, or a function of texts."""
    if isinstance(thing, Encoder):
        return thing
    if isinstance(thing, EncoderLike):
        return WrappedEncoder(thing)
    if not callable(thing):
        missing = ", ".join(name for name in REQUIRED if not hasattr(thing, name))
        raise UsageError(f"{type(thing).__name__} is no encoder: it has no {missing}.", code="wrong_type")
    from limbeck.encoders.function import FunctionEncoder

    return FunctionEncoder(thing, name=getattr(thing, "__name__", "function"))
