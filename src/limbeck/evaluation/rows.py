"""Vectors of texts, word by word or piece by piece, and what becomes of them before they are averaged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from limbeck.errors import InputError
from limbeck.vectors.sentences import add_to_texts, means_of

Weights = NDArray[np.float64]
ROWS_AT_ONCE = 1 << 15  #: rows in float64 at a time


@dataclass(frozen=True)
class TextRows:
    """Vectors of some texts, a row a word or piece, in the order of the texts.

    layers    names of the layers
    vectors   (layers, n, d)
    texts     (n,) the number of each row's text
    count     texts, those without any row too
    settings  how the rows were made, for tables
    weights   (n,) how much each row counts in its text's mean; None: all the same
    """

    layers: tuple[str, ...]
    vectors: torch.Tensor
    texts: NDArray[np.int64]
    count: int
    settings: Mapping[str, str | int] = field(default_factory=dict)
    weights: Weights | None = None

    def of_layer(self, layer: str) -> torch.Tensor:
        """Rows (n, d) of one layer."""
        return self.vectors[self.layers.index(layer)]

    def means(self, rows: torch.Tensor) -> torch.Tensor:
        """Mean (texts, d) of rows (n, d) over each text, in float64; zero for a text without any.

        With weights the sum of weighted rows by their number, as SIF has it.
        """
        sums = np.zeros((self.count, rows.shape[1]))
        for start in range(0, len(rows), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            weights = None if self.weights is None else self.weights[part]
            add_to_texts(sums, self.texts[part], rows[part].to(torch.float64).numpy(), weights)
        return torch.from_numpy(means_of(sums, np.bincount(self.texts, minlength=self.count)))

    def repeated(self, times: NDArray[np.int64]) -> NDArray[np.int64]:
        """Numbers of the rows, those of text t `times[t]` times: as a list of all a task's sentences has them."""
        return np.repeat(np.arange(len(self.texts), dtype=np.int64), times[self.texts])


def repaired(rows: torch.Tensor, repair: Any, weights: Weights | None = None) -> torch.Tensor:
    """Rows (n, d) after a repair: as they are for None, by a fitted one, or by one that is fitted on them here.

    weights  (n,) how often each row counts in that fit
    """
    if repair is None or not len(rows):
        return rows
    from limbeck.repairs.repair import chain_of  # needs scikit-learn, vectors as they are do not

    usable = repair if is_fitted(repair) else fitted_on(repair, rows, weights)
    wanted = chain_of(usable)[0][1].n_features_in_
    if wanted != rows.shape[1]:
        raise InputError(
            f"A repair must be of the vectors' own space, got one for {wanted} dimensions and vectors of "
            f"{rows.shape[1]}: give the repair that was fitted on this model and layer.",
            code="other_dimensions",
            parameter="repair",
        )
    done: torch.Tensor = usable.transform(rows)
    return done


def fitted_on(repair: Any, rows: torch.Tensor, weights: Weights | None = None) -> Any:
    """See `limbeck.repairs.fitting.fit_matrix`, which needs scikit-learn; vectors as they are do not."""
    from limbeck.repairs.fitting import fit_matrix

    return fit_matrix(rows, repair, weights=weights)


def is_fitted(repair: Any) -> bool:
    """Whether a repair, or every step of a chain, has learned what it needs."""
    from limbeck.repairs.repair import chain_of

    return all(step.__sklearn_is_fitted__() for _, step in chain_of(repair))
