"""StaticVectors: one vector a word, from and to every format that people keep word vectors in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UsageError, choose
from limbeck.vectors import formats, models
from limbeck.vectors.gather import DUPLICATE, Floats, Table

Missing = Literal["drop", "zero", "mean", "error"]


class StaticVectors:
    """Words and a matrix with one row a word.

    >>> vectors = StaticVectors(["a", "b"], [[1.0, 0.0], [0.6, 0.8]])
    >>> "b" in vectors, vectors.index("b"), vectors.dim
    (True, 1, 2)
    >>> [(word, round(cosine, 3)) for word, cosine in vectors.most_similar("a", 1)]
    [('b', 0.6)]

    words   the words, all different
    matrix  (words, d) float32, read-only
    notes   what a reader dropped or mended: {reason: how often}
    """

    def __init__(
        self, words: Sequence[str], matrix: NDArray[Any] | Sequence[Any], *, notes: Mapping[str, int] | None = None
    ) -> None:
        words = list(words)
        array = np.asarray(matrix, dtype=np.float32)
        if array.ndim != 2 or len(array) != len(words):
            raise InputError(
                f"A matrix (words, dimensions) with one row a word is needed, got {len(words)} words and an "
                f"array of shape {array.shape}: give one row a word."
            )
        index = {word: row for row, word in enumerate(words)}
        if len(index) != len(words):
            twice = next(word for row, word in enumerate(words) if index[word] != row)
            raise InputError(f"Words must all be different, got {twice!r} twice: drop one of its vectors.")
        for start in range(0, len(array), 4096):  # a mask of the whole matrix would be a quarter of its size
            finite = np.isfinite(array[start : start + 4096]).all(axis=1)
            if not finite.all():
                bad = words[start + int(np.flatnonzero(~finite)[0])]
                raise InputError(f"Vectors must be finite numbers, got NaN or infinity for {bad!r}: mend or remove it.")
        # a view, so that the caller's own array stays writable
        self._matrix: Floats = array.view()
        self._matrix.flags.writeable = False
        self._words, self._index = words, index
        self._notes = dict(notes or {})

    @property
    def words(self) -> list[str]:
        return self._words

    @property
    def matrix(self) -> Floats:
        return self._matrix

    @property
    def dim(self) -> int:
        return int(self._matrix.shape[1])

    @property
    def notes(self) -> Mapping[str, int]:
        return MappingProxyType(self._notes)

    @property
    def duplicates(self) -> int:
        """How many lines of the file were left out because their word had come before."""
        return self._notes.get(DUPLICATE, 0)

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __getitem__(self, word: str) -> Floats:
        row: Floats = self._matrix[self.index(word)]
        return row

    def __repr__(self) -> str:
        return f"StaticVectors({len(self)} words, {self.dim} dimensions)"

    def index(self, word: str) -> int:
        """The row of a word. A word that is not there is a KeyError, as in a dictionary."""
        return self._index[word]

    def vectors(self, words: Iterable[str], *, missing: Missing = "error") -> Floats:
        """Rows of `words`; for those not there: left out ("drop"), zeros, the mean of all rows, or an error."""
        choose(missing, ("drop", "zero", "mean", "error"), what="missing")
        words = list(words)
        rows = np.array([self._index.get(word, -1) for word in words], dtype=np.int64)
        absent = rows < 0
        if missing == "error" and absent.any():
            first = words[int(np.flatnonzero(absent)[0])]
            raise InputError(
                f"All words must have a vector, {int(absent.sum())} of {len(words)} have none, the first is "
                f"{first!r}: choose missing='drop', 'zero' or 'mean'."
            )
        if missing == "drop":
            rows, absent = rows[~absent], absent[:0]
        result: Floats = self._matrix[rows] if len(self) else np.zeros((len(rows), self.dim), dtype=np.float32)
        if missing in ("zero", "mean") and absent.any():
            # float64: a float32 mean over a million rows loses digits
            mean = self._matrix.mean(axis=0, dtype=np.float64) if len(self) else np.zeros(self.dim)
            result[absent] = 0.0 if missing == "zero" else mean.astype(np.float32)
        return result

    def most_similar(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """The k words of highest cosine with `word`, itself left out; zero vectors have no cosine and are left out."""
        if k < 1:
            raise UsageError(f"k must be at least 1, got {k}.")
        own = self.index(word)
        norms = np.linalg.norm(self._matrix, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            cosines = (self._matrix @ self._matrix[own]) / (norms * norms[own])
        usable = np.isfinite(cosines)
        usable[own] = False
        rows = np.flatnonzero(usable)
        k = min(k, len(rows))
        if k == 0:
            return []
        best = rows[np.argpartition(-cosines[rows], k - 1)[:k]]
        best = best[np.lexsort((best, -cosines[best]))]
        return [(self._words[row], float(cosines[row])) for row in best]

    @classmethod
    def load(cls, path: str | Path, format: str = "auto", limit: int | None = None) -> StaticVectors:
        """Read a file or folder; its format is told by its content. `limit`: the first so many different words."""
        return cls._of(formats.read(path, format=format, limit=limit))

    def save(self, path: str | Path, format: str = "auto") -> None:
        """Write to a file or folder, the format by the name's ending: see `limbeck.vectors.formats.BY_SUFFIX`."""
        formats.write(path, self._words, self._matrix, format=format)

    @classmethod
    def from_model(cls, folder_or_id: str | Path) -> StaticVectors:
        """The input embedding table of a Hugging Face model: its tokens, in the order of their ids."""
        return cls._of(models.read_model(folder_or_id))

    @classmethod
    def _of(cls, table: Table) -> StaticVectors:
        return cls(table.words, table.matrix, notes=table.notes)
