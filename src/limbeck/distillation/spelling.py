"""What a word's letters say of it: a vector made of those of its character n-grams.

A word that the teacher's tokenizer cuts up ("un ##fat ##hom ##able") is one the teacher has hardly met, and the text
often has it a few times or not at all. Its stem and endings stand in other words. A vector for each n-gram, such that
a word's vector is the sum of its n-grams' over the square root of how many it has, is fitted to the words that are
known (ridge regression), and then spells the others. A word whose letters say nothing comes out near 0, so that what
is spelled counts as much as it is worth.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.stream.progress import Progress

Floats = NDArray[np.float32]

SHORTEST, LONGEST = 3, 6  #: letters of an n-gram, with a mark at either end of a word
SHARED = 2  #: words an n-gram must be in, since one word's alone says nothing of others
LEARNED = 50_000  #: words to learn from, the most frequent
PENALTY = 0.3  #: on the squares of n-grams' vectors, beside errors of words
ITERATIONS = 60  #: of conjugate gradients: more change no cosine worth a word
CLOSE = 1e-4  #: squared residual over what it was at first, at which no more are needed
COLUMNS = 64  #: dimensions that are solved at once, which bounds what is held


def ngrams(word: str) -> list[str]:
    """The n-grams of a word, in lower case, as often as it has them.

    >>> ngrams("Tea")
    ['<te', 'tea', 'ea>', '<tea', 'tea>', '<tea>']
    """
    marked = f"<{word.lower()}>"
    sizes = range(SHORTEST, LONGEST + 1)
    return [marked[start : start + size] for size in sizes for start in range(len(marked) - size + 1)]


def spelled(
    words: Sequence[str],
    rows: Floats,
    weights: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    *,
    device: str = "cpu",
    progress: bool = False,
) -> Floats:
    """(words, d) what their letters say of the wanted words, zeros for others.

    Learned from the `rows` of words by their `weights`: those of the greatest, 0 for a word that teaches nothing.
    """
    made = np.zeros_like(rows)
    learned = np.argsort(-weights, kind="stable")[:LEARNED]
    learned = learned[weights[learned] > 0]
    if not len(learned) or not wanted.any():
        return made
    cut = [ngrams(words[row]) for row in learned.tolist()]
    # in the order of the words, which a set's would not be: sums, in another order, differ in their last digits
    often = Counter(gram for grams in cut for gram in dict.fromkeys(grams))
    numbers = {gram: number for number, gram in enumerate(gram for gram, n in often.items() if n >= SHARED)}
    if not numbers:
        return made
    known = _Bags.of(cut, numbers, device)
    asked: list[int] = np.flatnonzero(wanted).tolist()
    asking = _Bags.of((ngrams(words[row]) for row in asked), numbers, device)
    del cut, often, numbers  # strings, many times the size of their numbers
    back = known.transposed()
    share = torch.from_numpy(weights[learned].astype(np.float32)).to(device)[:, None]
    with Progress("spelling", total=rows.shape[1], show=progress) as bar:
        for start in range(0, rows.shape[1], COLUMNS):
            columns = slice(start, start + COLUMNS)
            some = torch.from_numpy(rows[learned, columns]).to(device)
            made[asked, columns] = asking.sums(_solve(known, back, some, share)).cpu().numpy()
            bar.advance(some.shape[1])
    return made


def bytes_of(words: Sequence[str]) -> int:
    """What `spelled` holds at most, about: n-grams' vectors, and which words have which; before, n-grams as strings."""
    if not words:
        return 0
    some = words[:: max(1, len(words) // 1000)]
    grams = sum(len(ngrams(word)) for word in some) / len(some)  # of a word
    learned = min(len(words), LEARNED)
    strings = 150 * grams * learned  # of a string and its number, a third of which are different ones
    solving = 6 * 4 * COLUMNS * grams * learned / 3 + 24 * grams * (len(words) + 2 * learned)
    return int(max(strings, solving))


def _solve(words: _Bags, back: _Bags, rows: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """(n-grams, columns) the vectors with the least error and penalty, by conjugate gradients, column by column.

    `back` is `words` transposed.
    """
    residual = back.sums(share * rows)
    vectors, direction = torch.zeros_like(residual), residual.clone()
    first = square = (residual * residual).sum(dim=0)
    for _ in range(ITERATIONS):
        if bool((square <= CLOSE * first).all()):
            break
        image = back.sums(share * words.sums(direction)) + PENALTY * direction
        step = square / (direction * image).sum(dim=0).clamp(min=1e-30)
        vectors += step * direction
        residual -= step * image
        before, square = square, (residual * residual).sum(dim=0)
        direction = residual + square / before.clamp(min=1e-30) * direction
    return vectors


@dataclass(frozen=True)
class _Bags:
    """A sparse matrix, each row a bag: `at` numbers columns, `values` their values, a bag from each of `starts` on."""

    at: torch.Tensor
    values: torch.Tensor
    starts: torch.Tensor
    columns: int

    @classmethod
    def of(cls, cut: Iterable[Sequence[str]], numbers: dict[str, int], device: str) -> _Bags:
        """Words by their n-grams; those that have no number count as ones that say nothing."""
        at: list[int] = []
        values: list[float] = []
        starts: list[int] = []
        for grams in cut:
            starts.append(len(at))
            own = [numbers[gram] for gram in grams if gram in numbers]
            at += own
            values += [len(grams) ** -0.5] * len(own) if own else []
        return cls(
            torch.tensor(at, dtype=torch.int64, device=device),
            torch.tensor(values, dtype=torch.float32, device=device),
            torch.tensor(starts, dtype=torch.int64, device=device),
            len(numbers),
        )

    def transposed(self) -> _Bags:
        owner = torch.bucketize(torch.arange(len(self.at), device=self.at.device), self.starts, right=True) - 1
        order = torch.argsort(self.at, stable=True)
        sizes = torch.bincount(self.at, minlength=self.columns)
        return _Bags(owner[order], self.values[order], sizes.cumsum(0) - sizes, len(self.starts))

    def sums(self, rows: torch.Tensor) -> torch.Tensor:
        """The product with a dense matrix."""
        return torch.nn.functional.embedding_bag(self.at, rows, self.starts, mode="sum", per_sample_weights=self.values)
