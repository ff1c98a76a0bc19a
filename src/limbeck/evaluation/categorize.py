"""Categorization: are words of one class found in one cluster? Purity, of one clustering settled beforehand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from limbeck.evaluation.item_score import Outcomes
from limbeck.evaluation.word_task import Categories
from limbeck.evaluation.word_vectors import WordTable
from limbeck.extras import need
from limbeck.seeds import seed_of
from limbeck.vectors.nearest import unit_rows

HONEST, BEST = "purity", "purity, best of six"
STARTS = 10  #: clusterings whose purities are averaged
SEVERAL, TWICE = "words in several classes", "entries that repeat another"
NOT_FOUND, ZERO = "words without a vector", "words whose vector is zero"
Ints = NDArray[np.int64]
Vectors = NDArray[Any]


def put_into_clusters(
    categories: Categories,
    table: WordTable,
    *,
    best_first: bool = False,
    every_entry: bool = False,
    normalize: bool = True,
    seed: int = 0,
) -> Outcomes:
    """Of each entry whether its class is the commonest of its cluster, among as many clusters as there are classes.

    purity               k-means on unit vectors, mean over 10 seeds: one method, chosen before any label was seen
    purity, best of six  the best, by these very labels, of Ward's, average and complete linkage by cosine and Euclidean
                         distance, and k-means (the best of 10 starts): what word-embeddings-benchmarks reports
                         (docs/fidelity.md §6). It is never below any of the six, and new words have none to choose by

    best_first   which of the two comes first
    normalize    whether vectors are made of length 1
    every_entry  count every entry, of words too that are in several classes, each as often as it comes, as there;
                 otherwise such words are left out, since a cluster cannot be right about both
    """
    classes_of: dict[str, set[str]] = {}
    for word, category in zip(categories.words, categories.classes, strict=True):
        classes_of.setdefault(word, set()).add(category)
    words = list(classes_of)
    place = {word: row for row, word in enumerate(words)}
    seen = table.look_up(words)
    x = unit_rows(seen.matrix) if normalize else seen.matrix.astype(np.float32)  # half the time of float64
    usable = table.usable(seen)

    rows = np.array([place[word] for word in categories.words], dtype=np.int64)  # of each entry its word
    first = np.zeros(len(rows), dtype=bool)
    first[np.unique(rows, return_index=True)[1]] = True
    several = np.array([len(classes_of[word]) > 1 for word in categories.words], dtype=bool)
    counted = usable[rows] if every_entry else usable[rows] & first & ~several
    names = {name: number for number, name in enumerate(dict.fromkeys(categories.classes))}
    labels = np.array([names[name] for name in categories.classes], dtype=np.int64)
    kept = np.flatnonzero(counted)

    ways = {BEST: _best, HONEST: _settled} if best_first else {HONEST: _settled, BEST: _best}

    def of_entries(which: Ints, way: Callable[[Vectors, Ints, int], Vectors]) -> Vectors:
        if len(np.unique(labels[which])) < 2:
            return np.full(len(which), np.nan)
        return way(x[rows[which]], labels[which], seed)

    outcomes: dict[str, Vectors] = {}
    for metric, way in ways.items():
        outcomes[metric] = np.full(len(rows), np.nan)
        outcomes[metric][kept] = of_entries(kept, way)
    asked = next(iter(ways.values()))
    single = first & ~several
    dropped = {
        SEVERAL: 0 if every_entry else len({categories.words[at] for at in np.flatnonzero(several).tolist()}),
        TWICE: 0 if every_entry else int((~first & ~several).sum()),
        NOT_FOUND: int((~seen.there[rows] & ~usable[rows] & single).sum()),
        ZERO: int((seen.there[rows] & ~usable[rows] & single).sum()),
    }
    told: dict[str, str | int] = {"oov": table.oov, "case": table.case, "starts": STARTS, "classes": len(names)}
    found = seen.found[rows].astype(np.float64)
    return Outcomes(outcomes, found, dropped, told, again=lambda which, _: of_entries(which, asked))


def purity(labels: Ints, clusters: Ints) -> float:
    """Share of items whose class is the commonest of their cluster, in (0, 1]; NaN for none.

    >>> purity(np.array([0, 0, 1, 1, 1]), np.array([7, 7, 7, 3, 3]))
    0.8
    """
    return float(in_majority(labels, clusters).mean()) if len(labels) else float("nan")


def in_majority(labels: Ints, clusters: Ints) -> NDArray[np.float64]:
    """Of each item 1 if its class is the commonest of its cluster, else 0; of equally common ones the first counts."""
    _, label = np.unique(labels, return_inverse=True)
    _, cluster = np.unique(clusters, return_inverse=True)
    counts = np.zeros((cluster.max(initial=-1) + 1, label.max(initial=-1) + 1), dtype=np.int64)
    np.add.at(counts, (cluster, label), 1)
    commonest = counts.argmax(axis=1) if counts.size else np.empty(0, dtype=np.int64)
    return np.asarray(commonest[cluster] == label, dtype=np.float64)


def _settled(x: Vectors, labels: Ints, seed: int) -> Vectors:
    """Of each item how often, of ten k-means clusterings, its class is the commonest of its cluster."""
    return np.asarray(np.mean([in_majority(labels, _means(x, labels, 1, seed, n)) for n in range(STARTS)], axis=0))


def _best(x: Vectors, labels: Ints, seed: int) -> Vectors:
    """The same of the purest of six clusterings."""
    sklearn = need("sklearn.cluster", purpose="Clustering words")
    ways = [("ward", "euclidean")]
    ways += [(linkage, metric) for metric in ("cosine", "euclidean") for linkage in ("average", "complete")]
    if not np.linalg.norm(x, axis=1).all():
        ways = [(linkage, metric) for linkage, metric in ways if metric != "cosine"]  # which zero vectors do not have
    clusters = len(np.unique(labels))
    made = [sklearn.AgglomerativeClustering(clusters, metric=m, linkage=linkage).fit_predict(x) for linkage, m in ways]
    made.append(_means(x, labels, 10, seed, STARTS))
    return max((in_majority(labels, found) for found in made), key=np.mean)


def _means(x: Vectors, labels: Ints, starts: int, seed: int, number: int) -> Ints:
    sklearn = need("sklearn.cluster", purpose="Clustering words")
    own = seed_of(seed, "evaluate", "purity", number) % 2**32
    return np.asarray(sklearn.KMeans(len(np.unique(labels)), n_init=starts, random_state=own).fit_predict(x))
