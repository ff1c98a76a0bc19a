"""Sentence similarity: cosines of pairs of texts, and a task's subsets brought together in three ways."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.evaluation.correlations import cosines
from limbeck.evaluation.settings import Aggregation, Missing
from limbeck.evaluation.similarities import Similarities
from limbeck.real import real_array, refuse_unreal

AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)
TextVectors = Callable[[list[str]], Any] | Sequence[Any]
ZERO = "a text's vector is zero"


def sentence_similarities(
    first: Sequence[str], second: Sequence[str], target: TextVectors, *, missing: Missing = "zero"
) -> Similarities:
    """Cosine of the vectors of first[i] and second[i].

    target   a function from a list of different texts to their vectors (texts, d), called once; or both sides'
             vectors, ((pairs, d), (pairs, d))
    missing  what becomes of pairs in which a vector is zero, such as a text's without any known word:
             "zero": their cosine is 0, as in SentEval; "drop": they are left out. Counted in coverage either way.
    """
    choose(missing, get_args(Missing), what="missing")
    if callable(target):
        texts = list(dict.fromkeys([*first, *second]))
        place = {text: row for row, text in enumerate(texts)}
        matrix = _matrix(target(texts), len(texts), "different texts")
        sides = [matrix[[place[text] for text in texts_of_side]] for texts_of_side in (first, second)]
    else:
        if not isinstance(target, (tuple, list)) or len(target) != 2:
            raise UsageError(
                "A target for sentence similarity must be a function of texts or two arrays, got "
                f"{type(target).__name__}: give one of these.",
                code="wrong_type",
                parameter="target",
            )
        sides = [_matrix(side, len(first), "pairs") for side in target]
        if sides[0].shape != sides[1].shape:
            raise InputError(
                f"Both sides' vectors must be alike, got shapes {sides[0].shape} and {sides[1].shape}.",
                code="wrong_shape",
                parameter="target",
            )
    values = cosines(*sides)
    zero = np.isnan(values)
    if missing == "zero":
        values[zero] = 0.0
    dropped = {ZERO: int(zero.sum())} if missing == "drop" and zero.any() else {}
    return Similarities(values=values, found=~zero, dropped=dropped, settings={"missing": missing})


def combine(
    pooled: Any, subsets: Mapping[str, Any], sizes: Mapping[str, int], *, aggregation: Aggregation = "pooled"
) -> Any:
    """One value out of a correlation over all pairs and those of the subsets; floats, or arrays of draws.

    pooled    one correlation over the pairs of all subsets (sentence-transformers, SimCSE)
    mean      plain mean of the subsets' correlations (SentEval's "mean")
    weighted  mean weighted by the subsets' numbers of pairs (SentEval's "wmean")

    Without subsets all three are the same. A subset that is NaN makes its means NaN: leaving it out would score
    another task.
    """
    choose(aggregation, AGGREGATIONS, what="aggregation")
    if aggregation == "pooled" or not subsets:
        return pooled
    weights = np.array([sizes[name] if aggregation == "weighted" else 1 for name in subsets], dtype=np.float64)
    if not weights.sum():
        return pooled * np.nan
    return np.tensordot(weights / weights.sum(), np.stack([np.asarray(value) for value in subsets.values()]), axes=1)


def _matrix(vectors: Any, rows: int, what: str) -> NDArray[np.floating]:
    refuse_unreal(vectors, what="The target's vectors")
    if hasattr(vectors, "detach"):  # a torch tensor, on whatever device
        vectors = vectors.detach().cpu().float().numpy()
    matrix = real_array(vectors, what="The target's vectors")
    if matrix.ndim != 2 or len(matrix) != rows or matrix.dtype.kind not in "fiu":
        raise InputError(
            f"The target must give one vector for each of {rows} {what}, got an array of shape {matrix.shape} "
            f"({matrix.dtype}): give (n, d) numbers.",
            code="wrong_shape",
            parameter="target",
        )
    bad = np.flatnonzero(~np.isfinite(matrix).all(axis=1))
    if len(bad):
        raise InputError(
            f"Vectors must be finite numbers, got NaN or infinity in {len(bad)} of {rows} rows, the first is row "
            f"{bad[0]}: give zeros to a text that has no vector.",
            code="not_finite",
            parameter="target",
        )
    return matrix
