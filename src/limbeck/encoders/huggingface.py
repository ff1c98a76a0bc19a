"""Any model of transformers as an encoder: every layer's vectors of words or pieces, from one forward pass."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
from collections.abc import Collection, Sequence
from contextlib import nullcontext
from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.attention import SDPBackend, sdpa_kernel

from limbeck import kernels
from limbeck.encoders.alignment import Aligner
from limbeck.encoders.batching import cut, ranges
from limbeck.encoders.layers import TABLE, choose_layers
from limbeck.encoders.packed import KINDS, Row, alike, cut_row, of_row, packed
from limbeck.encoders.pooling import POOLINGS, Pooling
from limbeck.encoders.positions import choose_window_size, first_position
from limbeck.encoders.preparer import PiecePreparer
from limbeck.encoders.protocol import Encoder, Ints, Prepared
from limbeck.errors import InputError, UsageError, choose
from limbeck.transfer import send

DTYPES = ("float32", "bfloat16", "float16", "float64")
STACKS = ("encoder", "decoder")
BATCH_TOKENS = {"cpu": 4096, "mps": 8192}  #: padded pieces in one forward pass, by kind of device
#: kernels for attention, best first; cuDNN's plans anew for each shape, some 50 ms, and here every batch has its own
ATTENTION = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
_PROBE = "one two three four"


class HuggingFaceEncoder(Encoder):
    """Vectors of every layer of a transformers model.

    model, tokenizer  as loaded; the model is moved to device and dtype in place, a head (of a language
                      model, say) is left aside
    layers            None for all; else like "0", "3-5", "-1", "table", or several with commas between
    pooling           pieces to words: mean, first, last, sum, max, min
    window            most pieces the model reads at once, special tokens included; None: the model's own
    stack             for encoder-decoders: "encoder", or "decoder", which is fed the same pieces
    batch_tokens      most padded pieces in one forward pass
    units, context, targets, keep_first, special: see `PiecePreparer`

    `forward` gives tensors made in torch's inference mode: clone them before training on them.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        *,
        name: str,
        layers: str | int | Sequence[str | int] | None = None,
        pooling: str = "mean",
        units: str = "words",
        window: int | None = None,
        context: int | None = None,
        targets: str | Collection[str] | None = None,
        keep_first: bool = False,
        special: bool = False,
        stack: str = "encoder",
        device: str = "auto",
        dtype: str = "float32",
        batch_tokens: int | None = None,
    ) -> None:
        self._name = name
        self._pooling = choose(pooling, POOLINGS, what="pooling")
        self._stack = choose(stack, STACKS, what="stack")
        self._device = choose_device(device)
        self._dtype: torch.dtype = getattr(torch, choose(dtype, DTYPES, what="dtype"))
        self._batch_tokens = choose_batch_tokens(self._device) if batch_tokens is None else batch_tokens
        if self._batch_tokens < 1:
            raise UsageError(
                f"--batch-tokens is a number of pieces, 1 or more; got {batch_tokens}.",
                code="out_of_range",
                parameter="batch_tokens",
            )

        base = getattr(model, "base_model", model)
        self._two_stacks = bool(getattr(base.config, "is_encoder_decoder", False))
        if stack == "decoder" and not self._two_stacks:
            raise UsageError(
                f"--stack=decoder is for encoder-decoders; {name} has one stack only: leave --stack out.",
                code="no_effect",
                parameter="stack",
            )
        if self._two_stacks and stack == "encoder":
            base = base.get_encoder()  # the other half need not be on the device
            self._two_stacks = False
        self._model = base.to(device=self._device, dtype=self._dtype).eval()
        accepted = inspect.signature(self._model.forward).parameters
        self._masked = "attention_mask" in accepted
        self._cacheable = "use_cache" in accepted
        pad = getattr(base.config, "pad_token_id", None)
        self._table: torch.Tensor = self._model.get_input_embeddings().weight
        # RoBERTa's kind counts positions by the padding id; where there is none, any id will do under the mask.
        self._pad = pad if isinstance(pad, int) and 0 <= pad < len(self._table) else 0

        aligner = Aligner(tokenizer)
        self._window = choose_window_size(self._model, tokenizer, window)
        self._probe = [*aligner.prefix, *aligner.encode(_PROBE), *aligner.suffix][: min(self._window, 8)]
        self._blocks, self._hidden, causal = self._try()
        self._layers = choose_layers(layers, self._blocks)
        self._dim = self._table.shape[1] if self._layers == (TABLE,) else self._hidden
        self._check_table()
        self._prepare = PiecePreparer(
            aligner,
            capacity=self._window - len(aligner.prefix) - len(aligner.suffix),
            units=units,
            context=context,
            targets=targets,
            causal=causal,
            keep_first=keep_first,
            special=special,
        )
        self._packs = self._choose_packing()

    def _check_table(self) -> None:
        if TABLE in self._layers and self._table.shape[1] != self._dim:
            raise UsageError(
                f"The embedding table of {self._name} has {self._table.shape[1]} dimensions and its layers have "
                f'{self._dim}: ask for "table" alone.',
                code="other_dimensions",
                parameter="layers",
            )

    @property
    def name(self) -> str:
        return self._name

    @property
    def model(self) -> Any:
        """The model itself, as transformers has it."""
        return self._model

    @property
    def layers(self) -> tuple[str, ...]:
        return self._layers

    @property
    def dim(self) -> int:
        return self._dim

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
        """Most pieces read at once, special tokens included."""
        return self._window

    @property
    def causal(self) -> bool:
        """Whether a word sees only what stands to its left."""
        return self._prepare.causal

    @property
    def device(self) -> torch.device:
        return self._device

    @property
    def batch_tokens(self) -> int:
        """Most padded pieces in one forward pass."""
        return self._batch_tokens

    @property
    def chooses_layers(self) -> bool:
        return True

    @property
    def prepare(self) -> PiecePreparer:
        return self._prepare

    def with_special(self) -> HuggingFaceEncoder:
        """The same encoder with special tokens among its units, words too: see `PiecePreparer.with_special`."""
        made = copy(self)
        made._prepare = self._prepare.with_special()
        made.__dict__.pop("fingerprint", None)
        return made

    def with_layers(self, layers: str | int | Sequence[str | int] | None) -> HuggingFaceEncoder:
        """The same encoder with other layers; model and tokenizer are shared."""
        made = copy(self)
        made._layers = choose_layers(layers, self._blocks)
        made._dim = self._table.shape[1] if made._layers == (TABLE,) else self._hidden
        made._check_table()
        made.__dict__.pop("fingerprint", None)
        return made

    def on(self, device: str) -> HuggingFaceEncoder:
        """This encoder, moved to another device."""
        self._device = choose_device(device)
        self._model = self._model.to(self._device)
        self._table = self._model.get_input_embeddings().weight
        self._packs = self._choose_packing()
        return self

    def with_random_weights(self, seed: int) -> HuggingFaceEncoder:
        """The same encoder with the weights that its model has before training, drawn from the seed."""
        made = copy(self)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            fresh = type(self._model)(self._model.config)
        made._model = fresh.to(device=self._device, dtype=self._dtype).eval()
        made._table = made._model.get_input_embeddings().weight
        for known in ("fingerprint", "model_fingerprint"):
            made.__dict__.pop(known, None)
        return made

    def describe(self) -> dict[str, Any]:
        """Every setting that a reader needs to make the same vectors."""
        prepare = self._prepare
        label = None if prepare.label is None else f"label:{prepare.label}"
        return {
            "model_type": self._model.config.model_type,
            "pooling": self._pooling,
            "units": prepare.units,
            "window": self._window,
            "context": prepare.context,
            "targets": sorted(prepare.targets) if prepare.targets is not None else label,
            "causal": prepare.causal,
            "keep_first": prepare.keep_first,
            "special": prepare.special,
            "stack": self._stack,
            "dtype": str(self._dtype).removeprefix("torch."),
            "device": str(self._device),
        }

    @cached_property
    def fingerprint(self) -> str:
        prepare = self._prepare
        targets = sorted(prepare.targets) if prepare.targets is not None else prepare.label
        settings = [
            self._layers, self._pooling, self._stack, self._window, str(self._dtype),
            prepare.units, prepare.context, targets, prepare.keep_first, prepare.special,
        ]  # fmt: skip
        made_of = [self.model_fingerprint, settings]
        return hashlib.blake2b(json.dumps(made_of, default=str).encode(), digest_size=16).hexdigest()

    @cached_property
    def model_fingerprint(self) -> str:
        """Changes with the weights and the tokeniser, and with no setting: whose vectors they are."""
        config = self._model.config.to_dict()
        for volatile in ("_name_or_path", "transformers_version", "dtype", "torch_dtype", "architectures"):
            config.pop(volatile, None)
        return weights_fingerprint(self._model, config, self._prepare.aligner.identity)

    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (layers, units, dim) in the order of the batch's units, whatever its size."""
        with torch.inference_mode(), sdpa_kernel(ATTENTION):
            return self._forward(batch)

    def _forward(self, batch: Prepared) -> torch.Tensor:
        out = torch.empty((len(self._layers), len(batch), self._dim), dtype=self._dtype, device=self._device)
        if not len(batch):
            return out
        if int(batch.pieces.max()) >= len(self._table):
            raise InputError(
                f"Every piece must be a row of the model's embedding table; got piece {int(batch.pieces.max())} and "
                f"{len(self._table)} rows: give the tokenizer that belongs to {self._name}.",
                code="out_of_range",
                parameter="tokenizer",
            )
        lengths = np.diff(batch.window_starts)
        order = np.arange(len(lengths)) if self._packs else np.argsort(-lengths, kind="stable")
        cuts = self._cuts(lengths[order])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        unit_rank = rank[batch.unit_window]
        by_rank = np.argsort(unit_rank, kind="stable")
        bounds = np.searchsorted(unit_rank[by_rank], cuts)
        for run, (low, high) in enumerate(itertools.pairwise(cuts)):
            units = np.sort(by_rank[bounds[run] : bounds[run + 1]])
            if not len(units):
                continue
            windows = order[low:high]
            if self._packs:
                first, last = batch.window_starts[[low, high]].tolist()
                states = self._states(self._in_a_row(batch.pieces[first:last], lengths[windows]))
                begins = batch.window_starts[batch.unit_window[units]] - first
            else:
                length = int(lengths[order[low]])
                ids, mask = self._padded(batch, windows, lengths[windows], length)
                states = self._states({"input_ids": ids, "attention_mask": mask})
                begins = (unit_rank[units] - low) * length
            pooling = Pooling.plan(
                self._pooling, begins + batch.unit_first[units], batch.unit_count[units], self._device
            )
            if len(units) == len(batch):
                pooling(states, out)
            else:
                out.index_copy_(1, send(units, self._device), pooling(states))
        return out

    def _cuts(self, lengths: Ints) -> list[int]:
        """Where to cut windows into forward passes; unless they go in a row, they are sorted by falling length."""
        if self._packs:
            return cut_row(lengths, self._batch_tokens)
        if self._masked or self._prepare.causal:
            return cut(lengths, np.ones_like(lengths), self._batch_tokens)
        # A model that takes no mask (FNet) would read the padding: only windows of one length go together.
        cuts = [0]
        for same in np.split(lengths, np.flatnonzero(np.diff(lengths)) + 1):
            cuts += [cuts[-1] + at for at in cut(same, np.ones_like(same), self._batch_tokens)[1:]]
        return cuts

    def _padded(self, batch: Prepared, windows: Ints, lengths: Ints, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Piece ids padded on the right, and the mask that hides the padding; (windows, length) both."""
        ids = np.full((len(windows), length), self._pad, dtype=np.int64)
        real = np.arange(length) < lengths[:, None]
        ids[real] = batch.pieces[ranges(batch.window_starts[windows], batch.window_starts[windows] + lengths)]
        both = send(np.stack([ids, real.astype(np.int64)]), self._device)  # one copy instead of two
        return both[0], both[1]

    @cached_property
    def _first_position(self) -> int:
        return first_position(self._model)

    def _in_a_row(self, pieces: NDArray[np.integer], lengths: Ints) -> dict[str, Any]:
        return of_row(Row.of(pieces, lengths, first=self._first_position, device=self._device))

    def _states(self, given: dict[str, Any]) -> list[torch.Tensor]:
        """Hidden states of the chosen layers, (windows, length, d); of a row (1, pieces, d)."""
        read = [layer for layer in self._layers if layer != TABLE]
        top = read == [str(self._blocks)]  # then no other layer's states need be held
        hidden = self._run(given, top=top) if read else ()
        return [
            torch.nn.functional.embedding(given["input_ids"], self._table)
            if layer == TABLE
            else hidden[0 if top else int(layer)]
            for layer in self._layers
        ]

    def _run(self, given: dict[str, Any], *, top: bool = False) -> tuple[torch.Tensor, ...]:
        """Every layer's states, or those of the top alone; `given` are pieces and mask, or a row."""
        given = {**given, "output_hidden_states": not top, "return_dict": True}
        mask = given.pop("attention_mask", None)
        if self._masked and mask is not None:
            given["attention_mask"] = self._wide_mask(mask)
        if self._cacheable:
            given["use_cache"] = False
        if self._two_stacks:
            made = self._model(decoder_input_ids=given["input_ids"], decoder_attention_mask=mask, **given)
            return (made.last_hidden_state,) if top else tuple(made.decoder_hidden_states)
        with packed(self._model) if "row_starts" in given else nullcontext():
            made = self._model(**given)
        return (made.last_hidden_state,) if top else tuple(made.hidden_states)

    def _wide_mask(self, mask: torch.Tensor) -> torch.Tensor:
        """The mask (windows, length), spread to every position where that spares the GPU a wait.

        Given a plain mask, transformers asks whether anything is masked at all, and the host stands still until the
        GPU has answered. Only for models that read nothing else off the mask.
        """
        if mask.device.type != "cuda" or self._model.config.model_type not in KINDS:
            return mask
        return mask.bool()[:, None, None, :].expand(-1, -1, mask.shape[1], -1)

    @torch.inference_mode()
    def _try(self) -> tuple[int, int, bool]:
        """Blocks, dimensions, and whether the model is causal, from one pass over two small inputs.

        Configurations lie (a Llama may have been turned into an encoder), so the model is asked:
        where the last piece changes no earlier vector, nothing is seen to the right.
        """
        pieces = self._probe
        if max(pieces) >= len(self._table):
            raise InputError(
                f"Every piece must be a row of the model's embedding table; got piece {max(pieces)} and "
                f"{len(self._table)} rows: give the tokenizer that belongs to {self._name}.",
                code="out_of_range",
                parameter="tokenizer",
            )
        pieces = (pieces * 2)[: max(len(pieces), 2)]
        other = next(piece for piece in range(len(self._table)) if piece not in (pieces[-1], self._pad))
        ids = torch.tensor([pieces, [*pieces[:-1], other]], device=self._device)
        states = self._run({"input_ids": ids, "attention_mask": torch.ones_like(ids)})
        changed = (states[-1][0, :-1] - states[-1][1, :-1]).abs().max() > 1e-6 * states[-1][0, :-1].abs().max()
        return len(states) - 1, int(states[-1].shape[-1]), self._two_stacks or not bool(changed)

    @torch.inference_mode()
    def _reads_rows(self) -> bool:
        """Whether the model reads texts in a row as it does padded ones: asked with short ones and with a long one,
        since these have kernels of their own."""
        if self._model.config.model_type not in KINDS or self._prepare.causal:
            return False
        few = len(self._probe)
        long = min(self._window, kernels.SHORT + 2)
        try:
            return all(self._reads_in_a_row((most, max(few - 2, 1))) for most in sorted({few, long}))
        except Exception:  # an older torch, GPU or transformers, no compiler for a kernel: padding will do
            return False

    def _reads_in_a_row(self, lengths: tuple[int, int]) -> bool:
        """The same of two texts of these lengths, the longer first."""
        pieces = np.resize(self._probe, lengths[0])
        both = np.concatenate([pieces, pieces[: lengths[1]]])
        ids = torch.from_numpy(np.stack([pieces, pieces])).to(self._device)
        mask = torch.arange(lengths[0], device=self._device) < torch.tensor(lengths, device=self._device)[:, None]
        in_a_row = self._run(self._in_a_row(both, np.array(lengths)))
        padded = self._run({"input_ids": ids, "attention_mask": mask.long()})
        return all(alike(one[0], other[mask]) for one, other in zip(in_a_row, padded, strict=True))

    def _choose_packing(self) -> bool:
        """Whether texts go in a row: where there is a kernel for it."""
        narrow = self._dtype in (torch.bfloat16, torch.float16)
        return self._device.type == "cuda" and narrow and self._reads_rows()


def choose_device(device: str) -> torch.device:
    """ "auto" is a GPU where there is one."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError as error:
        raise UsageError(
            f'--device must be "auto", "cpu", "cuda", "cuda:1" or "mps"; got {device!r}.',
            code="unknown_choice",
            parameter="device",
        ) from error
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise UsageError(
            f"--device {device!r} needs a GPU that torch can use; there is none: leave --device out.",
            code="no_gpu",
            parameter="device",
        )
    return chosen


def choose_batch_tokens(device: torch.device) -> int:
    """Padded pieces in one forward pass; on a GPU about one for each MiB it has, so that all layers find room."""
    if device.type == "cuda":
        return int(min(131_072, max(4096, torch.cuda.get_device_properties(device).total_memory >> 20)))
    return BATCH_TOKENS.get(device.type, 4096)


def weights_fingerprint(model: torch.nn.Module, config: dict[str, Any], reader: str) -> str:
    """Of a model's weights, by a sample of each tensor, and of what it is read with."""
    digest = hashlib.blake2b(json.dumps(config, sort_keys=True, default=str).encode(), digest_size=16)
    digest.update(reader.encode())
    for key, tensor in sorted(model.state_dict().items()):
        flat = tensor.reshape(-1)
        sample = flat[:: max(1, len(flat) // 64)].to("cpu", torch.float64)
        digest.update(f"{key} {tuple(tensor.shape)}".encode() + sample.numpy().tobytes())
    return digest.hexdigest()
