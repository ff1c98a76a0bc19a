"""StaticVectors: one vector a word, from and to every format that people keep word vectors in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from limbeck.errors import InputError, UnknownName, UsageError, choose
from limbeck.real import real_array
from limbeck.remote import brought
from limbeck.shown import Tabular
from limbeck.vectors import exports, facts, formats, models
from limbeck.vectors.finding import Case, Finder
from limbeck.vectors.gather import DUPLICATE, Floats, Table
from limbeck.vectors.nearest import Ints, check_number, nearest_rows, unit_rows
from limbeck.vectors.sentences import Weighting, text_vectors

SHOWN_WITH_NEIGHBORS = 200_000  #: words above which a notebook would wait for their neighbours
Missing = Literal["drop", "zero", "mean", "error"]
#: a word that is in the table, or a vector of its dimension
Query = str | NDArray[Any]


class StaticVectors(Tabular):
    """Words and a matrix with one row a word.

    >>> vectors = StaticVectors(["a", "b"], [[1.0, 0.0], [0.6, 0.8]])
    >>> "b" in vectors, vectors.index("b"), vectors.dim
    (True, 1, 2)
    >>> [(word, round(cosine, 3)) for word, cosine in vectors.most_similar("a", 1)]
    [('b', 0.6)]

    >>> vectors.similarity("a", "b"), vectors.get("c")
    (0.6000000238418579, None)

    words    the words, all different
    matrix   (words, d) float32, read-only
    unit     its rows scaled to length 1, made once when first asked for
    notes    what a reader dropped or mended: {reason: how often}
    counts   (words,) how often each word occurred in the text that the vectors were made from; None where not known
    total    how many words that text had, those without a vector among them; None where not known
    origins  of each word how its vector came about ("corpus", "frame", ...); None where not known
    """

    def __init__(
        self,
        words: Sequence[str],
        matrix: NDArray[Any] | Sequence[Any],
        *,
        notes: Mapping[str, int] | None = None,
        counts: NDArray[Any] | Sequence[int] | None = None,
        origins: Sequence[str] | None = None,
        total: int | None = None,
    ) -> None:
        if isinstance(words, str):
            raise UsageError(
                f"words are a list of strings, got the string {words[:40]!r}: give [{words[:40]!r}].",
                code="wrong_type",
                parameter="words",
            )
        words = list(words)
        array = real_array(matrix, what="A matrix").astype(np.float32, copy=False)
        if array.ndim != 2 or len(array) != len(words):
            raise InputError(
                f"A matrix (words, dimensions) with one row a word is needed, got {len(words)} words and an "
                f"array of shape {array.shape}: give one row a word.",
                code="wrong_shape",
                parameter="vectors",
            )
        index = {word: row for row, word in enumerate(words)}
        if len(index) != len(words):
            twice = next(word for row, word in enumerate(words) if index[word] != row)
            raise InputError(
                f"Words must all be different, got {twice!r} twice: drop one of its vectors.",
                code="twice",
                parameter="words",
            )
        for start in range(0, len(array), 4096):  # a mask of the whole matrix would be a quarter of its size
            finite = np.isfinite(array[start : start + 4096]).all(axis=1)
            if not finite.all():
                bad = words[start + int(np.flatnonzero(~finite)[0])]
                raise InputError(
                    f"Vectors must be finite numbers, got NaN or infinity for {bad!r}: mend or remove it.",
                    code="not_finite",
                    parameter="vectors",
                )
        # a view, so that the caller's own array stays writable
        self._matrix: Floats = array.view()
        self._matrix.flags.writeable = False
        self._words, self._index = words, index
        self._notes = dict(notes or {})
        self._facts = facts.check(words, counts, origins, total)
        self._finders: dict[tuple[str, str], Finder] = {}
        self._folder: Path | None = None  # where the facts are, as long as nobody has asked for them

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

    @cached_property
    def unit(self) -> Floats:
        unit = unit_rows(self._matrix)
        unit.flags.writeable = False
        return unit

    @property
    def counts(self) -> Ints | None:
        return self._known_facts().counts

    @property
    def total(self) -> int | None:
        return self._known_facts().total

    @property
    def origins(self) -> list[str] | None:
        return self._known_facts().origins

    def _known_facts(self) -> facts.Facts:
        if self._folder is not None:  # read late, since few ask, and it needs pyarrow
            self._facts, self._folder = facts.read(self._folder, self._words), None
        return self._facts

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __getitem__(self, word: str) -> Floats:
        row: Floats = self._matrix[self.index(word)]
        return row

    def __repr__(self) -> str:
        return f"StaticVectors({len(self)} words, {self.dim} dimensions)"

    def title(self) -> str:
        return f"{len(self):,} words, {self.dim} dimensions"

    def columns(self) -> dict[str, Any]:
        """A row a word: the word, its count and origin where they are known, then a column a dimension."""
        return self._columns(len(self))

    def head(self, rows: int) -> tuple[dict[str, Any], int]:
        """The first words with their nearest ones, and how many words there are."""
        shown = self._columns(min(rows, len(self)), dimensions=False)
        if 1 < len(self) <= SHOWN_WITH_NEIGHBORS:
            found = [self.most_similar(word, 3) for word in shown["word"]]
            shown["nearest"] = [", ".join(f"{word} {cosine:.2f}" for word, cosine in some) for some in found]
        shown["norm"] = np.linalg.norm(self._matrix[:rows], axis=1)
        return shown, len(self)

    def _columns(self, rows: int, *, dimensions: bool = True) -> dict[str, Any]:
        found: dict[str, Any] = {"word": self._words[:rows]}
        if self.counts is not None:
            found["count"] = self.counts[:rows]
        if self.origins is not None:
            found["origin"] = self.origins[:rows]
        return found | ({str(d): self._matrix[:rows, d] for d in range(self.dim)} if dimensions else {})

    def index(self, word: str) -> int:
        """The row of a word. A word that is not there is a KeyError, as in a dictionary."""
        try:
            return self._index[word]
        except KeyError:
            raise UnknownName("vector of the word", word, self._words) from None

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
                f"{first!r}: choose missing='drop', 'zero' or 'mean'.",
                code="incomplete",
                parameter="missing",
            )
        if missing == "drop":
            rows, absent = rows[~absent], absent[:0]
        result: Floats = self._matrix[rows] if len(self) else np.zeros((len(rows), self.dim), dtype=np.float32)
        if missing in ("zero", "mean") and absent.any():
            # float64: a float32 mean over a million rows loses digits
            mean = self._matrix.mean(axis=0, dtype=np.float64) if len(self) else np.zeros(self.dim)
            result[absent] = 0.0 if missing == "zero" else mean.astype(np.float32)
        return result

    def get(self, word: str, default: Any = None) -> Any:
        """The vector of a word, or `default` where it has none."""
        row = self._index.get(word)
        return default if row is None else self._matrix[row]

    def subset(self, words: Iterable[str], *, missing: Literal["drop", "error"] = "error") -> StaticVectors:
        """These words alone, in this order, with what is known of them."""
        choose(missing, ("drop", "error"), what="missing")
        wanted = list(dict.fromkeys(words))
        matrix = self.vectors(wanted, missing=missing)
        kept = [word for word in wanted if word in self]
        known = self._known_facts().take([self._index[word] for word in kept])
        return StaticVectors(kept, matrix, counts=known.counts, origins=known.origins, total=known.total)

    def similarity(self, one: Query, other: Query) -> float:
        """The cosine of two words or vectors; NaN where one of them is zero."""
        pair = np.stack([self._query(one), self._query(other)]).astype(np.float64)
        return float(pair[0] @ pair[1]) if pair.any(axis=1).all() else float("nan")

    def nearest(
        self, queries: NDArray[Any], *, k: int = 10, exclude: Sequence[Sequence[int]] | Ints | None = None
    ) -> tuple[Ints, Floats]:
        """Of each query (m, d) the k rows of highest cosine, best first, and the cosines (m, k).

        `exclude`: for each query rows that are not to be found. See `limbeck.vectors.nearest.nearest_rows`.
        """
        return nearest_rows(self.unit, queries, k=k, exclude=exclude)

    def most_similar(
        self, positive: Query | Sequence[Query], topn: int = 10, *, negative: Query | Sequence[Query] = ()
    ) -> list[tuple[str, float]]:
        """The words of highest cosine with a word or a vector, or with the sum of several, less the negative ones.

        Each is scaled to length 1 before they are summed. Words that were given are left out, and so are zero
        vectors, which have no cosine.
        """
        check_number("topn", topn)
        plus, minus = as_queries(positive), as_queries(negative)
        if not plus and not minus:
            raise UsageError("A word or a vector is needed, got none.", code="required")
        query = np.zeros(self.dim)
        for sign, several in ((1.0, plus), (-1.0, minus)):
            for one in several:
                query += sign * self._query(one).astype(np.float64)
        given = [self.index(one) for one in (*plus, *minus) if isinstance(one, str)]
        rows, cosines = self.nearest(query[None], k=min(topn, max(1, len(self))), exclude=[given])
        return [(self._words[row], float(value)) for row, value in zip(rows[0], cosines[0], strict=True) if row >= 0]

    def analogy(self, a: str, b: str, c: str, topn: int = 1) -> list[tuple[str, float]]:
        """What is to c as b is to a: the `topn` words of highest cosine with b − a + c (3CosAdd), a, b and c left out.

        Whether many questions are answered rightly, `limbeck.evaluation.evaluate_words` tells much faster.
        """
        return self.most_similar([b, c], topn, negative=[a])

    def sentences(
        self,
        texts: Sequence[str] | Sequence[Sequence[str]],
        *,
        weighting: Weighting = "mean",
        a: float = 1e-3,
        remove_first: bool | None = None,
        common: NDArray[Any] | None = None,
        counts: Mapping[str, int] | None = None,
        total: int | None = None,
        case: Case = "either",
        language: str = "en",
    ) -> Floats:
        """A vector for each text (texts, d): the mean of its words' vectors, or SIF.

        Words of the table are found as model2vec finds them in the folder that `save` writes, those with blanks and
        signs too. A text without a known word has zeros. See `limbeck.vectors.sentences.text_vectors`, which also tells
        how many words of each text were found.
        """
        return text_vectors(
            self,
            texts,
            weighting=weighting,
            a=a,
            remove_first=remove_first,
            common=common,
            counts=counts,
            total=total,
            case=case,
            language=language,
        ).matrix

    def finder(self, case: Case = "either", language: str = "en") -> Finder:
        """What finds the words of this table in texts."""
        if (case, language) not in self._finders:
            self._finders[case, language] = Finder(self._words, case=case, language=language)
        return self._finders[case, language]

    def _query(self, one: Query) -> Floats:
        """A word or vector scaled to length 1, zeros as they are."""
        if isinstance(one, str):
            row: Floats = self.unit[self.index(one)]
            return row
        vector = real_array(one, what="A vector")
        if vector.shape != (self.dim,):
            raise InputError(
                f"A vector of {self.dim} dimensions is needed, got an array of shape {vector.shape}.",
                code="other_dimensions",
            )
        unit: Floats = unit_rows(vector[None])[0]
        return unit

    @classmethod
    def load(cls, path: str | Path, format: str = "auto", limit: int | None = None) -> StaticVectors:
        """Read a file or folder, here or by URL; its format is told by its content.

        `limit`: the first so many different words.

        A folder made by `limbeck distill` tells counts and origins too (words.parquet).
        """
        with brought(path) as place:
            vectors = cls._of(formats.read(place, format=format, limit=limit))
            vectors._folder = facts.folder_of(place)
        return vectors

    def save(self, path: str | Path, format: str = "auto", *, dtype: str = "float32", language: str = "en") -> None:
        """Write to a file or folder, the format by the name's ending: see `limbeck.vectors.formats.BY_SUFFIX`.

        dtype     "float32", "float16" or "int8" (with a scale a word); text and word2vec's binary have float32 alone
        language  of the pipeline that format "spacy" writes
        """
        formats.write(path, self._words, self._matrix, format=format, dtype=dtype, language=language)
        known = self._known_facts()
        if known and formats.format_of(path, format) == "model2vec":
            facts.write(Path(path).expanduser(), self._words, known)

    def to_gensim(self) -> Any:
        """The same vectors, copied, as gensim's KeyedVectors, with counts where they are known."""
        return exports.to_gensim(self._words, self._matrix, self.counts)

    def to_spacy(self, language: str = "en") -> Any:
        """A blank spaCy pipeline of a language whose words have these vectors."""
        return exports.to_spacy(self._words, self._matrix, language)

    @classmethod
    def from_model(cls, folder_or_id: str | Path) -> StaticVectors:
        """The input embedding table of a Hugging Face model: its tokens, in the order of their ids."""
        return cls._of(models.read_model(folder_or_id))

    @classmethod
    def _of(cls, table: Table) -> StaticVectors:
        return cls(table.words, table.matrix, notes=table.notes)


def as_queries(given: Query | Sequence[Query]) -> list[Query]:
    """One word or vector, or several, as a list; a matrix is several vectors."""
    if isinstance(given, str) or (isinstance(given, np.ndarray) and given.ndim == 1):
        return [given]
    return list(given)
