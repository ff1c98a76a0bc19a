"""Which occurrences are targets and which words are set against them: functions of seed, epoch and occurrence alone.

So neither batches nor shards nor a run that was stopped and resumed change a draw.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.seeds import hash_ids, seed_of
from limbeck.transfer import send

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def keep_probabilities(counts: Ints, t: float) -> Floats:
    """min(1, √(t/f) + t/f), fastText's rule; f is a word's share of the occurrences of all words in the vocabulary."""
    if t == 0:
        return np.ones(len(counts))
    ratio = t / (counts / max(int(counts.sum()), 1)).clip(min=1e-300)
    found: Floats = np.minimum(1.0, np.sqrt(ratio) + ratio)
    return found


def uniform(keys: NDArray[np.uint64], salt: int) -> Floats:
    """A number in [0, 1) for each key."""
    return (hash_ids(keys, salt=salt) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def kept(words: Ints, keys: NDArray[np.uint64], probabilities: Floats, *, seed: int, epoch: int) -> NDArray[np.bool_]:
    """Which occurrences are targets in an epoch."""
    chosen: NDArray[np.bool_] = uniform(keys, seed_of(seed, "targets", epoch)) < probabilities[words]
    return chosen


class Negatives:
    """Draws words in proportion to a power of their counts, with replacement."""

    def __init__(self, counts: Ints, exponent: float, *, device: torch.device) -> None:
        weights = np.where(counts > 0, counts.astype(np.float64).clip(min=1) ** exponent, 0.0)
        cumulative = np.cumsum(weights)
        self.words = len(counts)
        self._cumulative = send(cumulative / cumulative[-1], device)

    def draw(self, keys: torch.Tensor, number: int, *, seed: int, epoch: int) -> torch.Tensor:
        """`number` words for each key; keys (n,) int64, the result (n, number)."""
        salted = mixed(keys, seed_of(seed, "negatives", epoch))
        return self.at(mixed(salted.unsqueeze(1) + torch.arange(number, device=keys.device), 0))

    def at(self, hashes: torch.Tensor) -> torch.Tensor:
        """The words that uniform hashes (any shape) fall on."""
        shares = ((hashes >> 11) & ((1 << 53) - 1)).to(torch.float64) * 2.0**-53
        return torch.searchsorted(self._cumulative, shares, right=True).clamp_(max=self.words - 1)


def mixed(keys: torch.Tensor, salt: int) -> torch.Tensor:
    """`limbeck.seeds.hash_ids` on the device: int64 holds the same 64 bits."""
    z = keys + _signed(salt + 0x9E3779B97F4A7C15)
    z = (z ^ ((z >> 30) & ((1 << 34) - 1))) * _signed(0xBF58476D1CE4E5B9)
    z = (z ^ ((z >> 27) & ((1 << 37) - 1))) * _signed(0x94D049BB133111EB)
    return z ^ ((z >> 31) & ((1 << 33) - 1))


def _signed(number: int) -> int:
    number &= 0xFFFF_FFFF_FFFF_FFFF
    return number - (1 << 64) if number >> 63 else number
