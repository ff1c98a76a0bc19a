"""What a measuring run would take, from a little of it; see `limbeck.stream.foretell`."""

from __future__ import annotations

import time

import numpy as np
import torch

from limbeck.encoded import Encoded
from limbeck.measures.isotropy import log10_isotropy_of
from limbeck.measures.mev import BASELINE_DRAWS, explained, one_thread
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.sums import accumulators_for, words_kept
from limbeck.stream import Plan, Source
from limbeck.stream.foretell import Clock, Outlook, seconds_a_pass

SIZES = 4  #: numbers of occurrences for which MEV is tried
ROWS = 20  #: words of a try
MEV_SECONDS = 0.2  #: of trying MEV
REPORT_SECONDS = 3.0  #: tables, figures and the page
POINTS = (500, 2_000)  #: for which I(W) is tried
DIMENSIONS = 1_024  #: with which it is tried at most


def measuring_seconds(
    ahead: Outlook, source: Source, settings: MeasureSettings, *, workers: int = 0, clock: Clock = time.monotonic
) -> tuple[float, float]:
    """Seconds of one pass, and of all that is not a pass: planning, the measures of what was kept, the report."""
    shape = {"layers": len(source.layers), "dim": source.dim}
    accumulators = accumulators_for(ahead.some, **shape, settings=settings)

    def consume(batch: Encoded) -> None:
        for accumulator in accumulators:
            accumulator.update(batch)

    one = seconds_a_pass(ahead, consume=consume, workers=workers, clock=clock)
    others = mev_seconds(ahead.plan, settings, **shape, clock=clock)
    others += isotropy_seconds(min(settings.points, ahead.plan.units), **shape, clock=clock)
    return one, ahead.whole_look + others + REPORT_SECONDS


def isotropy_seconds(points: int, *, layers: int, dim: int, clock: Clock = time.monotonic) -> float:
    """Seconds of I(W): a part for the eigenvectors, and as much for each point."""
    took, tried = [], min(dim, DIMENSIONS)
    for n in POINTS:
        vectors = torch.randn(n, tried, generator=torch.Generator().manual_seed(0))
        began = clock()
        log10_isotropy_of(vectors)
        took.append(clock() - began)
    each = max(took[1] - took[0], 0.0) / (POINTS[1] - POINTS[0])
    larger = dim / tried
    return layers * (took[0] * larger**3 + each * points * larger**2)


def mev_seconds(
    plan: Plan, settings: MeasureSettings, *, layers: int, dim: int, clock: Clock = time.monotonic
) -> float:
    """Seconds of the MEVs: thousands of small eigenproblems, tried at a few numbers of occurrences."""
    counts = np.minimum(plan.vocabulary.counts[words_kept(plan, settings)], settings.max_contexts)
    counts = counts[counts >= 2]
    if not len(counts):
        return 0.0
    size = settings.rules.mev_baseline_size
    chance = np.array([size]) if size else np.unique(counts)
    tried = np.unique(np.quantile(np.append(counts, chance), np.linspace(0, 1, SIZES)).astype(np.int64))
    with one_thread():
        explained(torch.ones(1, 2, dim, dtype=torch.float64))  # warm
        took = [_mev_price(n, dim, clock) for n in tried.tolist()]
    price = np.interp(np.append(counts, np.repeat(chance, BASELINE_DRAWS)), tried, took)
    return layers * float(price.sum())


def _mev_price(n: int, dim: int, clock: Clock) -> float:
    """Seconds a word with n occurrences, by as many words as there is time for."""
    vectors = torch.randn(ROWS, n, dim, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    rows = 1
    while True:
        began = clock()
        explained(vectors[:rows])
        took = clock() - began
        if rows == ROWS or ROWS * took > MEV_SECONDS / SIZES:
            return took / rows
        rows = ROWS
