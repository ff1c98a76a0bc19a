"""What is asked of every parent when the claims of Gupta & Jaggi (2021) are tried, and how much of everything."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from limbeck.papers.static_scores import WordSets
from limbeck.vectors import StaticVectors


@dataclass(frozen=True)
class Caps:
    """How much is read and trained; what costs time.

    min_count    occurrences that a word needs to be in the vocabulary
    epochs       of X2Static and of the baselines alike; None for the preset's own
    sizes        parts of the text, the whole being 1, of which the curve by size is made; the last growth, which rules
                 are about, is fourfold
    sentences    of which other contexts are tried, since a masked target costs a reading a word
    train        examples of each classification task; None for all
    starts       training runs of each classification
    """

    min_count: int = 5
    epochs: int | None = 10
    sizes: tuple[float, ...] = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4)
    sentences: int = 5000
    train: int | None = None
    starts: int = 3


QUICK = Caps(min_count=2, epochs=2, sizes=(1 / 8,), sentences=300, train=200, starts=1)


@dataclass(frozen=True)
class Wanted:
    """What is asked of every parent.

    text      options of `open_corpus`
    encoder   options of `open_encoder`
    classify  tasks of Table 4 by name
    missing   kind of data ("similarity", "classify") -> which files are needed
    files     existing vectors by name, of the words of the sets, in lower case
    """

    sets: WordSets
    classify: Mapping[str, Any]
    missing: Mapping[str, str]
    corpus: Sequence[str]
    text: Mapping[str, Any]
    encoder: Mapping[str, Any]
    caps: Caps = Caps()
    preset: str = "corrected"
    seed: int = 0
    progress: bool = False
    workers: int = 0
    files: Mapping[str, StaticVectors] = field(default_factory=dict)
