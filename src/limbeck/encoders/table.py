"""Static word vectors as an encoder: a word has the same vector wherever it stands."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from limbeck.corpus.units import Text
from limbeck.encoders.layers import TABLE
from limbeck.encoders.preparer import identities
from limbeck.encoders.protocol import Encoder, Ints, Prepared
from limbeck.errors import InputError
from limbeck.real import real_array

if TYPE_CHECKING:
    import torch

UNKNOWN = "not in the table of vectors"
ZERO = "a zero vector in the table"


class Table(Protocol):
    """Words and their vectors, row by row, as `StaticVectors` holds them."""

    @property
    def words(self) -> Sequence[str]: ...

    @property
    def matrix(self) -> Any: ...


class TablePreparer:
    """Words to rows of a table: each text is a window of its rows. Holds the words, not the vectors."""

    def __init__(self, words: Sequence[str], zero: NDArray[np.bool_], *, lower: bool) -> None:
        self.rows: dict[str, int] = {}
        for row, word in enumerate(words):
            self.rows.setdefault(word, row)  # of a word that is there twice the first counts
        self.zero = zero
        self.lower = lower

    def __call__(self, texts: Sequence[Text], /) -> Prepared:
        texts = [text for text in texts if text.sentences]
        strings, sentences, positions, text_ids = identities(texts)
        get = self.rows.get
        rows = np.fromiter((get(word, -1) for word in strings), dtype=np.int32, count=len(strings))
        if self.lower:
            for at in np.flatnonzero(rows < 0).tolist():
                rows[at] = get(strings[at].lower(), -1)
        zero = (rows >= 0) & self.zero[rows] if len(self.zero) else np.zeros(len(rows), dtype=bool)
        dropped = {UNKNOWN: int((rows < 0).sum()), ZERO: int(zero.sum())}
        kept = np.flatnonzero((rows >= 0) & ~zero)
        counts = np.fromiter((len(text.words) for text in texts), dtype=np.int64, count=len(texts))
        ordinal = np.repeat(np.arange(len(texts), dtype=np.int64), counts)[kept]
        starts, window = text_windows(ordinal)
        return Prepared(
            pieces=rows[kept],
            window_starts=starts,
            unit_window=window,
            unit_first=np.arange(len(kept), dtype=np.int64) - starts[window],
            unit_count=np.ones(len(kept), dtype=np.int64),
            strings=strings if len(kept) == len(strings) else [strings[at] for at in kept.tolist()],
            sentences=sentences[kept],
            positions=positions[kept],
            texts=text_ids[kept],
            dropped={reason: number for reason, number in dropped.items() if number},
        )


class TableEncoder(Encoder):
    """Vectors looked up in a table, anything with `words` and `matrix`; one layer, "table".

    Unknown words and zero vectors are left out and counted. `lower` looks a word up as it is
    written and then, if it is not there, in lower case.
    """

    def __init__(self, static: Table, *, name: str = "table", lower: bool = False, device: str = "auto") -> None:
        import torch

        self._matrix = np.ascontiguousarray(real_array(static.matrix, what="A table"))
        self._words = words = list(static.words)
        if self._matrix.ndim != 2 or len(self._matrix) != len(words):
            raise InputError(
                f"A table needs one row a word; got {len(words)} words and an array of shape {self._matrix.shape}.",
                code="wrong_shape",
            )
        if not np.issubdtype(self._matrix.dtype, np.floating):
            self._matrix = self._matrix.astype(np.float32)
        self._name = name
        if device == "auto":
            device = "cuda" if torch.cuda.is_available() else "cpu"
        self._vectors = torch.from_numpy(self._matrix.copy()).to(device)
        self._prepare = TablePreparer(words, np.logical_not(self._matrix.any(axis=1)), lower=lower)

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> str:
        return f"{self.model_fingerprint}-lower" if self._prepare.lower else self.model_fingerprint

    @cached_property
    def model_fingerprint(self) -> str:
        """Changes with the words and their vectors, and with no setting."""
        return table_fingerprint(self._words, self._matrix)

    @property
    def layers(self) -> tuple[str, ...]:
        return (TABLE,)

    @property
    def dim(self) -> int:
        return int(self._matrix.shape[1])

    @property
    def units(self) -> str:
        return "words"

    @property
    def prepare(self) -> TablePreparer:
        return self._prepare

    def on(self, device: str) -> TableEncoder:
        """This encoder, moved to another device."""
        self._vectors = self._vectors.to(device)
        return self

    def forward(self, batch: Prepared) -> torch.Tensor:
        """Vectors (1, units, dim)."""
        import torch

        rows = batch.pieces[batch.window_starts[batch.unit_window] + batch.unit_first].astype(np.int64)
        return self._vectors.index_select(0, torch.from_numpy(rows).to(self._vectors.device)).unsqueeze(0)


def text_windows(ordinal: Ints) -> tuple[Ints, Ints]:
    """One window a text: where the windows begin (windows + 1,), and each unit's window, from its text's number."""
    turns = np.flatnonzero(np.diff(ordinal)) + 1
    starts = np.concatenate([[0], turns, [len(ordinal)]]).astype(np.int64) if len(ordinal) else np.zeros(1, np.int64)
    return starts, np.repeat(np.arange(len(starts) - 1, dtype=np.int64), np.diff(starts))


def table_fingerprint(words: Sequence[str], matrix: NDArray[Any]) -> str:
    """Of a table of vectors, every one of them."""
    digest = hashlib.blake2b(np.ascontiguousarray(matrix).tobytes(), digest_size=16)
    digest.update(f"{matrix.dtype} {matrix.shape} ".encode())
    digest.update("\n".join(words).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
