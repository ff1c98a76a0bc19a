"""Where documents begin in their files, so that a range of them is read without what stands before it.

While a corpus is read, some documents are *marked*, about one a megabyte: with the number of their file, their line and
the last known beginning of a line before it. In a compressed file of several frames the place is told by the frame
that it lies in. In Parquet the row is enough, since the file knows where its row groups are.
"""

from __future__ import annotations

import codecs
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.int64]

STEP = 1 << 18  #: bytes of text between two places that are remembered
SPACING = 1 << 20  #: bytes of text between two marks
SPACING_ROWS = 1_000  #: rows between two marks
MOST_FRAMES = 4_096
NEAR = 1 << 24  #: bytes of text from the beginning of a frame that are decompressed sooner than a document is divided
COLUMNS = 7  #: document, file, line; line and byte of the place; byte of its frame, in the file and in the text
#: encodings in which a byte 10 or 13 is the end of a line and nothing else, and no character depends on those before
PLAIN = ("utf-8", "ascii", "iso8859", "latin", "cp125", "koi8", "mac-", "gbk", "gb2312", "big5", "euc")


@dataclass(frozen=True, slots=True)
class Frame:
    """Where a part of a compressed file begins that can be decompressed by itself."""

    at: int = 0  # byte of the file
    text_at: int = 0  # byte of the text


@dataclass(frozen=True, slots=True)
class Place:
    """The beginning of a line."""

    line: int = 1
    at: int = 0  # byte of the text
    frame: Frame = Frame()


@dataclass(frozen=True, slots=True)
class Mark:
    """The beginning of a document."""

    document: int
    source: int  # number of the file
    line: int  # its first, or row
    place: Place  # before it

    def to_row(self) -> tuple[int, ...]:
        place = self.place
        return self.document, self.source, self.line, place.line, place.at, place.frame.at, place.frame.text_at

    @classmethod
    def from_row(cls, row: Iterable[int]) -> Mark:
        document, source, line, place_line, at, frame_at, text_at = map(int, row)
        return cls(document, source, line, Place(place_line, at, Frame(frame_at, text_at)))


def marks_of(marks: Iterable[Mark | None]) -> Marks:
    """Marks as an array (marks, 7), to be kept with a plan; documents without one (None) are left out."""
    return np.array([mark.to_row() for mark in marks if mark is not None], dtype=np.int64).reshape(-1, COLUMNS)


def no_marks() -> Marks:
    return np.empty((0, COLUMNS), dtype=np.int64)


def last_before(marks: Marks | None, document: int) -> Mark | None:
    """The last marked document that is not after another."""
    if marks is None or not len(marks):
        return None
    found = int(np.searchsorted(marks[:, 0], document, side="right")) - 1
    return Mark.from_row(marks[found].tolist()) if found >= 0 else None


def can_leap(marks: Marks, document: int, later: int) -> bool:
    """Whether a reader at a document gets to a later one faster by beginning anew there than by reading on."""
    mark = last_before(marks, later)
    return mark is not None and mark.document > document and mark.place.at - mark.place.frame.text_at < NEAR


class Frames:
    """Frames of a file that is being decompressed, some of them, the last ones."""

    def __init__(self, first: Frame) -> None:
        self._found = [first]

    def note(self, frame: Frame) -> None:
        if frame.text_at - self._found[-1].text_at >= STEP:
            self._found.append(frame)
            if len(self._found) > MOST_FRAMES:  # nobody asks
                del self._found[: MOST_FRAMES // 2]

    def before(self, at: int) -> Frame | None:
        """The last frame that begins at or before a byte of the text."""
        count = bisect_right(self._found, at, key=lambda frame: frame.text_at)
        del self._found[: max(0, count - 1)]
        return self._found[0] if count else None


class Trail:
    """Beginnings of lines in a file that is being read, one every so many bytes."""

    def __init__(self, start: Place, frames: Frames | None = None) -> None:
        self._places = [start]
        self._frames = frames
        self.start = start

    def wants(self, at: int) -> bool:
        return at - self._places[-1].at >= STEP

    def note(self, line: int, at: int) -> None:
        frame = self._frames.before(at) if self._frames is not None else Frame()
        if frame is not None:
            self._places.append(Place(line, at, frame))

    def before(self, line: int) -> Place:
        """The last place at or before the beginning of a line; lines must be asked for in order."""
        count = bisect_right(self._places, line, key=lambda place: place.line)
        del self._places[: max(0, count - 1)]
        return self._places[0]


def has_plain_lines(encoding: str) -> bool:
    """Whether a file in this encoding can be read from any beginning of a line on."""
    return codecs.lookup(encoding).name.startswith(PLAIN)
