"""The tables of a measuring run: what its folder holds, and the measures that they give back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from limbeck.accumulators import Accumulator
from limbeck.corpus import Corpus
from limbeck.measures.mev import MEASURES as MEV_MEASURES
from limbeck.measures.result import Result, WordResult
from limbeck.runs.execution.record import record_of
from limbeck.runs.measure import MeasureSettings
from limbeck.runs.measuring.explorer import explorer_tables
from limbeck.runs.measuring.results import (
    Measured,
    dimension_table,
    frequency_table,
    layer_table,
    spectrum_table,
    word_table,
)
from limbeck.runs.measuring.sample import sample_table
from limbeck.stream import Passed
from limbeck.tables import Columns

MAKERS: dict[str, Callable[[Measured], Columns]] = {
    "layers": layer_table,
    "words": word_table,
    "frequency": frequency_table,
    "spectra": spectrum_table,
    "dimensions": dimension_table,
}


class Described(Protocol):
    """Where vectors came from, as far as a record is concerned."""

    @property
    def dim(self) -> int: ...
    def describe(self) -> Mapping[str, object]: ...


def record_for(
    measured: Measured, source: Described, settings: MeasureSettings, passed: Passed, *, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Where the numbers come from: everything a reader needs to trust or repeat them."""
    index = passed.plan
    most, least = measured.words().extremes()
    facts = {
        "name": measured.name,
        "layers": list(measured.layers),
        "dim": source.dim,
        "settings": settings.as_dict(),
        "source": source.describe(),
        "counts": {
            "documents": index.documents,
            "texts": index.texts,
            "sentences": index.sentences,
            "words": index.units,
            "distinct_words": index.types,
            "tracked_words": int(measured.counted.sum()),
            "measured_occurrences": measured.moments.n,
        },
        "dropped": index.dropped | passed.dropped,
        "lowest_self_similarity": most,
        "highest_self_similarity": least,
    }
    return record_of("measure", facts, options=options, seconds=passed.seconds)


def tables_of(measured: Measured) -> dict[str, Columns]:
    """The tables of measures."""
    return {name: make(measured) for name, make in MAKERS.items()}


def occurrence_tables(
    measured: Measured, accumulators: Sequence[Accumulator], texts: Corpus | Mapping[int, str] | None
) -> dict[str, Columns]:
    """The tables of some occurrences; `texts` has their sentences."""
    return {"sample": sample_table(measured, texts), **explorer_tables(measured, accumulators, texts)}


def measures_in(layers: Sequence[str], by_layer: Columns, by_word: Columns) -> dict[str, Result]:
    """Measures out of the tables of layers and words."""
    rows = [dict(zip(by_layer, cells, strict=True)) for cells in zip(*by_layer.values(), strict=True)]
    found: dict[str, Result] = {}
    for name in dict.fromkeys(by_layer["measure"]):
        own = {row["layer"]: row for row in rows if row["measure"] == name}
        columns = {key: [own[layer][key] for layer in layers] for key in ("value", "n", "baseline", "low", "high")}
        notes = tuple(own[layer]["note"] for layer in layers)
        facts: dict[str, Any] = {
            "n": columns["n"][0] if len(set(columns["n"])) == 1 else np.array(columns["n"]),
            "note": notes[0] if len(set(notes)) == 1 else notes,
            "layers": tuple(layers),
        }
        numbers = {key: _floats(columns[key]) for key in ("value", "baseline", "low", "high")}
        facts |= {
            key: values if key == "value" or np.isfinite(values).any() else None for key, values in numbers.items()
        }
        words = _words_of(name, len(layers), by_word) if name in by_word else None
        found[name] = Result(name, **facts) if words is None else WordResult(name, **facts, **words)
    return found


def _words_of(name: str, layers: int, by_word: Columns) -> dict[str, Any]:
    """A measure's columns of the table of words, as a `WordResult` has them."""
    words = list(by_word["word"])[::layers]
    of_kept = name in MEV_MEASURES
    counts = np.asarray(by_word["mev_n" if of_kept else "n"], dtype=np.int64)[::layers]
    rows = np.flatnonzero(counts) if of_kept else np.arange(len(words))

    def column(which: str) -> Any:
        return np.asarray(by_word[which], dtype=np.float64).reshape(-1, layers).T[:, rows]

    return {
        "words": [words[row] for row in rows],
        "values": column(name),
        "counts": counts[rows],
        "baselines": column(f"{name}_baseline") if f"{name}_baseline" in by_word else None,
    }


def _floats(values: Sequence[Any]) -> Any:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
