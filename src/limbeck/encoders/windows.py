"""Which stretch of a long text each word is read from.

A text that fits is one window. A longer one is read through windows that overlap by half and
begin at word starts, and each word is read where it has most context. With a restricted context
each word has a window of its own, a given number of words to each side.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from limbeck.encoders.alignment import Alignment
from limbeck.encoders.protocol import Ints

#: Two steps of half a window each go on by more than half of it, so no word lies in more windows than this.
_MOST_WINDOWS = 6


@dataclass(frozen=True)
class Windows:
    """Ranges of pieces, and for each word the window it is read from (-1: none holds it)."""

    start: Ints  # (windows,) indices into an Alignment's pieces, in the order of the texts
    end: Ints  # (windows,)
    of_word: Ints  # (words,)


def overlapping(alignment: Alignment, *, capacity: int, causal: bool) -> Windows:
    """Windows of at most `capacity` pieces over whole texts."""
    text_from, text_to = alignment.piece_starts[:-1], alignment.piece_starts[1:]
    words_in = np.diff(alignment.word_starts)
    long = np.flatnonzero(text_to - text_from > capacity)
    if not len(long):
        return Windows(text_from, text_to, np.repeat(np.arange(len(words_in), dtype=np.int64), words_in))
    starts: list[Ints] = []
    ends: list[Ints] = []
    of_word = np.empty(len(alignment.first), dtype=np.int64)
    made, done = 0, 0
    for text in [*long.tolist(), len(words_in)]:
        if text > done:  # the short texts before it, one window each
            starts.append(text_from[done:text])
            ends.append(text_to[done:text])
            words = slice(int(alignment.word_starts[done]), int(alignment.word_starts[text]))
            of_word[words] = made + np.repeat(np.arange(text - done, dtype=np.int64), words_in[done:text])
            made += text - done
        if text == len(words_in):
            break
        words = slice(int(alignment.word_starts[text]), int(alignment.word_starts[text + 1]))
        first, end, lead = alignment.first[words], alignment.end[words], alignment.lead[words]
        start, stop = cover(first, end, lead, int(text_from[text]), int(text_to[text]), capacity)
        chosen = choose_window(first, end, start, stop, causal=causal)
        of_word[words] = np.where(chosen < 0, -1, chosen + made)
        starts.append(start)
        ends.append(stop)
        made += len(start)
        done = text + 1
    return Windows(np.concatenate(starts), np.concatenate(ends), of_word)


def cover(first: Ints, end: Ints, lead: Ints, begin: int, stop: int, capacity: int) -> tuple[Ints, Ints]:
    """Windows over one long text, half overlapping; they begin and, where they can, end with whole words."""
    heads = np.unique(np.append(lead[end > first], begin))
    tails = np.unique(end[end > first])
    starts = [begin]
    while starts[-1] + capacity < stop:
        at = starts[-1]
        nearest = int(np.searchsorted(heads, at, side="right"))
        if nearest == len(heads):
            break  # what is left is one word too long for any window
        step = max(int(np.searchsorted(heads, at + capacity // 2, side="right")) - 1, nearest)
        following = int(heads[step])
        if following + capacity >= stop:
            # The last window may as well be full: move it back as far as the text's end allows.
            following = min(following, int(heads[int(np.searchsorted(heads, stop - capacity))]))
        starts.append(following)
    start = np.array(starts, dtype=np.int64)
    limit = np.minimum(start + capacity, stop)
    whole = np.searchsorted(tails, limit, side="right") - 1
    tail = np.where(whole >= 0, tails[np.maximum(whole, 0)], limit) if len(tails) else limit
    return start, np.where((tail > start) & (limit < stop), tail, limit)


def choose_window(first: Ints, end: Ints, start: Ints, stop: Ints, *, causal: bool) -> Ints:
    """For each word the window where it has most context, -1 where none holds all of it.

    Most context: the largest min(left, right), or for causal models the largest left; of equal
    ones the earlier window.
    """
    last = np.searchsorted(start, first, side="right") - 1
    best = np.full(len(first), -1, dtype=np.int64)
    best_context = np.full(len(first), -1, dtype=np.int64)
    for back in range(_MOST_WINDOWS):
        window = last - back
        held = np.maximum(window, 0)
        inside = (window >= 0) & (end <= stop[held]) & (first >= start[held])
        left, right = first - start[held], stop[held] - end
        context = np.where(inside, left if causal else np.minimum(left, right), -1)
        better = (context >= best_context) & inside  # >=: going back, so the earlier of equals wins
        best = np.where(better, window, best)
        best_context = np.where(better, context, best_context)
    return best


def around(alignment: Alignment, *, capacity: int, words: int, wanted: NDArray[np.bool_]) -> Windows:
    """For each wanted word a window of `words` words to each side of it, within its text."""
    targets = np.flatnonzero(wanted & (alignment.end > alignment.first) & (alignment.counts <= capacity))
    text = np.searchsorted(alignment.word_starts, targets, side="right") - 1
    left = np.maximum(targets - words, alignment.word_starts[text])
    right = np.minimum(targets + words, alignment.word_starts[text + 1] - 1)
    start, stop = alignment.lead[left], np.maximum(alignment.end[right], alignment.end[targets])
    # A context that ends with the text takes what follows the last word, as the text itself does.
    stop = np.where(right == alignment.word_starts[text + 1] - 1, alignment.piece_starts[text + 1], stop)
    for row in np.flatnonzero(stop - start > capacity).tolist():
        start[row], stop[row] = _narrow(alignment, int(targets[row]), int(left[row]), int(right[row]), capacity)
    # Neighbours in a short text often have the very same window: read it once.
    key = start * (len(alignment.pieces) + 1) + stop
    _, kept, inverse = np.unique(key, return_index=True, return_inverse=True)
    of_word = np.full(len(alignment.first), -1, dtype=np.int64)
    of_word[targets] = inverse
    return Windows(start[kept], stop[kept], of_word)


def _narrow(alignment: Alignment, target: int, left: int, right: int, capacity: int) -> tuple[int, int]:
    """Take words from the longer side until the window fits."""
    low = high = target
    while True:
        grown = False
        for side in (-1, 1):
            new_low, new_high = (max(low - 1, left), high) if side < 0 else (low, min(high + 1, right))
            start, stop = int(alignment.lead[new_low]), int(max(alignment.end[new_high], alignment.end[target]))
            if (new_low, new_high) != (low, high) and stop - start <= capacity:
                low, high, grown = new_low, new_high, True
        if not grown:
            start = int(alignment.lead[low])
            stop = int(max(alignment.end[high], alignment.end[target]))
            return (start, stop) if stop - start <= capacity else (int(alignment.first[target]), stop)
