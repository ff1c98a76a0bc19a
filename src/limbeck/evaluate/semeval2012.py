"""Degrees of relations (SemEval-2012 task 2): how well does a pair show a relation that others are typical of?"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import choose
from limbeck.evaluate.analogy import Outcomes
from limbeck.evaluate.correlation import correlation
from limbeck.evaluate.word_task import Relations
from limbeck.evaluate.word_vectors import WordTable

Likeness = Literal["cosine", "dot"]
UNKNOWN = "rated pairs of which a word has no vector"
UNDEFINED = "relations without a typical pair that has vectors, or with fewer than two pairs left, or equal scores"


def rate_relations(
    relations: Relations,
    table: WordTable,
    *,
    likeness: Likeness = "cosine",
    undefined_is_zero: bool = False,
    normalize: bool = True,
) -> Outcomes:
    """Of each relation Spearman's correlation of its pairs' scores with people's ratings.

    The score of a pair (x, y) is the likeness of x − y and x̄ − ȳ, with x̄ and ȳ the means of the typical pairs' first
    and second words, all of unit vectors unless `normalize` is off.

    likeness           "cosine", or "dot": the product, as in word-embeddings-benchmarks (FIDELITY §6a.5), which long
                       differences win
    undefined_is_zero  count a relation whose correlation is undefined as 0, as there, instead of leaving it out
    """
    choose(likeness, get_args(Likeness), what="likeness")
    pairs = [pair for one in relations.relations for pair in (*one.prototypes, *one.pairs)]
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    place = {word: row for row, word in enumerate(words)}
    seen = table.look_up(words)
    norms = np.linalg.norm(seen.matrix, axis=1)
    unit = seen.matrix / np.where(norms > 0, norms, 1.0)[:, None] if normalize else seen.matrix
    usable = np.ones(len(words), dtype=bool) if table.oov in ("zero", "mean") else norms > 0

    def rows(of: list[tuple[str, str]]) -> NDArray[np.int64]:
        return np.array([[place[x], place[y]] for x, y in of], dtype=np.int64).reshape(-1, 2)

    values: dict[Likeness, list[float]] = {"cosine": [], "dot": []}
    found, unknown = [], 0
    for one in relations.relations:
        typical, rated = rows(list(one.prototypes)), rows(list(one.pairs))
        found.append(float(seen.found[rated].all(axis=1).mean()))
        kept = np.flatnonzero(usable[rated].all(axis=1))
        unknown += len(rated) - len(kept)
        typical = typical[usable[typical].all(axis=1)]
        if not len(typical):
            for way in values:
                values[way].append(float("nan"))
            continue
        offset = unit[typical[:, 0]].mean(axis=0) - unit[typical[:, 1]].mean(axis=0)
        differences = unit[rated[kept, 0]] - unit[rated[kept, 1]]
        products = differences @ offset
        lengths = np.linalg.norm(differences, axis=1) * np.linalg.norm(offset)
        cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        for way, scores in (("cosine", cosines), ("dot", products)):
            values[way].append(correlation(scores, one.gold[kept], metric="spearman"))
    outcomes: dict[str, NDArray[np.float64]] = {}
    for way in sorted(values, key=lambda way: way != likeness):
        column = np.array(values[way], dtype=np.float64)
        outcomes[f"spearman, {way}"] = np.nan_to_num(column, nan=0.0) if undefined_is_zero else column
    lost = int(np.isnan(outcomes[f"spearman, {likeness}"]).sum())
    told: dict[str, str | int] = {"oov": table.oov, "case": table.case}
    told |= {"words": len(words), "words_found": int(seen.found.sum())}
    return Outcomes(outcomes, np.array(found, dtype=np.float64), {UNKNOWN: unknown, UNDEFINED: lost}, told)
