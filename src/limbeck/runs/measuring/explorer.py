"""What the report's word explorer needs of a run beside its numbers: neighbours of words, and their occurrences."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.accumulators import Accumulator, WordSums
from limbeck.corpus import Corpus
from limbeck.reporting.page.sections.words import INTERESTING, by_interest
from limbeck.runs.measuring.results import Measured
from limbeck.runs.measuring.sample import sentence_texts
from limbeck.tables import Columns

CANDIDATES = 5_000  #: most frequent followed words, among which neighbours are looked for
NEAREST = 8
OCCURRENCES = 15_000  #: in all clouds together
LEAST, MOST = 5, 24  #: occurrences of one word in a cloud
Floats = NDArray[np.float64]


def explorer_tables(
    measured: Measured, accumulators: Sequence[Accumulator], texts: Corpus | Mapping[int, str] | None
) -> dict[str, Columns]:
    """Neighbors and clouds of the most interesting words, where there are any."""
    chosen = interesting_words(measured)
    sums = next(one for one in accumulators if isinstance(one, WordSums))
    found = {"neighbors": neighbor_table(measured, sums, chosen), "clouds": cloud_table(measured, chosen, texts)}
    return {name: table for name, table in found.items() if len(table["word"])}


def interesting_words(measured: Measured) -> list[int]:
    """Numbers of the words of which more is told, the most interesting first."""
    similarity = measured.words("self_similarity")
    lists = by_interest(similarity.values.T, similarity.counts)
    return list(dict.fromkeys(place for turn in zip(*lists, strict=True) for place in turn))[:INTERESTING]


def neighbor_table(measured: Measured, sums: WordSums, chosen: Sequence[int]) -> dict[str, Any]:
    """A row a word, layer and rank: the words whose mean directions are nearest.

    The mean over the words that count is subtracted first: what all words share would make every two of them alike.
    """
    words = measured.plan.vocabulary.words
    seen = np.flatnonzero(measured.counted)
    among = seen[np.argsort(-sums.n[seen], kind="stable")][:CANDIDATES]
    asked = np.array([place for place in chosen if sums.n[place]], dtype=np.int64)
    count = min(NEAREST, len(among) - 1)
    columns: dict[str, list[Any]] = {name: [] for name in ("word", "layer", "rank", "neighbor", "cosine")}
    if count < 1 or not len(asked):
        return columns
    nearest: list[tuple[NDArray[np.int64], NDArray[np.float32]]] = []
    for table in sums.sums:
        directions = torch.nn.functional.normalize(table.float(), dim=1)
        directions = torch.nn.functional.normalize(directions - directions[seen].mean(0), dim=1)
        cosines = directions[asked] @ directions[among].T  # (asked, among)
        cosines[torch.from_numpy(asked[:, None] == among[None]).to(cosines.device)] = -torch.inf
        best = cosines.topk(count, dim=1)
        nearest.append((among[best.indices.cpu().numpy()], best.values.cpu().numpy()))
    for row, place in enumerate(asked.tolist()):
        for layer, (who, cosine) in zip(measured.layers, nearest, strict=True):
            columns["word"] += [words[place]] * count
            columns["layer"] += [layer] * count
            columns["rank"] += range(1, count + 1)
            columns["neighbor"] += [words[other] for other in who[row].tolist()]
            columns["cosine"] += cosine[row].tolist()
    return columns


def cloud_table(measured: Measured, chosen: Sequence[int], texts: Corpus | Mapping[int, str] | None) -> dict[str, Any]:
    """A row an occurrence and layer: kept occurrences of a word on their own first two principal components.

    Words are taken in their order until there are enough occurrences; of each those of smallest hash.
    """
    points = measured.points
    order = points.order
    slots: dict[int, list[int]] = {}
    for slot in order.tolist():
        slots.setdefault(int(points.words[slot]), []).append(slot)
    kept: list[tuple[int, list[int]]] = []
    room = OCCURRENCES
    for place in chosen:
        own = slots.get(place, [])[:MOST]
        if LEAST <= len(own) <= room:
            kept.append((place, own))
            room -= len(own)
    rows = np.array([slot for _, own in kept for slot in own], dtype=np.int64)
    bounds = np.cumsum([0, *(len(own) for _, own in kept)])
    places = np.empty((len(rows), len(measured.layers), 2))
    for layer in range(len(measured.layers)):
        vectors = points.layer(layer)[rows].astype(np.float64) if len(rows) else np.empty((0, 1))
        for start, stop in itertools.pairwise(bounds.tolist()):
            places[start:stop, layer] = own_plane(vectors[start:stop])
    if isinstance(texts, Corpus):
        texts = sentence_texts(texts, points.sentences[rows])
    said = [(texts or {}).get(int(identity), "") for identity in points.sentences[rows]]
    words = [measured.plan.vocabulary.words[place] for place, own in kept for _ in own]
    numbers = [number for _, own in kept for number in range(len(own))]
    layers = len(measured.layers)
    return {
        "word": [word for word in words for _ in range(layers)],
        "occurrence": np.repeat(np.array(numbers, dtype=np.int64), layers),
        "sentence": [sentence for sentence in said for _ in range(layers)],
        "layer": list(measured.layers) * len(rows),
        "x": places[:, :, 0].ravel().astype(np.float32),
        "y": places[:, :, 1].ravel().astype(np.float32),
    }


def own_plane(x: Floats) -> Floats:
    """Places (n, 2) of vectors (n, d) on their first two principal components, by way of their n × n products.

    Each component points to where its largest place is positive.
    """
    x = x - x.mean(axis=0)
    values, directions = np.linalg.eigh(x @ x.T)
    places: Floats = directions[:, ::-1][:, :2] * np.sqrt(np.maximum(values[::-1][:2], 0.0))
    largest = np.take_along_axis(places, np.abs(places).argmax(axis=0, keepdims=True), axis=0)
    return places * np.where(largest < 0, -1.0, 1.0)
