"""Kept vectors: the occurrences with the smallest hashes, over all or word by word.

The choice depends on the occurrences' identities alone, so it is the same however the work was
split, and two samples merge into the sample of the whole.
"""

from __future__ import annotations

import mmap
import tempfile
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators.protocol import check_alike, check_shape
from limbeck.encoded import Encoded, index_on
from limbeck.seeds import hash_ids
from limbeck.state import State
from limbeck.strings import Strings, pack, unpack

UInts = NDArray[np.uint64]
Ints = NDArray[np.int64]
LAST = np.uint64(0xFFFF_FFFF_FFFF_FFFF)

#: kept vectors above this many bytes live in a file that the system pages, not in memory
SPILL_BYTES = 4 << 30


class _Rows:
    """Vectors in slots (slots, layers, d), in their own precision.

    They stay on the accelerator where it has room to spare, so that keeping them costs no transfer; else they come to
    the host, into a file that the system pages where they are many.
    """

    def __init__(self, slots: int, layers: int, dim: int) -> None:
        self.shape = (slots, layers, dim)
        self._table: torch.Tensor | None = None

    def put(self, slots: Ints, rows: torch.Tensor) -> None:
        """Put rows (n, layers, d) into slots."""
        table = self._room_for(rows)
        table.index_copy_(0, index_on(slots, table), rows.to(table.device, table.dtype))

    def get(self, slots: Ints | slice) -> NDArray[Any]:
        """Rows (n, layers, d) on the host, float32 or float64."""
        return self._on_host(slots, slice(None))

    def layer(self, slots: Ints | slice, layer: int) -> NDArray[Any]:
        """One layer's rows (n, d) on the host, float32 or float64."""
        return self._on_host(slots, layer)

    def _on_host(self, slots: Ints | slice, layer: int | slice) -> NDArray[Any]:
        if self._table is None:
            empty = np.empty((0, *self.shape[1:]), dtype=np.float32)
            return np.ascontiguousarray(empty[:, layer])
        place = slots if isinstance(slots, slice) else index_on(slots, self._table)
        rows = self._table[place][:, layer].cpu()
        return rows.to(rows.dtype if rows.dtype == torch.float64 else torch.float32).contiguous().numpy()

    def _room_for(self, rows: torch.Tensor) -> torch.Tensor:
        if self._table is None:
            self._table = self._allocate(rows)
        elif rows.dtype.itemsize > self._table.dtype.itemsize:  # a finer shard is merged into a coarser one
            self._table = self._table.to(rows.dtype)
        return self._table

    def _allocate(self, rows: torch.Tensor) -> torch.Tensor:
        count = int(np.prod(self.shape))
        size = count * rows.dtype.itemsize
        if rows.device.type == "cuda" and size < torch.cuda.mem_get_info(rows.device)[0] // 4:
            return torch.empty(self.shape, dtype=rows.dtype, device=rows.device)
        if size > SPILL_BYTES:
            file = tempfile.NamedTemporaryFile(prefix="limbeck-kept-")  # noqa: SIM115 (lives as long as the table)
            table = torch.from_file(file.name, shared=True, size=int(np.prod(self.shape)), dtype=rows.dtype)
            return table.view(self.shape)  # the mapping outlives the name
        # small pages, taken only as slots are filled: an allocator's large ones would take the whole table at once
        return torch.frombuffer(mmap.mmap(-1, max(size, 1)), dtype=rows.dtype, count=count).view(self.shape)


class Points:
    """At most `capacity` occurrences of any words: the sample that baselines and I(W) are made on."""

    name: ClassVar[str] = "points"

    def __init__(self, *, layers: int, dim: int, capacity: int) -> None:
        self.layers = layers
        self.dim = dim
        self.capacity = capacity
        self.seen = 0
        self.hashes: UInts = np.empty(0, dtype=np.uint64)
        self.words: Ints = np.empty(0, dtype=np.int64)
        self.sentences: Ints = np.empty(0, dtype=np.int64)
        self.texts: Ints = np.empty(0, dtype=np.int64)
        self.strings: list[str] = []
        self._rows = _Rows(capacity, layers, dim)

    def settings(self) -> dict[str, Any]:
        return {"layers": self.layers, "dim": self.dim, "capacity": self.capacity}

    def __len__(self) -> int:
        return len(self.hashes)

    @property
    def complete(self) -> bool:
        """Whether every occurrence is here, so that what is made of them is exact."""
        return self.seen == len(self)

    @property
    def order(self) -> Ints:
        """Slots in the order of their hashes. Slots are filled as points arrive; draws made in this order are the same
        however the work was split."""
        return np.argsort(self.hashes, kind="stable")

    @property
    def vectors(self) -> NDArray[Any]:
        """(points, layers, d)."""
        return self._rows.get(slice(len(self)))

    def layer(self, layer: int) -> NDArray[Any]:
        """(points, d) of one layer."""
        return self._rows.layer(slice(len(self)), layer)

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        self.seen += len(batch)
        rows, slots = self._admit(
            batch.occurrences, batch.words, batch.sentences, batch.texts, batch.strings or [""] * len(batch)
        )
        if len(rows):
            self._rows.put(slots, _chosen(batch, rows))

    def _admit(self, hashes: UInts, words: Ints, sentences: Ints, texts: Ints, strings: Any) -> tuple[Ints, Ints]:
        """Decide which newcomers stay; return their rows and the slots they take."""
        held = len(self)
        full = held == self.capacity
        rows = np.flatnonzero(hashes < self.hashes.max(initial=0)) if full else np.arange(len(hashes))
        if not len(rows):
            return rows, rows
        both = np.concatenate([self.hashes, hashes[rows]])
        if len(both) > self.capacity:
            stays = np.zeros(len(both), dtype=bool)
            stays[np.argpartition(both, self.capacity - 1)[: self.capacity]] = True
        else:
            stays = np.ones(len(both), dtype=bool)
        rows = rows[stays[held:]]
        free = np.flatnonzero(~stays[:held])
        slots = np.concatenate([free, np.arange(held, held + len(rows) - len(free))])
        grown = held + len(rows) - len(free)
        for name, incoming in (("hashes", hashes), ("words", words), ("sentences", sentences), ("texts", texts)):
            column = np.resize(getattr(self, name), grown) if held else np.empty(grown, dtype=incoming.dtype)
            column[slots] = incoming[rows]
            setattr(self, name, column)
        self.strings.extend([""] * (grown - held))
        for slot, string in zip(slots.tolist(), Strings.of(strings).take(rows), strict=True):
            self.strings[slot] = string
        return rows, slots

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        self.seen += other.seen
        rows, slots = self._admit(other.hashes, other.words, other.sentences, other.texts, other.strings)
        if len(rows):
            self._rows.put(slots, torch.from_numpy(other._rows.get(rows)))

    def state(self) -> State:
        order = self.order
        data, offsets = pack([self.strings[slot] for slot in order])
        return {
            "seen": np.array(self.seen),
            "hashes": self.hashes[order],
            "words": self.words[order],
            "sentences": self.sentences[order],
            "texts": self.texts[order],
            "strings": data,
            "string_offsets": offsets,
            "vectors": self._rows.get(order),
        }

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        made.seen = int(state["seen"])
        for name in ("hashes", "words", "sentences", "texts"):
            setattr(made, name, state[name].copy())
        made.strings = unpack(state["strings"], state["string_offsets"])
        if len(made):
            made._rows.put(np.arange(len(made)), torch.from_numpy(state["vectors"]))
        return made


class SentencePoints(Points):
    """One occurrence of each of at most `capacity` sentences: what the released code of Ethayarajh 2019 drew.

    Words of short sentences weigh more here than among all occurrences (docs/fidelity.md §1.13).
    """

    name: ClassVar[str] = "sentence_points"

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        order = np.lexsort((batch.occurrences, batch.sentences))
        begins = np.ones(len(order), dtype=bool)
        begins[1:] = np.diff(batch.sentences[order]) != 0
        drawn = order[begins]
        self.seen += len(drawn)
        strings = [batch.strings[row] for row in drawn] if batch.strings else [""] * len(drawn)
        rows, slots = self._admit(
            hash_ids(batch.sentences[drawn]), batch.words[drawn], batch.sentences[drawn], batch.texts[drawn], strings
        )
        if len(rows):
            self._rows.put(slots, _chosen(batch, drawn[rows]))


class Occurrences:
    """At most `capacity` occurrences of each chosen word: what MEV and word pictures are made on.

    `chosen` are the ids of the words to keep; `vocabulary` is the fingerprint of what ids refer to.
    """

    name: ClassVar[str] = "occurrences"

    def __init__(self, *, layers: int, dim: int, capacity: int, chosen: list[int], vocabulary: str = "") -> None:
        self.layers = layers
        self.dim = dim
        self.capacity = capacity
        self.chosen = [int(word) for word in chosen]
        self.vocabulary = vocabulary
        self.hashes = np.full((len(chosen), capacity), LAST)  # slots of a word; LAST: free
        self._place = np.full(max(self.chosen, default=-1) + 2, -1, dtype=np.int64)  # word id -> row of hashes
        self._place[self.chosen] = np.arange(len(chosen))
        self._rows = _Rows(len(chosen) * capacity, layers, dim)

    def settings(self) -> dict[str, Any]:
        return {
            "layers": self.layers,
            "dim": self.dim,
            "capacity": self.capacity,
            "chosen": self.chosen,
            "vocabulary": self.vocabulary,
        }

    @property
    def counts(self) -> Ints:
        """How many occurrences of each chosen word are kept."""
        counts: Ints = (self.hashes != LAST).sum(axis=1)
        return counts

    def of(self, place: int) -> NDArray[Any]:
        """Vectors (n, layers, d) of the chosen word number `place`, in the order of their hashes."""
        order = np.argsort(self.hashes[place], kind="stable")[: self.counts[place]]
        return self._rows.get(place * self.capacity + order)

    def stacked(self, places: Ints, layer: int) -> NDArray[Any]:
        """Vectors (places, n, d) at one layer of chosen words of which equally many are kept, as `of` orders them."""
        n = int(self.counts[places[0]])
        order = np.argsort(self.hashes[places], axis=1, kind="stable")[:, :n]
        slots = (places[:, None] * self.capacity + order).ravel()
        return self._rows.layer(slots, layer).reshape(len(places), n, self.dim)

    def update(self, batch: Encoded) -> None:
        check_shape(self, batch)
        known = np.where((batch.words >= 0) & (batch.words < len(self._place) - 1), batch.words, -1)
        rows, slots = self._admit(self._place[known], batch.occurrences)
        if len(rows):
            self._rows.put(slots, _chosen(batch, rows))

    def _admit(self, places: Ints, hashes: UInts) -> tuple[Ints, Ints]:
        """Decide which newcomers stay; return their rows and the slots they take."""
        rows = np.flatnonzero(places >= 0)
        if not len(rows):
            return rows, rows
        rows = rows[hashes[rows] < self.hashes.max(axis=1)[places[rows]]]  # a full word's largest hash is its bar
        rows = rows[np.lexsort((hashes[rows], places[rows]))]
        touched, starts, sizes = np.unique(places[rows], return_index=True, return_counts=True)
        rank = np.arange(len(rows)) - np.repeat(starts, sizes)  # of a newcomer among those of its word
        line = np.repeat(np.arange(len(touched)), sizes)
        rows, line, rank = (column[rank < self.capacity] for column in (rows, line, rank))
        # held and new hashes of each touched word side by side; the smallest of them stay
        both = np.full((len(touched), 2 * self.capacity), LAST)
        both[:, : self.capacity] = self.hashes[touched]
        both[line, self.capacity + rank] = hashes[rows]
        smallest = np.argsort(both, axis=1, kind="stable")[:, : self.capacity]
        stays = np.zeros(both.shape, dtype=bool)
        np.put_along_axis(stays, smallest, True, axis=1)
        stays &= both != LAST
        taken = stays[line, self.capacity + rank]
        rows, line = rows[taken], line[taken]
        # the k-th newcomer of a word takes its k-th free slot
        free_line, free_slot = np.nonzero(~stays[:, : self.capacity])
        free_starts = np.searchsorted(free_line, np.arange(len(touched)))
        number = np.arange(len(rows)) - np.searchsorted(line, line)
        slots = free_slot[free_starts[line] + number]
        self.hashes[touched[line], slots] = hashes[rows]
        return rows, touched[line] * self.capacity + slots

    def merge(self, other: Self) -> None:
        check_alike(self, other)
        theirs = np.flatnonzero(other.hashes.ravel() != LAST)
        rows, slots = self._admit(theirs // self.capacity, other.hashes.ravel()[theirs])
        if len(rows):
            self._rows.put(slots, torch.from_numpy(other._rows.get(theirs[rows])))

    def state(self) -> State:
        counts = self.counts
        order = np.argsort(self.hashes, axis=1, kind="stable")
        taken = np.arange(self.capacity)[None, :] < counts[:, None]  # smallest hashes first, so free slots come last
        slots = (order + np.arange(len(self.chosen))[:, None] * self.capacity)[taken]
        return {"counts": counts, "hashes": self.hashes.ravel()[slots], "vectors": self._rows.get(slots)}

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        made = cls(**settings)
        taken = np.arange(made.capacity)[None, :] < state["counts"][:, None]
        made.hashes[taken] = state["hashes"]
        if taken.any():
            made._rows.put(np.flatnonzero(taken.ravel()), torch.from_numpy(state["vectors"]))
        return made


def _chosen(batch: Encoded, rows: Ints) -> torch.Tensor:
    """Rows of a batch's vectors, (n, layers, d)."""
    return batch.vectors.index_select(1, index_on(rows, batch.vectors)).transpose(0, 1)
