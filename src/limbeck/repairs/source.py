"""Repairs inside a pass: a source whose vectors are repaired where they are made."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from limbeck.encoded import Encoded
from limbeck.errors import InputError
from limbeck.repairs.files import as_torch, describe, fingerprint_of, steps_of
from limbeck.repairs.methods import name_of
from limbeck.stream import Plan, Source
from limbeck.stream.filling import checked
from limbeck.stream.sources import DerivedSource
from limbeck.stream.tasks import ShardEnd
from limbeck.stream.workers import Workers

LOST = "a zero vector after the repair"


class RepairedSource(DerivedSource):
    """A source whose vectors are repaired, on the device that they are on, before anybody sees them.

    source   where the vectors come from: a text read through a model, or kept vectors
    repairs  one fitted repair (or Pipeline of repairs) for every layer, or {layer: repair}

    A vector of which a repair leaves nothing, at any layer, has no direction any more: it is left out and counted.
    """

    remedy = "ask for fewer clusters or components, or give more text"  #: where nothing is left of any vector

    def __init__(self, source: Source, repairs: Any) -> None:
        super().__init__(source)
        self.encoder = None  # whose vectors are others
        self.repairs = repairs_by_layer(repairs, source)
        self._modules: list[torch.nn.Module] = [as_torch(self.repairs[layer]) for layer in source.layers]

    @property
    def name(self) -> str:
        names = dict.fromkeys(name_of(self.repairs[layer]) for layer in self.layers)
        return f"{self.source.name} + {', '.join(names)}"

    @property
    def fingerprint(self) -> str:
        digest = hashlib.blake2b(digest_size=8)
        for layer in self.layers:
            digest.update(fingerprint_of(self.repairs[layer]).encode())
        return f"{self.source.fingerprint}-{digest.hexdigest()}"

    def describe(self) -> dict[str, object]:
        """The source's own account, and of each layer what was done to it."""
        told = {
            layer: {"steps": describe(repair), "fingerprint": fingerprint_of(repair)}
            for layer, repair in self.repairs.items()
        }
        return self.source.describe() | {"repairs": told}

    def on(self, device: str) -> RepairedSource:
        return RepairedSource(self.source.on(device), self.repairs)

    def read(self, plan: Plan, *, start: int, workers: Workers, seed: int) -> Iterator[Encoded | ShardEnd]:
        return self._read(self.source.read(plan, start=start, workers=workers, seed=seed))

    def _read(self, items: Iterator[Encoded | ShardEnd]) -> Iterator[Encoded | ShardEnd]:
        lost = 0
        for item in checked(items, self.layers):  # a zero vector of the model's would be none after centering
            if isinstance(item, ShardEnd):
                if lost:
                    item = replace(item, dropped=item.dropped | {LOST: lost + item.dropped.get(LOST, 0)})
                lost = 0
                yield item
                continue
            batch = replace(item, vectors=self._repaired(item.vectors))
            there = (batch.vectors != 0).any(dim=2).all(dim=0)  # NaN is not zero: whoever reads the batch refuses it
            if not bool(there.all()):
                kept = np.flatnonzero(there.cpu().numpy())
                lost += len(batch) - len(kept)
                batch = batch.take(kept)
            yield batch

    def _repaired(self, vectors: torch.Tensor) -> torch.Tensor:
        """Vectors (layers, n, d), each layer by its own repair."""
        done = torch.empty_like(vectors, memory_format=torch.contiguous_format)
        for place, module in enumerate(self._modules):
            done[place] = module.to(vectors.device)(vectors[place])
        return done


def repairs_by_layer(repairs: Any, source: Source) -> dict[str, Any]:
    """A fitted repair for each layer of a source, checked."""
    if isinstance(repairs, Mapping):
        missing = [layer for layer in source.layers if layer not in repairs]
        if missing:
            raise InputError(
                f"every layer needs a repair; they were fitted for {', '.join(repairs) or 'none'}, not for "
                f"{', '.join(missing)} of {source.name}: choose --layers among those, or fit the others too.",
                code="incomplete",
                parameter="layers",
            )
        found = {layer: repairs[layer] for layer in source.layers}
    else:
        found = dict.fromkeys(source.layers, repairs)
    for layer, repair in found.items():
        for _, step in steps_of(repair):
            if step.n_features_in_ != source.dim:
                raise InputError(
                    f"a repair is of the vectors it was fitted on; that of layer {layer} was fitted on "
                    f"{step.n_features_in_} dimensions and {source.name} has {source.dim}: fit one on its vectors.",
                    code="other_dimensions",
                )
    return found
