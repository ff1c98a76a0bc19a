"""A worker on another machine: it holds the source and fills accumulators with the blocks that it is given."""

from __future__ import annotations

import pickle
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any

from limbeck.accumulators import Accumulator
from limbeck.encoded import Encoded
from limbeck.encoders import memory
from limbeck.errors import LimbeckError
from limbeck.state import State
from limbeck.stream.checkpoint import Part, arrays_of, merge_into, restored_as
from limbeck.stream.filling import fill
from limbeck.stream.plan import Plan
from limbeck.stream.sources import Source
from limbeck.stream.tasks import ShardEnd
from limbeck.stream.workers import Workers

REPORT = 0.5  #: seconds between the reports of a worker
BATCH, STATE = "batch", "state"  #: announce one


@dataclass(frozen=True)
class Failed:
    """What went wrong in a worker, to be raised by the driver."""

    error: Exception


@dataclass(frozen=True)
class Said:
    """A line for the user, of which one is enough, whichever worker says it first."""

    line: str


@dataclass(frozen=True)
class Filled:
    """A block is done, and its state was given."""

    settings: list[dict[str, Any]]  # of its accumulators
    dropped: dict[str, int]
    units: int  # since the last report


@dataclass(frozen=True)
class Parcel:
    """All that a pass needs of a worker."""

    source: Source
    plan: Plan
    empty: list[Accumulator]
    seed: int
    device: str | None  # None: as it comes
    batches: bool  # whether the driver wants the batches themselves


@dataclass(frozen=True)
class Begun:
    """A block whose text is being made ready."""

    block: Part
    accumulators: list[Accumulator]
    items: Iterator[Encoded | ShardEnd]


class Filler:
    """A worker: it holds the source of a pass, and fills empty accumulators with a block at a time."""

    def __init__(self, cores: int, feeders: int, prepare: Callable[[], None] | None = None) -> None:
        if prepare is not None:
            prepare()
        import torch

        torch.set_num_threads(cores)
        self.workers = Workers(feeders)
        self.said: list[str] = []  # to be told to the user
        memory.say = self.said.append
        self.parcel: Parcel | None = None
        self.ahead: Begun | None = None
        self.function: Callable[[Any], Any] | None = None

    def load(self, packed: bytes | None) -> Failed | None:
        """A pass begins, with its parcel, or with None it is over."""
        try:
            self.parcel = self.ahead = None
            if packed is not None:
                parcel: Parcel = pickle.loads(packed)
                source = parcel.source if parcel.device is None else parcel.source.on(parcel.device)
                self.parcel = replace(parcel, source=source)
        except Exception as error:
            return Failed(_plain(error))
        return None

    def learn(self, packed: bytes) -> Failed | None:
        """What `call` computes from now on."""
        try:
            self.function = pickle.loads(packed)
        except Exception as error:
            return Failed(_plain(error))
        return None

    def call(self, item: Any) -> Any:
        assert self.function is not None
        try:
            return self.function(item)
        except Exception as error:
            return Failed(_plain(error))

    def merge(
        self, kinds: bytes, settings: list[dict[str, Any]], one: State, other: State
    ) -> tuple[Failed | None, State | None]:
        """What is small and travels, there when it is done; and the state of two blocks together."""
        try:
            types: list[type[Accumulator]] = pickle.loads(kinds)
            first, second = (restored_as(types, copied(arrays), settings) for arrays in (one, other))
            merge_into(first, second)
            return None, arrays_of(first)
        except Exception as error:
            return Failed(_plain(error)), None

    def fill(self, block: Part, then: Part | None) -> Iterator[Any]:
        """Reports of units done, batches if they are wanted and the state, each announced, and at the end `Filled`.

        The text of the block that will be asked for `then` is made ready meanwhile.
        """
        assert self.parcel is not None
        yield 0  # what was asked for before is done, work begins
        try:
            begun, self.ahead = self.ahead, None
            if begun is None or begun.block != block:
                del begun  # another worker does that
                begun = self._begin(self.parcel, block)
            if then is not None:
                self.ahead = self._begin(self.parcel, then)
            yield from self._fill(self.parcel, begun)
        except Exception as error:
            self.ahead = None
            yield Failed(_plain(error))

    def _begin(self, parcel: Parcel, block: Part) -> Begun:
        accumulators = deepcopy(parcel.empty)
        made = fill(parcel.source, parcel.plan, block, accumulators, workers=self.workers, seed=parcel.seed)
        return Begun(block, accumulators, made)

    def _fill(self, parcel: Parcel, begun: Begun) -> Iterator[Any]:
        accumulators = begun.accumulators
        dropped: dict[str, int] = {}
        units, told = 0, time.monotonic()
        for item in begun.items:
            if not isinstance(item, Encoded):
                for reason, count in item.dropped.items():
                    dropped[reason] = dropped.get(reason, 0) + count
                continue
            units += len(item)
            while self.said:
                yield Said(self.said.pop(0))
            if parcel.batches:
                yield BATCH
                yield replace(item, vectors=item.vectors.cpu())
            if time.monotonic() - told > REPORT:
                yield units
                units, told = 0, time.monotonic()
        yield STATE
        yield arrays_of(accumulators)
        # last: who hears this knows that the state is there
        yield Filled([accumulator.settings() for accumulator in accumulators], dropped, units)


def copied(arrays: State) -> State:
    """Arrays of one's own: those in Ray's memory cannot be written."""
    return {name: array.copy() for name, array in arrays.items()}


def _plain(error: Exception) -> Exception:
    """An error that travels, with the place where it was raised; one that does not pickle is told in words."""
    if not isinstance(error, LimbeckError):
        error.add_note(f"in a worker: {''.join(traceback.format_exception(error))}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def of_kind(kind: Any, config: Any) -> Any:
    """A model of a kind, without its weights and all else, which are put into it next.

    transformers gets to know what a kind of model can tell (its hidden states) when the first one is made, so one is
    made, of no size.
    """
    import torch

    if config is not None:
        with suppress(Exception), torch.device("meta"):
            kind(config)
    return kind.__new__(kind)
