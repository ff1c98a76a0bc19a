"""A task: where its files are, how they are laid out, and the pairs that are read from them."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.compression import open_text, telling
from limbeck.errors import InputError, choose
from limbeck.evaluation.correlations import METRICS
from limbeck.evaluation.settings import Metric
from limbeck.numerals import number_of
from limbeck.real import real_array

Kind = Literal["wordsim", "sts"]
KINDS: tuple[Kind, ...] = get_args(Kind)
NO_GOLD = "no gold score"  #: why a pair is dropped when it is read


@dataclass(frozen=True)
class Pairs:
    """Pairs of words or texts, each with the score that people gave it.

    subsets  of each pair the name of its subset; empty where there are none
    scale    lowest and highest score possible
    dropped  pairs left out, by reason
    notes    what differs from the release, if anything
    """

    name: str
    kind: Kind
    first: Sequence[str]
    second: Sequence[str]
    gold: NDArray[np.float64]
    subsets: Sequence[str] = ()
    metric: Metric = "spearman"
    scale: tuple[float, float] = (-math.inf, math.inf)
    dropped: Mapping[str, int] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        choose(self.kind, KINDS, what="kind")
        choose(self.metric, METRICS, what="metric")
        object.__setattr__(self, "gold", real_array(self.gold, what=f"{self.name}: scores").astype(np.float64))
        sizes = {len(self.first), len(self.second), len(self.gold), len(self.subsets) or len(self.gold)}
        if len(sizes) > 1 or self.gold.ndim != 1:
            raise InputError(
                f"{self.name}: pairs need as many first and second texts as scores, got {len(self.first)}, "
                f"{len(self.second)} and {self.gold.shape} (subsets: {len(self.subsets)}).",
                code="unequal_lengths",
            )
        if not np.isfinite(self.gold).all():
            raise InputError(
                f"{self.name}: scores must be finite numbers, got NaN or infinity: leave such pairs out.",
                code="not_finite",
            )

    def __len__(self) -> int:
        return len(self.gold)

    def rows_of_subsets(self) -> dict[str, NDArray[np.int64]]:
        """Rows of each subset, in the order in which subsets are met; empty where there are none."""
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(self.subsets):
            rows.setdefault(name, []).append(row)
        return {name: np.array(numbers, dtype=np.int64) for name, numbers in rows.items()}


@dataclass(frozen=True)
class File:
    """One file of a task and, where scores stand apart, its file of scores; what the release is known to hold."""

    path: Path
    gold: Path | None = None
    subset: str = ""
    pairs: int | None = None
    unscored: int = 0
    sha256: str = ""
    gold_sha256: str = ""


@dataclass(frozen=True)
class Task:
    """A set of pairs on disk: see `tasks.toml` for what the fields mean."""

    name: str
    kind: Kind
    files: tuple[File, ...]
    title: str = ""
    separator: str = "\t"
    header: bool = False
    columns: tuple[int, ...] = (1, 2, 3)
    subset_column: int | None = None
    scale: tuple[float, float] = (-math.inf, math.inf)
    metric: Metric = "spearman"
    licence: str = ""
    citation: str = ""
    source: str = ""
    part_of: str = ""

    @property
    def expected(self) -> int | None:
        """How many scored pairs the release has, if that is known."""
        counts = [file.pairs for file in self.files]
        return None if None in counts else sum(count for count in counts if count is not None)

    def read(self) -> Pairs:
        """All pairs with a score. A line that cannot be read is an InputError that names file and line."""
        first: list[str] = []
        second: list[str] = []
        gold: list[float] = []
        subsets: list[str] = []
        dropped: Counter[str] = Counter()
        notes: list[str] = []
        for file in self.files:
            before, unscored = len(gold), 0
            for a, b, score, subset in self._pairs(file):
                if score is None:
                    unscored += 1
                    continue
                first.append(a)
                second.append(b)
                gold.append(score)
                subsets.append(subset)
            dropped.update({NO_GOLD: unscored} if unscored else {})
            notes += _differences(file, len(gold) - before, unscored)
        return Pairs(
            name=self.name,
            kind=self.kind,
            first=first,
            second=second,
            gold=np.array(gold),
            subsets=subsets if any(subsets) else (),
            metric=self.metric,
            scale=self.scale,
            dropped=dict(dropped),
            notes=tuple(notes),
        )

    def _pairs(self, file: File) -> Iterator[tuple[str, str, float | None, str]]:
        if file.gold is None:
            for line, cells in self._rows(file.path):
                subset = cells[self.subset_column - 1] if self.subset_column else file.subset
                score = self._score(cells[self.columns[2] - 1], file.path, line)
                yield cells[self.columns[0] - 1], cells[self.columns[1] - 1], score, subset
            return
        rows = list(self._rows(file.path, blank=True))
        scores = [text.strip() for text in lines_of(file.gold)]
        if len(rows) != len(scores):
            raise InputError.at(
                file.gold,
                min(len(rows), len(scores)) + 1,
                f"there must be a line for each of {file.path}, got {len(scores)} lines for {len(rows)}: "
                "get both files from one release.",
                code="unequal_lengths",
            )
        for (line, cells), text in zip(rows, scores, strict=True):
            yield (
                cells[self.columns[0] - 1],
                cells[self.columns[1] - 1],
                self._score(text, file.gold, line),
                file.subset,
            )

    def _rows(self, path: Path, *, blank: bool = False) -> Iterator[tuple[int, list[str]]]:
        """Line numbers and cells, split plainly: quotes mean nothing. Empty lines are passed over, unless `blank`."""
        width = max([*self.columns, self.subset_column or 0])
        for line, text in enumerate(lines_of(path), 1):
            if (line == 1 and self.header) or (not blank and not text.strip()):
                continue
            cells = [cell.strip() for cell in text.split(self.separator)]
            if len(cells) < width:
                raise InputError.at(
                    path,
                    line,
                    f"the line must have at least {width} columns parted by {self.separator!r}, got {len(cells)}: "
                    f"mend it or take the released file.",
                    code="malformed",
                )
            if not (cells[self.columns[0] - 1] and cells[self.columns[1] - 1]):
                raise InputError.at(
                    path, line, "both texts of a pair must be there, got an empty one: mend the line.", code="malformed"
                )
            yield line, cells

    def _score(self, text: str, path: Path, line: int) -> float | None:
        """The number; None for an empty cell."""
        if not text:
            return None
        low, high = self.scale
        score = number_of(text)
        if score is None or not (low <= score <= high and math.isfinite(score)):
            raise InputError.at(
                path,
                line,
                f"a score must be a number from {low:g} to {high:g}, got {text[:40]!r}: mend the line.",
                code="malformed",
            )
        return score


def lines_of(path: Path, *, encoding: str = "utf-8") -> list[str]:
    """The lines of a file, which may be compressed."""
    with open_text(path, encoding=encoding) as stream:
        return [line.rstrip("\n") for line in stream]


def not_as_known(path: Path | None, wanted: str) -> list[str]:
    """A line where a file is not the one that is known by its sha256."""
    if path is None or not wanted:
        return []
    with telling(str(path)):
        found = hashlib.sha256(path.read_bytes()).hexdigest()
    return [f"{path.name} is not the known file (sha256 {found[:12]}, known {wanted[:12]})"] * (found != wanted)


def _differences(file: File, pairs: int, unscored: int) -> list[str]:
    """What a file has otherwise than the release, one line each."""
    notes = []
    if file.pairs is not None and (pairs, unscored) != (file.pairs, file.unscored):
        notes.append(
            f"{file.path.name} has {pairs} pairs and {unscored} without score, the release {file.pairs} and "
            f"{file.unscored}"
        )
    return [*notes, *not_as_known(file.path, file.sha256), *not_as_known(file.gold, file.gold_sha256)]
