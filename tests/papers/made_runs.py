"""Run folders made of numbers: curves and words of one's choice, everything else plain."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.reporting.read import MEASURES
from limbeck.tables import write_csv, write_parquet

MEVS = ("mev", "mev_centered", "mev_truncated_svd")
READS: dict[str, dict[str, Any]] = {
    "BERT": {"model_type": "bert", "causal": False},
    "GPT-2": {"model_type": "gpt2", "causal": True},
    "ELMo": {"model_type": "elmo"},
    "": {},
}


@dataclass(frozen=True)
class MadeRun:
    """A model as `limbeck measure` would have left it.

    curves  measure -> values by layer
    chance  measure -> baseline by layer (default: 0)
    error   half of every interval
    words   a word -> its self-similarity, the same in each layer, and its number of occurrences
    below   definition of MEV -> share of words whose value is below their baseline
    """

    family: str
    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    chance: Mapping[str, Sequence[float]] = field(default_factory=dict)
    error: float = 0.01
    words: Mapping[str, tuple[float, int]] = field(default_factory=dict)
    below: Mapping[str, float] = field(default_factory=dict)
    layers: int = 5
    name: str = ""
    dim: int = 8
    first: str = "0"  # what the first layer is called

    def but(self, **other: Any) -> MadeRun:
        return replace(self, **other)

    def write(self, root: Path) -> Path:
        folder = root / (self.name or f"{self.family or 'static'}-{len(list(root.iterdir()))}")
        folder.mkdir(parents=True)
        layers = [self.first, *(str(layer) for layer in range(1, self.layers))]
        account = {
            "name": self.name or self.family.lower(),
            "dim": self.dim,
            "layers": layers,
            "settings": {"preset": "corrected", "min_contexts": 5},
            "source": {"encoder_settings": READS[self.family], "corpus": {"paths": ["a/text.txt"], "language": "en"}},
            "counts": {"words": 100, "texts": 20, "tracked_words": len(self.words)},
        }
        (folder / "run.json").write_text(json.dumps(account), encoding="utf-8")
        write_csv(folder / "layers.csv", self._layers(layers))
        bands = {"layer": layers, "from": [5] * self.layers, "below": [10] * self.layers, "words": [9] * self.layers}
        write_csv(folder / "frequency.csv", bands | {"self_similarity": [0.5] * self.layers})
        each = {"layer": [layer for layer in layers for _ in range(self.dim)]}
        places = np.tile(np.arange(self.dim), self.layers)
        flat = np.full(len(places), 1 / self.dim)
        write_parquet(folder / "spectra.parquet", each | {"index": places, "centered": flat})
        write_parquet(folder / "dimensions.parquet", each | {"dimension": places, "share": flat})
        write_parquet(folder / "words.parquet", self._words(layers))
        return folder

    def _layers(self, layers: list[str]) -> dict[str, list[Any]]:
        names = ("layer", "measure", "value", "baseline", "adjusted", "n", "low", "high", "note")
        columns: dict[str, list[Any]] = {name: [] for name in names}
        for place, layer in enumerate(layers):
            for measure in MEASURES:
                value = float(self.curves.get(measure, [0.5] * self.layers)[place])
                chance = float(self.chance.get(measure, [0.0] * self.layers)[place])
                # the run's anisotropy widens what is adjusted by it: here each measure has its own interval alone
                error = self.error if measure in self.curves else 0.0
                row = [layer, measure, value, chance, value - chance, 9, value - error, value + error, ""]
                for name, cell in zip(names, row, strict=True):
                    columns[name].append(cell)
        return columns

    def _words(self, layers: list[str]) -> dict[str, Any]:
        said = self.words or plain_words()
        count = len(said)
        columns: dict[str, Any] = {
            "word": [word for word in said for _ in layers],
            "layer": layers * count,
            "n": np.repeat([n for _, n in said.values()], len(layers)),
            "contexts": np.repeat([n for _, n in said.values()], len(layers)),
            "self_similarity": np.repeat([value for value, _ in said.values()], len(layers)),
        }
        for definition in MEVS:
            under = np.arange(count) < self.below.get(definition, 0.0) * count
            columns[definition] = np.repeat(np.where(under, 0.2, 0.4), len(layers))
            columns[f"{definition}_baseline"] = np.full(count * len(layers), 0.3)
        return columns


STOP = "the of and to a in is was it for on with as by at from an this that these".split()
OTHER = "river lamp copper sand house cellar kettle story owl winter bank bell stone barn cloud sail oak pear".split()


def plain_words() -> dict[str, tuple[float, int]]:
    """Words that differ in nothing but a little self-similarity."""
    return {word: (0.5 + 0.001 * place, 10) for place, word in enumerate([*STOP, *OTHER])}


def split_words(stop: float, other: float) -> dict[str, tuple[float, int]]:
    """Stop words at one self-similarity and other words at another, each a little apart from its neighbour."""
    low = {word: (stop + 0.001 * place, 10) for place, word in enumerate(STOP)}
    return low | {word: (other + 0.001 * place, 10) for place, word in enumerate(OTHER)}


def graded_words(by: str) -> tuple[dict[str, tuple[float, int]], dict[str, int]]:
    """Words whose self-similarity follows their number of contexts, that of their senses, or both, and the senses.

    The two numbers have nothing to do with each other.
    """
    generator = np.random.default_rng(3)
    names = [f"word{place}" for place in range(60)]
    contexts, senses = generator.permutation(60) + 10, generator.permutation(np.arange(60) % 6) + 1
    ruling = {"contexts": contexts, "senses": senses, "both": contexts + 10 * senses}[by]
    drift = generator.normal(0, 0.02, 60)
    similar = 0.9 - 0.5 * ruling / ruling.max() + drift
    words = {name: (float(similar[i]), int(contexts[i])) for i, name in enumerate(names)}
    return words, {name: int(senses[i]) for i, name in enumerate(names)}
