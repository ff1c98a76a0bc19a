"""Blocks of shards: every shard is handed out once, and once more only when it is given back."""

from __future__ import annotations

import numpy as np
import pytest

from limbeck.corpus.vocabulary import Vocabulary
from limbeck.stream.assignment import TRIES, Assignment
from limbeck.stream.checkpoint import Part
from limbeck.stream.plan import Plan, Shard

NONE = np.empty(0, dtype=np.int64)


def index_of(units: list[int]) -> Plan:
    shards = tuple(Shard(i, i, i + 1, size) for i, size in enumerate(units))
    return Plan(Vocabulary([], NONE, NONE), shards, NONE, sum(units), 0, 0, len(units), 0, {})


def drain(assignment: Assignment, *, seconds: float, speed: float = 100.0) -> list[Part]:
    taken = []
    while assignment:
        taken.append(assignment.take(seconds))
        assignment.done(taken[-1], assignment.units(taken[-1]) / speed)
    return taken


@pytest.mark.parametrize("seed", range(5))
def test_every_shard_of_the_gaps_is_handed_out_once(seed: int) -> None:
    generator = np.random.default_rng(seed)
    plan = index_of(generator.integers(1, 400, size=60).tolist())
    missing = [Part(3, 9), Part(20, 21), Part(30, 60)]
    taken = drain(Assignment(plan, missing, workers=int(generator.integers(1, 5))), seconds=7)
    shards = [shard for part in taken for shard in range(part.first, part.stop)]
    assert shards == [*range(3, 9), 20, *range(30, 60)]


def test_blocks_take_as_long_as_they_should_and_shrink_at_the_end() -> None:
    taken = drain(Assignment(index_of([100] * 200), [Part(0, 200)], workers=4), seconds=10)
    assert len(taken[0]) == 1  # nobody knows the speed yet
    assert {len(part) for part in taken[1:8]} == {10}  # 100 units a second
    assert len(taken[-1]) == 1
    sizes = [len(part) for part in taken[1:]]
    assert sizes == sorted(sizes, reverse=True)


def test_blocks_are_no_smaller_than_the_driver_can_bear() -> None:
    assignment = Assignment(index_of([100] * 50), [Part(0, 50)], workers=4)
    assignment.done(assignment.take(10), 1.0)
    sizes = []
    while assignment:
        sizes.append(len(assignment.take(10, least=6)))
    assert min(sizes[:-1]) >= 6


def test_consumers_get_one_shard_at_a_time() -> None:
    taken = drain(Assignment(index_of([5] * 20), [Part(0, 20)], workers=2, one_by_one=True), seconds=100)
    assert taken == [Part(i, i + 1) for i in range(20)]


def test_a_block_that_is_given_back_comes_first_and_not_for_ever() -> None:
    assignment = Assignment(index_of([10] * 6), [Part(0, 6)], workers=2)
    first = assignment.take(1)
    assignment.take(1)
    for _ in range(TRIES - 1):
        assert assignment.give_back(first)
        assert assignment.take(1) == first
    assert not assignment.give_back(first)


def test_one_worker_has_nobody_to_wait_for() -> None:
    taken = drain(Assignment(index_of([100] * 50), [Part(0, 50)], workers=1), seconds=100)
    assert taken == [Part(0, 1), Part(1, 50)]


def test_a_block_that_was_not_begun_can_be_put_back_as_often_as_one_likes() -> None:
    assignment = Assignment(index_of([10] * 6), [Part(0, 6)], workers=2)
    for _ in range(TRIES + 1):
        first = assignment.take(1)
        assignment.put_back(first)
    assert assignment.give_back(assignment.take(1))
