"""The shards of a plan into accumulators: what every engine does with a range of them."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol, TypeAlias

from limbeck.accumulators import Accumulator
from limbeck.encoded import Encoded, refuse, well_defined
from limbeck.stream.checkpoint import Checkpoint, Part
from limbeck.stream.plan import Plan
from limbeck.stream.sources import Source, device_of
from limbeck.stream.tasks import ShardEnd
from limbeck.stream.workers import Workers

if TYPE_CHECKING:
    import torch

#: whether all vectors of a batch are well defined, once that is known; their norms and words
Verdict: TypeAlias = "tuple[Callable[[], torch.Tensor], torch.Tensor, Sequence[str]]"
AHEAD = 2  #: batches that an accelerator has to do while the host deals with one


class Consumer(Protocol):
    """Takes batches and keeps its own files; told when a shard is complete."""

    def update(self, batch: Encoded) -> None: ...
    def end_shard(self, number: int) -> None: ...


@dataclass
class Work:
    """A pass that is to be made, by any engine.

    accumulators  empty ones; an engine gives filled ones back
    consumers     are given every batch, shards in order
    saved         where the state of shards that are done is kept; what it holds is of `done`
    done          parts that need not be made again
    missing       ranges of shards that are to be made
    dropped       reason -> units without a vector; shards add theirs before consumers are told of their end
    keep          whether the state of all shards is to be saved at the end even where little is behind the last part
    """

    source: Source
    plan: Plan
    accumulators: list[Accumulator]
    consumers: Sequence[Consumer] = ()
    saved: Checkpoint | None = None
    done: list[Part] = field(default_factory=list)
    missing: list[Part] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    seed: int = 0
    keep: bool = True


def fill(
    source: Source, plan: Plan, part: Part, accumulators: Sequence[Accumulator], *, workers: Workers, seed: int
) -> Iterator[Encoded | ShardEnd]:
    """Read a range of shards; every batch is in the accumulators when it is given, and every shard followed by its end.

    At its end a shard's sums are settled: what a shard adds does not depend on those before it, not by its rounding.
    The text is made ready from the call on, before the first item is asked for.
    """
    some = replace(plan, shards=plan.shards[part.first : part.stop])
    items = source.read(some, start=0, workers=workers, seed=seed)
    return _filled(items if device_of(source) == "cpu" else ahead(items), source.layers, accumulators)


def _filled(
    items: Iterator[Encoded | ShardEnd], layers: Sequence[str], accumulators: Sequence[Accumulator]
) -> Iterator[Encoded | ShardEnd]:
    for item in checked(items, layers):
        if isinstance(item, Encoded):
            for accumulator in accumulators:
                accumulator.update(item)
        else:
            settle(accumulators)
        yield item


def settle(accumulators: Sequence[Accumulator]) -> None:
    """Let accumulators that hold sums in low precision for a while fold them into their state."""
    for accumulator in accumulators:
        own = getattr(accumulator, "settle", None)
        if own is not None:
            own()


def ahead(items: Iterator[Encoded | ShardEnd], count: int = AHEAD) -> Iterator[Encoded | ShardEnd]:
    """Each item once the next ones are under way, so that a device is busy while the host deals with this one."""
    held: deque[Encoded | ShardEnd] = deque()
    for item in items:
        held.append(item)
        if len(held) > count:
            yield held.popleft()
    yield from held


def checked(items: Iterator[Encoded | ShardEnd], layers: Sequence[str]) -> Iterator[Encoded | ShardEnd]:
    """The same items; NaN, infinite and zero vectors raise, naming layer and word.

    On an accelerator the verdict on a batch is read when later ones are under way, so that nothing waits for it, and
    before its shard ends.
    """
    from limbeck.transfer import fetch

    waiting: deque[Verdict] = deque()
    for item in items:
        more = isinstance(item, Encoded)
        if isinstance(item, Encoded) and len(item):
            waiting.append((fetch(well_defined(item)), item.norms, item.strings))
            more = item.vectors.device.type != "cpu"
        _judge(waiting, layers, left=AHEAD if more else 0)
        yield item
    _judge(waiting, layers)


def _judge(waiting: deque[Verdict], layers: Sequence[str], *, left: int = 0) -> None:
    """Read the oldest verdicts until so many are left."""
    while len(waiting) > left:
        good, norms, strings = waiting.popleft()
        if not good():
            refuse(norms, strings, layers)
