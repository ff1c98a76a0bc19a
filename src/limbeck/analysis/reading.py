"""One pass over a text: a sample of all its units, and the vectors of chosen occurrences."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators import Points
from limbeck.analysis.settings import AnalysisSettings
from limbeck.analysis.spaces import Space, family_of, fit_spaces, repairs_at
from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.stream import Choice, Plan, Source, run_pass
from limbeck.stream.run import running
from limbeck.stream.workers import Workers

UInts = NDArray[np.uint64]
EVERY = Choice(min_contexts=1, max_words=1 << 40)  #: count all units, whatever their number


@dataclass(frozen=True)
class Read:
    """What a pass has kept.

    points   occurrences of any units, chosen by hash
    chosen   (layers, n, d) vectors of the occurrences that were asked for, in that order
    found    (n,) whether the text gave a vector for it; a row of `chosen` without one holds zeros
    plan     units and how often each occurs
    dropped  reason -> units without a vector
    """

    source: Source
    points: Points
    chosen: NDArray[np.float32]
    found: NDArray[np.bool_]
    plan: Plan
    dropped: dict[str, int]

    @property
    def units(self) -> str:
        return "words" if self.source.encoder is None else self.source.encoder.units

    def sample(self, layer: int) -> tuple[NDArray[Any], list[str]]:
        """A layer's sampled vectors (n, d) and their strings, in an order that no batch decided."""
        order = self.points.order
        return self.points.layer(layer)[order], [self.points.strings[slot] for slot in order.tolist()]

    def spaces(self, layer: int, settings: AnalysisSettings, looked_at: NDArray[Any] | None = None) -> list[Space]:
        """The baseline and its repairs, fitted as the settings ask."""
        return fit_spaces(
            looked_at if settings.transductive and looked_at is not None else self.sample(layer)[0],
            methods=settings.methods,
            repairs=repairs_at(self.source.layers[layer], settings),
            family=family_of(self.source),
            seed=settings.seed,
        )


class Chosen:
    """A consumer of a pass that keeps the vectors of some occurrences, named by their hashes."""

    def __init__(self, hashes: UInts, *, layers: int, dim: int) -> None:
        self._order = np.argsort(hashes)
        self._sorted = hashes[self._order]
        self.vectors = np.zeros((layers, len(hashes), dim), dtype=np.float32)
        self.found = np.zeros(len(hashes), dtype=bool)

    def update(self, batch: Encoded) -> None:
        if not len(self._sorted):
            return
        place = np.minimum(np.searchsorted(self._sorted, batch.occurrences), len(self._sorted) - 1)
        rows = np.flatnonzero(self._sorted[place] == batch.occurrences)
        if len(rows):
            slots = self._order[place[rows]]
            index = torch.from_numpy(rows).to(batch.vectors.device)
            self.vectors[:, slots] = batch.vectors.index_select(1, index).to("cpu", torch.float32).numpy()
            self.found[slots] = True

    def end_shard(self, number: int) -> None:
        pass


def read(
    source: Source,
    *,
    points: int,
    chosen: UInts | None = None,
    deduplicate: bool = True,
    workers: int | Workers = 0,
    progress: bool = False,
) -> Read:
    """Read a text once. `chosen` are `limbeck.seeds.hash_occurrences` of the occurrences to keep."""
    wanted = np.empty(0, dtype=np.uint64) if chosen is None else chosen
    keeper = Chosen(wanted, layers=len(source.layers), dim=source.dim)
    shape = {"layers": len(source.layers), "dim": source.dim}
    with running(workers, progress=progress) as context:
        passed = run_pass(
            source,
            lambda plan: [Points(**shape, capacity=max(1, min(points, plan.units)))],
            context=context,
            consumers=[keeper],
            choice=EVERY,
            deduplicate=deduplicate,
        )
    sample = passed.accumulators[0]
    assert isinstance(sample, Points)
    if not len(sample):
        told = ", ".join(f"{reason} ({number:,})" for reason, number in passed.dropped.items())
        raise LimbeckError(
            f"at least one unit must have a vector, none has: {told}: check --model and --corpus.", code="no_vectors"
        )
    return Read(source, sample, keeper.vectors, keeper.found, passed.plan, passed.plan.dropped | passed.dropped)
