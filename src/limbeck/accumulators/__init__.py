"""Accumulators: mergeable, serialisable, exact."""

from limbeck.accumulators.moments import Moments
from limbeck.accumulators.norms import Norms
from limbeck.accumulators.partition import Partition
from limbeck.accumulators.protocol import Accumulator
from limbeck.accumulators.reservoir import Occurrences, Points, SentencePoints
from limbeck.accumulators.sentences import Sentences
from limbeck.accumulators.unit_sums import UnitSums
from limbeck.accumulators.word_contexts import WordContexts
from limbeck.accumulators.word_pools import WordPools
from limbeck.accumulators.words import WordSums

#: every kind that a state file may hold, by name
REGISTERED: dict[str, type[Accumulator]] = {
    kind.name: kind
    for kind in (
        Moments,
        UnitSums,
        Norms,
        WordSums,
        WordPools,
        WordContexts,
        Sentences,
        Points,
        SentencePoints,
        Occurrences,
        Partition,
    )
}

__all__ = [
    "REGISTERED",
    "Accumulator",
    "Moments",
    "Norms",
    "Occurrences",
    "Partition",
    "Points",
    "SentencePoints",
    "Sentences",
    "UnitSums",
    "WordContexts",
    "WordPools",
    "WordSums",
]
