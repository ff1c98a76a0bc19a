"""What is known of the words of a vectors folder: words.parquet with word, count and origin, beside the vectors.

Its metadata say how many words the text had that was counted, those without a vector among them; in folders that lack
them, the run.json of `limbeck distill` does.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.real import real_array
from limbeck.tables import open_parquet, write_parquet
from limbeck.vectors.damaged import told_as_damage

NAME = "words.parquet"
COLUMNS = ("word", "count", "origin")
TOTAL = b"limbeck.words"  #: of the metadata: how many words the text had
RUN = "run.json"

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Facts:
    """How often each word occurred, how its vector came about, and the words of the text; None where not known."""

    counts: Ints | None = None
    origins: list[str] | None = None
    total: int | None = None

    def __bool__(self) -> bool:
        return self.counts is not None or self.origins is not None

    def take(self, rows: Sequence[int]) -> Facts:
        return Facts(
            None if self.counts is None else self.counts[np.asarray(rows, dtype=np.int64)],
            None if self.origins is None else [self.origins[row] for row in rows],
            self.total,
        )


def check(
    words: Sequence[str],
    counts: NDArray[Any] | Sequence[int] | None,
    origins: Sequence[str] | None,
    total: int | None = None,
) -> Facts:
    """Facts of as many words as there are, and counts that can be counts."""
    numbers = None if counts is None else real_array(counts, what="Counts") if len(counts) else np.asarray(counts)
    for what, several in (("counts", numbers), ("origins", origins)):
        if several is not None and len(several) != len(words):
            raise InputError(
                f"As many {what} as words are needed, got {len(several)} for {len(words)} words.",
                code="unequal_lengths",
                parameter=what,
            )
    if numbers is not None and (numbers.dtype.kind not in "iu" or (numbers < 0).any()) and len(numbers):
        raise InputError(
            "Counts must be whole numbers from 0 on: give how often each word occurred.",
            code="out_of_range",
            parameter="counts",
        )
    if total is not None and (numbers is None or total < numbers.max(initial=0)):
        most = "no counts" if numbers is None else f"one that occurred {numbers.max(initial=0)} times"
        raise InputError(
            f"The words of a text are at least those of each of its words, got {total} and {most}.", code="out_of_range"
        )
    return Facts(
        None if numbers is None else numbers.astype(np.int64),
        None if origins is None else [str(origin) for origin in origins],
        None if total is None else int(total),
    )


def counts_are_shared(words: Sequence[str], counts: Ints) -> bool:
    """Whether spellings of one word (Rome, rome) have one count among them, being counted in lower case.

    A text whose case was kept gives them counts of their own; so they share where all spellings of every word that has
    several have the same.
    """
    lowered: dict[str, int] = {}
    several = False
    for word, count in zip(words, counts.tolist(), strict=True):
        first = lowered.setdefault(word.lower(), count)
        if first != count:
            return False
        several = several or word != word.lower()
    return several


def summed(words: Sequence[str], counts: Ints) -> int:
    """The sum of counts, one that several spellings share taken once."""
    if not counts_are_shared(words, counts):
        return int(counts.sum())
    return sum({word.lower(): count for word, count in zip(words, counts.tolist(), strict=True)}.values())


def folder_of(path: str | Path) -> Path | None:
    """The folder of vectors that has a words.parquet, None if there is none."""
    folder = Path(path).expanduser()
    return folder if (folder / NAME).is_file() else None


def read(folder: Path, words: Sequence[str]) -> Facts:
    """Facts of these words, in their order. Another table of the same name, as measured runs have, tells none."""
    with told_as_damage(folder / NAME, "a table of words", "make the vectors again or remove it"):
        with open_parquet(folder / NAME) as file:
            names = set(file.schema_arrow.names)
            there = [name for name in COLUMNS if name in names]
            if "word" not in there or len(there) < 2:
                return Facts()
            columns = file.read(columns=there).to_pydict()
            told = (file.schema_arrow.metadata or {}).get(TOTAL)
        rows = {word: row for row, word in enumerate(columns["word"])}
        order = [rows.get(word, -1) for word in words]
        counts = columns.get("count")
        origins = columns.get("origin")
        return Facts(
            # a word that the table lacks was not met
            None if counts is None else np.array([0 if row < 0 else counts[row] or 0 for row in order], dtype=np.int64),
            None if origins is None else ["" if row < 0 else origins[row] or "" for row in order],
            None if counts is None else int(told) if told is not None else total_of_run(folder),
        )


def total_of_run(folder: Path) -> int | None:
    """The words of the text, as the account of a distillation has them; None where there is none."""
    try:
        words = json.loads((folder / RUN).read_text(encoding="utf-8"))["counts"]["words"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return words if isinstance(words, int) and words > 0 else None


def write(folder: Path, words: Sequence[str], known: Facts) -> None:
    """Write words.parquet with the columns that are known."""
    columns: dict[str, Any] = {"word": list(words)}
    if known.counts is not None:
        columns["count"] = known.counts
    if known.origins is not None:
        columns["origin"] = known.origins
    told = {} if known.total is None else {TOTAL: str(known.total).encode()}
    write_parquet(folder / NAME, columns, told)
