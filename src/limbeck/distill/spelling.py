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
    known: Floats,
    weights: NDArray[np.float64],
    wanted: NDArray[np.bool_],
    *,
    device: str = "cpu",
    progress: bool = False,
) -> Floats:
    """(words, d) what their letters say of the wanted words, zeros for others.

    Learned from the rows of `known` by their `weights`: those of the greatest, 0 for a word that teaches nothing.
    """
    made = np.zeros_like(known)
    teachers = np.argsort(-weights, kind="stable")[:LEARNED]
    teachers = teachers[weights[teachers] > 0]
    if not len(teachers) or not wanted.any():
        return made
    cut = [ngrams(words[row]) for row in teachers.tolist()]
    often = Counter(gram for grams in cut for gram in set(grams))
    numbers = {gram: number for number, gram in enumerate(gram for gram, n in often.items() if n >= SHARED)}
    if not numbers:
        return made
    learned = _Bags.of(cut, numbers, device)
    asked: list[int] = np.flatnonzero(wanted).tolist()
    asking = _Bags.of((ngrams(words[row]) for row in asked), numbers, device)
    share = torch.from_numpy(weights[teachers].astype(np.float32)).to(device)[:, None]
    with Progress("spelling", total=known.shape[1], show=progress) as bar:
        for start in range(0, known.shape[1], COLUMNS):
            columns = slice(start, start + COLUMNS)
            rows = torch.from_numpy(known[teachers, columns]).to(device)
            made[asked, columns] = asking.sums(_solve(learned, rows, share)).cpu().numpy()
            bar.advance(rows.shape[1])
    return made


def bytes_of(words: int) -> int:
    """What `spelled` holds at most, about, for so many words: n-grams' vectors, and which words have which."""
    learned = min(words, LEARNED)
    grams, have = 6 * learned, 25 * (words + 2 * learned)
    return 6 * 4 * COLUMNS * grams + 3 * 8 * have


def _solve(words: _Bags, rows: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """(n-grams, columns) the vectors with the least error and penalty, by conjugate gradients, column by column."""
    back = words.transposed()
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
            values += [len(grams) ** -0.5] * len(own)
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
        how = {"mode": "sum", "per_sample_weights": self.values}
        return torch.nn.functional.embedding_bag(self.at, rows, self.starts, **how)  # type: ignore[arg-type]
