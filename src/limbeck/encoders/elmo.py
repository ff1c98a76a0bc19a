"""ELMo as an encoder: every layer's vectors of words, from a bidirectional language model over characters."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from copy import copy
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.encoders.batching import cut, ranges
from limbeck.encoders.bilm import BiLM, State
from limbeck.encoders.huggingface import DTYPES, choose_batch_tokens, choose_device, weights_fingerprint
from limbeck.encoders.layers import TABLE, choose_layers
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, Ints, Prepared
from limbeck.encoders.spelling import WORD_START, Characters, Speller, lay_out
from limbeck.errors import UsageError, choose
from limbeck.transfer import send

LONGEST_WINDOW = 16_384  #: characters, some 2,700 words: an LSTM knows no limit, but memory does
CHARACTERS_A_WORD = 8  #: its two marks included, generously
FILTER_ROOM = {"cpu": 2**22}  #: numbers that the filters' answers may take at a time, by kind of device
_FILTER_ROOM = 2**28


class ElmoEncoder(Encoder):
    """Vectors of every layer of a biLM: layer 0 is the word's own vector, twice; then both directions side by side.

    model         moved to device and dtype in place
    lowercase     spell words in lower case; None: as the model's options say, and where they do not, as written
    layers        None for all; else like "0", "1-2", "-1", or several with commas between
    window        most characters read at once, boundaries included; longer texts are read through several windows
    batch_tokens  most padded characters in a batch
    carry_state   go on from batch to batch where the last one stopped, window i after window i, as published models
                  did in training. Vectors then hang on all that came before, so batches are read in the order given
    context, targets: see `PiecePreparer`

    Each sentence of a text stands between <S> and </S>, which get no vectors.
    `forward` gives tensors made in torch's inference mode: clone them before training on them.
    """

    def __init__(
        self,
        model: BiLM,
        *,
        name: str,
        lowercase: bool | None = None,
        layers: str | int | Sequence[str | int] | None = None,
        window: int = LONGEST_WINDOW,
        context: int | None = None,
        targets: str | Collection[str] | None = None,
        device: str = "auto",
        dtype: str = "float32",
        batch_tokens: int | None = None,
        carry_state: bool = False,
    ) -> None:
        self._name = name
        self._device = choose_device(device)
        self._dtype: torch.dtype = getattr(torch, choose(dtype, DTYPES, what="dtype"))
        if batch_tokens is not None and batch_tokens < 1:
            raise UsageError(
                f"--batch-tokens is a number of characters, 1 or more; got {batch_tokens}.",
                code="out_of_range",
                parameter="batch_tokens",
            )
        self._batch_tokens = batch_tokens or CHARACTERS_A_WORD * choose_batch_tokens(self._device)
        self._model = model.to(device=self._device, dtype=self._dtype).eval()
        self._layers = self._chosen(layers)
        self._carry_state = carry_state
        self._state: State | None = None
        if lowercase is None:
            lowercase = bool(model.published_options.get("lowercase", False))
        self._speller = Speller(longest=model.options.longest_word, lowercase=lowercase)
        boundaries = len(self._speller.prefix) + len(self._speller.suffix)
        self._window = window
        self._prepare = PiecePreparer(self._speller, capacity=window - boundaries, context=context, targets=targets)

    @classmethod
    def from_folder(cls, folder: str | Path, *, name: str | None = None, **settings: Any) -> ElmoEncoder:
        """The model in a folder, see `BiLM.from_folder`, with settings as above."""
        return cls(BiLM.from_folder(folder), name=name or Path(folder).absolute().name, **settings)

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> BiLM:
        """The model itself."""
        return self._model

    @property
    def layers(self) -> tuple[str, ...]:
        return self._layers

    @property
    def dim(self) -> int:
        return 2 * self._model.options.projection

    @property
    def units(self) -> str:
        return self._prepare.units

    @property
    def selective(self) -> bool:
        """Whether only some words are units."""
        return self._prepare.targets is not None or self._prepare.label is not None

    @property
    def tells_case(self) -> bool:
        return self._prepare.aligner.tells_case

    @property
    def window(self) -> int:
        """Most characters read at once, boundaries included."""
        return self._window

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def carries_state(self) -> bool:
        """Whether vectors hang on the batches before, and on how texts were divided into them."""
        return self._carry_state

    @property
    def batch_tokens(self) -> int:
        """Most padded characters in a batch."""
        return self._batch_tokens

    @property
    def chooses_layers(self) -> bool:
        return True

    @property
    def prepare(self) -> PiecePreparer:
        return self._prepare

    def with_layers(self, layers: str | int | Sequence[str | int] | None) -> ElmoEncoder:
        """The same encoder with other layers; the model is shared."""
        made = copy(self)
        made._layers = self._chosen(layers)
        made.__dict__.pop("fingerprint", None)
        return made

    def _chosen(self, layers: str | int | Sequence[str | int] | None) -> tuple[str, ...]:
        found = choose_layers(layers, self._model.options.layers)
        if TABLE in found:
            raise UsageError(
                f'{self._name} makes its vectors from characters and has no table of words: ask for layer "0".',
                code="unsupported",
                parameter="layers",
            )
        return found

    def on(self, device: str) -> ElmoEncoder:
        """This encoder, moved to another device."""
        self._device = choose_device(device)
        self._model = self._model.to(self._device)
        return self

    def describe(self) -> dict[str, Any]:
        """Every setting that a reader needs to make the same vectors."""
        return {
            "model_type": "elmo",
            "lowercase": self._speller.lowercase,
            "units": self.units,
            "window": self._window,
            "context": self._prepare.context,
            "targets": self._targets(),
            "carry_state": self._carry_state,
            "dtype": str(self._dtype).removeprefix("torch."),
            "device": str(self._device),
        }

    @cached_property
    def fingerprint(self) -> str:
        settings = [
            self._layers, self._window, str(self._dtype), self._prepare.context, self._targets(), self._carry_state,
        ]  # fmt: skip
        made_of = [self.model_fingerprint, settings]
        return hashlib.blake2b(json.dumps(made_of, default=str).encode(), digest_size=16).hexdigest()

    @cached_property
    def model_fingerprint(self) -> str:
        """Changes with the weights, and with no setting: whose vectors they are."""
        return weights_fingerprint(self._model, self._model.published_options, self._speller.identity)

    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (layers, units, dim) in the order of the batch's units, whatever its size."""
        # cuDNN's LSTMs and filters would take float32 for TF32, with three digits; products outside it do not.
        exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
        with torch.inference_mode(), exactly if self._device.type == "cuda" else nullcontext():
            return self._forward(batch)

    def _forward(self, batch: Prepared) -> torch.Tensor:
        out = torch.empty((len(self._layers), len(batch), self.dim), dtype=self._dtype, device=self._device)
        if not len(batch):
            return out
        word_at = np.flatnonzero(batch.pieces == WORD_START)
        word_starts = np.searchsorted(word_at, batch.window_starts)  # (windows + 1,) words before each window
        lengths = np.diff(word_starts)
        unit_word = np.searchsorted(word_at, batch.window_starts[batch.unit_window] + batch.unit_first)
        vectors, word_type = self._embed(batch.pieces, word_at)
        for windows in self._runs(lengths):
            rank = np.full(len(lengths), -1, dtype=np.int64)
            rank[windows] = np.arange(len(windows))
            units = np.flatnonzero(rank[batch.unit_window] >= 0)
            length = int(lengths[windows].max())
            types = np.zeros((len(windows), length), dtype=np.int64)
            types[np.arange(length) < lengths[windows, None]] = word_type[
                ranges(word_starts[windows], word_starts[windows + 1])
            ]
            states = self._read(vectors[send(types, self._device)], lengths[windows])
            window = batch.unit_window[units]
            place = send(rank[window] * length + unit_word[units] - word_starts[window], self._device)
            row = send(units, self._device)
            for layer, (forward, backward) in enumerate(states):
                both = [side.flatten(0, 1).index_select(0, place) for side in (forward, backward)]
                out[layer].index_copy_(0, row, torch.cat(both, -1))
        return out

    def _runs(self, lengths: Ints) -> list[Ints]:
        """Which windows are read together: those of similar length, as many as the budget allows."""
        if self._carry_state:
            return [np.arange(len(lengths), dtype=np.int64)]
        order = np.argsort(-lengths, kind="stable")
        cuts = cut(lengths[order], np.ones_like(lengths), max(1, self._batch_tokens // CHARACTERS_A_WORD))
        return [order[low:high] for low, high in itertools.pairwise(cuts)]

    def _embed(self, pieces: NDArray[np.int32], word_at: Ints) -> tuple[torch.Tensor, Ints]:
        """Vectors (types, d) of the different words, and each word's type: a text repeats most of its words."""
        options = self._model.options
        ends = np.append(word_at[1:], len(pieces))
        rows = lay_out(pieces, word_at, ends, longest=options.longest_word, room=options.widest)
        first, word_type = distinct_rows(rows)
        characters = send(rows[first].astype(np.int64), self._device)
        room = FILTER_ROOM.get(self._device.type, _FILTER_ROOM)
        at_once = max(1, room // (rows.shape[1] * max(number for _, number in options.filters)))
        return torch.cat([self._model.embed(some) for some in characters.split(at_once)]), word_type

    def _read(self, embedding: torch.Tensor, lengths: Ints) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Both directions (windows, words, d) of the chosen layers."""
        wanted = [int(layer) for layer in self._layers]
        reading = self._model.read(
            embedding,
            send(lengths, self._device),
            layers=max(wanted),
            state=self._state,
            keep_state=self._carry_state,
        )
        self._state = reading.state
        found = [(embedding, embedding), *zip(reading.forward, reading.backward, strict=True)]
        return [found[layer] for layer in wanted]

    def _targets(self) -> list[str] | str | None:
        prepare = self._prepare
        if prepare.targets is not None:
            return sorted(prepare.targets)
        return None if prepare.label is None else f"label:{prepare.label}"


def distinct_rows(rows: Characters) -> tuple[Ints, Ints]:
    """Where each different row first stands, and for every row which of these it is.

    By a hash of each row, which is far quicker than sorting the rows; where two unlike rows share one, they are sorted.
    """
    weights = np.random.default_rng(0).integers(-(2**62), 2**62, rows.shape[1])
    _, first, inverse = np.unique(rows.astype(np.int64) @ weights, return_index=True, return_inverse=True)
    if not np.array_equal(rows[first][inverse], rows):
        _, first, inverse = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    return first.astype(np.int64), inverse.reshape(-1).astype(np.int64)
