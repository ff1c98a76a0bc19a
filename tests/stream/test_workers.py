"""Processes that prepare text."""

from __future__ import annotations

import time
from collections.abc import Iterator

from limbeck.stream.workers import Pool


def double(number: int) -> int:
    return 2 * number


def test_results_come_in_order_and_before_all_is_read() -> None:
    """A consumer of a long text gets the first results while the rest is read."""
    read: list[int] = []

    def slowly() -> Iterator[int]:
        for number in range(1000):
            time.sleep(0.005)
            read.append(number)
            yield number

    pool = Pool(2)
    try:
        assert list(pool.map(double, range(20))) == list(range(0, 40, 2))
        results = pool.map(double, slowly(), ahead=1000)
        assert next(results) == 0
        assert len(read) < 1000
        assert [next(results) for _ in range(5)] == [2, 4, 6, 8, 10]
        results.close()  # type: ignore[attr-defined]
    finally:
        pool.close()
