"""Fitting on a stream: a repair for each layer, in few passes, in memory that does not grow with the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.pipeline import Pipeline

from limbeck.accumulators import Accumulator, Moments, Points, UnitSums
from limbeck.encoded import Encoded
from limbeck.errors import LimbeckError
from limbeck.repairs.center import Center, ScaledCenter, Standardize
from limbeck.repairs.clusters import ClusterRemoval
from limbeck.repairs.components import AllButTheTop
from limbeck.repairs.repair import Repair, chain_of
from limbeck.repairs.source import RepairedSource
from limbeck.repairs.whiten import Whitening
from limbeck.stream import Choice, Plan, Source, run_pass, survey
from limbeck.stream.context import RunContext
from limbeck.stream.sources import device_of

SAMPLE = 50_000  #: occurrences that clusters are found in
MEMORY = 4 << 30  #: bytes of sums that layers may take together; more of them share no pass

#: what each kind can be fitted from without the vectors; a subclass of your own may need more
SUMS: dict[type[Repair], type[Any]] = {
    **dict.fromkeys((Center, Standardize, AllButTheTop, Whitening), Moments),
    ScaledCenter: UnitSums,
}


def fit_source(
    source: Source,
    repair: Any,
    *,
    plan: Plan | None = None,
    seen: Sequence[Accumulator] = (),
    sample: int = SAMPLE,
    memory: int = MEMORY,
    seed: int = 0,
    context: RunContext | None = None,
) -> dict[str, Any]:
    """{layer: a fitted copy of `repair`} for every layer of a source.

    repair  a repair or a Pipeline of repairs; a step is fitted on what the steps before it leave
    plan    of the pass, where there is one already
    seen    accumulators that a pass over this source has filled: Moments, UnitSums, Points save the first step's pass
    sample  occurrences, chosen by hash, that clusters are found in; their means and components are of all occurrences
    memory  bytes of sums at once; `ClusterRemoval` has k × d × d numbers a layer, and takes more passes below that

    One pass a step; two for clusters, or one where the sample holds every occurrence. The vectors of a step that the
    sums cannot serve (whitening where they were made in low precision, a repair of your own) are taken in one by one.
    """
    context = context or RunContext()
    if plan is None:
        plan = survey(source, choice=Choice(), context=replace(context, progress=False))
    steps = chain_of(repair)
    done: dict[str, list[tuple[str, Any]]] = {layer: [] for layer in source.layers}
    for number, (name, step) in enumerate(steps):
        before = source if not number else RepairedSource(source, {layer: Pipeline(done[layer]) for layer in done})
        pass_ = _Pass(before, plan, [] if number else list(seen), seed, context)
        for layer, fitted in _fit_step(pass_, step, sample=sample, memory=memory).items():
            done[layer].append((name, fitted))
    if isinstance(repair, Pipeline):
        return {layer: Pipeline(chain) for layer, chain in done.items()}
    return {layer: chain[0][1] for layer, chain in done.items()}


def fit_matrix(matrix: NDArray[Any] | torch.Tensor, repair: Any, *, weights: NDArray[Any] | None = None) -> Any:
    """A copy of a repair or Pipeline fitted on a matrix (n, d), every step with the weights (n,)."""
    if weights is not None and (weights == 1).all():
        weights = None
    fitted: list[tuple[str, Repair]] = []
    rows: Any = matrix
    for name, step in chain_of(repair):
        rows = fitted[-1][1].transform(rows) if fitted else rows
        fitted.append((name, clone(step).fit(rows, sample_weight=weights)))
    return Pipeline(fitted) if isinstance(repair, Pipeline) else fitted[0][1]


def count_passes(
    repair: Any, *, layers: int, dim: int, units: int, sample: int = SAMPLE, memory: int = MEMORY, seen: bool = True
) -> int:
    """How many passes `fit_source` takes over `units` occurrences; `seen`: the first step has its accumulators."""
    passes = 0
    for number, (_, step) in enumerate(chain_of(repair)):
        passes += not (seen and number == 0)
        if isinstance(step, ClusterRemoval) and units > sample:
            passes += len(list(_groups(range(layers), step, dim, memory)))
    return passes


def sums_size(step: Any, dim: int) -> int:
    """Bytes of the sums that fitting a step takes in one layer."""
    return 8 * dim * dim * (step.n_clusters if isinstance(step, ClusterRemoval) else 1)


def memory_needed(repair: Any, *, layers: int, dim: int, memory: int = MEMORY) -> int:
    """Bytes of sums that `fit_source` holds at most."""
    sizes = [sums_size(step, dim) for _, step in chain_of(repair)]
    return max(min(layers * size, max(size, memory // size * size)) for size in sizes)


class _Pass:
    """One source, and what a pass over it fills; what was filled already is taken from there."""

    def __init__(self, source: Source, plan: Plan, seen: list[Accumulator], seed: int, context: RunContext) -> None:
        self.source, self.plan, self.seen, self.seed = source, plan, seen, seed
        self.context = context.without_checkpoint()
        self.shape = {"layers": len(source.layers), "dim": source.dim}

    def filled(self, empty: Any) -> Any:
        """An accumulator of this kind, filled by an earlier pass or by one more."""
        for accumulator in self.seen:
            if type(accumulator) is type(empty):
                if (accumulator.layers, accumulator.dim) != (empty.layers, empty.dim):  # type: ignore[attr-defined]
                    raise LimbeckError(
                        "what was seen must be of the source's own layers and dimensions.", code="wrong_shape"
                    )
                return accumulator
        return run_pass(self.source, [empty], plan=self.plan, seed=self.seed, context=self.context).accumulators[0]

    def take_in(self, repairs: Mapping[str, Repair]) -> None:
        """Let repairs of some layers take in every vector."""
        takers = [(self.source.layers.index(layer), repair) for layer, repair in repairs.items()]
        run_pass(self.source, [], plan=self.plan, consumers=[_Taker(takers)], seed=self.seed, context=self.context)


class _Taker:
    """A consumer of a pass that hands each layer's vectors to its repair."""

    def __init__(self, repairs: Sequence[tuple[int, Repair]]) -> None:
        self.repairs = repairs

    def update(self, batch: Encoded) -> None:
        if len(batch):
            for layer, repair in self.repairs:
                repair.partial_fit(batch.vectors[layer])

    def end_shard(self, number: int) -> None:
        pass


def _fit_step(pass_: _Pass, step: Repair, *, sample: int, memory: int) -> dict[str, Repair]:
    layers = pass_.source.layers
    fitted: dict[str, Repair] = {layer: clone(step) for layer in layers}
    if (kind := SUMS.get(type(step))) is not None:
        sums = pass_.filled(kind(**pass_.shape))
        # whitening divides by the smallest variances, which sums of 16-bit products do not know
        if not (isinstance(step, Whitening) and sums.precision > torch.finfo(torch.float32).eps):
            for number, layer in enumerate(layers):
                fitted[layer].fit_from(sums, layer=number)
            return fitted
    elif isinstance(step, ClusterRemoval) and isinstance(step.init, str):
        points: Points = pass_.filled(Points(**pass_.shape, capacity=max(1, min(sample, pass_.plan.units))))
        order = points.order
        for number, layer in enumerate(layers):
            rows = torch.from_numpy(points.layer(number)[order]).to(device_of(pass_.source))
            fitted[layer].fit(rows)
        if points.complete:
            return fitted
        for layer, found in fitted.items():
            centers = found.centers_
            fitted[layer] = clone(step).set_params(n_clusters=len(centers), init=centers)
    for some in _groups(layers, step, pass_.source.dim, memory):
        pass_.take_in({layer: fitted[layer] for layer in some})
    return fitted


def _groups(layers: Sequence[Any], step: Repair, dim: int, memory: int) -> Iterable[Sequence[Any]]:
    """Layers whose sums fit into memory together."""
    size = max(1, memory // sums_size(step, dim))
    return (layers[start : start + size] for start in range(0, len(layers), size))
