"""The bidirectional language model of ELMo (Peters et al. 2018): a character CNN under two stacks of LSTMs.

The stacks never meet: one reads from the left, the other from the right, and layer k of the model is the one's
k-th layer beside the other's. It serves measuring and training alike:

    model = BiLM.from_folder("mini-elmo")
    characters = torch.from_numpy(spell(["<S>", "A", "bank", "</S>"])).long()[None]  # (1 text, 4 words, 50)
    model(characters)  # (layers + 1, 1, 4, 2 * projection_dim)

Every tensor it gives has one place for each word it was given: a sentence's boundaries are words like others,
and who wants none of their vectors leaves the first and the last place out.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from limbeck.encoders import bilm_files
from limbeck.encoders.bilm_files import BiLMOptions
from limbeck.encoders.spelling import CHARACTERS, NO_WORD
from limbeck.errors import InputError

Pair = tuple[Tensor, Tensor]  # hidden (2, texts, projection_dim) and cell (2, texts, dim)

#: numbers that the input's share of the gates may take at a time where steps are made here, by kind of device
INPUT_ROOM = {"cpu": 2**22, "cuda": 2**28}


@dataclass(frozen=True)
class State:
    """What the layers remember, to go on where they stopped: one tensor a layer, row i for text i of a batch."""

    hidden: tuple[Tensor, ...]  # each (2, rows, projection_dim), forward then backward
    cell: tuple[Tensor, ...]  # each (2, rows, dim)

    def detach(self) -> State:
        return State(tuple(h.detach() for h in self.hidden), tuple(c.detach() for c in self.cell))


@dataclass(frozen=True)
class Reading:
    """What `BiLM.read` gives: each layer's vectors in both directions, lowest layer first."""

    forward: list[Tensor]  # each (texts, words, projection_dim); place t has read words 0 to t
    backward: list[Tensor]  # each (texts, words, projection_dim); place t has read the last word to word t
    state: State | None  # at each text's own end, when it was asked for


class BiLM(nn.Module):
    """A bidirectional language model from its published options (see `BiLMOptions`), freshly initialised."""

    def __init__(self, options: Mapping[str, Any]) -> None:
        super().__init__()
        self.published_options = dict(options)
        self.options = BiLMOptions.read(options)
        self.characters = CharacterEncoder(self.options)
        self.layers = nn.ModuleList(TwoWayLSTM(self.options) for _ in range(self.options.layers))
        self.dropout = nn.Dropout(self.options.dropout)

    @classmethod
    def from_folder(cls, folder: str | Path) -> BiLM:
        """A trained model, in evaluation mode and float32: options.json beside model.safetensors or *.hdf5."""
        folder = Path(folder)
        options = bilm_files.check_folder(folder)
        weights = bilm_files.read_weights(folder, options)
        bilm_files.check_size(folder, options, weights)
        # What is drawn is written over; drawing nothing, on torch's meta device, would load its compiler for a second.
        with torch.random.fork_rng(devices=[]):
            model = cls(bilm_files.read_options(folder))
        shapes = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        for name in sorted(shapes.keys() | weights.keys()):
            got = tuple(weights[name].shape) if name in weights else "none"
            wanted = shapes.get(name, "none")
            if got != wanted:
                raise InputError(
                    f"{folder}: the weights must fit the options; {name} must be {wanted} and is {got}: "
                    f"give the options that belong to the weights.",
                    code="damaged",
                )
        model.load_state_dict({name: tensor.contiguous() for name, tensor in weights.items()}, assign=True)
        return model.eval()

    def save(self, folder: str | Path, *, dtype: str = "float16") -> None:
        """Write options.json and model.safetensors; float16 halves the file and moves vectors by about 1e-3."""
        bilm_files.write_folder(Path(folder), self.published_options, self.state_dict(), dtype=dtype)

    def forward(self, characters: Tensor, lengths: Tensor | None = None) -> Tensor:
        """All layers (layers + 1, texts, words, 2 * projection_dim); layer 0 is the word's own vector, twice.

        characters   ids (texts, words, columns) as `spell` makes them; NO_WORD to the right of a text's end
        lengths      words of each text (texts,), boundaries included; None: all texts fill their row
        """
        embedding = self.embed(characters)
        reading = self.read(embedding, lengths)
        both = zip(reading.forward, reading.backward, strict=True)
        return torch.stack([torch.cat([embedding, embedding], -1), *(torch.cat(pair, -1) for pair in both)])

    def directions(
        self, characters: Tensor, lengths: Tensor | None = None
    ) -> tuple[list[Tensor], list[Tensor], Tensor]:
        """Each layer's forward vectors, its backward vectors, and the words' own, for a softmax on top of them.

        All are (texts, words, projection_dim) with as many words as `characters` has, boundaries included. The
        forward vector at place t has read words 0 to t, so it foretells word t + 1; the backward vector at place t
        has read words t to the end, so it foretells word t - 1. Beyond a text's length nothing is defined.
        """
        embedding = self.embed(characters)
        reading = self.read(embedding, lengths)
        return reading.forward, reading.backward, embedding

    def embed(self, characters: Tensor) -> Tensor:
        """Vectors (..., projection_dim) of words by their characters (..., columns), whatever stands beside them."""
        vectors: Tensor = self.characters(characters)
        return vectors

    def read(
        self,
        embedding: Tensor,
        lengths: Tensor | None = None,
        *,
        layers: int | None = None,
        state: State | None = None,
        keep_state: bool = False,
    ) -> Reading:
        """Run both stacks over the words' vectors (texts, words, projection_dim).

        layers       how many layers to run, from the lowest; None: all
        state        where row i goes on from; rows it lacks begin at zero. None: all begin at zero
        keep_state   whether the result carries the state at each text's own end; rows of `state` beyond this
                     batch stay as they were
        """
        texts = embedding.shape[0]
        inward = torch.stack([embedding, reverse(embedding, lengths)])  # (2, texts, words, projection_dim)
        forward, backward, hidden, cell = [], [], [], []
        for index, layer in enumerate(self.layers[:layers]):
            inward = self.dropout(inward)
            before = None if state is None else (state.hidden[index], state.cell[index])
            begin = None if before is None else (_rows(before[0], texts), _rows(before[1], texts))
            outward, end = layer(inward, lengths, begin, keep_end=keep_state)
            inward = outward + inward if self.options.skip and index else outward
            forward.append(inward[0])
            backward.append(reverse(inward[1], lengths))
            if end is not None:
                hidden.append(end[0] if before is None else torch.cat([end[0], before[0][:, texts:]], 1))
                cell.append(end[1] if before is None else torch.cat([end[1], before[1][:, texts:]], 1))
        return Reading(forward, backward, State(tuple(hidden), tuple(cell)) if keep_state else None)


class CharacterEncoder(nn.Module):
    """Words by their characters: filters over them, the strongest answer of each, highway layers, a projection."""

    def __init__(self, options: BiLMOptions) -> None:
        super().__init__()
        self.table = nn.Embedding(CHARACTERS, options.character_dim, padding_idx=NO_WORD)
        self.filters = nn.ModuleList(nn.Conv1d(options.character_dim, n, width) for width, n in options.filters)
        self.highways = nn.ModuleList(Highway(options.features) for _ in range(options.highways))
        self.projection = (
            nn.Linear(options.features, options.projection) if options.features != options.projection else nn.Identity()
        )
        self._activation = torch.relu if options.activation == "relu" else torch.tanh

    def forward(self, characters: Tensor) -> Tensor:
        flat = characters.reshape(-1, characters.shape[-1])
        letters = self.table(flat).transpose(1, 2)  # (words, character dim, columns)
        # The activation rises everywhere, so it may come after the maximum, where there is less of it to do.
        strongest = [conv(letters).amax(-1) for conv in self.filters]
        vectors = self._activation(torch.cat(strongest, -1))  # (words, features)
        for highway in self.highways:
            vectors = highway(vectors)
        return torch.unflatten(self.projection(vectors), 0, characters.shape[:-1])


class Highway(nn.Module):
    """A layer that lets part of its input pass as it is: g * relu(A x) + (1 - g) * x with g = sigmoid(B x)."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.transform = nn.Linear(features, features)
        self.gate = nn.Linear(features, features)
        nn.init.constant_(self.gate.bias, -2.0)  # at first nearly all passes as it is (Srivastava et al. 2015)

    def forward(self, x: Tensor) -> Tensor:
        return torch.lerp(x, torch.relu(self.transform(x)), torch.sigmoid(self.gate(x)))


class TwoWayLSTM(nn.Module):
    """One layer of both stacks: two LSTMs with projection, each over its own input.

    Torch's fused LSTMs are used where they can be: they know no clipping, in bfloat16 they sum a cell over the steps
    in 8 bits, and off a GPU they are not faster than the steps made here, both directions at once, unless gradients
    are wanted. The weights are the same in both cases.
    """

    def __init__(self, options: BiLMOptions) -> None:
        super().__init__()
        self._cell_clip, self._projection_clip = options.cell_clip, options.projection_clip
        size = options.projection if options.projection < options.cells else 0
        self.rightward = nn.LSTM(options.projection, options.cells, proj_size=size, batch_first=True)
        self.leftward = nn.LSTM(options.projection, options.cells, proj_size=size, batch_first=True)
        for lstm in (self.rightward, self.leftward):
            bias: Tensor = lstm.bias_ih_l0  # type: ignore[assignment]
            nn.init.constant_(bias.detach().chunk(4)[1], bilm_files.FORGET_BIAS)

    def forward(
        self, inward: Tensor, lengths: Tensor | None = None, begin: Pair | None = None, *, keep_end: bool = False
    ) -> tuple[Tensor, Pair | None]:
        """Vectors (2, texts, words, d) to vectors of the same shape, and the state at each text's own end."""
        clips = self._cell_clip is not None or self._projection_clip is not None
        fused = inward.device.type == "cuda" or torch.is_grad_enabled()
        exact = inward.dtype != torch.bfloat16
        read = self._fused if fused and exact and not clips else self._stepwise
        outward, end = read(inward, lengths, begin, keep_end)
        return outward, end if keep_end else None

    def _fused(self, inward: Tensor, lengths: Tensor | None, begin: Pair | None, keep_end: bool) -> tuple[Tensor, Pair]:
        results = [
            _read_fused(lstm, inward[side], lengths if keep_end else None, _side(begin, side))
            for side, lstm in enumerate((self.rightward, self.leftward))
        ]
        outward = torch.stack([vectors for vectors, _ in results])
        return outward, (torch.cat([end[0] for _, end in results]), torch.cat([end[1] for _, end in results]))

    def _stepwise(
        self, inward: Tensor, lengths: Tensor | None, begin: Pair | None, keep_end: bool
    ) -> tuple[Tensor, Pair]:
        _, texts, words, _ = inward.shape
        from_input = self._both("weight_ih_l0")  # (2, d, 4 * cells)
        from_hidden = self._both("weight_hh_l0")
        bias = self._both("bias_ih_l0") + self._both("bias_hh_l0")  # (2, 1, 4 * cells)
        project = self._both("weight_hr_l0") if self.rightward.proj_size else None  # (2, cells, d)
        # Autocast, too, knows nothing of what is done in place.
        plainly = torch.is_grad_enabled() or torch.is_autocast_enabled(inward.device.type)
        step = self._step if plainly else self._step_in_place
        if begin is None:
            hidden = inward.new_zeros(2, texts, from_hidden.shape[1])
            cell = inward.new_zeros(2, texts, self.rightward.hidden_size)
        else:
            hidden, cell = begin
        # A sum over a whole text is kept in float32 at least, and the caller's state is not written over.
        cell = cell.to(torch.promote_types(cell.dtype, torch.float32), copy=True)
        last = None if lengths is None else (lengths - 1)[None, :, None]
        end_cell = cell
        given: list[Tensor] = []
        # What the words bring to the gates waits for no step: one product for many steps, as many as memory bears.
        stride = max(1, INPUT_ROOM.get(inward.device.type, 2**22) // max(1, 2 * texts * from_input.shape[2]))
        for low in range(0, words, stride):
            some = inward[:, :, low : low + stride].transpose(1, 2)  # (2, steps, texts, d)
            brought = torch.baddbmm(bias, some.flatten(1, 2), from_input).unflatten(1, (-1, texts))
            for gates in brought.unbind(1):
                hidden, cell = step(gates, hidden, cell, from_hidden, project)
                if keep_end and last is not None:
                    end_cell = torch.where(last == len(given), cell, end_cell)
                given.append(hidden)
        outward = torch.stack(given, 2)  # (2, texts, words, d)
        if last is None or not keep_end:
            return outward, (hidden, cell)
        at = last[..., None].expand(2, -1, 1, outward.shape[-1])
        return outward, (outward.gather(2, at)[:, :, 0], end_cell)

    def _step(
        self, gates: Tensor, hidden: Tensor, cell: Tensor, from_hidden: Tensor, project: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """One word of each text: the gates' share from the input is given, and the state after the word before."""
        enter, forget, new, leave = torch.baddbmm(gates, hidden, from_hidden).chunk(4, -1)
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(new)
        if self._cell_clip is not None:
            cell = cell.clamp(-self._cell_clip, self._cell_clip)
        hidden = torch.sigmoid(leave) * torch.tanh(cell).to(leave.dtype)
        if project is None:
            return hidden, cell
        hidden = torch.bmm(hidden, project)
        if self._projection_clip is not None:
            hidden = hidden.clamp(-self._projection_clip, self._projection_clip)
        return hidden, cell

    def _step_in_place(
        self, gates: Tensor, hidden: Tensor, cell: Tensor, from_hidden: Tensor, project: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """As `_step`, but the gates and the cell are written over: no memory is asked for but the result's."""
        cells = cell.shape[-1]
        gates.baddbmm_(hidden, from_hidden)
        enter, forget, new, leave = gates.chunk(4, -1)
        gates[..., : 2 * cells].sigmoid_()
        cell.mul_(forget).add_(enter.mul_(new.tanh_()))
        if self._cell_clip is not None:
            cell.clamp_(-self._cell_clip, self._cell_clip)
        hidden = torch.tanh(cell).to(leave.dtype).mul_(leave.sigmoid_())
        if project is None:
            return hidden, cell
        hidden = torch.bmm(hidden, project)
        if self._projection_clip is not None:
            hidden.clamp_(-self._projection_clip, self._projection_clip)
        return hidden, cell

    def _both(self, name: str) -> Tensor:
        """A weight of both directions, to multiply from the right."""
        pair = torch.stack([getattr(self.rightward, name), getattr(self.leftward, name)])
        return pair.transpose(1, 2) if pair.ndim == 3 else pair[:, None]


def reverse(vectors: Tensor, lengths: Tensor | None) -> Tensor:
    """Each text (texts, words, d) from its own last word to its first; what stands beyond its end stays there."""
    if lengths is None:
        return vectors.flip(1)
    place = torch.arange(vectors.shape[1], device=vectors.device)
    mirrored = lengths[:, None] - 1 - place  # (texts, words)
    mirrored = torch.where(mirrored < 0, place, mirrored)
    return vectors.gather(1, mirrored[..., None].expand_as(vectors))


def _read_fused(lstm: nn.LSTM, inward: Tensor, lengths: Tensor | None, begin: Pair | None) -> tuple[Tensor, Pair]:
    """torch's LSTM over (texts, words, d). Lengths are needed for the end's state alone: padding is on the right."""
    if begin is not None:
        begin = (begin[0].to(inward.dtype), begin[1].to(inward.dtype))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "LSTM with projections is not supported with oneDNN")  # slower on a CPU
        if lengths is None:
            vectors, end = lstm(inward, begin)
            return vectors, end
        packed = pack_padded_sequence(inward, lengths.cpu(), batch_first=True, enforce_sorted=False)
        vectors, end = lstm(packed, begin)
    return pad_packed_sequence(vectors, batch_first=True, total_length=inward.shape[1])[0], end


def _side(state: Pair | None, side: int) -> Pair | None:
    """One direction's state, as torch's LSTM takes it."""
    return None if state is None else (state[0][side : side + 1].contiguous(), state[1][side : side + 1].contiguous())


def _rows(tensor: Tensor, rows: int) -> Tensor:
    """The first rows of (2, n, d), with zeros where it has fewer."""
    return nn.functional.pad(tensor[:, :rows], (0, 0, 0, max(0, rows - tensor.shape[1])))
