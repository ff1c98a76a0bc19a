"""Batches ahead of the host, and verdicts on their vectors that come later."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from refusals import raises

from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.stream.filling import AHEAD, ahead, checked
from limbeck.stream.plan import Shard
from limbeck.stream.tasks import ShardEnd

END = ShardEnd(Shard(0, 0, 1, 1), {})


def batch(word: str, norm: float, device: str = "cuda") -> Encoded:
    """A batch of one word on a device that is not here: its norm is all that is asked for."""
    one = np.zeros(1, dtype=np.int64)
    vectors: Any = SimpleNamespace(device=SimpleNamespace(type=device))
    made = Encoded(vectors, one, one, one, one.astype(np.uint64), [word])
    made.__dict__["norms"] = torch.tensor([[norm]])
    return made


def test_a_device_has_work_while_the_host_deals_with_a_batch() -> None:
    drawn: list[int] = []

    def items() -> Any:
        for number in range(6):
            drawn.append(number)
            yield number

    taken = [(item, len(drawn)) for item in ahead(items())]
    assert [item for item, _ in taken] == list(range(6))
    assert [begun for _, begun in taken] == [min(number + 1 + AHEAD, 6) for number in range(6)]
    assert list(ahead(iter([]))) == []


@pytest.mark.parametrize("end", [[END], []])
def test_a_bad_vector_is_found_before_its_shard_ends(end: list[ShardEnd]) -> None:
    items = [batch("tea", 1.0), batch("cup", 0.0), batch("pot", 1.0), *end]
    seen: list[Any] = []
    with raises(LimbeckError, code="not_finite", says="'cup'"):
        seen.extend(checked(iter(items), ["top"]))
    assert END not in seen
    assert seen == items[:3]  # the verdict on the second is read once two others are under way, or at the end


def test_on_the_cpu_a_bad_batch_is_not_given_at_all() -> None:
    items = checked(iter([batch("tea", 1.0, "cpu"), batch("cup", float("nan"), "cpu"), END]), ["top"])
    next(items)
    with raises(LimbeckError, code="not_finite", says="'cup'"):
        next(items)
