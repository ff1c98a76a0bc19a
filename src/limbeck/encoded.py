"""A batch of occurrences: what an encoder's pass hands to every accumulator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import LimbeckError
from limbeck.strings import Strings

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """Rows that belong together: group number of each row, and each group's identity and size."""

    of_row: Ints  # (n,)
    identities: Ints  # (groups,)
    sizes: Ints  # (groups,)
    runs: bool = True  # whether the rows of each group stand together, in the order of the groups

    @classmethod
    def by(cls, identities: Ints) -> Groups:
        """Group equal identities. Rows of one group usually stand together, which needs no sort."""
        n = len(identities)
        if n == 0:
            return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))
        starts = np.flatnonzero(np.concatenate(([True], identities[1:] != identities[:-1])))
        runs = identities[starts]
        ordered = np.sort(runs)
        if not (ordered[1:] == ordered[:-1]).any():  # no identity comes back after its run
            sizes = np.diff(np.append(starts, n))
            return cls(np.repeat(np.arange(len(runs)), sizes), runs, sizes)
        distinct, of_row, sizes = np.unique(identities, return_inverse=True, return_counts=True)
        return cls(of_row, distinct, sizes, runs=False)


@dataclass(frozen=True)
class Encoded:
    """Vectors on the device, identities on the host.

    A text is never divided between two batches, so sums over a text or a sentence are complete.
    Derived quantities that several accumulators want are computed once, here.
    """

    vectors: torch.Tensor  # (layers, n, d)
    words: Ints  # (n,) id in the vocabulary, -1 for a word that is not followed
    sentences: Ints  # (n,) identity of the sentence
    texts: Ints  # (n,) identity of the text, the word's context
    occurrences: NDArray[np.uint64]  # (n,) hash of the occurrence's identity
    strings: Sequence[str] = ()  # (n,) the units themselves, for messages and kept samples
    pieces: Ints | None = None  # (n,) pieces that each vector is the mean of, where that is known

    def __len__(self) -> int:
        return len(self.words)

    @cached_property
    def norms(self) -> torch.Tensor:
        """Euclidean norms, (layers, n)."""
        import torch

        if self._reduced is not None:
            return self._reduced[0]
        norms: torch.Tensor = torch.linalg.vector_norm(self.vectors, dim=-1, dtype=wide(self.vectors))
        return norms

    @cached_property
    def units(self) -> torch.Tensor:
        """Unit vectors, (layers, n, d)."""
        return self.vectors / self.norms.unsqueeze(-1)  # norms are wide, and so is what they divide

    @cached_property
    def by_text(self) -> Groups:
        return Groups.by(self.texts)

    @cached_property
    def by_sentence(self) -> Groups:
        return Groups.by(self.sentences)

    @cached_property
    def sums_by_sentence(self) -> torch.Tensor:
        """Sum of the vectors of each sentence, (layers, sentences, d)."""
        if self._reduced is not None:
            return self._reduced[1]
        # a sentence is short: its sum loses nothing in float32, and is a float64 from then on
        narrow = self.vectors if self.vectors.dtype.itemsize >= 4 else self.vectors.float()
        return self.sum_rows(narrow, self.by_sentence).to(wide(self.vectors))

    @cached_property
    def unit_sums_by_sentence(self) -> torch.Tensor:
        """Sum of the unit vectors of each sentence, (layers, sentences, d)."""
        if self._reduced is not None:
            return self._reduced[2]
        return self.sum_rows(self.units, self.by_sentence)

    @cached_property
    def unit_sums_by_text(self) -> torch.Tensor:
        """Sum of the unit vectors of each text, (layers, texts, d)."""
        sentences, texts = self.by_sentence, self.by_text
        if len(sentences.sizes) == len(texts.sizes):  # each text is one sentence
            return self.unit_sums_by_sentence
        if not sentences.runs:
            return self.sum_rows(self.units, texts)
        text_of_sentence = texts.of_row[np.cumsum(sentences.sizes) - 1]
        sums = self.unit_sums_by_sentence
        return add_rows(sums.new_zeros(sums.shape[0], len(texts.sizes), sums.shape[2]), text_of_sentence, sums)

    @cached_property
    def _reduced(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
        """Norms, sums and unit sums by sentence in one reading, where there is a kernel for it."""
        if not len(self) or self.vectors.device.type != "cuda":
            return None
        from limbeck import kernels

        if not (kernels.usable(self.vectors) and self.by_sentence.runs):
            return None
        starts = index_on(np.concatenate(([0], np.cumsum(self.by_sentence.sizes))), self.vectors)
        return kernels.reduce_runs(self.vectors.contiguous(), starts)

    def sum_rows(self, rows: torch.Tensor, groups: Groups) -> torch.Tensor:
        """Sums of rows (layers, n, d) by group, (layers, groups, d)."""
        return add_rows(rows.new_zeros(rows.shape[0], len(groups.sizes), rows.shape[2]), groups.of_row, rows)

    def take(self, rows: Ints) -> Encoded:
        """The batch with some of its rows."""
        return replace(
            self,
            vectors=self.vectors.index_select(1, index_on(rows, self.vectors)),
            words=self.words[rows],
            sentences=self.sentences[rows],
            texts=self.texts[rows],
            occurrences=self.occurrences[rows],
            strings=Strings.of(self.strings).take(rows) if self.strings else (),
            pieces=None if self.pieces is None else self.pieces[rows],
        )


def well_defined(batch: Encoded) -> torch.Tensor:
    """Whether every vector is finite and not zero, as a tensor on the device: no cosine is defined for others."""
    return ((batch.norms > 0) & (batch.norms < float("inf"))).all()


def refuse(norms: torch.Tensor, strings: Sequence[str], layers: Sequence[str] = ()) -> NoReturn:
    """Say which vector of a batch with these norms is not well defined: layer (by its name, if it has one) and word."""
    norms = norms.cpu()
    bad = (~((norms > 0) & (norms < float("inf")))).nonzero()
    layer, row = (int(i) for i in bad[0])
    kind = "zero" if float(norms[layer, row]) == 0 else "NaN or infinite"
    who = f"the word {strings[row]!r}" if strings else f"row {row}"
    where = f"{layers[layer] if layers else layer} ({len(bad)} such in all)"
    raise LimbeckError(
        f"vectors must be finite and not zero; {who} has a {kind} vector in layer {where}: "
        "try a wider dtype, or mend or leave out what made it.",
        code="not_finite",
    )


def wide(vectors: torch.Tensor) -> torch.dtype:
    """The dtype that sums over vectors are made in.

    float64 on the CPU, where it costs little beside a model. On an accelerator float32, in sums of
    bounded length which accumulators fold into float64.
    """
    import torch

    return torch.float64 if vectors.device.type == "cpu" or vectors.dtype == torch.float64 else torch.float32


def index_on(ids: NDArray[Any], like: torch.Tensor) -> torch.Tensor:
    """Host integers as an index tensor beside `like`, without waiting for the device."""
    from limbeck.transfer import send

    return send(np.asarray(ids, dtype=np.int64), like.device)


def add_rows(table: torch.Tensor, ids: NDArray[Any], rows: torch.Tensor) -> torch.Tensor:
    """Add rows (layers, n, d) to the rows `ids` of table (layers, m, d), in place."""
    return table.index_add_(1, index_on(ids, table), rows)
