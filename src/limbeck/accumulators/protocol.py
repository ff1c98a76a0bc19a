"""What an accumulator is: state that grows by batches, merges with its like, and lives in files.

The laws (tested for every registered accumulator by reflection, and for a user's own by
`limbeck.testing.check_accumulator`): empty is the identity of merge; merge commutes and
associates; any batching, order and sharding give the same state; an empty batch changes nothing;
input is neither changed nor kept; state to file to state is bit-exact; unlike settings are refused.

An accumulator that holds sums in lower precision for some batches may have a method `settle()`, called at the end of
each shard, which folds them into its state: then what a shard adds is the same, whatever came before it.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.state import State


@runtime_checkable
class Accumulator(Protocol):
    """See the module's text for the laws."""

    name: ClassVar[str]

    def settings(self) -> dict[str, Any]:
        """What two accumulators must share to be merged; JSON values, the constructor's keywords."""

    def update(self, batch: Encoded) -> None:
        """Take a batch in."""

    def merge(self, other: Self) -> None:
        """Take in all that `other` has seen. `other` is not changed."""

    def state(self) -> State:
        """Everything as named arrays."""

    @classmethod
    def from_state(cls, state: State, **settings: Any) -> Self:
        """The accumulator that `state()` and `settings()` came from."""


def check_alike(mine: Accumulator, other: Accumulator) -> None:
    """Refuse a merge of unlike accumulators, naming both sides."""
    if type(mine) is not type(other):
        raise LimbeckError(f"only accumulators of one kind merge; got {mine.name} and {other.name}.", code="other_kind")
    ours, theirs = mine.settings(), other.settings()
    unlike = [name for name in ours if ours[name] != theirs.get(name)]
    if unlike:
        told = "; ".join(f"{name} is {ours[name]} on one side and {theirs.get(name)} on the other" for name in unlike)
        raise LimbeckError(
            f"only accumulators with equal settings merge; for {mine.name}, {told}.", code="other_settings"
        )


def check_shape(mine: Accumulator, batch: Encoded) -> None:
    """Refuse a batch of another shape than the accumulator was made for."""
    settings = mine.settings()
    layers, _, dim = batch.vectors.shape
    if (layers, dim) != (settings["layers"], settings["dim"]):
        raise LimbeckError(
            f"{mine.name} was made for {settings['layers']} layers of {settings['dim']} dimensions; "
            f"the batch has {layers} of {dim}.",
            code="wrong_shape",
            parameter="x",
        )
