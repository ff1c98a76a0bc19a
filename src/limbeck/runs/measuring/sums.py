"""What one pass of a measuring run fills, and how much memory and disk that takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from limbeck.accumulators import (
    Accumulator,
    Moments,
    Norms,
    Occurrences,
    Points,
    SentencePoints,
    Sentences,
    UnitSums,
    WordSums,
)
from limbeck.accumulators.reservoir import SPILL_BYTES
from limbeck.runs.measure import MeasureSettings
from limbeck.stream import Plan
from limbeck.stream.checkpoint import MOST_PARTS
from limbeck.stream.plan import chosen_by_hash


def words_kept(plan: Plan, settings: MeasureSettings) -> list[int]:
    """Ids of the words whose occurrences are kept for MEV, chosen by hash."""
    words = plan.vocabulary.words
    return chosen_by_hash(words, range(len(words)), settings.mev_words, settings.seed)


def accumulators_for(plan: Plan, *, layers: int, dim: int, settings: MeasureSettings) -> list[Accumulator]:
    """Everything that one pass fills, in a fixed order."""
    shape = {"layers": layers, "dim": dim}
    rules = settings.rules
    kept = words_kept(plan, settings)
    most = int(plan.vocabulary.counts[kept].max(initial=1))
    made: list[Accumulator] = [
        Moments(**shape),
        UnitSums(**shape),
        Norms(**shape),
        WordSums(**shape, words=len(plan.vocabulary), vocabulary=plan.fingerprint),
        Sentences(**shape, limit=rules.sentence_sample),
        Points(**shape, capacity=max(1, min(settings.points, plan.units))),
        Occurrences(**shape, capacity=min(settings.max_contexts, most), chosen=kept, vocabulary=plan.fingerprint),
    ]
    if rules.anisotropy_sample:
        made.append(SentencePoints(**shape, capacity=rules.anisotropy_sample))
    return made


@dataclass(frozen=True)
class Needs:
    """Bytes that a run takes beside the model."""

    memory: int
    disk: int
    spilled: int

    def __str__(self) -> str:
        spilled = f", of which {size(self.spilled)} in a temporary file" if self.spilled else ""
        return f"{size(self.memory)} of memory beside the model{spilled}, at most {size(self.disk)} of disk (DIR/state)"


def needs(plan: Plan, *, layers: int, dim: int, settings: MeasureSettings) -> Needs:
    """What a run with this plan will take."""
    row = layers * dim
    kept = words_kept(plan, settings)
    sums = row * (len(plan.vocabulary) + 1) * 8
    moments = row * dim * 8
    points = row * min(settings.points, plan.units) * 4
    slots = min(settings.max_contexts, int(plan.vocabulary.counts[kept].max(initial=1))) * len(kept)
    taken = row * int(np.minimum(plan.vocabulary.counts[kept], settings.max_contexts).sum()) * 4
    spilled = sum(size for size, room in ((points, points), (taken, row * slots * 4)) if room > SPILL_BYTES)
    memory = sums + 4 * moments + points + taken
    # as many parts as stay, one more, and what is made of two of them
    disk = (MOST_PARTS + 2) * (sums + moments + points + taken)
    return Needs(memory=memory, disk=disk, spilled=spilled)


def size(count: int) -> str:
    """Bytes as a person would say them."""
    for unit, step in (("GB", 1e9), ("MB", 1e6)):
        if count >= step:
            return f"{count / step:.1f} {unit}"
    return f"{count / 1e3:.0f} kB"
