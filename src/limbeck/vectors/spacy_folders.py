"""Word vectors in spaCy's folders: read from any pipeline that has them, written as a pipeline with nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from limbeck.corpus.segment import blank_pipeline
from limbeck.errors import InputError
from limbeck.extras import need
from limbeck.npz import check_array
from limbeck.vectors.gather import NO_STRING, Floats, Table, table_of
from limbeck.vectors.whole import whole_folder

PLACES = (Path("vocab"), Path("."))  #: of a pipeline, and of a vocabulary by itself


def is_spacy(folder: Path) -> bool:
    """Whether a folder is a spaCy pipeline or vocabulary with vectors."""
    return vocabulary_in(folder) is not None


def vocabulary_in(folder: Path) -> Path | None:
    for place in PLACES:
        if (folder / place / "vectors").is_file() and (folder / place / "key2row").is_file():
            return folder / place
    return None


def read_spacy(folder: Path, *, limit: int | None = None) -> Table:
    """Read the words of a pipeline with their vectors, in the order in which they were added."""
    place = vocabulary_in(folder)
    if place is None:
        raise InputError(
            f"{folder}: a spaCy pipeline with vectors (vocab/vectors, vocab/key2row) is needed: "
            "give the folder that has config.cfg, or a pipeline that has vectors.",
            code="incomplete",
        )
    module = need("spacy.vocab", purpose="reading vectors of spaCy")
    try:
        with open(place / "vectors", "rb") as file:
            check_array(file, (place / "vectors").stat().st_size)
        vocabulary = module.Vocab().from_disk(place, exclude=["lookups"])
    except Exception as error:  # spaCy raises what the parts raise: msgpack, JSON, numpy
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(
            f"{folder}: cannot be read as vectors of spaCy ({reason}): get the whole folder.", code="damaged"
        ) from error
    vectors = vocabulary.vectors
    if vectors.mode != "default":
        raise InputError(
            f"{folder}: vectors of mode {vectors.mode!r} are made of pieces and have no list of words.",
            code="unsupported",
        )
    rows = {key: row for key, row in vectors.key2row.items() if row >= 0}
    words, places = [], []
    for key, row in rows.items():
        if key in vocabulary.strings:
            words.append(vocabulary.strings[key])
            places.append(row)
    table = table_of(folder, words, PickedRows(vectors.data, np.array(places, dtype=np.int64)), limit=limit)
    if len(rows) > len(words):
        table.notes[NO_STRING] = len(rows) - len(words)
    return table


class PickedRows:
    """Rows of a matrix in an order of their own: several words of a pruned table share one."""

    def __init__(self, matrix: Any, rows: np.ndarray[Any, Any]) -> None:
        self._matrix, self._rows = matrix, rows
        self.shape: tuple[int, ...] = (len(rows), matrix.shape[1])

    def __getitem__(self, rows: slice, /) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = self._matrix[self._rows[rows]]
        return found


def pipeline_with(words: Sequence[str], matrix: Floats, language: str) -> Any:
    """spaCy's blank pipeline of a language whose words have these vectors."""
    module = need("spacy.vectors", purpose="vectors for spaCy")
    nlp = blank_pipeline(language)
    strings = nlp.vocab.strings
    keys = np.array([strings.add(word) for word in words], dtype=np.uint64)
    nlp.vocab.vectors = module.Vectors(strings=strings, data=matrix, keys=keys, name="limbeck")
    return nlp


def write_spacy(folder: Path, words: Sequence[str], matrix: Floats, *, language: str) -> None:
    """Write a folder that `spacy.load` opens: a blank pipeline with these vectors. It is there whole or not at all."""
    if folder.exists() and any(folder.iterdir()) and not is_spacy(folder):
        raise InputError(
            f"{folder}: it holds something that are no vectors of spaCy and stays as it is: name another.",
            code="in_the_way",
        )
    with whole_folder(folder) as temporary:
        pipeline_with(words, matrix, language).to_disk(temporary)
