"""Two runs of `limbeck measure`: words paired layer by layer, and layers of models of different depth matched."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError
from limbeck.evaluation.paired import FEWEST, paired_means
from limbeck.evaluation.significance import draws_for
from limbeck.reporting.differences import Differences, Row, account_of, judged
from limbeck.reporting.read import AGAIN, TABLE
from limbeck.tables import Columns, read_csv, read_parquet

Floats = NDArray[np.float64]
WORD_MEASURES = ("self_similarity", "mev", "mev_centered")
#: columns of words.parquet that they are made of; self-similarity has a baseline per layer
WORD_COLUMNS = ("self_similarity", "mev", "mev_baseline", "mev_centered", "mev_centered_baseline")
#: measures of whole layers: compared by their intervals where they have any, else told
LAYER_MEASURES = (
    "anisotropy",
    "intra_sentence_similarity_matched",
    "isoscore",
    "effective_rank",
    "log10_isotropy",
    "mean_norm",
)
MOVERS = 10
NORMAL_95 = 1.959964


@dataclass(frozen=True)
class Measurements:
    """What is compared of one run.

    values     measure -> part -> (layers, words); NaN where a word has none
    whole      measure -> layer -> the row of layers.csv
    """

    name: str
    text: Any
    units: Any
    layers: tuple[str, ...]
    words: Sequence[str]
    values: Mapping[str, Mapping[str, Floats]]
    whole: Mapping[str, Mapping[str, Row]]


def compare_words(a: Any, b: Any, *, layers: str | None, draws: int, seed: int) -> Differences:
    """See `limbeck.reporting.differences.differences_between`."""
    first, second = measurements_of(a), measurements_of(b)
    names = (first.name, second.name)
    if first.name == second.name:
        names = (_told(a, f"{first.name} (a)"), _told(b, f"{first.name} (b)"))
    asked = None if layers is None else layer_pairs(layers, first.layers, second.layers)
    pairs = asked or match_layers(first.layers, second.layers)
    at = np.array([[first.layers.index(one), second.layers.index(other)] for one, other in pairs]).T
    shared = sorted(set(first.words) & set(second.words))
    if len(shared) < FEWEST:
        raise InputError(
            f"{names[0]} and {names[1]}: at least {FEWEST} words must be followed in both to be paired, {len(shared)} "
            "are: measure both on the same text, with the same --units.",
            code="too_few",
        )
    places = [_places(run.words, shared) for run in (first, second)]
    wanted = [(measure, part) for measure in WORD_MEASURES for part in ("value", "adjusted")]
    draws = draws_for((len(wanted) + len(LAYER_MEASURES)) * len(pairs), draws)
    rows: list[Row] = []
    for measure, part in wanted:
        one, other = (
            run.values[measure][part][which][:, place]
            for run, which, place in zip((first, second), at, places, strict=True)
        )
        rows += _paired_rows(measure, part, pairs, one, other, draws=draws, seed=seed)
    for measure in LAYER_MEASURES:
        rows += [
            _layer_row(measure, pair, first.whole[measure][pair[0]], second.whole[measure][pair[1]]) for pair in pairs
        ]
    sides = [
        run.values["self_similarity"]["adjusted"][which][:, place].mean(axis=0)
        for run, which, place in zip((first, second), at, places, strict=True)
    ]
    return Differences(
        "measure",
        *names,
        rows=judged(rows),
        notes=tuple(_notes(first, second, pairs, len(shared), by_hand=asked is not None)),
        movers=movers(shared, sides[1] - sides[0]),
    )


def measurements_of(run: Any) -> Measurements:
    """Of a run folder, or of a result of `limbeck.measure`."""
    if isinstance(run, Path):
        return read_measurements(run)
    return _measurements(run, run.record, run.tables["layers"], run.tables["words"])


def _told(run: Any, name: str) -> str:
    """What tells a run from another of the same name: its folder, where it has one."""
    return str(run) if isinstance(run, Path) else name


def _read_by(source: Mapping[str, Any]) -> tuple[Any, Any]:
    """The text and the units that a source's account tells."""
    text = source.get("corpus_fingerprint") or source.get("fingerprint")
    return text, source.get("encoder_settings", {}).get("units")


def read_measurements(folder: Path) -> Measurements:
    """A run folder's words and layers."""
    account = account_of(folder)
    layers = tuple(str(layer) for layer in account["layers"])
    try:
        table = read_csv(folder / "layers.csv")
        words = read_parquet(folder / "words.parquet", ["word", "layer", *WORD_COLUMNS]).to_pydict()
    except (OSError, IndexError, ValueError) as error:
        told = " ".join(str(error).split())[:100]
        raise InputError(
            f"{folder}: layers.csv and words.parquet must be there and whole; {told}: {AGAIN}.", code="damaged"
        ) from error
    if words["layer"][: len(layers)] != list(layers):  # a word's layers stand together, in this order
        raise InputError(
            f"{folder}: words.parquet must have the layers of run.json, word by word: {AGAIN}.", code="damaged"
        )
    return _measurements(folder, account, table, words)


def _measurements(run: Any, record: Mapping[str, Any], by_layer: Columns, by_word: Columns) -> Measurements:
    """Of a record and the tables of layers and words."""
    layers = tuple(str(layer) for layer in record["layers"])
    whole: dict[str, dict[str, Row]] = {}
    for cells in zip(*by_layer.values(), strict=True):
        row = {name: "" if cell is None else cell for name, cell in zip(by_layer, cells, strict=True)}
        whole.setdefault(row["measure"], {})[row["layer"]] = row
    arrays = {name: np.array(by_word[name], dtype=np.float64).reshape(-1, len(layers)).T for name in WORD_COLUMNS}
    baseline = np.array([_number(whole["self_similarity"][layer]["baseline"]) for layer in layers])
    arrays["self_similarity_baseline"] = np.broadcast_to(baseline[:, None], arrays["self_similarity"].shape)
    text, units = _read_by(record.get("source", {}))
    return Measurements(
        name=str(record["name"]),
        text=text,
        units=units,
        layers=layers,
        words=list(by_word["word"])[:: len(layers)],
        values={
            measure: {"value": arrays[measure], "adjusted": arrays[measure] - arrays[f"{measure}_baseline"]}
            for measure in WORD_MEASURES
        },
        whole=whole,
    )


# --- layers --------------------------------------------------------------------------------------


def match_layers(a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """Which layer of a goes with which of b.

    Layers of the same name, where both runs have the same or end with the same one. Else, of numbered layers, each of
    the run that has fewer with the one of the other that stands nearest to its relative depth (number over that of the
    last layer measured; the lower of two as near). Else refused.

    >>> match_layers(["0", "6", "12"], ["0", "1", "2"])
    [('0', '0'), ('6', '1'), ('12', '2')]
    """
    common = [layer for layer in a if layer in b]
    if common and (set(a) == set(b) or (set(common) - {TABLE} and a[-1] == b[-1])):
        return [(layer, layer) for layer in common]
    numbered = [[layer for layer in layers if layer != TABLE] for layers in (a, b)]
    table = [(TABLE, TABLE)] if TABLE in a and TABLE in b else []
    if not all(layer.isascii() and layer.isdigit() for layers in numbered for layer in layers) or not all(numbered):
        if not table:
            raise UsageError(
                f"The layers {', '.join(a)} and {', '.join(b)} cannot be matched by name or depth: say which go "
                "together, --layers A:B,A:B.",
                code="not_comparable",
                parameter="layers",
            )
        return table
    depths = [{layer: int(layer) / max(max(map(int, layers)), 1) for layer in layers} for layers in numbered]
    fewer, more = (0, 1) if len(depths[0]) <= len(depths[1]) else (1, 0)
    pairs = []
    for layer, depth in depths[fewer].items():
        nearest = min(depths[more], key=lambda other: (round(abs(depths[more][other] - depth), 9), int(other)))
        pairs.append((layer, nearest) if fewer == 0 else (nearest, layer))
    return table + pairs


def layer_pairs(text: str, a: Sequence[str], b: Sequence[str]) -> list[tuple[str, str]]:
    """--layers: "12:6,0:0", or "12" for the same layer of both."""
    pairs = []
    for part in text.split(","):
        one, _, other = part.strip().partition(":")
        pair = (one, other or one)
        for layer, known in zip(pair, (a, b), strict=True):
            if layer not in known:
                raise UsageError(
                    f"--layers must name layers of the runs ({', '.join(known)}), got {layer!r}.",
                    code="unknown_choice",
                    parameter="layers",
                )
        pairs.append(pair)
    return pairs


# --- rows ----------------------------------------------------------------------------------------


def _paired_rows(
    measure: str, part: str, pairs: Sequence[tuple[str, str]], one: Floats, other: Floats, *, draws: int, seed: int
) -> list[Row]:
    """A row a pair of layers, over the words that both have there: a static input layer leaves some undefined."""
    known = np.isfinite(one) & np.isfinite(other)
    rows: dict[int, Row] = {}
    for pattern in np.unique(known, axis=0):  # layers that share their words are tested by the same draws
        same = np.flatnonzero((known == pattern).all(axis=1))
        first, second = one[same][:, pattern], other[same][:, pattern]
        found = paired_means(first, second, draws=draws, seed=seed, name=f"{measure} {part}")
        for row, place in enumerate(same.tolist()):
            rows[place] = {
                "measure": measure,
                "part": part,
                "layer_a": pairs[place][0],
                "layer_b": pairs[place][1],
                "a": float(first[row].mean()) if found.n else math.nan,
                "b": float(second[row].mean()) if found.n else math.nan,
                "difference": float(found.difference[row]),
                "low": float(found.low[row]),
                "high": float(found.high[row]),
                "p": float(found.p[row]),
                "n": found.n,
                "share": float(found.share[row]),
                "test": "sign flip over words",
                "draws": draws,
            }
    return [rows[place] for place in range(len(pairs))]


def _layer_row(measure: str, pair: tuple[str, str], one: Row, other: Row) -> Row:
    """One number a layer: by both intervals, as if the texts were different; no p where there is none."""
    part = "adjusted" if one["adjusted"] != "" else "value"
    values = [_number(row[part]) for row in (one, other)]
    difference = values[1] - values[0]
    spreads = [(_number(row["high"]) - _number(row["low"])) / (2 * NORMAL_95) for row in (one, other)]
    spread = math.hypot(*spreads)
    known = math.isfinite(spread) and spread > 0 and math.isfinite(difference)
    return {
        "measure": measure,
        "part": part,
        "layer_a": pair[0],
        "layer_b": pair[1],
        "a": values[0],
        "b": values[1],
        "difference": difference,
        "low": difference - NORMAL_95 * spread if known else math.nan,
        "high": difference + NORMAL_95 * spread if known else math.nan,
        "p": 2 * NormalDist().cdf(-abs(difference) / spread) if known else math.nan,
        "n": int(_number(other["n"]) if other["n"] else 0),
        "share": math.nan,
        "test": "intervals, not paired" if known else "none",
        "draws": 0,
    }


def movers(words: Sequence[str], change: Floats, count: int = MOVERS) -> dict[str, list[tuple[str, float]]]:
    """The words that rise and fall most."""
    order = [int(place) for place in np.argsort(change, kind="stable") if np.isfinite(change[place])]
    rising = [place for place in order[::-1] if change[place] > 0][:count]
    falling = [place for place in order if change[place] < 0][:count]
    return {
        "up": [(words[place], float(change[place])) for place in rising],
        "down": [(words[place], float(change[place])) for place in falling],
    }


def _notes(
    a: Measurements, b: Measurements, pairs: Sequence[tuple[str, str]], shared: int, *, by_hand: bool
) -> list[str]:
    notes = [f"{shared:,} words are followed in both ({len(a.words):,} and {len(b.words):,})."]
    if a.text != b.text:
        notes.append("The runs read different texts: differences are of models and texts together.")
    if a.units != b.units:
        notes.append(f"Vectors are of {a.units} in one run and of {b.units} in the other.")
    if not by_hand and any(one != other for one, other in pairs):
        told = ", ".join(f"{one}:{other}" for one, other in pairs)
        notes.append(f"The models differ in depth; layers are matched by relative depth: {told}.")
    notes.append(
        "Intervals and tests of words resample words; a layer's baseline is taken as it is. Measures of whole layers "
        "are compared by their intervals, which asks for more than a paired test would."
    )
    return notes


def _places(words: Sequence[str], shared: Sequence[str]) -> NDArray[np.int64]:
    at = {word: place for place, word in enumerate(words)}
    return np.array([at[word] for word in shared], dtype=np.int64)


def _number(cell: Any) -> float:
    return float(cell) if cell not in ("", None) else math.nan
