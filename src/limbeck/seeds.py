"""Named random generators, and hashes of identities that do not depend on how work was split."""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.typing import NDArray

UInt64 = NDArray[np.uint64]


def seed_of(seed: int, *names: str | int) -> int:
    """A 64-bit seed for one named purpose, the same on every machine."""
    text = "\x1f".join([str(seed), *map(str, names)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def generator_for(seed: int, *names: str | int) -> np.random.Generator:
    """A generator for one named purpose: `generator_for(seed, "bootstrap", layer)`."""
    return np.random.default_rng(seed_of(seed, *names))


def hash_ids(ids: NDArray[np.integer], *, salt: int = 0) -> UInt64:
    """Mix integer identities into uniform 64-bit hashes (the finaliser of splitmix64).

    Equal identities give equal hashes wherever they are met, which is what makes a sample
    "the k smallest hashes" independent of batches, shards and machines.
    """
    with np.errstate(over="ignore"):
        z = ids.astype(np.uint64) + np.uint64(salt & 0xFFFF_FFFF_FFFF_FFFF) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def hash_text(text: str) -> int:
    """A 64-bit hash of a string, the same on every machine (Python's own is salted by process)."""
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def hash_occurrences(sentences: NDArray[np.integer], positions: NDArray[np.integer]) -> UInt64:
    """Hash of an occurrence's identity: its sentence and its position in it. Kept and streamed vectors share it."""
    with np.errstate(over="ignore"):
        return hash_ids(hash_ids(sentences) + positions.astype(np.uint64))
