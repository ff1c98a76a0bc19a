"""Processes that prepare text."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from refusals import raises

from limbeck.errors import LimbeckError
from limbeck.stream.workers import Pool, Workers


def double(number: int) -> int:
    return 2 * number


def test_results_come_in_order_and_before_all_is_read() -> None:
    """A consumer of a long text gets the first results while the rest is read."""
    deadline = time.monotonic() + 120

    def endless() -> Iterator[int]:
        for number in count():
            assert time.monotonic() < deadline, "everything is read before there is a result"
            time.sleep(0.005)
            yield number

    pool = Pool(2)
    try:
        assert list(pool.map(double, range(20))) == list(range(0, 40, 2))
        results = pool.map(double, endless(), ahead=10**9)
        assert next(results) == 0
        assert [next(results) for _ in range(5)] == [2, 4, 6, 8, 10]
        results.close()  # type: ignore[attr-defined]
    finally:
        pool.close()


class HandOn:
    """A job that looks at no result."""

    def __call__(self, pool: Pool) -> Iterator[list[int]]:
        return pool.hand_on(pair, range(5))


def pair(number: int) -> list[int]:
    return [number, number]


@pytest.mark.parametrize("count", [0, 2])
def test_results_that_a_job_hands_on_arrive_as_they_are(count: int) -> None:
    with Workers(count) as workers:
        assert list(workers.run(HandOn())) == [[number, number] for number in range(5)]


@dataclass
class Count:
    """A job: numbers, each with so many bytes behind it."""

    stop: int
    size: int = 0

    def __call__(self, pool: Pool) -> Iterator[tuple[int, bytes]]:
        return ((number, bytes(self.size)) for number in range(self.stop))


@dataclass
class Raise:
    """A job that gives a number and fails."""

    error: Exception

    def __call__(self, pool: Pool) -> Iterator[int]:
        yield 1
        raise self.error


class Unsent:
    """A job that fails with an error that does not come through."""

    def __call__(self, pool: Pool) -> Iterator[int]:
        yield 1
        raise Immovable("no", 2)


class Immovable(Exception):
    """Pickles, and cannot be unpickled."""

    def __init__(self, what: str, number: int) -> None:
        super().__init__(f"{what} {number}")


class KillOne:
    """A job whose processes are killed."""

    def __call__(self, pool: Pool) -> Iterator[Any]:
        return pool.map(kill_myself, range(3))


def kill_myself(item: int) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.fixture(scope="module")
def workers() -> Iterator[Workers]:
    with Workers(1) as started:
        yield started


def test_jobs_follow_each_other(workers: Workers) -> None:
    first, second = workers.run(Count(30)), workers.run(Count(3, size=200_000))
    assert [number for number, _ in first] == list(range(30))
    assert [(number, len(behind)) for number, behind in second] == [(0, 200_000), (1, 200_000), (2, 200_000)]


def test_who_lets_go_of_a_job_can_have_another(workers: Workers) -> None:
    let_go, waiting = workers.run(Count(10**9, size=200_000)), workers.run(Count(10**9))
    assert next(let_go)[0] == 0
    let_go.close()  # type: ignore[attr-defined]
    del waiting
    assert [number for number, _ in workers.run(Count(5))] == list(range(5))


@pytest.mark.parametrize("immovable", [False, True])
def test_what_goes_wrong_arrives(workers: Workers, immovable: bool) -> None:
    items = workers.run(Unsent() if immovable else Raise(LimbeckError("no", code="damaged")))
    assert next(items) == 1
    with pytest.raises(RuntimeError, match="no 2") if immovable else raises(LimbeckError, code="damaged", says="no"):
        next(items)
    assert list(items) == []
    assert len(list(workers.run(Count(5)))) == 5


def test_a_process_of_the_pool_that_is_killed() -> None:
    with Workers(1) as workers, raises(LimbeckError, code="worker_lost", parameter="workers"):
        list(workers.run(KillOne()))


FEEDER_KILLED = """
import os, signal

from limbeck.errors import LimbeckError
from limbeck.stream.workers import Workers


class Large:
    def __call__(self, pool):
        return (bytes(10_000_000) for _ in range(100))


if __name__ == "__main__":
    with Workers(1) as workers:
        items = workers.run(Large())
        assert len(next(items)) == 10_000_000
        assert workers._items.poll(60)  # the next has begun to come, and is more than a pipe holds
        os.kill(workers._feeder.pid, signal.SIGKILL)
        try:
            next(items)
        except LimbeckError as error:
            print(error)
        try:
            next(workers.run(Large()))
        except LimbeckError as error:
            print(error)
"""


def test_the_feeding_process_killed_while_it_writes(tmp_path: Path) -> None:
    """In a process of its own, which is killed in its turn if it waits for ever."""
    script = tmp_path / "script.py"
    script.write_text(FEEDER_KILLED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=True)
    line = "the processes that prepare the text ended unexpectedly (out of memory?): lower workers.\n"
    assert done.stdout == 2 * line
