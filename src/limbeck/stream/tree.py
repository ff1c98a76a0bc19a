"""The states of blocks in Ray's memory, merged two by two by the workers, so that few are there at a time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.stream.checkpoint import Part
from limbeck.stream.ray import put


@dataclass(frozen=True)
class Node:
    """The state of a range of shards, and what had no vector in it."""

    state: Any  # a reference
    dropped: dict[str, int]
    rank: int = 0  # merges that lie under it


@dataclass(frozen=True)
class Merge:
    """Two neighbours that a worker makes one of."""

    one: Part
    other: Part
    nodes: tuple[Node, Node]
    state: Any  # a reference to what it gives
    worker: Any
    began: float = field(default_factory=time.monotonic)

    @property
    def parts(self) -> Iterator[tuple[Part, Node]]:
        return zip((self.one, self.other), self.nodes, strict=True)

    @property
    def both(self) -> Part:
        return Part(self.one.first, self.other.stop)


class Tree:
    """Merges neighbours of equal rank, or any two when all is done.

    A worker that has done a block merges all that can be merged before it begins the next: there are fewer merges than
    blocks, so states cannot pile up.
    """

    def __init__(self, empty: list[Accumulator]) -> None:
        self._kinds = put([type(accumulator) for accumulator in empty])
        self._waiting: dict[Part, Node] = {}
        self._merges: dict[Any, Merge] = {}  # by what is there when it is done
        self.settings: list[dict[str, Any]] = []

    def add(self, part: Part, node: Node) -> None:
        self._waiting[part] = node

    def pair(self, worker: Any, *, all_done: bool = False) -> bool:
        """Let a worker merge two states; whether there were two."""
        for one, other in pairwise(sorted(self._waiting)):
            ranks = self._waiting[one].rank, self._waiting[other].rank
            if one.stop == other.first and (all_done or ranks[0] == ranks[1]):
                nodes = self._waiting.pop(one), self._waiting.pop(other)
                merge = worker.merge.options(num_returns=2)
                done, state = merge.remote(self._kinds, self.settings, nodes[0].state, nodes[1].state)
                self._merges[done] = Merge(one, other, nodes, state, worker)
                return True
        return False

    def busy(self, worker: Any) -> bool:
        """Whether a worker merges."""
        return any(merge.worker is worker for merge in self._merges.values())

    @property
    def under_way(self) -> list[Any]:
        """References to what is there when a merge is done."""
        return list(self._merges)

    @property
    def held(self) -> int:
        """States in Ray's memory, those among them that are being merged."""
        return len(self._waiting) + 2 * len(self._merges)

    @property
    def whole(self) -> bool:
        """Whether no two neighbours are left."""
        touching = any(one.stop == other.first for one, other in pairwise(sorted(self._waiting)))
        return not self._merges and not touching

    def merged(self, reference: Any) -> Part:
        """A merge has come to its end; the part that the two are now."""
        merge = self._merges.pop(reference)
        dropped = Counter(merge.nodes[0].dropped) + Counter(merge.nodes[1].dropped)
        rank = 1 + max(node.rank for node in merge.nodes)
        self._waiting[merge.both] = Node(merge.state, dict(dropped), rank)
        return merge.both

    def late(self, seconds: float) -> list[Any]:
        """Workers that have merged for longer than that."""
        return [merge.worker for merge in self._merges.values() if time.monotonic() - merge.began > seconds]

    def failed(self, reference: Any) -> Merge:
        """A merge's worker is lost, or one of its states: both wait again."""
        merge = self._merges.pop(reference)
        self._waiting.update(merge.parts)
        return merge

    def remove(self, part: Part) -> bool:
        """Take a state away that is gone; one that is being merged is missed there."""
        return self._waiting.pop(part, None) is not None

    def nodes(self) -> list[tuple[Part, Node]]:
        """All states, those among them that are being merged, in order."""
        merging = [pair for merge in self._merges.values() for pair in merge.parts]
        return sorted([*self._waiting.items(), *merging], key=lambda pair: pair[0])
