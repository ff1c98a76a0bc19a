"""What a measure returns: a number a layer, how many things it was made of, and what it was adjusted by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import UnknownName
from limbeck.shown import Tabular
from limbeck.sketch import Curves

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Result(Tabular):
    """One measure. For x of shape (n, d) its fields are floats, for (layers, n, d) arrays of (layers,).

    value      raw value; NaN where it is undefined, `note` then says why
    n          number of things the value was made of (occurrences, words or sentences, by measure); an array where
               layers differ in it
    baseline   what chance gives in this space, None where the measure has none
    low, high  95 % interval of value, None where the measure has none
    note       what a reader must know; one a layer where layers differ in it
    layers     their names, where the measure was made of named ones
    """

    measure: str
    value: Any
    n: Any
    baseline: Any = None
    low: Any = None
    high: Any = None
    note: str | tuple[str, ...] = ""
    layers: tuple[str, ...] = field(default=(), kw_only=True)

    def __repr__(self) -> str:
        """In a line: its name, the value of the lowest and the highest layer, and n."""
        values = [f"{value:.4g}" for value in np.ravel(self.value)]
        told = f"{values[0]} … {values[-1]} in {len(values)} layers" if len(values) > 1 else "".join(values)
        least, most = (int(end(self.n)) for end in (np.min, np.max))
        n = f"{least:,}" if least == most else f"{least:,} to {most:,}"
        return f"{type(self).__name__}({self.measure}: {told}, n = {n})"

    @property
    def adjusted(self) -> Any:
        """value − baseline."""
        return None if self.baseline is None else self.value - self.baseline

    def title(self) -> str:
        return self.measure

    def columns(self) -> dict[str, list[Any]]:
        """A row a layer, by its name or else by its place."""
        names = [name for name in ("value", "baseline", "adjusted", "low", "high") if getattr(self, name) is not None]
        layers = np.size(self.value)
        found: dict[str, list[Any]] = {"layer": list(self.layers or range(layers))}
        found |= {name: np.ravel(getattr(self, name)).tolist() for name in names}
        found["n"] = np.broadcast_to(np.asarray(self.n), layers).tolist()
        found["note"] = [self.note] * layers if isinstance(self.note, str) else list(self.note)
        return found

    def curves(self) -> Curves | None:
        """The value and its baseline over layers."""
        found = self.columns()
        lines: dict[str, Any] = {name: found[name] for name in ("value", "baseline") if name in found}
        bands = {"value": (found["low"], found["high"])} if "low" in found and "high" in found else {}
        return Curves([str(layer) for layer in found["layer"]], lines, bands, up=self.measure) if len(lines) else None

    def squeezed(self) -> Self:
        """The same with floats for its only layer."""
        names = ("value", "baseline", "low", "high")
        n = int(self.n[0]) if isinstance(self.n, np.ndarray) else self.n
        note = self.note if isinstance(self.note, str) else self.note[0]
        return replace(self, n=n, note=note, **{name: _only(getattr(self, name)) for name in names})


@dataclass(frozen=True, repr=False)
class WordResult(Result):
    """A measure that every word has: `result["bank"]` is that word's value."""

    words: Sequence[str] = ()
    values: Floats = field(default_factory=lambda: np.empty((0, 0)))  # (layers, words)
    counts: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # occurrences
    baselines: Floats | None = None  # (layers, words) where each word has a baseline of its own

    def columns(self) -> dict[str, Any]:
        """A row a word, with how often it occurs and its value at each layer, by the layer's name or else its place."""
        values = np.atleast_2d(self.values)
        named = dict(zip((f"layer_{layer}" for layer in self.layers or range(len(values))), values, strict=True))
        return {"word": list(self.words), "n": self.counts, **named}

    def curves(self) -> Curves | None:
        """The mean over words and its baseline over layers."""
        found = Result.columns(self)
        lines: dict[str, Any] = {name: found[name] for name in ("value", "baseline") if name in found}
        return Curves([str(layer) for layer in found["layer"]], lines, up=self.measure)

    def extremes(self, count: int = 10) -> tuple[list[str], list[str]]:
        """The words with the lowest and with the highest mean over layers."""
        means = self.values.mean(axis=0)
        order = [int(place) for place in np.argsort(means, kind="stable") if np.isfinite(means[place])]
        return [self.words[place] for place in order[:count]], [self.words[place] for place in order[::-1][:count]]

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def __getitem__(self, word: object) -> Any:
        if str(word) not in self._places:  # labels of any kind are known by their text
            raise UnknownName(f"{self.measure} of the word", word, self.words)
        place = self._places[str(word)]
        return _only(self.values[:, place]) if np.ndim(self.value) == 0 else self.values[:, place]


def _only(value: Any) -> Any:
    return float(value[0]) if isinstance(value, np.ndarray) else value
