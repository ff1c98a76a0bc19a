"""The word explorer: every followed word in a table, and more about the most interesting ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.reporting.page.folders import MEASURED, Folder
from limbeck.reporting.page.packing import Pack
from limbeck.reporting.read import Floats

INTERESTING = 2_000  #: words of which more is told, all runs together
MOST_CELLS = 2_500_000  #: words × layers in the table, all runs together
MEV = "mev"
NEIGHBORS, CLOUDS = "neighbors.parquet", "clouds.parquet"


@dataclass(frozen=True)
class Followed:
    """The followed words of a run, most frequent first: n, contexts (words,), the rest (words, layers)."""

    run: str
    layers: list[str]
    words: list[str]
    n: NDArray[np.int64]
    contexts: NDArray[np.int64]
    similarity: Floats
    mev: Floats
    mev_baseline: Floats


def section(folders: Sequence[Folder], pack: Pack, share: float) -> dict[str, Any] | None:
    """Of each run all its words, as many as a page can hold; the most interesting of all runs; neighbours, clouds."""
    followed = [(folder, read_followed(folder)) for folder in folders if folder.kind == MEASURED]
    known = [(folder, one) for folder, one in followed if one is not None and one.words]
    if not known or not share:
        return None
    most = int(share * MOST_CELLS / sum(len(one.layers) for _, one in known))
    chosen = interesting([one for _, one in known], int(share * INTERESTING))
    some = set(chosen)
    runs = []
    for folder, one in known:
        rows = _rows(one, most, some)
        runs.append(_table(one, rows, pack) | _neighbors(folder, one.layers, some, pack) | _clouds(folder, some, pack))
        runs[-1]["all"] = len(one.words)
    return {"title": "Words", "interesting": pack.strings(chosen), "runs": runs}


def read_followed(folder: Folder) -> Followed | None:
    """words.parquet, a row a word and layer, as arrays (words, layers)."""
    names = ("n", "contexts", "self_similarity")
    table = folder.parquet("words.parquet", "word", "layer", *names, perhaps=(MEV, f"{MEV}_baseline"))
    if table is None:
        return None
    layers = table["layer"].unique().to_pylist()
    step = max(len(layers), 1)
    rows = len(table["layer"])
    if rows % step or (rows and table["layer"].to_pylist() != layers * (rows // step)):
        raise InputError(
            f"{folder.path / 'words.parquet'}: every word must have a row a layer: measure the run again.",
            code="incomplete",
        )
    columns = {name: table[name].to_numpy().reshape(-1, step) for name in names}
    mev, chance = (
        table[name].to_numpy().astype(np.float64).reshape(-1, step)
        if name in table
        else np.full((rows // step, step), np.nan)
        for name in (MEV, f"{MEV}_baseline")
    )
    return Followed(
        run=folder.name,
        layers=layers,
        words=table["word"].to_pylist()[::step],
        n=columns["n"][:, 0],
        contexts=columns["contexts"][:, 0],
        similarity=columns["self_similarity"].astype(np.float64),
        mev=mev,
        mev_baseline=chance,
    )


def interesting(runs: Sequence[Followed], most: int) -> list[str]:
    """Words by turns from lists of each run: most and least contextual, most frequent, most changed over the layers."""
    lists = [[run.words[place] for place in order] for run in runs for order in by_interest(run.similarity, run.n)]
    found: dict[str, None] = {}
    for turn in range(max(map(len, lists), default=0)):
        for one in lists:
            if len(found) >= most:
                return list(found)
            if turn < len(one):
                found[one[turn]] = None
    return list(found)


def by_interest(similarity: Floats, n: NDArray[np.int64]) -> list[list[int]]:
    """Places of the words whose self-similarity (words, layers) is known: the most contextual first, the least
    contextual first, the most frequent first, those that change most over the layers first."""
    mean = similarity.mean(axis=1)
    known = np.flatnonzero(np.isfinite(mean))
    change = similarity[known].max(axis=1, initial=-2.0) - similarity[known].min(axis=1, initial=2.0)
    keys = (mean[known], -mean[known], -n[known], -change)
    return [known[np.argsort(key, kind="stable")].tolist() for key in keys]


def _rows(run: Followed, most: int, some: set[str]) -> list[int]:
    """Places of the words in the table: all, or the interesting ones and then by turns as many as there is room for."""
    if len(run.words) <= most:
        return list(range(len(run.words)))
    kept = dict.fromkeys(place for place, word in enumerate(run.words) if word in some)
    for turn in zip(*by_interest(run.similarity, run.n), strict=True):
        if len(kept) >= most:
            break
        kept.update(dict.fromkeys(turn))
    return sorted(list(kept)[:most])


def _table(run: Followed, rows: list[int], pack: Pack) -> dict[str, Any]:
    with_mev = [place for place, row in enumerate(rows) if np.isfinite(run.mev[row]).any()]
    kept = [rows[place] for place in with_mev]
    return {
        "run": run.run,
        "layers": run.layers,
        "words": pack.strings([run.words[row] for row in rows]),
        "n": pack.whole(run.n[rows]),
        "contexts": pack.whole(run.contexts[rows]),
        "similarity": pack.fixed(run.similarity[rows]),
        "mev_rows": pack.whole(with_mev),
        "mev": pack.fixed(run.mev[kept]),
        "mev_baseline": pack.fixed(run.mev_baseline[kept]),
    }


def _neighbors(folder: Folder, layers: Sequence[str], some: set[str], pack: Pack) -> dict[str, Any]:
    """Nearest words of the interesting ones, by layer, where the run has them; rows are sorted as they were written."""
    table = folder.parquet(NEIGHBORS, "word", "layer", "rank", "neighbor", "cosine")
    if table is None:
        return {}
    columns = {name: table[name].to_pylist() for name in ("word", "layer", "neighbor")}
    rows = [row for row, word in enumerate(columns["word"]) if word in some]
    names = sorted({columns[name][row] for name in ("word", "neighbor") for row in rows})
    number = {name: place for place, name in enumerate(names)}
    at = {layer: place for place, layer in enumerate(layers)}
    return {
        "neighbors": {
            "names": pack.strings(names),
            "word": pack.whole([number[columns["word"][row]] for row in rows]),
            "layer": pack.whole([at.get(columns["layer"][row], -1) for row in rows]),
            "neighbor": pack.whole([number[columns["neighbor"][row]] for row in rows]),
            "cosine": pack.fixed(table["cosine"].to_numpy()[rows]),
        }
    }


def _clouds(folder: Folder, some: set[str], pack: Pack) -> dict[str, Any]:
    """Occurrences of the interesting words in each word's own plane, by layer, where the run has them."""
    table = folder.parquet(CLOUDS, "word", "occurrence", "sentence", "layer", "x", "y")
    if table is None or not len(table["word"]):
        return {}
    layers = table["layer"].unique().to_pylist()
    step = len(layers)
    words = table["word"].to_pylist()[::step]
    kept = [row for row, word in enumerate(words) if word in some]
    x, y = (table[name].to_numpy().reshape(-1, step)[kept] for name in ("x", "y"))
    said = table["sentence"].to_pylist()[::step]
    sentences = list(dict.fromkeys(said[row] for row in kept))  # many words stand in one
    place = {sentence: number for number, sentence in enumerate(sentences)}
    scale = float(np.nanmax(np.abs([x, y]), initial=0.0)) or 1.0
    return {
        "clouds": {
            "layers": layers,
            "words": pack.strings([words[row] for row in kept]),
            "sentences": pack.strings(sentences),
            "sentence": pack.whole([place[said[row]] for row in kept]),
            "scale": scale,
            "x": pack.fixed(x / scale),
            "y": pack.fixed(y / scale),
        }
    }
