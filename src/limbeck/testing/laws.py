"""What is said where a law does not hold."""

from __future__ import annotations

EXACT = 1e-10  #: float64 numbers may differ by this part of the largest of them


class BrokenLaw(AssertionError):
    """A law does not hold; the message names it."""

    __module__ = "limbeck.testing"  # where users find it

    def __init__(self, who: str, law: str, found: str) -> None:
        super().__init__(f'{who} breaks the law "{law}": {found}.')


class Found(Exception):
    """What was found where a law does not hold."""
