"""Degrees of relations (SemEval-2012 task 2): how well does a pair show a relation that others are typical of?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import choose
from limbeck.evaluation.correlations import SAME, correlation, level
from limbeck.evaluation.item_score import Mask, Outcomes
from limbeck.evaluation.word_task import Relation, Relations
from limbeck.evaluation.word_vectors import WordTable
from limbeck.vectors.nearest import unit_rows

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

    Many of these scores are equal in exact arithmetic: pairs whose unknown words all have the same vector, and all
    pairs where x̄ = ȳ. Floating-point sums make them differ by 1e-17, so scores that are nearer than 1e-9 count as
    equal (`SAME`, times the square of the longest vector's length), and shorter differences than that as none.

    likeness           "cosine", or "dot": the product, as in word-embeddings-benchmarks (docs/fidelity.md §6), which
                       long differences win
    undefined_is_zero  count a relation whose correlation is undefined as 0, as there, instead of leaving it out
    """
    choose(likeness, get_args(Likeness), what="likeness")
    pairs = [pair for one in relations.relations for pair in (*one.prototypes, *one.pairs)]
    words = list(dict.fromkeys(word for pair in pairs for word in pair))
    place = {word: row for row, word in enumerate(words)}
    seen = table.look_up(words)
    unit = unit_rows(seen.matrix, dtype=np.float64) if normalize else seen.matrix
    usable = table.usable(seen)
    longest = float(np.linalg.norm(unit, axis=1).max(initial=0.0))

    def length(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
        """Of the last axis; 0 where only rounding is left."""
        lengths: NDArray[np.float64] = np.linalg.norm(vectors, axis=-1)
        return np.where(lengths > SAME * longest, lengths, 0.0)

    def rows(of: Sequence[tuple[str, str]]) -> NDArray[np.int64]:
        return np.array([[place[x], place[y]] for x, y in of], dtype=np.int64).reshape(-1, 2)

    def rate(one: Relation, kept: Mask) -> dict[Likeness, float]:
        """By the pairs that are kept, typical and then rated ones."""
        split = len(one.prototypes)
        typical, rated = rows(one.prototypes)[kept[:split]], rows(one.pairs)[kept[split:]]
        if not len(typical):
            return {"cosine": float("nan"), "dot": float("nan")}
        offset = unit[typical[:, 0]].mean(axis=0) - unit[typical[:, 1]].mean(axis=0)
        differences = unit[rated[:, 0]] - unit[rated[:, 1]]
        lengths = length(differences) * length(offset)
        products = np.where(lengths > 0, differences @ offset, 0.0)
        cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
        gold = one.gold[kept[split:]]
        return {
            "cosine": correlation(level(cosines), gold, metric="spearman"),
            "dot": correlation(level(products, within=SAME * longest**2), gold, metric="spearman"),
        }

    def again(which: NDArray[np.int64], kept: Sequence[Mask]) -> NDArray[np.float64]:
        both = zip(which.tolist(), kept, strict=True)
        return defined(np.array([rate(relations.relations[number], mask)[likeness] for number, mask in both]))

    def defined(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.nan_to_num(values, nan=0.0) if undefined_is_zero else values

    of_pairs = [rows([*one.prototypes, *one.pairs]) for one in relations.relations]
    known = [usable[both[:, 0]] & usable[both[:, 1]] for both in of_pairs]
    made = [rate(one, kept) for one, kept in zip(relations.relations, known, strict=True)]
    outcomes: dict[str, NDArray[np.float64]] = {}
    for way in sorted(get_args(Likeness), key=lambda way: way != likeness):
        outcomes[f"spearman, {way}"] = defined(np.array([one[way] for one in made], dtype=np.float64))
    found = [float(seen.found[rows(one.pairs)].all(axis=1).mean()) for one in relations.relations]
    left = zip(relations.relations, known, strict=True)
    dropped = {
        UNKNOWN: sum(int((~kept[len(one.prototypes) :]).sum()) for one, kept in left),
        UNDEFINED: int(np.isnan(outcomes[f"spearman, {likeness}"]).sum()),
    }
    told: dict[str, str | int] = {"oov": table.oov, "case": table.case}
    told |= {"words": len(words), "words_found": int(seen.found.sum())}
    return Outcomes(outcomes, np.array(found, dtype=np.float64), dropped, told, known, again)
