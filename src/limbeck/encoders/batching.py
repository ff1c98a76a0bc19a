"""Prepared texts put together, taken apart, and cut into batches of similar length."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from limbeck.encoders.protocol import Ints, Prepared
from limbeck.errors import UsageError
from limbeck.strings import Strings


def text_starts(prepared: Prepared) -> Ints:
    """Where each text's units begin, (texts + 1,). Units of one text stand together."""
    ids = prepared.texts
    turns = np.flatnonzero(ids[1:] != ids[:-1]) + 1
    return np.concatenate([[0], turns, [len(ids)]]).astype(np.int64) if len(ids) else np.zeros(1, dtype=np.int64)


def window_ranges(prepared: Prepared, starts: Ints) -> tuple[Ints, Ints]:
    """Each text's first window, and one past its last: windows too stand in the order of the texts."""
    if len(starts) < 2:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    low = np.minimum.reduceat(prepared.unit_window, starts[:-1])
    high = np.maximum.reduceat(prepared.unit_window, starts[:-1]) + 1
    return low, high


def select(prepared: Prepared, texts: Sequence[int] | Ints) -> Prepared:
    """Some of the texts (counted by `text_starts`), in the order given. The counts of dropped units stay behind."""
    starts = text_starts(prepared)
    return _take(prepared, np.asarray(texts, dtype=np.int64), starts, *window_ranges(prepared, starts))


def concatenate(parts: Sequence[Prepared]) -> Prepared:
    """Several prepared chunks as one; their counts of dropped units are added up."""
    if len(parts) == 1:
        return parts[0]
    if not parts:
        raise UsageError("At least one prepared chunk is needed to put together; got none.", code="empty")
    pieces_before = np.cumsum([0, *(len(part.pieces) for part in parts)])
    windows_before = np.cumsum([0, *(len(part.window_starts) - 1 for part in parts)])
    dropped: Counter[str] = Counter()
    for part in parts:
        dropped.update(part.dropped)
    ends = [part.window_starts[1:] + before for part, before in zip(parts, pieces_before[:-1], strict=True)]
    return Prepared(
        pieces=np.concatenate([part.pieces for part in parts]),
        window_starts=np.concatenate([np.zeros(1, dtype=np.int64), *ends]),
        unit_window=np.concatenate(
            [part.unit_window + before for part, before in zip(parts, windows_before[:-1], strict=True)]
        ),
        unit_first=np.concatenate([part.unit_first for part in parts]),
        unit_count=np.concatenate([part.unit_count for part in parts]),
        strings=Strings.join(Strings.of(part.strings) for part in parts),
        sentences=np.concatenate([part.sentences for part in parts]),
        positions=np.concatenate([part.positions for part in parts]),
        texts=np.concatenate([part.texts for part in parts]),
        dropped=dict(dropped),
    )


def batches(prepared: Prepared, *, batch_tokens: int, rng: np.random.Generator | None = None) -> Iterator[Prepared]:
    """Whole texts of similar length, at most `batch_tokens` padded pieces a batch where one text allows it.

    Longest first, so that a batch that does not fit the device's memory is met at once. `rng`
    shuffles the order of the batches, not their composition. Counts of dropped units are left to
    `prepared` itself.
    """
    starts = text_starts(prepared)
    low, high = window_ranges(prepared, starts)
    if not len(low):
        return
    lengths = np.diff(prepared.window_starts)
    longest = np.maximum.reduceat(lengths, low)  # windows of a text lie before those of the next
    order = np.argsort(-longest, kind="stable")
    cuts = cut(longest[order], (high - low)[order], batch_tokens)
    runs = [order[a:b] for a, b in pairwise(cuts)]
    if rng is not None:
        runs = [runs[index] for index in rng.permutation(len(runs))]
    for run in runs:
        # Inside a batch the texts keep the order they came in.
        yield _take(prepared, np.sort(run), starts, low, high)


def cut(longest: Ints, windows: Ints, budget: int) -> list[int]:
    """Cut rows sorted by falling length into runs of at most `budget` padded pieces, one row at least."""
    total = np.concatenate([[0], np.cumsum(windows)])
    cuts = [0]
    while cuts[-1] < len(longest):
        at = cuts[-1]
        # The first row is the longest of its run, so it decides how many windows fit.
        fits = max(int(budget // max(int(longest[at]), 1)), 1)
        cuts.append(max(int(np.searchsorted(total, total[at] + fits, side="right")) - 1, at + 1))
    return cuts


def ranges(start: Ints, stop: Ints) -> Ints:
    """The integers of all ranges one after the other."""
    size = stop - start
    before = np.cumsum(size) - size
    found: Ints = np.arange(int(size.sum()), dtype=np.int64) + np.repeat(start - before, size)
    return found


def _take(prepared: Prepared, chosen: Ints, starts: Ints, low: Ints, high: Ints) -> Prepared:
    if len(chosen) == len(starts) - 1 and np.array_equal(chosen, np.arange(len(chosen))):
        units: NDArray[np.int64] | slice = slice(None)
        windows: NDArray[np.int64] | slice = slice(None)
    else:
        units = ranges(starts[chosen], starts[chosen + 1])
        windows = ranges(low[chosen], high[chosen])
    piece_from, piece_to = prepared.window_starts[:-1][windows], prepared.window_starts[1:][windows]
    counts = (high - low)[chosen]
    shift = np.cumsum(counts) - counts - low[chosen]  # new number of a text's first window less the old one
    return Prepared(
        pieces=prepared.pieces[ranges(piece_from, piece_to)],
        window_starts=np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(piece_to - piece_from)]),
        unit_window=prepared.unit_window[units] + np.repeat(shift, starts[chosen + 1] - starts[chosen]),
        unit_first=prepared.unit_first[units],
        unit_count=prepared.unit_count[units],
        strings=Strings.of(prepared.strings).take(units),
        sentences=prepared.sentences[units],
        positions=prepared.positions[units],
        texts=prepared.texts[units],
    )
